"""Cuts a message into sections that can be laid out one by one.

A growing reply must not be laid out again from its first word for every token, and of a message of
a megabyte only what is on the screen must be laid out.

1. A section is a run of whole lines, or what arrived of the last one. Sections and the blank lines
   between them are the message.
2. The text is read once, from left to right, without lookahead beyond the current line. So a text
   gives the same sections however it arrives.
3. A cut is made where every Markdown block is closed: before a line at column 0 after a blank line
   (unless it continues a list), before a heading, and around a fence. Laid out alone, such
   sections look as in the whole text.
4. A section that grows past some lines, or past `SIZE`, is cut anyway: a list at its next item,
   code and tables with their opening repeated (`lead`), anything else at the end of a line.
5. A line over `SIZE` is cut into pieces of that size, each read alone and only for inline marks
   such as emphasis; an indented one is plain text.
6. After `READ` lines the rest of a message is plain text, cut into pieces of at most `SIZE`
   characters. Reading takes ten microseconds a line, cutting next to nothing.
"""

from __future__ import annotations

import re
from typing import Literal

from tui_chat.lazy_dataclass import dataclass

SIZE = 4000
"""Characters after which a section is cut where possible, and a line is cut anywhere."""
ITEMS = 40
"""Lines after which a list is cut at its next item."""
READ = 10_000
"""Lines of a message that are read as Markdown; the rest is plain text."""
_READ_OF_PIECE = 4
"""Lines that a piece of an overlong line counts for in `READ`."""
_PLAIN_LINES = 800
"""Approximate lines of a piece of plain text, which is laid out at once."""
LINES = 80
"""Lines after which code is cut; anything else is cut after twice as many."""

_FENCE = re.compile(r"^( {0,3})(?:(`{3,})([^`]*)|(~{3,})(.*))$")
_INNER_FENCE = re.compile(r"^[ \t]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*(?:(`{3,})[^`]*|(~{3,}).*)$")
_HEADING = re.compile(r"^#{1,6}(?:[ \t]|$)")
_ITEM = re.compile(r"^ {0,3}(?:[-*+]|\d{1,9}[.)])(?:[ \t]|$)")
_DELIMITER = re.compile(r"^ {0,3}\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$")

Kind = Literal["markdown", "inline", "code", "plain"]
"""The way a section is read: as blocks, as a part of a line, as code, or not at all."""


@dataclass(frozen=True, slots=True, eq=False)
class Section:
    """A piece of a message that is laid out on its own. Compared by identity."""

    kind: Kind
    source: str
    """The text; of code, without the fences."""
    lead: str = ""
    """For code, the text after the fence; for Markdown, earlier lines it must be read with."""
    gap: bool = True
    """True if a blank line sets it off from the section before."""
    blank: bool = True
    """True if the author left a blank line there."""
    opens: bool = True
    """True if code begins here and does not continue the section before."""
    closes: bool = True
    """True if code ends here, as far as it has arrived."""
    continues: bool = False
    """True if it begins within a line that was cut for its length."""


@dataclass(slots=True)
class _Fence:
    mark: str
    indent: int
    info: str

    def closed_by(self, line: str) -> bool:
        bare = line.strip()
        return (
            len(bare) >= len(self.mark)
            and bare == bare[0] * len(bare)
            and bare[0] == self.mark[0]
            and _indent(line) <= max(3, self.indent)
        )


class SectionSplitter:
    """The sections of a text that is fed in pieces of any size."""

    def __init__(self, text: str = "") -> None:
        self.settled: list[Section] = []
        """Sections that no further text can change."""
        self._lines: list[str] = []
        self._size = 0
        self._partial = ""
        self._fence: _Fence | None = None
        self._inner: _Fence | None = None
        self._list = False
        self._margin = 0
        self._blank = True
        self._blank_before = True
        self._gap = True
        self._opens = True
        self._lead = ""
        self._return = False
        self._cut = False
        self._cut_as: Kind = "inline"
        self._left = READ
        """Lines that are still to be read as Markdown."""
        self._within = False
        """True if plain text begins within a line, after another piece of it."""
        if text:
            self.feed(text)

    def feed(self, text: str) -> None:
        """Add text at the end."""
        if self._return:
            text = "\r" + text
        self._return = text.endswith("\r")
        if self._return:
            text = text[:-1]
        if "\r" in text:
            text = text.replace("\r\n", "\n").replace("\r", "␍")
        start = 0
        while self._left and (end := text.find("\n", start)) >= 0:
            line = self._partial + text[start:end]
            if len(line) > SIZE:
                line = self._chop(line)
            if not self._left:
                self._partial, start = line, end
                break
            self._take(line)
            self._partial = ""
            start = end + 1
            self._left -= 1
            if not self._left:
                self._stop_reading()
        self._partial += text[start:] if start else text
        if self._left and len(self._partial) > SIZE:
            self._partial = self._chop(self._partial)
        if not self._left:
            self._partial = self._cut_plain(self._partial)

    def all(self) -> list[Section]:
        """Return every section, the last of which may be open."""
        last = self.open
        return [*self.settled, last] if last else self.settled

    @property
    def open(self) -> Section | None:
        """The last section, which may still grow; None if it is empty."""
        partial = self._partial
        if not self._left:
            return self._plain(partial) if partial else None
        if not partial or (self._fence and self._fence.closed_by(partial)):
            return self._section(self._lines)
        if not self._lines:
            self._blank_before = self._blank
        return self._section([*self._lines, partial])

    def _take(self, line: str) -> None:
        if self._cut:
            # The end of an overlong line; the next line starts a new section.
            self._lines.append(line)
            self._settle(gap=False)
            self._cut = self._blank = False
            return
        if self._fence is not None:
            if self._fence.closed_by(line):
                self._settle()
                self._fence = None
                self._lead, self._blank, self._gap, self._opens = "", True, True, True
            else:
                if len(self._lines) >= LINES or self._size > SIZE:
                    self._settle(gap=False, closes=False)
                self._keep(line)
            return
        if not line.strip():
            if self._lines:
                self._keep(line)
            self._blank = True
            return
        self._cut_before(line)
        if self._fence is None:
            self._keep(line)
        self._blank = False

    def _cut_before(self, line: str) -> None:
        """Close the open section if `line` begins a new one; enter fences."""
        flush = not line[0].isspace()
        if self._inner is not None:
            if self._inner.closed_by(line):
                self._inner = None
                return
            if not flush:
                self._cut_oversize(line)
                return
            self._inner = None
        fence = _FENCE.match(line)
        if fence and (flush or not self._list):
            self._settle()
            indent, ticks, info, tildes, note = fence.groups()
            self._fence = _Fence(ticks or tildes, len(indent), (info or note or "").strip())
            self._lead, self._opens, self._gap = self._fence.info, True, True
            return
        item = bool(_ITEM.match(line))
        begins = self._blank and not (self._list and item)
        if flush and (begins or _HEADING.match(line)):
            self._settle()
        elif item and self._list and self._is_long() and _indent(line) == self._margin:
            self._settle(gap=self._blank)
        else:
            self._cut_oversize(line)
        if self._list or item:
            if not self._list or not self._lines:
                self._margin = _indent(line)
            self._list = True
            inner = _INNER_FENCE.match(line)
            if inner:
                mark = inner.group(1) or inner.group(2)
                self._inner = _Fence(mark, _indent(line) + 12, "")

    def _is_long(self) -> bool:
        return len(self._lines) >= ITEMS or self._size > SIZE

    def _cut_oversize(self, line: str) -> None:
        """Cut a section that is too long to lay out at once, although no block ends here."""
        if len(self._lines) < 2 * LINES and self._size <= 2 * SIZE:
            return
        head = self._table_head() if "|" in line and not self._blank else ""
        listed = self._list
        self._settle(gap=self._blank)
        self._lead, self._list = head, listed

    def _table_head(self) -> str:
        """Return the two head lines of the table that the last lines belong to, if any."""
        if self._lead:
            return self._lead
        for index in range(len(self._lines) - 1, 0, -1):
            if "|" not in self._lines[index]:
                return ""
            if _DELIMITER.match(self._lines[index]):
                return "\n".join(self._lines[index - 1 : index + 1])
        return ""

    def _chop(self, line: str) -> str:
        """Cut an overlong line into pieces; return the last one, which may still grow."""
        if not self._cut:
            if self._lines:
                self._settle(gap=self._blank)
            self._cut_as = "plain" if line.startswith(("    ", "\t")) else "inline"
        start = 0
        while self._left and len(line) - start > SIZE:
            self._left = max(self._left - _READ_OF_PIECE, 0)
            space = line.rfind(" ", start + SIZE // 2, start + SIZE)
            end = space + 1 if space > 0 else start + SIZE
            self._blank_before = self._blank and not self._cut
            self._lines = [line[start:end]]
            started = self._cut
            self._cut = True
            self._settle(gap=False, continues=started)
            start = end
        if not self._left:
            self._stop_reading()
            self._within = True
        return line[start:]

    def _stop_reading(self) -> None:
        """Close the open section; the rest is plain text."""
        self._settle()
        self._fence = self._inner = None

    def _cut_plain(self, text: str) -> str:
        """Cut plain text into pieces, at line ends if possible. Return the last, which may grow."""
        start = 0
        while len(text) - start > SIZE:
            lines = text.count("\n", start, start + SIZE)
            most = SIZE if lines <= _PLAIN_LINES else SIZE * _PLAIN_LINES // lines
            newline = text.rfind("\n", start, start + most)
            end = newline if newline >= 0 else start + most
            self.settled.append(self._plain(text[start:end]))
            self._within = newline < 0
            start = end + (newline >= 0)
        return text[start:]

    def _plain(self, text: str) -> Section:
        return Section("plain", text, gap=False, blank=False, continues=self._within)

    def _keep(self, line: str) -> None:
        if not self._lines:
            self._blank_before = self._blank
        self._lines.append(line)
        self._size += len(line)

    def _settle(
        self, *, gap: bool = True, continues: bool | None = None, closes: bool = True
    ) -> None:
        section = self._section(self._lines, continues, closes=closes)
        if section:
            self.settled.append(section)
            self._opens = False
        self._lines, self._size, self._gap = [], 0, gap
        if self._fence is None:
            self._lead, self._list, self._inner = "", False, None

    def _section(
        self, lines: list[str], continues: bool | None = None, *, closes: bool = True
    ) -> Section | None:
        if self._fence is not None:
            if not lines and not self._opens:
                return None
            source = "\n".join(_unindented(line, self._fence.indent) for line in lines)
            return Section("code", source, self._lead, self._gap, opens=self._opens, closes=closes)
        while lines and not lines[-1].strip():
            lines = lines[:-1]
        if not lines:
            return None
        kind: Kind = self._cut_as if self._cut else "markdown"
        goes_on = self._cut if continues is None else continues
        blank = self._blank_before and not goes_on
        return Section(
            kind,
            "\n".join(lines),
            self._lead,
            gap=self._gap or blank,
            blank=blank,
            continues=goes_on,
        )


def _unindented(line: str, indent: int) -> str:
    """Remove the indentation that the fence itself has."""
    return line[min(indent, _indent(line)) :]


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))
