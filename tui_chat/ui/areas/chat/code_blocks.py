"""Lays out blocks of code. Pygments knows the languages; its token types become style names."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from rich.cells import cell_len

from tui_chat.ui.areas.chat.text_lines import (
    ClickAction,
    TextLine,
    TextRun,
    chop,
    indented,
    safe_run,
)

if TYPE_CHECKING:  # Pygments comes with rich; loading it can wait for the first code
    from pygments.lexer import Lexer
    from pygments.token import _TokenType  # pyright: ignore[reportPrivateUsage]

_COPY = "copy "
HIGHLIGHTED_LINE = 1000
"""Maximum characters in a line of highlighted code; some grammars are slow on longer ones."""

_STYLE_NAMES: dict[str, str] = {
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
) -> list[TextLine]:
    """Lay out code: its language above it unless `opens` is False, and lines cut at `width`.

    `number` is its index among the blocks of its section, by which it is copied.
    """
    word = language.split()[0] if language.split() else ""
    lines = [_header(word, width, number)] if opens else []
    margin = (TextRun(" "),)
    for runs in _highlighted(source, word):
        lines += indented(chop(runs, width - 2, fill="code-block"), margin, margin)
    return lines


def _header(word: str, width: int, number: int) -> TextLine:
    """Lay out the line above code; a click on it copies the code."""
    name = safe_run(f" {word[:40]}", "code-label")
    room = width - cell_len(name.text) - cell_len(_COPY)
    runs = (name, TextRun(" " * room), TextRun(_COPY, ("code-copy",))) if room >= 0 else (name,)
    first = chop(runs, width)[0].runs
    return TextLine(first, "code-block", action=ClickAction("code", str(number)))


@lru_cache(maxsize=16)
def _highlighted(source: str, word: str) -> Sequence[Sequence[TextRun]]:
    """Return the runs of each line. Cached, because another width needs the same."""
    lines = source.split("\n")
    lexer = _lexer(word.lower()) if word else None
    if lexer is None or any(len(line) > HIGHLIGHTED_LINE for line in lines):
        return [[safe_run(line.expandtabs(4), "code-text")] for line in lines]
    runs: list[list[TextRun]] = [[]]
    for kind, value in lexer.get_tokens("\n".join(line.expandtabs(4) for line in lines)):
        style = _style_of(kind)
        for index, part in enumerate(value.split("\n")):
            if index:
                runs.append([])
            if part:
                runs[-1].append(safe_run(part, style))
    # Pygments adds a newline at the end.
    return runs[: len(lines)] + [[] for _ in range(len(lines) - len(runs))]


@lru_cache(maxsize=64)
def _lexer(word: str) -> Lexer | None:
    from pygments.lexers import get_lexer_by_name  # pyright: ignore[reportUnknownVariableType]
    from pygments.util import ClassNotFound

    try:
        return get_lexer_by_name(word, stripnl=False, ensurenl=True)
    except ClassNotFound:
        return None


@lru_cache(maxsize=512)
def _style_of(kind: _TokenType) -> str:
    at: _TokenType | None = kind
    while at is not None:
        if (style := _STYLE_NAMES.get(str(at))) is not None:
            return style
        at = at.parent
    return "code-text"
