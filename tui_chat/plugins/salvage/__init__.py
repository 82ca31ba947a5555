"""Rows out of damaged database files: `tui-chat db salvage`, and the app's offer at its start.

command         the command and its report
salvage         copies what can be read into a new file
page_reader     reads the rows of a file page by page
repair          corrupted values and broken references in what was read
"""

from tui_chat.extensions import CommandPath, Plugin

PLUGIN = Plugin(
    name="salvage",
    summary="Saves what can be read of a damaged database file.",
    commands=(
        CommandPath(
            "db salvage",
            "tui_chat.plugins.salvage.command:salvage_command",
            "Save what can be read of a damaged file.",
        ),
    ),
    rescues=("tui_chat.plugins.salvage.salvage:rescue",),
)
