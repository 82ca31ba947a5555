"""The plans of `eval run`: what its options choose, what it costs, and whether it may be sent."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import click

from tui_chat.cli.app import new_id, open_library, open_store, synchronous
from tui_chat.cli.common_options import CommonOptions
from tui_chat.cli.output import counted, is_terminal, write_line
from tui_chat.config import OFFLINE_ENDPOINT, Config
from tui_chat.errors import InputError
from tui_chat.lazy_dataclass import dataclass
from tui_chat.library.prices import load_prices
from tui_chat.models.preset import Preset
from tui_chat.plugins.prompt_lab.case_results import CaseResults, graded_cases
from tui_chat.plugins.prompt_lab.estimates import Estimate, estimate
from tui_chat.plugins.prompt_lab.judge import judges_of
from tui_chat.plugins.prompt_lab.plan import MOST_CELLS, applies, plan
from tui_chat.plugins.prompt_lab.preset_states import PresetStates
from tui_chat.plugins.prompt_lab.results import LabStore
from tui_chat.plugins.prompt_lab.suites import read_suite, sample_suite, suite_file
from tui_chat.plugins.prompt_lab.values import Plan, Run, Suite
from tui_chat.plugins.prompt_lab.variants import missing_presets, resolve
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
    retry_errors: bool
    reuse: bool
    yes: bool
    baseline: bool
    json_file: Path | None
    jsonl_file: Path | None
    junit_file: Path | None


def read_suites(config: Config, paths: Sequence[str], options: RunOptions) -> list[Suite]:
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


async def kept_states(
    common: CommonOptions, suites: Iterable[Suite], options: RunOptions
) -> Mapping[str, Preset]:
    """Return the kept states of presets that suites and flags name. Raises InputError."""
    library = open_library(common.config())
    names = {n for suite in suites for n in missing_presets(suite, library, options.presets)}
    if not any("@" in name for name in names):
        return {}
    async with open_store(common) as store:
        return await (await PresetStates.open(store)).named(names)


def _plan_suite(
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
    practice = {each.model_name for each in variants if each.endpoint.name == OFFLINE_ENDPOINT}
    if practice and not options.models and not any(each.model for each in suite.variants):
        write_line(
            f"No model is named, so a practice model answers ({', '.join(sorted(practice))}): this "
            f"tests files, not replies. Name one by --model, or by “models” in {suite.source}.",
            err=True,
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
    known = load_prices()
    return estimate(planned, planned.cells, config, known, datetime.now(UTC))


async def _failed_before(lab: LabStore, suite: Suite) -> set[tuple[str, str]]:
    """Return the cases and variants that did not pass in the last run of a suite."""
    runs = await lab.runs(suite.source)
    if not runs:
        raise InputError(f"{suite.source} has no earlier run.")
    groups = await lab.groups(runs[0])
    return {(group.case, group.variant) for group in groups if group.status != "passed"}


@synchronous
async def print_estimates(common: CommonOptions, paths: Sequence[str], options: RunOptions) -> None:
    """Print what each suite would send, and its price."""
    config = common.config()
    if not paths:
        raise InputError("Name a suite.")
    suites = read_suites(config, paths, options)
    states = await kept_states(common, suites, options)
    for suite in suites:
        planned = _plan_suite(config, suite, options, states)
        write_line(f"{suite.name}: {_plan_words(planned, _estimate(config, planned))}")
        for level, sentence in dict.fromkeys(note for cell in planned.cells for note in cell.notes):
            write_line(f"  {level}: {sentence}")


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


async def add_run(
    config: Config, lab: LabStore, suite: Suite, options: RunOptions, states: Mapping[str, Preset]
) -> Run:
    """Store the plan of a suite as a run, if what is left of it to send may be sent."""
    failed = await _failed_before(lab, suite) if options.failed else None
    planned = _plan_suite(config, suite, options, states, failed)
    if options.reuse:
        planned = await _with_results(lab, planned)
    left = tuple(cell for cell in planned.cells if not cell.is_ended)
    if options.reuse:
        count = len(planned.cells)
        write_line(f"{count - len(left):,} of {count:,} replies are taken over.", err=True)
    await require_consent(config, replace(planned, cells=left), options)
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


async def require_consent(config: Config, planned: Plan, options: RunOptions) -> None:
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
