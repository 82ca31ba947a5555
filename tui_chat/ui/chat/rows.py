"""Laid-out text: rows of styled text, and how text is wrapped into them.

The spans of a row's `Content` name styles (`strong`, `link`), which the transcript turns into the
colors of the theme when it draws the row. So layout is pure, and a change of theme lays nothing
out again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Literal, NamedTuple

from rich.cells import cell_len, chop_cells
from textual.content import Content, Span
from textual.style import Style

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.sanitize import sanitize

StyleNames = tuple[str, ...]
"""Names of styles, a later one over an earlier one."""


class ClickAction(NamedTuple):
    """The effect of a click. Never made from the text of a message."""

    name: Literal["toggle", "code", "version", "retry", "model", "run", "answer", "view"]
    key: str = ""
    """The key of the fold, the step to another version, the index of the attachment, or the action
    of the app.
    """


@dataclass(frozen=True, slots=True, eq=False)
class Row:
    """One row of a layout, at most as wide as the width it was laid out for."""

    content: Content = Content("")
    ground: str = ""
    """Name of the style of the whole width; empty for none."""
    joint: str | None = None
    """If wrapped: the text between it and the row above, a space or nothing. Else None."""
    margin: int = 0
    """Number of first characters that are not of the text: a bar, a bullet, an indentation."""
    action: ClickAction | None = None
    is_bare: bool = False
    """True if it is outside of its message, without bar and ground."""

    @property
    def text(self) -> str:
        """Its characters."""
        return self.content.plain


BLANK = Row()


def styled(text: str, *styles: str, link: str = "", action: ClickAction | None = None) -> Content:
    """Return text that is known to be safe, with an address or an effect that a click has."""
    spans = [Span(0, len(text), style) for style in styles if style]
    if link or action:
        meta = {"link": link} if link else {"action": action}
        spans.append(Span(0, len(text), Style.from_meta(meta)))
    return Content(text, spans, strip_control_codes=False)


def safe(text: str, *styles: str, link: str = "", action: ClickAction | None = None) -> Content:
    """Return text that may be hostile; control characters in it become visible."""
    shown = sanitize(text).replace("\t", " ").replace("\n", " ")
    return styled(shown, *styles, link=link, action=action)


def joined(*pieces: Content) -> Content:
    """Return pieces of text as one."""
    if len(pieces) == 1:
        return pieces[0]
    spans: list[Span] = []
    at = 0
    for piece in pieces:
        spans += [Span(start + at, end + at, style) for start, end, style in piece.spans]
        at += len(piece.plain)
    return Content("".join(piece.plain for piece in pieces), spans, strip_control_codes=False)


class TextRun(NamedTuple):
    """Characters of a row that look alike."""

    text: str
    styles: StyleNames
    link: str
    """The address that a click opens; empty for none."""


def runs_of(content: Content) -> Iterator[TextRun]:
    """Yield the runs of a text."""
    ends = {0, len(content.plain), *(end for span in content.spans for end in span[:2])}
    cuts = sorted(ends)
    for start, end in pairwise(cuts):
        here = [span.style for span in content.spans if span.start <= start and end <= span.end]
        links = (str(style.meta.get("link", "")) for style in here if isinstance(style, Style))
        names = tuple(style for style in here if isinstance(style, str))
        yield TextRun(content.plain[start:end], names, next(filter(None, links), ""))


def indented(rows: Iterable[Row], first: Content, rest: Content | None = None) -> list[Row]:
    """Put `first` before the first row, and before the others `rest`, by default as much space."""
    if rest is None:
        rest = Content(" " * first.cell_length)
    made: list[Row] = []
    for row in rows:
        before = rest if made else first
        margin = row.margin + len(before.plain)
        made.append(replace(row, content=joined(before, row.content), margin=margin))
    return made


# Rows break between any wide characters, but closing punctuation stays with what it closes.
_WIDE = (
    "\u1100-\u115e\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\ua4cf\ua960-\ua97f"
    "\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\U00020000-\U0003fffd"
)
_CLOSING = "、。，．：；？！）］｝〉》」』】〕〗”’…・ー々,.;:?!)"
_WORD = re.compile(f" +|[{_WIDE}][{_CLOSING}]*|[^ {_WIDE}]+")


def wrap(content: Content, width: int, *, ground: str = "") -> list[Row]:
    """Break text into rows of at most `width` cells, between words where possible."""
    plain, width = content.plain, max(width, 2)
    if content.cell_length <= width:
        return [Row(content, ground)]
    return _cut(content, _breaks(plain, width), ground)


def one_row(content: Content, width: int) -> Row:
    """Return the first row of a text: what does not fit is lost."""
    return wrap(content, width)[0]


def chop(content: Content, width: int, *, ground: str = "") -> list[Row]:
    """Break text into rows of at most `width` cells, as code needs, where spaces matter: after a
    space, if the word behind it fits in a row, and nothing is dropped. A space that is the first
    character too many ends its row, one cell further, so that no row begins with it.
    """
    plain, width = content.plain, max(width, 2)
    if content.cell_length <= width:
        return [Row(content, ground)]
    at, breaks = 0, list[tuple[int, int]]()
    while True:
        # A row has no more characters than four times its cells, unless most have no width.
        chunk = plain[at : at + 4 * width]
        if at + len(chunk) == len(plain) and cell_len(chunk) - chunk.endswith(" ") <= width:
            return _cut(content, breaks, ground)
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


def _cut(content: Content, breaks: Sequence[tuple[int, int]], ground: str) -> list[Row]:
    """Divide text at pairs of offsets; what lies between an end and the next start is dropped."""
    starts = [0, *(start for _, start in breaks)]
    ends = [*(end for end, _ in breaks), len(content.plain)]
    joints = [None, *(content.plain[end:start][:1] for end, start in breaks)]
    return [
        Row(content[start:end], ground, joint)
        for start, end, joint in zip(starts, ends, joints, strict=True)
    ]


def _breaks(plain: str, width: int) -> list[tuple[int, int]]:
    """Return pairs of where a row ends and the next begins; spaces in between are dropped."""
    breaks: list[tuple[int, int]] = []
    at = used = 0
    for word in _WORD.findall(plain):
        size, end = cell_len(word), at + len(word)
        if used + size > width and word[0] != " ":
            if used:
                stop = at
                while stop and plain[stop - 1] == " ":
                    stop -= 1
                breaks.append((stop, at))
                used = 0
            if size > width:
                cut = at
                pieces = chop_cells(word, width) or [word]
                for piece in pieces[:-1]:
                    cut += len(piece)
                    breaks.append((cut, cut))
                size = cell_len(pieces[-1])
        used += size
        at = end
    return breaks
