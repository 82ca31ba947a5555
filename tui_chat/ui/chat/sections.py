"""Cuts a message into sections that can be laid out one by one.

A growing reply must not be laid out again from its first word for every token, and of a long
message only what is on the screen must be laid out.

1. A section is a block of Markdown that no later text can change, or what has arrived of the last
   one. markdown-it, which lays the text out afterwards, says where blocks begin.
2. A block that is too large is cut anyway: code and tables with their opening repeated (`lead`), a
   list at its next item, anything else at the end of a line, a long line between words.
3. After `READ` lines the rest of a message is plain text, in pieces.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from tui_chat.lazy_dataclass import dataclass
from tui_chat.ui.chat.markdown import APART, block_tokens

if TYPE_CHECKING:
    from markdown_it.token import Token

SIZE = 4000
"""Characters after which a block is cut."""
LINES = 80
"""Lines after which it is."""
READ = 5_000
"""Lines of a message that are read as Markdown."""
_LINES_OF_PIECE = 4
"""Lines that a piece of a long line counts for."""
_FENCES = ("`", "~")

Kind = Literal["markdown", "inline", "code", "plain"]
"""The way a section is read: as blocks, as a part of a line, as code, or not at all."""


@dataclass(frozen=True, slots=True, eq=False)
class Section:
    """A piece of a message that is laid out on its own. Compared by identity."""

    kind: Kind
    source: str
    """The text; of code, without the fences."""
    lead: str = ""
    """For code, the text after the fence; for a table that was cut, its head."""
    gap: bool = True
    """True if a blank row sets it off from the section before."""
    blank: bool = True
    """True if the author left a blank line there."""
    opens: bool = True
    """True if code begins here and does not continue the section before."""


class _Block(NamedTuple):
    """A block of Markdown at the top level."""

    token: Token
    start: int
    """Its first line."""
    end: int
    """The line behind its last one."""
    items: list[int]
    """The first lines of its items, if it is a list."""


class SectionSplitter:
    """The sections of a text that is fed in pieces of any size."""

    def __init__(self, text: str = "") -> None:
        self.settled: list[Section] = []
        """Sections that no further text can change."""
        self._rest = ""
        """The text behind them."""
        self._lead = ""
        """What the rest must be read with: the opening of code, the head of a table."""
        self._left = READ
        """Lines that are still to be read as Markdown."""
        self._is_within = False
        """True if the rest begins within a line."""
        self._is_apart = False
        """True if what precedes the rest is set off from it."""
        self._is_blank = True
        """True if a blank line precedes the rest."""
        self.feed(text)

    def feed(self, text: str) -> None:
        """Add text at the end."""
        self._rest += text
        if "\r" in self._rest:
            end = "\r" * self._rest.endswith("\r")  # a newline may follow
            whole = self._rest[: len(self._rest) - len(end)]
            self._rest = whole.replace("\r\n", "\n").replace("\r", "␍") + end
        at = 0
        while size := self._settle(self._rest[at : at + 2 * SIZE]):
            at += size
        self._rest = self._rest[at:]

    def all(self) -> list[Section]:
        """Return every section, the last of which may be open."""
        return [*self.settled, *self.open]

    @property
    def open(self) -> list[Section]:
        """The sections that may still change."""
        rest = self._rest.removesuffix("\r")
        if self._left <= 0 or self._is_within:
            return [self._piece(rest)] if rest.strip() else []
        lines = rest.split("\n")
        return self._sections(self._blocks(lines), lines)

    def _settle(self, window: str) -> int:
        """Settle what can no longer change of the next characters, and return their number."""
        lines = window.split("\n")[:-1][: LINES + 1]
        if self._left <= 0 or self._is_within or not lines:
            return self._settle_piece(window)
        blocks, lead = self._blocks(lines), ""
        size = sum(map(len, lines))
        if not blocks:  # blank lines
            end = len(lines)
        elif len(blocks) > 1:
            end = blocks.pop().start
        elif len(lines) >= LINES or size > SIZE or len(window) == 2 * SIZE:
            end, lead = self._cut(blocks[0], lines)
            if blocks[0].token.type == "fence":
                blocks = self._blocks(lines[:end])  # its content is cut, too
        else:
            return 0
        self.settled += self._sections(blocks, lines[:end])
        if blocks:
            self._is_apart = _is_apart(blocks[-1].token)
        self._is_blank = not lines[end - 1].strip()
        self._left -= end
        self._lead = lead
        return sum(map(len, lines[:end])) + end

    def _settle_piece(self, window: str) -> int:
        """Settle a part of a long line, or of the plain text after what is read."""
        is_plain = self._left <= 0
        end = window.rfind("\n", 0, SIZE) if is_plain else window.find("\n", 0, SIZE)
        if (is_plain or end < 0) and len(window) <= SIZE:
            return 0
        is_cut = end < 0
        if is_cut:
            end = window.rfind(" ", SIZE // 2, SIZE) + 1 or SIZE
        self.settled.append(self._piece(window[:end]))
        self._is_within, self._is_blank, self._is_apart = is_cut, False, False
        self._left -= _LINES_OF_PIECE
        return end + (not is_cut)

    def _piece(self, text: str) -> Section:
        if self._lead[:1] in _FENCES:
            return Section("code", text, self._lead.strip(" `~\n"), False, False, opens=False)
        kind: Kind = "plain" if self._left <= 0 or text[:1] in "\t " else "inline"
        is_first = not self._is_within and self._left > 0
        blank = is_first and self._is_blank
        return Section(kind, text, gap=blank or (is_first and self._is_apart), blank=blank)

    def _blocks(self, lines: Sequence[str]) -> list[_Block]:
        """Return the blocks of some lines of the rest."""
        blocks: list[_Block] = []
        above = self._lead.count("\n")
        for token in block_tokens(self._lead + "\n".join((*lines, ""))):
            first, end = token.map or (0, 0)
            if token.level == 0 and token.map and token.nesting >= 0:
                blocks.append(_Block(token, max(first - above, 0), end - above, []))
            elif token.level == 1 and token.type == "list_item_open":
                blocks[-1].items.append(first)
        return blocks

    def _sections(self, blocks: Sequence[_Block], lines: Sequence[str]) -> list[Section]:
        """Return blocks of some lines of the rest as sections."""
        sections: list[Section] = []
        is_blank, is_apart = self._is_blank, self._is_apart
        for index, (token, start, _, _) in enumerate(blocks):
            end = blocks[index + 1].start if index + 1 < len(blocks) else len(lines)
            own = "\n".join(lines[start:end]).rstrip("\n ")
            lead = "" if index else self._lead
            is_blank = not lines[start - 1].strip() if start else is_blank
            gap = not lead and (is_blank or is_apart or _is_apart(token))
            is_apart = _is_apart(token)
            if token.type == "fence":
                code, info = token.content.removesuffix("\n"), token.info.strip()
                if code or not lead:
                    blank = is_blank and not lead
                    sections.append(Section("code", code, info, gap, blank, opens=not lead))
            elif own.strip():
                sections.append(Section("markdown", own, lead.rstrip("\n"), gap, is_blank))
        return sections

    def _cut(self, block: _Block, lines: Sequence[str]) -> tuple[int, str]:
        """Return the line at which a large block is cut, and what the rest is read with."""
        kind, head = block.token.type, self._lead
        if kind == "fence":
            first = 0 if head else 1
            body = block.token.content.count("\n")
            at = first + min(_fitting(lines[first:]), body)
            if at < first + body or block.end <= first + body:
                return max(at, 1), head or f"{lines[0]}\n"
            return block.end, ""  # it is closed, and not too large
        if kind == "table_open":
            at = max(_fitting(lines), 3)
            return (at, head or "\n".join((*lines[:2], ""))) if at < block.end else (block.end, "")
        items = [line for line in block.items if line >= LINES // 2]
        return (items[0] if items else _fitting(lines)), ""


def _is_apart(token: Token) -> bool:
    return token.type.removesuffix("_open") in APART


def _fitting(lines: Sequence[str]) -> int:
    """Return how many lines one section takes."""
    size = 0
    for number, line in enumerate(lines[:LINES]):
        size += len(line)
        if number and size > SIZE:
            return number
    return len(lines[:LINES])
