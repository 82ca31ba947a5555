"""The grade of a cell: its verdicts, score and status.

What a judge decides is asked for by the caller: nothing here sends, so stored replies can
be graded again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from tui_chat.compose import Composed
from tui_chat.library.file_reader import JsonFile
from tui_chat.plugins.prompt_lab.checks import total, verdict_of
from tui_chat.plugins.prompt_lab.plan import request_of
from tui_chat.plugins.prompt_lab.preset_cases import read_case
from tui_chat.plugins.prompt_lab.values import Case, Cell, ReplyCheck, Variant, Verdict

JUDGED = "llm-rubric"
REQUEST = "request"
"""The type of verdicts about the request."""


def judged_checks(case: Case) -> Iterator[ReplyCheck]:
    """Yield the checks of a case that a judge decides."""
    return (check for check in case.checks if check.type == JUDGED)


def with_judge(case: Case, judge: str) -> Case:
    """Return a case whose rubrics name their judge: the suite's where they name none."""
    checks = tuple(
        replace(check, judge=check.judge or judge) if check.type == JUDGED else check
        for check in case.checks
    )
    return replace(case, checks=checks)


def request_verdicts(case: Case, composed: Composed) -> tuple[Verdict, ...]:
    """Return what a case expects of its request, decided."""
    if not case.expected:
        return ()
    file = JsonFile(json.dumps(case.expected))
    expectations = read_case(file, case.name, Path(), case.expected)
    faults = [check.fault(composed) for _, check in expectations.checks]
    if expectations.expected is not None:
        is_equal = expectations.expects(composed.envelope.turns)
        faults.append("" if is_equal else "The turns are not those that are expected.")
    return tuple(
        Verdict(REQUEST, not fault, fault or "The request is as expected.", float(not fault))
        for fault in faults
    )


def grade(
    case: Case, cell: Cell, of_request: Iterable[Verdict], judged: Mapping[ReplyCheck, Verdict]
) -> Cell:
    """Return a cell that has a reply with its verdicts, score and status."""
    assert cell.reply is not None
    if cell.reply.error:
        return replace(cell, status="error", verdicts=(*of_request,), score=None)
    tools = case.inputs.tools or ()
    verdicts = [*of_request]
    for check in case.checks:  # only the value of a rubric is sure to be hashable
        verdict = judged.get(check) if check.type == JUDGED else None
        verdicts.append(verdict or verdict_of(check, cell, tools))
    passed, score = total(verdicts, case.threshold)
    has_errors = any(verdict.failed for verdict in verdicts)
    status = "error" if has_errors else "passed" if passed else "failed"
    return replace(cell, status=status, verdicts=tuple(verdicts), score=score)


def regrade(case: Case, cell: Cell, earlier: Case, variant: Variant) -> Cell:
    """Return a cell graded by the checks of a case, none of which a judge decides, in place of
    those of an earlier state of it.
    """
    of_request = [verdict for verdict in cell.verdicts if verdict.type == REQUEST]
    if case.expected != earlier.expected:
        of_request = [*request_verdicts(case, request_of(case, variant))]
    return grade(case, cell, of_request, {})
