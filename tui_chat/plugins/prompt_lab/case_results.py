"""The results of requests, graded by the checks of cases as they are now.

1. A result belongs to a request, by its endpoint, model and bytes, and to its repeat: every cell
   that sends the same has it, also after an edit that was undone.
2. When the checks of a case changed, the reply is graded again. With a rubric among them the cell
   has no result any more, so that it is sent and judged.
"""

from __future__ import annotations

from dataclasses import replace

from tui_chat.lazy_dataclass import dataclass
from tui_chat.plugins.prompt_lab.values import Case, Cell, CellReply, Plan, Suite
from tui_chat.plugins.prompt_lab.verdicts import JUDGED, judged_checks, regrade, with_judge


def graded_cases(suite: Suite) -> dict[str, Case]:
    """Return the cases of a suite by their keys, as replies are graded: with their judges."""
    return {case.key: with_judge(case, suite.judge) for case in suite.cases}


@dataclass(frozen=True, slots=True)
class _Result:
    """A cell that has ended, and the case that graded it."""

    cell: Cell
    case: Case


class CaseResults:
    """The results that are known."""

    def __init__(self) -> None:
        self._results: dict[tuple[str, int], dict[str, _Result]] = {}
        """Results by what they sent, and by case."""

    def add(self, cell: Cell, case: Case) -> None:
        """Take over a cell that has ended, and the case that graded it."""
        self._results.setdefault(sent_by(cell), {})[case.key] = _Result(cell, case)

    def remove_errors(self, cell: Cell) -> None:
        """Remove the errors of what a cell sends that may not come again."""
        results = self._results.get(sent_by(cell), {})
        for key in [key for key, result in results.items() if may_succeed(result.cell)]:
            del results[key]

    def of(self, planned: Plan, cases: dict[str, Case]) -> list[Cell]:
        """Return the cells of a plan, each with its result if there is one, graded by a case."""
        shown: list[Cell] = []
        variants = {variant.name: variant for variant in planned.variants}
        for cell in planned.cells:
            case = cases[cell.case]
            results = self._results.get(sent_by(cell), {})
            own_first = sorted(results.values(), key=lambda result: result.case.key != case.key)
            known = next((each for each in own_first if _can_grade(case, each.case)), None)
            if known is None:
                shown.append(cell)
                continue
            result = result_at(cell, known.cell)
            if case is not known.case:
                if _checks(case) != _checks(known.case):
                    result = regrade(case, result, known.case, variants[cell.variant])
                self.add(result, case)  # so that it is graded once
            shown.append(result)
        return shown


def _can_grade(case: Case, earlier: Case) -> bool:
    """Return True if no judge must be asked for what a case asks besides an earlier one."""
    return _checks(case) == _checks(earlier) or not any(judged_checks(case))


def _checks(case: Case) -> tuple[object, ...]:
    return case.checks, case.expected, case.threshold


def sent_by(cell: Cell) -> tuple[str, int]:
    """Return what a cell sends: the identity of its request, and its repeat."""
    return cell.request, cell.attempt


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
