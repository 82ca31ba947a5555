"""A plugin for tui-chat that reads aider's chat histories, `.aider.chat.history.md`.

The manifest has names and paths only, so that it costs nothing until a file is read.
"""

from tui_chat.extensions import FormatPath, Plugin

PLUGIN = Plugin(
    name="aider",
    api=1,
    summary="Reads aider's chat histories.",
    formats=(FormatPath("aider's chat histories", "tui_chat_aider.history:FORMATS", "aider"),),
)
