"""Plugins that misbehave: each in its own way, by the names of `pyproject.toml`."""

from tui_chat.extensions import CommandPath, FormatPath, Plugin

stranger = {"name": "stranger", "api": 1}
INCOMPLETE = Plugin(
    name="incomplete",
    api=1,
    summary="Lacks parts.",
    commands=(
        CommandPath("nowhere", "tui_chat_hostile.nowhere:command", "Is not there."),
        CommandPath("quitting", "tui_chat_hostile.quitting:command", "Quits when imported."),
        CommandPath("failing", "tui_chat_hostile.failing:command", "Raises when used."),
    ),
    formats=(FormatPath("nothing", "tui_chat_hostile:FORMATS", "nothing"),),
)
HANGING_PART = Plugin(
    name="hanging-part",
    api=1,
    summary="Has a part whose import hangs.",
    commands=(CommandPath("hanging", "tui_chat_hostile.hanging:command", "Hangs."),),
)
