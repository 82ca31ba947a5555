"""The runner: each cell once, endpoints that refuse, budgets, stops, judges, and many cells."""

from __future__ import annotations

import asyncio
import json
import random
import subprocess
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import replace
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.plugins.prompt_lab.conftest import LOOPBACK, make_case, make_suite, make_variant
from tests.support.program import DEVNULL, Program, run_program
from tests.support.tables import each_row
from tui_chat.cli.app import new_id, open_http_client
from tui_chat.config import Config
from tui_chat.library.prices import load_prices
from tui_chat.models.endpoint import Endpoint, Retries
from tui_chat.models.model_facts import ModelFacts
from tui_chat.models.prices import Prices
from tui_chat.models.settings import Settings
from tui_chat.plugins.prompt_lab.costs import RunBudget, is_local
from tui_chat.plugins.prompt_lab.plan import plan
from tui_chat.plugins.prompt_lab.results import LabStore
from tui_chat.plugins.prompt_lab.runner import EndpointLimit, Runner, usual_limit
from tui_chat.plugins.prompt_lab.values import Cell, ReplyCheck, Run, Suite, Variant
from tui_chat.providers.client import HttpClient
from tui_chat.store import Store

HELLO = ReplyCheck("icontains", "hello")
QUICK = Retries(times=2, first_wait=0.01, longest_wait=0.02)
PRICED = replace(
    LOOPBACK,
    retries=QUICK,
    facts=(("*", ModelFacts(prices=Prices(input=Decimal(1000), output=Decimal(1000)))),),
)


@pytest.fixture
async def client() -> AsyncIterator[HttpClient]:
    async with open_http_client() as opened:
        yield opened


def config_with(*endpoints: Endpoint) -> Config:
    return Config(endpoints=endpoints)


def runner_of(
    lab: LabStore, run: Run, client: HttpClient, endpoint: Endpoint = LOOPBACK, **more: Any
) -> Runner:
    more.setdefault("budget", RunBudget(None))
    config = config_with(endpoint)
    prices = load_prices()
    return Runner(lab, run, config=config, client=client, prices=prices, **more)


async def added(lab: LabStore, suite: Suite, *variants: Variant, repeat: int = 1) -> Run:
    return await lab.add(plan(suite, variants, repeat=repeat), "id-1", 1.0)


async def all_cells(lab: LabStore, run: Run) -> list[Cell]:
    return [cell async for cell in lab.cells(run)]


async def test_each_cell_is_sent_and_graded(lab: LabStore, client: HttpClient):
    suite = make_suite(make_case("Hello", HELLO), make_case("Bye", HELLO))
    run = await added(lab, suite, make_variant("a", "Be nice."), make_variant("b"), repeat=2)
    seen: list[Cell] = []
    status = await runner_of(lab, run, client, on_cell=seen.append).send()
    assert status == "complete"
    cells = await all_cells(lab, run)
    assert {(cell.case, cell.status) for cell in cells} == {("Hello", "passed"), ("Bye", "failed")}
    assert len(cells) == 8
    assert [cell for cell in seen if cell.is_ended] == sorted(
        (cell for cell in seen if cell.is_ended), key=lambda cell: seen.index(cell)
    )
    first = cells[0].reply
    assert first is not None
    assert first.text == cells[0].case
    assert (first.reason, first.model, first.cost) == ("stop", "echo", 0)
    assert first.first is not None
    groups = await lab.groups(await lab.run())
    assert [(g.case, g.variant, g.passed, g.status) for g in groups] == [
        ("Hello", "a", 2, "passed"),
        ("Hello", "b", 2, "passed"),
        ("Bye", "a", 0, "failed"),
        ("Bye", "b", 0, "failed"),
    ]


async def test_equal_beginnings_follow_each_other():
    cases = [make_case(f"question {number}") for number in range(4)]
    variants = make_variant("a", "Long rule. " * 50), make_variant("b", "Other rule. " * 50)
    cells = plan(make_suite(*cases), variants).cells
    names = [cell.variant for cell in cells]
    assert names in (["a"] * 4 + ["b"] * 4, ["b"] * 4 + ["a"] * 4)


async def test_a_refusal_for_rate_limits_is_waited_for(lab: LabStore, client: HttpClient):
    endpoint = replace(LOOPBACK, retries=QUICK)
    suite = make_suite(*(make_case(f"Hello {n}", HELLO) for n in range(6)))
    run = await added(lab, suite, make_variant("a", model="flaky-429:2"))
    await runner_of(lab, run, client, endpoint).send()
    assert {cell.status for cell in await all_cells(lab, run)} <= {"passed", "error"}
    assert (await lab.run()).counts.get("passed", 0) >= 4


async def test_an_error_is_no_failure(lab: LabStore, client: HttpClient):
    endpoint = replace(LOOPBACK, retries=QUICK)
    run = await added(lab, make_suite(make_case("Hi", HELLO)), make_variant("a", model="flaky-500"))
    await runner_of(lab, run, client, endpoint).send()
    [cell] = await all_cells(lab, run)
    assert cell.status == "error"
    assert cell.reply is not None
    assert "500" in cell.reply.error or "fail" in cell.reply.error.lower()


async def test_nothing_leaves_while_an_endpoint_is_paused():
    now = 0.0
    limit = EndpointLimit(1, lambda: now)
    limit.pause(0.01)
    entering = asyncio.ensure_future(limit.enter())
    await asyncio.wait((entering,), timeout=0.05)
    assert not entering.done(), "the clock stands still"
    now = 0.02
    await entering
    limit.leave()
    await limit.enter()


@each_row(
    ("url", "local", "limit"),
    [
        ("http://loopback.invalid/v1", True, 4),
        ("http://127.0.0.1:8080/v1", True, 1),
        ("http://localhost:1234/v1", True, 1),
        ("http://192.168.1.4/v1", True, 1),
        ("http://[::1]:80/v1", True, 1),
        ("https://api.openai.com/v1", False, 4),
        ("https://8.8.8.8/v1", False, 4),
    ],
)
def test_local_servers(url: str, local: bool, limit: int):
    endpoint = replace(LOOPBACK, base_url=url)
    assert is_local(endpoint) is local
    assert usual_limit(endpoint) == limit


async def test_a_budget_is_never_exceeded(lab: LabStore, client: HttpClient):
    suite = make_suite(*(make_case(f"Hello {n}", HELLO) for n in range(20)))
    variant = replace(make_variant("a"), endpoint=PRICED, settings=Settings(max_tokens=10))
    planned = plan(suite, [variant])
    run = await lab.add(planned, "id-1", 1.0)
    most = max(cell.input_tokens for cell in planned.cells) + 10
    limit = Decimal(most) * 2 / 1000
    budget = RunBudget(limit)
    runner = runner_of(lab, run, client, PRICED, budget=budget)
    assert await runner.send() == "over_budget"
    run = await lab.run()
    assert run.status == "over_budget"
    assert 0 < run.counts["passed"] < 20
    assert run.counts["passed"] + run.counts["waiting"] == 20
    assert run.cost == pytest.approx(float(budget.spent))
    assert budget.spent <= limit
    assert budget.reserved == 0
    # What the real costs left over was used: the next reserve would not have fitted.
    assert budget.spent + Decimal(most) / 1000 > limit


async def test_a_budget_is_of_the_whole_run_whatever_the_price_is_later(
    lab: LabStore, client: HttpClient
):
    suite = make_suite(*(make_case(f"Hello {n}", HELLO) for n in range(6)))
    variant = replace(make_variant("a"), endpoint=PRICED, settings=Settings(max_tokens=10))
    planned = plan(suite, [variant])
    run = await lab.add(planned, "id-1", 1.0)
    limit = Decimal(max(cell.input_tokens for cell in planned.cells) + 10) / 1000
    await runner_of(lab, run, client, PRICED, budget=RunBudget(limit)).send()
    run = await lab.run()
    sent = run.counts["passed"]
    assert 0 < sent < 6
    again = RunBudget(limit, Decimal(str(run.cost)))
    assert await runner_of(lab, run, client, PRICED, budget=again).send() == "over_budget"
    run = await lab.run()
    assert run.counts["passed"] == sent, "what was spent counts"
    facts = ModelFacts(prices=Prices(input=Decimal(1), output=Decimal(1)))
    cheap = replace(PRICED, facts=(("*", facts),))
    left = RunBudget(limit, Decimal(str(run.cost)))
    assert await runner_of(lab, run, client, cheap, budget=left).send() == "complete"
    assert (await lab.run()).counts == {"passed": 6}
    assert (await lab.run()).cost == pytest.approx(float(left.spent))
    assert left.spent <= limit


def test_what_has_no_price_has_no_place_in_a_budget():
    assert RunBudget(None).reserve(None)
    assert not RunBudget(Decimal(1)).reserve(None)


async def test_a_stop_keeps_what_ended(lab: LabStore, client: HttpClient):
    texts = [f"Hello {'word ' * 4 * number}" for number in range(12)]
    suite = make_suite(*(make_case(text, HELLO) for text in texts))
    run = await added(lab, suite, make_variant("a", model="echo:100"))
    ended: list[Cell] = []
    started = asyncio.Event()

    def on_cell(cell: Cell) -> None:
        if cell.is_ended:
            ended.append(cell)
            started.set()

    sending = asyncio.create_task(runner_of(lab, run, client, on_cell=on_cell).send())
    await started.wait()
    sending.cancel()
    with suppress(asyncio.CancelledError):
        await sending
    run = await lab.run()
    assert run.status == "interrupted"
    assert run.counts["passed"] == len(ended)
    assert run.counts["interrupted"] >= 1
    assert run.counts["waiting"] >= 1


async def test_a_judge_is_asked_and_its_cost_counts(lab: LabStore, client: HttpClient):
    rubric = ReplyCheck("llm-rubric", "Is it friendly?")
    suite = replace(make_suite(make_case("Hello", HELLO, rubric)), judge="loopback/echo")
    variant = replace(make_variant("a"), endpoint=PRICED, settings=Settings(max_tokens=10))
    run = await added(lab, suite, variant)
    await runner_of(lab, run, client, PRICED).send()
    [cell] = await all_cells(lab, run)
    hello, judged = cell.verdicts
    assert hello.passed
    assert judged.type == "llm-rubric"
    assert judged.cost is not None
    assert cell.reply is not None
    assert cell.reply.cost is not None
    assert (await lab.run()).cost == pytest.approx(float(judged.cost + cell.reply.cost))


async def test_an_endpoint_that_is_gone_is_an_error(lab: LabStore, client: HttpClient):
    run = await added(lab, make_suite(make_case("Hi")), make_variant("a"))
    other = replace(LOOPBACK, name="other")
    assert await runner_of(lab, run, client, other).send() == "complete"
    [cell] = await all_cells(lab, run)
    assert cell.status == "error"


async def test_checks_of_the_request_are_verdicts(lab: LabStore, client: HttpClient):
    expected = {"checks": [{"id": "m1", "sent": False}, {"maxTokens": 900}]}
    suite = make_suite(replace(make_case("Hi"), expected=expected))
    run = await added(lab, suite, make_variant("a", "Be nice."))
    await runner_of(lab, run, client).send()
    [cell] = await all_cells(lab, run)
    assert [verdict.passed for verdict in cell.verdicts] == [False, True]
    assert cell.status == "failed"


PARTS, COUNT, CELLS = 10, 200, 40


@pytest.mark.slow
async def test_statements_of_a_cell_are_constant(tmp_path: Path) -> None:
    check = ReplyCheck("icontains", "line")
    cases = (make_case(f"{number} A line of the case.", check) for number in range(COUNT // 4))
    variants = [make_variant(name, f"Rule {name}.") for name in "abcd"]
    figures = [0]
    ended = statements = 0

    def on_cell(cell: Cell) -> None:
        nonlocal ended
        ended += cell.is_ended
        if cell.is_ended and ended % (COUNT // PARTS) == 0:
            figures.append(statements)

    def trace(_: str) -> None:
        nonlocal statements
        statements += 1

    async with (
        await Store.open(tmp_path / "chat.db", now=time.time, new_id=new_id) as store,
        open_http_client() as client,
    ):
        lab = await LabStore.open(store)
        run = await lab.add(plan(make_suite(*cases), variants), new_id(), time.time())
        await store.database._connection.set_trace_callback(trace)  # nothing public counts them
        runner = Runner(
            lab,
            run,
            config=Config(endpoints=(LOOPBACK,)),
            client=client,
            prices=load_prices(),
            budget=RunBudget(None),
            on_cell=on_cell,
        )
        await runner.send()
        assert (await lab.run()).counts == {"passed": run.total}
    counts = [after - before for before, after in pairwise(figures)]
    assert len(counts) == PARTS
    assert max(counts) <= 12 * COUNT / PARTS


@pytest.mark.slow
def test_what_killed_runs_got_is_taken_over(tmp_path: Path) -> None:
    dice, kills, folder = random.Random(0), 2, tmp_path
    check = {"type": "contains", "value": "Hello"}
    tests = [{"draft": f"Hello {number}", "assert": [check]} for number in range(CELLS)]
    suite = {"presets": ["none"], "models": ["loopback/echo:20"], "tests": tests}
    path = folder / "talk.eval.json"
    path.write_text(json.dumps(suite))
    folders = ["--data-dir", str(folder / "data"), "--config-dir", str(folder / "config")]

    command = [*folders, "eval", "run", str(path), "--reuse"]
    for _ in range(kills):
        process = Program(command, stdin=DEVNULL, stdout=DEVNULL, stderr=DEVNULL)
        with suppress(subprocess.TimeoutExpired):
            process.wait(dice.uniform(0.5, 4.0))
        process.kill()
        process.wait()
    run_program(*command, check=True)
    shown = run_program(*folders, "eval", "list", "--json", check=True)
    runs = json.loads(shown.stdout)
    counts = [run["cells"].get("passed", 0) for run in runs]
    assert counts == sorted(counts, reverse=True), "the newest comes first"
    assert counts[0] == CELLS
