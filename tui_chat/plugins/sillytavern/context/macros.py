"""SillyTavern's macros that the core does not have: of cards, lore and its own program."""

from __future__ import annotations

import math
import re
from collections.abc import Callable

from tui_chat.context.inputs import Inputs, context_limit, parameters, reply_reserve
from tui_chat.context.macros.expansion import (
    CARD,
    Declaration,
    Expander,
    MacroCall,
    NotExpanded,
    UnknownMacro,
    macro,
)
from tui_chat.context.macros.functions import value
from tui_chat.models.role import Character
from tui_chat.models.text import Text
from tui_chat.plugins.sillytavern.policies import policies_of

MAIN_PROMPT = "Write {{char}}'s next reply in a fictional chat between {{char}} and {{user}}."
"""SillyTavern's default prompt."""
LORE = "lore "
"""Start of the names of variables with the lore that macros stand for."""
LORE_WORDS = ("worldinfobefore", "worldinfoafter")
"""The macros for the lore entries before and after the character."""
OUTLET = "outlet "
"""Prefix of the names of outlets."""
ORIGINAL = "original text"
"""The name of the variable with the preset's text that a card's prompt replaces."""

# fmt: off
_EXTENSIONS = frozenset((
    "assets", "attachments", "caption", "connection-manager", "expressions", "gallery", "memory",
    "quick-reply", "regex", "stable-diffusion", "token-counter", "translate", "tts", "vectors",
))
# fmt: on
"""The extensions that SillyTavern has when it is installed."""
_SETS = re.compile(r"\{\{[#\s]*set(?:global)?var", re.IGNORECASE)
_DECLARED: dict[str, Declaration] = {}


# --- cards and lore --------------------------------------------------------------------------

_START = re.compile("<START>", re.IGNORECASE)


def _example_blocks(card: Character) -> str:
    """Return the example dialogues, each block below a line `<START>`."""
    text = card.example_dialogues.strip()
    if not text or text == "<START>":
        return ""
    blocks = _START.split(text if text.startswith("<START>") else f"<START>\n{text}")
    return "".join(f"<START>\n{block.strip()}\n" for block in blocks[1:])


def card_text(inputs: Inputs, read: Callable[[Character], str], name: str) -> str | None:
    """Return a field of the role's card; None if it has no card. Where a role without a card has
    a prompt, that may be the description.
    """
    role = inputs.active_role
    if role is None or role.character is None:
        is_prompt = name == "description" and policies_of(inputs.preset).role_prompt == name
        return role.system_prompt if role is not None and is_prompt else None
    return read(role.character).replace("\r", "")


def _declare_field(
    written: str, summary: str, read: Callable[[Character], str], *others: str
) -> None:
    """Declare a macro for a field of the card, which is expanded where it is inserted."""
    name = written.lower()

    def run(call: MacroCall) -> str:
        text = card_text(call.inputs, read, name)
        if text is None and call.text.expander.variable(name)[0] is None:
            raise UnknownMacro("is not a macro or variable")
        text = text or ""
        text = text if name == "mesexamples" else text.strip()
        return call.text.inserted(text, f"variable “{name}”", CARD, name)

    for each in (written, *others):
        macro(f"{{{{{each}}}}}", summary, into=_DECLARED)(run)


_declare_field("description", "the description", lambda card: card.description, "charDescription")
_declare_field("personality", "the personality", lambda card: card.personality, "charPersonality")
_declare_field("scenario", "the scenario", lambda card: card.scenario, "charScenario")
_declare_field("charPrompt", "the card's system prompt", lambda card: card.system_prompt)
_declare_field("charInstruction", "its last instructions", lambda card: card.post_history)
_declare_field(
    "charDepthPrompt",
    "the card's depth prompt",
    lambda card: card.depth_prompt.content if card.depth_prompt else "",
)
_declare_field(
    "charCreatorNotes", "the creator's notes", lambda card: card.creator_notes, "creatorNotes"
)
_declare_field("charVersion", "the card's version", lambda card: card.version, "char_version")
_declare_field("mesExamples", "the example dialogues", _example_blocks)
_declare_field("mesExamplesRaw", "the same as written", lambda card: card.example_dialogues)
_declare_field("charFirstMessage", "the first message", lambda card: "".join(card.greetings[:1]))


@macro("{{greeting::0}}", "a greeting of the character", 0, 1, _DECLARED)
def _greeting(call: MacroCall) -> str:
    number = call.arguments[0] if call.arguments else "0"
    if not (number.isdecimal() and number.isascii() and len(number) < 5):
        raise NotExpanded("does not name a greeting by its number")
    text = card_text(call.inputs, lambda card: "".join(card.greetings[int(number) :][:1]), "")
    return call.text.inserted((text or "").strip(), "the greeting", CARD, f"greeting {number}")


def _lore(call: MacroCall, name: str) -> Text | str:
    return call.text.variable(LORE + name) or ""


macro("{{worldInfoBefore}}", "lore before the character", into=_DECLARED)(
    lambda call: _lore(call, LORE_WORDS[0])
)
macro("{{worldInfoAfter}}", "lore after the character", into=_DECLARED)(
    lambda call: _lore(call, LORE_WORDS[1])
)
macro("{{outlet::name}}", "the lore entries of an outlet", 1, 1, _DECLARED)(
    lambda call: _lore(call, OUTLET + call.arguments[0].strip())
)


@macro("{{original}}", "in a card's prompt: the preset's text", into=_DECLARED)
def _original(call: MacroCall) -> Text | str:
    text = call.text.variable(ORIGINAL)
    if text is None:
        raise UnknownMacro("is not a macro or variable")
    call.text.expander.set(ORIGINAL, "")  # it is there once
    return text


def set_variables_of_card(expander: Expander) -> None:
    """Set what the fields of the character card set."""
    role = expander.inputs.active_role
    if role is not None and (card := role.character) is not None:
        texts = (card.system_prompt, card.example_dialogues, card.description, card.personality)
        depth = card.depth_prompt.content if card.depth_prompt else ""
        texts += (card.scenario, card.post_history, depth, card.creator_notes, *card.greetings[:1])
        for text in texts:
            if _SETS.search(text):
                expander.expand_text(text.strip().replace("\r", ""), is_card=True)


# --- SillyTavern's own -------------------------------------------------------------------------


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


def _declare(names: str, summary: str, read: Callable[[Inputs], str]) -> None:
    for name in names.split():
        value(f"{{{{{name}}}}}", summary, read, _DECLARED)


_declare("group charIfNotGroup groupNotMuted", "the role's name", lambda inputs: inputs.char_name)
_declare("notChar", "the profile's name", lambda inputs: inputs.user_name)
_declare(
    "lastMessageId",
    "the number of the newest message",
    lambda inputs: str(last) if (last := _last_id(inputs)) >= 0 else "",
)
_declare("lastGenerationType", "the kind of the request", lambda inputs: inputs.chat.kind)
_declare("authorsNote", "the author's note", _author_note)
_declare("systemPrompt", "the card's system prompt", _system_prompt)
_declare("maxContext", "the context window in tokens", lambda inputs: str(_limit(inputs)))
_declare(
    "maxPrompt",
    "the window without the reply",
    lambda inputs: str(_limit(inputs) - _reserve(inputs)),
)
_declare("maxResponse", "the reply's tokens", lambda inputs: str(_reserve(inputs)))
_declare("idleDuration idle_duration", "the time since the user's last message", _idle)
_declare("isMobile", "false", lambda _: "false")
_declare("input", "nothing", lambda _: "")
macro("{{hasExtension::regex}}", "true for an extension of SillyTavern", 1, 1, _DECLARED)(
    lambda call: str(call.arguments[0].strip().lower() in _EXTENSIONS).lower()
)
MACROS = tuple(_DECLARED.values())
