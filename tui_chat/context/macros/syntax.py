r"""The syntax of macros: `{{name}}`, `{{name::argument::argument}}`, which may be nested.

1. Parsing takes linear time, and every text is valid: what is not a whole macro is text.
2. `\{\{` and `\}\}` are two literal braces; their backslashes are removed.
3. Of three or more braces the innermost two count: `{{{user}}}` is a macro between braces.
4. A name ends at `::`, at `:` or at white space, whichever comes first. After it, `::` separates
   the arguments, whose white space counts.
5. `{{// ...}}` is a comment, including the macros in it.
6. `{{if ...}}...{{/if}}`: for the macros of `SCOPED`, what stands between them and their end is
   their last argument.
7. `{{.name ...}}` and `{{$name ...}}` are a variable of the session and a global one, with an
   operator.
8. With `aliases`, which SillyTavern's presets have, `<user>`, `<bot>`, `<char>` and `<group>` are
   macros, too, and flags may stand before a name. All but `#` mean nothing: `{{#if ...}}` keeps the
   white space of what stands between it and its end. Only a name that ends at `::` has several
   arguments; white space around an argument does not count.
9. Macros are parsed at any depth, so that each `}}` closes its own macro; `expander` limits the
   depth of expansion.
10. SillyTavern's `legacy` engine has neither escapes nor flags nor ends.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import field, replace
from string import whitespace
from typing import TypeAlias

from tui_chat.context.macros.dialects import opens
from tui_chat.lazy_dataclass import dataclass

COMMENT = "//"
"""The name of a comment."""


VARIABLE_SIGNS = (".", "$")
"""The names of the macros that stand for a variable with an operator."""
# fmt: off
SCOPED = frozenset((
    "if", "trim", COMMENT, "reverse", "setvar", "addvar", "setglobalvar", "addglobalvar",
))
# fmt: on
"""Our own macros that may have an end."""


@dataclass(frozen=True, slots=True)
class Literal:
    """A piece of literal text."""

    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class Macro:
    """A whole macro, braces included."""

    start: int
    stop: int
    name: str
    """In lower case; `COMMENT` for a comment; empty if there is no valid name."""
    body: tuple[Node, ...]
    """Everything between the braces."""
    arguments: tuple[tuple[Node, ...], ...]
    """The arguments after the name."""
    scope: tuple[Node, ...] | None = None
    """What stands between it and its end; None if it has no end."""
    keeps_space: bool = False
    """True if the white space of the scope is kept."""
    scope_start: int = 0
    scope_stop: int = 0
    """Where the scope begins and stops."""


Node: TypeAlias = Literal | Macro

_TOKENS = r"\\\{\\\{|\\\}\\\}|\{\{(?!\{)|\}\}"
_TOKEN = re.compile(_TOKENS)
_ALIAS = re.compile("<(user|bot|char|group|charifnotgroup)>", re.IGNORECASE)
_TOKEN_OR_ALIAS = re.compile(
    rf"\\\{{(?!\{{)|\\\}}|\{{\{{(?!\{{)|\}}\}}|{_ALIAS.pattern}", re.IGNORECASE
)
"""With aliases, each brace is escaped by itself."""
_LEGACY_TOKEN = re.compile(rf"\{{\{{(?!\{{)|\}}\}}|{_ALIAS.pattern}", re.IGNORECASE)
_ALIASED = {"bot": "char"}
_TIME_AT = re.compile(r"time_UTC[+-]\d+", re.IGNORECASE)
_NAME = re.compile(
    r"\s*(?:(/?//)|((?:[!?~>#]\s*)*/?[^\W\d][\w.-]*)(\s*::|\s*:|\s+|$)|([.$])\s*(?=[^\W\d]))"
)


def has_macros(source: str, aliases: bool = False) -> bool:
    """True if a text may contain macros."""
    return (
        "{{" in source
        or "\\{\\{" in source
        or (aliases and ("\\{" in source or "\\}" in source))
        or (aliases and "<" in source and _ALIAS.search(source) is not None)
    )


@dataclass(slots=True)
class _OpenMacro:
    """A macro that is not closed yet."""

    start: int
    nodes: list[Node] = field(default_factory=list["Node"])


def parse(source: str, aliases: bool = False, legacy: bool = False) -> tuple[Node, ...]:
    """Parse a text into literals and macros."""
    stack = [_OpenMacro(0)]
    at = 0
    tokens = _LEGACY_TOKEN if legacy else _TOKEN_OR_ALIAS if aliases else _TOKEN
    for token in tokens.finditer(source):
        _text(stack[-1].nodes, at, token.start())
        at = token.end()
        match token.group():
            case "{{":
                stack.append(_OpenMacro(token.start()))
            case "}}" if len(stack) > 1:
                opened = stack.pop()
                stack[-1].nodes.append(_macro(source, opened, at, aliases, aliases and not legacy))
            case "}}":
                _text(stack[-1].nodes, token.start(), at)
            case alias if alias[0] == "<":
                name = alias[1:-1].lower()
                stack[-1].nodes.append(Macro(token.start(), at, _ALIASED.get(name, name), (), ()))
            case escape if len(escape) == 2:
                stack[-1].nodes.append(Literal(at - 1, at))
            case _:  # an escape
                stack[-1].nodes.append(Literal(at - 3, at - 2))
                stack[-1].nodes.append(Literal(at - 1, at))
    _text(stack[-1].nodes, at, len(source))
    nodes = stack[0].nodes
    for opened in stack[1:]:  # an unclosed macro is text
        _text(nodes, opened.start, opened.start + 2)
        nodes += opened.nodes
    return tuple(nodes if legacy else _with_scopes(nodes, aliases))


def unclosed(source: str) -> int | None:
    """Return the offset of the first unclosed macro, which is text; None if there is none."""
    opened: list[int] = []
    for token in _TOKEN.finditer(source):
        if token.group() == "{{":
            opened.append(token.start())
        elif token.group() == "}}" and opened:
            opened.pop()
    return opened[0] if opened else None


def _text(nodes: list[Node], start: int, stop: int) -> None:
    if start < stop:
        nodes.append(Literal(start, stop))


def _macro(source: str, opened: _OpenMacro, stop: int, aliases: bool, flags: bool) -> Macro:
    """Return an opened macro, parsed into name and arguments."""
    start, body = opened.start, tuple(_with_scopes(opened.nodes, flags))
    rest: list[Node]
    if aliases and _TIME_AT.fullmatch(source, start + 2, stop - 2):
        return Macro(start, stop, "time", body, ((Literal(start + 7, stop - 2),),))
    first = body[0] if body else None
    if not isinstance(first, Literal) or first.start != start + 2:
        return Macro(start, stop, "", body, ())
    found = _NAME.match(source, first.start, first.stop)
    if found is None or (not found[3] and found[2] and len(body) > 1):
        return Macro(start, stop, "", body, ())
    if found[1] and aliases and not flags:
        return Macro(start, stop, COMMENT, body, ())
    if found[1]:
        rest = []
        if flags:
            _text(rest, found.end(), first.stop)
            rest = _stripped(source, [*rest, *body[1:]])
        return Macro(start, stop, found[1], body, (tuple(rest),) if rest else ())
    if found[4]:
        rest = []
        _text(rest, found.end(), first.stop)
        return Macro(start, stop, found[4], body, ((*rest, *body[1:]),))
    rest = []
    _text(rest, found.end(), first.stop)
    rest += body[1:]
    if flags:
        arguments = _sillytavern_arguments(source, rest, found[3].strip())
    else:
        arguments = _split(source, rest) if rest or ":" in found[3] else ()
    name = found[2].lower()
    plain = name.lstrip("!?~>#" + whitespace)
    if plain != name and (flags or (name[0] == "#" and plain in SCOPED)):
        return Macro(start, stop, plain, body, arguments, keeps_space="#" in name)
    return Macro(start, stop, name, body, arguments)


def _sillytavern_arguments(
    source: str, nodes: list[Node], separator: str
) -> tuple[tuple[Node, ...], ...]:
    """Return the arguments: several only after `::`, without the white space around each."""
    split = _split(source, nodes) if separator == "::" else (tuple(nodes),)
    arguments = tuple(tuple(_stripped(source, each)) for each in split)
    return arguments if separator or any(arguments) else ()


def _stripped(source: str, nodes: Sequence[Node]) -> list[Node]:
    """Return nodes without the literal white space at both ends."""
    found = list(nodes)
    if found and isinstance(first := found[0], Literal):
        text = source[first.start : first.stop]
        found[:1] = _literals(first.stop - len(text.lstrip()), first.stop)
    if found and isinstance(last := found[-1], Literal):
        text = source[last.start : last.stop]
        found[-1:] = _literals(last.start, last.start + len(text.rstrip()))
    return found


def _literals(start: int, stop: int) -> list[Literal]:
    return [Literal(start, stop)] if start < stop else []


def _split(source: str, nodes: list[Node]) -> tuple[tuple[Node, ...], ...]:
    """Split the nodes at each `::` of their text."""
    arguments: list[tuple[Node, ...]] = []
    current: list[Node] = []
    for node in nodes:
        if isinstance(node, Macro):
            current.append(node)
            continue
        at = node.start
        while (cut := source.find("::", at, node.stop)) >= 0:
            _text(current, at, cut)
            arguments.append(tuple(current))
            current = []
            at = cut + 2
        _text(current, at, node.stop)
    arguments.append(tuple(current))
    return tuple(arguments)


def _with_scopes(nodes: list[Node], flags: bool) -> list[Node]:
    """Return the nodes, each macro that has an end with what stands before that end."""
    if not any(isinstance(node, Macro) and node.name[:1] == "/" for node in nodes):
        return nodes
    found: list[Node] = []
    opened: dict[str, list[int]] = {}
    for node in nodes:
        name = node.name if isinstance(node, Macro) else ""
        ended = opened.get(name[1:]) if name[:1] == "/" and name != COMMENT else None
        if isinstance(node, Macro) and ended:
            at = ended.pop()
            macro = found[at]
            assert isinstance(macro, Macro)
            scope = tuple(found[at + 1 :])
            del found[at:]
            for places in opened.values():  # what was opened in the scope has no end
                while places and places[-1] >= at:
                    places.pop()
            node = replace(
                macro,
                stop=node.stop,
                scope=scope,
                scope_start=macro.stop,
                scope_stop=node.start,
            )
        elif isinstance(node, Macro) and (
            opens(name, len(node.arguments)) if flags else name in SCOPED
        ):
            opened.setdefault(name, []).append(len(found))
        found.append(node)
    return found
