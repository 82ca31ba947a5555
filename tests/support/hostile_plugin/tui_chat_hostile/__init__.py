"""Plugins that misbehave: each in its own way, by the names of `pyproject.toml`."""

from tui_chat.api import Command, Format, Plugin

stranger = {"name": "stranger", "api": 2}
INCOMPLETE = Plugin(
    name="incomplete",
    api=2,
    summary="Lacks parts.",
    commands=(
        Command("nowhere", "tui_chat_hostile.nowhere:command", "Is not there."),
        Command("quitting", "tui_chat_hostile.quitting:command", "Quits when imported."),
        Command("failing", "tui_chat_hostile.failing:command", "Raises when used."),
    ),
    formats=(Format("nothing", "tui_chat_hostile:FORMATS", "nothing"),),
)
HANGING_PART = Plugin(
    name="hanging-part",
    api=2,
    summary="Has a part whose import hangs.",
    commands=(Command("hanging", "tui_chat_hostile.hanging:command", "Hangs."),),
)
