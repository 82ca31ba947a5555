"""Lays out blocks of code. Pygments knows the languages; its token types become style names."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from textual.content import Content

from tui_chat.ui.chat.rows import ClickAction, Row, chop, indented, joined, one_row, safe, styled

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


def code_rows(source: str, language: str, width: int, *, opens: bool = True) -> list[Row]:
    """Lay out code: its language above it unless `opens` is False, and lines cut at `width`."""
    word = language.split()[0] if language.split() else ""
    rows = [_header(word, width)] if opens else []
    margin = Content(" ")
    for line in _highlighted(source, word):
        rows += indented(chop(line, width - 2, ground="code-block"), margin, margin)
    return rows


def _header(word: str, width: int) -> Row:
    """Lay out the row above code; a click on it copies the code."""
    name = safe(f" {word[:40]}", "code-label")
    room = width - name.cell_length - len(_COPY)
    if room >= 0:
        name = joined(name, styled(" " * room), styled(_COPY, "code-copy"))
    return Row(one_row(name, width).content, "code-block", action=ClickAction("code"))


@lru_cache(maxsize=16)
def _highlighted(source: str, word: str) -> Sequence[Content]:
    """Return the lines. Cached, because another width needs the same."""
    lines = source.split("\n")
    lexer = _lexer(word.lower()) if word else None
    if lexer is None or any(len(line) > HIGHLIGHTED_LINE for line in lines):
        return [safe(line.expandtabs(4), "code-text") for line in lines]
    runs: list[list[Content]] = [[]]
    for kind, value in lexer.get_tokens("\n".join(line.expandtabs(4) for line in lines)):
        style = _style_of(kind)
        for index, part in enumerate(value.split("\n")):
            if index:
                runs.append([])
            if part:
                runs[-1].append(safe(part, style))
    # Pygments adds a newline at the end.
    runs += [[] for _ in range(len(lines) - len(runs))]
    return [joined(*line) for line in runs[: len(lines)]]


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
    token_type: _TokenType | None = kind
    while token_type is not None:
        if (style := _STYLE_NAMES.get(str(token_type))) is not None:
            return style
        token_type = token_type.parent
    return "code-text"
