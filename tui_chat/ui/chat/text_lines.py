"""Laid-out text: lines of styled runs, and how runs are wrapped.

A run names its styles (`strong`, `link`); the transcript's palette turns the names into colors
when a line is drawn. So layout is pure, and a change of theme lays nothing out again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Literal, NamedTuple

from rich.cells import cell_len, chop_cells

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.sanitize import sanitize

StyleNames = tuple[str, ...]
"""Names of styles, a later one over an earlier one."""


class ClickAction(NamedTuple):
    """The effect of a click. Never made from the text of a message."""

    name: Literal[
        "toggle",
        "code",
        "older",
        "newer",
        "retry",
        "model",
        "run",
        "answer",
        "view",
        "subagent",
    ]
    key: str = ""
    """The key of the fold, the index of the code block in its part, the index of the attachment,
    or the action of the app.
    """


class TextRun(NamedTuple):
    """Characters of one style."""

    text: str
    """Safe to draw, if the run was made by `safe_run`."""
    styles: StyleNames = ()
    link: str = ""
    """The address that a click opens."""
    action: ClickAction | None = None
    """The effect of a click, if it is not that of its line."""


@dataclass(frozen=True, slots=True)
class TextLine:
    """One line of a layout, at most as wide as the width it was laid out for."""

    runs: tuple[TextRun, ...] = ()
    fill: str = ""
    """Name of the background style of the whole width; empty for none."""
    joint: str | None = None
    """If wrapped: the text between it and the line above, a space or nothing. Else None."""
    margin: int = 0
    """Number of first characters that are not of the text: a bar, a bullet, an indentation."""
    action: ClickAction | None = None
    bare: bool = False
    """True if it is outside of its message, without bar and background."""
    is_space: bool = False
    """True if it is a row of ground that sets something off, and no text."""

    @property
    def text(self) -> str:
        """Its characters."""
        return "".join(safe_run.text for safe_run in self.runs)


BLANK = TextLine()


def safe_run(text: str, *styles: str, link: str = "") -> TextRun:
    """Return a run of text that may be hostile; control characters in it become visible."""
    return TextRun(sanitize(text).replace("\t", " ").replace("\n", " "), styles, link)


def width_of(runs: Iterable[TextRun]) -> int:
    """Return the cells that the runs take."""
    return sum(cell_len(run.text) for run in runs)


def indented(
    lines: Iterable[TextLine], first: Sequence[TextRun], rest: Sequence[TextRun]
) -> list[TextLine]:
    """Put `first` before the first line and `rest` before the others."""
    indented_lines: list[TextLine] = []
    for line in lines:
        before = rest if indented_lines else first
        margin = line.margin + sum(len(run.text) for run in before)
        indented_lines.append(replace(line, runs=(*before, *line.runs), margin=margin))
    return indented_lines


def clipped(text: str, width: int) -> str:
    """Cut safe text to `width` cells, with an ellipsis if anything is lost."""
    if cell_len(text) <= width:
        return text
    if width <= 1:
        return "…"[:width]
    return chop_cells(text, width - 1)[0] + "…"


# Lines break between any wide characters, but closing punctuation stays with what it closes.
_WIDE = (
    "\u1100-\u115e\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\ua4cf\ua960-\ua97f"
    "\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\U00020000-\U0003fffd"
)
_CLOSING = "、。，．：；？！）］｝〉》」』】〕〗”’…・ー々,.;:?!)"
_WORD = re.compile(f" +|[{_WIDE}][{_CLOSING}]*|[^ {_WIDE}]+")


def wrap(
    runs: Sequence[TextRun], width: int, *, fill: str = "", action: ClickAction | None = None
) -> list[TextLine]:
    """Break runs into lines of at most `width` cells, between words where possible."""
    width = max(width, 2)
    plain = "".join(run.text for run in runs)
    if cell_len(plain) <= width:
        return [TextLine(tuple(runs), fill, action=action)]
    breaks = _breaks(plain, width)
    joints = [None, *(plain[stop:start][:1] for stop, start in breaks)]
    return [
        TextLine(part, fill, joint=joint, action=action)
        for part, joint in zip(_cut(runs, breaks), joints, strict=True)
    ]


def chop(runs: Sequence[TextRun], width: int, *, fill: str = "") -> list[TextLine]:
    """Break runs into lines of at most `width` cells, as code needs, where spaces matter: after a
    space, if the word behind it fits in a line, and nothing is dropped. A space that is the first
    character too many ends its line, one cell further, so that no line begins with it.
    """
    width = max(width, 2)
    plain = "".join(run.text for run in runs)
    if cell_len(plain) <= width:
        return [TextLine(tuple(runs), fill)]
    at, breaks = 0, list[tuple[int, int]]()
    while True:
        # A line has no more characters than four times its cells, unless most have no width.
        chunk = plain[at : at + 4 * width]
        if at + len(chunk) == len(plain) and cell_len(chunk) - chunk.endswith(" ") <= width:
            break
        pieces = chop_cells(chunk, width)
        size = len(pieces[0]) if pieces else len(chunk)  # none if nothing has a width
        space = chunk.rfind(" ", 0, size) + 1
        word = plain[at + space : at + space + width + 1].partition(" ")[0]
        if plain[at + size : at + size + 1] == " ":
            size += 1
        elif space and cell_len(word) <= width:
            size = space
        at += size
        breaks.append((at, at))
    return [
        TextLine(part, fill, joint="" if index else None)
        for index, part in enumerate(_cut(runs, breaks))
    ]


def _breaks(plain: str, width: int) -> list[tuple[int, int]]:
    """Return pairs of where a line ends and the next begins; spaces in between are dropped."""
    breaks: list[tuple[int, int]] = []
    at = 0
    used = 0
    for word in _WORD.findall(plain):
        size = cell_len(word)
        end = at + len(word)
        if used + size > width and word[0] != " ":
            if used:
                stop = at
                while stop > 0 and plain[stop - 1] == " ":
                    stop -= 1
                breaks.append((stop, at))
                used = 0
            if size > width:
                cut = at
                pieces = _chopped(word, width)
                for piece in pieces[:-1]:
                    cut += len(piece)
                    breaks.append((cut, cut))
                size = cell_len(pieces[-1])
        used += size
        at = end
    return breaks


def _chopped(word: str, width: int) -> list[str]:
    """Cut a word that is wider than a line, between graphemes."""
    pieces = chop_cells(word, width)
    if sum(map(len, pieces)) == len(word):
        return pieces
    # Rich drops characters without width at the end; keep them with the last piece.
    lost = word[sum(map(len, pieces)) :]
    return [*pieces[:-1], pieces[-1] + lost] if pieces else [word]


def _cut(runs: Sequence[TextRun], breaks: Sequence[tuple[int, int]]) -> list[tuple[TextRun, ...]]:
    """Divide runs at pairs of offsets; what lies between an end and the next start is dropped."""
    lines: list[tuple[TextRun, ...]] = []
    line: list[TextRun] = []
    waiting = iter((*breaks, (1 << 60, 1 << 60)))
    stop, start = next(waiting)
    base = 0
    for piece in runs:
        text, at, end = piece.text, base, base + len(piece.text)
        while at < end:
            if at < stop:
                upto = min(stop, end)
                line.append(piece._replace(text=text[at - base : upto - base]))
                at = upto
            if at >= stop and end >= start:
                lines.append(tuple(line))
                line = []
                at = max(at, start)
                stop, start = next(waiting)
            elif at >= stop:
                at = end
        base = end
    lines.append(tuple(line))
    return lines
