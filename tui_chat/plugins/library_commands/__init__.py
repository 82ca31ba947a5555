"""Roles and profiles on the command line.

roles       lists, shows and exports roles
profiles    lists and shows profiles

What the two have in common with the command for presets is the core's (`cli/library`).
"""

from tui_chat.api import Command, Plugin

_HERE = "tui_chat.plugins.library_commands"

PLUGIN = Plugin(
    name="library_commands",
    summary="Lists, shows and exports roles and profiles on the command line.",
    commands=(
        Command(
            "profiles",
            f"{_HERE}.profiles:profiles",
            "List and show profiles: who you are.",
            group="Data",
        ),
        Command("roles", f"{_HERE}.roles:roles", "List, show and export roles.", group="Data"),
    ),
)
