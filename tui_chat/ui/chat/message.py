"""One message, laid out in rows: its header, its reasoning, its text, its sources, its tool calls,
and a footer that says how it ended.

A message is laid out anew whenever something of it changes. Its texts are taken over from the
layout before, so that of a growing reply only the last section is laid out again.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import islice
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from textual.content import Content

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.blocks import CallBlock
from tui_chat.models.message import NO_REFERENCES, References
from tui_chat.models.sanitize import one_line
from tui_chat.models.session import SpeakerNames
from tui_chat.ui.chat.header_footer import above_rows, count_words, footer_rows, header_rows
from tui_chat.ui.chat.markdown import code_in, plain_rows, section_rows
from tui_chat.ui.chat.rows import (
    BLANK,
    ClickAction,
    Row,
    indented,
    joined,
    one_row,
    safe,
    styled,
)
from tui_chat.ui.chat.sections import Section, SectionSplitter
from tui_chat.ui.chat.tool_calls import LISTED, SHOWN, CallState, call_rows
from tui_chat.ui.widgets.row_list import clipped

if TYPE_CHECKING:
    from tui_chat.models.reply import Reply
    from tui_chat.models.session import Entry
    from tui_chat.ui.chat.tool_calls import ResultState

SOURCES_LISTED = 5
"""Sources that are listed without being unfolded."""
FOLDED_ROWS = 4
"""Rows that a system or tool message shows while it is folded."""


class Neighbors(NamedTuple):
    """Facts of the messages around a message that its layout depends on."""

    day: str = ""
    """The day it was written, if the message before it was written on another day."""
    is_first: bool = False
    """True if no message is above it."""
    results: Mapping[int, ResultState] = MappingProxyType({})
    """What the results that follow it say, by the positions of its tool calls."""
    is_last: bool = True
    """True if nothing but results of its calls follows."""


@dataclass(frozen=True, slots=True)
class LayoutOptions:
    """What the layout of all messages depends on besides the width."""

    speakers: SpeakerNames = SpeakerNames()
    muted: frozenset[str] = frozenset()
    """Ids of the messages that are not sent because they are muted, or go with what is."""
    muted_calls: frozenset[tuple[str, str]] = frozenset()
    """Calls whose results are muted, of messages that are sent: ids of message and call."""


_NO_NEIGHBORS, _NO_OPTIONS = Neighbors(), LayoutOptions()


@dataclass(frozen=True, slots=True)
class ReplyProgress:
    """The progress of a streaming reply."""

    seconds: float
    """Time since the request."""
    reply: Reply | None = None


class CodeBlock(NamedTuple):
    """A block of code in a message."""

    row: int
    """The row that it begins with, which a click copies."""
    source: str


class _TextRows:
    """The rows of a text that may still grow, laid out when they are asked for."""

    def __init__(self, width: int, *styles: str, verbatim: bool = False) -> None:
        self.width = width
        self._styles, self._verbatim = styles, verbatim
        self._begin()

    def _begin(self) -> None:
        self._text = ""
        self._sections = SectionSplitter()
        self._rows: list[Row] = []
        """Those of the settled sections that were laid out."""
        self._laid_out = self._counted = self._words = 0
        """Numbers of settled sections, and words in those that were counted."""

    def read(self, text: str) -> None:
        """Take a text; if it begins with the last one, that is not read again."""
        if not text.startswith(self._text):
            self._begin()
        self._sections.feed(text[len(self._text) :])
        self._text = text

    @property
    def rows(self) -> list[Row]:
        """Its rows."""
        settled = self._sections.settled
        for section in settled[self._laid_out :]:
            self._rows += self._section_rows(section, is_first=not self._rows)
        self._laid_out = len(settled)
        rows = self._rows.copy()
        for section in self._sections.open:
            rows += self._section_rows(section, is_first=not rows)
        return rows

    @property
    def words(self) -> int:
        """The number of words, where a wide character is one."""
        settled = self._sections.settled
        self._words += sum(count_words(each.source) for each in settled[self._counted :])
        self._counted = len(settled)
        return self._words + sum(count_words(each.source) for each in self._sections.open)

    @property
    def code(self) -> list[str]:
        """The code in its blocks, each whole even if it was cut into sections."""
        blocks: list[str] = []
        for section in self._sections.all():
            if section.kind == "code" and section.opens:
                blocks.append(section.source)
            elif section.kind == "code" and blocks:
                blocks[-1] += f"\n{section.source}"
            elif section.kind == "markdown" and not self._verbatim:
                blocks += code_in(section)
        return blocks

    def _section_rows(self, section: Section, *, is_first: bool) -> list[Row]:
        is_verbatim = self._verbatim and section.kind != "code"
        try:
            rows = section_rows(section, self.width, *self._styles, verbatim=is_verbatim)
        except Exception:  # a bug in the Markdown or Pygments library must not hide the text
            rows = plain_rows(section.source, self.width, *self._styles)
        is_apart = not is_first and (section.blank if is_verbatim else section.gap)
        return [BLANK, *rows] if is_apart else rows


class MessageLayout:
    """A message's rows at one width."""

    def __init__(
        self,
        entry: Entry,
        width: int,
        *,
        neighbors: Neighbors = _NO_NEIGHBORS,
        unfolded: Collection[str] = (),
        progress: ReplyProgress | None = None,
        options: LayoutOptions = _NO_OPTIONS,
        before: MessageLayout | None = None,
    ) -> None:
        """Lay out an entry at a width in cells.

        `unfolded` has the keys of what is unfolded, `progress` is of a streaming reply. `before` is
        an earlier layout of the same message.
        """
        self.entry, self._width = entry, max(width, 8)
        self._neighbors, self._options = neighbors, options
        self._unfolded, self._progress = unfolded, progress
        self._reply = progress.reply if progress is not None else None
        self._body, self._reasoning = self._texts(before)
        self.rows: list[Row] = self._header()
        self.text_at = len(self.rows)
        """The first row behind the header."""
        self._body_at = self._body_end = 0
        """The first row of the text, and the one behind its last."""
        self._add_rows()

    @property
    def folds(self) -> dict[int, str]:
        """The rows that fold and unfold, with the keys of what they do so."""
        return {
            number: row.action.key
            for number, row in enumerate(self.rows)
            if row.action is not None and row.action.name == "toggle"
        }

    @property
    def code_blocks(self) -> list[CodeBlock]:
        """The blocks of code in its text."""
        rows = range(self._body_at, self._body_end)
        begins = [row for row in rows if self.rows[row].action == ClickAction("code")]
        return [CodeBlock(*block) for block in zip(begins, self._body.code, strict=False)]

    @property
    def waiting_call(self) -> int | None:
        """The position of the first tool call that waits for a result."""
        if not self._waits_for_results:
            return None
        count = len(self.entry.message.tool_calls)
        return next((at for at in range(count) if at not in self._neighbors.results), None)

    @property
    def can_retry(self) -> bool:
        """True if it ends with a button that generates it again."""
        return self.entry.status in ("failed", "interrupted")

    @property
    def _is_small(self) -> bool:
        return self.entry.message.role in ("system", "tool")

    @property
    def _waits_for_results(self) -> bool:
        """True if the conversation waits for results of this message's calls."""
        is_complete = self._progress is None and self.entry.status == "complete"
        return is_complete and self._neighbors.is_last

    def _texts(self, before: MessageLayout | None) -> tuple[_TextRows, _TextRows]:
        """Return text and reasoning, those of an earlier layout if they can go on."""
        message = self.entry.message
        is_verbatim = message.role != "assistant"
        if before is not None and before._width == self._width:
            return before._body, before._reasoning
        body = _TextRows(self._width, verbatim=is_verbatim)
        return body, _TextRows(self._width - 2, "reasoning")

    def _key(self, what: str) -> str:
        return f"{self.entry.message.id or id(self.entry)}/{what}"

    def _is_open(self, what: str) -> bool:
        return self._key(what) in self._unfolded

    def _fold(self, what: str, label: str, *more: Content) -> Row:
        """Lay out the row that unfolds a thing, or folds it."""
        return fold_row(self._key(what), label, self._width, *more, is_open=self._is_open(what))

    # --- its rows ------------------------------------------------------------------------

    def _add_rows(self) -> None:
        message = self.entry.message
        if self._is_small:
            self.rows += self._folded_text()
            return
        text = message.content if self._reply is None else self._reply.text
        self._body.read(text)
        body = self._body.rows
        above = self._reasoning_rows(is_thinking=not body)
        self.rows += [*above, BLANK] if above and body else above
        self._body_at = len(self.rows)
        self.rows += body
        self._body_end = len(self.rows)
        gap = [BLANK] if body else []
        for rows in (self._sources(), self._calls()):
            self.rows += [*gap, *rows] if rows else []
        self.rows += self._footer()

    def _header(self) -> list[Row]:
        message_id, options = self.entry.message.id, self._options
        return header_rows(
            *(self.entry, self._width, self._progress, options.speakers),
            above=above_rows(self._neighbors.day, self._width, is_first=self._neighbors.is_first),
            is_muted=message_id in options.muted,
        )

    def _folded_text(self) -> list[Row]:
        """Lay out a system or tool message: its first rows, or all of it if it is unfolded."""
        text, is_open = self.entry.message.content, self._is_open("text")
        shown = text[: SHOWN if is_open else FOLDED_ROWS * self._width]
        rows = plain_rows(shown, self._width, "quiet")
        if len(rows) <= FOLDED_ROWS and len(shown) == len(text):
            return rows
        row = self._fold("text", "fold" if is_open else f"all {count_words(text[:SHOWN]):,} words")
        if not is_open:
            return [*rows[: FOLDED_ROWS - 1], row]
        if left := len(text) - len(shown):
            rows.append(Row(styled(f"… {left:,} more characters", "fold")))
        return [*rows, row]

    def _reasoning_rows(self, *, is_thinking: bool) -> list[Row]:
        message = self.entry.message
        text = self._reply.thought if self._reply else message.thought
        mark = styled("  ◇ muted", "muted-mark") if message.is_reasoning_muted else Content("")
        if not text:
            if not any(block.encrypted for block in message.reasoning):
                return []
            words = styled("  Reasoning, encrypted by the provider", "fold")
            return [Row(joined(words, mark))]
        self._reasoning.read(text)
        is_thinking = is_thinking and self._progress is not None
        count = self._reasoning.words
        verb = "Thinking" if is_thinking else "Reasoning"
        label = f"{verb} ({count:,} word{'s' * (count != 1)})"
        row = self._fold("thought", label, mark)
        return [row, *barred(self._reasoning.rows)] if self._is_open("thought") else [row]

    def _sources(self) -> list[Row]:
        references = self.entry.message.about.references
        if references == NO_REFERENCES or self._progress is not None:
            return []
        rows: list[Row] = []
        is_open = len(references.sources) <= SOURCES_LISTED
        if not is_open:
            is_open = self._is_open("sources")
            label = _sources_label(references, self._width - 2, is_open=is_open)
            rows.append(self._fold("sources", label))
        listed = _source_rows(references, self._width) if is_open else []
        return [*rows, *listed]

    def _calls(self) -> list[Row]:
        calls: Sequence[CallBlock] = self.entry.message.tool_calls
        count = len(calls)
        if self._reply is not None:
            calls = self._reply.calls
            count = len(calls)
        rows: list[Row] = []
        for index, call in enumerate(calls[:LISTED]):
            key, is_open = self._key(f"call/{index}"), self._is_open(f"call/{index}")
            state = self._state(index, call)
            rows += call_rows(call, self._width, key=key, is_open=is_open, state=state)
        if count > LISTED:
            rows.append(Row(styled(f"  … {count - LISTED:,} more calls", "fold")))
        return rows

    def _state(self, index: int, call: CallBlock) -> CallState:
        if self._progress is not None:
            return "arriving"
        if (self.entry.message.id, call.id) in self._options.muted_calls:
            return "muted"
        if result := self._neighbors.results.get(index):
            return result
        return "awaits" if self._waits_for_results else "unanswered"

    def _footer(self) -> list[Row]:
        message = self.entry.message
        parts, refusal = message.parts, message.refusal
        if self._reply is not None:
            parts, refusal = self._reply.parts, str(self._reply.refusal)
        return footer_rows(self.entry, parts, refusal, self._width)


def barred(rows: list[Row]) -> list[Row]:
    """Return rows with a bar at their left."""
    bar = styled("│ ", "quote-bar")
    return indented(rows, bar, bar)


def fold_row(key: str, label: str, width: int, *more: Content, is_open: bool) -> Row:
    """Lay out the row that unfolds what `key` names, or folds it."""
    mark = styled("▾ " if is_open else "▸ ", "fold-mark")
    content = one_row(joined(mark, safe(label, "fold")), width).content
    return Row(joined(content, *more), action=ClickAction("toggle", key))


def _sources_label(references: References, width: int, *, is_open: bool) -> str:
    """Return the words on the row that folds the list: how many sources, and of whom."""
    count = len(references.sources)
    if is_open:
        return f"{count} sources"
    hosts = dict.fromkeys(source.host or source.label for source in references.sources)
    return clipped(f"{count} sources: {', '.join(islice(hosts, 20))}", width)


def _source_rows(references: References, width: int) -> list[Row]:
    """Lay out the list of sources, a row each."""
    rows: list[Row] = []
    digits = len(str(len(references.sources)))
    for number, source in enumerate(references.sources, 1):
        head = styled(f"[{number}]".ljust(digits + 3), "citation", link=source.url)
        host = source.host if source.title and source.host != source.title else ""
        host = safe(clipped(host, max(width // 3, 8)), "url", link=source.url)
        room = max(width - head.cell_length - (host.cell_length + 2 if host else 0), 8)
        label = clipped(one_line(source.label), room)
        text = safe(label, "link" if source.url else "quiet", link=source.url)
        more = (Content("  "), host) if host else ()
        rows.append(one_row(joined(head, text, *more), width))
    return rows
