"""`tui-chat eval run`: sends the planned requests, and writes the results."""

from __future__ import annotations

import asyncio
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal, TypeAlias

import click

from tui_chat.cli.app import open_http_client, synchronous
from tui_chat.cli.common_options import CommonOptions
from tui_chat.cli.options import FILE
from tui_chat.cli.output import write_line, write_progress
from tui_chat.config import Config
from tui_chat.errors import InputError, TuiChatError
from tui_chat.files import open_private, write_text
from tui_chat.library.prices import KnownPrices, load_prices
from tui_chat.models.sanitize import one_line
from tui_chat.plugins.prompt_lab.budget import RunBudget
from tui_chat.plugins.prompt_lab.command import compare_results, open_lab, print_run
from tui_chat.plugins.prompt_lab.junit import TestResult, junit_xml
from tui_chat.plugins.prompt_lab.report import (
    count_words,
    json_line,
    json_pieces,
    junit_tests,
)
from tui_chat.plugins.prompt_lab.results import LabStore
from tui_chat.plugins.prompt_lab.run_plans import (
    RunOptions,
    add_run,
    kept_states,
    print_estimates,
    read_suites,
    require_consent,
)
from tui_chat.plugins.prompt_lab.runner import Runner
from tui_chat.plugins.prompt_lab.values import Cell, Run, Suite

Lost: TypeAlias = dict[int, dict[tuple[str, str, int], int]]
"""What became worse: by run, the accepted run by case, variant and attempt."""


@click.command("run")
@click.argument("paths", nargs=-1, metavar="[PATH]...")
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
    help="A preset, or a state of one (NAME@NUMBER, NAME@saved); repeatable.",
)
@click.option("--repeat", type=click.IntRange(1, 1000), help="Send each case so many times.")
@click.option("--only", default="", metavar="TEXT", help="Only cases with this in their names.")
@click.option("--failed", is_flag=True, help="Only what did not pass in the suite's last run.")
@click.option("--dry-run", is_flag=True, help="Send nothing; print tokens and the price range.")
@click.option("--max-cost", type=click.FloatRange(min=0), metavar="USD", help="The budget.")
@click.option("--max-output", type=click.IntRange(min=1), metavar="TOKENS", help="For each reply.")
@click.option("--concurrency", type=click.IntRange(1, 64), help="Requests at once per endpoint.")
@click.option(
    "--resume",
    is_flag=False,
    flag_value="",
    metavar="[RUN]",
    help="Send what is left of a run; default: the newest.",
)
@click.option("--retry-errors", is_flag=True, help="With --resume: also cells with errors.")
@click.option("--reuse", is_flag=True, help="Take over what the last run got for the same bytes.")
@click.option("--yes", is_flag=True, help="Do not ask before requests leave this machine.")
@click.option("--baseline", is_flag=True, help="Exit with 5 if it is worse than the accepted run.")
@click.option("--json", "json_file", type=FILE, metavar="FILE", help="Write the results as JSON.")
@click.option("--jsonl", "jsonl_file", type=FILE, metavar="FILE", help="… a line as each ends.")
@click.option("--junit", "junit_file", type=FILE, metavar="FILE", help="… as JUnit, for CI.")
@click.pass_obj
def run_command(common: CommonOptions, paths: tuple[str, ...], **options: Any) -> None:
    """Run suites: send the cases with each variant, and check the replies.

    PATH is a suite (NAME.eval.json), a case of `presets test`, a list of tests (JSON, JSONL, CSV),
    a folder of cases, or the name of a preset that has a suite: `code-reviewer` has one that needs
    no key. The plan is stored before anything is sent; replies are no conversations. Ctrl+C keeps
    what has ended, and --resume sends the rest.

    \b
    Examples:
      tui-chat eval run code-reviewer
      tui-chat eval run tutor.eval.json --model loopback/echo
      tui-chat eval run cases.csv --preset tutor.json --repeat 3 --junit results.xml
      tui-chat eval run --resume

    \b
    Exit codes: 0 all passed, 1 a case failed, 2 wrong input or nothing to compare, 3 errors but no
    failure, 4 budget reached, 5 worse than the accepted run (--baseline), 130 Ctrl+C.
    """
    chosen = RunOptions(**options)
    if chosen.dry_run:
        print_estimates(common, paths, chosen)
    elif chosen.resume is None and not paths:
        raise InputError("Name a suite, or --resume.", advice="See `tui-chat eval run --help`.")
    else:
        code = _run(common, paths, chosen)
        if code:
            sys.exit(code)


@synchronous
async def _run(common: CommonOptions, paths: Sequence[str], options: RunOptions) -> int:
    for path in (options.json_file, options.jsonl_file, options.junit_file):
        if path is not None and not path.absolute().parent.is_dir():
            raise InputError(f"{path} cannot be written: {path.parent} is no folder.")
    try:
        return await _run_suites(common, paths, options)
    except TuiChatError as error:
        if options.junit_file is not None:  # an earlier file would be taken for this run's
            fault = one_line(str(error), 500)
            tests = [TestResult(path, "error", fault, error.advice) for path in paths or ("run",)]
            write_text(junit_xml({"eval run": tests}), options.junit_file)
        raise


async def _run_suites(common: CommonOptions, paths: Sequence[str], options: RunOptions) -> int:
    config = common.config()
    suites: list[Suite] = []
    if options.resume is None:
        suites = read_suites(config, paths, options)
    states = await kept_states(common, suites, options)
    async with open_lab(common) as lab:
        statuses = ["waiting", "interrupted", "streaming"]
        if options.retry_errors:
            statuses.append("error")
        if options.resume is not None:
            runs = [await lab.run(options.resume)]
            await require_consent(config, await lab.plan(runs[0], *statuses), options)
        else:
            runs = [await add_run(config, lab, suite, options, states) for suite in suites]
        codes: list[int] = []
        lost: Lost = {}
        ended: list[Run] = []
        for run in runs:
            spent = sum(earlier.cost for earlier in ended)
            codes.append(await _send(config, lab, run, statuses, options, spent, lost))
            ended.append(await lab.run(str(run.seq)))
            if codes[-1] == 130:
                break
        await _write_files(lab, ended, lost, options)
        for run in ended:
            await lab.prune(run.source)
        return next((code for code in (130, 4, 5, 1, 3, 2) if code in codes), 0)


async def _send(
    config: Config,
    lab: LabStore,
    run: Run,
    statuses: Sequence[str],
    options: RunOptions,
    spent: float,
    lost: Lost,
) -> int:
    """Send the cells of a run and print what came of them; return the exit code. `spent` is what
    other runs have of the budget, in US dollars; what became worse is added to `lost`.
    """
    limit = None if options.max_cost is None else Decimal(str(options.max_cost))
    with _opened(options.jsonl_file, "a") as write_result:
        progress = _Progress(run, sum(run.counts.get(status, 0) for status in statuses))

        def on_cell(cell: Cell) -> None:
            progress.update(cell)
            if cell.status != "streaming":
                write_result(json_line(run, cell))

        prices: KnownPrices = load_prices()
        async with open_http_client() as client:
            runner = Runner(
                lab,
                run,
                config=config,
                client=client,
                prices=prices,
                budget=RunBudget(limit, Decimal(str(spent + run.cost))),
                concurrency=options.concurrency,
                on_cell=on_cell,
            )
            is_stopped = False
            try:
                await runner.send(*statuses)
            except asyncio.CancelledError:  # Ctrl+C; what has ended is stored
                is_stopped = True
                if (task := asyncio.current_task()) is not None:
                    task.uncancel()
            finally:
                progress.end()
    if runner.changed:
        write_line(
            f"{runner.changed} requests differ from the plan: the configuration or the "
            "program changed since.",
            err=True,
        )
    code = await _report(lab, await lab.run(str(run.seq)), options, lost)
    if is_stopped:
        write_line(f"Stopped. `tui-chat eval run --resume {run.seq}` sends the rest.", err=True)
        return 130
    if runner.is_over_budget:
        words = f"`tui-chat eval run --resume {run.seq} --max-cost USD` sends the rest."
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
    await _write(options.json_file, json_pieces([(run, lab.cells(run)) for run in runs]))
    if options.junit_file is not None:
        suites: dict[str, list[TestResult]] = {}
        for run in runs:
            tests = await junit_tests(lab.cells(run), await lab.groups(run), lost.get(run.seq, {}))
            for variant, results in tests.items():
                name = variant if len(runs) == 1 else f"{run.suite}: {variant}"
                suites.setdefault(name, []).extend(results)
        write_text(junit_xml(suites), options.junit_file)


async def _write(path: Path | None, pieces: AsyncIterator[str]) -> None:
    """Write pieces of text to a file, if there is one. Raises InputError."""
    with _opened(path, "w") as write:
        if path is not None:
            async for piece in pieces:
                write(piece)


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


@contextmanager
def _opened(path: Path | None, mode: Literal["w", "a"]) -> Generator[Callable[[str], None]]:
    """Yield what writes text to a file at once, nowhere without a path. Raises InputError."""
    if path is None:
        yield lambda text: None
        return
    try:
        with open_private(path, mode) as file:

            def write(text: str) -> None:
                file.write(text)
                file.flush()

            yield write
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}") from error


class _Progress:
    """The line on the error stream that says how far a run is."""

    def __init__(self, run: Run, cells: int) -> None:
        self._cells = cells
        self._counts: Counter[str] = Counter()
        self._unchecked = 0
        self._cost = run.cost
        self._began = time.monotonic()
        self._drawn = 0.0

    def update(self, cell: Cell) -> None:
        if cell.is_ended:
            self._counts[cell.status] += 1
            self._unchecked += cell.is_unchecked
            self._cost += cell.cost or 0
        now = time.monotonic()
        if now - self._drawn > 0.1:
            self._drawn = now
            write_progress(self._words(now))

    def _words(self, now: float) -> str:
        done = self._counts.total()
        words = f"{done:,}/{self._cells:,} cells  {count_words(self._counts, self._unchecked)}"
        words += f"  ${self._cost:.4f}"
        if done:
            left = (now - self._began) / done * (self._cells - done)
            words += f"  about {left:,.0f} s left"
        return words

    def end(self) -> None:
        with suppress(OSError):
            write_progress("")
