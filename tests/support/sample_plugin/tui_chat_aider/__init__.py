"""A plugin for tui-chat that reads aider's chat histories, `.aider.chat.history.md`.

The manifest has names and paths only, so that it costs nothing until a file is read.
"""

from tui_chat.api import Format, Plugin

PLUGIN = Plugin(
    name="aider",
    api=2,
    summary="Reads aider's chat histories.",
    formats=(Format("aider's chat histories", "tui_chat_aider.history:FORMATS", "aider"),),
)
