"""The macros, in the order in which completion offers them; `declarations` says how to add one."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING

from tui_chat.context.inputs import Inputs
from tui_chat.context.macros.declarations import NotExpanded, macro
from tui_chat.context.macros.syntax import Macro, Node, parse
from tui_chat.context.parameters import parameters
from tui_chat.models.envelope import Level
from tui_chat.models.message import MessageRole
from tui_chat.models.role import Character
from tui_chat.models.text import Text

if TYPE_CHECKING:
    from tui_chat.context.macros.expander import MacroCall

MAX_DICE = 100
MAX_FORMAT = 100
"""Maximum length of a format of the time."""
GLOBAL = "global variable "
"""Prefix of the names of global variables."""
LORE_WORDS = ("worldinfobefore", "worldinfoafter")
"""The macros for the lore entries before and after the character."""
OUTLET = "outlet "
"""Prefix of the names of outlets."""


# --- values ----------------------------------------------------------------------------------


def _moment(inputs: Inputs) -> datetime:
    """Return the time in minutes: a text that reads it is expanded again once a minute."""
    return inputs.now.replace(second=0, microsecond=0)


def _time_of_day(moment: datetime) -> str:
    return f"{moment.hour % 12 or 12}:{moment:%M} {'AM' if moment.hour < 12 else 'PM'}"


def newest_message(*roles: MessageRole) -> Callable[[Inputs], str]:
    """Return a function that returns the newest message of these roles, the draft included."""

    def newest(inputs: Inputs) -> str:
        if inputs.has_draft and "user" in roles:
            return inputs.draft
        messages = (message for message in reversed(inputs.history) if message.role in roles)
        return next((message.content for message in messages), "")

    return newest


def _value(written: str, summary: str, read: Callable[[Inputs], str]) -> None:
    """Declare a macro that reads a value and takes no arguments."""
    macro(written, summary)(lambda call: call.read(read))


_value("{{user}}", "the profile's name", lambda inputs: inputs.user_name)
_value("{{char}}", "the role's name", lambda inputs: inputs.char_name)


def profile_text(inputs: Inputs) -> str:
    """Return the profile's text."""
    return inputs.profile.content if inputs.profile else ""


@macro("{{persona}}", "the profile's text")
def _persona(call: MacroCall) -> str:
    return call.text.profile()


_value("{{preset}}", "the preset's name", lambda inputs: inputs.preset.name)
_value("{{model}}", "the selected model", lambda inputs: parameters(inputs).model.value)
_value(
    "{{date}}",
    "the day, as June 30, 2025",
    lambda inputs: f"{inputs.now:%B} {inputs.now.day}, {inputs.now.year}",
)
_UTC = re.compile(r"UTC([+-]\d{1,2})", re.IGNORECASE | re.ASCII)


@macro("{{time}}", "the time, as 6:05 PM; {{time::UTC+2}} elsewhere", 0, 1)
def _time(call: MacroCall) -> str:
    moment = call.read(_moment)
    if call.arguments:
        found = _UTC.fullmatch(call.arguments[0])
        if found is None or abs(int(found[1])) >= 24:
            raise NotExpanded("takes an offset such as UTC+2")
        moment = moment.astimezone(timezone(timedelta(hours=int(found[1]))))
    return _time_of_day(moment)


_value("{{isodate}}", "the day, as 2025-06-30", lambda inputs: f"{inputs.now:%Y-%m-%d}")
_value("{{isotime}}", "the time, as 18:05", lambda inputs: f"{inputs.now:%H:%M}")
_value("{{weekday}}", "the day of the week", lambda inputs: f"{inputs.now:%A}")


@macro("{{datetimeformat::%d.%m.%Y}}", "the time in a format of strftime", 1, 1)
def _formatted_time(call: MacroCall) -> str:
    written = call.argument(0)
    if "%" not in written or len(written) > MAX_FORMAT:
        raise NotExpanded("takes a format such as %Y-%m-%d %H:%M")
    try:
        return call.read(_moment).strftime(written)
    except ValueError:
        raise NotExpanded("takes a format such as %Y-%m-%d %H:%M") from None


_EVERY = newest_message("user", "assistant", "system")
_value("{{lastMessage}}", "the newest message or the draft", _EVERY)
_value("{{lastUserMessage}}", "the user's last message", newest_message("user"))
_value("{{lastCharMessage}}", "the model's last message", newest_message("assistant", "system"))

# --- chance ----------------------------------------------------------------------------------


def seed(inputs: Inputs) -> int:
    """Return the seed of a request."""
    return inputs.seed


def session_seed(inputs: Inputs) -> int:
    """Return the seed of a session."""
    return inputs.session_seed


_COMMA = re.compile(r"(?<!\\),")


def _choices(call: MacroCall) -> list[str]:
    """Return the arguments, or a single one split at its commas. A macro that was not expanded is
    not split.
    """
    if len(call.arguments) > 1 or "," not in call.arguments[0]:
        return call.arguments
    text = call.arguments[0]
    items: list[list[str]] = [[]]
    at = 0
    stayed = [(node.start, node.stop) for node in parse(text).nodes if isinstance(node, Macro)]
    for start, stop in (*stayed, (len(text), len(text))):
        first, *more = (part.replace("\\,", ",") for part in _COMMA.split(text[at:start]))
        items[-1].append(first)
        items += [[part] for part in more]
        items[-1].append(text[start:stop])
        at = stop
    return ["".join(item).strip() for item in items]


@macro("{{random::a::b}}", "one of them at random, for each request", 1, None)
def _random(call: MacroCall) -> str:
    choices = _choices(call)
    return choices[call.draw(seed, len(choices))]


@macro("{{pick::a::b}}", "one of them at random, once for a session", 1, None)
def _pick(call: MacroCall) -> str:
    choices = _choices(call)
    return choices[call.draw(session_seed, len(choices))]


_DICE = re.compile(r"(\d{0,4})\s*[dD]\s*(\d{1,9})\s*([+-]\s*\d{1,9})?", re.ASCII)


@macro("{{roll::2d6}}", "a dice roll", 1, 1)
def _roll(call: MacroCall) -> str:
    written = call.argument(0).strip()
    found = _DICE.fullmatch(f"d{written}" if written.isdecimal() and written.isascii() else written)
    if found is None:
        raise NotExpanded("is not a dice roll such as 2d6 or d20+1")
    dice, faces = int(found[1] or 1), int(found[2])
    if not 1 <= dice <= MAX_DICE or not faces:
        raise NotExpanded(f"takes 1 to {MAX_DICE:,} dice of at least one face")
    total = sum(call.draw(seed, faces, die) + 1 for die in range(dice))
    return str(total + int((found[3] or "0").replace(" ", "")))


# --- variables -------------------------------------------------------------------------------

_NUMBER = re.compile(r"\s*[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?\s*", re.ASCII | re.IGNORECASE)


def _added(value: str, more: str) -> str:
    """Return a sum of numbers, or the texts put together; what is empty counts as 0."""
    if _NUMBER.fullmatch(value or "0") and _NUMBER.fullmatch(more):
        total = float(value or "0") + float(more)
        if math.isfinite(total):
            return str(int(total)) if total.is_integer() and abs(total) < 1e15 else repr(total)
    return value + more


def _declare_variables(scope: str, prefix: str, which: str) -> None:
    """Declare the macros about the variables of a session, or the global ones."""

    def name_of(call: MacroCall) -> str:
        name = call.argument(0).strip()
        if not name:
            raise NotExpanded("does not name a variable")
        return prefix + name

    @macro(f"{{{{set{scope}var::name::value}}}}", f"sets {which}; expands to nothing", 2, None)
    def set_(call: MacroCall) -> str:
        call.text.set(name_of(call), "::".join(call.arguments[1:]))
        return ""

    @macro(f"{{{{get{scope}var::name}}}}", f"the value of {which}", 1, 1)
    def get(call: MacroCall) -> str:
        value = call.text.variable(prefix + call.argument(0).strip())
        if value is None:
            what = "reads a variable that is not set; it expands to nothing."
            call.text.tell(Level.INFO, "unset-variable", call.macro, what)
        return value or ""

    @macro(f"{{{{add{scope}var::name::value}}}}", f"adds to {which}", 2, None)
    def add(call: MacroCall) -> str:
        name = name_of(call)
        value = call.text.variable(name) or ""
        call.text.set(name, _added(value, "::".join(call.arguments[1:])))
        return ""

    def count(call: MacroCall, step: str) -> str:
        name = name_of(call)
        value = _added(call.text.variable(name) or "", step)
        call.text.set(name, value)
        return value

    macro(f"{{{{inc{scope}var::name}}}}", f"counts {which} up; its new value", 1, 1)(
        lambda call: count(call, "1")
    )
    macro(f"{{{{dec{scope}var::name}}}}", f"counts {which} down; its new value", 1, 1)(
        lambda call: count(call, "-1")
    )

    @macro(f"{{{{has{scope}var::name}}}}", f"true or false: whether {which} is set", 1, 1)
    def has(call: MacroCall) -> str:
        return "false" if call.text.variable(name_of(call)) is None else "true"

    @macro(f"{{{{delete{scope}var::name}}}}", f"deletes {which}", 1, 1)
    def delete(call: MacroCall) -> str:
        call.text.set(name_of(call), None)
        return ""


_declare_variables("", "", "a variable")
_declare_variables("global", GLOBAL, "a global variable")

# --- lore and cards --------------------------------------------------------------------------


@macro("{{worldInfoBefore}}", "lore before the character")
def _lore_before(call: MacroCall) -> Text:
    return call.text.lore(LORE_WORDS[0])


@macro("{{worldInfoAfter}}", "lore after the character")
def _lore_after(call: MacroCall) -> Text:
    return call.text.lore(LORE_WORDS[1])


@macro("{{outlet::name}}", "the lore entries of an outlet", 1, 1)
def _outlet(call: MacroCall) -> Text:
    return call.text.lore(OUTLET + call.argument(0).strip())


@macro("{{greeting::0}}", "a greeting of the character", 0, 1)
def _greeting(call: MacroCall) -> str:
    number = call.arguments[0] if call.arguments else "0"
    if not (number.isdecimal() and number.isascii() and len(number) < 5):
        raise NotExpanded("does not name a greeting by its number")
    return call.text.variable(f"greeting {int(number)}") or ""


_START = re.compile("<START>", re.IGNORECASE)


def _example_blocks(card: Character) -> str:
    """Return the example dialogues, each block below a line `<START>`."""
    text = card.example_dialogues.strip()
    if not text or text == "<START>":
        return ""
    blocks = _START.split(text if text.startswith("<START>") else f"<START>\n{text}")
    return "".join(f"<START>\n{block.strip()}\n" for block in blocks[1:])


_CARD: Mapping[str, Callable[[Character], str]] = {
    "description": lambda card: card.description.strip(),
    "personality": lambda card: card.personality.strip(),
    "scenario": lambda card: card.scenario.strip(),
    "charprompt": lambda card: card.system_prompt.strip(),
    "charinstruction": lambda card: card.post_history.strip(),
    "chardepthprompt": lambda card: card.depth_prompt.content.strip() if card.depth_prompt else "",
    "charcreatornotes": lambda card: card.creator_notes.strip(),
    "charversion": lambda card: card.version.strip(),
    "mesexamples": _example_blocks,
    "mesexamplesraw": lambda card: card.example_dialogues.strip(),
}
CARD_ALIASES = {
    "chardescription": "description",
    "charpersonality": "personality",
    "charscenario": "scenario",
    "creatornotes": "charcreatornotes",
    "char_version": "charversion",
    "charfirstmessage": "greeting 0",
}


def is_card_word(name: str) -> bool:
    """True if a name (in lower case) reads a field of the character card."""
    return name in _CARD or name in CARD_ALIASES or name.startswith("greeting ")


def card_value(inputs: Inputs, name: str) -> str | None:
    """Return the value of a name that reads a field of the role's card; None if it has none."""
    role, name = inputs.active_role, CARD_ALIASES.get(name, name)
    if role is None or not is_card_word(name):
        return None
    card = role.character
    if card is None:
        is_prompt = inputs.rules.role_prompt == "description" and name == "description"
        return role.system_prompt if is_prompt else None
    if name.startswith("greeting "):
        greeting = card.greetings[int(name.removeprefix("greeting ")) :][:1]
        return "".join(greeting).strip().replace("\r", "")
    return _CARD[name](card).replace("\r", "")


# --- text ------------------------------------------------------------------------------------


@macro("{{if name}}…{{else}}…{{/if}}", "one text or the other", 2, 3)
def _if(call: MacroCall) -> Text:
    holds = call.text.holds(call.argument(0))
    branches = list(call.nodes[1:])
    if len(branches) == 1:
        branches = _branches(branches[0])
    if not holds and len(branches) < 2:
        return Text()
    return call.expanded(branches[0 if holds else 1])


def _branches(nodes: tuple[Node, ...]) -> list[tuple[Node, ...]]:
    """Return what stands before an `else`, and what after it if there is one."""
    for at, node in enumerate(nodes):
        if isinstance(node, Macro) and node.name == "else" and not node.arguments:
            return [nodes[:at], nodes[at + 1 :]]
    return [nodes]


@macro("{{reverse::text}}", "a text from its end", 1, 1)
def _reverse(call: MacroCall) -> str:
    return call.argument(0)[::-1]


def _repeated(call: MacroCall, character: str) -> str:
    times = call.arguments[0] if call.arguments else "1"
    if not (times.isdecimal() and times.isascii() and len(times) <= 4):
        raise NotExpanded("takes a number up to 9999")
    return character * int(times)


macro("{{newline}}", "a line break", 0, 1)(lambda call: _repeated(call, "\n"))
macro("{{space}}", "a space", 0, 1)(lambda call: _repeated(call, " "))


@macro("{{trim}}", "removes the line breaks around it", 0, 1)
def _trim(call: MacroCall) -> Text | None:
    return call.expanded(call.nodes[0]).stripped() if call.nodes else None


macro("{{noop}}", "nothing")(lambda call: "")
macro("{{banned::text}}", "nothing", 1, 1)(lambda call: call.argument(0)[:0])
macro("{{// comment}}", "nothing: a comment", 0, None)(lambda call: "".join(call.arguments)[:0])
macro("{{comment::text}}", "nothing", 1, 1)(lambda call: call.argument(0)[:0])
