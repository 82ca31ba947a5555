"""The doctor: checks this machine and the endpoints, and says what to do.

command             `tui-chat doctor`
endpoints_command   `tui-chat endpoints test`
endpoint_checks     the checks of an endpoint, which both have
"""

from tui_chat.api import Command, Plugin

PLUGIN = Plugin(
    name="doctor",
    summary="Checks the terminal, files, database, keys and endpoints of this machine.",
    commands=(
        Command(
            "doctor",
            "tui_chat.plugins.doctor.command:doctor",
            "Diagnose this installation.",
            group="Setup",
        ),
        Command(
            "endpoints test",
            "tui_chat.plugins.doctor.endpoints_command:test_endpoint",
            "Test an endpoint: its key, server and models, and a tiny real chat.",
        ),
    ),
)
