"""The results of requests, graded by the checks of cases as they are now.

1. A result belongs to the bytes of its request and to its repeat: every cell that sends the same
   has it, also after an edit that was undone.
2. When the checks of a case changed, the reply is graded again. Only a rubric that no judge was
   asked about leaves a cell without a result, so that it is sent.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeAlias

from tui_chat.lazy_dataclass import dataclass
from tui_chat.plugins.prompt_lab.values import Case, Cell, CellReply, Plan, ReplyCheck, Suite
from tui_chat.plugins.prompt_lab.verdicts import JUDGED, judged_checks, regrade

Grading: TypeAlias = tuple[Case, tuple[ReplyCheck, ...]]
"""What a cell is graded by: a case, and its rubrics, each with its judge."""


def gradings(suite: Suite) -> dict[str, Grading]:
    """Return what the cells of a suite are graded by, by the keys of its cases."""

    def with_judge(check: ReplyCheck) -> ReplyCheck:
        return replace(check, judge=check.judge or suite.judge)

    return {case.key: (case, tuple(map(with_judge, judged_checks(case)))) for case in suite.cases}


@dataclass(frozen=True, slots=True)
class _Result:
    """A cell that has ended, and what it was graded by."""

    cell: Cell
    case: Case
    rubrics: tuple[ReplyCheck, ...]


class CaseResults:
    """The results that are known."""

    def __init__(self) -> None:
        self._results: dict[tuple[str, int], dict[str, _Result]] = {}
        """Results by what they sent, and by case."""

    def add(self, cell: Cell, grading: Grading) -> None:
        """Take over a cell that has ended."""
        self._results.setdefault(sent_by(cell), {})[cell.case] = _Result(cell, *grading)

    def remove(self, cell: Cell) -> None:
        """Remove the result of what a cell sends."""
        self._results.pop(sent_by(cell), None)

    def of(self, planned: Plan, grading: dict[str, Grading]) -> list[Cell]:
        """Return the cells of a plan, each with its result if there is one."""
        shown: list[Cell] = []
        variants = {variant.name: variant for variant in planned.variants}
        for cell in planned.cells:
            case, rubrics = grading[cell.case]
            results = self._results.get(sent_by(cell), {})
            candidates = [results[case.key]] if case.key in results else [*results.values()]
            known = next((e for e in candidates if all(r in e.rubrics for r in rubrics)), None)
            if known is None:
                shown.append(cell)
                continue
            result = result_at(cell, known.cell)
            if case is not known.case:
                if _checks(case) != _checks(known.case):
                    result = regrade(case, result, known.case, variants[cell.variant])
                self.add(result, (case, rubrics))  # so that it is graded once
            shown.append(result)
        return shown


def _checks(case: Case) -> tuple[object, ...]:
    return case.checks, case.expected, case.threshold


def sent_by(cell: Cell) -> tuple[str, int]:
    """Return what a cell sends: the SHA-256 of its request, and its repeat."""
    return cell.body_sha, cell.attempt


def result_at(cell: Cell, result: Cell) -> Cell:
    """Return a result as that of a cell of the same request."""
    return replace(
        cell,
        status=result.status,
        reply=result.reply,
        verdicts=result.verdicts,
        score=result.score,
    )


def grade_of(cell: Cell) -> str:
    """Return the status of a cell, or `unchecked`."""
    return "unchecked" if cell.is_unchecked else cell.status


def may_succeed(cell: Cell) -> bool:
    """Return True if another try may end without the error that a cell had: of its request, or of a
    judge.
    """
    is_broken = cell.reply is not None and bool(cell.reply.error)
    return is_broken or any(each.failed and each.type.endswith(JUDGED) for each in cell.verdicts)


def are_equal(pair: tuple[Cell, Cell]) -> bool:
    """Return True if two replies say the same."""
    one, two = (_words(cell.reply or CellReply()) for cell in pair)
    return one == two


def _words(reply: CellReply) -> tuple[object, ...]:
    return reply.text, reply.refusal, [(call.name, call.arguments) for call in reply.calls]
