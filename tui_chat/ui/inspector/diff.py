"""The diff view: a request beside another one, line by line of the laid-out bodies.

1. Equal lines are folded except a few around differences. Only visible rows are made.
2. The changed part of a line is marked. A changed line wraps; an equal or a very long one is cut so
   that the change is in sight, and unfolds to all of it.
3. While comparing is quick it follows each keystroke; else it waits for a pause and runs in a
   thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from itertools import pairwise
from time import perf_counter

from rich.cells import cell_len
from textual.timer import Timer

from tui_chat.analysis.diff import Difference, DiffRun, changed_part, diff_payloads
from tui_chat.models.payload import Payload, PrettyLine
from tui_chat.models.sanitize import sanitize
from tui_chat.models.text import Origin
from tui_chat.ui.inspector.drawn_row import display_kind
from tui_chat.ui.inspector.row_wrapping import breaks, counted, cut
from tui_chat.ui.inspector.rows_view import (
    Part,
    Piece,
    RowsView,
    ViewRow,
    ViewRows,
    line,
    made_rows,
    spread,
    text_part,
)
from tui_chat.ui.inspector.views import InspectorState

CHOOSE = "inspector.compare"
"""The action that chooses what to compare with."""
QUICK = 0.006
"""Seconds up to which comparing follows each keystroke."""
PAUSE = 0.25
"""Seconds without a keystroke after which a slow comparison runs."""
WRAPPED_ROWS = 40
"""Most rows of a line that wraps."""
WRAPPED_LINES = 500
"""Changed lines in a run up to which long ones wrap: all of them are looked at."""
_UNFOLD = "unfold line "


class DiffView(RowsView):
    """Shows the difference of a request from another one."""

    uses = frozenset({"baseline"})
    choice_key = "a"
    """The key of `CHOOSE`; empty where nothing else can be chosen."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._other_name = ""
        self._was: Payload | None = None
        self._now: Payload | None = None
        self._found: Difference | None = None
        self._why = ""
        self._took = 0.0
        self._timer: Timer | None = None
        self._open: set[tuple[str, int]] = set()

    @property
    def against(self) -> Payload | None:
        """The body to compare with."""
        return self._was

    def show_state(self, state: InspectorState) -> None:
        base, now = state.baseline, state.composed.payload if state.composed else None
        is_same_base = (base.name, base.reason) == (self._other_name, self._why)
        if is_same_base and base.payload is self._was and now is self._now:
            return
        if base.payload is not self._was:
            self._found, self._took = None, 0.0
            self._open.clear()
        self._other_name, self._was, self._why = base.name, base.payload, base.reason
        self._now = now
        self._compare()

    def forget(self) -> None:
        super().forget()
        self._was = self._now = self._found = None
        self._other_name, self._took = "", 0.0
        self._open.clear()

    def _compare(self) -> None:
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
        if self._was is None or self._now is None:
            self._found = None
            self.rebuild()
        elif self._took <= QUICK:
            begun = perf_counter()
            self._found = diff_payloads(self._was, self._now)
            self._took = perf_counter() - begun
            self.rebuild()
        else:
            self._timer = self.set_timer(PAUSE, self._compare_in_thread)

    async def _compare_in_thread(self) -> None:
        was, now = self._was, self._now
        if was is None or now is None:
            return
        begun = perf_counter()
        difference = await asyncio.to_thread(diff_payloads, was, now)
        if (was, now) == (self._was, self._now) and self.is_attached:
            self._took = perf_counter() - begun
            self._found = difference
            self.rebuild()

    def choose(self, row: ViewRow) -> bool:
        """Unfold a line, or fold it again."""
        if not row.action.startswith(_UNFOLD):
            return False
        side, _, number = row.action.removeprefix(_UNFOLD).partition(" ")
        self._open ^= {(side, int(number))}
        self.rebuild()
        return True

    def build(self, width: int) -> ViewRows:
        return ViewRows(self._parts(width))

    def _parts(self, width: int) -> Iterator[Part]:
        difference = self._found
        summary = ""
        if difference is not None:
            summary = (
                "the same" if difference.is_none else f"-{difference.gone:,} +{difference.new:,}"
            )
        name = cut(self._other_name or "nothing yet", width - len(summary) - 12)
        head = ((self.choice_key, "strong"), (" against ", "muted"), (name, "link"))
        yield line(
            *spread(width, head, summary),
            action=CHOOSE,
            hint="Enter or a: compare with something else.",
        )
        if difference is None:
            yield text_part(self._why or "Comparing…", width, "", "muted")
            return
        for run in difference.folded():
            if run.is_folded:
                yield line((f"  ⋯ {counted(len(run.now), 'equal line')}", "bar"))
            elif run.same:
                yield from self._lines(difference.now, " ", run.now, None, width)
            else:
                yield from self._other(difference, run, width)

    def _other(self, difference: Difference, run: DiffRun, width: int) -> Iterator[Part]:
        pairs = min(len(run.was), len(run.now))
        if pairs and len(run.was) == len(run.now) == 1:
            yield from self._lines(difference.was, "-", run.was, (difference.now, run.now), width)
            yield from self._lines(difference.now, "+", run.now, (difference.was, run.was), width)
            return
        beside = (difference.now, run.now) if pairs == len(run.was) == len(run.now) else None
        yield from self._lines(difference.was, "-", run.was, beside, width)
        beside = (difference.was, run.was) if beside else None
        yield from self._lines(difference.now, "+", run.now, beside, width)

    def _lines(
        self,
        payload: Payload,
        sign: str,
        numbers: range,
        beside: tuple[Payload, range] | None,
        width: int,
    ) -> Iterator[Part]:
        """Yield lines of one side; `beside` are the corresponding lines of the other."""

        def changed(index: int) -> range | None:
            if beside is None:
                return None
            there = beside[0].lines[beside[1][index]]
            return changed_part(_plain(there), _plain(payload.lines[numbers[index]]))[1]

        def rows(start: int, stop: int) -> Part:
            def row(offset: int) -> ViewRow:
                index = start + offset
                here = payload.lines[numbers[index]]
                return _row(here, sign, changed(index), width, f"{_UNFOLD}{sign} {numbers[index]}")

            return stop - start, row

        opened = {number for side, number in self._open if side == sign}
        wraps = sign != " " and len(numbers) <= WRAPPED_LINES
        start = 0
        for index, number in enumerate(numbers) if wraps or opened else ():
            here = payload.lines[number]
            if number in opened:
                yield rows(start, index + 1)
                yield text_part(_plain(here), width, f"{sign} │ ")
                start = index + 1
            elif wraps and _needs_rows(here, width):
                yield rows(start, index)
                yield made_rows(_wrapped(here, sign, changed(index), width))
                start = index + 1
        yield rows(start, len(numbers))


def _plain(line: PrettyLine) -> str:
    return "".join(piece.text for piece in line.pieces)


def _indent(line: PrettyLine) -> str:
    return "  " * min(line.indent, 4)


def _needs_rows(line: PrettyLine, width: int) -> bool:
    """Return True if a line wraps: it does not fit, and is not very long."""
    text = _plain(line)
    room = max(width - len(_indent(line)) - 2, 8)
    if len(text) > room * WRAPPED_ROWS:
        return False
    return (len(text) if text.isascii() else cell_len(sanitize(text, "exact"))) > room


def _wrapped(line: PrettyLine, sign: str, changed: range | None, width: int) -> list[ViewRow]:
    """Draw a line of either side in as many rows as it needs."""
    ground = {"-": "gone", "+": "new"}[sign]
    lead = f"{sign} {_indent(line)}"
    runs: list[Piece] = []
    origin: Origin | None = None
    at = 0
    for piece in line.pieces:
        end = at + len(piece.text)
        kind = display_kind(piece).value
        if kind != "glue" and origin is None:
            origin = piece.origin
        inside = (changed.start, changed.stop) if changed is not None else ()
        edges = [at, *(edge for edge in inside if at < edge < end), end]
        for low, high in pairwise(edges):
            is_part = changed is not None and changed.start <= low < changed.stop
            text = sanitize(piece.text[low - at : high - at], "exact")
            runs.append((text, f"{kind} {ground}{'-part' if is_part else ''}"))
        at = end
    text = "".join(text for text, _ in runs)
    room = max(width - len(lead), 8)
    cuts = [0, *breaks(text, room, room - 2), len(text)]
    rows: list[ViewRow] = []
    for start, stop in pairwise(cuts):
        head = f"  {lead[2:]}  " if start else lead
        pieces: list[Piece] = [(head, ground), *_slice(runs, start, stop)]
        blank = width - len(head) - cell_len(text[start:stop])
        rows.append(ViewRow((*pieces, (" " * max(blank, 0), ground)), origin))
    return rows


def _slice(runs: Sequence[Piece], start: int, stop: int) -> Iterator[Piece]:
    """Yield the pieces of some characters of a line."""
    at = 0
    for text, style in runs:
        part = text[max(start - at, 0) : max(stop - at, 0)]
        if part:
            yield part, style
        at += len(text)


def _row(line: PrettyLine, sign: str, changed: range | None, width: int, unfold: str) -> ViewRow:
    """Draw a line of either side in one row."""
    ground = {"-": "gone", "+": "new"}.get(sign, "")
    indent = _indent(line)
    room = max(width - len(indent) - 2, 8)
    length = sum(len(piece.text) for piece in line.pieces)
    start = 0
    if changed is not None and length > room and changed.start > room * 2 // 3:
        start = changed.start - room // 3
    pieces: list[Piece] = [(f"{sign} ", ground), (indent, ground)]
    if start:
        pieces.append(("…", f"muted {ground}"))
    at, used = 0, 1 if start else 0
    origin: Origin | None = None
    for piece in line.pieces:
        end = at + len(piece.text)
        name = display_kind(piece).value if sign != " " else "muted"
        if name != "glue" and origin is None:
            origin = piece.origin
        cuts = {max(at, start), end}
        if changed is not None:
            cuts |= {cut for cut in (changed.start, changed.stop) if at < cut < end}
        edges = sorted(edge for edge in cuts if max(at, start) <= edge <= end)
        for low, high in pairwise(edges):
            high = min(high, low + room)
            text = sanitize(piece.text[low - at : high - at], "exact")
            part = changed is not None and changed.start <= low < changed.stop
            pieces.append((text, f"{name} {ground}{'-part' if part and ground else ''}".strip()))
            used += cell_len(text)
        at = end
        if used > room:
            break
    action = unfold if length > room else ""
    if used > room:
        while used - cell_len(pieces[-1][0]) >= room:
            used -= cell_len(pieces.pop()[0])
        text, style = pieces.pop()
        pieces.append((cut(text, room - used + cell_len(text)), style))
        hint = "Enter shows the whole line."
    else:
        pieces.append((" " * (room - used), ground))
        hint = ""
    return ViewRow(tuple(pieces), origin, action, hint)
