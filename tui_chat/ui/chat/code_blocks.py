"""Lays out blocks of code. Pygments knows the languages; its token types become style names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from rich.cells import cell_len, get_character_cell_size

from tui_chat.lazy_dataclass import dataclass
from tui_chat.ui.chat.text_lines import (
    ClickAction,
    TextLine,
    TextRun,
    chop,
    indented,
    safe_run,
    width_of,
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


@dataclass(frozen=True, slots=True)
class CodeView:
    """The view of lines of code that are wider than the screen."""

    wraps: bool = True
    """True if they are broken; False if they are cut, to be scrolled."""
    offset: int = 0
    """Cells that are scrolled, if they are cut."""
    has_space: bool = False
    """True if a row of ground sets the code off above and below."""


WRAPPED = CodeView()


def cut_code(lines: list[TextLine], width: int, offset: int) -> list[TextLine]:
    """Join the broken lines of code again, and show of each the `width` cells after `offset`."""
    joined: list[TextLine] = []
    for line in lines:
        if line.fill == "code-block" and line.joint is not None and joined:
            rest = _after(line.runs, line.margin)
            joined[-1] = replace(joined[-1], runs=(*joined[-1].runs, *rest))
        else:
            joined.append(line)
    return [_cropped(row, width, offset) if _is_code(row) else row for row in joined]


def spaced_code(lines: list[TextLine], *, closes: bool) -> list[TextLine]:
    """Put a row of ground below the header of each block of code, and below its last line, unless
    the last block goes on in other lines: then it does not close here.
    """
    spaced: list[TextLine] = []
    for line, after in zip(lines, [*lines[1:], None], strict=True):
        spaced.append(line)
        is_header = line.fill == "code-block" and line.action is not None
        goes_on = after is not None and after.fill == "code-block" and after.action is None
        if is_header and goes_on:
            assert after is not None
            spaced.append(_space(after))
        elif _is_code(line) and not goes_on and (after is not None or closes):
            spaced.append(_space(line))
    return spaced


def _space(line: TextLine) -> TextLine:
    """Return a row of ground with the margin of a line of code."""
    margin = _window(line.runs, 0, cell_len(line.text[: line.margin]))
    return TextLine(tuple(margin), line.fill, margin=line.margin, is_space=True)


def _is_code(line: TextLine) -> bool:
    return line.fill == "code-block" and line.action is None


def _cropped(line: TextLine, width: int, offset: int) -> TextLine:
    """Show a line of code from `offset` on, with marks where something is cut."""
    margin = _window(line.runs, 0, cell_len(line.text[: line.margin]))
    code = _after(line.runs, line.margin)
    room, total = max(width - width_of(margin), 4), width_of(code)
    if offset == 0 and total <= room:
        return line
    begins, ends = int(offset > 0 and total > 0), int(total > offset + room)
    shown = _window(code, offset + begins, room - begins - ends)
    left = [TextRun("‹", ("code-label",))] if begins else []
    gap = " " * (room - begins - ends - width_of(shown))
    right = [TextRun(gap + "›", ("code-label",))] if ends else []
    return replace(line, runs=(*margin, *left, *shown, *right))


def _after(runs: Sequence[TextRun], characters: int) -> list[TextRun]:
    """Return runs without their first characters."""
    left: list[TextRun] = []
    for run in runs:
        left.append(run._replace(text=run.text[characters:]))
        characters = max(characters - len(run.text), 0)
    return [run for run in left if run.text]


def _window(runs: Sequence[TextRun], start: int, width: int) -> list[TextRun]:
    """Return the part of runs between two cells; a wide character that is cut is left out."""
    shown: list[TextRun] = []
    cell = 0
    for run in runs:
        kept = ""
        for character in run.text:
            size = get_character_cell_size(character)
            if start <= cell and cell + size <= start + width:
                kept += character
            cell += size
        if kept:
            shown.append(run._replace(text=kept))
    return shown


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
    token_type: _TokenType | None = kind
    while token_type is not None:
        if (style := _STYLE_NAMES.get(str(token_type))) is not None:
            return style
        token_type = token_type.parent
    return "code-text"
