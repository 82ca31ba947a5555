"""Cases: the cases of the session's preset, the edited preset beside the saved one.

The plan with its price is the first row, and Enter there sends it. Below are a row for each case,
and the replies of the case under the cursor.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, ClassVar, cast

from textual.binding import BindingType
from textual.timer import Timer

from tui_chat.models.common_prefix import common_prefix
from tui_chat.models.sanitize import one_line
from tui_chat.models.usage import short_number
from tui_chat.plugins.prompt_lab.case_list import CaseList, CaseRow
from tui_chat.plugins.prompt_lab.costs import Estimate
from tui_chat.plugins.prompt_lab.grades import grade_of
from tui_chat.plugins.prompt_lab.plan import request_of
from tui_chat.plugins.prompt_lab.values import Cell, CellReply, Plan
from tui_chat.ui.inspector.row_wrapping import counted, cut
from tui_chat.ui.inspector.rows_view import (
    BLANK,
    Part,
    Piece,
    RowsView,
    ViewRow,
    line,
    styled,
    text_rows,
)
from tui_chat.ui.inspector.views import PAYLOAD, InspectorState
from tui_chat.ui.questions import confirm
from tui_chat.ui.widgets.pane_key import pane_key
from tui_chat.ui.widgets.typed_app import app_of
from tui_chat.workspace.state import ViewedRequest

if TYPE_CHECKING:
    from tui_chat.ui.app import TuiChat

SEND, INSPECT = "send", "inspect"
REDRAW = 0.1
"""Seconds between two drawings while replies arrive."""
_PLAN_ROW = 1
_CELL = 14
"""The width of a result."""
_MARKS = {
    "waiting": ("·", "muted"),
    "streaming": ("…", "link"),
    "passed": ("✓", "good"),
    "unchecked": ("–", "muted"),
    "failed": ("✗", "error"),
    "error": ("!", "error"),
    "interrupted": ("·", "warning"),
}


class CasesView(RowsView):
    """Shows the cases of the session's preset."""

    uses = frozenset({"loaded"})
    shows_request = False
    BINDINGS: ClassVar[list[BindingType]] = [
        pane_key(
            "n", "next_difference", "next difference", "Next case whose replies differ", shown=True
        ),
        pane_key("A", "accept", "Accept", "Accept the preset: save it, and set the baseline"),
        pane_key("E", "edit_cases", "$EDITOR", "Edit the file of the cases in $EDITOR"),
        pane_key("x", "stop", "stop", "Stop sending"),
        pane_key("escape", "edit_preset", "preset", "Back to the preset editor", shown=True),
    ]

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.cases: CaseList | None = None
        self._version = -1
        self._plan: Plan | None = None
        """The plan that is shown; the cursor goes to a new one, which Enter sends."""
        self._case = 0
        """The index of the case whose replies are shown."""
        self.first_case_row = 0
        """The row of the first case."""
        self._redraw: Timer | None = None

    def show_state(self, state: InspectorState) -> None:
        cases = state.loaded if isinstance(state.loaded, CaseList) else None
        is_other = cases is not self.cases
        if is_other:
            self._case, self.cursor = 0, _PLAN_ROW
        self.cases = cases
        if cases is not None:
            cases.on_change = self._changed
        if is_other or cases is None or cases.version != self._version or not self._built_for:
            self._draw()

    def forget(self) -> None:
        """Drop the cases."""
        super().forget()
        self.cases = None

    def _changed(self) -> None:
        """Draw what arrived, together with what else arrives soon."""
        if self.is_attached and self._redraw is None:
            self._redraw = self.set_timer(REDRAW, self._draw)

    def _draw(self) -> None:
        self._redraw = None
        if (cases := self.cases) is not None:
            self._version = cases.version
            if cases.plan is not self._plan:
                self._plan = cases.plan
                self.cursor = _PLAN_ROW if cases.missing else self.cursor
        self.rebuild()

    def rebuild(self) -> None:
        """Build the rows again; the cursor stays on its case, whatever is above it."""
        is_on_case = self.first_case_row > 0 and self.cursor == self.first_case_row + self._case
        super().rebuild()
        if is_on_case:
            self.set_cursor(self.first_case_row + self._case)

    def set_cursor(self, row: int) -> None:
        """Put the cursor on a row; of those above the cases only on that of the plan."""
        if row < self.first_case_row and row != _PLAN_ROW:
            row = self.first_case_row if self.cursor == _PLAN_ROW < row else _PLAN_ROW
        super().set_cursor(row)

    @property
    def row_of_case(self) -> CaseRow | None:
        """The case under the cursor, or that was there last."""
        rows = self._shown
        return rows[min(self._case, len(rows) - 1)] if rows else None

    @property
    def _shown(self) -> Sequence[CaseRow]:
        return self.cases.rows if self.cases is not None and self.cases.fault is None else ()

    @property
    def _why_empty(self) -> str:
        if self.cases is not None and self.cases.fault is not None:
            return "The cases cannot be read: E opens their file."
        return "There are no cases yet: + on a reply makes it one."

    # --- rows ----------------------------------------------------------------------------

    def build(self, width: int) -> Iterator[Part]:
        """Lay plan, cases and replies out."""
        cases, self.first_case_row = self.cases, 0
        if cases is None:
            yield text_rows("Reading the cases…", width, "", "muted")
        elif cases.fault is not None:
            words = filter(None, (f"{cases.fault}", f"{cases.fault.advice}"))
            yield text_rows("The cases cannot be read.", width, "", "heading")
            yield text_rows("\n".join(words), width, "", "error")
            yield text_rows("E opens their file. Esc goes to the preset.", width, "", "muted")
        elif not cases.rows:
            words = f"“{cases.preset_name}” has no cases yet. + on a reply makes it one."
            yield text_rows(words, width, "")
            yield text_rows(f"They are kept in {cases.file}.", width, "", "muted")
        else:
            head = [*self._head(cases, width)]
            self.first_case_row = sum(map(len, head))
            yield from head
            yield [
                self._case_row(cases, row, index == self._case, width)
                for index, row in enumerate(cases.rows)
            ]
            yield from self._replies(cases, width)

    def _head(self, cases: CaseList, width: int) -> Iterator[Part]:
        model = cases.variants[0].model_name
        title = f"{counted(len(cases.rows), 'case')} · {model}, as in the session"
        yield line((cut(title, width), "heading"))
        ended = len(cases.cells) - len(cases.missing)
        if cases.is_sending:
            yield line((f"Sending: {ended:,} of {len(cases.cells):,} · x stop", "link"))
        elif cases.to_send:
            again = "" if cases.missing else "again what had an error: "
            words = f"Enter here sends {again}{_plan_words(cases.estimate)}"
            hint = "From empty replies to the longest ones."
            yield text_rows(words, width, "", "link", action=SEND, hint=hint)
        else:
            words = f"All replies are here. {_acceptance(cases)}"
            yield text_rows(words, width, "", "muted", action=SEND)
        if cases.comparison.total:
            yield text_rows(f"edited {cases.comparison.sentence}", width, "", "strong")
        yield BLANK
        names = (variant.name.ljust(_CELL) for variant in cases.variants)
        yield line((" " * self._name_width(cases, width) + "".join(names), "muted"))

    def _name_width(self, cases: CaseList, width: int) -> int:
        longest = max(len(row.case.name) for row in cases.rows) + 4  # the mark and a gap
        return max(min(longest, width - _CELL * len(cases.variants)), _CELL)

    def _case_row(self, cases: CaseList, row: CaseRow, is_here: bool, width: int) -> ViewRow:
        name_width = self._name_width(cases, width)
        name = cut(one_line(row.case.name, 200), name_width - 3)
        pieces: list[Piece] = [(f"{'▸' if is_here else ' '} {name}".ljust(name_width), "")]
        for cell in row.cells:
            mark, color = _MARKS[grade_of(cell)]
            words = _result_words(cell)
            pieces += [(f"{mark} ", color), (cut(words, _CELL - 3).ljust(_CELL - 2), "")]
        return ViewRow(styled(*pieces), action=INSPECT, hint=self._hint(cases, row))

    def _hint(self, cases: CaseList, row: CaseRow) -> str:
        if not row.cells:
            return "This case is for another protocol."
        own, *others = row.cells
        words = [f"{own.variant}: {own.input_tokens:,} tokens of input"]
        words += [f"{own.input_tokens - each.input_tokens:+,} to {each.variant}" for each in others]
        failed = next((verdict for verdict in own.verdicts if not verdict.passed), None)
        words += [failed.reason] if failed else []
        words += [] if row.case.has_checks else [f"no checks: E opens {cases.file.name}"]
        words += [note for _, note in own.notes][:1]
        return f"{', '.join(words)} · Enter show the request"

    def _replies(self, cases: CaseList, width: int) -> Iterator[Part]:
        """Yield the question of the case under the cursor, and its replies."""
        row = self.row_of_case
        if row is None:
            return
        yield BLANK
        yield text_rows(one_line(row.case.name, 300), width, "", "heading")
        yield text_rows(row.case.inputs.draft or "(no question)", width, "  ", "draft")
        same = _same_rows(row.pair, width) if row.pair is not None else 0
        if row.pair is not None:
            words = "They begin where they differ." if same else ""
            words = f"The replies differ. {words}" if row.differs else "The replies are the same."
            yield text_rows(words, width, "", "muted")
        for cell in row.cells:
            if cell.reply is not None:
                yield from _reply(cell.variant, cell, width, same)
                yield from _verdicts(cell, width)

    # --- keys ----------------------------------------------------------------------------

    def cursor_moved(self) -> None:
        """Show the replies of the case under the cursor."""
        super().cursor_moved()
        index = self.cursor - self.first_case_row
        if 0 <= index < len(self._shown) and index != self._case:
            self._case = index
            self.rebuild()

    def choose(self, row: ViewRow) -> bool:
        """Send the plan, or show the request of a case."""
        if self.cases is None:
            return False
        if row.action == SEND:
            self._work(partial(self._send, self.cases))
        elif row.action == INSPECT:
            self._inspect(self.cases)
        return row.action in (SEND, INSPECT)

    async def _send(self, cases: CaseList) -> None:
        if not await self._is_current(cases):
            return
        if cases.to_send:
            cases.send()
        else:
            self.notify("All replies are here: there is nothing to send.")

    async def _is_current(self, cases: CaseList) -> bool:
        """Return True if the cases are as they were seen; else say that they changed."""
        is_current = await cases.is_current()
        if not is_current:
            self.notify("The file of the cases changed: nothing was done. Look again.")
        return is_current

    def _inspect(self, cases: CaseList) -> None:
        row, workspace = self.row_of_case, self._tui.workspace
        if row is None or workspace is None:
            return
        own, *others = cases.variants
        name = f"case “{one_line(row.case.name, 40)}” · {own.name}"
        viewed = ViewedRequest(request_of(row.case, own), name)
        for other in others:
            before = request_of(row.case, other)
            before_name = f"the same case with {other.name}"
            viewed = ViewedRequest(viewed.composed, name, before=before, before_name=before_name)
        workspace.requests.view(viewed)
        self.call_later(self.run_action, f"inspector.show_view('{PAYLOAD}')")

    def action_next_difference(self) -> None:
        """Go to the next case whose replies differ, round the end."""
        cases, rows = self.cases, self._shown
        if cases is None or not rows:
            self.notify(self._why_empty)
            return
        first = self._case + (self.cursor == self.first_case_row + self._case)
        order = [*range(first, len(rows)), *range(first)]
        index = next((index for index in order if rows[index].differs), None)
        if index is None:
            self.notify("No replies differ yet." if cases.missing else "No replies differ.")
        else:
            self.set_cursor(self.first_case_row + index)

    def action_stop(self) -> None:
        """Stop sending; what has arrived stays."""
        if self.cases is not None and self.cases.is_sending:
            self._work(self.cases.stop)
        else:
            self.notify("Nothing is being sent.")

    def action_edit_cases(self) -> None:
        """Edit the file of the cases in the user's editor."""
        if self.cases is not None:
            self._work(partial(self._edit_cases, self.cases))

    async def _edit_cases(self, cases: CaseList) -> None:
        from tui_chat.ui.terminal.external_programs import editor_command, run_in_terminal

        if not cases.file.exists():
            self.notify(f"There is no {cases.file} yet: + on a reply makes it.", markup=False)
            return
        await run_in_terminal(self._tui, (*editor_command(os.environ), str(cases.file)))
        await cases.reread()

    async def action_edit_preset(self) -> None:
        """Go to the preset editor, and leave the request of a case that was shown."""
        workspace = self._tui.workspace
        if workspace is not None and workspace.state.request.viewed is not None:
            workspace.requests.return_to_live()
        await self.run_action("presets.toggle_editor")

    def action_accept(self) -> None:
        """Save the edited preset, and set the baseline."""
        if self.cases is None or not self._shown:
            self.notify(self._why_empty)
        else:
            self._work(partial(self._accept, self.cases))

    async def _accept(self, cases: CaseList) -> None:
        if not await self._is_current(cases):
            return
        compared = cases.comparison
        if compared.worse > compared.better:
            question = f"edited {compared.sentence}. Save it all the same?"
            if not await confirm(self._tui, "Accept the worse preset?", question, yes="Save it"):
                return
        was_saved, is_whole = cases.is_saved, cases.can_be_baseline
        if was_saved and cases.is_baseline:
            self.notify("This is the baseline already.")
        elif was_saved and not is_whole:
            self.notify("A baseline has all replies: the first line sends those that are missing.")
        elif await cases.accept():
            words = "" if was_saved else f"“{cases.preset_name}” is saved. "
            words += "It is the baseline." if is_whole else "No baseline: replies are missing."
            self.notify(words, markup=False)

    def _work(self, work: Callable[[], Awaitable[object]]) -> None:
        """Run what changes the cases."""
        self._tui.run_worker(work, group="cases")

    @property
    def _tui(self) -> TuiChat:
        return cast("TuiChat", app_of(self))


def _acceptance(cases: CaseList) -> str:
    """Return what `A` does, as a sentence."""
    if not cases.is_saved:
        return "A saves the edited preset and sets the baseline."
    if cases.is_baseline:
        return "This is the baseline. Esc goes to the preset, to edit it."
    return "A makes this the baseline."


def _plan_words(plan: Estimate) -> str:
    """Return the size of a plan and its price in a few words."""
    words = f"{counted(plan.cells, 'request')}, {short_number(plan.input_tokens)} tokens · "
    if plan.judgements:
        words += f"{counted(plan.judgements, 'judgement')} · "
    if plan.unknown:
        return f"{words}price unknown"
    return words + (f"${plan.low:.4f} to ${plan.high:.4f}" if plan.high else "free")


def _result_words(cell: Cell) -> str:
    if cell.reply is None:
        return ""
    output, passed = cell.reply.usage.output, sum(verdict.passed for verdict in cell.verdicts)
    words = [] if output is None else [f"{output:,} tok"]
    words += [f"{passed}/{len(cell.verdicts)}"] if cell.verdicts else []
    return " ".join(words)


def _reply_rows(cell: Cell, width: int) -> list[ViewRow]:
    reply = cell.reply or CellReply()
    calls = (f"→ {call.name} {call.arguments}" for call in reply.calls)
    text = "\n".join(filter(None, (reply.text, reply.refusal, *calls)))
    return text_rows(text, width, "  ") if text else []


def _same_rows(pair: tuple[Cell, Cell], width: int) -> int:
    """Return how many rows two replies have alike before the first that differs, without one that
    leads to it; 0 if they are the same.
    """
    one, two = (_reply_rows(cell, width) for cell in pair)
    return 0 if one == two else max(common_prefix(one, two) - 1, 0)


def _reply(title: str, cell: Cell, width: int, same: int = 0) -> Iterator[Part]:
    """Yield a reply without so many rows at its beginning, which another one has too."""
    yield BLANK
    yield line((title, "strong"))
    if cell.reply is not None and cell.reply.error:
        yield text_rows(cell.reply.error, width, "  ", "error")
    if same:
        yield line((cut(f"  ⋯ {counted(same, 'line')} alike", width), "muted"))
    yield _reply_rows(cell, width)[same:]


def _verdicts(cell: Cell, width: int) -> Iterator[Part]:
    if cell.is_unchecked:
        yield text_rows("– no checks", width, "  ", "muted")
    for verdict in cell.verdicts:
        mark, style = _MARKS["passed" if verdict.passed else "failed"]
        words = f"{mark} {verdict.type}: {verdict.reason}"
        yield text_rows(one_line(words, 300), width, "  ", style)
