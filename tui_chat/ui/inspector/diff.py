"""The diff view: a request beside another one, line by line of the laid-out bodies.

It is compared in a thread, after a pause in typing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from functools import partial

from tui_chat.analysis.diff import Difference, DiffRun, changed_part, diff_payloads
from tui_chat.models.payload import Payload, PrettyLine
from tui_chat.models.text import OriginKind
from tui_chat.ui.inspector.row_wrapping import counted
from tui_chat.ui.inspector.rows_view import (
    LaterRow,
    Part,
    RowsView,
    ViewRow,
    line,
    spread,
    styled,
    text_rows,
    wrapped,
)
from tui_chat.ui.inspector.views import InspectorState

CHOOSE = "inspector.compare"
"""The action that chooses what to compare with."""
PAUSE = 0.1
"""Seconds without a keystroke after which the requests are compared."""
_LONGEST = 20_000
"""Characters of a line that wraps."""
_GROUNDS = {"-": "gone", "+": "new"}


class DiffView(RowsView):
    """Shows the difference of a request from another one."""

    uses = frozenset({"baseline"})
    choice = CHOOSE
    """The action of the first row; empty where nothing else can be chosen."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._difference: Difference | None = None

    @property
    def against(self) -> Payload | None:
        """The body to compare with."""
        return self.state.baseline.payload

    @property
    def _bodies(self) -> tuple[Payload | None, Payload | None]:
        return self.against, self.state.composed.payload if self.state.composed else None

    def show_state(self, state: InspectorState) -> None:
        before, base = self._bodies, self.state.baseline
        self.state = state
        if self._bodies == before and state.baseline == base:
            return
        if self.against is not before[0]:
            self._difference = None
        self._compare()

    def forget(self) -> None:
        super().forget()
        self._difference = None

    def _compare(self) -> None:
        was, now = self._bodies
        if was is None or now is None:
            self._difference = None
            self.rebuild()
        else:
            self.run_worker(partial(self._compare_bodies, was, now), group="diff", exclusive=True)

    async def _compare_bodies(self, was: Payload, now: Payload) -> None:
        await asyncio.sleep(PAUSE)
        difference = await asyncio.to_thread(diff_payloads, was, now)
        if (was, now) == self._bodies:
            self._difference = difference
            self.rebuild()

    def build(self, width: int) -> Iterator[Part]:
        difference, base = self._difference, self.state.baseline
        summary = "" if difference is None else f"-{difference.gone:,} +{difference.new:,}"
        if difference is not None and difference.is_none:
            summary = "the same"
        head = ("against ", "muted"), (base.name or "nothing yet", "link")
        hint = "Enter compares with something else." if self.choice else ""
        yield line(spread(width, head, summary), action=self.choice, hint=hint)
        if difference is None:
            yield text_rows(base.reason or "Comparing…", width, "", "muted")
            return
        for run in difference.folded():
            if run.is_folded:
                yield line((f"  ⋯ {counted(len(run.now), 'equal line')}", "bar"))
            elif run.same:
                yield _rows(difference.now, run.now, " ", width)
            else:
                yield from _changed(difference, run, width)


def _rows(payload: Payload, numbers: range, sign: str, width: int) -> Part:
    """Return lines of one body, a row each."""

    def row(number: int) -> ViewRow:
        return _wrapped(payload.lines[number], sign, None, width * 2)[0]

    return [LaterRow(partial(row, number)) for number in numbers]


def _changed(difference: Difference, run: DiffRun, width: int) -> Iterator[Part]:
    """Yield lines of one body, then those of the other; what changed in a line is marked."""
    was = [difference.was.lines[number] for number in run.was]
    now = [difference.now.lines[number] for number in run.now]
    parts: list[tuple[range | None, range | None]] = [(None, None)] * max(len(was), len(now))
    if len(was) == len(now):
        pairs = zip(was, now, strict=True)
        parts = [changed_part(_plain(one), _plain(other)) for one, other in pairs]
    for one, (part, _) in zip(was, parts, strict=False):
        yield _wrapped(one, "-", part, width)
    for other, (_, part) in zip(now, parts, strict=False):
        yield _wrapped(other, "+", part, width)


def _plain(line: PrettyLine) -> str:
    return "".join(piece.text for piece in line.pieces)


def _wrapped(line: PrettyLine, sign: str, part: range | None, width: int) -> list[ViewRow]:
    """Return the rows of a line, on the ground of its body, with a part marked."""
    ground, text = _GROUNDS.get(sign, "muted"), _plain(line)[:_LONGEST]
    lead = f"{sign} {'  ' * min(line.indent, 4)}"
    start, stop = (part.start, part.stop) if part is not None else (len(text), len(text))
    content = styled(
        (text[:start], ground), (text[start:stop], f"{ground}-part"), (text[stop:], ground)
    )
    origins = (p.origin for p in line.pieces if p.origin.kind is not OriginKind.GLUE)
    origin = next(origins, None)
    return [
        ViewRow(styled((lead, ground), row), origin) for row in wrapped(content, width - len(lead))
    ]
