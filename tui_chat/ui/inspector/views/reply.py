"""What came back: the reply as we read it, and its events as they were received."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

from tui_chat.models.message import Message
from tui_chat.models.received import Received
from tui_chat.models.reply import Usage
from tui_chat.models.session import Entry
from tui_chat.ui.inspector.hostile import shown
from tui_chat.ui.inspector.row_wrapping import LEAST, breaks
from tui_chat.ui.inspector.text_fitting import cut, size_in_words
from tui_chat.ui.inspector.views.rows_view import BLANK, Part, Row, Rows, RowsView, line, many, said

_TIME = 10
"""Cells for the time, and as many where there is none."""


def told(received: Received) -> str:
    """Say what it is, in a few words."""
    words = [f"HTTP {received.status}", received.media or "no media type"]
    words.append(size_in_words(received.size))
    if b"\r\n" in received.body:
        words.append("lines end in CR LF")
    return ", ".join(words)


def lines_of(received: Received, width: int) -> Iterator[Part]:
    """Yield the rows of a response; each is made when it is looked at."""
    if received.gone:
        words = f"The first {size_in_words(received.gone)} were not kept."
        yield line(("  ", ""), (words, "warning"))
    room = max(width - _TIME, LEAST)
    ends = [size for _, size in received.times]
    at, before = received.gone, -1
    for raw in received.body.split(b"\n"):
        number = bisect_right(ends, at)
        time = f"{received.times[number][0] / 1000:>8.2f}s " if number < len(ends) else ""
        text = shown(raw.removesuffix(b"\r").decode("utf-8", "replace"))
        cuts = [0, *breaks(text, room, room), len(text)]
        lead = time if number != before and text else ""
        yield len(cuts) - 1, _row(text, cuts, lead.ljust(_TIME))
        before = number if text else before
        at += len(raw) + 1


def _row(text: str, cuts: list[int], lead: str) -> Callable[[int], Row]:
    rows = list(pairwise(cuts))

    def row(number: int) -> Row:
        start, end = rows[number]
        head = lead if number == 0 else " " * _TIME
        return Row(((head, "bar"), (text[start:end], "muted")))

    return row


NOT_KEPT = "not kept; that is done for the newest replies only."
_UNFOLD_RAW = "unfold raw"


@dataclass(frozen=True, slots=True)
class Came:
    """A reply, with what is known of how it came."""

    entry: Entry
    message: Message
    """What has arrived so far; the entry's own once it has ended."""
    received: Received | None = None
    """The response as it was received; None where it is not kept."""
    unheard: str = ""
    """Why there is no `received`, in a sentence."""
    told: str = ""
    """What the forecast said of it, beside what was reported."""


class ReplyView(RowsView):
    """The reply to the request, or the last one of the branch."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._came: Came | None = None
        self._raw_open = False

    def show(self, came: Came | None) -> None:
        """Show a reply; None for none yet."""
        if came != self._came or not self._built_for:
            self._came = came
            self.rebuild()

    def forget(self) -> None:
        """Let go of the reply."""
        super().forget()
        self._came = None

    def choose(self, row: Row) -> bool:
        """Fold and unfold the raw events."""
        if row.does != _UNFOLD_RAW:
            return False
        self._raw_open = not self._raw_open
        self.rebuild()
        return True

    def build(self, width: int) -> Rows:
        """Lay the reply out."""
        if self._came is None:
            words = "No reply yet. What comes back is shown here."
            return Rows([many(said(words, width, "", "muted"))])
        return Rows(self._parts(self._came, width))

    def _parts(self, came: Came, width: int) -> Iterator[Part]:
        entry, message = came.entry, came.message
        state = {"complete": "good", "streaming": "link", "stopped": "warning"}
        names = [name for name in (entry.model, entry.endpoint) if name]
        who = cut(" at ".join(names) or "by a model that is not known", width - 14)
        yield line((entry.status, state.get(entry.status, "error")), (f"  {who}", "muted"))
        how = [f"finish: {entry.finish}"] if entry.finish else []
        how += [f"{entry.seconds:.1f} s"] if entry.seconds is not None else []
        how += _usage(entry.usage)
        if how:
            yield many(said(" · ".join(how), width, "", ""))
        if came.told:
            yield many(said(came.told, width, "", "muted"))
        if entry.error:
            yield many(said(entry.error, width, "", "error"))
        if entry.advice:
            yield many(said(entry.advice, width, "", "muted"))
        thoughts = [block for block in message.semantics.reasoning if block.text]
        hidden = len(message.semantics.reasoning) - len(thoughts)
        if thoughts or hidden:
            yield BLANK
            yield line(("Reasoning", "heading"))
            for block in thoughts:
                yield many(said(block.text, width, "  ", "muted"))
            if hidden:
                yield line((f"  {hidden} blocks that only the provider can read", "bar"))
        if message.content:
            yield BLANK
            yield line(("Content", "heading"))
            yield many(said(message.content, width, "  "))
        if message.semantics.refusal:
            yield BLANK
            yield line(("Refusal", "heading"))
            yield many(said(message.semantics.refusal, width, "  ", "warning"))
        for call in message.tool_calls:
            yield BLANK
            yield line(("Calls ", "heading"), (cut(call.name, width - 8), "setting"))
            yield many(said(call.arguments, width, "  "))
        yield from self._raw(came, width)

    def _raw(self, came: Came, width: int) -> Iterator[Part]:
        yield BLANK
        if came.received is None:
            yield many(said(f"As received: {came.unheard or NOT_KEPT}", width, "", "bar"))
            return
        sign = "▾" if self._raw_open else "▸"
        words = cut(f"{sign} As received: {told(came.received)}", width)
        yield line((words, "heading"), does=_UNFOLD_RAW)
        if self._raw_open:
            yield from lines_of(came.received, width)


def _usage(usage: Usage) -> list[str]:
    told: list[str] = []
    if usage.input is not None:
        apart = [f"{usage.cached:,} cached"] if usage.cached is not None else []
        apart += [f"{usage.cache_write:,} written to the cache"] if usage.cache_write else []
        told.append(f"input {usage.input:,}" + (f" ({', '.join(apart)})" if apart else ""))
    if usage.output is not None:
        thought = f" ({usage.reasoning:,} of them thought)" if usage.reasoning else ""
        told.append(f"output {usage.output:,}{thought}")
    return told
