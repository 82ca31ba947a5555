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
8. `{{#if ...}}` keeps the white space of what stands between it and its end.
9. Macros are parsed at any depth, so that each `}}` closes its own macro; `expander` limits the
   depth of expansion.
10. A preset's builder may supply another `MacroSyntax`: rules 2, 4, 5, 6 and 8 are the core's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import field, replace
from string import whitespace
from typing import TypeAlias

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

_TOKEN = re.compile(r"\\\{\\\{|\\\}\\\}|\{\{(?!\{)|\}\}")
_NAME = re.compile(
    r"\s*(?:(/?//)|((?:[!?~>#]\s*)*/?[^\W\d][\w.-]*)(\s*::|\s*:|\s+|$)|([.$])\s*(?=[^\W\d]))"
)


def split_arguments(source: str, nodes: list[Node], separator: str) -> tuple[tuple[Node, ...], ...]:
    """Return the arguments after a name that ends at a separator: what `::` separates."""
    return _split(source, nodes) if nodes or ":" in separator else ()


def _is_scoped(name: str, _arguments: int) -> bool:
    return name in SCOPED


@dataclass(frozen=True, slots=True, eq=False)
class MacroSyntax:
    """What a macro looks like; the defaults are the core's."""

    tokens: re.Pattern[str] = _TOKEN
    """Finds what begins or ends a macro, a macro without braces (`bare`), and what stands for
    braces: two characters for one, four for two."""
    signs: tuple[str, ...] = ("{{", "\\{\\{")
    """A text without macros has none of these."""
    bare: re.Pattern[str] | None = None
    """Finds macros without braces, such as `<user>`; None if there are none."""
    bare_names: Mapping[str, str] = field(default_factory=dict[str, str])
    """Other names of these."""
    joined_argument: re.Pattern[str] | None = None
    """Matches a macro whose name (group 1) is joined to its argument (group 2)."""
    has_flags: bool = False
    """True if signs that mean nothing may stand before a name, and `#` before every one."""
    has_ends: bool = True
    """True if macros may have an end."""
    opens: Callable[[str, int], bool] = _is_scoped
    """True if a macro with a name and so many arguments may have an end."""
    arguments: Callable[[str, list[Node], str], tuple[tuple[Node, ...], ...]] = split_arguments
    """Returns the arguments of a macro, from the source, what stands after the name, and the
    separator at which the name ends."""
    reads_comments: bool = False
    """True if the macros in a comment are expanded, since they may set variables."""


CORE_SYNTAX = MacroSyntax()


def has_macros(source: str, syntax: MacroSyntax = CORE_SYNTAX) -> bool:
    """True if a text may contain macros."""
    return any(sign in source for sign in syntax.signs) or (
        syntax.bare is not None and "<" in source and syntax.bare.search(source) is not None
    )


@dataclass(slots=True)
class _OpenMacro:
    """A macro that is not closed yet."""

    start: int
    nodes: list[Node] = field(default_factory=list["Node"])


def parse(source: str, syntax: MacroSyntax = CORE_SYNTAX) -> tuple[Node, ...]:
    """Parse a text into literals and macros."""
    stack = [_OpenMacro(0)]
    at = 0
    for token in syntax.tokens.finditer(source):
        _text(stack[-1].nodes, at, token.start())
        at = token.end()
        match token.group():
            case "{{":
                stack.append(_OpenMacro(token.start()))
            case "}}" if len(stack) > 1:
                opened = stack.pop()
                stack[-1].nodes.append(_macro(source, opened, at, syntax))
            case "}}":
                _text(stack[-1].nodes, token.start(), at)
            case bare if bare[0] == "<":
                name = bare[1:-1].lower()
                name = syntax.bare_names.get(name, name)
                stack[-1].nodes.append(Macro(token.start(), at, name, (), ()))
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
    return tuple(_with_scopes(nodes, syntax))


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


def _macro(source: str, opened: _OpenMacro, stop: int, syntax: MacroSyntax) -> Macro:
    """Return an opened macro, parsed into name and arguments."""
    start, body = opened.start, tuple(_with_scopes(opened.nodes, syntax))
    joined = syntax.joined_argument
    if joined is not None and (match := joined.fullmatch(source, start + 2, stop - 2)):
        return Macro(start, stop, match[1].lower(), body, ((Literal(*match.span(2)),),))
    first = body[0] if body else None
    if not isinstance(first, Literal) or first.start != start + 2:
        return Macro(start, stop, "", body, ())
    found = _NAME.match(source, first.start, first.stop)
    if found is None or (not found[3] and found[2] and len(body) > 1):
        return Macro(start, stop, "", body, ())
    rest: list[Node] = []
    _text(rest, found.end(), first.stop)
    rest += body[1:]
    if found[1]:
        name = found[1] if syntax.has_ends else COMMENT
        arguments = syntax.arguments(source, rest, "") if syntax.reads_comments else ()
        return Macro(start, stop, name, body, arguments)
    if found[4]:
        return Macro(start, stop, found[4], body, (tuple(rest),))
    arguments = syntax.arguments(source, rest, found[3].strip())
    name = found[2].lower()
    plain = name.lstrip("!?~>#" + whitespace)
    if plain != name and (syntax.has_flags or (name[0] == "#" and plain in SCOPED)):
        return Macro(start, stop, plain, body, arguments, keeps_space="#" in name)
    return Macro(start, stop, name, body, arguments)


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


def _with_scopes(nodes: list[Node], syntax: MacroSyntax) -> list[Node]:
    """Return the nodes, each macro that has an end with what stands before that end."""
    if not syntax.has_ends or not any(
        isinstance(node, Macro) and node.name[:1] == "/" for node in nodes
    ):
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
        elif isinstance(node, Macro) and syntax.opens(name, len(node.arguments)):
            opened.setdefault(name, []).append(len(found))
        found.append(node)
    return found
