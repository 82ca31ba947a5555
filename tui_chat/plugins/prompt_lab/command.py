"""`tui-chat eval`: shows, compares and keeps runs; `run_command` makes them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from datetime import datetime

import click

from tui_chat.api import Command
from tui_chat.cli.app import asynchronous, open_store
from tui_chat.cli.common_options import CommonOptions
from tui_chat.cli.lazy_group import LazyGroup
from tui_chat.cli.options import json_option
from tui_chat.cli.output import Styled, counted, write_json, write_line, write_list
from tui_chat.errors import InputError
from tui_chat.models.sanitize import one_line
from tui_chat.plugins.prompt_lab.report import (
    PairCounts,
    compare,
    paired_variants,
    problem_of,
    run_json,
    run_line,
    run_table,
    run_with_cells,
    status_words,
)
from tui_chat.plugins.prompt_lab.results import LabStore
from tui_chat.plugins.prompt_lab.values import SAVED, Group, Run

_SHOWN_FAILURES = 20


@click.group(
    "eval",
    cls=LazyGroup,
    place=("eval",),
    table=[
        Command(
            "run",
            "tui_chat.plugins.prompt_lab.run_command:run_command",
            "Run suites: send the cases with each variant, and check the replies.",
        )
    ],
)
def eval_group() -> None:
    """Send variants of a prompt with the cases of a suite, and check the replies.

    \b
    Examples:
      tui-chat eval run tutor.eval.json --dry-run
      tui-chat eval run tutor.eval.json --max-cost 0.50
      tui-chat eval compare
    """


@asynccontextmanager
async def open_lab(common: CommonOptions) -> AsyncGenerator[LabStore]:
    """Open the runs in the database."""
    async with open_store(common) as store:
        yield await LabStore.open(store)


@eval_group.command("list")
@json_option()
@asynchronous
async def list_runs(common: CommonOptions, as_json: bool) -> None:
    """List the runs, the newest first.

    \b
    Example:
      tui-chat eval list
    """
    async with open_lab(common) as lab:
        runs = await lab.runs()
    write_list(
        runs,
        as_json,
        run_json,
        (
            *("RUN", "SUITE", "STARTED", "CELLS", "PASSED", "FAILED", "ERRORS", "NO CHECKS"),
            *("COST", "STATUS"),
        ),
        _run_cells,
        (1, 10),
        nothing="There are no runs.",
    )


def _run_cells(run: Run) -> tuple[str, ...]:
    started = datetime.fromtimestamp(run.started).astimezone()
    passed, failed, errors = (run.counts.get(key, 0) for key in ("passed", "failed", "error"))
    counts = map(str, (passed - run.unchecked, failed, errors, run.unchecked))
    return (
        *(str(run.seq), run.suite, f"{started:%Y-%m-%d %H:%M}", str(run.total), *counts),
        *(f"${run.cost:.4f}", status_words(run)),
    )


async def print_run(lab: LabStore, run: Run, groups: Sequence[Group]) -> None:
    """Print a run: a table, and why cells failed."""
    write_line(run_table(groups))
    names = {group.case: group.name for group in groups}
    shown = 0
    async for cell in lab.cells(run, "failed", "error"):
        shown += 1
        if shown > _SHOWN_FAILURES:
            write_line("… `tui-chat eval show` prints all.")
            break
        color = "red" if cell.status == "failed" else "yellow"
        name = f"{names[cell.case]} | {cell.variant}" + (
            f" #{cell.attempt}" if cell.attempt > 1 else ""
        )
        write_line(
            Styled(cell.status.upper(), color),
            f" {one_line(name)}: ",
            one_line(problem_of(cell), 300),
        )
    models = dict.fromkeys(variant.target for variant in await lab.variants(run))
    write_line(f"{run_line(run)}  on {', '.join(models)}")
    if unchecked := {group.case for group in groups if group.is_unchecked}:
        words = f"{counted(len(unchecked), 'case')} without checks cannot fail"
        write_line(f"{words}: add “assert” in {run.source}.")


@eval_group.command("show")
@click.argument("name", metavar="[RUN]", default="")
@json_option("Print the run with all cells as JSON.")
@asynchronous
async def show_run(common: CommonOptions, name: str, as_json: bool) -> None:
    """Print a run: its cases and variants, and why cells failed.

    RUN is a number of `eval list`, or the beginning of an id; the newest without one.

    \b
    Example:
      tui-chat eval show 12 --json
    """
    async with open_lab(common) as lab:
        run = await lab.run(name)
        if as_json:
            write_json(await run_with_cells(lab, run))
        else:
            await print_run(lab, run, await lab.groups(run))


@eval_group.command("compare")
@click.argument("old", metavar="[OLD]", default="")
@click.argument("new", metavar="[NEW]", default="")
@asynchronous
async def compare_runs(common: CommonOptions, old: str, new: str) -> None:
    """Compare two runs, or the variants of one.

    Without arguments the newest run is compared with the accepted one of its suite, and its
    variants with each other. A difference that chance explains is called not distinguishable.

    \b
    Example:
      tui-chat eval compare 11 12
    """
    async with open_lab(common) as lab:
        run = await lab.run(new or old)
        earlier = await lab.run(old) if new else await lab.accepted(run.source)
        if earlier is not None and earlier.seq != run.seq:
            _, sentence, _ = await compare_results(lab, earlier, run)
            write_line(f"run {run.seq} {sentence}")
        names = [variant.name for variant in await lab.variants(run)]
        first = SAVED if SAVED in names else names[0]
        results = await _results(lab, run)
        for name in names:
            if name == first:
                continue
            compared = compare(results[first], results[name])
            write_line(f"{name} against {first}: {compared.sentence}")


async def _results(lab: LabStore, run: Run) -> defaultdict[str, dict[tuple[str, int], bool]]:
    """Return whether checked cells of a run passed: by variant, then by case and attempt."""
    results: defaultdict[str, dict[tuple[str, int], bool]] = defaultdict(dict)
    async for cell in lab.cells(run, "passed", "failed", with_replies=False):
        if cell.verdicts:
            results[cell.variant][cell.case, cell.attempt] = cell.status == "passed"
    return results


async def compare_results(
    lab: LabStore, old: Run, new: Run
) -> tuple[PairCounts, str, list[tuple[str, str, int]]]:
    """Compare two runs, and say how the new one stands against the old one: in a line, and in one
    for each pair of variants unless there is only one whose name says it. The list has the case,
    variant and attempt of what passed in the old one and failed in the new one.
    """
    earlier = {variant.name: variant for variant in await lab.variants(old)}
    later = {variant.name: variant for variant in await lab.variants(new)}
    pairs = paired_variants((*earlier.values(),), (*later.values(),), old.accepted_variant)
    before, after = await _results(lab, old), await _results(lab, new)
    compared = {name: compare(before[other], after[name]) for name, other in pairs.items()}
    total = sum(compared.values(), PairCounts(0, 0, 0))
    why = "" if total.total else ": no case with checks has ended in both"
    lines = [f"against run {old.seq}: {total.sentence}{why}"]
    if len(pairs) > 1 or any(name != other for name, other in pairs.items()):
        lines += [
            f"  {name} against “{pairs[name]}”: {each.sentence}" for name, each in compared.items()
        ]
    lost = [
        (case, name, attempt)
        for name, other in pairs.items()
        for (case, attempt), passed in after[name].items()
        if not passed and before[other].get((case, attempt))
    ]
    names = {case.key: case.name for case in (await lab.suite(new)).cases} if lost else {}
    worse = dict.fromkeys((case, name) for case, name, _ in lost)
    shown = [f"  worse: {one_line(f'{names[case]} | {name}')}" for case, name in worse]
    lines += shown[:_SHOWN_FAILURES]
    return total, "\n".join(lines), lost


@eval_group.command("accept")
@click.argument("name", metavar="[RUN]", default="")
@asynchronous
async def accept_run(common: CommonOptions, name: str) -> None:
    """Make a run the baseline of its suite; default: the newest run.

    \b
    Example:
      tui-chat eval accept 12
    """
    async with open_lab(common) as lab:
        run = await lab.run(name)
        if run.status != "complete":
            raise InputError(f"Run {run.seq} is {status_words(run)}, so it cannot be a baseline.")
        if run.counts.get("error") == run.total:
            raise InputError(f"Run {run.seq} has only errors, so it cannot be a baseline.")
        await lab.accept(run)
        write_line(f"Run {run.seq} is the baseline of {run.suite}.")


@eval_group.command("delete")
@click.argument("names", metavar="RUN...", nargs=-1, required=True)
@asynchronous
async def delete_runs(common: CommonOptions, names: tuple[str, ...]) -> None:
    """Delete runs, accepted ones too.

    \b
    Example:
      tui-chat eval delete 9 10
    """
    async with open_lab(common) as lab:
        runs = [await lab.run(name) for name in names]
        if running := [run for run in runs if run.status == "running"]:
            raise InputError(f"Run {running[0].seq} is being sent.")
        await lab.delete(*runs)
        write_line(f"Deleted {counted(len(runs), 'run')}.")
