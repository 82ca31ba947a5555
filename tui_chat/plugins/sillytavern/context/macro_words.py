"""Macros that only SillyTavern's presets have: others may use such words for something else."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tui_chat.context.inputs import Inputs
from tui_chat.context.macros.environment import newest_message
from tui_chat.context.macros.times import duration, time_text
from tui_chat.context.parameters import context_limit, parameters, reply_reserve

MAIN_PROMPT = "Write {{char}}'s next reply in a fictional chat between {{char}} and {{user}}."
"""SillyTavern's default prompt."""


def _idle(inputs: Inputs) -> str:
    """Return how long ago the user's last message is, the newest message aside, as SillyTavern."""
    older = inputs.history if inputs.has_draft else inputs.history[:-1]
    times = (message.timestamp for message in reversed(older) if message.role == "user")
    at = next(times, None)
    return "just now" if at is None else duration(abs(inputs.now.timestamp() - at))


def _limit(inputs: Inputs) -> int:
    return context_limit(inputs, parameters(inputs)) or 0


def _reserve(inputs: Inputs) -> int:
    return reply_reserve(inputs, parameters(inputs), _limit(inputs) or None)


def _last_id(inputs: Inputs) -> int:
    return len(inputs.history) - 1 + inputs.has_draft + inputs.chat.hidden_messages


def _system_prompt(inputs: Inputs) -> str:
    """Return SillyTavern's system prompt for text completion: the card's, or the default one."""
    role = inputs.active_role
    card = role.character if role else None
    return (card.system_prompt.strip() if card else "") or MAIN_PROMPT


def _author_note(inputs: Inputs) -> str:
    notes = (settings.author_note for settings, _ in inputs.setting_places)
    return next((note.text for note in notes if note is not None), "")


# A narrator's message is a system message.
WORDS: Mapping[str, Callable[[Inputs], str]] = {
    "date": lambda inputs: time_text(inputs.now, "LL"),
    "time": lambda inputs: time_text(inputs.now, "LT"),
    "lastmessage": newest_message("user", "assistant", "system"),
    "lastcharmessage": newest_message("assistant", "system"),
}
"""Macros of the core that have other values."""
_FURTHER: Mapping[str, Callable[[Inputs], str]] = {
    "group": lambda inputs: inputs.char_name,
    "groupnotmuted": lambda inputs: inputs.char_name,
    "charifnotgroup": lambda inputs: inputs.char_name,
    "notchar": lambda inputs: inputs.user_name,
    "lastmessageid": lambda inputs: str(last) if (last := _last_id(inputs)) >= 0 else "",
    "lastgenerationtype": lambda inputs: inputs.chat.kind,
    "authorsnote": lambda inputs: _author_note(inputs),
    "systemprompt": _system_prompt,
    **dict.fromkeys(
        ("defaultsystemprompt", "instructsystem", "instructsystemprompt"), lambda _: MAIN_PROMPT
    ),
    "maxcontext": lambda inputs: str(_limit(inputs)),
    "maxprompt": lambda inputs: str(_limit(inputs) - _reserve(inputs)),
    "maxresponse": lambda inputs: str(_reserve(inputs)),
    "input": lambda _: "",
    "allchatrange": lambda inputs: f"0-{_last_id(inputs)}" if _last_id(inputs) >= 0 else "",
    "lastswipeid": lambda _: "",
    "currentswipeid": lambda _: "",
    "firstincludedmessageid": lambda _: "",
    "firstdisplayedmessageid": lambda inputs: "0" if _last_id(inputs) >= 0 else "",
    "isotime": lambda inputs: time_text(inputs.now, "HH:mm"),
    "isodate": lambda inputs: time_text(inputs.now, "YYYY-MM-DD"),
    "idleduration": _idle,
    "ismobile": lambda _: "false",
    "charauthorsnote": lambda _: "",
    "defaultauthorsnote": lambda _: "",
    **dict.fromkeys(("chatstart", "chatseparator", "exampleseparator"), lambda _: "***"),
    **dict.fromkeys(("instructinput", "instructuserprefix", "instructstop"), lambda _: ""),
}
_ALIASES = {
    "idle_duration": "idleduration",
    "maxprompttokens": "maxprompt",
    "maxcontexttokens": "maxcontext",
    "maxresponsetokens": "maxresponse",
}
FURTHER_WORDS = {**_FURTHER, **{alias: _FURTHER[name] for alias, name in _ALIASES.items()}}
"""Macros that the core does not have. A variable of the same name goes before them."""
