"""The macros that take arguments or have effects, each a function of its call, and a line of help
for every macro.

To add one: write a function from `MacroCall` to the text that replaces it, which raises
`NotExpanded` for arguments it cannot use, and add it to `MACROS`, `MAX_ARGUMENTS` and `MACRO_HELP`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from tui_chat.context.macros.environment import CHANCE, GLOBAL, LASTING_CHANCE
from tui_chat.context.macros.syntax import Macro, parse
from tui_chat.models.envelope import Level

MAX_DICE = 100


class NotExpanded(Exception):
    """A macro is not expanded; the message says why."""


class ExpansionContext(Protocol):
    """What the macros of a text can read and change."""

    def read(self, word: str) -> str | None:
        """Return the value of a word of the environment."""
        ...

    def draw(self, chance: str, macro: Macro, *more: object) -> int:
        """Draw a large number for a macro of this text."""
        ...

    def value(self, name: str) -> str | None:
        """Return a variable's value, expanded; None if it is not set."""
        ...

    def set(self, name: str, value: str | None) -> None:
        """Set a variable; None deletes it."""
        ...

    def tell(self, level: Level, code: str, macro: Macro, what: str) -> None:
        """Add a note about a macro."""
        ...

    def profile(self) -> str:
        """Return the profile's text, its own macros expanded."""
        ...


@dataclass(slots=True)
class MacroCall:
    """A macro with its arguments expanded."""

    text: ExpansionContext
    macro: Macro
    arguments: list[str]

    def argument(self, index: int) -> str:
        """Return an argument. Raises NotExpanded if it is missing."""
        if index >= len(self.arguments):
            raise NotExpanded("lacks an argument")
        return self.arguments[index]

    def draw(self, chance: str, below: int, *more: object) -> int:
        """Draw a number from 0 up to, but not including, `below`."""
        return self.text.draw(chance, self.macro, *more) % below


def _choices(call: MacroCall) -> list[str]:
    """Return the choices: the arguments, or a single argument split at its commas."""
    if len(call.arguments) == 1:
        return _split(call.arguments[0])
    return call.arguments or [call.argument(0)]


_COMMA = re.compile(r"(?<!\\),")


def _split(text: str) -> list[str]:
    """Split a list at its commas. A macro that was not expanded is not split."""
    if "," not in text:
        return [text.strip()]
    items: list[list[str]] = [[]]
    at = 0
    stayed = [(node.start, node.stop) for node in parse(text) if isinstance(node, Macro)]
    for start, stop in (*stayed, (len(text), len(text))):
        first, *more = (part.replace("\\,", ",") for part in _COMMA.split(text[at:start]))
        items[-1].append(first)
        items += [[part] for part in more]
        items[-1].append(text[start:stop])
        at = stop
    return ["".join(item).strip() for item in items]


def _random(call: MacroCall) -> str:
    choices = _choices(call)
    return choices[call.draw(CHANCE, len(choices))]


def _pick(call: MacroCall) -> str:
    choices = _choices(call)
    return choices[call.draw(LASTING_CHANCE, len(choices))]


_DICE = re.compile(r"\s*(\d{0,4})\s*[dD]\s*(\d{1,9})\s*([+-]\s*\d{1,9})?\s*\Z", re.ASCII)


def _roll(call: MacroCall) -> str:
    written = call.argument(0).strip()
    found = _DICE.match(f"d{written}" if written.isdecimal() and written.isascii() else written)
    if found is None:
        raise NotExpanded("is not a dice roll such as 2d6 or d20+1")
    dice, faces = int(found[1] or 1), int(found[2])
    if not 1 <= dice <= MAX_DICE or not faces:
        raise NotExpanded(f"takes 1 to {MAX_DICE:,} dice of at least one face")
    total = sum(call.draw(CHANCE, faces, die) + 1 for die in range(dice))
    return str(total + int((found[3] or "0").replace(" ", "")))


def _repeated(character: str) -> Callable[[MacroCall], str]:
    def repeat(call: MacroCall) -> str:
        times = call.arguments[0].strip() if call.arguments else "1"
        if not (times.isdecimal() and times.isascii() and len(times) <= 4):
            raise NotExpanded("takes a number up to 9999")
        return character * int(times)

    return repeat


def _number(text: str) -> float | None:
    """Return the number that a text is for JavaScript; None if it is none."""
    text = text.strip()
    try:
        return float(text) if text else 0.0
    except ValueError:
        return None


def _number_text(number: float) -> str:
    return str(int(number)) if number.is_integer() and abs(number) < 1e21 else repr(number)


def _added(value: str, more: str) -> str:
    """Return a sum of numbers, or the texts put together."""
    first, second = _number(value), _number(more)
    if first is None or second is None or not math.isfinite(first + second):
        return value + more
    return _number_text(first + second)


def _variable(call: MacroCall) -> str:
    name = call.argument(0).strip()
    if not name:
        raise NotExpanded("does not name a variable")
    return name


def _set(prefix: str, change: Callable[[str, str], str]) -> Callable[[MacroCall], str]:
    """Return a macro that changes a variable by its second argument."""

    def run(call: MacroCall) -> str:
        name = prefix + _variable(call)
        call.argument(1)
        call.text.set(name, change(call.text.value(name) or "", "::".join(call.arguments[1:])))
        return ""

    return run


def _get(prefix: str) -> Callable[[MacroCall], str]:
    """Return a macro that reads a variable."""

    def run(call: MacroCall) -> str:
        value = call.text.value(prefix + call.argument(0).strip())
        if value is None:
            what = "reads a variable that is not set; it expands to nothing."
            call.text.tell(Level.INFO, "unset-variable", call.macro, what)
        return value or ""

    return run


def _count(prefix: str, step: str) -> Callable[[MacroCall], str]:
    """Return a macro that counts a variable up or down, and expands to its new value."""

    def run(call: MacroCall) -> str:
        name = prefix + _variable(call)
        value = _added(call.text.value(name) or "0", step)
        call.text.set(name, value)
        return value

    return run


def _has(prefix: str) -> Callable[[MacroCall], str]:
    return lambda call: str(call.text.value(prefix + _variable(call)) is not None).lower()


def _delete(prefix: str) -> Callable[[MacroCall], str]:
    def run(call: MacroCall) -> str:
        call.text.set(prefix + _variable(call), None)
        return ""

    return run


_OPERATOR = re.compile(
    r"([^\W\d](?:[\w-]*\w)?)\s*(\?\?=|\|\|=|\+\+|--|\+=|-=|\?\?|\|\||==|!=|>=|<=|=|>|<|\Z)",
)


def _operation(call: MacroCall) -> str:
    """Apply an operator to a variable: `{{.name = value}}`."""
    written = call.argument(0)
    found = _OPERATOR.match(written)
    if found is None or (found[2] == "" and written[found.end() :].strip()):
        raise NotExpanded("is not a variable with an operator")
    name = (GLOBAL if call.macro.name == "$" else "") + found[1]
    operand, value = written[found.end() :].strip(), call.text.value(name)
    match found[2]:
        case "":
            return value or ""
        case "=":
            call.text.set(name, operand)
            return ""
        case "+=":
            call.text.set(name, _added(value or "", operand))
            return ""
        case "-=":
            taken = _number(operand)
            left = _number(value or "")
            if taken is None:
                raise NotExpanded("does not subtract a number")
            less = _number_text(-taken)
            call.text.set(
                name, _added(value or "", less) if left is None else _added(value or "0", less)
            )
            return ""
        case "++" | "--":
            value = _added(value or "0", "1" if found[2] == "++" else "-1")
            call.text.set(name, value)
            return value
        case "??" | "??=":
            result = operand if value is None else value
        case "||" | "||=":
            result = value if value is not None and is_true(value) else operand
        case comparison:
            return _compared(value or "", comparison, operand)
    if found[2].endswith("="):
        call.text.set(name, result)
    return result


def _compared(value: str, comparison: str, operand: str) -> str:
    if comparison in ("==", "!="):
        return str((value == operand) is (comparison == "==")).lower()
    one, other = _number(value), _number(operand)
    if one is None or other is None:
        raise NotExpanded("does not compare numbers")
    results = {">": one > other, "<": one < other, ">=": one >= other, "<=": one <= other}
    return str(results[comparison]).lower()


def is_true(condition: str) -> bool:
    """True unless a condition is empty or a word for false."""
    return condition.strip().lower() not in ("", "false", "off", "0")


def _trim(call: MacroCall) -> str:
    return call.argument(0).strip()


def _greeting(call: MacroCall) -> str:
    number = call.arguments[0].strip() if call.arguments else "0"
    if not (number.isdecimal() and len(number) < 5):
        raise NotExpanded("does not name a greeting by its number")
    return call.text.value(f"greeting {int(number)}") or ""


MACROS: Mapping[str, Callable[[MacroCall], str]] = {
    "random": _random,
    "pick": _pick,
    "roll": _roll,
    "trim": _trim,
    ".": _operation,
    "$": _operation,
    "reverse": lambda call: call.argument(0)[::-1],
    "hasextension": lambda call: str(call.argument(0).strip().lower() == "regex").lower(),
    "banned": lambda _: "",
    "greeting": _greeting,
    **{
        f"{verb}{scope}var": macro
        for scope, prefix in (("", ""), ("global", GLOBAL))
        for verb, macro in (
            ("set", _set(prefix, lambda _, value: value)),
            ("get", _get(prefix)),
            ("add", _set(prefix, _added)),
            ("inc", _count(prefix, "1")),
            ("dec", _count(prefix, "-1")),
            ("has", _has(prefix)),
            ("delete", _delete(prefix)),
        )
    },
    "persona": lambda call: call.text.profile(),
    "newline": _repeated("\n"),
    "space": _repeated(" "),
    "noop": lambda _: "",
}
"""By name, in lower case."""
MAX_ARGUMENTS: Mapping[str, int] = {
    "roll": 1,
    "getvar": 1,
    "getglobalvar": 1,
    "incvar": 1,
    "decvar": 1,
    "hasvar": 1,
    "deletevar": 1,
    "reverse": 1,
    "hasextension": 1,
    "greeting": 1,
    "persona": 0,
    "newline": 1,
    "space": 1,
    "noop": 0,
    "trim": 0,
}
"""Maximum number of arguments; a call with more is not expanded, so that no text is lost."""


@dataclass(frozen=True, slots=True)
class MacroHelp:
    """A macro offered for completion."""

    name: str
    """In lower case."""
    written: str
    """The inserted text, such as `{{random::a::b}}`."""
    words: str


MACRO_HELP = (
    MacroHelp("user", "{{user}}", "the profile's name"),
    MacroHelp("char", "{{char}}", "the role's name"),
    MacroHelp("persona", "{{persona}}", "the profile's text"),
    MacroHelp("preset", "{{preset}}", "the preset's name"),
    MacroHelp("model", "{{model}}", "the selected model"),
    MacroHelp("date", "{{date}}", "the day, as 2025-06-30"),
    MacroHelp("time", "{{time}}", "the time, as 18:05"),
    MacroHelp("weekday", "{{weekday}}", "the day of the week"),
    MacroHelp("lastmessage", "{{lastMessage}}", "the newest message or the draft"),
    MacroHelp("lastusermessage", "{{lastUserMessage}}", "the user's last message"),
    MacroHelp("lastcharmessage", "{{lastCharMessage}}", "the model's last message"),
    MacroHelp("random", "{{random::a::b}}", "one of them at random, for each request"),
    MacroHelp("pick", "{{pick::a::b}}", "one of them at random, once for a session"),
    MacroHelp("roll", "{{roll::2d6}}", "a dice roll"),
    MacroHelp("setvar", "{{setvar::name::value}}", "sets a variable; expands to nothing"),
    MacroHelp("getvar", "{{getvar::name}}", "a variable's value"),
    MacroHelp("addvar", "{{addvar::name::value}}", "adds to a variable"),
    MacroHelp("incvar", "{{incvar::name}}", "counts a variable up; its new value"),
    MacroHelp("decvar", "{{decvar::name}}", "counts a variable down; its new value"),
    MacroHelp("hasvar", "{{hasvar::name}}", "true or false: whether a variable is set"),
    MacroHelp("deletevar", "{{deletevar::name}}", "deletes a variable"),
    MacroHelp("setglobalvar", "{{setglobalvar::name::value}}", "sets a global variable"),
    MacroHelp("getglobalvar", "{{getglobalvar::name}}", "a global variable's value"),
    MacroHelp("addglobalvar", "{{addglobalvar::name::value}}", "adds to a global variable"),
    MacroHelp("incglobalvar", "{{incglobalvar::name}}", "counts a global variable up"),
    MacroHelp("decglobalvar", "{{decglobalvar::name}}", "counts a global variable down"),
    MacroHelp("hasglobalvar", "{{hasglobalvar::name}}", "whether a global variable is set"),
    MacroHelp("deleteglobalvar", "{{deleteglobalvar::name}}", "deletes a global variable"),
    MacroHelp(".", "{{.name = value}}", "a variable with an operator"),
    MacroHelp("$", "{{$name = value}}", "a global variable with an operator"),
    MacroHelp("banned", "{{banned::text}}", "nothing"),
    MacroHelp("worldinfobefore", "{{worldInfoBefore}}", "lore before the character"),
    MacroHelp("worldinfoafter", "{{worldInfoAfter}}", "lore after the character"),
    MacroHelp("if", "{{if name}}…{{else}}…{{/if}}", "one text or the other"),
    MacroHelp("reverse", "{{reverse::text}}", "a text from its end"),
    MacroHelp("hasextension", "{{hasExtension::regex}}", "true for scripts, else false"),
    MacroHelp("outlet", "{{outlet::name}}", "the lore entries of an outlet"),
    MacroHelp("greeting", "{{greeting::0}}", "a greeting of the character"),
    MacroHelp("newline", "{{newline}}", "a line break"),
    MacroHelp("space", "{{space}}", "a space"),
    MacroHelp("trim", "{{trim}}", "removes the line breaks around it"),
    MacroHelp("noop", "{{noop}}", "nothing"),
    MacroHelp("//", "{{// comment}}", "nothing: a comment"),
)
"""In the order in which they are offered."""


def complete_macro(typed: str, variables: tuple[str, ...] = ()) -> tuple[MacroHelp, ...]:
    """Return the macros that begin with `typed`, the text after `{{`; variables go last."""
    wanted = typed.casefold()
    own = tuple(
        MacroHelp(name.casefold(), f"{{{{getvar::{name}}}}}", "a variable of this preset")
        for name in variables
    )
    return tuple(macro for macro in (*MACRO_HELP, *own) if macro.name.startswith(wanted))
