"""Cases: the cases of the session's preset beside variants of it, in the inspector.

The plan with its price is the first row, and Enter there sends it. Below are a row for each case,
a column for each variant, and the replies of the case under the cursor: two of them, without their
names until they are judged.
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
from tui_chat.plugins.prompt_lab.case_results import are_equal, grade_of
from tui_chat.plugins.prompt_lab.case_table import CaseTable
from tui_chat.plugins.prompt_lab.estimates import Estimate
from tui_chat.plugins.prompt_lab.values import Case, Cell, CellReply, Plan, Variant
from tui_chat.ui.inspector.row_wrapping import counted, cut
from tui_chat.ui.inspector.rows_view import (
    BLANK,
    LaterRow,
    Part,
    Piece,
    RowsView,
    ViewRow,
    line,
    styled,
    text_rows,
)
from tui_chat.ui.inspector.views import DIFF, PAYLOAD, InspectorState
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
_COLUMN = 14
"""The least width of a column."""
_LEAST_NAME = 16
"""The least width of the names of cases."""
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
        pane_key("left", "column(-1)", "variant", "Previous variant"),
        pane_key("right", "column(1)", "variant", "Next variant"),
        pane_key("d", "diff", "Diff", "Difference to the request of the other variant"),
        pane_key(
            "n", "next_difference", "next difference", "Next case whose replies differ", shown=True
        ),
        pane_key("1", "judge(0)", "better", "The first reply is better", shown=True),
        pane_key("2", "judge(1)", "better", "The second reply is better", shown=True),
        pane_key(
            "equals_sign", "judge(2)", "better", "No difference between the replies", shown=True
        ),
        pane_key("M", "add_model", "Model", "Add a column for a model, or remove it", shown=True),
        pane_key("T", "ablate", "Try without", "Try without each message of the preset"),
        pane_key("A", "promote", "Accept", "Accept the variant: save it, and set the baseline"),
        pane_key("E", "edit_cases", "$EDITOR", "Edit the file of the cases in $EDITOR"),
        pane_key("u", "undo", "undo", "Undo the last edit of the preset"),
        pane_key("x", "stop", "stop", "Stop sending"),
        pane_key("escape", "edit_preset", "preset", "Back to the preset editor", shown=True),
    ]

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.table: CaseTable | None = None
        self._version = -1
        self._plan: Plan | None = None
        """The plan that is shown; the cursor goes to a new one, which Enter sends."""
        self._case = 0
        """The index of the case whose replies are shown."""
        self._column = 0
        self._first_row = 0
        """The row of the first case."""
        self._is_on_plan = True
        """True if the cursor was on the plan when the rows were built."""
        self._redraw: Timer | None = None

    def show_state(self, state: InspectorState) -> None:
        table = state.loaded if isinstance(state.loaded, CaseTable) else None
        is_other = table is not self.table
        if is_other:
            self._case = self._column = 0
            self.cursor = _PLAN_ROW
        self.table = table
        if table is not None:
            table.on_change = self._changed
        if is_other or table is None or table.version != self._version or not self._built_for:
            self._draw()

    def forget(self) -> None:
        """Drop the table."""
        super().forget()
        self.table = None

    def _changed(self) -> None:
        """Draw what arrived, together with what else arrives soon."""
        if self.is_attached and self._redraw is None:
            self._redraw = self.set_timer(REDRAW, self._draw)

    def _draw(self) -> None:
        self._redraw = None
        if (table := self.table) is not None:
            self._version = table.version
            if table.plan is not self._plan:
                self._plan = table.plan
                self.cursor = _PLAN_ROW if table.missing else self.cursor
        self.rebuild()

    def rebuild(self) -> None:
        """Build the rows again; the cursor stays on its case, whatever is above it."""
        is_on_case = self._is_on_case
        super().rebuild()
        if is_on_case and self.cursor != self._first_row + self._case:
            self.set_cursor(self._first_row + self._case)

    def set_cursor(self, row: int) -> None:
        """Put the cursor on a row; of those above the cases only on that of the plan."""
        if row < self._first_row and row != _PLAN_ROW:
            is_below = self.cursor == _PLAN_ROW < row
            row = self._first_row if is_below else _PLAN_ROW
        super().set_cursor(row)

    def lines_of(self, row: int) -> tuple[int, int]:
        """Return the lines to be in sight with a row: with the plan also its title."""
        return (0, _PLAN_ROW + 1) if row == _PLAN_ROW else super().lines_of(row)

    @property
    def _is_on_case(self) -> bool:
        return self._first_row > 0 and self.cursor == self._first_row + self._case

    @property
    def case(self) -> Case | None:
        """The case under the cursor, or that was there last."""
        cases = self._shown_cases
        return cases[min(self._case, len(cases) - 1)] if cases else None

    @property
    def _shown_cases(self) -> Sequence[Case]:
        table = self.table
        return table.suite.cases if table is not None and table.fault is None else ()

    @property
    def _why_empty(self) -> str:
        if self.table is not None and self.table.fault is not None:
            return "The cases cannot be read: E opens their file."
        return "There are no cases yet: + on a reply makes it one."

    @property
    def variant(self) -> Variant | None:
        """The variant of the column with the cursor."""
        variants = self.table.variants if self.table is not None else ()
        return variants[min(self._column, len(variants) - 1)] if variants else None

    # --- rows ----------------------------------------------------------------------------

    def build(self, width: int) -> Iterator[Part]:
        """Lay plan, cases and replies out."""
        table = self.table
        self._is_on_plan, self._first_row = self.cursor <= _PLAN_ROW, 0
        if table is None:
            yield text_rows("Reading the cases…", width, "", "muted")
            return
        if table.fault is not None:
            words = ("The cases cannot be read.", f"{table.fault}", f"{table.fault.advice}")
            keys = "E opens their file. Esc goes to the preset."
            yield text_rows(words[0], width, "", "heading")
            yield text_rows("\n".join(filter(None, words[1:])), width, "", "error")
            yield text_rows(keys, width, "", "muted")
            return
        if not table.suite.cases or not table.variants:
            words = f"“{table.preset_name}” has no cases yet. + on a reply makes it one."
            where = f"They are kept in {table.file}."
            yield text_rows(words, width, "")
            yield text_rows(where, width, "", "muted")
            return
        head = [*self._head(table, width)]
        self._first_row = sum(map(len, head))
        yield from head
        yield self._cases(table, width)
        yield from self._replies(table, width)

    def _head(self, table: CaseTable, width: int) -> Iterator[Part]:
        cases, variants = len(table.suite.cases), len(table.variants)
        missing = table.missing
        model = table.variants[0].model_name
        title = f"{counted(cases, 'case')} × {counted(variants, 'variant')} · {model}"
        yield line((cut(f"{title}, as in the session", width), "heading"))
        if table.is_sending:
            ended = len(table.plan.cells) - len(missing)
            left = table.time_left
            time = "" if left is None else f" · {left:,.0f} s left"
            yield line((f"Sending: {ended:,} of {len(table.plan.cells):,}{time} · x stop", "link"))
        elif table.to_send:
            keys = "Enter" if self._is_on_plan else "g Enter"
            again = "" if missing else "again what had an error: "
            words = f"{keys} sends {again}{_plan_words(table.estimate)}"
            hint = f"{model} is the session's model. M adds a column for another one."
            if table.estimate.high:
                hint = "From nothing but cached input to nothing cached and the longest replies."
            yield text_rows(words, width, "", "link", action=SEND, hint=hint)
        else:
            words = f"All replies are here. {self._acceptance(table)}"
            yield text_rows(words, width, "", "muted", action=SEND)
        variant = self.variant
        compared = _compared_words(table, variant) if variant is not None else ""
        effect = table.effect(variant) if variant is not None else ""
        if words := " · ".join(filter(None, (effect, compared))):
            yield text_rows(words, width, "", "strong")
        yield BLANK
        columns, name_width, column_width = self._columns(table, width)
        keys = "  ← →" if variants > 1 else ""
        names: list[Piece] = [(keys.ljust(name_width), "muted")]
        for number in columns:
            style = "strong" if number == self._column else "muted"
            heading = _heading(table.variants[number])
            names.append((cut(heading, column_width - 1).ljust(column_width), style))
        yield line(*names)

    def _acceptance(self, table: CaseTable) -> str:
        """Return what `A` does with the variant under the cursor, as a sentence."""
        variant = self.variant
        if variant is None or not table.is_saved(variant):
            name = "" if variant is None else variant.name
            return f"A saves “{name}” and sets the baseline."
        if table.is_baseline(variant):
            return "This is the baseline. Esc goes to the preset, to edit it."
        return "A makes this the baseline."

    def _columns(self, table: CaseTable, width: int) -> tuple[Sequence[int], int, int]:
        """Return the columns that fit, that of the cursor and the one that it is compared with
        among them, the width of names, and that of a column.
        """
        variants = table.variants
        shown = max(min((width - _LEAST_NAME) // _COLUMN, len(variants)), 1)
        self._column = min(self._column, len(variants) - 1)
        compared = table.reference(variants[self._column]) if shown > 1 else None
        fixed = [number for number, each in enumerate(variants) if each is compared]
        others = [number for number in range(len(variants)) if number not in fixed]
        room = shown - len(fixed)
        first = min(max(others.index(self._column) - room // 2, 0), len(others) - room)
        columns = sorted([*fixed, *others[first : first + room]])
        names = max(len(case.name) for case in table.suite.cases) + 4  # the mark and a gap
        headings = max(len(_heading(variants[number])) for number in columns) + 1
        for_columns = width - max(min(names, width // 2), _LEAST_NAME)
        column = max(min(headings, for_columns // shown), _COLUMN)
        return columns, max(min(names, width - shown * column), _LEAST_NAME), column

    def _cases(self, table: CaseTable, width: int) -> Part:
        columns, name_width, column_width = self._columns(table, width)
        cases, variants = table.suite.cases, table.variants

        def row(index: int) -> ViewRow:
            case = cases[index]
            mark = "▸ " if index == self._case else "  "
            name = cut(one_line(case.name, 200), name_width - 3)
            pieces: list[Piece] = [(f"{mark}{name}".ljust(name_width), "")]
            for number in columns:
                style = "" if number == self._column else "muted"
                pieces += _cell_pieces(table, case, variants[number], style, column_width)
            return ViewRow(styled(*pieces), action=INSPECT, hint=self._hint(table, case))

        return [LaterRow(partial(row, index)) for index in range(len(cases))]

    def _hint(self, table: CaseTable, case: Case) -> str:
        variant = self.variant
        cell = table.cell(case, variant) if variant is not None else None
        if variant is None or cell is None:
            return "This case is for another protocol."
        words = [f"{variant.name}: {cell.input_tokens:,} tokens of input"]
        other = table.reference(variant)
        compared = table.cell(case, other) if other is not None else None
        if other is not None and compared is not None:
            more = cell.input_tokens - compared.input_tokens
            words.append(f"{more:+,} to {other.name}")
        failed = next((verdict for verdict in cell.verdicts if not verdict.passed), None)
        words += [failed.reason] if failed and _is_named(table, case, variant) else []
        words += [] if case.has_checks else [f"no checks: E opens {table.file.name} for “assert”"]
        words += [note for _, note in cell.notes][:1]
        return f"{', '.join(words)} · Enter show the request"

    def _replies(self, table: CaseTable, width: int) -> Iterator[Part]:
        """Yield the question of the case under the cursor, and its replies."""
        case, variant = self.case, self.variant
        if case is None or variant is None:
            return
        yield BLANK
        yield text_rows(one_line(case.name, 300), width, "", "heading")
        yield text_rows(case.inputs.draft or "(no question)", width, "  ", "draft")
        pair = table.pair(case, variant)
        if pair is None:
            cell = table.cell(case, variant)
            if cell is not None and cell.reply is not None:
                yield from _reply(variant.name, cell, width)
                yield from _verdicts(cell, width)
            return
        if are_equal(pair):
            yield text_rows("The replies are the same: nothing to judge.", width, "", "muted")
            own = next(cell for cell in pair if cell.variant == variant.name)
            yield from _reply(" · ".join(sorted(cell.variant for cell in pair)), own, width)
            yield from _verdicts(own, width)
            return
        judged = table.preferred(case, pair)
        same = _same_rows(pair, width) if judged is None else 0
        words = "1 or 2 is better, = no difference: then the names are shown."
        if same:
            words = f"The replies begin where they differ. {words}"
        elif judged is not None:
            words = "Judged." if judged else "Judged: no difference."
        yield text_rows(words, width, "", "muted")
        for number, cell in enumerate(pair, 1):
            title = f"{number}"
            if judged is not None:
                title += f" · {cell.variant}{' · better' if judged == cell.variant else ''}"
            yield from _reply(title, cell, width, same)
            if judged is not None:
                yield from _verdicts(cell, width)

    # --- keys ----------------------------------------------------------------------------

    def cursor_moved(self) -> None:
        """Show the replies of the case under the cursor."""
        super().cursor_moved()
        cases = self._shown_cases
        index = self.cursor - self._first_row
        is_other = 0 <= index < len(cases) and index != self._case
        if is_other:
            self._case = index
        if is_other or self._is_on_plan is not (self.cursor <= _PLAN_ROW):
            self.rebuild()

    def choose(self, row: ViewRow) -> bool:
        """Send the plan, or show the request of a cell."""
        table = self.table
        if table is None:
            return False
        if row.action == SEND:
            self._work(partial(self._send, table))
        elif row.action == INSPECT:
            self._inspect(table)
        return row.action in (SEND, INSPECT)

    async def _send(self, table: CaseTable) -> None:
        if not await self._is_current(table):
            return
        if table.to_send:
            table.send()
        else:
            self.notify("All replies are here: there is nothing to send.")

    async def _is_current(self, table: CaseTable) -> bool:
        """Return True if the table is as it was seen; else say that it changed."""
        is_current = await table.is_current()
        if not is_current:
            self.notify("The file of the cases changed: nothing was done. Look again.")
        return is_current

    def _inspect(self, table: CaseTable, view: str = PAYLOAD) -> None:
        case, variant = self.case, self.variant
        workspace = self._tui.workspace
        if case is None or variant is None or workspace is None:
            return
        other = table.reference(variant)
        before = table.request(case, other) if other is not None else None
        viewed = ViewedRequest(
            table.request(case, variant),
            f"case “{one_line(case.name, 40)}” · {variant.name}",
            before=before,
            before_name=f"the same case with {other.name}" if other is not None else "",
        )
        workspace.live_request.view(viewed)
        self.call_later(self.run_action, f"inspector.show_view('{view}')")

    def action_column(self, step: int) -> None:
        """Go to the next or the previous variant."""
        count = len(self.table.variants) if self.table is not None else 0
        if count:
            self._go_to_column((min(self._column, count - 1) + step) % count)

    def _go_to_column(self, number: int) -> None:
        self._column = number
        self.rebuild()
        self.post_highlighted_again()

    def action_diff(self) -> None:
        """Show the request of the cell beside that of the other variant."""
        if self.case is not None and self.table is not None:
            self._work(partial(self._diff, self.table))
        else:
            self.call_later(self.run_action, f"inspector.show_view('{DIFF}')")

    async def _diff(self, table: CaseTable) -> None:
        if (workspace := self._tui.workspace) is not None:
            await workspace.live_request.compare_with("last")  # not with what was chosen before
        self._inspect(table, DIFF)

    def action_next_difference(self) -> None:
        """Go to the next case whose replies differ and are to be judged, round the end; from the
        plan the shown one is next. If there is none, go to the next one whose replies differ.
        """
        table, variant, cases = self.table, self.variant, self._shown_cases
        if table is None or variant is None or not cases:
            self.notify(self._why_empty)
            return
        first = self._case + self._is_on_case
        order = [*range(first, len(cases)), *range(first)]
        differing = [index for index in order if table.differs(cases[index], variant)]
        pairs = ((index, table.pair(cases[index], variant)) for index in differing)
        to_judge = (index for index, pair in pairs if pair and table.is_open(cases[index], pair))
        index = next(to_judge, None)
        if index is None:
            if differing:
                self.notify("All replies that differ are judged.")
            elif table.missing:
                self.notify("No replies differ yet: the first line sends the plan.")
            else:
                self.notify("No replies differ.")
            index = next(iter(differing), None)
        if index is not None:
            self.set_cursor(self._first_row + index)

    def action_judge(self, choice: int) -> None:
        """Say which of the two replies is better; 2 for neither."""
        table, case, variant = self.table, self.case, self.variant
        pair = table.pair(case, variant) if table and case and variant else None
        if table is None or case is None or pair is None:
            self.notify("Two replies are needed: send the plan first.", severity="warning")
            return
        self.set_cursor(self._first_row + self._case)  # where the judgement is shown
        self._work(partial(table.judge, case, pair, choice if choice < 2 else None))

    def action_add_model(self) -> None:
        """Ask for a model, and add a column for it, or remove the one that it has."""
        self._tui.run_worker(self._add_model, group="dialog", exclusive=True)

    async def _add_model(self) -> None:
        from tui_chat.ui.dialogs.model_choice import ask_model

        app, table = self._tui, self.table
        if app.workspace is not None and table is not None:
            environ = app.inspector.context.environ
            chosen = await ask_model(app, app.workspace, environ, "Add or remove a model's column")
            if chosen is not None:
                await self._change_columns(table, partial(table.add_model, *chosen))

    def action_ablate(self) -> None:
        """Add a column without each message of the preset, or remove these."""
        if self.table is not None:
            self._work(partial(self._change_columns, self.table, self.table.ablate))

    async def _change_columns(
        self, table: CaseTable, change: Callable[[], Awaitable[None]]
    ) -> None:
        """Change the columns, and go to the first new one."""
        before = {variant.name for variant in table.variants}
        await change()
        names = [variant.name for variant in table.variants]
        new = next((number for number, name in enumerate(names) if name not in before), None)
        if new is not None:
            self._go_to_column(new)

    def action_undo(self) -> None:
        """Undo the last edit of the preset, as in its editor."""
        workspace = self._tui.workspace
        edits = workspace.state.preset_edits if workspace is not None else None
        if workspace is None or edits is None or not edits.past:
            self.notify("Nothing to undo.")
            return
        workspace.presets.edit(workspace.state.preset_name, edits.undo())
        self.notify(f"Undone: {edits.past[-1].label}.", markup=False)

    def action_stop(self) -> None:
        """Stop sending; what has arrived stays."""
        if self.table is not None and self.table.is_sending:
            self._work(self.table.stop)
        else:
            self.notify("Nothing is being sent.")

    def action_edit_cases(self) -> None:
        """Edit the file of the cases in the user's editor."""
        if self.table is not None:
            self._work(partial(self._edit_cases, self.table))

    async def _edit_cases(self, table: CaseTable) -> None:
        from tui_chat.ui.terminal.external_programs import editor_command, run_in_terminal

        if not table.file.exists():
            self.notify(f"There is no {table.file} yet: + on a reply makes it.", markup=False)
            return
        await run_in_terminal(self._tui, (*editor_command(os.environ), str(table.file)))
        await table.reread()

    async def action_edit_preset(self) -> None:
        """Go to the preset editor, and leave the request of a cell that was shown."""
        workspace = self._tui.workspace
        if workspace is not None and workspace.state.request.viewed is not None:
            workspace.live_request.return_to_live()
        await self.run_action("presets.toggle_editor")

    def action_promote(self) -> None:
        """Save the variant under the cursor as the preset, and set the baseline."""
        if self.case is None or self.variant is None or self.table is None:
            self.notify(self._why_empty)
        else:
            self._work(partial(self._promote, self.table, self.variant))

    async def _promote(self, table: CaseTable, variant: Variant) -> None:
        if not await self._is_current(table):
            return
        compared = table.comparison(variant)
        if compared.worse > compared.better:
            question = f"{_compared_words(table, variant)}. Save it all the same?"
            if not await confirm(self._tui, "Accept the worse variant?", question, yes="Save it"):
                return
        was_saved, is_whole = table.is_saved(variant), table.can_be_baseline(variant)
        if was_saved and table.is_baseline(variant):
            self.notify("This is the baseline already.")
        elif was_saved and not is_whole:
            self.notify("A baseline has all replies: the first line sends those that are missing.")
        elif await table.promote(variant):
            words = "" if was_saved else f"“{variant.name}” is saved as “{table.preset_name}”. "
            words += "It is the baseline." if is_whole else "No baseline: replies are missing."
            undo = "" if was_saved else " u undoes its last edit."
            self.notify(f"{words}{undo}", markup=False)

    def _work(self, work: Callable[[], Awaitable[object]]) -> None:
        """Run what changes the table."""
        self._tui.run_worker(work, group="cases")

    @property
    def _tui(self) -> TuiChat:
        return cast("TuiChat", app_of(self))


def _compared_words(table: CaseTable, variant: Variant) -> str:
    """Return how a variant compares, as a sentence; empty if nothing tells it apart."""
    compared = table.comparison(variant)
    return f"{variant.name} {compared.sentence}" if compared.total else ""


def _plan_words(plan: Estimate) -> str:
    """Return the size of a plan and its price in a few words."""
    words = f"{counted(plan.cells, 'request')}, {short_number(plan.input_tokens)} tokens · "
    if plan.judgements:
        words += f"{counted(plan.judgements, 'judgement')} · "
    if plan.unknown:
        return f"{words}price unknown"
    return words + (f"${plan.low:.4f} to ${plan.high:.4f}" if plan.high else "free")


def _heading(variant: Variant) -> str:
    _, without, message = variant.name.partition(" without ")
    return f"no {message}" if without else variant.name


def _cell_pieces(
    table: CaseTable, case: Case, variant: Variant, style: str, width: int
) -> Iterator[Piece]:
    cell = table.cell(case, variant)
    if cell is None:
        yield " " * width, ""
        return
    words: list[str] = []
    status = grade_of(cell)
    if len(table.repeats(case, variant)) > 1:
        group = table.group(case, variant)
        status = "unchecked" if group.is_unchecked else group.status
        words += [f"{group.passed:,} of {group.total:,}"]
    elif cell.reply is not None:
        output = cell.reply.usage.output if _is_named(table, case, variant) else None
        words += [f"{output:,} tok"] if output is not None else []
        passed = sum(verdict.passed for verdict in cell.verdicts)
        words += [f"{passed}/{len(cell.verdicts)}"] if cell.verdicts else []
    mark, color = _MARKS[status]
    yield f"{mark} ", color
    yield cut(" ".join(words), width - 3).ljust(width - 2), style


def _is_named(table: CaseTable, case: Case, variant: Variant) -> bool:
    """Return False if the name of a reply is hidden until it is judged."""
    pair = table.pair(case, variant)
    return pair is None or not table.is_open(case, pair)


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
