"""Code, coloured by name of style; Pygments knows the languages, the palette the colours."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from rich.cells import cell_len

from tui_chat.ui.chat.lines import Action, Line, Run, fold, indented, run

if TYPE_CHECKING:  # Pygments comes with rich; loading it can wait for the first code
    from pygments.lexer import Lexer
    from pygments.token import _TokenType  # pyright: ignore[reportPrivateUsage]

_COPY = "copy "
LONGEST = 1000
"""Characters in a line beyond which code is not coloured: some grammars are slow on those."""

_NAMES: dict[str, str] = {
    "Token.Comment": "code-comment",
    "Token.Comment.Preproc": "code-keyword",
    "Token.Keyword": "code-keyword",
    "Token.Keyword.Constant": "code-number",
    "Token.Keyword.Type": "code-class",
    "Token.Operator.Word": "code-keyword",
    "Token.Literal.Number": "code-number",
    "Token.Literal.String": "code-string",
    "Token.Literal.String.Doc": "code-comment",
    "Token.Name.Attribute": "code-name",
    "Token.Name.Builtin": "code-builtin",
    "Token.Name.Class": "code-class",
    "Token.Name.Decorator": "code-builtin",
    "Token.Name.Exception": "code-class",
    "Token.Name.Function": "code-name",
    "Token.Name.Tag": "code-keyword",
    "Token.Name.Variable": "code-builtin",
    "Token.Generic.Deleted": "code-deleted",
    "Token.Generic.Inserted": "code-inserted",
    "Token.Generic.Heading": "code-class",
    "Token.Generic.Subheading": "code-class",
    "Token.Generic.Prompt": "code-comment",
    "Token.Error": "code-block",
}


def code_lines(
    source: str, language: str, width: int, *, opens: bool = True, number: int = 0
) -> list[Line]:
    """Lay code out: its language above it, and lines folded at `width`.

    `number` tells it apart from the other code of its section, when it is to be copied.
    """
    word = language.split()[0] if language.split() else ""
    made = [_header(word, width, number)] if opens else []
    mark = (Run(" "),)
    for pieces in _coloured(source, word):
        made += indented(fold(pieces, width - 2, fill="code-block"), mark, mark)
    return made


def _header(word: str, width: int, number: int) -> Line:
    """Lay out the line above code, which copies it when it is clicked."""
    name = run(f" {word[:40]}", "code-label")
    room = width - cell_len(name.text) - cell_len(_COPY)
    runs = (name, Run(" " * room), Run(_COPY, ("code-copy",))) if room >= 0 else (name,)
    clip = fold(runs, width)[0].runs
    return Line(clip, "code-block", action=Action("code", str(number)))


@lru_cache(maxsize=16)
def _coloured(source: str, word: str) -> Sequence[Sequence[Run]]:
    """Colour code. What a screen holds of it is kept: another width needs the same."""
    lines = source.split("\n")
    lexer = _lexer(word.lower()) if word else None
    if lexer is None or any(len(line) > LONGEST for line in lines):
        return [[run(line.expandtabs(4), "code-text")] for line in lines]
    made: list[list[Run]] = [[]]
    for kind, value in lexer.get_tokens("\n".join(line.expandtabs(4) for line in lines)):
        name = _name(kind)
        for index, part in enumerate(value.split("\n")):
            if index:
                made.append([])
            if part:
                made[-1].append(run(part, name))
    # Pygments ends with a newline of its own.
    return made[: len(lines)] + [[] for _ in range(len(lines) - len(made))]


@lru_cache(maxsize=64)
def _lexer(word: str) -> Lexer | None:
    from pygments.lexers import get_lexer_by_name  # pyright: ignore[reportUnknownVariableType]
    from pygments.util import ClassNotFound

    try:
        return get_lexer_by_name(word, stripnl=False, ensurenl=True)
    except ClassNotFound:
        return None


@lru_cache(maxsize=512)
def _name(kind: _TokenType) -> str:
    at: _TokenType | None = kind
    while at is not None:
        if (name := _NAMES.get(str(at))) is not None:
            return name
        at = at.parent
    return "code-text"
