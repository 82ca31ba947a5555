"""The store of runs: plans come back whole, results are kept, killed runs are seen."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest

from tests.plugins.prompt_lab.conftest import make_case, make_suite, make_variant
from tui_chat.errors import InputError, RecordGone
from tui_chat.models.blocks import CallBlock
from tui_chat.models.message import Message
from tui_chat.models.role import Role
from tui_chat.models.usage import Usage
from tui_chat.plugins.prompt_lab.plan import plan, request_of
from tui_chat.plugins.prompt_lab.results import KEPT_RUNS, LabStore
from tui_chat.plugins.prompt_lab.values import Cell, CellReply, ReplyCheck, Run, Verdict
from tui_chat.store import Store

HISTORY = (Message.of("user", "Hi", "h1"), Message.of("assistant", "Hello", "h2"))
SUITE = make_suite(
    make_case("Who are you?", ReplyCheck("icontains", "ada"), history=HISTORY),
    replace(make_case("Bye"), pass_rate=0.5, expected={"role": "user"}),
)
VARIANTS = (make_variant("edited", "You are Ada."), make_variant("saved", "You are Bo."))
REPLY = CellReply(
    "I am Ada",
    calls=(CallBlock("1", "look", "{}"),),
    usage=Usage(12, 3, cached=4),
    cost=Decimal("0.00012"),
    first=0.2,
    seconds=1.5,
)


async def cell_at(lab: LabStore, run: Run, position: int) -> Cell:
    return [cell async for cell in lab.cells(run)][position]


async def test_a_plan_comes_back_whole(lab: LabStore):
    planned = plan(SUITE, VARIANTS, repeat=2)
    run = await lab.add(planned, "id-1", 1.0)
    cells = [cell async for cell in lab.cells(run)]
    assert tuple(cells) == planned.cells
    assert run.plan_sha == planned.sha256
    assert run.total == 8
    stored = await lab.plan(run)
    assert (stored.suite.cases, stored.variants) == (planned.suite.cases, VARIANTS)
    cases = {case.key: case for case in stored.suite.cases}
    variants = {variant.name: variant for variant in stored.variants}
    for cell in cells:
        composed = request_of(cases[cell.case], variants[cell.variant])
        assert composed.payload.sha256 == cell.body_sha


async def test_inputs_of_every_kind_come_back(lab: LabStore):
    role = Role("r", "Ada", "You are Ada.")
    case = make_case("Hi")
    case = replace(case, inputs=replace(case.inputs, role=role, variables={"tone": "dry"}))
    run = await lab.add(plan(make_suite(case), VARIANTS), "id-1", 1.0)
    assert (await lab.suite(run)).cases == (case,)


async def test_a_result_is_kept(lab: LabStore):
    run = await lab.add(plan(SUITE, VARIANTS), "id-1", 1.0)
    cell = await cell_at(lab, run, 2)
    async with lab.running(run):
        await lab.start(run, cell)
        verdicts = (Verdict("icontains", True, "It contains “ada”.", 1.0, cost=Decimal("0.1")),)
        ended = replace(cell, status="passed", reply=REPLY, verdicts=verdicts, score=1.0)
        await lab.finish(run, ended)
        await lab.end(run, "complete", 9.0)
    assert await cell_at(lab, run, 2) == ended
    run = await lab.run()
    assert (run.status, run.finished) == ("complete", 9.0)
    assert run.counts == {"passed": 1, "waiting": 3}
    assert run.cost == pytest.approx(0.10012)


async def test_leaving_early_interrupts_what_was_begun(lab: LabStore):
    run = await lab.add(plan(SUITE, VARIANTS), "id-1", 1.0)
    async with lab.running(run):
        cell = await cell_at(lab, run, 0)
        await lab.start(run, cell)
        assert (await lab.run()).status == "running"
    run = await lab.run()
    assert run.status == "interrupted"
    assert run.counts == {"interrupted": 1, "waiting": 3}
    await lab.delete(run)
    with pytest.raises(RecordGone, match="was deleted"):
        await lab.start(run, cell)


async def test_a_run_is_sent_by_one_program(lab: LabStore, store: Store):
    run = await lab.add(plan(SUITE, VARIANTS), "id-1", 1.0)
    async with lab.running(run):
        other = await LabStore.open(store)
        assert (await other.run()).status == "running"
        with pytest.raises(InputError, match="another program"):
            await other.running(run).__aenter__()


async def test_old_runs_go_and_accepted_ones_stay(lab: LabStore, store: Store):
    planned = plan(SUITE, VARIANTS)
    for number in range(KEPT_RUNS + 3):
        run = await lab.add(planned, f"id-{number}", float(number))
        if number == 1:
            await lab.accept(run)
    await lab.prune(SUITE.source)
    runs = await lab.runs(SUITE.source)
    assert len(runs) == KEPT_RUNS + 1
    assert runs[-1].accepted
    assert await lab.accepted(SUITE.source) == runs[-1]
    assert await lab.accepted("other") is None
    await lab.delete(*runs)
    assert not await store.database.rows("SELECT * FROM lab_values")


async def test_a_run_is_found_by_number_or_id(lab: LabStore):
    with pytest.raises(InputError, match="no runs"):
        await lab.run()
    first = await lab.add(plan(SUITE, VARIANTS), "abc", 1.0)
    second = await lab.add(plan(SUITE, VARIANTS), "abd", 2.0)
    assert await lab.run("1") == first
    assert await lab.run("abd") == second == await lab.run()
    with pytest.raises(InputError, match="several"):
        await lab.run("ab")
    with pytest.raises(InputError, match="no run"):
        await lab.run("9")
