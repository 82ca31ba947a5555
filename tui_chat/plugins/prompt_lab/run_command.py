"""`tui-chat eval run`: plans suites, sends what is planned, and writes what came of it."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import AsyncIterator, Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import click

from tui_chat.cli import completion
from tui_chat.cli.app import new_id, open_http_client, open_library, open_store, synchronous
from tui_chat.cli.common_options import CommonOptions
from tui_chat.cli.options import FILE
from tui_chat.cli.output import counted, is_terminal, write_line, write_progress
from tui_chat.config import Config
from tui_chat.errors import InputError
from tui_chat.files import write_text
from tui_chat.lazy_dataclass import dataclass
from tui_chat.library.prices import KnownPrices, load_prices
from tui_chat.models.preset import Preset
from tui_chat.plugins.prompt_lab.budget import Budget
from tui_chat.plugins.prompt_lab.command import compare_results, open_lab, print_run
from tui_chat.plugins.prompt_lab.estimates import Estimate, estimate
from tui_chat.plugins.prompt_lab.judge import judges_of
from tui_chat.plugins.prompt_lab.plan import MOST_CELLS, applies, plan
from tui_chat.plugins.prompt_lab.preset_states import PresetStates
from tui_chat.plugins.prompt_lab.report import csv_pieces, json_line, json_pieces, junit_text
from tui_chat.plugins.prompt_lab.results import LabStore
from tui_chat.plugins.prompt_lab.runner import Runner
from tui_chat.plugins.prompt_lab.suites import read_suite, sample_suite, suite_file
from tui_chat.plugins.prompt_lab.values import Cell, Plan, Run, Suite
from tui_chat.plugins.prompt_lab.variants import (
    missing_presets,
    resolve,
)
from tui_chat.plugins.prompt_lab.verdicts import regrade, with_checks, with_judge
from tui_chat.providers.keys import resolve_key


@dataclass(frozen=True, slots=True)
class RunOptions:
    """The options of `eval run`."""

    models: tuple[str, ...]
    presets: tuple[str, ...]
    repeat: int | None
    only: str
    failed: bool
    dry_run: bool
    max_cost: float | None
    """US dollars."""
    max_output: int | None
    """Tokens."""
    concurrency: int | None
    resume: str | None
    """The run; empty for the newest."""
    regrade: str | None
    """The same."""
    retry_errors: bool
    reuse: bool
    yes: bool
    baseline: bool
    json_file: Path | None
    jsonl_file: Path | None
    junit_file: Path | None
    csv_file: Path | None


@click.command("run")
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@click.option(
    "--model",
    "models",
    multiple=True,
    shell_complete=completion.complete_model,
    metavar="ENDPOINT/MODEL",
    help="A model; repeatable.",
)
@click.option(
    "--preset",
    "presets",
    multiple=True,
    shell_complete=completion.complete_preset_or_file,
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
@click.option(
    "--regrade",
    is_flag=False,
    flag_value="",
    metavar="[RUN]",
    help="Check the stored replies of a run again; send nothing.",
)
@click.option("--reuse", is_flag=True, help="Take over what the last run got for the same bytes.")
@click.option("--yes", is_flag=True, help="Do not ask before requests leave this machine.")
@click.option("--baseline", is_flag=True, help="Exit with 5 if it is worse than the accepted run.")
@click.option("--json", "json_file", type=FILE, metavar="FILE", help="Write the results as JSON.")
@click.option("--jsonl", "jsonl_file", type=FILE, metavar="FILE", help="… a line as each ends.")
@click.option("--junit", "junit_file", type=FILE, metavar="FILE", help="… as JUnit, for CI.")
@click.option("--csv", "csv_file", type=FILE, metavar="FILE", help="… as a table.")
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
        _print_estimates(common, paths, chosen)
    elif chosen.resume is None and not paths and chosen.regrade is None:
        raise InputError("Name a suite, or --resume.", advice="See `tui-chat eval run --help`.")
    else:
        code = _run(common, paths, chosen)
        if code:
            sys.exit(code)


# --- plans ---------------------------------------------------------------------------------


def _suites(config: Config, paths: Sequence[str], options: RunOptions) -> list[Suite]:
    """Return the suites that the command line names, with the cases that it chooses."""
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
        words = options.only.casefold()
        cases = tuple(case for case in suite.cases if words in case.name.casefold())
        if not cases:
            raise InputError(f"{path}: no case has “{options.only}” in its name.")
        suites.append(replace(suite, cases=cases))
    return suites


async def _states(
    common: CommonOptions, suites: Iterable[Suite], options: RunOptions
) -> Mapping[str, Preset]:
    """Return the kept states of presets that suites and flags name. Raises InputError."""
    library = open_library(common.config())
    names = {n for suite in suites for n in missing_presets(suite, library, options.presets)}
    if not any("@" in name for name in names):
        return {}
    async with open_store(common) as store:
        return await (await PresetStates.open(store)).named(names)


def _plan(
    config: Config,
    suite: Suite,
    options: RunOptions,
    states: Mapping[str, Preset],
    failed: set[tuple[str, str]] | None = None,
) -> Plan:
    """Return the plan of a suite. `states` are those that it names, and `failed` the cases and
    variants that are planned, None for all. Raises InputError if there is nothing to send.
    """
    variants = resolve(
        suite,
        config,
        open_library(config),
        models=options.models,
        presets=options.presets,
        max_output=options.max_output,
        states=states,
    )
    pairs = [
        (case, variant)
        for variant in variants
        for case in suite.cases
        if applies(case, variant) and (failed is None or (case.key, variant.name) in failed)
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
    known = load_prices(config.data_dir)
    return estimate(planned, planned.cells, config, known, datetime.now(UTC))


@synchronous
async def _print_estimates(
    common: CommonOptions, paths: Sequence[str], options: RunOptions
) -> None:
    config = common.config()
    if not paths:
        raise InputError("Name a suite.")
    suites = _suites(config, paths, options)
    states = await _states(common, suites, options)
    for suite in suites:
        planned = _plan(config, suite, options, states)
        write_line(f"{suite.name}: {_plan_words(planned, _estimate(config, planned))}")
        for level, sentence in dict.fromkeys(note for cell in planned.cells for note in cell.notes):
            write_line(f"  {level}: {sentence}")


def _plan_words(planned: Plan, estimated: Estimate) -> str:
    cells, cases = len(planned.cells), {cell.case for cell in planned.cells}
    words = f"{counted(cells, 'cell')} ({counted(len(cases), 'case')}, "
    words += (
        f"{counted(len(planned.variants), 'variant')}), {estimated.input_tokens:,} tokens of input"
    )
    if estimated.shared_tokens:
        words += f", {estimated.shared_tokens:,} of them perhaps from caches"
    words += f". ${estimated.low:.4f} to ${estimated.high:.4f}."
    if estimated.judgements:
        words = f"{words[:-1]}, with {counted(estimated.judgements, 'request')} to judges."
    if estimated.unlimited:
        words += f" {estimated.unlimited:,} replies have no limit: 4,096 tokens are assumed."
    if estimated.unknown:
        words += f" The price of {', '.join(estimated.unknown)} is unknown."
    return words


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


# --- running -------------------------------------------------------------------------------


@synchronous
async def _run(common: CommonOptions, paths: Sequence[str], options: RunOptions) -> int:
    config = common.config()
    for path in (options.json_file, options.jsonl_file, options.junit_file, options.csv_file):
        if path is not None and not path.absolute().parent.is_dir():
            raise InputError(f"{path} cannot be written: {path.parent} is no folder.")
    suites: list[Suite] = []
    if options.resume is None and options.regrade is None:
        suites = _suites(config, paths, options)
    states = await _states(common, suites, options)
    async with open_lab(common) as lab:
        if options.regrade is not None:
            return await _regrade(config, lab, paths, options)
        statuses = ["waiting", "interrupted", "streaming"]
        if options.retry_errors:
            statuses.append("error")
        runs: list[Run] = []
        if options.resume is not None:
            run = await lab.run(options.resume)
            await _require_consent(config, await lab.plan(run, *statuses), options)
            runs.append(run)
        else:
            for suite in suites:
                failed = await _failed_before(lab, suite) if options.failed else None
                planned = _plan(config, suite, options, states, failed)
                runs.append(await _add(config, lab, planned, options))
        codes = [await _send(config, lab, run, statuses, options) for run in runs]
        for run in runs:
            await lab.prune(run.source)
        return next((code for code in (130, 4, 1, 5, 3, 2) if code in codes), 0)


async def _add(config: Config, lab: LabStore, planned: Plan, options: RunOptions) -> Run:
    """Store a plan as a run, if what is left of it to send may be sent."""
    run = await lab.add(planned, new_id(), time.time())
    try:
        if options.reuse:
            words = f"{await lab.reuse(run):,} of {len(planned.cells):,} replies are taken over."
            write_line(words, err=True)
        await _require_consent(config, await lab.plan(run, "waiting"), options)
    except BaseException:
        await lab.delete(run)
        raise
    return await lab.run(str(run.seq))


async def _failed_before(lab: LabStore, suite: Suite) -> set[tuple[str, str]]:
    """Return the cases and variants that did not pass in the last run of a suite."""
    runs = await lab.runs(suite.source)
    if not runs:
        raise InputError(f"{suite.source} has no earlier run.")
    groups = await lab.groups(runs[0])
    return {(group.case, group.variant) for group in groups if group.status != "passed"}


async def _send(
    config: Config, lab: LabStore, run: Run, statuses: Sequence[str], options: RunOptions
) -> int:
    """Send the cells of a run, print and write what came of them; return the exit code."""
    limit = None if options.max_cost is None else Decimal(str(options.max_cost))
    with _opened(options.jsonl_file, "a") as write_result:
        progress = _Progress(run, sum(run.counts.get(status, 0) for status in statuses))

        def on_cell(cell: Cell) -> None:
            progress.update(cell)
            if cell.status != "streaming":
                write_result(json_line(run, cell))

        prices: KnownPrices = load_prices(config.data_dir)
        async with open_http_client() as client:
            runner = Runner(
                lab,
                run,
                config=config,
                client=client,
                prices=prices,
                budget=Budget(limit, Decimal(str(run.cost))),
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
    code = await _report(lab, await lab.run(str(run.seq)), options)
    if is_stopped:
        write_line(f"Stopped. `tui-chat eval run --resume {run.seq}` sends the rest.", err=True)
        return 130
    if runner.is_over_budget:
        words = f"`tui-chat eval run --resume {run.seq} --max-cost USD` sends the rest."
        write_line(f"The budget does not allow the next request. {words}", err=True)
        return 4
    return code


async def _report(lab: LabStore, run: Run, options: RunOptions) -> int:
    """Print a run and write the files; return the exit code that its results have."""
    groups = await lab.groups(run)
    await print_run(lab, run, groups)
    await _write(options.json_file, json_pieces(run, lab.cells(run)))
    await _write(options.csv_file, csv_pieces(run, lab.cells(run)))
    if options.junit_file is not None:
        write_text(await junit_text(lab.cells(run), groups), options.junit_file)
    statuses = {group.status for group in groups}
    codes = {1} if "failed" in statuses else set[int]()
    if options.baseline:
        codes.add(await _compare_with_baseline(lab, run))
    if "error" in statuses:
        codes.add(3)
    return next((code for code in (1, 5, 3, 2) if code in codes), 0)


async def _write(path: Path | None, pieces: AsyncIterator[str]) -> None:
    """Write pieces of text to a file, if there is one. Raises InputError."""
    with _opened(path, "w") as write:
        if path is not None:
            async for piece in pieces:
                write(piece)


async def _compare_with_baseline(lab: LabStore, run: Run) -> int:
    """Compare a run with the accepted one, and return the exit code of that: 5 if something passed
    there and failed here, 2 if nothing can be compared. The first run has nothing to stand against.
    """
    accepted = await lab.accepted(run.source)
    if accepted is None:
        write_line(
            "No run of this suite is accepted yet, so nothing is compared. "
            f"`tui-chat eval accept {run.seq}` makes this one the baseline.",
            err=True,
        )
        return 0
    compared, sentence = await compare_results(lab, accepted, run)
    write_line(sentence, err=not compared.total)
    if not compared.total:
        return 2
    return 5 if compared.worse else 0


async def _regrade(config: Config, lab: LabStore, paths: Sequence[str], options: RunOptions) -> int:
    """Check the stored replies of a run again, by the cases of suites if some are named."""
    run = await lab.run(options.regrade or "")
    suites = _suites(config, paths, options)
    cases = {case.key: with_judge(case, run.judge) for suite in suites for case in suite.cases}
    async with lab.running(run):
        async for cell in lab.cells(run, "passed", "failed", "error"):
            if cell.reply is None:
                continue
            planned, variant = await lab.parts(run, cell)
            earlier = with_judge(planned, run.judge)
            case = with_checks(earlier, cases.get(cell.case, earlier))
            await lab.regrade(run, regrade(case, cell, earlier, variant), case)
        status = "interrupted" if run.status == "running" else run.status
        await lab.end(run, status, run.finished or time.time())
    return await _report(lab, await lab.run(str(run.seq)), options)


@contextmanager
def _opened(path: Path | None, mode: str) -> Generator[Callable[[str], None]]:
    """Yield what writes text to a file at once, nowhere without a path. Raises InputError."""
    if path is None:
        yield lambda text: None
        return
    try:
        with path.open(mode, encoding="utf-8", newline="") as file:

            def write(text: str) -> None:
                file.write(text)
                file.flush()

            yield write
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}") from error


class _Progress:
    """The line on the error stream that says how far a run is."""

    def __init__(self, run: Run, cells: int) -> None:
        self._run, self._cells = run, cells
        self._counts = {"passed": 0, "failed": 0, "error": 0, "unchecked": 0}
        self._cost = run.cost
        self._began = time.monotonic()
        self._drawn = 0.0

    def update(self, cell: Cell) -> None:
        if cell.status in self._counts:
            self._counts["unchecked" if cell.is_unchecked else cell.status] += 1
            self._cost += cell.cost or 0
        now = time.monotonic()
        if now - self._drawn > 0.1:
            self._drawn = now
            write_progress(self._words(now))

    def _words(self, now: float) -> str:
        done = sum(self._counts.values())
        passed, failed, errors, unchecked = self._counts.values()
        words = f"{done:,}/{self._cells:,} cells  {passed} ✓ {failed} ✗ {errors} !"
        words += f" {unchecked} without checks" if unchecked else ""
        words += f"  ${self._cost:.4f}"
        if done:
            left = (now - self._began) / done * (self._cells - done)
            words += f"  about {left:,.0f} s left"
        return words

    def end(self) -> None:
        with suppress(OSError):
            write_progress("")
