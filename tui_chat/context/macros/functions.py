"""The macros, in the order in which completion offers them; `expansion` says how to add one."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta, timezone

from tui_chat.context.inputs import Inputs, parameters
from tui_chat.context.macros.expansion import (
    GLOBAL,
    MACROS,
    Declaration,
    MacroCall,
    NotExpanded,
    macro,
)
from tui_chat.context.macros.syntax import Macro
from tui_chat.hooks import load_all
from tui_chat.models.envelope import Level
from tui_chat.models.message import MessageRole
from tui_chat.models.text import OriginKind, Text

MAX_DICE = 100
MAX_FORMAT = 100
"""Maximum length of a format of the time."""


# --- values ----------------------------------------------------------------------------------


def value(
    written: str,
    summary: str,
    read: Callable[[Inputs], str],
    into: dict[str, Declaration] = MACROS,
) -> None:
    """Declare a macro that reads a value and takes no arguments."""
    macro(written, summary, into=into)(lambda call: read(call.inputs))


def newest_message(*roles: MessageRole) -> Callable[[Inputs], str]:
    """Return a function that returns the newest message of these roles, the draft included."""

    def newest(inputs: Inputs) -> str:
        if inputs.has_draft and "user" in roles:
            return inputs.draft
        messages = (message for message in reversed(inputs.history) if message.role in roles)
        return next((message.content for message in messages), "")

    return newest


value("{{user}}", "the profile's name", lambda inputs: inputs.user_name)
value("{{char}}", "the role's name", lambda inputs: inputs.char_name)
macro("{{persona}}", "the profile's text")(
    lambda call: call.text.inserted(
        call.inputs.profile.content if call.inputs.profile else "",
        "the profile",
        OriginKind.PROFILE,
        "profile",
    )
)
value("{{preset}}", "the preset's name", lambda inputs: inputs.preset.name)
value("{{model}}", "the selected model", lambda inputs: parameters(inputs).values.model)
value(
    "{{date}}",
    "the day, as June 30, 2025",
    lambda inputs: f"{inputs.now:%B} {inputs.now.day}, {inputs.now.year}",
)
_UTC = re.compile(r"UTC([+-]\d{1,2})", re.IGNORECASE | re.ASCII)


@macro("{{time}}", "the time, as 6:05 PM; {{time::UTC+2}} elsewhere", 0, 1)
def _time(call: MacroCall) -> str:
    moment = call.inputs.now
    if call.arguments:
        found = _UTC.fullmatch(call.arguments[0])
        if found is None or abs(int(found[1])) >= 24:
            raise NotExpanded("takes an offset such as UTC+2")
        moment = moment.astimezone(timezone(timedelta(hours=int(found[1]))))
    return f"{moment.hour % 12 or 12}:{moment:%M} {'AM' if moment.hour < 12 else 'PM'}"


value("{{isodate}}", "the day, as 2025-06-30", lambda inputs: f"{inputs.now:%Y-%m-%d}")
value("{{isotime}}", "the time, as 18:05", lambda inputs: f"{inputs.now:%H:%M}")
value("{{weekday}}", "the day of the week", lambda inputs: f"{inputs.now:%A}")


@macro("{{datetimeformat::%d.%m.%Y}}", "the time in a format of strftime", 1, 1)
def _formatted_time(call: MacroCall) -> str:
    written = call.arguments[0]
    try:
        if "%" in written and len(written) <= MAX_FORMAT:
            return call.inputs.now.strftime(written)
    except ValueError:
        pass
    raise NotExpanded("takes a format such as %Y-%m-%d %H:%M")


value(
    "{{lastMessage}}",
    "the newest message or the draft",
    newest_message("user", "assistant", "system"),
)
value("{{lastUserMessage}}", "the user's last message", newest_message("user"))
value("{{lastCharMessage}}", "the model's last message", newest_message("assistant", "system"))

# --- chance ----------------------------------------------------------------------------------


_COMMA = re.compile(r"(?<!\\),(?![^{}]{0,200}\}\})")
"""A comma outside of a macro that was not expanded."""
_ESCAPED = re.compile(r"\\,(?![^{}]{0,200}\}\})")


def _choice(call: MacroCall, seed: int) -> str:
    """Return one of the arguments, or of a single one split at its commas."""
    choices = call.arguments
    if len(choices) == 1:
        choices = [_ESCAPED.sub(",", part).strip() for part in _COMMA.split(choices[0])]
    return choices[call.draw(seed, len(choices))]


macro("{{random::a::b}}", "one of them at random, for each request", 1, None)(
    lambda call: _choice(call, call.inputs.seed)
)
macro("{{pick::a::b}}", "one of them at random, once for a session", 1, None)(
    lambda call: _choice(call, call.inputs.session_seed)
)
_DICE = re.compile(r"(\d{0,4})\s*[dD]\s*(\d{1,9})\s*([+-]\s*\d{1,9})?", re.ASCII)


@macro("{{roll::2d6}}", "a dice roll", 1, 1)
def _roll(call: MacroCall) -> str:
    written = call.arguments[0].strip()
    found = _DICE.fullmatch(f"d{written}" if written.isdecimal() and written.isascii() else written)
    if found is None:
        raise NotExpanded("is not a dice roll such as 2d6 or d20+1")
    dice, faces = int(found[1] or 1), int(found[2])
    if not 1 <= dice <= MAX_DICE or not faces:
        raise NotExpanded(f"takes 1 to {MAX_DICE:,} dice of at least one face")
    total = sum(call.draw(call.inputs.seed, faces, die) + 1 for die in range(dice))
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
        name = call.arguments[0].strip()
        if not name:
            raise NotExpanded("does not name a variable")
        return prefix + name

    def set_(call: MacroCall, value: str | None) -> str:
        call.text.set(name_of(call), value)
        return ""

    def count(call: MacroCall, step: str) -> str:
        name = name_of(call)
        value = _added(str(call.text.variable(name) or ""), step)
        call.text.set(name, value)
        return value

    def get(call: MacroCall) -> str | Text:
        value = call.text.variable(prefix + call.arguments[0].strip())
        if value is None:
            written = call.text.source[call.macro.start : call.macro.stop]
            what = "reads a variable that is not set; it expands to nothing."
            call.text.tell(Level.INFO, "unset-variable", written, what)
        return value or ""

    def rest(call: MacroCall) -> str:
        return "::".join(call.arguments[1:])

    def is_set(call: MacroCall) -> str:
        return "false" if call.text.variable(name_of(call)) is None else "true"

    macro(f"{{{{set{scope}var::name::value}}}}", f"sets {which}; expands to nothing", 2, None)(
        lambda call: set_(call, rest(call))
    )
    macro(f"{{{{get{scope}var::name}}}}", f"the value of {which}", 1, 1)(get)
    macro(f"{{{{add{scope}var::name::value}}}}", f"adds to {which}", 2, None)(
        lambda call: count(call, rest(call))[:0]
    )
    macro(f"{{{{inc{scope}var::name}}}}", f"counts {which} up; its new value", 1, 1)(
        lambda call: count(call, "1")
    )
    macro(f"{{{{dec{scope}var::name}}}}", f"counts {which} down; its new value", 1, 1)(
        lambda call: count(call, "-1")
    )
    macro(f"{{{{has{scope}var::name}}}}", f"true or false: whether {which} is set", 1, 1)(is_set)
    macro(f"{{{{delete{scope}var::name}}}}", f"deletes {which}", 1, 1)(
        lambda call: set_(call, None)
    )


_declare_variables("", "", "a variable")
_declare_variables("global", GLOBAL, "a global variable")

# --- text ------------------------------------------------------------------------------------


@macro("{{if name}}…{{else}}…{{/if}}", "one text or the other", 2, 3)
def _if(call: MacroCall) -> Text:
    first, *rest = call.nodes[1:]
    is_else = (isinstance(node, Macro) and node.name == "else" for node in first)
    at = next((at for at, found in enumerate(is_else) if found), len(first))
    other = rest[0] if rest else first[at + 1 :]
    return call.expanded(first[:at] if call.text.holds(call.arguments[0]) else other)


macro("{{reverse::text}}", "a text from its end", 1, 1)(lambda call: call.arguments[0][::-1])


def _repeated(call: MacroCall, character: str) -> str:
    times = call.arguments[0] if call.arguments else "1"
    if not (times.isdecimal() and times.isascii() and len(times) <= 4):
        raise NotExpanded("takes a number up to 9999")
    return character * int(times)


macro("{{newline}}", "a line break", 0, 1)(lambda call: _repeated(call, "\n"))
macro("{{space}}", "a space", 0, 1)(lambda call: _repeated(call, " "))
macro("{{trim}}", "removes the line breaks around it", 0, 1)(
    lambda call: call.expanded(call.nodes[0]).stripped() if call.nodes else None
)


def _nothing(call: MacroCall) -> str:
    return "".join(call.arguments)[:0]  # they may set variables


macro("{{noop}}", "nothing")(_nothing)
macro("{{banned::text}}", "nothing", 1, 1)(_nothing)
macro("{{// comment}}", "nothing: a comment", 0, None)(_nothing)
macro("{{comment::text}}", "nothing", 1, 1)(_nothing)

# --- completion ------------------------------------------------------------------------------

_VARIABLE = "a variable of this preset"


def complete_macro(typed: str, variables: tuple[str, ...] = ()) -> tuple[Declaration, ...]:
    """Return the macros that begin with `typed`, the text after `{{`; variables go last."""
    get = MACROS["getvar"]
    given = (
        replace(get, name=name.casefold(), written=f"{{{{getvar::{name}}}}}", summary=_VARIABLE)
        for name in variables
    )
    begin = typed.casefold()
    added = (each for macros in load_all("macro", tuple) for each in macros)
    every = (*MACROS.values(), *added, *given)
    return tuple(each for each in every if each.name.startswith(begin))
