"""The app in a browser: `tui-chat serve`.

command         the command and its flags
server          shows the app in a browser and decides who may use it
driver          Textual's driver for a browser
"""

from tui_chat.api import Command, Plugin

PLUGIN = Plugin(
    name="web",
    summary="Serves the app to a browser.",
    commands=(
        Command(
            "serve",
            "tui_chat.plugins.web.command:serve",
            "Serve the app to a browser.",
            group="Chat",
        ),
    ),
)
