"""The reply view: the reply as parsed, and the response as received."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import pairwise

from tui_chat.models.sanitize import sanitize
from tui_chat.models.session import RawResponse
from tui_chat.models.usage import Usage
from tui_chat.ui.inspector.row_wrapping import LEAST, breaks, size_in_words
from tui_chat.ui.inspector.rows_view import (
    BLANK,
    LaterRow,
    Part,
    RowsView,
    ViewRow,
    line,
    styled,
    text_rows,
)
from tui_chat.ui.inspector.views import InspectorState, ReplyDetails

NOT_KEPT = "not kept: only the newest replies are kept as they were received."
_UNFOLD = "unfold raw"
_STATES = {"complete": "good", "streaming": "link", "stopped": "warning"}


class ReplyView(RowsView):
    """Shows the reply to the request, or the last one of the branch."""

    uses = frozenset({"reply"})

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._is_raw_open = False

    def show_state(self, state: InspectorState) -> None:
        before, self.state = self.state.reply, state
        if state.reply != before or not self._built_for:
            self.rebuild()

    def choose(self, row: ViewRow) -> bool:
        """Fold and unfold the response as received."""
        if row.action != _UNFOLD:
            return False
        self._is_raw_open = not self._is_raw_open
        self.rebuild()
        return True

    def build(self, width: int) -> Iterator[Part]:
        reply = self.state.reply
        if reply is None:
            yield text_rows("No reply yet. What comes back is shown here.", width, "", "muted")
            return
        entry, message = reply.entry, reply.message
        who = " at ".join(name for name in (entry.model, entry.endpoint) if name)
        state = entry.status, _STATES.get(entry.status, "error")
        yield line(state, (f"  {who or 'by an unknown model'}", "muted"))
        yield from _part(" · ".join(_facts(reply)), width)
        yield from _part(entry.error, width, style="error")
        yield from _part(entry.advice, width, style="muted")
        blocks = message.reasoning
        hidden = sum(not block.text for block in blocks)
        thoughts = [block.text for block in blocks if block.text]
        thoughts += [f"{hidden} blocks that only the provider can read"] if hidden else []
        yield from _part("\n".join(thoughts), width, "Reasoning", "muted")
        yield from _part(message.content, width, "Content")
        yield from _part(message.refusal, width, "Refusal", "warning")
        for call in message.tool_calls:
            yield from _part(call.arguments, width, f"Calls {call.name}")
        yield from self._raw(reply, width)

    def _raw(self, reply: ReplyDetails, width: int) -> Iterator[Part]:
        yield BLANK
        received = reply.received
        if received is None:
            yield text_rows(f"As received: {reply.unheard or NOT_KEPT}", width, "", "bar")
            return
        sign = "▾" if self._is_raw_open else "▸"
        words = f"{sign} As received: {response_summary(received)}"
        yield line((words, "heading"), action=_UNFOLD)
        if self._is_raw_open:
            yield from response_rows(received, width)


def _part(text: str | None, width: int, heading: str = "", style: str = "") -> Iterator[Part]:
    """Yield a text, indented behind a heading if it has one; nothing for an empty text."""
    if text and heading:
        yield BLANK
        yield line((heading, "heading"))
    if text:
        yield text_rows(text, width, "  " if heading else "", style)


def _facts(reply: ReplyDetails) -> Iterator[str]:
    """Yield how the reply ended, what it took and what it cost."""
    entry = reply.entry
    if entry.finish:
        yield f"finish: {entry.finish}"
    if entry.seconds is not None:
        yield f"{entry.seconds:.1f} s"
    yield from _usage(entry.usage)
    if entry.priced:
        cost = "—" if entry.cost is None else f"${entry.cost.normalize():f} ({entry.priced})"
        yield f"cost {cost}"


def _usage(usage: Usage) -> Iterator[str]:
    if usage.input is not None:
        apart = [f"{usage.cached:,} cached"] if usage.cached is not None else []
        apart += [f"{usage.cache_write:,} written to the cache"] if usage.cache_write else []
        yield f"input {usage.input:,}" + (f" ({', '.join(apart)})" if apart else "")
    if usage.output is not None:
        thought = f" ({usage.reasoning:,} of them reasoning)" if usage.reasoning else ""
        yield f"output {usage.output:,}{thought}"


def response_summary(received: RawResponse) -> str:
    """Return status, media type and size in words."""
    words = [f"HTTP {received.status}", received.media or "no media type"]
    words.append(size_in_words(received.size))
    if b"\r\n" in received.body:
        words.append("lines end in CR LF")
    return ", ".join(words)


def response_rows(received: RawResponse, width: int) -> Iterator[Part]:
    """Yield the rows of a response."""
    if received.gone:
        yield line((f"  The first {size_in_words(received.gone)} were not kept.", "warning"))
    room = max(width - 2, LEAST)
    for raw in received.body.split(b"\n"):
        text = sanitize(raw.removesuffix(b"\r").decode("utf-8", "replace"), "exact")
        cuts = [0, *breaks(text, room, room), len(text)]
        yield [LaterRow(partial(_raw_row, text[start:end])) for start, end in pairwise(cuts)]


def _raw_row(text: str) -> ViewRow:
    return ViewRow(styled(("  ", ""), (text, "muted")))
