"""Prices on the command line: what a model costs, and newer prices than those of the program.

command     `tui-chat prices`

What replies cost is the core's (`models/prices`, `library/prices`).
"""

from tui_chat.api import Command, Plugin

PLUGIN = Plugin(
    name="prices",
    summary="Shows and updates the prices of models.",
    commands=(
        Command(
            "prices",
            "tui_chat.plugins.prices.command:prices",
            "Show and update the prices of models.",
            group="Setup",
        ),
    ),
)
