"""Finding words in the shown branch: which messages have them, and where they are on lines.

1. Messages are searched as they were written, so that counting in ten thousand of them lays
   nothing out. Lines are searched as they are drawn, once they are laid out.
2. A hit may continue on the next wrapped line: wrapped lines are joined for the search.
3. Reasoning, tool calls and attached texts are searched too. Folded text is found at the line that
   unfolds it.
4. The two searches may still differ, because Markdown hides its marks, and attached texts are not
   drawn. If a message has the words and none of its lines does, its first line stands for them.
5. A hit in what is folded unfolds it. What typed words unfolded is folded again with the next
   letter.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING

from tui_chat.models.semantics import NO_MESSAGE_SEMANTICS
from tui_chat.ui.widgets.block_view import START, LinePosition

if TYPE_CHECKING:
    from tui_chat.models.message import Message
    from tui_chat.ui.chat.branch_layout import BranchLayout
    from tui_chat.ui.chat.text_lines import TextLine

CACHED_PARTS = 4000
"""Parts of messages whose hits are cached."""

_SEPARATOR = "\0"
"""Stands between texts so that no hit spans two of them; no text contains it."""

Hit = tuple[LinePosition, int]
"""The line where a hit begins, and its first character there."""

Spans = dict[int, list[tuple[int, int]]]
"""Hits by index of the line: first character and the one after the last."""


class TranscriptSearch:
    """The hits in a branch and the current one; only messages that have hits are laid out."""

    def __init__(
        self,
        layouts: BranchLayout,
        refold: Callable[[int], None],
        show_line: Callable[[LinePosition], None],
    ) -> None:
        """`refold` lays a message out again after its folds changed; `show_line` goes to a line."""
        self.current: Hit | None = None
        """The hit that is shown."""
        self.is_from_elsewhere = False
        """True if the words were searched for elsewhere, and led to a message here."""
        self._layouts, self._refold, self._show_line = layouts, refold, show_line
        self._start = START
        """The start of the search; typing finds the first hit from there."""
        self._unfolded: tuple[int, str] | None = None
        """Message and key of what the typed words unfolded."""
        self._pattern: re.Pattern[str] | None = None
        self._counts: list[int] = []
        self._counts_before: list[int] = []
        self._spans_of_part: dict[tuple[int, int], tuple[object, Spans]] = {}

    @property
    def is_on(self) -> bool:
        """True while words are being searched for."""
        return self._pattern is not None

    @property
    def count(self) -> int:
        """The number of hits."""
        return sum(self._counts)

    @property
    def number(self) -> int:
        """The number of the current hit, from 1; 0 if there is none."""
        if self.current is None or not self.count:
            return 0
        message = self.current[0].block
        hits = self._hits(message)
        index = hits.index(self.current) if self.current in hits else 0
        return self._counts_before[message] + min(index + 1, self._counts[message])

    def find(self, words: Sequence[str]) -> None:
        """Search for any of these words; an empty sequence ends the search."""
        self._pattern = word_pattern(words)
        self.current = None
        self.lines_changed()
        self.entries_changed()

    def find_from(self, top: LinePosition, words: str) -> None:
        """Search for typed words from the line of the start (`top` if it is now); none end it."""
        self.is_from_elsewhere = False
        if not self.is_on:
            self._start = top
        if self._unfolded and self._unfolded[0] < len(self._layouts.entries):
            message, key = self._unfolded
            self._layouts.unfolded.discard(key)
            self._refold(message)
        self._unfolded = None
        self.find((words,))
        if self._layouts.entries and (hit := self.first_from(self._start)):
            self._show(hit)
        elif words and self._layouts.entries:
            self._show_line(self._start)  # not where a part of the words was

    def find_in(self, message: int, words: Sequence[str]) -> None:
        """Search for words found elsewhere; without words, or a hit in the branch, end it."""
        self.find(words)
        if not self.count:
            self.find(())
        self.is_from_elsewhere = self.is_on
        if self.is_on and (hit := self.first_in(message)):
            self._show(hit)

    def go(self, direction: int) -> bool:
        """Show the next hit (1) or the previous one (-1); return False if there is none."""
        hit = self.step(direction)
        if hit is not None:
            self._show(hit)
            self._unfolded = None
        return hit is not None

    def _show(self, hit: Hit) -> None:
        """Show a hit; if it is folded, unfold it."""
        position = hit[0]
        if key := self.fold_at(position):
            self._unfolded = position.block, key
            self._layouts.unfolded.add(key)
            self._refold(position.block)
            position = (self.next_in_message(position) or hit)[0]
        self._show_line(position)

    def entries_changed(self) -> None:
        """Count again in another branch."""
        if self._pattern is None:
            self._counts = []
            return
        self._counts = [
            count_hits(self._pattern, _all_text(entry.message)) for entry in self._layouts.entries
        ]
        self._counts_before = [0, *accumulate(self._counts)]
        if self.current and self.current[0].block >= len(self._counts):
            self.current = None

    def lines_changed(self) -> None:
        """Drop the positions of hits after something was laid out again."""
        self._spans_of_part.clear()
        if self.current is not None:
            self.current = next(iter(self._hits(self.current[0].block)), None)

    def first_from(self, position: LinePosition) -> Hit | None:
        """Go to the first hit at or below a line; without one, to the last above it."""
        for message in range(position.block, len(self._counts)):
            if self._counts[message]:
                for hit in self._hits(message):
                    if hit[0] >= position:
                        self.current = hit
                        return hit
        self.current = (position, 0) if self.count else None
        return self.step(-1)

    def first_in(self, message: int) -> Hit | None:
        """Go to the first hit in a message, preferring visible hits over folded ones."""
        hits = self._hits(message)
        visible = (hit for hit in hits if self.fold_at(hit[0]) is None)
        self.current = next(visible, hits[0] if hits else None)
        return self.current

    def next_in_message(self, position: LinePosition) -> Hit | None:
        """Go to the first hit of the message at or below a line; stay if there is none."""
        hits = self._hits(position.block)
        self.current = next((hit for hit in hits if hit[0] >= position), self.current)
        return self.current

    def step(self, direction: int) -> Hit | None:
        """Go to the next hit (1) or the previous one (-1), around the ends."""
        if not self.count:
            return None
        hit_before = self.current or (LinePosition(0, 0, -1), 0)
        here = self._hits(hit_before[0].block)
        rest = [hit for hit in here if (hit > hit_before if direction > 0 else hit < hit_before)]
        if not rest:
            others = self._messages_from(hit_before[0].block, direction)
            rest = next((hits for message in others if (hits := self._hits(message))), here)
        if rest:
            self.current = rest[0] if direction > 0 else rest[-1]
        return self.current

    def marks(self, position: LinePosition) -> list[tuple[int, int, bool]]:
        """Return the hits on a line: first character, end, and True for the current hit."""
        if self._pattern is None:
            return []
        spans = self._spans(position.block, position.part).get(position.line, [])
        return [(start, end, self.current == (position, start)) for start, end in spans]

    def _messages_from(self, message: int, direction: int) -> Iterator[int]:
        """Yield the messages with hits that follow in a direction, around the ends."""
        size = len(self._counts)
        order = (message + direction * step for step in range(1, size + 1))
        return (at % size for at in order if self._counts[at % size])

    def fold_at(self, position: LinePosition) -> str | None:
        """Return the key of what is folded at a line."""
        place = (position.part, position.line)
        folded = self._layouts(position.block).folded
        return next((fold.key for fold in folded if (fold.part, fold.line) == place), None)

    def _hits(self, message: int) -> list[Hit]:
        if not 0 <= message < len(self._layouts.entries) or self._pattern is None:
            return []
        layout = self._layouts(message)
        hits: list[Hit] = [
            (LinePosition(message, part, line), start)
            for part in range(len(layout.parts))
            for line, spans in self._spans(message, part).items()
            for start, _ in spans
        ]
        for fold in layout.folded:
            shown = self._spans(message, fold.part)
            visible = sum(len(shown.get(line, ())) for line in range(fold.first, fold.line + 1))
            if not shown.get(fold.line) and count_hits(self._pattern, fold.text) > visible:
                hits.append((LinePosition(message, fold.part, fold.line), 0))
        if not hits and self._counts[message]:
            hits.append((LinePosition(message, 0, 0), 0))
        return sorted(hits)

    def _spans(self, message: int, part: int) -> Spans:
        if part == 0:  # the header is not the message's text
            return {}
        layout = self._layouts(message)
        laid_out = layout.parts[part]
        cached = self._spans_of_part.get((message, part))
        if cached is not None and cached[0] is laid_out:
            return cached[1]
        if len(self._spans_of_part) > CACHED_PARTS:
            self._spans_of_part.clear()
        assert self._pattern is not None
        spans = find_spans(self._pattern, layout.lines(part))
        self._spans_of_part[message, part] = laid_out, spans
        return spans


def word_pattern(words: Iterable[str]) -> re.Pattern[str] | None:
    """Return a pattern of any of the words in lower case, the longest first; None for no words."""
    by_length = sorted({word.lower() for word in words if word.strip()}, key=len, reverse=True)
    if not by_length:
        return None
    return re.compile("|".join(r"\s+".join(map(re.escape, word.split())) for word in by_length))


def count_hits(pattern: re.Pattern[str], text: str) -> int:
    """Count the hits in a text, ignoring case."""
    # Lower case on both sides is ten times as fast as a pattern that ignores case.
    return len(pattern.findall(text.lower()))


def _all_text(message: Message) -> str:
    """Return all texts of a message that are searched."""
    is_plain = message.semantics is NO_MESSAGE_SEMANTICS
    if is_plain and not message.tool_calls and not message.parts:
        return message.content
    from tui_chat.models.media import as_text
    from tui_chat.ui.chat.message_layout import reasoning_text
    from tui_chat.ui.chat.tool_calls import searchable_text

    calls = map(searchable_text, message.tool_calls)
    refusal = message.semantics.refusal
    files = (text for part in message.parts if (text := as_text(part).text))
    return _SEPARATOR.join((reasoning_text(message), message.content, *calls, refusal, *files))


def find_spans(pattern: re.Pattern[str], lines: Sequence[TextLine]) -> Spans:
    """Return the hits in the lines of a part; a hit over several lines begins with its first."""
    spans: Spans = {}
    start = 0
    while start < len(lines):
        end = start + 1
        while end < len(lines) and lines[end].joint is not None:
            end += 1
        _add_spans(pattern, lines[start:end], start, spans)
        start = end
    return spans


def _add_spans(
    pattern: re.Pattern[str], lines: Sequence[TextLine], first: int, spans: Spans
) -> None:
    """Add the hits in lines that were wrapped from one; `first` is the index of the first."""
    text, begins = "", list[int]()
    for index, line in enumerate(lines):
        if index:
            text += line.joint or ""
        begins.append(len(text))
        text += line.text[line.margin if index else 0 :]
    for hit in pattern.finditer(_lower_in_place(text)):
        at, stop = hit.span()
        index = bisect_right(begins, at) - 1
        while at < stop and index < len(begins):
            line = lines[index]
            offset = line.margin if index else 0
            size = len(line.text) - offset
            left, right = at - begins[index], min(stop - begins[index], size)
            if left < right:
                spans.setdefault(first + index, []).append((left + offset, right + offset))
            index += 1
            at = begins[index] if index < len(begins) else stop


def _lower_in_place(text: str) -> str:
    """Return the text in lower case, each character at its index."""
    lower = text.lower()
    return lower if len(lower) == len(text) else "".join(char.lower()[:1] for char in text)
