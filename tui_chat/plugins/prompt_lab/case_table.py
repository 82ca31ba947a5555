"""The cases of the session's preset as a table: rows are cases, columns are variants.

1. After an edit, only cells whose request changed have no result (see `case_results`), and only
   those are sent. A run is stored whole, with the results that it did not need to send.
2. Which of two replies is the first one to judge follows from case and variants, and has nothing to
   do with the order of the columns.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from hashlib import sha256
from itertools import chain
from time import monotonic
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from tui_chat.errors import InputError, TuiChatError
from tui_chat.plugins.prompt_lab.budget import RunBudget
from tui_chat.plugins.prompt_lab.case_columns import (
    added_models,
    columns_of,
    is_without,
    reference_of,
    suite_columns,
)
from tui_chat.plugins.prompt_lab.case_results import (
    CaseResults,
    are_equal,
    grade_of,
    graded_cases,
    may_succeed,
    result_at,
    sent_by,
)
from tui_chat.plugins.prompt_lab.comparison import PairCounts
from tui_chat.plugins.prompt_lab.estimates import Estimate, estimate
from tui_chat.plugins.prompt_lab.judge import judges_of
from tui_chat.plugins.prompt_lab.plan import plan, request_of
from tui_chat.plugins.prompt_lab.results import LabStore
from tui_chat.plugins.prompt_lab.runner import Runner
from tui_chat.plugins.prompt_lab.suites import read_suite, sample_suite, suite_file
from tui_chat.plugins.prompt_lab.values import (
    ENDED,
    Case,
    Cell,
    CellReply,
    Group,
    Plan,
    Preference,
    Run,
    Suite,
    Variant,
)
from tui_chat.plugins.prompt_lab.verdicts import questions

if TYPE_CHECKING:
    from pathlib import Path

    from tui_chat.compose import Composed
    from tui_chat.models.preset import Preset
    from tui_chat.workspace.workspace import Workspace

_TABLES: WeakKeyDictionary[Workspace, CaseTable] = WeakKeyDictionary()


async def load_table(workspace: Workspace) -> CaseTable:
    """Return the table of the session's preset, as the preset, its file and its suite are now."""
    table = _TABLES.get(workspace)
    if table is None or table.preset_name != workspace.state.preset_name:
        earlier, table = table, CaseTable(workspace, workspace.state.preset_name)
        _TABLES[workspace] = table  # before anything is awaited, so that all have the same one
        if earlier is not None:
            await earlier.stop()
    await table.follow()
    return table


class CaseTable:
    """Cases, variants, and the results so far."""

    def __init__(self, workspace: Workspace, preset_name: str) -> None:
        self._workspace = workspace
        self.lab: LabStore
        """Opened when the table is first read."""
        self.preset_name = preset_name
        self.suite = Suite(preset_name)
        self.variants: tuple[Variant, ...] = ()
        self.plan = Plan(self.suite, (), ())
        self.estimate = Estimate(0, 0, 0)
        """Of the cells without a result."""
        self.run: Run | None = None
        """The last run."""
        self.preferences: dict[tuple[str, str, str], str] = {}
        """The preferred request by case and both requests, sorted; empty for none."""
        self.fault: TuiChatError | None = None
        """What keeps the suite from being read."""
        self.version = 0
        """Counts the changes of what is shown."""
        self.on_change: Callable[[], None] = lambda: None
        self._models: tuple[tuple[str, str], ...] = ()
        self._earlier: tuple[Variant, ...] = ()
        """The columns of the last run, until those of models are taken from it."""
        self._is_ablated = False
        self._before: Preset | None = None
        """What was saved before a variant was accepted, until the next edit."""
        self._results = CaseResults()
        self._accepted: dict[tuple[str, int, str], str] = {}
        """The grades of the accepted variant, by request, repeat and case."""
        self._key: object = None
        """The suite and the variants of the plan."""
        self._following = asyncio.Lock()
        self._is_recalled = False
        self._stamp: tuple[int, int] | None = None
        self._sending: asyncio.Task[None] | None = None
        self._begun = 0.0
        """When sending began, in seconds of a monotonic clock."""
        self._ended_at_start = 0
        self._cases: dict[str, Case] = {}
        """The cases of the plan by their keys, as replies are graded."""
        self._cells: dict[tuple[str, str], list[Cell]] = {}
        """The cells by case and variant, with the results that they have: the repeats."""
        self._same: dict[tuple[str, int], list[Cell]] = {}
        """The planned cells by what they send."""
        self._stored: tuple[str, tuple[Case, ...]] = "", ()
        """What the last run has: the SHA-256 of its plan, and its cases."""
        self._sent: dict[tuple[str, str], str] = {}
        """The variants of the last run by case and request."""
        self._to_send: tuple[Cell, ...] | None = None
        """The cells that are sent next; None if they are to be looked up."""
        self._comparisons: dict[str, PairCounts] = {}
        """What was counted since the last change, by variant."""
        self._baselines: dict[str, bool] = {}
        """The variants that were compared with the baseline since the last change."""

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
    def _faulty_preset(self) -> InputError:
        return InputError(f"The file of the preset “{self.preset_name}” has faults.")

    # --- what there is -------------------------------------------------------------------

    async def _recall_runs(self) -> None:
        """Take over the results and judgements of the suite's last run and of its baseline."""
        self.lab = await LabStore.open(self._workspace.store)
        last, *others = await self.lab.runs(str(self._read_file)) or (None,)
        for run in (*(run for run in others if run and run.accepted), last):
            if run is not None:
                await self._recall(run)
        self._earlier = await self.lab.variants(last) if last is not None else ()
        self._is_recalled = True

    async def _recall(self, run: Run) -> None:
        suite = await self.lab.suite(run)
        cases = graded_cases(suite)
        self.run, self._sent, self._stored = run, {}, (run.plan_sha, suite.cases)
        async for cell in self.lab.cells(run, *ENDED):
            self._results.add(cell, cases[cell.case])
            self._sent[cell.case, cell.request] = cell.variant
            if run.accepted and run.accepted_variant in ("", cell.variant):
                self._accepted[(*sent_by(cell), cell.case)] = grade_of(cell)
        requests = {(case, name): request for (case, request), name in self._sent.items()}
        for stored in await self.lab.preferences(run):
            one, two = (requests.get((stored.case, n)) for n in (stored.first, stored.second))
            preferred = requests.get((stored.case, stored.preferred), "")
            if one and two:
                self.preferences[_pair_key(stored.case, one, two)] = preferred

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
                await self._recall_runs()
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
        state = self._workspace.state
        judges_of(self.suite, state.config)
        named = await suite_columns(self.suite, self._workspace)
        if self._earlier:
            self._models = added_models(self._earlier, named, state.config)
            self._earlier = ()
        if state.preset_edits is None:
            raise self._faulty_preset
        if state.preset_edits.is_changed:
            self._before = None
        variants = columns_of(
            state,
            state.preset_edits,
            named,
            before=self._before,
            models=self._models,
            is_ablated=self._is_ablated,
        )
        if self._key == (self.suite, variants):
            return
        planned = await asyncio.to_thread(plan, self.suite, variants)
        cases = graded_cases(self.suite)
        # To check many replies again takes a while; the grades are kept.
        await asyncio.to_thread(self._results.of, planned, cases)
        self.variants, self.plan, self._cases = variants, planned, cases
        self._arrange()
        self.estimate = await self._estimate(self.to_send)
        self._key = self.suite, variants
        self._changed()

    def _arrange(self) -> None:
        """Look the results of the planned cells up."""
        self._cells, self._same = {}, {}
        for cell in self._results.of(self.plan, self._cases):
            self._same.setdefault(sent_by(cell), []).append(cell)
            self._cells.setdefault((cell.case, cell.variant), []).append(cell)
        self._changed()

    async def _estimate(self, cells: Sequence[Cell]) -> Estimate:
        planned, sent = self.plan, {_exchange_key(cell, self._cases): cell for cell in cells}
        known, now = await self._workspace.usage.prices(), self._workspace.now()
        return estimate(planned, sent.values(), self._workspace.state.config, known, now)

    @property
    def missing(self) -> tuple[Cell, ...]:
        """The cells without a result."""
        return tuple(cell for cell in self.to_send if not cell.is_ended)

    @property
    def to_send(self) -> tuple[Cell, ...]:
        """The cells that are sent next: those without a result, or if all have one those with an
        error that may not come again.
        """
        if self._to_send is None:
            cells = tuple(chain.from_iterable(self._cells.values()))
            missing = tuple(cell for cell in cells if not cell.is_ended)
            self._to_send = missing or tuple(filter(may_succeed, cells))
        return self._to_send

    def cell(self, case: Case, variant: Variant) -> Cell | None:
        """Return the first cell with its result, if it has one; None if the case is not for the
        variant.
        """
        return next(iter(self.repeats(case, variant)), None)

    def repeats(self, case: Case, variant: Variant) -> Sequence[Cell]:
        """Return the cells of a case with a variant, with the results that they have."""
        return self._cells.get((case.key, variant.name), ())

    def group(self, case: Case, variant: Variant) -> Group:
        """Return the repeats of a case with a variant, counted."""
        cells = self.repeats(case, variant)
        counts = Counter(cell.status for cell in cells)
        ended = counts["passed"], counts["failed"], counts["error"]
        is_open = counts.total() - sum(ended)
        rate = case.pass_rate
        unchecked = sum(cell.is_unchecked for cell in cells)
        return Group(case.key, case.name, variant.name, *ended, is_open, rate, None, 0, unchecked)

    def request(self, case: Case, variant: Variant) -> Composed:
        """Return the exact request of a cell."""
        return request_of(case, variant)

    def reference(self, variant: Variant) -> Variant | None:
        """Return the variant that another one is compared with; None if there is only one."""
        return reference_of(variant, self.variants)

    def replies(self, case: Case, variant: Variant) -> tuple[Cell, Cell] | None:
        """Return the cells of a variant and of the one that it is compared with; None if they do
        not both have a reply without an error.
        """
        other = self.reference(variant)
        cells = self.cell(case, variant), other and self.cell(case, other)
        match cells:
            case (Cell(reply=CellReply(error="")) as one, Cell(reply=CellReply(error="")) as two):
                return one, two
            case _:
                return None

    def can_be_baseline(self, variant: Variant) -> bool:
        """Return True if all that is planned was sent, and no reply to a variant is an error."""
        cells = [cell for case in self.suite.cases for cell in self.repeats(case, variant)]
        return not self.missing and all(cell.reply and not cell.reply.error for cell in cells)

    def is_saved(self, variant: Variant) -> bool:
        """Return True if a variant has the preset as it is saved."""
        edits = self._workspace.state.preset_edits
        return edits is not None and variant.preset == edits.saved

    def differs(self, case: Case, variant: Variant) -> bool:
        """Return True if a cell and the one it is compared with have other replies."""
        replies = self.replies(case, variant)
        if replies is None:
            return False
        return not are_equal(replies) or replies[0].status != replies[1].status

    # --- variants ------------------------------------------------------------------------

    async def add_model(self, endpoint: str, model: str) -> None:
        """Add a column for a model, or remove the one that it has."""
        added = endpoint, model
        others = tuple(each for each in self._models if each != added)
        self._models = others if added in self._models else (*others, added)
        await self.follow()

    async def ablate(self) -> None:
        """Add a column without each message of the preset, or remove these columns."""
        self._is_ablated = not self._is_ablated
        await self.follow()

    # --- sending -------------------------------------------------------------------------

    @property
    def is_sending(self) -> bool:
        """True while requests are sent."""
        return self._sending is not None and not self._sending.done()

    @property
    def time_left(self) -> float | None:
        """The seconds until the end at the speed so far; None before the first reply."""
        ended = len(self.plan.cells) - len(self.missing)
        at_start = self._ended_at_start
        if not self.is_sending or ended <= at_start:
            return None
        return (monotonic() - self._begun) / (ended - at_start) * len(self.missing)

    def send(self) -> None:
        """Send the cells without a result, or those that had errors again."""
        if not self.is_sending and (cells := self.to_send):
            for cell in cells:
                if cell.is_ended:
                    self._results.remove_errors(cell)
            self._arrange()
            self._begun = monotonic()
            self._ended_at_start = len(self.plan.cells) - len(self.missing)
            self._sending = asyncio.create_task(self._send())
            self._changed()

    async def stop(self) -> None:
        """Stop sending; what has ended stays."""
        if self._sending is not None:
            self._sending.cancel()
            await asyncio.gather(self._sending, return_exceptions=True)

    async def _send(self) -> None:
        workspace, lab = self._workspace, self.lab
        with workspace.reporting():
            planned, cases = self.plan, self._cases
            run, twins = await self._store_run()
            runner = Runner(
                lab,
                run,
                config=workspace.state.config,
                client=workspace.client,
                prices=await workspace.usage.prices(),
                budget=RunBudget(None),
                on_cell=partial(self._take_cell, cases),
            )
            try:
                await runner.send("waiting")
                for cell in self._results.of(replace(planned, cells=twins), cases):
                    if cell.is_ended:
                        await lab.finish(run, cell, is_paid=False)
                await lab.prune(run.source)
            finally:
                self._arrange()
                self.estimate = await self._estimate(self.to_send)
                self._changed()

    async def _store_run(self) -> tuple[Run, tuple[Cell, ...]]:
        """Store the plan as a run, with the results and judgements that it need not ask for. Return
        it with the cells whose request is that of another cell: it is sent once.
        """
        workspace, lab, planned, cases = self._workspace, self.lab, self.plan, self._cases
        now = workspace.now().timestamp()
        run = self.run = await lab.add(planned, workspace.core.new_id(), now)
        self._stored = planned.sha256, planned.suite.cases
        self._sent = {(cell.case, cell.request): cell.variant for cell in planned.cells}
        twins: list[Cell] = []
        asked: set[tuple[object, ...]] = set()
        for cell in self._results.of(planned, cases):
            key = _exchange_key(cell, cases)
            if cell.is_ended:
                await lab.finish(run, cell, is_paid=False)
            elif key in asked:
                twins.append(cell)
                await lab.finish(run, replace(cell, status="interrupted"))
            asked.add(key)
        for judged in [*self.preferences]:
            await self._store_judgement(judged)
        return run, tuple(twins)

    def _take_cell(self, cases: dict[str, Case], cell: Cell) -> None:
        """Take over a cell whose request left, or which has ended; its run graded it."""
        same = tuple(self._same.get(sent_by(cell), ()))
        shown = [result_at(planned, cell) for planned in same]
        if cell.is_ended:
            self._results.add(cell, cases[cell.case])
            shown = self._results.of(replace(self.plan, cells=same), self._cases)
        for planned in shown:
            self._cells[planned.case, planned.variant][planned.attempt - 1] = planned
        self._changed()

    # --- judging -------------------------------------------------------------------------

    def pair(self, case: Case, variant: Variant) -> tuple[Cell, Cell] | None:
        """Return the two replies to judge, in a hidden order; None if they are not both there."""
        replies = self.replies(case, variant)
        if replies is None:
            return None
        one, two = sorted(replies, key=lambda cell: cell.variant)
        digest = sha256(f"{case.key}\n{one.body_sha}\n{two.body_sha}".encode()).digest()
        return (one, two) if digest[0] % 2 else (two, one)

    def preferred(self, case: Case, pair: tuple[Cell, Cell]) -> str | None:
        """Return the name of the better variant, empty for neither; None if nobody judged, or there
        is nothing to judge.
        """
        if are_equal(pair):
            return None
        requests = [cell.request for cell in pair]
        judged = self.preferences.get(_pair_key(case.key, *requests))
        return next((cell.variant for cell in pair if cell.request == judged), judged and "")

    def is_open(self, case: Case, pair: tuple[Cell, Cell]) -> bool:
        """Return True if two replies are to be judged: they differ, and nobody did."""
        return not are_equal(pair) and self.preferred(case, pair) is None

    async def judge(self, case: Case, pair: tuple[Cell, Cell], choice: int | None) -> None:
        """Store which reply is better: 0 or 1, or None for no difference. Raises StoreError, and
        InputError for equal replies.
        """
        if are_equal(pair):
            raise InputError("The replies are equal: there is nothing to judge.")
        requests = [cell.request for cell in pair]
        key = _pair_key(case.key, *requests)
        self.preferences[key] = requests[choice] if choice is not None else ""
        await self._store_judgement(key)
        self._changed()

    async def _store_judgement(self, key: tuple[str, str, str]) -> None:
        """Store a judgement with the last run, if that has both requests."""
        case, *requests = key
        first, second = sorted(self._sent.get((case, request), "") for request in requests)
        if self.run is not None and first:
            preferred = self._sent.get((case, self.preferences[key]), "")
            await self.lab.prefer(self.run, Preference(case, 1, first, second, preferred))

    def comparison(self, variant: Variant) -> PairCounts:
        """Return how often a variant is better than the one it is compared with: without a
        judgement or a check that tells them apart, a comparison of nothing.
        """
        if (known := self._comparisons.get(variant.name)) is not None:
            return known
        other = self.reference(variant)
        if other is None:
            return PairCounts(0, 0, 0)
        better = worse = same = 0
        for case in self.suite.cases:
            match self._winner(case, variant, other):
                case None:
                    continue
                case "":
                    same += 1
                case winner:
                    better += winner == variant.name
                    worse += winner != variant.name
        compared = PairCounts(better, worse, better + worse + same)
        self._comparisons[variant.name] = compared
        return compared

    def effect(self, variant: Variant) -> str:
        """Return what a variant without a message saves, and in how many cases the reply is the
        same; empty for other variants, and without replies.
        """
        other = self.reference(variant)
        if other is None or not is_without(variant, other):
            return ""
        pairs = (self.replies(case, variant) for case in self.suite.cases)
        ended = [pair for pair in pairs if pair is not None]
        if not ended:
            return ""
        saved = sum(two.input_tokens - one.input_tokens for one, two in ended) // len(ended)
        same = sum(map(are_equal, ended))
        return f"{saved:,} tokens less, the same reply in {same:,} of {len(ended):,}"

    def _winner(self, case: Case, variant: Variant, other: Variant) -> str | None:
        replies = self.replies(case, variant)
        judged = self.preferred(case, replies) if replies is not None else None
        if judged is not None:
            return judged
        one, two = self.group(case, variant), self.group(case, other)
        are_decided = {one.status, two.status} <= {"passed", "failed"}
        if not case.has_checks or not one.total or not two.total or not are_decided:
            return None
        if (one.status == "passed") is (two.status == "passed"):
            return ""
        return one.variant if one.status == "passed" else two.variant

    # --- keeping -------------------------------------------------------------------------

    def is_baseline(self, variant: Variant) -> bool:
        """Return True if the baseline has the grades of a variant."""
        if variant.name not in self._baselines:
            cells = [cell for case in self.suite.cases for cell in self.repeats(case, variant)]
            self._baselines[variant.name] = bool(cells) and all(
                self._accepted.get((*sent_by(cell), cell.case)) == grade_of(cell) for cell in cells
            )
        return self._baselines[variant.name]

    async def promote(self, variant: Variant) -> bool:
        """Save a variant's preset as the session's, as an edit that can be undone, and make its
        results the baseline. Return False, with the fault reported, if it could not be saved.
        """
        workspace = self._workspace
        edits = workspace.state.preset_edits
        if edits is None:
            raise self._faulty_preset
        run = await self._whole_run() if self.can_be_baseline(variant) else None
        cells = [cell for case in self.suite.cases for cell in self.repeats(case, variant)]
        before = edits.saved
        if variant.preset != edits.preset:
            label = f"keep “{variant.name}”"
            workspace.presets.edit(self.preset_name, edits.record(variant.preset, label))
        if await workspace.presets.save() is None:
            return False
        if run is not None:
            await self.lab.accept(run, variant)
            self._accepted = {(*sent_by(cell), cell.case): grade_of(cell) for cell in cells}
        self._is_ablated = False
        self._before = before if before != variant.preset else None
        await self.follow()
        self._changed()
        return True

    async def _whole_run(self) -> Run:
        """Return a run with the plan and its results, which all are there: the last one, or a new
        one if the checks or the variants changed since.
        """
        if self.run is None or self._stored != (self.plan.sha256, self.suite.cases):
            run, _ = await self._store_run()
            await self.lab.end(run, "complete", self._workspace.now().timestamp())
            await self.lab.prune(run.source)
            return run
        return self.run

    def _changed(self) -> None:
        self.version += 1
        self._to_send = None
        self._comparisons, self._baselines = {}, {}
        self.on_change()


def _exchange_key(cell: Cell, cases: Mapping[str, Case]) -> tuple[object, ...]:
    """Return a key of what a cell sends to its model and to judges; equal cells send it once."""
    return (*sent_by(cell), *questions(cases[cell.case]))


def _pair_key(case: str, one: str, two: str) -> tuple[str, str, str]:
    return case, min(one, two), max(one, two)


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size
