"""The cases of the session's preset, each with its reply to the edited and to the saved preset.

1. After an edit, only cells whose request changed have no result (see `case_results`), and only
   those are sent. A run is stored whole, with the results that it did not need to send.
2. A case is sent once for each variant; repeats and further variants are the command line's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from tui_chat.errors import InputError, TuiChatError
from tui_chat.lazy_dataclass import dataclass
from tui_chat.plugins.prompt_lab.costs import Estimate, RunBudget, estimate
from tui_chat.plugins.prompt_lab.grades import (
    CaseResults,
    are_equal,
    grade_of,
    graded_cases,
    judges_of,
    may_succeed,
)
from tui_chat.plugins.prompt_lab.plan import plan
from tui_chat.plugins.prompt_lab.report import PairCounts, compare
from tui_chat.plugins.prompt_lab.results import LabStore
from tui_chat.plugins.prompt_lab.runner import Runner
from tui_chat.plugins.prompt_lab.suites import read_suite, sample_suite, suite_file
from tui_chat.plugins.prompt_lab.values import (
    EDITED,
    ENDED,
    SAVED,
    Case,
    Cell,
    Plan,
    Run,
    Suite,
    Variant,
)

if TYPE_CHECKING:
    from pathlib import Path

    from tui_chat.library.editing.edits import EditHistory
    from tui_chat.workspace.workspace import Workspace

_LISTS: WeakKeyDictionary[Workspace, CaseList] = WeakKeyDictionary()


async def load_cases(workspace: Workspace) -> CaseList:
    """Return the cases of the session's preset, as the preset, its file and its suite are now."""
    cases = _LISTS.get(workspace)
    if cases is None or cases.preset_name != workspace.state.preset_name:
        earlier, cases = cases, CaseList(workspace, workspace.state.preset_name)
        _LISTS[workspace] = cases  # before anything is awaited, so that all have the same one
        if earlier is not None:
            await earlier.stop()
    await cases.follow()
    return cases


@dataclass(frozen=True, slots=True)
class CaseRow:
    """A case with its cells, which have their results if they are known."""

    case: Case
    cells: tuple[Cell, ...]
    """By variant: of the edited preset and of the saved one, or of that alone; empty if the case is
    for another protocol.
    """

    @property
    def pair(self) -> tuple[Cell, Cell] | None:
        """Both replies, the edited one first; None if they are not both there without an error."""
        if len(self.cells) < 2 or not all(map(_is_reply, self.cells)):
            return None
        return self.cells[0], self.cells[1]

    @property
    def differs(self) -> bool:
        """True if the replies or their grades differ."""
        pair = self.pair
        return pair is not None and (not are_equal(pair) or pair[0].status != pair[1].status)


def _is_reply(cell: Cell) -> bool:
    return cell.reply is not None and not cell.reply.error


class CaseList:
    """Cases, variants, and the results so far."""

    def __init__(self, workspace: Workspace, preset_name: str) -> None:
        self._workspace = workspace
        self.lab: LabStore
        """Opened when the cases are first read."""
        self.preset_name = preset_name
        self.suite = Suite(preset_name)
        self.plan = Plan(self.suite, (), ())
        self._rows: tuple[CaseRow, ...] | None = ()
        """None if they are to be looked up."""
        self.estimate = Estimate(0, 0)
        """Of what is sent next."""
        self.run: Run | None = None
        """The last run."""
        self.fault: TuiChatError | None = None
        """What keeps the suite from being read."""
        self.version = 0
        """Counts the changes of what is shown."""
        self.on_change: Callable[[], None] = lambda: None
        self._results = CaseResults()
        self._accepted: dict[tuple[str, str], str] = {}
        """The grades of the accepted variant, by request and case."""
        self._key: object = None
        """The suite and the variants of the plan."""
        self._stored: object = None
        """The plan and the cases of the last run."""
        self._following = asyncio.Lock()
        self._is_recalled = False
        self._stamp: tuple[int, int] | None = None
        self._sending: asyncio.Task[None] | None = None

    @property
    def _read_file(self) -> Path:
        """The file that is read: a preset that comes with the program may bring a suite."""
        sample = sample_suite(self.preset_name)
        return sample if not self.file.exists() and sample.exists() else self.file

    @property
    def file(self) -> Path:
        """The file of the user's own suite, which need not exist."""
        return suite_file(self._workspace.state.config.config_dir, self.preset_name)

    @property
    def variants(self) -> tuple[Variant, ...]:
        """The edited and the saved preset, or the saved one alone."""
        return self.plan.variants

    @property
    def _edits(self) -> EditHistory:
        edits = self._workspace.state.preset_edits
        if edits is None:
            raise InputError(f"The file of the preset “{self.preset_name}” has faults.")
        return edits

    # --- what there is -------------------------------------------------------------------

    async def _recall(self) -> None:
        """Take over the results of the suite's last run and of its baseline."""
        self.lab = await LabStore.open(self._workspace.store)
        last, *others = await self.lab.runs(str(self._read_file)) or (None,)
        for run in (*(run for run in others if run and run.accepted), last):
            if run is None:
                continue
            suite = await self.lab.suite(run)
            cases = graded_cases(suite)
            async for cell in self.lab.cells(run, *ENDED):
                self._results.add(cell, cases[cell.case])
                if run.accepted and run.accepted_variant in ("", cell.variant):
                    self._accepted[cell.request, cell.case] = grade_of(cell)
            self.run, self._stored = run, (run.plan_sha, suite.cases)
        self._is_recalled = True

    async def is_current(self) -> bool:
        """Follow, and return False if that planned anew or the suite cannot be read."""
        planned = self.plan
        await self.follow()
        return self.fault is None and self.plan is planned

    async def reread(self) -> None:
        """Read the suite again, and plan anew if something changed."""
        self._stamp = None
        await self.follow()

    async def follow(self) -> None:
        """Read the suite if its file changed, and plan anew if cases or variants changed. If that
        is canceled, the next call does it. Raises StoreError if earlier runs cannot be read.
        """
        async with self._following:
            if not self._is_recalled:
                await self._recall()
            fault = None
            try:
                await self._follow()
            except TuiChatError as error:
                fault, self._stamp = error, None
            if (fault and str(fault)) != (self.fault and str(self.fault)):
                self.fault = fault
                self._changed()

    async def _follow(self) -> None:
        stamp = _stamp(self._read_file)
        if stamp is None or stamp != self._stamp:
            suite = Suite(self.preset_name, str(self._read_file))
            if stamp is not None:
                suite = await asyncio.to_thread(read_suite, self._read_file)
            self.suite, self._stamp = suite, stamp
        state, edits = self._workspace.state, self._edits
        judges_of(self.suite, state.config)
        saved = Variant(SAVED, edits.saved, state.endpoint, state.effective_model, state.settings)
        edited = replace(saved, name=EDITED, preset=edits.preset)
        variants = (edited, saved) if edits.is_changed else (saved,)
        if self._key == (self.suite, variants):
            return
        planned = await asyncio.to_thread(plan, self.suite, variants, repeat=1)
        # To check many replies again takes a while; the grades are kept.
        await asyncio.to_thread(self._results.of, planned, graded_cases(self.suite))
        self.plan, self._rows = planned, None
        await self._estimate()
        self._key = self.suite, variants
        self._changed()

    @property
    def rows(self) -> tuple[CaseRow, ...]:
        """The cases, with the results that their cells have."""
        if self._rows is None:
            cells: dict[str, list[Cell]] = {}
            for cell in self._results.of(self.plan, graded_cases(self.suite)):
                cells.setdefault(cell.case, []).append(cell)
            for own in cells.values():
                own.sort(key=lambda cell: cell.variant)  # “edited” is before “saved”
            self._rows = tuple(
                CaseRow(case, tuple(cells.get(case.key, ()))) for case in self.suite.cases
            )
        return self._rows

    async def _estimate(self) -> None:
        known, now = await self._workspace.usage.prices(), self._workspace.now()
        config = self._workspace.state.config
        self.estimate = estimate(self.plan, self.to_send, config, known, now)

    @property
    def cells(self) -> tuple[Cell, ...]:
        """All cells."""
        return tuple(cell for row in self.rows for cell in row.cells)

    @property
    def missing(self) -> tuple[Cell, ...]:
        """The cells without a result."""
        return tuple(cell for cell in self.cells if not cell.is_ended)

    @property
    def to_send(self) -> tuple[Cell, ...]:
        """The cells that are sent next: those without a result, or if all have one those with an
        error that may not come again.
        """
        return self.missing or tuple(filter(may_succeed, self.cells))

    # --- sending -------------------------------------------------------------------------

    @property
    def is_sending(self) -> bool:
        """True while requests are sent."""
        return self._sending is not None and not self._sending.done()

    def send(self) -> None:
        """Send the cells without a result, or those that had errors again."""
        if not self.is_sending and (cells := self.to_send):
            for cell in cells:
                if cell.is_ended:
                    self._results.remove_errors(cell)
            self._rows = None
            self._sending = asyncio.create_task(self._send())
            self._changed()

    async def stop(self) -> None:
        """Stop sending; what has ended stays."""
        if self._sending is not None:
            self._sending.cancel()
            await asyncio.gather(self._sending, return_exceptions=True)

    async def _send(self) -> None:
        workspace, cases = self._workspace, graded_cases(self.suite)

        def take(cell: Cell) -> None:
            """Show a cell whose request left, or which has ended: its run graded it."""
            if cell.is_ended:
                self._results.add(cell, cases[cell.case])
                self._changed()

        with workspace.reporting():
            run = await self._store_run()
            runner = Runner(
                self.lab,
                run,
                config=workspace.state.config,
                client=workspace.client,
                prices=await workspace.usage.prices(),
                budget=RunBudget(None),
                on_cell=take,
            )
            try:
                await runner.send()
                await self.lab.prune(run.source)
            finally:
                await self._estimate()
                self._changed()

    async def _store_run(self) -> Run:
        """Store the plan as a run, with the results that it need not ask for."""
        workspace, lab, planned = self._workspace, self.lab, self.plan
        now = workspace.now().timestamp()
        run = self.run = await lab.add(planned, workspace.core.new_id(), now)
        self._stored = planned.sha256, planned.suite.cases
        for cell in self._results.of(planned, graded_cases(planned.suite)):
            if cell.is_ended:
                await lab.finish(run, cell, is_paid=False)
        return run

    @property
    def comparison(self) -> PairCounts:
        """How often the edited preset is better than the saved one, by the checks of the cases."""
        passed: dict[str, dict[str, bool]] = {EDITED: {}, SAVED: {}}
        for row in self.rows:
            for cell in row.cells if row.case.has_checks else ():
                if cell.status in ("passed", "failed"):
                    passed[cell.variant][row.case.key] = cell.status == "passed"
        return compare(passed[SAVED], passed[EDITED])

    # --- keeping -------------------------------------------------------------------------

    @property
    def _own(self) -> list[Cell]:
        """Return the cells of the variant that would be accepted: the edited preset, if it is."""
        return [row.cells[0] for row in self.rows if row.cells]

    @property
    def is_saved(self) -> bool:
        """True if the preset is as it is saved."""
        return len(self.variants) == 1

    @property
    def can_be_baseline(self) -> bool:
        """True if all that is planned was sent, and no reply to the variant is an error."""
        return not self.missing and all(map(_is_reply, self._own))

    @property
    def is_baseline(self) -> bool:
        """True if the baseline has the grades of the variant."""
        own = self._own
        grades = (self._accepted.get((cell.request, cell.case)) for cell in own)
        return bool(own) and [*grades] == [*map(grade_of, own)]

    async def accept(self) -> bool:
        """Save the edited preset, and make its results the baseline. Return False, with the fault
        reported, if it could not be saved.
        """
        variant, own, edits = self.variants[0], self._own, self._edits
        run = await self._whole_run() if self.can_be_baseline else None
        if edits.is_changed and await self._workspace.presets.save() is None:
            return False
        if run is not None:
            await self.lab.accept(run, variant)
            self._accepted = {(cell.request, cell.case): grade_of(cell) for cell in own}
        await self.follow()
        self._changed()
        return True

    async def _whole_run(self) -> Run:
        """Return a run with the plan and its results, which all are there: the last one, or a new
        one if the checks or the variants changed since.
        """
        if self.run is None or self._stored != (self.plan.sha256, self.suite.cases):
            run = await self._store_run()
            await self.lab.end(run, "complete", self._workspace.now().timestamp())
            await self.lab.prune(run.source)
            return run
        return self.run

    def _changed(self) -> None:
        self.version += 1
        self._rows = None
        self.on_change()


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size
