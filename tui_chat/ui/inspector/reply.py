"""The reply view: the reply as parsed, and the response as received."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator
from itertools import pairwise

from tui_chat.models.request import RawResponse
from tui_chat.models.sanitize import sanitize
from tui_chat.models.usage import Usage
from tui_chat.ui.inspector.row_wrapping import LEAST, breaks, cut, size_in_words
from tui_chat.ui.inspector.rows_view import (
    BLANK,
    Part,
    RowsView,
    ViewRow,
    ViewRows,
    line,
    text_part,
)
from tui_chat.ui.inspector.views import InspectorState, ReplyDetails

_TIME = 10
"""Cells of the time of arrival."""


def response_summary(received: RawResponse) -> str:
    """Return status, media type and size in words."""
    words = [f"HTTP {received.status}", received.media or "no media type"]
    words.append(size_in_words(received.size))
    if b"\r\n" in received.body:
        words.append("lines end in CR LF")
    return ", ".join(words)


def response_rows(received: RawResponse, width: int) -> Iterator[Part]:
    """Yield the rows of a response, each line with its time of arrival."""
    if received.gone:
        words = f"The first {size_in_words(received.gone)} were not kept."
        yield line(("  ", ""), (words, "warning"))
    room = max(width - _TIME, LEAST)
    ends = [size for _, size in received.times]
    at, before = received.gone, -1
    for raw in received.body.split(b"\n"):
        number = bisect_right(ends, at)
        time = f"{received.times[number][0] / 1000:>8.2f}s " if number < len(ends) else ""
        text = sanitize(raw.removesuffix(b"\r").decode("utf-8", "replace"), "exact")
        cuts = [0, *breaks(text, room, room), len(text)]
        lead = time if number != before and text else ""
        yield len(cuts) - 1, _row(text, cuts, lead.ljust(_TIME))
        before = number if text else before
        at += len(raw) + 1


def _row(text: str, cuts: list[int], lead: str) -> Callable[[int], ViewRow]:
    rows = list(pairwise(cuts))

    def row(number: int) -> ViewRow:
        start, end = rows[number]
        head = lead if number == 0 else " " * _TIME
        return ViewRow(((head, "bar"), (text[start:end], "muted")))

    return row


NOT_KEPT = "not kept: only the newest replies are kept as they were received."
_UNFOLD_RAW = "unfold raw"


class ReplyView(RowsView):
    """Shows the reply to the request, or the last one of the branch."""

    uses = frozenset({"reply"})

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._reply: ReplyDetails | None = None
        self._raw_open = False

    def show_state(self, state: InspectorState) -> None:
        if state.reply != self._reply or not self._built_for:
            self._reply = state.reply
            self.rebuild()

    def forget(self) -> None:
        super().forget()
        self._reply = None

    def choose(self, row: ViewRow) -> bool:
        """Fold and unfold the raw events."""
        if row.action != _UNFOLD_RAW:
            return False
        self._raw_open = not self._raw_open
        self.rebuild()
        return True

    def build(self, width: int) -> ViewRows:
        if self._reply is None:
            words = "No reply yet. What comes back is shown here."
            return ViewRows([text_part(words, width, "", "muted")])
        return ViewRows(self._parts(self._reply, width))

    def _parts(self, reply: ReplyDetails, width: int) -> Iterator[Part]:
        entry, message = reply.entry, reply.message
        state = {"complete": "good", "streaming": "link", "stopped": "warning"}
        names = [name for name in (entry.model, entry.endpoint) if name]
        who = cut(" at ".join(names) or "by an unknown model", width - 14)
        yield line((entry.status, state.get(entry.status, "error")), (f"  {who}", "muted"))
        how = [f"finish: {entry.finish}"] if entry.finish else []
        how += [f"{entry.seconds:.1f} s"] if entry.seconds is not None else []
        how += _usage(entry.usage)
        if entry.priced:
            dollars = "—" if entry.cost is None else f"${entry.cost.normalize():f}"
            whose = f" ({entry.priced})" if entry.cost is not None else ""
            how.append(f"cost {dollars}{whose}")
        if how:
            yield text_part(" · ".join(how), width, "", "")
        if reply.comparison:
            yield text_part(reply.comparison, width, "", "muted")
        if entry.error:
            yield text_part(entry.error, width, "", "error")
        if entry.advice:
            yield text_part(entry.advice, width, "", "muted")
        thoughts = [block for block in message.semantics.reasoning if block.text]
        hidden = len(message.semantics.reasoning) - len(thoughts)
        if thoughts or hidden:
            yield BLANK
            yield line(("Reasoning", "heading"))
            for block in thoughts:
                yield text_part(block.text, width, "  ", "muted")
            if hidden:
                yield line((f"  {hidden} blocks that only the provider can read", "bar"))
        if message.content:
            yield BLANK
            yield line(("Content", "heading"))
            yield text_part(message.content, width, "  ")
        if message.semantics.refusal:
            yield BLANK
            yield line(("Refusal", "heading"))
            yield text_part(message.semantics.refusal, width, "  ", "warning")
        for call in message.tool_calls:
            yield BLANK
            yield line(("Calls ", "heading"), (cut(call.name, width - 8), "setting"))
            yield text_part(call.arguments, width, "  ")
        yield from self._raw(reply, width)

    def _raw(self, reply: ReplyDetails, width: int) -> Iterator[Part]:
        yield BLANK
        if reply.received is None:
            yield text_part(f"As received: {reply.unheard or NOT_KEPT}", width, "", "bar")
            return
        sign = "▾" if self._raw_open else "▸"
        words = cut(f"{sign} As received: {response_summary(reply.received)}", width)
        yield line((words, "heading"), action=_UNFOLD_RAW)
        if self._raw_open:
            yield from response_rows(reply.received, width)


def _usage(usage: Usage) -> list[str]:
    lines: list[str] = []
    if usage.input is not None:
        apart = [f"{usage.cached:,} cached"] if usage.cached is not None else []
        apart += [f"{usage.cache_write:,} written to the cache"] if usage.cache_write else []
        lines.append(f"input {usage.input:,}" + (f" ({', '.join(apart)})" if apart else ""))
    if usage.output is not None:
        thought = f" ({usage.reasoning:,} of them reasoning)" if usage.reasoning else ""
        lines.append(f"output {usage.output:,}{thought}")
    return lines
