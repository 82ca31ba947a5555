"""One message, laid out part by part.

1. A message is a column of parts: its header, its reasoning, its sections of text, its sources,
   its tool calls, and a footer that says how it ended.
2. A part's height is an estimate until it is looked at: then its rows are laid out.
3. A message is laid out anew whenever something of it changes. Its texts are taken over from the
   layout before, so that of a growing reply only the last section is laid out again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from textual.content import Content

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.blocks import CallBlock
from tui_chat.models.citations import NO_REFERENCES, Source
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
from tui_chat.ui.chat.sources import (
    LISTED_AT_ONCE,
    failure_rows,
    linked_marks,
    marked_text,
    source_rows,
    sources_label,
    without_marks,
)
from tui_chat.ui.chat.tool_calls import LISTED, SHOWN, CallState, call_rows

if TYPE_CHECKING:
    from tui_chat.models.reply import Reply
    from tui_chat.models.session import Entry
    from tui_chat.ui.chat.tool_calls import ResultState

LAID_OUT_WHOLE = 24_000
"""Characters up to which a message is laid out whole."""
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

    subagents: frozenset[str] = frozenset()
    """Ids of the calls that started subagents whose sessions can be opened."""
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


class Part:
    """Some rows of a message, laid out when they are looked at."""

    __slots__ = ("_draw", "_rows", "height")

    def __init__(self, draw: Callable[[], list[Row]], estimate: int) -> None:
        self._draw = draw
        self._rows: list[Row] | None = None
        self.height = estimate
        """Rows of the part; exact after `rows` was read."""

    @property
    def rows(self) -> list[Row]:
        """The part's rows."""
        if self._rows is None:
            self._rows = self._draw()
            self.height = len(self._rows)
        return self._rows


def _drawn(rows: list[Row]) -> Part:
    """Return a part of rows that are laid out already."""
    part = Part(lambda: rows, len(rows))
    _ = part.rows
    return part


class CodeBlock(NamedTuple):
    """A block of code in a message."""

    part: int
    """Index of the part in which it begins."""
    number: int
    """Its index among the blocks of that part."""
    source: str


class _TextParts:
    """The parts of a text that may still grow."""

    def __init__(self, width: int, *styles: str, verbatim: bool = False) -> None:
        self.width = width
        self._styles, self._verbatim = styles, verbatim
        self.sources: tuple[Source, ...] = ()
        """Those of the marks in the text."""
        self._begin()

    def _begin(self) -> None:
        self._text = ""
        self._sections = SectionSplitter()
        self.parts: list[Part] = []
        self._settled = self._words = 0

    def read(self, text: str) -> list[Part]:
        """Return the parts of a text; if it begins with the last one, that is not read again."""
        if not text.startswith(self._text):
            self._begin()
        if text != self._text:
            self._sections.feed(text[len(self._text) :])
            self._text = text
            new = self._sections.settled[self._settled :]
            del self.parts[self._settled :]
            self._settled += len(new)
            self._words += sum(count_words(section.source) for section in new)
            for section in (*new, *self._sections.open):
                self.parts.append(self._part(section))
        return self.parts

    @property
    def words(self) -> int:
        """The number of words, where a wide character is one."""
        return self._words + sum(count_words(section.source) for section in self._sections.open)

    @property
    def code_blocks(self) -> list[CodeBlock]:
        """The blocks of code, each whole even if it was cut into sections."""
        blocks: list[CodeBlock] = []
        for part, section in enumerate(self._sections.all()):
            if section.kind == "code" and section.opens:
                blocks.append(CodeBlock(part, 0, section.source))
            elif section.kind == "code" and blocks:
                begun = blocks[-1]
                blocks[-1] = begun._replace(source=f"{begun.source}\n{section.source}")
            elif section.kind == "markdown" and not self._verbatim:
                codes = enumerate(code_in(section))
                blocks += [CodeBlock(part, number, without_marks(code)) for number, code in codes]
        return blocks

    def _part(self, section: Section) -> Part:
        is_verbatim = self._verbatim and section.kind != "code"
        gap = bool(self.parts) and (section.blank if is_verbatim else section.gap)
        # `draw` must not hold `self`, which holds it.
        width, styles, sources = self.width, self._styles, self.sources

        def draw() -> list[Row]:
            try:
                rows = section_rows(section, width, *styles, verbatim=is_verbatim)
            except Exception:  # a bug in the Markdown or Pygments library must not hide the text
                rows = plain_rows(section.source, width, *styles)
            if sources:
                rows = [linked_marks(row, sources) for row in rows]
            return [BLANK, *rows] if gap else rows

        estimate = section.source.count("\n") + 1 + len(section.source) // max(width, 1)
        return Part(draw, estimate + gap)


class MessageLayout:
    """A message's parts at one width."""

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
        self.parts: list[Part] = [self._header()]
        self._body_at = self._body_end = 0
        """Index of the first part of the text, and of the one behind its last."""
        self._add_parts()
        self.height = sum(part.height for part in self.parts)
        """Rows of the message; as exact as the heights of its parts."""

    def lines(self, part: int) -> list[Row]:
        """Return a part's rows, and make its height in the message's exact."""
        laid_out = self.parts[part]
        before = laid_out.height
        rows = laid_out.rows
        self.height += laid_out.height - before
        return rows

    @property
    def folds(self) -> list[tuple[int, int, str]]:
        """The rows that fold and unfold: part, row, key."""
        return [
            (index, number, row.action.key)
            for index in range(len(self.parts))
            if not self._body_at <= index < self._body_end
            for number, row in enumerate(self.lines(index))
            if row.action is not None and row.action.name == "toggle"
        ]

    @property
    def code_blocks(self) -> list[CodeBlock]:
        """The blocks of code in its text, with indices of the message's parts."""
        if self._is_small:
            return []
        return [each._replace(part=each.part + self._body_at) for each in self._body.code_blocks]

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

    def _texts(self, before: MessageLayout | None) -> tuple[_TextParts, _TextParts]:
        """Return text and reasoning, those of an earlier layout if they can go on."""
        message = self.entry.message
        is_verbatim = message.role != "assistant"
        is_cited = not is_verbatim and bool(message.citations)
        sources = message.about.references.sources if is_cited else ()
        if before is not None and before._width == self._width and before._body.sources == sources:
            return before._body, before._reasoning
        body = _TextParts(self._width, verbatim=is_verbatim)
        body.sources = sources
        return body, _TextParts(self._width - 2, "reasoning")

    def _key(self, what: str) -> str:
        return f"{self.entry.message.id or id(self.entry)}/{what}"

    def _is_open(self, what: str) -> bool:
        return self._key(what) in self._unfolded

    def _fold(self, what: str, label: str, *more: Content) -> Row:
        """Lay out the row that unfolds a thing, or folds it."""
        return fold_row(self._key(what), label, self._width, *more, is_open=self._is_open(what))

    # --- its parts -----------------------------------------------------------------------

    def _add_parts(self) -> None:
        message = self.entry.message
        if self._is_small:
            self.parts.append(_drawn(self._folded_text()))
            return
        text = message.content if self._reply is None else self._reply.text
        body = self._body.read(marked_text(text, message.citations) if self._body.sources else text)
        above = [*self._replaced(), *self._reasoning_parts(is_thinking=not body)]
        gap = [_drawn([BLANK])] if above and body else []
        self.parts += [*above, *gap]
        self._body_at = len(self.parts)
        self.parts += body
        self._body_end = len(self.parts)
        below = (self._sources(), self._calls(), self._footer())
        self.parts += [_drawn(rows) for rows in below if rows]
        if len(text) <= LAID_OUT_WHOLE and self._progress is None:
            for part in self.parts:
                _ = part.rows

    def _header(self) -> Part:
        message_id, options = self.entry.message.id, self._options
        rows = header_rows(
            *(self.entry, self._width, self._progress, options.speakers),
            above=above_rows(self._neighbors.day, self._width, is_first=self._neighbors.is_first),
            is_muted=message_id in options.muted,
        )
        return _drawn(rows)

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

    def _replaced(self) -> list[Part]:
        """Return the row that folds the texts of attempts that the provider gave up."""
        reply = self._reply
        replaced = reply.replaced if reply else self.entry.message.about.replaced
        if not replaced:
            return []
        rows = [self._fold("replaced", "The provider started over")]
        if self._is_open("replaced"):
            text = "\n\n".join(filter(None, replaced))[:SHOWN]
            rows += barred(plain_rows(text, self._width - 2, "quiet"))
        return [_drawn(rows)]

    def _reasoning_parts(self, *, is_thinking: bool) -> list[Part]:
        message = self.entry.message
        text = self._reply.thought if self._reply else message.thought
        mark = styled("  ◇ muted", "muted-mark") if message.is_reasoning_muted else Content("")
        if not text:
            if not any(block.encrypted for block in message.reasoning):
                return []
            words = styled("  Reasoning, encrypted by the provider", "fold")
            return [_drawn([Row(joined(words, mark))])]
        parts = self._reasoning.read(text)
        is_thinking = is_thinking and self._progress is not None
        count = self._reasoning.words
        verb = "Thinking" if is_thinking else "Reasoning"
        label = f"{verb} ({count:,} word{'s' * (count != 1)})"
        row = _drawn([self._fold("thought", label, mark)])
        if not self._is_open("thought"):
            return [row]
        return [row, *(Part(lambda part=part: barred(part.rows), part.height) for part in parts)]

    def _sources(self) -> list[Row]:
        references = self.entry.message.about.references
        if references == NO_REFERENCES or self._progress is not None:
            return []
        rows = [BLANK] if self._body.parts else []
        is_open = len(references.sources) <= LISTED_AT_ONCE
        if not is_open:
            is_open = self._is_open("sources")
            label = sources_label(references, self._width - 2, is_open=is_open)
            rows.append(self._fold("sources", label))
        listed = source_rows(references, self._width) if is_open else []
        return [*rows, *listed, *failure_rows(references, self._width)]

    def _calls(self) -> list[Row]:
        calls: Sequence[CallBlock] = self.entry.message.tool_calls
        count = len(calls)
        if self._reply is not None:
            calls = self._reply.calls
            count = len(calls)
        if not calls:
            return []
        rows: list[Row] = [BLANK] if self._body.parts else []
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
        if call.id in self._options.subagents:
            return "subagent"
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
