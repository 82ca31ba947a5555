r"""The syntax of macros: `{{name}}`, `{{name::argument::argument}}`, which may be nested.

1. Parsing takes linear time, and every text is valid: what is not a whole macro is text.
2. `\{\{` and `\}\}` are two literal braces; their backslashes are removed.
3. Of three or more braces the innermost two count: `{{{user}}}` is a macro between braces.
4. A name ends at `::`, at `:` or at white space, whichever comes first. After it, `::` separates
   the arguments. White space around an argument does not count.
5. `{{// ...}}` is a comment. The macros in it are expanded, since they may set variables.
6. `{{if ...}}...{{/if}}`: what stands between a macro and its end is its last argument;
   `{{#if ...}}` keeps the white space around it.
7. With `is_card`, for texts of a character card and conversations that a builder expands, `<user>`,
   `<char>` and `<bot>` are macros, too.
8. Macros are parsed at any depth, so that each `}}` closes its own macro; `expander` limits the
   depth of expansion.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import NamedTuple, TypeAlias

from tui_chat.lazy_dataclass import dataclass

COMMENT = "//"
"""The name of a comment."""


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
    """Everything between the braces; empty for a macro without braces."""
    arguments: tuple[tuple[Node, ...], ...]
    """The arguments after the name, and what stands between it and its end if it has one."""
    scope: tuple[int, int] | None = None
    """Where the text before its end begins and stops; None if it has no end."""
    keeps_space: bool = False
    """True if the white space of that text is kept."""


Node: TypeAlias = Literal | Macro


class Parsed(NamedTuple):
    """A parsed text."""

    nodes: tuple[Node, ...]
    unclosed: int | None
    """The offset of the first macro that is never closed, which is text; None if there is none."""


_TOKEN = re.compile(r"\\\{\\\{|\\\}\\\}|\{\{(?!\{)|\}\}")
_CARD_TOKEN = re.compile(_TOKEN.pattern + r"|<(?:user|char|bot)>", re.IGNORECASE)
_NAME = re.compile(r"\s*(?:(/?//)|(#?\s*/?[^\W\d][\w.-]*)(\s*::|\s*:|\s+|$))")


def has_macros(source: str, *, is_card: bool = False) -> bool:
    """True if a text may contain macros."""
    return (
        "{{" in source
        or "\\{\\{" in source
        or (is_card and "<" in source and _CARD_TOKEN.search(source) is not None)
    )


def parse(source: str, *, is_card: bool = False) -> Parsed:
    """Parse a text into literals and macros."""
    stack: list[tuple[int, list[Node]]] = [(0, [])]
    at = 0
    for token in (_CARD_TOKEN if is_card else _TOKEN).finditer(source):
        _text(stack[-1][1], at, token.start())
        at = token.end()
        match token.group():
            case "{{":
                stack.append((token.start(), []))
            case "}}" if len(stack) > 1:
                start, nodes = stack.pop()
                stack[-1][1].append(_macro(source, start, at, nodes))
            case "}}":
                _text(stack[-1][1], token.start(), at)
            case name if name[0] == "<":
                name = name[1:-1].lower().replace("bot", "char")
                stack[-1][1].append(Macro(token.start(), at, name, (), ()))
            case _:  # an escape
                stack[-1][1].append(Literal(at - 3, at - 2))
                stack[-1][1].append(Literal(at - 1, at))
    _text(stack[-1][1], at, len(source))
    found = stack[0][1]
    for start, nodes in stack[1:]:  # an unclosed macro is text
        _text(found, start, start + 2)
        found += nodes
    return Parsed(_with_ends(found), stack[1][0] if len(stack) > 1 else None)


def _text(nodes: list[Node], start: int, stop: int) -> None:
    if start < stop:
        nodes.append(Literal(start, stop))


def _macro(source: str, start: int, stop: int, nodes: list[Node]) -> Macro:
    """Return a macro, parsed into name and arguments."""
    body = _with_ends(nodes)
    first = body[0] if body else None
    nameless = Macro(start, stop, "", body, ())
    if not isinstance(first, Literal) or first.start != start + 2:
        return nameless
    found = _NAME.match(source, first.start, first.stop)
    if found is None or (found[2] and not found[3] and len(body) > 1):
        return nameless
    rest: list[Node] = []
    _text(rest, found.end(), first.stop)
    rest += body[1:]
    if found[1]:
        return Macro(start, stop, found[1], body, (tuple(rest),) if rest else ())
    name = found[2].lower()
    arguments = _arguments(source, rest) if rest or ":" in found[3] else ()
    plain = name.lstrip("# \t\r\n")
    return Macro(start, stop, plain, body, arguments, keeps_space=name[0] == "#")


def _arguments(source: str, nodes: list[Node]) -> tuple[tuple[Node, ...], ...]:
    """Split the nodes at each `::` of their text, without the white space around each argument."""
    arguments: list[list[Node]] = [[]]
    for node in nodes:
        if isinstance(node, Macro):
            arguments[-1].append(node)
            continue
        at = node.start
        while (cut := source.find("::", at, node.stop)) >= 0:
            _text(arguments[-1], at, cut)
            arguments.append([])
            at = cut + 2
        _text(arguments[-1], at, node.stop)
    return tuple(tuple(_stripped(source, argument)) for argument in arguments)


def _stripped(source: str, nodes: list[Node]) -> list[Node]:
    if nodes and isinstance(first := nodes[0], Literal):
        text = source[first.start : first.stop]
        nodes[:1] = [Literal(first.stop - len(text.lstrip()), first.stop)] if text.strip() else []
    if nodes and isinstance(last := nodes[-1], Literal):
        text = source[last.start : last.stop]
        nodes[-1:] = [Literal(last.start, last.start + len(text.rstrip()))] if text.strip() else []
    return nodes


def _with_ends(nodes: list[Node]) -> tuple[Node, ...]:
    """Return the nodes, each macro that has an end with what stands before that end."""
    if not any(isinstance(node, Macro) and node.name[:1] == "/" for node in nodes):
        return tuple(nodes)
    found: list[Node] = []
    opened: dict[str, list[int]] = {}
    for node in nodes:
        name = node.name if isinstance(node, Macro) else ""
        ended = opened.get(name[1:]) if name[:1] == "/" and name != COMMENT else None
        if isinstance(node, Macro) and ended:
            at = ended.pop()
            macro = found[at]
            assert isinstance(macro, Macro)
            arguments = (*macro.arguments, tuple(found[at + 1 :]))
            del found[at:]
            for places in opened.values():  # what was opened in between has no end
                while places and places[-1] >= at:
                    places.pop()
            scope = macro.stop, node.start
            node = replace(macro, stop=node.stop, arguments=arguments, scope=scope)
        elif isinstance(node, Macro):
            opened.setdefault(name, []).append(len(found))
        found.append(node)
    return tuple(found)
