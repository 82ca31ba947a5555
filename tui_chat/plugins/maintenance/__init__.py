"""Maintenance of the database file: `tui-chat db`, and restoring the backup of a damaged one.

command   the commands and their reports
upkeep    status, backups, restoring and compacting a file
check     integrity checks (faults: values that cannot be read, and derived data)
"""

from tui_chat.api import Command, Part, Plugin

PLUGIN = Plugin(
    name="maintenance",
    summary="Backs up, checks and repairs the database file.",
    commands=(
        Command(
            "db",
            "tui_chat.plugins.maintenance.command:db",
            "Maintain the database: backups, checks, repair.",
            group="Data",
        ),
    ),
    parts=(Part("rescue", "tui_chat.plugins.maintenance.upkeep:rescue"),),
)
