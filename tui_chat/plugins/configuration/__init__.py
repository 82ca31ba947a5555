"""Endpoints, tools and the title model, chosen and typed in the app instead of in `config.toml`.

dialogs     what the actions run: the dialogs, and what they write into the file

Keys are the core's (`ui/dialogs/api_key`): a reply that lacks one offers it.
"""

from tui_chat.api import Action, Plugin

_DIALOGS = "tui_chat.plugins.configuration.dialogs"

PLUGIN = Plugin(
    name="configuration",
    summary="Adds and edits endpoints, tools and the title model in the app.",
    actions=(
        Action(
            "endpoints",
            f"{_DIALOGS}:edit_endpoints",
            "Endpoints",
            "Add or edit endpoint…",
            aliases=(
                *("provider", "add provider", "server", "base url", "connect", "ollama"),
                "models",
            ),
            argument="NAME",
            other_names=("endpoint", "provider"),
        ),
        Action(
            "tools",
            f"{_DIALOGS}:edit_tools",
            "Tools",
            "Add or edit tool…",
            aliases=("function", "add tool", "command", "function calling"),
            argument="NAME",
            other_names=("tool",),
        ),
        Action(
            "title-model",
            f"{_DIALOGS}:choose_title_model",
            "Title model",
            "Choose the model that writes titles…",
            aliases=("generate title", "auto title", "summarizer"),
            argument="ENDPOINT/MODEL",
        ),
    ),
)
