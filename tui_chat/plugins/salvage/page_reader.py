"""Reads the rows of a damaged database file page by page.

SQLite stops at the first damaged page. Here each page is read on its own, according to the
published format (https://www.sqlite.org/fileformat2.html):

1. The file consists of pages of equal size. Newer versions of pages are in the log beside it (the
   WAL); its complete transactions count.
2. A table is a tree of pages. Its leaves contain the rows; a long row continues in a chain of
   overflow pages. The first page has the root of each tree.
3. If a page of a tree is unreadable, the leaves below it are not lost: they are orphans, pages that
   no tree leads to and that look like leaves. Their table must be inferred from the rows. Pages in
   SQLite's free list are ignored: they contain deleted rows.
4. A row with a broken chain is kept as far as it goes; therefore wide columns are last.

Nothing is ever written.
"""

from __future__ import annotations

import struct
from collections.abc import Generator, Iterator
from contextlib import suppress
from mmap import mmap

from tui_chat.lazy_dataclass import dataclass

Value = int | float | str | bytes | None

_HEADER = b"SQLite format 3\0"
_OUR_PAGE_SIZE = 4096

_INDEX_INTERIOR, _TABLE_INTERIOR, _INDEX_LEAF, _TABLE_LEAF = 0x02, 0x05, 0x0A, 0x0D

_WIDTHS = (0, 1, 2, 3, 4, 6, 8, 8, 0, 0)  # bytes of a value by serial type
_FLOAT = struct.Struct(">d")


class UnreadablePage(Exception):
    """A page or a row is damaged."""


@dataclass(frozen=True, slots=True)
class RawRow:
    """A row as it is in the file."""

    rowid: int | None
    """None in a table without rowids."""
    values: tuple[Value, ...]
    """In the order of the columns when the row was written; later columns are missing."""
    whole: bool = True
    """True if it is complete."""


class Pages:
    """The pages of a file and its log, each looked up by its number, from 1."""

    def __init__(self, data: bytes | mmap, log: bytes = b"") -> None:
        self._data = data
        self._log = log
        head = data[:100]
        self.has_header = head.startswith(_HEADER)
        """True if the file begins with the header of a database."""
        size = int.from_bytes(head[16:18]) if self.has_header else 0
        size = 65536 if size == 1 else size
        self._size = size if size >= 512 and not size & (size - 1) else _OUR_PAGE_SIZE
        self._log_pages = _committed_pages(log, self._size)
        first = b""
        if self.has_header or 1 in self._log_pages:
            with suppress(UnreadablePage):  # a file that ends within its first page
                first = self.page(1)
        self.has_header = first.startswith(_HEADER)
        reserved = first[20] if self.has_header else 0
        self._usable = self._size - (reserved if reserved <= 32 else 0)
        self._first = first
        self.count = max(-(-len(self._data) // self._size), *self._log_pages, 0)
        """The number of pages."""
        self.seen: set[int] = set()
        """Pages whose use is known."""
        self.unreadable: set[int] = set()
        """Pages that a tree leads to and that are damaged."""
        self._reads_orphans = False

    @property
    def version(self) -> int | None:
        """The `user_version` in the first page; None if it cannot be read."""
        return int.from_bytes(self._first[60:64]) if self.has_header else None

    def page(self, number: int) -> bytes:
        """Return a page. Raises UnreadablePage if the file does not have it."""
        if (offset := self._log_pages.get(number)) is not None:
            return self._log[offset : offset + self._size]
        page = self._data[(number - 1) * self._size : number * self._size]
        if number < 1 or len(page) < self._size:
            raise UnreadablePage
        return page

    def table_roots(self) -> dict[str, int]:
        """Return the root page of each table by its name, as far as the first page is readable."""
        numbers: dict[str, int] = {}
        for row in self.table_rows(1):
            match row.values:
                case ("table", str(name), _, int(root), *_) if root > 0:
                    numbers[name] = root
                case _:
                    pass
        return numbers

    def table_rows(self, root: int) -> Iterator[RawRow]:
        """Return the rows of a table in order, without those of pages that cannot be read."""
        waiting = [root]
        while waiting:
            number = waiting.pop()
            if number in self.seen:
                self.unreadable.add(number)  # two pages lead to it: one of them is wrong
                continue
            self.seen.add(number)
            try:
                kind, cells, last = self._cells(number)
                children: list[int] = []
                if kind in (_TABLE_INTERIOR, _INDEX_INTERIOR):
                    children = [int.from_bytes(c[:4]) for c in cells] + [last]
            except UnreadablePage:
                self.unreadable.add(number)
                continue
            if kind != _TABLE_INTERIOR:
                yield from self._rows(number, kind, cells)
            waiting.extend(reversed(children))

    def mark_free_pages(self) -> None:
        """Mark the pages of SQLite's free list as seen."""
        if not self.has_header:
            return
        trunk = int.from_bytes(self._first[32:36])
        while trunk and trunk not in self.seen:
            self.seen.add(trunk)
            try:
                page = self.page(trunk)
            except UnreadablePage:
                return
            entries = min(int.from_bytes(page[4:8]), self._usable // 4 - 2)
            for entry in range(entries):
                self.seen.add(int.from_bytes(page[8 + 4 * entry : 12 + 4 * entry]))
            trunk = int.from_bytes(page[:4])

    def orphan_leaves(self) -> Generator[list[RawRow]]:
        """Yield the rows of each leaf page that no tree leads to."""
        self._reads_orphans = True
        for number in range(1, self.count + 1):
            if number in self.seen:
                continue
            try:
                kind, cells, _ = self._cells(number)
            except UnreadablePage:
                continue
            if kind in (_TABLE_LEAF, _INDEX_LEAF):
                yield list(self._rows(number, kind, cells))

    def _cells(self, number: int) -> tuple[int, list[memoryview], int]:
        """Return a tree page's kind, its cells (each to the end of the page) and last child."""
        page = self.page(number)
        start = 100 if number == 1 else 0
        kind = page[start]
        if kind not in (_INDEX_INTERIOR, _TABLE_INTERIOR, _INDEX_LEAF, _TABLE_LEAF):
            raise UnreadablePage
        interior = kind in (_INDEX_INTERIOR, _TABLE_INTERIOR)
        count = int.from_bytes(page[start + 3 : start + 5])
        first = start + (12 if interior else 8)
        if first + 2 * count > self._usable:
            raise UnreadablePage
        places = struct.unpack_from(f">{count}H", page, first)
        if any(not first + 2 * count <= place < self._usable for place in places):
            raise UnreadablePage
        last = int.from_bytes(page[start + 8 : start + 12]) if interior else 0
        view = memoryview(page)
        return kind, [view[place : self._usable] for place in places], last

    def _rows(self, number: int, kind: int, cells: list[memoryview]) -> Iterator[RawRow]:
        for cell in cells:
            try:
                yield self._row(cell[4:] if kind == _INDEX_INTERIOR else cell, kind)
            except (UnreadablePage, IndexError, OverflowError, struct.error):
                self.unreadable.add(number)

    def _row(self, cell: memoryview, kind: int) -> RawRow:
        length, at = _varint(cell, 0)
        rowid: int | None = None
        if kind == _TABLE_LEAF:
            rowid, at = _varint(cell, at)
            most = self._usable - 35
        else:
            most = (self._usable - 12) * 64 // 255 - 23
        if length > 1 << 31:
            raise UnreadablePage
        local = length
        if length > most:
            least = (self._usable - 12) * 32 // 255 - 23
            local = least + (length - least) % (self._usable - 4)
            if local > most:
                local = least
        if at + local > len(cell):
            raise UnreadablePage
        payload = bytes(cell[at : at + local])
        if local < length:
            payload = self._chain(
                payload, length, int.from_bytes(cell[at + local : at + local + 4])
            )
        return _record(payload, length, _signed(rowid))

    def _chain(self, payload: bytes, length: int, number: int) -> bytes:
        """Follow the overflow pages; a broken chain ends before the page that breaks it."""
        parts, got = [payload], len(payload)
        # An orphan may be an old version of a row, whose chain belongs to another row now.
        seen = set[int]() if self._reads_orphans else self.seen
        while got < length:
            try:
                page = self.page(number)
            except UnreadablePage:
                page = None
            if page is None or number in seen:
                self.unreadable.add(number)
                return b"".join(parts[: max(1, len(parts) - 1)])
            seen.add(number)
            part = page[4 : min(self._usable, 4 + length - got)]
            parts.append(part)
            got += len(part)
            number = int.from_bytes(page[:4])
        return b"".join(parts)


def _record(payload: bytes, length: int, rowid: int | None) -> RawRow:
    header, at = _varint(payload, 0)
    if not at <= header <= len(payload):
        raise UnreadablePage
    kinds: list[int] = []
    while at < header:
        kind, at = _varint(payload, at)
        kinds.append(kind)
    if at != header or header + sum(map(_width, kinds)) != length:
        raise UnreadablePage
    values: list[Value] = []
    whole = len(payload) == length
    for kind in kinds:
        width = _width(kind)
        raw = payload[at : at + width]
        at += width
        if len(raw) < width:
            if kind < 12:
                raise UnreadablePage
            whole = False
        value, is_intact = _value(kind, raw)
        whole = whole and is_intact
        values.append(value)
    return RawRow(rowid, tuple(values), whole)


def _value(kind: int, raw: bytes) -> tuple[Value, bool]:
    """Return a value of a serial type, and True if it is undamaged."""
    match kind:
        case 0:
            return None, True
        case 7:
            return _FLOAT.unpack(raw)[0], True
        case 8 | 9:
            return kind - 8, True
        case _ if kind < 7:
            return int.from_bytes(raw, signed=True), True
        case _ if kind % 2 == 0:
            return raw, True
        case _:
            try:
                return raw.decode(), True
            except UnicodeDecodeError:
                return raw.decode(errors="replace").rstrip("\ufffd"), False


def _width(kind: int) -> int:
    if kind >= 12:
        return (kind - 12) // 2
    if kind in (10, 11):  # never in a file
        raise UnreadablePage
    return _WIDTHS[kind]


def _varint(data: bytes | memoryview, at: int) -> tuple[int, int]:
    """Parse a number of one to nine bytes; return it and its end."""
    number = 0
    for _ in range(8):
        byte = data[at]
        at += 1
        number = number << 7 | byte & 0x7F
        if byte < 0x80:
            return number, at
    return number << 8 | data[at], at + 1


def _signed(number: int | None) -> int | None:
    return number - (1 << 64) if number is not None and number >= 1 << 63 else number


def _committed_pages(log: bytes, size: int) -> dict[int, int]:
    """Return the offset in a log of the newest committed version of each page."""
    if len(log) < 32 or log[:4] not in (b"\x37\x7f\x06\x82", b"\x37\x7f\x06\x83"):
        return {}
    if int.from_bytes(log[8:12]) != size:
        return {}
    order = ">" if log[3] & 1 else "<"
    sums = _checksum(order, log[:24], (0, 0))
    if sums != struct.unpack(">2I", log[24:32]):
        return {}
    committed: dict[int, int] = {}
    pending: dict[int, int] = {}
    for start in range(32, len(log) - size - 23, size + 24):
        number, commit, salt_1, salt_2, sum_1, sum_2 = struct.unpack_from(">6I", log, start)
        sums = _checksum(order, log[start : start + 8] + log[start + 24 : start + 24 + size], sums)
        if log[16:24] != struct.pack(">2I", salt_1, salt_2) or sums != (sum_1, sum_2):
            break  # the rest is left from an earlier use of the log
        pending[number] = start + 24
        if commit:
            committed.update(pending)
            pending.clear()
    return committed


def _checksum(order: str, data: bytes, sums: tuple[int, int]) -> tuple[int, int]:
    one, two = sums
    words = struct.unpack(f"{order}{len(data) // 4}I", data)
    for index in range(0, len(words), 2):
        one = (one + words[index] + two) & 0xFFFFFFFF
        two = (two + words[index + 1] + one) & 0xFFFFFFFF
    return one, two
