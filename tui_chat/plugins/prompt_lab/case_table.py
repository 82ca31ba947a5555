"""The cases of the session's preset as a table: rows are cases, columns are variants.

1. A result belongs to the bytes of its request: after an edit, only cells whose request changed
   have none, and only those are sent. A run is stored whole, with the results that it did not need
   to send.
2. Which of two replies is the first one to judge follows from case and variants, and has nothing to
   do with the order of the columns.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from hashlib import sha256
from time import monotonic
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from tui_chat.errors import InputError
from tui_chat.plugins.prompt_lab.budget import Budget
from tui_chat.plugins.prompt_lab.case_columns import (
    columns_of,
    is_without,
    reference_of,
    suite_columns,
)
from tui_chat.plugins.prompt_lab.comparison import Comparison
from tui_chat.plugins.prompt_lab.estimates import Estimate, estimate
from tui_chat.plugins.prompt_lab.plan import plan, request_of
from tui_chat.plugins.prompt_lab.results import LabStore
from tui_chat.plugins.prompt_lab.runner import Runner
from tui_chat.plugins.prompt_lab.suites import read_suite, sample_suite, suite_file
from tui_chat.plugins.prompt_lab.values import (
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

if TYPE_CHECKING:
    from pathlib import Path

    from tui_chat.compose import Composed
    from tui_chat.models.preset import Preset
    from tui_chat.workspace.workspace import Workspace

_TABLES: WeakKeyDictionary[Workspace, CaseTable] = WeakKeyDictionary()


async def load_table(workspace: Workspace) -> CaseTable:
    """Return the table of the session's preset, as the preset, its file and its suite are now.
    Raises InputError.
    """
    table = _TABLES.get(workspace)
    if table is None or table.preset_name != workspace.state.preset_name:
        if table is not None:
            await table.stop()
        lab = await LabStore.open(workspace.store)
        table = CaseTable(workspace, lab, workspace.state.preset_name)
        await table.recall()
        _TABLES[workspace] = table
    await table.follow()
    return table


class CaseTable:
    """Cases, variants, and the results so far."""

    def __init__(self, workspace: Workspace, lab: LabStore, preset_name: str) -> None:
        self._workspace = workspace
        self.lab = lab
        self.preset_name = preset_name
        self.suite = Suite(preset_name)
        self.variants: tuple[Variant, ...] = ()
        self.plan = Plan(self.suite, (), ())
        self.estimate = Estimate(0, 0, 0)
        """Of the cells without a result."""
        self.run: Run | None = None
        """The last run."""
        self.preferences: dict[tuple[str, str, str], str] = {}
        """The SHA-256 of the preferred request by case and both requests, sorted; empty for none.
        """
        self.version = 0
        """Counts the changes of what is shown."""
        self.on_change: Callable[[], None] = lambda: None
        self._models: tuple[tuple[str, str], ...] = ()
        self._is_ablated = False
        self._before: Preset | None = None
        """What was saved before a variant was accepted, until the next edit."""
        self._results: dict[tuple[str, int], Cell] = {}
        """Cells that have ended, by the SHA-256 of their request and their repeat."""
        self._key: object = None
        """The suite and the variants of the plan."""
        self._following = asyncio.Lock()
        self._stamp: tuple[int, int] | None = None
        self._sending: asyncio.Task[None] | None = None
        self._begun = 0.0
        """When sending began, in seconds of a monotonic clock."""
        self._ended_at_start = 0
        self._cells: dict[tuple[str, str], list[Cell]] = {}
        """The cells by case and variant, with the results that they have: the repeats."""
        self._same: dict[tuple[str, int], list[Cell]] = {}
        """The planned cells by what they send: the SHA-256 of the request, and the repeat."""
        self._sent: dict[tuple[str, str], str] = {}
        """The variants of the last run by case and SHA-256 of the request."""
        self._missing: tuple[Cell, ...] | None = None
        """The cells without a result; None if they are to be looked up."""
        self._comparisons: dict[str, Comparison] = {}
        """What was counted since the last change, by variant."""

    @property
    def _read_file(self) -> Path:
        """The file that is read: a preset that comes with the program may bring a suite."""
        sample = sample_suite(self.preset_name)
        return sample if not self.file.exists() and sample.exists() else self.file

    @property
    def file(self) -> Path:
        """The file of the user's own suite, which need not exist."""
        return suite_file(self._workspace.state.config.config_dir, self.preset_name)

    # --- what there is -------------------------------------------------------------------

    async def recall(self) -> None:
        """Take over the results and judgements of the suite's last run."""
        runs = await self.lab.runs(str(self._read_file))
        if runs:
            self.run = runs[0]
            async for cell in self.lab.cells(self.run, "passed", "failed", "error"):
                self._results[cell.body_sha, cell.attempt] = cell
                self._sent[cell.case, cell.body_sha] = cell.variant
            names = {(case, name): sha for (case, sha), name in self._sent.items()}
            for stored in await self.lab.preferences(self.run):
                one, two = (names.get((stored.case, n)) for n in (stored.first, stored.second))
                preferred = names.get((stored.case, stored.preferred), "")
                if one and two:
                    self.preferences[_pair_key(stored.case, one, two)] = preferred

    async def follow(self) -> None:
        """Read the suite if its file changed, and plan anew if cases or variants changed. If that
        is canceled, the next call does it.
        """
        async with self._following:
            await self._follow()

    async def _follow(self) -> None:
        stamp = _stamp(self._read_file)
        if stamp != self._stamp or self._key is None:
            suite = Suite(self.preset_name, str(self._read_file))
            if stamp is not None:
                suite = await asyncio.to_thread(read_suite, self._read_file)
            self.suite, self._stamp = suite, stamp
        named = await suite_columns(self.suite, self._workspace)
        state = self._workspace.state
        if state.preset_edits is not None and state.preset_edits.is_changed:
            self._before = None
        variants = columns_of(
            state,
            named,
            before=self._before,
            models=self._models,
            is_ablated=self._is_ablated,
        )
        if self._key == (self.suite, variants) or not variants:
            return
        planned = await asyncio.to_thread(plan, self.suite, variants)
        self.variants, self.plan = variants, planned
        self._arrange()
        self.estimate = await self._estimate(self.missing)
        self._key = self.suite, variants
        self._changed()

    def _arrange(self) -> None:
        """Look the results of the planned cells up. What was not checked has none once its case
        has checks.
        """
        checked = {case.key for case in self.suite.cases if case.has_checks}
        for key, cell in [*self._results.items()]:
            if cell.is_unchecked and cell.case in checked:
                del self._results[key]
        self._cells, self._same = {}, {}
        for cell in self.plan.cells:
            self._same.setdefault(_key(cell), []).append(cell)
            result = self._results.get(_key(cell))
            shown = cell if result is None else _result_at(cell, result)
            self._cells.setdefault((cell.case, cell.variant), []).append(shown)
        self._changed()

    async def _estimate(self, cells: Sequence[Cell]) -> Estimate:
        known, now = await self._workspace.usage.prices(), self._workspace.now()
        return estimate(self.plan, cells, self._workspace.state.config, known, now)

    @property
    def missing(self) -> tuple[Cell, ...]:
        """The cells without a result."""
        if self._missing is None:
            cells = self.plan.cells
            self._missing = tuple(cell for cell in cells if _key(cell) not in self._results)
        return self._missing

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
        not both have a reply.
        """
        other = self.reference(variant)
        cells = self.cell(case, variant), other and self.cell(case, other)
        match cells:
            case (Cell(reply=CellReply()) as one, Cell(reply=CellReply()) as two):
                return one, two
            case _:
                return None

    def is_saved(self, variant: Variant) -> bool:
        """Return True if a variant has the preset as it is saved."""
        edits = self._workspace.state.preset_edits
        return edits is not None and variant.preset == edits.saved

    def differs(self, case: Case, variant: Variant) -> bool:
        """Return True if a cell and the one it is compared with have other replies."""
        replies = self.replies(case, variant)
        if replies is None:
            return False
        one, two = replies
        return _text(one) != _text(two) or one.status != two.status

    # --- variants ------------------------------------------------------------------------

    async def add_model(self, endpoint: str, model: str) -> None:
        """Add a column for a model."""
        if (endpoint, model) not in self._models:
            self._models = (*self._models, (endpoint, model))
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
        """Send the cells without a result."""
        if not self.is_sending and self.missing:
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
        now = workspace.now().timestamp()
        with workspace.reporting():
            run = self.run = await lab.add(self.plan, workspace.core.new_id(), now)
            self._sent = {(cell.case, cell.body_sha): cell.variant for cell in self.plan.cells}
            twins = await self._finish_known(run)
            runner = Runner(
                lab,
                run,
                config=workspace.state.config,
                client=workspace.client,
                prices=await workspace.usage.prices(),
                budget=Budget(None),
                on_cell=self._take_cell,
            )
            try:
                await runner.send("waiting")
                for cell in twins:
                    if (result := self._results.get(_key(cell))) is not None:
                        await lab.finish(run, _result_at(cell, result), is_paid=False)
                await lab.prune(run.source)
            finally:
                self._arrange()

    async def _finish_known(self, run: Run) -> list[Cell]:
        """Store the results that a new run need not ask for, and return the cells whose request is
        that of another cell: it is sent once.
        """
        twins: list[Cell] = []
        asked: set[tuple[str, int]] = set()
        for cell in self.plan.cells:
            if (result := self._results.get(_key(cell))) is not None:
                await self.lab.finish(run, _result_at(cell, result), is_paid=False)
            elif _key(cell) in asked:
                twins.append(cell)
                await self.lab.finish(run, replace(cell, status="interrupted"))
            asked.add(_key(cell))
        return twins

    def _take_cell(self, cell: Cell) -> None:
        """Take over a cell whose request left, or which has ended."""
        if cell.is_ended:
            self._results[_key(cell)] = cell
        for planned in self._same.get(_key(cell), ()):
            repeats = self._cells[planned.case, planned.variant]
            repeats[planned.attempt - 1] = _result_at(planned, cell)
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
        """Return the name of the better variant, empty for neither; None if nobody judged."""
        shas = [cell.body_sha for cell in pair]
        judged = self.preferences.get(_pair_key(case.key, *shas))
        return next((cell.variant for cell in pair if cell.body_sha == judged), judged and "")

    async def judge(self, case: Case, pair: tuple[Cell, Cell], choice: int | None) -> None:
        """Store which reply is better: 0 or 1, or None for no difference. Raises StoreError."""
        shas = [cell.body_sha for cell in pair]
        if shas[0] == shas[1]:  # the same request has no better reply
            choice = None
        preferred = shas[choice] if choice is not None else ""
        names = [self._sent.get((case.key, sha), "") for sha in shas]
        if self.run is not None and all(names):
            name = names[choice] if choice is not None else ""
            first, second = sorted(names)
            await self.lab.prefer(self.run, Preference(case.key, 1, first, second, name))
        self.preferences[_pair_key(case.key, *shas)] = preferred
        self._changed()

    def comparison(self, variant: Variant) -> Comparison:
        """Return how often a variant is better than the one it is compared with: without a
        judgement or a check that tells them apart, a comparison of nothing.
        """
        if (known := self._comparisons.get(variant.name)) is not None:
            return known
        other = self.reference(variant)
        if other is None:
            return Comparison(0, 0, 0)
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
        compared = Comparison(better, worse, better + worse + same)
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
        same = sum(_text(one) == _text(two) for one, two in ended)
        return f"{saved:,} tokens less, the same reply in {same:,} of {len(ended):,}"

    def _winner(self, case: Case, variant: Variant, other: Variant) -> str | None:
        replies = self.replies(case, variant)
        judged = self.preferred(case, replies) if replies is not None else None
        if judged is not None:
            return judged
        one, two = self.group(case, variant), self.group(case, other)
        if not case.checks or not one.total or not two.total or one.open or two.open:
            return None
        if (one.status == "passed") is (two.status == "passed"):
            return ""
        return one.variant if one.status == "passed" else two.variant

    # --- keeping -------------------------------------------------------------------------

    async def promote(self, variant: Variant) -> bool:
        """Save a variant's preset as the session's, as an edit that can be undone, and make the
        last run the baseline. Return False, with the fault reported, if it could not be saved.
        """
        workspace = self._workspace
        edits = workspace.state.preset_edits
        if edits is None:
            raise InputError(f"The file of “{self.preset_name}” has faults.")
        before = edits.saved
        if variant.preset != edits.preset:
            label = f"keep “{variant.name}”"
            workspace.presets.edit(self.preset_name, edits.record(variant.preset, label))
        if await workspace.presets.save() is None:
            return False
        if self.run is not None and not self.missing:
            await self.lab.accept(self.run, variant)
            self.run = replace(self.run, accepted=True)
        self._models, self._is_ablated = (), False
        self._before = before if before != variant.preset else None
        await self.follow()
        self._changed()
        return True

    def _changed(self) -> None:
        self.version += 1
        self._missing = None
        self._comparisons = {}
        self.on_change()


def _key(cell: Cell) -> tuple[str, int]:
    return cell.body_sha, cell.attempt


def _pair_key(case: str, one: str, two: str) -> tuple[str, str, str]:
    return case, min(one, two), max(one, two)


def _result_at(cell: Cell, result: Cell) -> Cell:
    """Return a result as that of a cell of the same request."""
    return replace(
        cell,
        status=result.status,
        reply=result.reply,
        verdicts=result.verdicts,
        score=result.score,
    )


def _text(cell: Cell) -> str:
    return cell.reply.text if cell.reply is not None else ""


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size
