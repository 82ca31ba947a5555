"""The store of runs: plans, replies, verdicts and preferences, and the tables that they are in.

1. A plan is stored before its first request leaves. A cell is `streaming` before its own leaves,
   and has its result when it has ended: two transactions a cell, whatever the size of the run.
2. Cases and variants are stored whole, once for all runs that have them.
3. A run that is `running` has a lock of its program, as streaming replies have. Without one its
   program was killed: opening the store makes the run and its streaming cells `interrupted`.
4. The newest runs of a suite are kept, and every accepted one.
5. The tables are the plugin's own: the numbered steps of `STEPS` make them when they are first
   needed, and `lab_version` has the number of the last one. They refer to no table of the core, and
   no other way round, so a database is whole with and without them.
"""
# ruff: noqa: S608 - only our own column names and constants are put into SQL

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from hashlib import sha256
from typing import Any, TypeVar

from tui_chat.errors import InputError, RecordGone, StoreNewer
from tui_chat.interop.own_json import inputs_with_blocks
from tui_chat.models.boundary import pack, read_own, unpack
from tui_chat.plugins.prompt_lab.values import (
    Case,
    Cell,
    CellReply,
    Group,
    Plan,
    Run,
    RunStatus,
    Suite,
    Variant,
    Verdict,
)
from tui_chat.store import Store
from tui_chat.store.database import Database, Row, Transaction
from tui_chat.store.process_lock import ProcessLock, is_running

STEPS: tuple[tuple[str, ...], ...] = (
    (
        # A whole case or variant as JSON, once for all runs that have it.
        """CREATE TABLE lab_values (
            id INTEGER PRIMARY KEY,
            sha256 TEXT NOT NULL UNIQUE,
            json TEXT NOT NULL
        ) STRICT""",
        """CREATE TABLE lab_runs (
            seq INTEGER PRIMARY KEY AUTOINCREMENT,
            run_id TEXT NOT NULL UNIQUE,
            suite TEXT NOT NULL,
            source TEXT NOT NULL,
            started REAL NOT NULL,
            finished REAL,
            status TEXT NOT NULL,
            accepted INTEGER NOT NULL DEFAULT 0,
            plan_sha TEXT NOT NULL,
            judge TEXT NOT NULL
        ) STRICT""",
        """CREATE TABLE lab_cells (
            run INTEGER NOT NULL REFERENCES lab_runs ON DELETE CASCADE,
            position INTEGER NOT NULL,
            case_key TEXT NOT NULL,
            variant TEXT NOT NULL,
            attempt INTEGER NOT NULL,
            case_id INTEGER NOT NULL,
            variant_id INTEGER NOT NULL,
            body_sha TEXT NOT NULL,
            input_tokens INTEGER NOT NULL,
            shared_tokens INTEGER NOT NULL,
            output_limit INTEGER,
            notes TEXT NOT NULL,
            status TEXT NOT NULL,
            reply TEXT NOT NULL,
            verdicts TEXT NOT NULL,
            score REAL,
            cost REAL,
            PRIMARY KEY (run, position),
            UNIQUE (run, case_key, variant, attempt)
        ) STRICT""",
        """CREATE TABLE lab_preferences (
            run INTEGER NOT NULL REFERENCES lab_runs ON DELETE CASCADE,
            case_key TEXT NOT NULL,
            attempt INTEGER NOT NULL,
            first TEXT NOT NULL,
            second TEXT NOT NULL,
            preferred TEXT NOT NULL,
            PRIMARY KEY (run, case_key, attempt, first, second)
        ) STRICT""",
    ),
    (
        # The contents are revisions of the core. `sent` is their hash in recipes.
        """CREATE TABLE lab_preset_states (
            number INTEGER PRIMARY KEY AUTOINCREMENT,
            name TEXT NOT NULL,
            saved REAL NOT NULL,
            sha256 TEXT NOT NULL,
            sent TEXT NOT NULL
        ) STRICT""",
    ),
    ("ALTER TABLE lab_runs ADD COLUMN accepted_variant TEXT NOT NULL DEFAULT ''",),
)
"""The statements of each step."""


async def prepare_tables(database: Database) -> None:
    """Make the tables that are missing. Raises StoreError, and StoreNewer for those of a newer
    version.
    """
    if await database.read(_version) != len(STEPS):
        await database.write(_migrate)


async def _version(tx: Transaction) -> int:
    if not await tx.rows("SELECT 1 FROM sqlite_master WHERE name = 'lab_version'"):
        return 0
    [(version,)] = await tx.rows("SELECT version FROM lab_version")
    return version


async def _migrate(tx: Transaction) -> None:
    version = await _version(tx)
    if version > len(STEPS):
        raise StoreNewer(
            "The prompt lab's tables were written by a newer version of tui-chat.",
            advice="Update tui-chat; nothing was changed.",
        )
    if not version:
        await tx.run("CREATE TABLE lab_version (version INTEGER NOT NULL) STRICT")
        await tx.run("INSERT INTO lab_version VALUES (0)")
    for step in STEPS[version:]:
        for statement in step:
            await tx.run(statement)
    await tx.run("UPDATE lab_version SET version = ?", len(STEPS))


T = TypeVar("T")

KEPT_RUNS = 20
"""The newest runs of a suite that are kept."""
_PAGE = 200
"""Cells that are read at once."""
_RUN = (
    "seq, run_id, suite, source, started, finished, status, accepted, plan_sha, judge, "
    "accepted_variant"
)
_CELL = (
    "position, case_key, variant, attempt, body_sha, input_tokens, output_limit, "
    "notes, status, reply, verdicts, score"
)
_UNCHECKED = "sum(status = 'passed' AND verdicts = '[]')"
_COUNTS = (
    f"SELECT status, count(*), total(cost), {_UNCHECKED} FROM lab_cells WHERE run = ? "
    "GROUP BY status"
)
_GROUPS = f"""
    SELECT case_key, json_extract(json, '$.name'), variant, sum(status = 'passed'),
        sum(status = 'failed'), sum(status = 'error'),
        sum(status NOT IN ('passed', 'failed', 'error')),
        coalesce(json_extract(json, '$.pass_rate'), 1.0), avg(score), total(cost),
        {_UNCHECKED}
    FROM lab_cells JOIN lab_values ON id = case_id WHERE run = ?
    GROUP BY case_key, variant ORDER BY case_id, variant_id
"""


class LabStore:
    """The runs in a database."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._database: Database = store.database

    @classmethod
    async def open(cls, store: Store) -> LabStore:
        """Return the runs in a database; its tables are made if they are missing. Raises
        StoreError.
        """
        await prepare_tables(store.database)
        lab = cls(store)
        running = await lab._database.rows("SELECT 1 FROM lab_runs WHERE status = 'running'")
        if running and not lab._database.is_in_memory:
            await lab._database.write(lab._interrupt_killed)
        return lab

    async def _interrupt_killed(self, tx: Transaction) -> None:
        for seq, run_id in await tx.rows(
            "SELECT seq, run_id FROM lab_runs WHERE status = 'running'"
        ):
            if not self._is_held_elsewhere(run_id):
                await _interrupt(tx, seq)

    def _is_held_elsewhere(self, run_id: str) -> bool:
        """Return True if another program, or another store of this one, holds a run. Called in a
        write transaction.
        """
        return not self._database.is_in_memory and is_running(self._store.path, run_id)

    # --- runs ------------------------------------------------------------------------------

    async def add(self, plan: Plan, run_id: str, now: float) -> Run:
        """Store a plan as a new run. Raises StoreError."""
        suite = plan.suite

        async def write(tx: Transaction) -> int:
            case_ids = await _value_ids(tx, {case.key: case for case in suite.cases})
            variant_ids = await _value_ids(tx, {each.name: _stored(each) for each in plan.variants})
            row = await tx.row(
                "INSERT INTO lab_runs (run_id, suite, source, started, status, plan_sha, judge) "
                "VALUES (?, ?, ?, ?, 'interrupted', ?, ?) RETURNING seq",
                *(run_id, suite.name, suite.source, now, plan.sha256, suite.judge),
            )
            assert row is not None
            await tx.insert(
                f"INSERT INTO lab_cells (run, shared_tokens, case_id, variant_id, {_CELL})",
                (
                    (
                        *(row[0], 0, case_ids[cell.case], variant_ids[cell.variant]),
                        *(cell.position, cell.case, cell.variant, cell.attempt, cell.body_sha),
                        *(cell.input_tokens, cell.output_limit, pack(cell.notes)),
                        *_result_values(cell),
                    )
                    for cell in plan.cells
                ),
            )
            return row[0]

        seq = await self._database.write(write)
        return await self.run(str(seq))

    async def runs(self, source: str | None = None) -> tuple[Run, ...]:
        """Return the runs, of all suites or of the one with a source, newest first."""
        where, values = ("", ()) if source is None else ("WHERE source = ? ", (source,))

        async def read(tx: Transaction) -> tuple[Run, ...]:
            rows = await tx.rows(f"SELECT {_RUN} FROM lab_runs {where}ORDER BY seq DESC", *values)
            return tuple([await _run_of(tx, row) for row in rows])

        return await self._database.read(read)

    async def run(self, name: str = "") -> Run:
        """Return the run with a number, or an id or the beginning of one; the newest for an empty
        name. Raises InputError.
        """
        runs = await self.runs()
        matches = [run for run in runs if str(run.seq) == name]
        matches = matches or [run for run in runs if run.run_id.startswith(name)]
        if not runs:
            raise InputError("There are no runs.", advice="`tui-chat eval run PATH` makes one.")
        if not matches or (name and len(matches) > 1):
            kind = "several runs" if matches else "no run"
            raise InputError(
                f"“{name}” is {kind}.", advice="`tui-chat eval list` has their numbers."
            )
        return matches[0]

    async def accepted(self, source: str) -> Run | None:
        """Return the accepted run of a suite; None without one."""
        return next((run for run in await self.runs(source) if run.accepted), None)

    async def accept(self, run: Run, variant: Variant | None = None) -> None:
        """Make a run the baseline of its suite, in place of another, or a variant with the content
        of this one in it.
        """
        content = None if variant is None else replace(_stored(variant), name="")
        variants = await self.variants(run)
        name = next((each.name for each in variants if replace(each, name="") == content), "")

        async def write(tx: Transaction) -> None:
            await tx.run("UPDATE lab_runs SET accepted = 0 WHERE source = ?", run.source)
            await tx.run(
                "UPDATE lab_runs SET accepted = 1, accepted_variant = ? WHERE seq = ?",
                *(name, run.seq),
            )

        await self._database.write(write)

    async def delete(self, *runs: Run) -> None:
        """Delete runs, and the cases and variants that no other has."""

        async def write(tx: Transaction) -> None:
            for run in runs:
                await tx.run("DELETE FROM lab_runs WHERE seq = ?", run.seq)
            await tx.run(
                "DELETE FROM lab_values WHERE id NOT IN "
                "(SELECT case_id FROM lab_cells UNION SELECT variant_id FROM lab_cells)"
            )

        await self._database.write(write)

    async def prune(self, source: str) -> None:
        """Delete the old runs of a suite."""
        old = (await self.runs(source))[KEPT_RUNS:]
        if stale := [run for run in old if not run.accepted and run.status != "running"]:
            await self.delete(*stale)

    @asynccontextmanager
    async def running(self, run: Run) -> AsyncGenerator[None]:
        """Hold a run while its cells are sent; afterwards it is interrupted, unless `end` said how
        it ended. Raises InputError if another program holds it.
        """
        path = None if self._database.is_in_memory else self._store.path
        lock = ProcessLock(path, run.run_id)

        async def claim(tx: Transaction) -> None:
            if self._is_held_elsewhere(run.run_id):
                raise InputError(f"Run {run.seq} is being sent by another program.")
            lock.claim()
            await tx.run("UPDATE lab_runs SET status = 'running' WHERE seq = ?", run.seq)

        try:
            await self._database.write(claim)
            try:
                yield
            finally:
                await self._database.write(lambda tx: _interrupt(tx, run.seq))
        finally:
            lock.release()

    async def end(self, run: Run, status: RunStatus, now: float) -> None:
        """Store how a run ended."""
        await self._write(
            "UPDATE lab_runs SET status = ?, finished = ? WHERE seq = ?", status, now, run.seq
        )

    # --- cells -----------------------------------------------------------------------------

    async def cells(
        self, run: Run, *statuses: str, with_replies: bool = True
    ) -> AsyncIterator[Cell]:
        """Yield the cells of a run, of some statuses or of all, in the order of the plan. Only a
        page of them is in memory.
        """
        columns = _CELL if with_replies else _CELL.replace("reply", "''")
        marks = ", ".join("?" * len(statuses))
        where = f"AND status IN ({marks}) " if statuses else ""
        position = -1
        targets = {variant.name: variant.target for variant in await self.variants(run)}
        while rows := await self._database.rows(
            f"SELECT {columns} FROM lab_cells WHERE run = ? AND position > ? {where}"
            "ORDER BY position LIMIT ?",
            *(run.seq, position, *statuses, _PAGE),
        ):
            for row in rows:
                yield _cell_of(row, targets)
            position = rows[-1][0]

    async def variants(self, run: Run) -> tuple[Variant, ...]:
        """Return the variants of a run, in the order in which they were planned."""
        return tuple(unpack(Variant, text) for text in await self._values(run, "variant_id"))

    async def plan(self, run: Run, *statuses: str) -> Plan:
        """Return the plan of a run with its cells of some statuses, without their replies."""
        cells = [cell async for cell in self.cells(run, *statuses, with_replies=False)]
        return Plan(await self.suite(run), await self.variants(run), tuple(cells))

    async def suite(self, run: Run) -> Suite:
        """Return the suite of a run with its cases, as they were when it was planned."""
        cases = tuple(map(_stored_case, await self._values(run, "case_id")))
        return Suite(run.suite, run.source, cases, judge=run.judge)

    async def _values(self, run: Run, column: str) -> tuple[str, ...]:
        """Return the stored cases or variants of a run, in the order of the plan."""
        rows = await self._database.rows(
            "SELECT json FROM lab_values WHERE id IN "
            f"(SELECT {column} FROM lab_cells WHERE run = ?) ORDER BY id",
            run.seq,
        )
        return tuple(text for (text,) in rows)

    async def groups(self, run: Run) -> tuple[Group, ...]:
        """Return the counts of each case with each variant, in the order of the plan."""
        rows = await self._database.rows(_GROUPS, run.seq)
        return tuple(Group(*row) for row in rows)

    async def start(self, run: Run, cell: Cell) -> None:
        """Store that the request of a cell leaves. Raises RecordGone if its run was deleted."""
        sql = (
            "UPDATE lab_cells SET status = 'streaming', body_sha = ? WHERE run = ? "
            "AND position = ? RETURNING 1"
        )
        values = (cell.body_sha, run.seq, cell.position)
        if await self._database.write(lambda tx: tx.row(sql, *values)) is None:
            raise RecordGone(f"Run {run.seq} was deleted.")

    async def finish(self, run: Run, cell: Cell, *, is_paid: bool = True) -> None:
        """Store the result of a cell: status, reply, verdicts, score. What is not paid is the
        result of an earlier run.
        """
        await self._write(
            "UPDATE lab_cells SET status = ?, reply = ?, verdicts = ?, score = ?, cost = ? "
            "WHERE run = ? AND position = ?",
            *(*_result_values(cell), cell.cost if is_paid else None, run.seq, cell.position),
        )

    # --- rows ------------------------------------------------------------------------------

    async def _write(self, sql: str, *values: object) -> None:
        await self._database.write(lambda tx: tx.run(sql, *values))


async def _run_of(tx: Transaction, row: Row) -> Run:
    groups = await tx.rows(_COUNTS, row[0])
    run = Run(*row)
    return replace(
        run,
        accepted=bool(run.accepted),
        counts={status: count for status, count, *_ in groups},
        cost=sum(cost for _, _, cost, _ in groups),
        unchecked=sum(unchecked for *_, unchecked in groups),
    )


async def _interrupt(tx: Transaction, seq: int) -> None:
    """Mark what a run has begun, and not ended, as interrupted."""
    await tx.run(
        "UPDATE lab_runs SET status = 'interrupted' WHERE seq = ? AND status = 'running'", seq
    )
    await tx.run(
        "UPDATE lab_cells SET status = 'interrupted' WHERE run = ? AND status = 'streaming'", seq
    )


def _stored(variant: Variant) -> Variant:
    return replace(
        variant,
        endpoint=variant.endpoint.without_secrets(),
        preset=variant.preset.without_builder_keys(),
    )


async def _value_ids(tx: Transaction, values: Mapping[str, object]) -> dict[str, int]:
    """Store values where they are missing; return the id of each by its key."""
    ids: dict[str, int] = {}
    for key, text in ((key, pack(value)) for key, value in values.items()):
        [(ids[key],)] = await tx.rows(
            "INSERT INTO lab_values (sha256, json) VALUES (?, ?) "
            "ON CONFLICT (sha256) DO UPDATE SET sha256 = sha256 RETURNING id",
            *(sha256(text.encode()).hexdigest(), text),
        )
    return ids


def _stored_case(text: str) -> Case:
    case = json.loads(text)
    return read_own(Case, {**case, "inputs": inputs_with_blocks(case["inputs"])})


def _result_values(cell: Cell) -> tuple[Any, ...]:
    reply = "" if cell.reply is None else pack(cell.reply)
    return cell.status, reply, pack(cell.verdicts), cell.score


def _cell_of(row: Row, targets: Mapping[str, str]) -> Cell:
    *head, notes, status, reply, verdicts, score = row
    return Cell(
        *head,
        notes=unpack(tuple[tuple[str, str], ...], notes),
        status=status,
        reply=unpack(CellReply, reply) if reply else None,
        verdicts=unpack(tuple[Verdict, ...], verdicts) if verdicts else (),
        score=score,
        target=targets[row[2]],
    )
