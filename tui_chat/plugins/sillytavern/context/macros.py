"""SillyTavern's macros that the core does not have, each a function by its name."""

from __future__ import annotations

import math
import re
from collections.abc import Callable

from tui_chat.context.inputs import Inputs
from tui_chat.context.macros.declarations import MacroFunction
from tui_chat.context.macros.expander import Expander, MacroCall
from tui_chat.context.parameters import context_limit, parameters, reply_reserve

MAIN_PROMPT = "Write {{char}}'s next reply in a fictional chat between {{char}} and {{user}}."
"""SillyTavern's default prompt."""

# fmt: off
_EXTENSIONS = frozenset((
    "assets", "attachments", "caption", "connection-manager", "expressions", "gallery", "memory",
    "quick-reply", "regex", "stable-diffusion", "token-counter", "translate", "tts", "vectors",
))
# fmt: on
"""The extensions that SillyTavern has when it is installed."""
_CARD_FIELDS = (
    *("charprompt", "mesexamplesraw", "description", "personality", "scenario"),
    *("charinstruction", "chardepthprompt", "charcreatornotes", "greeting 0"),
)
"""The fields of a card that are expanded before the preset's messages, in this order."""
_SETS = re.compile(r"\{\{[#\s]*set(?:global)?var", re.IGNORECASE)


def set_variables_of_card(expander: Expander) -> None:
    """Set what the fields of the character card set."""
    for field in _CARD_FIELDS:
        value = expander.variable(field)[0] or ""
        if _SETS.search(value):
            expander.expand_text(value, is_card=True)


def duration(seconds: float) -> str:
    """Return a duration in words: “a minute”, “3 days”."""
    days = seconds / 86_400
    units = (
        (seconds, 45, "a few seconds", ""),
        (seconds / 60, 45, "a minute", "minutes"),
        (seconds / 3_600, 22, "an hour", "hours"),
        (days, 26, "a day", "days"),
        (days * 4_800 / 146_097, 11, "a month", "months"),
    )
    for amount, limit, one, many in units:
        number = math.floor(amount + 0.5)
        if number < limit:
            return f"{number} {many}" if number > 1 and many else one
    years = math.floor(days * 400 / 146_097 + 0.5)
    return "a year" if years <= 1 else f"{years} years"


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


def _value(read: Callable[[Inputs], str]) -> MacroFunction:
    return lambda call: call.read(read)


group = charifnotgroup = groupnotmuted = _value(lambda inputs: inputs.char_name)
notchar = _value(lambda inputs: inputs.user_name)
lastmessageid = _value(lambda inputs: str(last) if (last := _last_id(inputs)) >= 0 else "")
lastgenerationtype = _value(lambda inputs: inputs.chat.kind)
authorsnote = _value(_author_note)
systemprompt = _value(_system_prompt)
maxcontext = _value(lambda inputs: str(_limit(inputs)))
maxprompt = _value(lambda inputs: str(_limit(inputs) - _reserve(inputs)))
maxresponse = _value(lambda inputs: str(_reserve(inputs)))
idleduration = idle_duration = _value(_idle)
ismobile = _value(lambda _: "false")
input = _value(lambda _: "")


def hasextension(call: MacroCall) -> str:
    """Return “true” for the name of an extension that SillyTavern has, else “false”."""
    return str(call.argument(0).strip().lower() in _EXTENSIONS).lower()
