r"""Fitting text to the pane: where a drawn line breaks, and how a number or a text in one line is
shortened.

1. A line becomes rows. The first has `first` cells, the others, which hang, `rest`.
2. Rows are slices: joined they are the line, and none is wider than its cells.
3. A break comes after the escape `\n`, because the writer broke the line there; else after
   the last space in the second half of the row; else between wide characters; else anywhere.
4. An escape (`\n`, `\u0007`) is never split, and a base character keeps the marks
   that combine with it, up to eight characters a cell. So does an emoji of several characters.

Heights of lines out of sight come from here too, so it must be fast: text of single width goes
row by row through the regular expression engine, everything else character by character.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from rich.cells import cell_len, set_cell_size
from rich.cells import get_character_cell_size as cells_of

from tui_chat.models.sanitize import EMOJI_SEQUENCE, sanitize

LEAST = 12
"""Fewest cells of a row; no escape is longer."""

_NARROW = re.compile(
    "[\x20-\x7e\xa1-\xac\xae-\u02ff\u0370-\u0377\u0384-\u038a\u038e-\u03a1\u03a3-\u0482"
    "\u2010-\u2015\u2018-\u201f\u2020-\u2022\u2026\u20ac\u2500-\u257f]*"
)
"""Text of characters one cell wide: not all such characters, but all common ones."""

_WIDE = (
    "[\u3001-\u3029\u3041-\u3096\u30a0-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uff01-\uff60]"
)
"""Common characters two cells wide."""

_PARAGRAPH_END = re.compile(r"\\n(?<!\\\\n)(?:\\n)*")
r"""Line breaks the writer made. After a backslash, `\n` may be half of `\\n`: left alone.
The literal comes first, for then the engine searches at the speed of `str.find`."""

ESCAPE = re.compile(r"\\(?:u\{[0-9a-f]+\}|u[0-9a-f]{4}|.)")
"""A JSON escape: several characters on the screen that stand for one."""


_EMOJI = re.compile(EMOJI_SEQUENCE)
_INSIDE_EMOJI = frozenset(
    "\u200d\ufe0e\ufe0f\U000e0067" + "".join(map(chr, range(0x1F3FB, 0x1F400)))
)
"""Characters that can be second in an `EMOJI_SEQUENCE`."""


def size_in_words(size: int) -> str:
    """`812 bytes`, `41,205 bytes`, `1.2 MB`."""
    if size < 100_000:
        return "1 byte" if size == 1 else f"{size:,} bytes"
    return f"{size / 1000:.0f} kB" if size < 1_000_000 else f"{size / 1_000_000:.1f} MB"


def counted(number: int, word: str) -> str:
    """`1 turn`, `3 turns`."""
    return f"{number:,} {word}" if number == 1 else f"{number:,} {word}s"


def cut(text: str, width: int) -> str:
    """Shorten a text at its end to a width in cells."""
    text = sanitize(text, "exact")
    if cell_len(text) <= width:
        return text
    return set_cell_size(text, width - 1).rstrip() + "…" if width > 0 else ""


def shares(amounts: Sequence[int], width: int) -> list[int]:
    """Divide a width by amounts; amounts above 0 get at least a cell, and the sum is the width."""
    total = sum(amounts)
    if total <= 0 or width <= 0:
        return [0] * len(amounts)
    cells = [max(1, round(amount * width / total)) if amount > 0 else 0 for amount in amounts]
    while (over := sum(cells) - width) != 0:
        widest = max(range(len(cells)), key=cells.__getitem__)
        if cells[widest] <= 1 and over > 0:
            break
        cells[widest] -= max(-abs(over), min(over, cells[widest] - 1))
    return cells


def breaks(text: str, first: int, rest: int, head: int = 0) -> list[int]:
    """Return the offsets at which the second and later rows of a line begin.

    `head` is the length of the key before the value; a space in it is no reason to break.
    """
    narrow = text.isascii() or _NARROW.fullmatch(text) is not None
    if narrow and len(text) <= first and "\\n" not in text:
        return []
    ends = [match.end() for match in _PARAGRAPH_END.finditer(text)] if "\\n" in text else []
    while ends and len(text) - ends[-1] <= 2:  # the closing quote and comma stay with it
        ends.pop()
    breaks: list[int] = []
    start, room = 0, first
    space_near = _last_space(max(rest // 2, 1), rest).match
    for end in (*ends, len(text)):
        while not (narrow and end - start <= room):
            is_plain = narrow and start >= head and room == rest
            if is_plain and (row := space_near(text, start, start + rest)):
                cut = row.end()  # nearly every row of prose; the general case is below
            elif (cut := _row_end(text, start, end, room, narrow, head)) >= end:
                break
            breaks.append(cut)
            start, room = cut, rest
        if end < len(text):
            breaks.append(end)
            start, room = end, rest
    return breaks


def _row_end(text: str, row_start: int, end: int, room: int, narrow: bool, head: int) -> int:
    """Return where the row that begins at `row_start` ends, at most at `end`."""
    full = min(end, row_start + room)
    is_plain = narrow or (
        _NARROW.match(text, row_start, full).end() == full  # type: ignore[union-attr]  # it matches the empty string
        and not (full < end and text[full] in _INSIDE_EMOJI)
    )
    if is_plain:
        if end - row_start <= room:
            return end
        least = max(room // 2, head + 1 - row_start)
        if least < room and (
            space := _last_space(least, room).match(text, row_start, row_start + room)
        ):
            return space.end()
        return _before_escape(text, row_start, row_start + room)
    return _wide_row_end(text, row_start, end, room, head)


@lru_cache(512)
def _last_space(least: int, room: int) -> re.Pattern[str]:
    """Match a row of `least` to `room` characters that ends in a space."""
    return re.compile(f".{{{max(least - 1, 0)},{room - 1}}} ", re.DOTALL)


@lru_cache(512)
def _all_wide(count: int) -> re.Pattern[str]:
    return re.compile(f"{_WIDE}{{{count}}}")


def _wide_row_end(text: str, row_start: int, end: int, room: int, head: int) -> int:
    if full := _all_wide(room // 2).match(text, row_start, end):
        return full.end()
    used = space = 0
    cut, limit = row_start, min(end, row_start + 8 * room)
    while cut < limit:
        width, after = cells_of(text[cut]), cut + 1
        if (
            after < end
            and text[after] in _INSIDE_EMOJI
            and (emoji := _EMOJI.match(text, cut, end)) is not None
        ):
            width, after = cell_len(emoji[0]), emoji.end()
        if used + width > room:
            break
        used += width
        cut = after
        if text[cut - 1] == " " and used * 2 >= room and cut > head:
            space = cut
    if cut == end or cells_of(text[cut]) > 1 or cells_of(text[cut - 1]) > 1:
        return cut
    return space or _before_escape(text, row_start, cut)


def _before_escape(text: str, row_start: int, cut: int) -> int:
    """Move a cut that would split an escape before it. `row_start` lies between escapes."""
    last = text.rfind("\\", max(row_start, cut - LEAST), cut)
    if last < 0:
        return cut
    start = last
    while start > row_start and text[start - 1] == "\\":
        start -= 1
    if (last - start) % 2:  # the last backslash is the second half of an escaped one
        return cut
    escape = ESCAPE.match(text, last)
    return last if escape is not None and escape.end() > cut and last > row_start else cut
