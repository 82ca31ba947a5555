"""`tui-chat eval run`: plans the requests of suites, sends them, and writes the results."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, TypeAlias

import click

from tui_chat.cli.app import new_id, open_http_client, open_library, synchronous
from tui_chat.cli.common_options import CommonOptions
from tui_chat.cli.options import FILE
from tui_chat.cli.output import counted, is_terminal, write_line, write_progress
from tui_chat.config import OFFLINE_ENDPOINT, Config
from tui_chat.errors import InputError, TuiChatError
from tui_chat.files import write_text
from tui_chat.lazy_dataclass import dataclass
from tui_chat.library.prices import load_prices
from tui_chat.models.sanitize import one_line, sanitize
from tui_chat.plugins.prompt_lab.command import compare_results, open_lab, print_run
from tui_chat.plugins.prompt_lab.costs import Estimate, RunBudget, estimate
from tui_chat.plugins.prompt_lab.grades import CaseResults, graded_cases, judges_of
from tui_chat.plugins.prompt_lab.plan import MOST_CELLS, applies, plan, resolve
from tui_chat.plugins.prompt_lab.report import (
    TestResult,
    count_words,
    junit_tests,
    junit_xml,
    run_with_cells,
)
from tui_chat.plugins.prompt_lab.results import LabStore
from tui_chat.plugins.prompt_lab.runner import Runner
from tui_chat.plugins.prompt_lab.suites import read_suite, sample_suite, suite_file
from tui_chat.plugins.prompt_lab.values import Cell, Plan, Run, Suite
from tui_chat.providers.keys import resolve_key

Lost: TypeAlias = dict[int, dict[tuple[str, str, int], int]]
"""What became worse: by run, the accepted run by case, variant and attempt."""


@dataclass(frozen=True, slots=True)
class RunOptions:
    """The options of `eval run`."""

    models: tuple[str, ...]
    presets: tuple[str, ...]
    repeat: int | None
    dry_run: bool
    max_cost: float | None
    """US dollars."""
    reuse: bool
    yes: bool
    baseline: bool
    json_file: Path | None
    junit_file: Path | None


@click.command("run")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option(
    "--model",
    "models",
    multiple=True,
    metavar="ENDPOINT/MODEL",
    help="A model; repeatable.",
)
@click.option(
    "--preset",
    "presets",
    multiple=True,
    metavar="FILE|NAME",
    help="A preset; repeatable.",
)
@click.option("--repeat", type=click.IntRange(1, 1000), help="Send each case so many times.")
@click.option("--dry-run", is_flag=True, help="Send nothing; print tokens and the price range.")
@click.option("--max-cost", type=click.FloatRange(min=0), metavar="USD", help="The budget.")
@click.option("--reuse", is_flag=True, help="Take over what the last run got for the same bytes.")
@click.option("--yes", is_flag=True, help="Do not ask before requests leave this machine.")
@click.option("--baseline", is_flag=True, help="Exit with 5 if it is worse than the accepted run.")
@click.option("--json", "json_file", type=FILE, metavar="FILE", help="Write the results as JSON.")
@click.option("--junit", "junit_file", type=FILE, metavar="FILE", help="… as JUnit, for CI.")
@click.pass_obj
def run_command(common: CommonOptions, paths: tuple[str, ...], **options: Any) -> None:
    """Run suites: send the cases with each variant, and check the replies.

    PATH is a suite (NAME.eval.json), a case of `presets test`, a list of tests (JSON, JSONL, CSV),
    a folder of cases, or the name of a preset that has a suite: `code-reviewer` has one that needs
    no key. The plan is stored before anything is sent; replies are no conversations. Ctrl+C keeps
    what has ended, and --reuse sends only the rest.

    \b
    Examples:
      tui-chat eval run code-reviewer
      tui-chat eval run tutor.eval.json --model loopback/echo
      tui-chat eval run cases.csv --preset tutor.json --repeat 3 --junit results.xml
      tui-chat eval run tutor --reuse

    \b
    Exit codes: 0 all passed, 1 a case failed, 2 wrong input or nothing to compare, 3 errors but no
    failure, 4 budget reached, 5 worse than the accepted run (--baseline), 130 Ctrl+C.
    """
    chosen = RunOptions(**options)
    if not chosen.dry_run:
        if code := _run(common, paths, chosen):
            sys.exit(code)
        return
    config = common.config()
    for suite in _read_suites(config, paths):
        planned = _plan_suite(config, suite, chosen)
        write_line(f"{suite.name}: {_plan_words(planned, _estimate(config, planned))}")
        for level, sentence in dict.fromkeys(note for cell in planned.cells for note in cell.notes):
            write_line(f"  {level}: {sentence}")


@synchronous
async def _run(common: CommonOptions, paths: Sequence[str], options: RunOptions) -> int:
    for path in (options.json_file, options.junit_file):
        if path is not None and not path.absolute().parent.is_dir():
            raise InputError(f"{path} cannot be written: {path.parent} is no folder.")
    try:
        return await _run_suites(common, paths, options)
    except TuiChatError as error:
        if options.junit_file is not None:  # an earlier file would be taken for this run's
            fault = one_line(str(error), 500)
            tests = [TestResult(path, "error", fault, error.advice) for path in paths]
            write_text(junit_xml({"eval run": tests}), options.junit_file)
        raise


async def _run_suites(common: CommonOptions, paths: Sequence[str], options: RunOptions) -> int:
    config = common.config()
    suites = _read_suites(config, paths)
    async with open_lab(common) as lab:
        runs = [await _add_run(config, lab, suite, options) for suite in suites]
        codes: list[int] = []
        lost: Lost = {}
        ended: list[Run] = []
        for run in runs:
            spent = sum(earlier.cost for earlier in ended)
            codes.append(await _send(config, lab, run, options, spent, lost))
            ended.append(await lab.run(str(run.seq)))
            if codes[-1] == 130:
                break
        await _write_files(lab, ended, lost, options)
        for run in ended:
            await lab.prune(run.source)
        return next((code for code in (130, 4, 5, 1, 3, 2) if code in codes), 0)


async def _send(
    config: Config, lab: LabStore, run: Run, options: RunOptions, spent: float, lost: Lost
) -> int:
    """Send the cells of a run and print what came of them; return the exit code. `spent` is what
    other runs have of the budget, in US dollars; what became worse is added to `lost`.
    """
    limit = None if options.max_cost is None else Decimal(str(options.max_cost))
    progress = _Progress(run)
    async with open_http_client() as client:
        runner = Runner(
            lab,
            run,
            config=config,
            client=client,
            prices=load_prices(),
            budget=RunBudget(limit, Decimal(str(spent))),
            on_cell=progress.update,
        )
        is_stopped = False
        try:
            await runner.send()
        except asyncio.CancelledError:  # Ctrl+C; what has ended is stored
            is_stopped = True
            if (task := asyncio.current_task()) is not None:
                task.uncancel()
        finally:
            progress.end()
    code = await _report(lab, await lab.run(str(run.seq)), options, lost)
    if is_stopped:
        write_line("Stopped. The same command with --reuse sends the rest.", err=True)
        return 130
    if runner.is_over_budget:
        words = "The same command with --reuse sends the rest."
        write_line(f"The budget does not allow the next request. {words}", err=True)
        return 4
    return code


async def _report(lab: LabStore, run: Run, options: RunOptions, lost: Lost) -> int:
    """Print a run; return the exit code that its results have."""
    groups = await lab.groups(run)
    await print_run(lab, run, groups)
    statuses = {group.status for group in groups}
    codes = {1} if "failed" in statuses else set[int]()
    if options.baseline:
        codes.add(await _compare_with_baseline(lab, run, lost))
    if "error" in statuses:
        codes.add(3)
    return next((code for code in (5, 1, 3, 2) if code in codes), 0)


async def _write_files(lab: LabStore, runs: Sequence[Run], lost: Lost, options: RunOptions) -> None:
    """Write the results of all runs. Raises InputError."""
    if options.json_file is not None:
        bodies = [await run_with_cells(lab, run) for run in runs]
        text = json.dumps(bodies[0] if len(bodies) == 1 else bodies, ensure_ascii=False, indent=1)
        write_text(sanitize(text, "json") + "\n", options.json_file)
    if options.junit_file is not None:
        suites: dict[str, list[TestResult]] = {}
        for run in runs:
            tests = await junit_tests(lab.cells(run), await lab.groups(run), lost.get(run.seq, {}))
            for variant, results in tests.items():
                name = variant if len(runs) == 1 else f"{run.suite}: {variant}"
                suites.setdefault(name, []).extend(results)
        write_text(junit_xml(suites), options.junit_file)


async def _compare_with_baseline(lab: LabStore, run: Run, lost: Lost) -> int:
    """Compare a run with the accepted one, and return the exit code of that: 5 if something passed
    there and failed here, which is added to `lost`, 2 if nothing can be compared. The first run has
    nothing to stand against.
    """
    accepted = await lab.accepted(run.source)
    if accepted is None:
        write_line(
            "No run of this suite is accepted yet, so nothing is compared. "
            f"`tui-chat eval accept {run.seq}` makes this one the baseline.",
            err=True,
        )
        return 0
    compared, sentence, worse = await compare_results(lab, accepted, run)
    write_line(sentence, err=not compared.total)
    if not compared.total:
        return 2
    lost[run.seq] = dict.fromkeys(worse, accepted.seq)
    return 5 if compared.worse else 0


class _Progress:
    """The line on the error stream that says how far a run is."""

    def __init__(self, run: Run) -> None:
        self._cells = run.total
        self._counts = Counter[str](run.counts)
        self._unchecked = run.unchecked
        self._cost = 0.0
        self._drawn = 0.0

    def update(self, cell: Cell) -> None:
        if not cell.is_ended:
            return
        self._counts[cell.status] += 1
        self._counts["waiting"] -= 1
        self._unchecked += cell.is_unchecked
        self._cost += cell.cost or 0
        now = time.monotonic()
        if now - self._drawn > 0.1:
            self._drawn = now
            done = self._cells - self._counts["waiting"]
            words = count_words({**self._counts, "waiting": 0}, self._unchecked)
            write_progress(f"{done:,}/{self._cells:,} cells  {words}  ${self._cost:.4f}")

    def end(self) -> None:
        with suppress(OSError):
            write_progress("")


# --- plans ---------------------------------------------------------------------------------


def _read_suites(config: Config, paths: Sequence[str]) -> list[Suite]:
    """Return the suites that the command line names. Raises InputError."""
    suites: list[Suite] = []
    for name in paths:
        path = Path(name)
        if not path.exists() and path.name == name:
            own = suite_file(config.config_dir, name)
            path = own if own.exists() else sample_suite(name)
            if not path.exists():
                raise InputError(f"{name} is no file, and no preset that has a suite ({own}).")
        suite = read_suite(path)
        if suite.note:
            write_line(suite.note, err=True)
        suites.append(suite)
    return suites


def _plan_suite(config: Config, suite: Suite, options: RunOptions) -> Plan:
    """Return the plan of a suite. Raises InputError if there is nothing to send."""
    variants = resolve(
        suite,
        config,
        open_library(config),
        models=options.models,
        presets=options.presets,
    )
    practice = {each.model_name for each in variants if each.endpoint.name == OFFLINE_ENDPOINT}
    if practice and not options.models and not any(each.model for each in suite.variants):
        write_line(
            f"No model is named, so a practice model answers ({', '.join(sorted(practice))}): this "
            f"tests files, not replies. Name one by --model, or by “models” in {suite.source}.",
            err=True,
        )
    pairs = [
        (case, variant) for variant in variants for case in suite.cases if applies(case, variant)
    ]
    if not pairs:
        raise InputError(f"{suite.source}: there is nothing to run.")
    if len(pairs) * (options.repeat or suite.repeat) > MOST_CELLS:
        raise InputError(f"{suite.source}: a run has at most {MOST_CELLS:,} cells.")
    tested = {(variant.endpoint.name, variant.model_name) for _, variant in pairs}
    cases = {case.key: case for case, _ in pairs}
    for name, judge in judges_of(replace(suite, cases=tuple(cases.values())), config).items():
        if judge in tested:
            write_line(f"warning: {name} judges its own replies.", err=True)
    return plan(suite, variants, repeat=options.repeat, pairs=pairs)


def _estimate(config: Config, planned: Plan) -> Estimate:
    known = load_prices()
    return estimate(planned, planned.cells, config, known, datetime.now(UTC))


def _plan_words(planned: Plan, estimated: Estimate) -> str:
    cells, cases = len(planned.cells), {cell.case for cell in planned.cells}
    words = f"{counted(cells, 'cell')} ({counted(len(cases), 'case')}, "
    words += (
        f"{counted(len(planned.variants), 'variant')}), {estimated.input_tokens:,} tokens of input"
    )
    words += f". ${estimated.low:.4f} to ${estimated.high:.4f}."
    if estimated.judgements:
        words = f"{words[:-1]}, with {counted(estimated.judgements, 'request')} to judges."
    if estimated.unlimited:
        words += f" {estimated.unlimited:,} replies have no limit: 4,096 tokens are assumed."
    if estimated.unknown:
        words += f" The price of {', '.join(estimated.unknown)} is unknown."
    return words


async def _add_run(config: Config, lab: LabStore, suite: Suite, options: RunOptions) -> Run:
    """Store the plan of a suite as a run, if what is left of it to send may be sent."""
    planned = _plan_suite(config, suite, options)
    if options.reuse:
        planned = await _with_results(lab, planned)
    left = tuple(cell for cell in planned.cells if not cell.is_ended)
    if options.reuse:
        count = len(planned.cells)
        write_line(f"{count - len(left):,} of {count:,} replies are taken over.", err=True)
    await _require_consent(config, replace(planned, cells=left), options)
    return await lab.add(planned, new_id(), time.time())


async def _with_results(lab: LabStore, planned: Plan) -> Plan:
    """Return a plan with the results that the last run of its suite has for the same requests,
    graded by the checks as they are now.
    """
    results = CaseResults()
    for run in (await lab.runs(planned.suite.source))[:1]:
        cases = graded_cases(await lab.suite(run))
        async for cell in lab.cells(run, "passed", "failed"):
            results.add(cell, cases[cell.case])
    return replace(planned, cells=tuple(results.of(planned, graded_cases(planned.suite))))


async def _require_consent(config: Config, planned: Plan, options: RunOptions) -> None:
    """Ask before requests leave the machine. Raises InputError, for a key that is missing and a
    model of unknown price under a budget too.
    """
    estimated = _estimate(config, planned)
    if options.max_cost is not None and estimated.unknown:
        raise InputError(
            f"The price of {', '.join(estimated.unknown)} is unknown, so --max-cost cannot hold.",
            advice="Set it in config.toml ([models.NAME.prices]), or omit --max-cost.",
        )
    if estimated.leaves and not options.yes and options.max_cost is None:
        words = _plan_words(planned, estimated)
        if not (sys.stdin.isatty() and is_terminal(err=True)):
            raise InputError(
                f"Requests would leave this machine: {words}",
                advice="Allow it with --max-cost or --yes.",
            )
        write_line(words, err=True)
        if not click.confirm("Send them?", err=True):
            raise click.Abort
    for key in estimated.keys:
        await resolve_key(key, os.environ)
