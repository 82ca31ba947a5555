"""Reports of runs, and comparisons: whether one set of results is better, or only by chance.

1. The same cells of both are paired, and only the pairs that differ count. If neither were better,
   a pair would be better or worse with equal chance: the sign test, which for results that pass or
   fail is McNemar's exact test. No distribution is assumed, and few cells are no obstacle.
   https://en.wikipedia.org/wiki/McNemar%27s_test
2. Reports are a table, JSON, and JUnit's XML, which CI services read as the results of tests.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from math import comb
from typing import Any, Literal, TypeVar
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from tui_chat.cli.output import counted, table
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.sanitize import one_line
from tui_chat.models.usage import usage_json
from tui_chat.plugins.prompt_lab.results import LabStore
from tui_chat.plugins.prompt_lab.values import (
    BEFORE,
    EDITED,
    ENDED,
    SAVED,
    Cell,
    Group,
    Run,
    Variant,
)

K = TypeVar("K")

LEVEL = 0.05
"""The chance of a difference as large as this, if there is none, below which it counts."""


@dataclass(frozen=True, slots=True)
class PairCounts:
    """How many pairs became better and worse."""

    better: int
    worse: int
    total: int
    """All pairs, those that are equal included."""

    def __add__(self, other: PairCounts) -> PairCounts:
        better, worse = self.better + other.better, self.worse + other.worse
        return PairCounts(better, worse, self.total + other.total)

    @property
    def chance(self) -> float:
        """The chance of a difference at least as large, if neither is better."""
        count = self.better + self.worse
        tail = sum(comb(count, number) for number in range(min(self.better, self.worse) + 1))
        return min(1.0, 2 * tail / 2**count)

    @property
    def sentence(self) -> str:
        """The counts, and what they say."""
        if not self.total:
            return "nothing to compare"
        counts = f"better {self.better}, worse {self.worse} of {self.total}"
        if not self.better and not self.worse:
            return f"{counts}: no difference"
        if self.chance >= LEVEL:
            return f"{counts}: not distinguishable (chance {self.chance:.0%})"
        word = "better" if self.better > self.worse else "worse"
        return f"{counts}: {word} (chance {self.chance:.1%})"


def compare(old: Mapping[K, bool], new: Mapping[K, bool]) -> PairCounts:
    """Compare two sets of results, True for passed, by the cells that both have."""
    common = old.keys() & new.keys()
    better = sum(new[key] and not old[key] for key in common)
    worse = sum(old[key] and not new[key] for key in common)
    return PairCounts(better, worse, len(common))


def paired_variants(
    old: Sequence[Variant], new: Sequence[Variant], accepted: str = ""
) -> dict[str, str]:
    """Return the names of the variants of a run by those of a later one that are compared with
    them: the same name, unless it is a role in the app; else one of the same preset, the `accepted`
    one before others (empty for none). One of each is compared whatever it is.
    """
    names = {variant.name for variant in old} - {EDITED, SAVED, BEFORE}
    pairs = {variant.name: variant.name for variant in new if variant.name in names}
    if not pairs and len(old) == len(new) == 1:
        return {new[0].name: old[0].name}
    first = sorted(old, key=lambda variant: variant.name != accepted)
    for variant in new:
        alike = [each.name for each in first if each.preset.name == variant.preset.name]
        if variant.name not in pairs and alike and alike[0] not in pairs.values():
            pairs[variant.name] = alike[0]
    return pairs


SIGNS = {"passed": "✓", "failed": "✗", "error": "!", "waiting": "·", "unchecked": "–"}
_NAME = 40
"""Width of a case's name in the table."""


def run_line(run: Run) -> str:
    """Return a line about a run: its number, how it ended, its cells and cost."""
    counts = count_words(run.counts, run.unchecked)
    cells = f"{counted(run.total, 'cell')}  {counts}"
    return f"run {run.seq}  {cells}  ${run.cost:.4f}  {status_words(run)}"


def count_words(statuses: Mapping[str, int], unchecked: int) -> str:
    """Return the numbers of cells by status in words, and of those that passed unchecked."""
    numbers = {**statuses, "passed": statuses.get("passed", 0) - unchecked}
    signs = " ".join(f"{numbers[name]} {SIGNS[name]}" for name in ENDED if numbers.get(name))
    left = sum(number for name, number in statuses.items() if name not in ENDED)
    checked = f"{unchecked} without checks" if unchecked else ""
    return ", ".join(filter(None, (signs, checked, f"{left} not sent" if left else "")))


def status_words(run: Run) -> str:
    """Return how a run ended, and whether it is accepted."""
    return run.status.replace("_", " ") + (", accepted" if run.accepted else "")


def run_table(groups: Sequence[Group]) -> str:
    """Return the groups of a run as a table: cases down, variants across."""
    variants = list(dict.fromkeys(group.variant for group in groups))
    cells = {(group.case, group.variant): group for group in groups}
    cases = {group.case: group.name for group in groups}
    rows = [["CASE", *(one_line(variant, _NAME) for variant in variants)]]
    for key, name in cases.items():
        row = [_group_words(cells.get((key, variant))) for variant in variants]
        rows.append([one_line(name, _NAME), *row])
    return table(rows, (0, 12))


def _group_words(group: Group | None) -> str:
    if group is None:
        return ""
    words = [SIGNS["unchecked" if group.is_unchecked else group.status]]
    if group.total > 1:
        words.append(f"{group.passed}/{group.total}")
    if group.is_unchecked:
        words.append("no checks")
    elif group.score is not None:
        words.append(f"{group.score:.2f}")
    return " ".join([*words, *([f"${group.cost:.4f}"] if group.cost else [])])


def cell_json(run: Run, cell: Cell) -> dict[str, Any]:
    """Return a cell as JSON."""
    reply = cell.reply
    facts: dict[str, Any] = {}
    if reply is not None:
        facts = {
            "reply": reply.text,
            "finish": reply.finish,
            "model": reply.model,
            "usage": usage_json(reply.usage),
            "cost": None if reply.cost is None else float(reply.cost),
            "first_token_ms": None if reply.first is None else round(reply.first * 1000),
            "latency_ms": round(reply.seconds * 1000),
            "error": reply.error or None,
        }
        if reply.calls:
            facts["tool_calls"] = [
                {"name": call.name, "arguments": call.arguments} for call in reply.calls
            ]
    return {
        "run": run.seq,
        "case": cell.case,
        "variant": cell.variant,
        "attempt": cell.attempt,
        "status": cell.status,
        "unchecked": cell.is_unchecked,
        "score": cell.score,
        "body_sha256": cell.body_sha,
        "input_tokens": cell.input_tokens,
        **facts,
        "checks": [
            {
                "type": verdict.type,
                "passed": None if verdict.failed else verdict.passed,
                "score": verdict.score,
                "reason": verdict.reason,
            }
            for verdict in cell.verdicts
        ],
    }


def run_json(run: Run) -> dict[str, Any]:
    """Return a run as JSON, without its cells."""
    return {
        "run": run.seq,
        "id": run.run_id,
        "suite": run.suite,
        "source": run.source,
        "started": run.started,
        "finished": run.finished,
        "status": run.status,
        "accepted": run.accepted,
        "cells": dict(run.counts),
        "unchecked": run.unchecked,
        "cost": run.cost,
    }


async def run_with_cells(lab: LabStore, run: Run) -> dict[str, Any]:
    """Return a run as JSON, with its cells."""
    return {**run_json(run), "results": [cell_json(run, cell) async for cell in lab.cells(run)]}


_PROBLEMS: Mapping[str, Problem] = {"passed": "", "failed": "failure"}


async def junit_tests(
    cells: AsyncIterator[Cell], groups: Sequence[Group], lost: Mapping[tuple[str, str, int], int]
) -> dict[str, list[TestResult]]:
    """Return the tests of a run for JUnit: those of each variant, one for each case. `lost` has the
    run in which a case with a variant and attempt passed that failed now.
    """
    problems: dict[tuple[str, str], list[str]] = {}
    worse: dict[tuple[str, str], list[str]] = {}
    seconds: dict[tuple[str, str], float] = {}
    async for cell in cells:
        key = (cell.case, cell.variant)
        seconds[key] = seconds.get(key, 0.0) + (cell.reply.seconds if cell.reply else 0.0)
        if run := lost.get((*key, cell.attempt)):
            sentence = f"#{cell.attempt}: It passed in run {run}. {problem_of(cell)}"
            worse.setdefault(key, []).append(sentence)
        elif cell.status != "passed":
            problems.setdefault(key, []).append(f"#{cell.attempt}: {problem_of(cell)}")
    suites: dict[str, list[TestResult]] = {}
    for group in groups:
        key = (group.case, group.variant)
        lines = [one_line(line, 500) for line in worse.get(key, []) + problems.get(key, [])]
        problem = "failure" if key in worse else _PROBLEMS.get(group.status, "error")
        sentence = f"{group.passed} of {group.total} passed. {lines[0] if lines else ''}"
        if group.is_unchecked:
            problem, sentence = "skipped", "no checks"
        details, time = "\n".join(lines), seconds.get(key, 0.0)
        result = TestResult(group.name, problem, sentence, details, time)
        suites.setdefault(group.variant, []).append(result)
    return suites


def problem_of(cell: Cell) -> str:
    """Return why a cell did not pass, in a sentence."""
    if cell.reply is not None and cell.reply.error:
        return cell.reply.error
    reasons = [
        f"{verdict.type}: {verdict.reason}" for verdict in cell.verdicts if not verdict.passed
    ]
    return " ".join(reasons) or f"It is {cell.status}."


_UNWRITABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML cannot have."""


Problem = Literal["", "failure", "error", "skipped"]
"""`failure`: the test failed. `error`: it could not be run. `skipped`: nothing was tested."""


@dataclass(frozen=True, slots=True)
class TestResult:
    """The result of a test."""

    __test__ = False

    name: str
    problem: Problem = ""
    sentence: str = ""
    """What is wrong, on one line."""
    details: str = ""
    seconds: float = 0.0


def junit_xml(suites: Mapping[str, Iterable[TestResult]]) -> str:
    """Return the results of the tests of each suite as a JUnit file."""
    root = Element("testsuites")
    for name, results in suites.items():
        listed = list(results)
        problems = Counter(result.problem for result in listed)
        suite = SubElement(
            root,
            "testsuite",
            name=name,
            tests=str(len(listed)),
            failures=str(problems["failure"]),
            errors=str(problems["error"]),
            skipped=str(problems["skipped"]),
            time=f"{sum(result.seconds for result in listed):.3f}",
        )
        for result in listed:
            time = f"{result.seconds:.3f}"
            case = SubElement(suite, "testcase", classname=name, name=result.name, time=time)
            if result.problem:
                SubElement(case, result.problem, message=result.sentence).text = result.details
    indent(root, "")
    body = _UNWRITABLE.sub("\ufffd", tostring(root, "unicode"))
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{body}\n'
