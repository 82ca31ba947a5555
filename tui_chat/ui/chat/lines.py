"""Laid-out text: runs of characters in lines, and how runs are wrapped.

Neither knows a colour. A run names its styles (`strong`, `link`); the transcript's palette
turns names into colours when a line is drawn. So a change of theme lays nothing out again,
and layout is pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from rich.cells import cell_len, chop_cells

from tui_chat.models.visible import visible

Styles = tuple[str, ...]
"""Names of styles, the later over the earlier."""


class Action(NamedTuple):
    """What a click asks for. Made by us alone, never from a message's text."""

    name: Literal["toggle", "code", "older", "newer", "retry", "answer", "run"]
    key: str = ""
    """What is to be toggled, which code block of its part, or which tool call."""


class Run(NamedTuple):
    """Characters that look alike."""

    text: str
    """Safe to draw: made by `run`."""
    styles: Styles = ()
    link: str = ""
    """Where a click on it leads."""
    action: Action | None = None
    """What a click on it asks for, where that is not what its line asks for."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line, as wide as its runs or narrower than the width it was laid out for."""

    runs: tuple[Run, ...] = ()
    fill: str = ""
    """Name of the style of the line's whole width; empty for none."""
    joint: str | None = None
    """What stood between it and the line above, where that was wrapped: a space or nothing."""
    margin: int = 0
    """How many of its first characters are not of the text: a bar, a bullet, an indentation."""
    action: Action | None = None
    bare: bool = False
    """Whether it stands outside of its message: it has no bar and no background."""

    @property
    def text(self) -> str:
        """Its characters."""
        return "".join(run.text for run in self.runs)


BLANK = Line()


def run(text: str, *styles: str, link: str = "") -> Run:
    """Make a run. The only way text of others becomes one: here it is made harmless."""
    return Run(visible(text).replace("\t", " ").replace("\n", " "), styles, link)


def width_of(runs: Iterable[Run]) -> int:
    """Return how many cells the runs take."""
    return sum(cell_len(piece.text) for piece in runs)


def indented(lines: Iterable[Line], first: Sequence[Run], rest: Sequence[Run]) -> list[Line]:
    """Put `first` before the first line and `rest` before the others."""
    made: list[Line] = []
    for line in lines:
        before = rest if made else first
        size = sum(len(piece.text) for piece in before)
        made.append(replace(line, runs=(*before, *line.runs), margin=line.margin + size))
    return made


def clipped(text: str, width: int) -> str:
    """Cut harmless text to `width` cells, with an ellipsis where something is lost."""
    if cell_len(text) <= width:
        return text
    if width <= 1:
        return "…"[:width]
    return chop_cells(text, width - 1)[0] + "…"


# Wide characters break anywhere, but closing punctuation stays with what it closes.
_WIDE = (
    "\u1100-\u115e\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\ua4cf\ua960-\ua97f"
    "\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\U00020000-\U0003fffd"
)
_CLOSING = "、。，．：；？！）］｝〉》」』】〕〗”’…・ー々,.;:?!)"
_WORD = re.compile(f" +|[{_WIDE}][{_CLOSING}]*|[^ {_WIDE}]+")


def wrap(
    runs: Sequence[Run], width: int, *, fill: str = "", action: Action | None = None
) -> list[Line]:
    """Break runs into lines of at most `width` cells, between words where that is possible."""
    width = max(width, 2)
    plain = "".join(piece.text for piece in runs)
    if cell_len(plain) <= width:
        return [Line(tuple(runs), fill, action=action)]
    breaks = _breaks(plain, width)
    joints = [None, *(plain[stop:start][:1] for stop, start in breaks)]
    return [
        Line(part, fill, joint=joint, action=action)
        for part, joint in zip(_cut(runs, breaks), joints, strict=True)
    ]


def fold(runs: Sequence[Run], width: int, *, fill: str = "") -> list[Line]:
    """Break runs into lines of exactly `width` cells, as code is: spaces matter there."""
    width = max(width, 2)
    plain = "".join(piece.text for piece in runs)
    if cell_len(plain) <= width:
        return [Line(tuple(runs), fill)]
    at, breaks = 0, list[tuple[int, int]]()
    for piece in chop_cells(plain, width)[:-1]:
        at += len(piece)
        breaks.append((at, at))
    return [
        Line(part, fill, joint="" if index else None)
        for index, part in enumerate(_cut(runs, breaks))
    ]


def _breaks(plain: str, width: int) -> list[tuple[int, int]]:
    """Return where lines end and where the next ones begin; spaces in between are dropped."""
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
    # Rich drops what has no width at the end; keep it with the last piece.
    lost = word[sum(map(len, pieces)) :]
    return [*pieces[:-1], pieces[-1] + lost] if pieces else [word]


def _cut(runs: Sequence[Run], breaks: Sequence[tuple[int, int]]) -> list[tuple[Run, ...]]:
    """Divide runs at character offsets; what lies between a stop and its start is dropped."""
    lines: list[tuple[Run, ...]] = []
    line: list[Run] = []
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
