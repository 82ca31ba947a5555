"""The calls view: the requests of a session and its side conversations, oldest first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, NamedTuple

from tui_chat.models.sanitize import one_line
from tui_chat.models.session import CallSummary
from tui_chat.models.usage import short_number
from tui_chat.plugins.tap.held_table import WaitingRequest, limit_words, waiting_requests
from tui_chat.ui.inspector.row_wrapping import counted, cut
from tui_chat.ui.inspector.rows_view import (
    BLANK,
    Part,
    Piece,
    RowsView,
    line,
    text_rows,
)
from tui_chat.ui.inspector.views import InspectorState

if TYPE_CHECKING:
    from tui_chat.workspace.workspace import Workspace

_TIME, _PROGRAM, _COST = 9, 14, 8
_FIGURES = (("input", 6), ("cached", 7), ("written", 8), ("lost", 6))
_LEAST_MODEL = 20


class LoadedCalls(NamedTuple):
    """What the view shows."""

    calls: tuple[CallSummary, ...]
    """Those of the active session and of its side conversations, oldest first."""
    held: Mapping[str, WaitingRequest]
    """The requests that wait for the user, by the ids of their replies."""


async def load_calls(workspace: Workspace) -> LoadedCalls:
    """Return the calls of the active session, and which of them are held."""
    store = workspace.active_store
    calls = await store.requests.calls(workspace.state.session_id)
    held: tuple[WaitingRequest, ...] = ()
    if any(call.status == "streaming" for call in calls):
        held = await waiting_requests(store.replies.database)
    return LoadedCalls(calls, {request.message_id: request for request in held})


class CallsView(RowsView):
    """Shows time, program, model, tokens and cost of each call, and what broke the cache."""

    uses = frozenset({"loaded"})

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._loaded: LoadedCalls | None = None

    def show_state(self, state: InspectorState) -> None:
        loaded: LoadedCalls | None = state.loaded
        if loaded != self._loaded or not self._built_for:
            self._loaded = loaded
            self.rebuild()

    def forget(self) -> None:
        """Drop the calls."""
        super().forget()
        self._loaded = None

    def build(self, width: int) -> Iterator[Part]:
        """Lay the calls out."""
        if (loaded := self._loaded) is None:
            return
        if loaded.calls:
            yield from self._parts(*loaded, width)
        else:
            yield text_rows("No request of this session is known.", width, "", "muted")

    def _parts(
        self, calls: Sequence[CallSummary], held: Mapping[str, WaitingRequest], width: int
    ) -> Iterator[Part]:
        yield text_rows(_total(calls), width, "", "heading")
        yield BLANK
        head = _CallCells("time", "program", "model", tuple(name for name, _ in _FIGURES), "cost")
        yield from _lines(head, width, action="", hint="", is_head=True)
        for call in calls:
            waiting = held.get(call.message_id)
            if waiting is not None:
                hint = "held · Enter send on, edit or drop"
                action = f"plugins.held({call.message_id!r})"
            else:
                hint = f"{call.status} · Enter go to its reply and request"
                action = f"inspector.show_reply({call.session_id!r}, {call.message_id!r})"
            yield from _lines(_row(call), width, action=action, hint=hint)
            if waiting is not None:
                words = f"Enter decides: {limit_words(waiting)}."
                yield text_rows(words, width, " " * _TIME, "warning", action=action, hint=hint)
                if waiting.fault:
                    yield text_rows(one_line(waiting.fault, 300), width, " " * _TIME, "error")
            if call.loss is not None:
                lead = " " * _TIME
                yield text_rows(call.loss.sentence, width, lead, "warning")
            if call.error:
                yield text_rows(one_line(call.error, 300), width, " " * _TIME, "error")


class _CallCells(NamedTuple):
    time: str
    program: str
    model: str
    figures: tuple[str, ...]
    cost: str


def _row(call: CallSummary) -> _CallCells:
    usage, loss = call.usage, call.loss
    lost = loss.tokens if loss is not None else None
    figures = (usage.input, usage.cached, usage.cache_write, lost)
    name = call.program
    return _CallCells(
        f"{datetime.fromtimestamp(call.created).astimezone():%H:%M:%S}",
        f"└ {name}" if call.is_side else name,
        call.model or "unknown",
        tuple("" if figure is None else short_number(figure) for figure in figures),
        "" if call.cost is None else _dollars(call.cost),
    )


def _lines(
    row: _CallCells, width: int, *, action: str, hint: str, is_head: bool = False
) -> Iterator[Part]:
    """Yield a call as one line, or as two where that is too narrow."""
    plain = "muted" if is_head else ""
    names = [name for name, _ in _FIGURES]
    figures: list[Piece] = [
        (text.rjust(cells), plain or ("warning" if name == "lost" else ""))
        for text, name, cells in zip(row.figures, names, dict(_FIGURES).values(), strict=True)
    ]
    figures.append((row.cost.rjust(_COST), plain))
    time: Piece = (row.time.ljust(_TIME), "muted")
    room = width - _TIME - sum(cells for _, cells in _FIGURES) - _COST
    if room >= _PROGRAM + _LEAST_MODEL:
        program: Piece = (_cell(row.program, _PROGRAM), "muted")
        model: Piece = (_cell(row.model, room - _PROGRAM), plain)
        yield line(time, program, model, *figures, action=action, hint=hint)
        return
    who = " · ".join(part for part in (row.program, row.model) if part)
    who = cut(one_line(who, 200), width - _TIME)
    yield line(time, (who, plain), action=action, hint=hint)
    if not any(row.figures) and not row.cost:
        return
    indent = max(width - sum(len(text) for text, _ in figures), 0)
    yield line((" " * indent, ""), *figures, action=action, hint=hint)


def _cell(text: str, width: int) -> str:
    return cut(one_line(text, 80), max(width - 1, 0)).ljust(width)


def _dollars(cost: Decimal) -> str:
    return f"${cost:.4f}" if cost < 10 else f"${cost:.2f}"


def _total(calls: Sequence[CallSummary]) -> str:
    """Return programs, number of calls and what they took together."""
    words = list(dict.fromkeys(one_line(call.program, 40) for call in calls if call.program))
    words.append(counted(len(calls), "call"))
    if total := sum(call.usage.input or 0 for call in calls):
        cached = sum(call.usage.cached or 0 for call in calls)
        words.append(f"{short_number(total)} input, {cached / total:.0%} cached")
    lost = [call.loss for call in calls if call.loss is not None]
    if lost:
        words.append(f"{short_number(sum(loss.tokens for loss in lost))} lost")
    costs = [call.cost for call in calls if call.cost is not None]
    if costs:
        words.append(_dollars(sum(costs, Decimal(0))))
    return " · ".join(words)
