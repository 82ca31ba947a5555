"""The macros that take arguments or have effects, each a function of its call.

To add one: write a function from `MacroCall` to the text that replaces it, which raises
`NotExpanded` for arguments it cannot use, and add it to `_OWN` and `_MOST`, and to
`completion.MACRO_HELP`.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from datetime import datetime
from decimal import Decimal
from typing import Protocol, cast

from tui_chat.context.macros.dialect import MacroDialect, MacroFunction
from tui_chat.context.macros.environment import CHANCE, GLOBAL, LASTING_CHANCE, MOMENT
from tui_chat.context.macros.syntax import Macro, parse
from tui_chat.context.macros.times import time_between, time_text
from tui_chat.errors import InputError
from tui_chat.extensions import load_named, plugins
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.envelope import Level

MAX_DICE = 100
MAX_ITEMS = 1_000
"""Maximum length of a list that a variable holds."""


class NotExpanded(Exception):
    """A macro is not expanded; the message says why."""


class UnknownMacro(NotExpanded):
    """There is no such macro or variable."""


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

    @property
    def dialect(self) -> MacroDialect:
        """The dialect of the request."""
        ...


@dataclass(slots=True)
class MacroCall:
    """A macro with its arguments expanded."""

    text: ExpansionContext
    macro: Macro
    written: str
    """The macro as it is written, braces included."""
    arguments: list[str]

    def argument(self, index: int) -> str:
        """Return an argument. Raises NotExpanded if it is missing."""
        if index >= len(self.arguments):
            raise NotExpanded("lacks an argument")
        return self.arguments[index]

    def draw(self, chance: str, below: int, *more: object) -> int:
        """Draw a number from 0 up to, but not including, `below`."""
        return self.text.draw(chance, self.macro, *more) % below

    def number_or_text(self, name: str) -> str:
        """Return a variable's value, empty if it is not set; in a dialect that reads numbers, what
        looks like a number as JavaScript writes it.
        """
        value = self.text.value(name) or ""
        number = _number(value) if self.text.dialect.reads_numbers and value.strip() else None
        return value if number is None else _number_text(number)

    def unusable(self, reason: str, instead: str = "") -> str:
        """Return what stands for a macro whose arguments cannot be used in a lenient dialect.

        Raises NotExpanded in others.
        """
        if self.text.dialect.is_lenient:
            return instead
        raise NotExpanded(reason)


def macro_function(name: str) -> MacroFunction | None:
    """Return the macro with a name, in lower case, of the core or of a plugin; None without one."""
    if (function := MACROS.get(name)) is not None:
        return function
    try:
        return load_named("macros", name)
    except InputError as error:
        return _failing(str(error))


def _failing(why: str) -> MacroFunction:
    def run(_: MacroCall) -> str:
        raise NotExpanded(f"cannot be expanded. {why}")

    return run


def argument_fault(macro: Macro, _source: str) -> str:
    """Return why a macro is not expanded by the core's rules; empty if it is."""
    most = MAX_ARGUMENTS.get(macro.name)
    if macro.name not in MACROS:
        added = (each for plugin in plugins() for each in plugin.macros)
        most = next((each.most_arguments for each in added if each.name == macro.name), None)
    is_over = most is not None and len(macro.arguments) > most
    return "has too many arguments" if is_over else ""


def choices(call: MacroCall) -> list[str]:
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


def choose(
    chance: str, choices: Callable[[MacroCall], list[str]] = choices
) -> Callable[[MacroCall], str]:
    """Return a macro that draws one of its choices."""

    def run(call: MacroCall) -> str:
        drawn = choices(call)
        return drawn[call.draw(chance, len(drawn))]

    return run


_DICE = re.compile(r"\s*(\d{0,4})\s*[dD]\s*(\d{1,9})\s*([+-]\s*\d{1,9})?\s*\Z", re.ASCII)


def _roll(call: MacroCall) -> str:
    written = call.argument(0).strip()
    found = _DICE.match(f"d{written}" if written.isdecimal() and written.isascii() else written)
    if found is None:
        return call.unusable("is not a dice roll such as 2d6 or d20+1")
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


_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?", re.ASCII | re.IGNORECASE)
_BASED = re.compile(r"0(?:x[\da-f]+|o[0-7]+|b[01]+)", re.ASCII | re.IGNORECASE)


def _number(text: str) -> float | None:
    """Return the number that a text is for JavaScript; None if it is none."""
    text = text.strip()
    if not text:
        return 0.0
    if _BASED.fullmatch(text):
        return float(int(text, 0)) if len(text) < 200 else None
    number = float(text) if _NUMBER.fullmatch(text) else math.inf
    return number if math.isfinite(number) else None


def _number_text(number: float) -> str:
    """Return a number as JavaScript writes it."""
    if number.is_integer() and abs(number) < 1e21:
        return str(int(number))
    if 1e-6 <= abs(number) < 1e-4:
        return f"{Decimal(repr(number)):f}"
    return re.sub(r"e([+-])0", r"e\1", repr(number))


def _added(value: str, more: str) -> str:
    """Return a sum of numbers, a list with one more item, or the texts put together."""
    if value[:1] == "[":
        try:
            items: object = json.loads(value)
        except (ValueError, RecursionError):
            items = None
        if isinstance(items, list) and len(cast("list[object]", items)) < MAX_ITEMS:
            return _as_json([*cast("list[object]", items), more])
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
        call.text.set(name, change(call.number_or_text(name), "::".join(call.arguments[1:])))
        return ""

    return run


def _get(prefix: str) -> Callable[[MacroCall], str]:
    """Return a macro that reads a variable."""

    def run(call: MacroCall) -> str:
        name = prefix + call.argument(0).strip()
        if call.text.value(name) is None:
            what = "reads a variable that is not set; it expands to nothing."
            call.text.tell(Level.INFO, "unset-variable", call.macro, what)
        return call.number_or_text(name)

    return run


def _count(prefix: str, step: str) -> Callable[[MacroCall], str]:
    """Return a macro that counts a variable up or down, and expands to its new value."""

    def run(call: MacroCall) -> str:
        name = prefix + _variable(call)
        value = _added(call.number_or_text(name) or "0", step)
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
    if value is not None:
        value = call.number_or_text(name)
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
                return call.unusable("does not subtract a number")
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
            return _compared(call, value or "", comparison, operand)
    if found[2].endswith("="):
        call.text.set(name, result)
    return result


def _compared(call: MacroCall, value: str, comparison: str, operand: str) -> str:
    if comparison in ("==", "!="):
        return str((value == operand) is (comparison == "==")).lower()
    one, other = _number(value), _number(operand)
    if one is None or other is None:
        return call.unusable("does not compare numbers", "false")
    results = {">": one > other, "<": one < other, ">=": one >= other, "<=": one <= other}
    return str(results[comparison]).lower()


def is_true(condition: str) -> bool:
    """True unless a condition is empty or a word for false."""
    return condition.strip().lower() not in ("", "false", "off", "0")


def _trim(call: MacroCall) -> str:
    return call.argument(0).strip()


def _greeting(call: MacroCall) -> str:
    number = call.arguments[0].strip() if call.arguments else "0"
    fault = "does not name a greeting by its number"
    if re.fullmatch(r"-\d+", number, re.ASCII):
        return call.unusable(fault)
    if not (number.isdecimal() and len(number) < 5):
        raise NotExpanded(fault)
    return call.text.value(f"greeting {int(number)}") or ""


def _stored(value: str | None) -> object:
    """Return the object or list that a variable holds as JSON; None if it is not set."""
    if not value:
        return None
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        raise NotExpanded("names a variable that is no list or object") from None


def _index(key: str) -> int | None:
    return int(key) if key.isdecimal() and key.isascii() and len(key) <= 9 else None


def _set_key(prefix: str) -> Callable[[MacroCall], str]:
    """Return a macro that sets a key of an object or list, which a variable holds as JSON."""

    def run(call: MacroCall) -> str:
        name, key = prefix + _variable(call), call.argument(1).strip()
        value, at = call.argument(2), _index(key)
        try:
            held = _stored(call.text.value(name))
        except NotExpanded as fault:
            return call.unusable(str(fault))
        if isinstance(held, dict) or (held is None and at is None):
            changed: object = {**cast("dict[str, object]", held or {}), key: value}
        elif isinstance(held, list | None) and at is not None and at < MAX_ITEMS:
            items = [*cast("list[object]", held or [])]
            items += [None] * (at + 1 - len(items))
            items[at] = value
            changed = items
        else:
            return call.unusable(f"names no key of an object, and no index below {MAX_ITEMS:,}")
        call.text.set(name, _as_json(changed))
        return ""

    return run


def _get_key(prefix: str) -> Callable[[MacroCall], str]:
    """Return a macro that reads a key of an object or list, which a variable holds as JSON."""

    def run(call: MacroCall) -> str:
        name, key = prefix + _variable(call), call.argument(1).strip()
        try:
            held = _stored(call.text.value(name))
        except NotExpanded as fault:
            return call.unusable(str(fault), call.number_or_text(name))
        at, found = _index(key), None
        if isinstance(held, dict):
            found = cast("dict[str, object]", held).get(key)
        elif isinstance(held, list) and at is not None:
            found = next(iter(cast("list[object]", held)[at : at + 1]), None)
        return "" if found is None else found if isinstance(found, str) else _as_json(found)

    return run


def _as_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _time(_: MacroCall) -> str:
    raise NotExpanded("takes no arguments")


def _formatted_time(call: MacroCall) -> str:
    return time_text(moment(call), call.argument(0).strip())


def moment(call: MacroCall) -> datetime:
    """Return the time that macros read."""
    return datetime.fromisoformat(call.text.read(MOMENT) or "1970-01-01")


def _time_difference(call: MacroCall) -> str:
    try:
        return time_between(call.argument(0), call.argument(1))
    except ValueError:
        raise NotExpanded("takes two times such as 2025-06-30 or 2025-06-30 18:05") from None


MACRO_ALIASES = {
    "varexists": "hasvar",
    "flushvar": "deletevar",
    "globalvarexists": "hasglobalvar",
    "flushglobalvar": "deleteglobalvar",
    "setvarindex": "setvarkey",
    "getvarindex": "getvarkey",
    "setglobalvarindex": "setglobalvarkey",
    "getglobalvarindex": "getglobalvarkey",
    "charfirstmessage": "greeting",
}
"""Other names of macros."""
_OWN: Mapping[str, Callable[[MacroCall], str]] = {
    "random": choose(CHANCE),
    "pick": choose(LASTING_CHANCE),
    "roll": _roll,
    "trim": _trim,
    ".": _operation,
    "$": _operation,
    "reverse": lambda call: call.argument(0)[::-1],
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
    "setvarkey": _set_key(""),
    "getvarkey": _get_key(""),
    "setglobalvarkey": _set_key(GLOBAL),
    "getglobalvarkey": _get_key(GLOBAL),
    "timediff": _time_difference,
    "time": _time,
    "datetimeformat": _formatted_time,
    "comment": lambda call: call.argument(0)[:0],
    "persona": lambda call: call.text.profile(),
    "newline": _repeated("\n"),
    "space": _repeated(" "),
    "noop": lambda _: "",
}
MACROS = {**_OWN, **{alias: _OWN[name] for alias, name in MACRO_ALIASES.items()}}
"""By name, in lower case."""
_MOST = {
    "roll": 1,
    "getvar": 1,
    "getglobalvar": 1,
    "incvar": 1,
    "decvar": 1,
    "hasvar": 1,
    "deletevar": 1,
    "hasglobalvar": 1,
    "deleteglobalvar": 1,
    "getvarkey": 2,
    "getglobalvarkey": 2,
    "setvarkey": 3,
    "setglobalvarkey": 3,
    "timediff": 2,
    "time": 1,
    "datetimeformat": 1,
    "comment": 1,
    "reverse": 1,
    "greeting": 1,
    "persona": 0,
    "newline": 1,
    "space": 1,
    "noop": 0,
    "trim": 0,
}
MAX_ARGUMENTS: Mapping[str, int] = {
    **_MOST,
    **{alias: _MOST[name] for alias, name in MACRO_ALIASES.items()},
}
"""Maximum number of arguments; a call with more is not expanded, so that no text is lost."""
