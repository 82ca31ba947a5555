"""Maintenance of the database file: `tui-chat db`, and the app's offer to save a damaged one.

command   the commands and their reports
upkeep    status, backups, restoring and compacting a file
check     integrity checks (faults: values that cannot be read, and derived data)
salvage   copies what can be read of a damaged file into a new one (repair: broken references in it)
"""

from tui_chat.api import Command, Part, Plugin

PLUGIN = Plugin(
    name="maintenance",
    summary="Backs up, checks and repairs the database file.",
    commands=(
        Command(
            "db",
            "tui_chat.plugins.maintenance.command:db",
            "Maintain the database: backups, checks, salvage.",
            group="Data",
        ),
    ),
    parts=(Part("rescue", "tui_chat.plugins.maintenance.salvage:rescue"),),
)
