"""The doctor: `tui-chat doctor` checks this machine, and says what to do.

command         the command and its checks
"""

from tui_chat.extensions import CommandPath, Plugin

PLUGIN = Plugin(
    name="doctor",
    summary="Checks the terminal, files, database, keys and endpoints of this machine.",
    commands=(
        CommandPath(
            "doctor",
            "tui_chat.plugins.doctor.command:doctor",
            "Check this machine, and say what to do.",
        ),
    ),
)
