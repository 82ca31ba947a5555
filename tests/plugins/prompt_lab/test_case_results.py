"""Results that cells share, and grades after checks changed."""

from dataclasses import replace

from tests.plugins.prompt_lab.conftest import make_case, make_suite, make_variant
from tui_chat.models.endpoint import Endpoint, Protocol
from tui_chat.plugins.prompt_lab.grades import CaseResults, grade, graded_cases, judged_checks
from tui_chat.plugins.prompt_lab.plan import plan
from tui_chat.plugins.prompt_lab.values import Case, Cell, CellReply, ReplyCheck, Suite, Verdict

RUBRIC = ReplyCheck("llm-rubric", "Is polite.")
GOOD = Verdict("llm-rubric", True, "Very polite.", 1.0)
TUTOR = make_variant("saved", "Be brief.")


def named(key: str, *checks: ReplyCheck) -> Case:
    """A case that asks the same as all others."""
    return replace(make_case("What is 2+2?", *checks), key=key, name=key)


def judged(*cases: Case) -> Suite:
    return replace(make_suite(*cases), judge="loopback/echo")


def answered(cell: Cell, case: Case, verdict: Verdict = GOOD) -> Cell:
    """A cell with a reply, of which the judge said the same by every rubric."""
    verdicts = {check: replace(verdict, weight=check.weight) for check in judged_checks(case)}
    return grade(case, replace(cell, reply=CellReply("4")), (), verdicts)


def results_of(suite: Suite, verdict: Verdict = GOOD) -> CaseResults:
    results, cases = CaseResults(), graded_cases(suite)
    for cell in plan(suite, [TUTOR]).cells:
        results.add(answered(cell, cases[cell.case], verdict), cases[cell.case])
    return results


def shown(results: CaseResults, suite: Suite) -> list[Cell]:
    return results.of(plan(suite, [TUTOR]), graded_cases(suite))


def grades(results: CaseResults, suite: Suite) -> list[str]:
    return [cell.status for cell in shown(results, suite)]


def test_a_reply_is_not_that_of_another_model_whose_request_has_the_same_bytes():
    google = Endpoint(
        "google", Protocol.GEMINI, "https://google.invalid", models=("gemini-2.5-flash",)
    )
    pro, flash = (
        replace(TUTOR, name=model, endpoint=google, model=model)
        for model in ("gemini-2.5-pro", "gemini-2.5-flash")
    )
    suite = make_suite(make_case("Hello"))
    planned = plan(suite, [flash, pro])
    one, two = planned.cells
    assert one.body_sha == two.body_sha, "the model is in the URL"
    results, cases = CaseResults(), graded_cases(suite)
    results.add(replace(one, status="passed", reply=CellReply("Hi")), cases["Hello"])
    assert [cell.status for cell in results.of(planned, cases)] == ["passed", "waiting"]
    by_default = plan(suite, [replace(flash, model="")])
    assert [cell.status for cell in results.of(by_default, cases)] == ["passed"]
    assert plan(suite, [pro]).sha256 != plan(suite, [replace(flash, name=pro.name)]).sha256


def test_a_case_takes_the_judged_result_of_another_one_over_its_own():
    results = results_of(judged(named("one"), named("two")))
    suite = judged(named("one", RUBRIC), named("two", RUBRIC))
    assert grades(results, suite) == ["waiting", "waiting"]
    first, cases = plan(suite, [TUTOR]).cells[0], graded_cases(suite)
    results.add(answered(first, cases[first.case]), cases[first.case])
    assert grades(results, suite) == ["passed", "passed"], "it was sent once for both"


def test_what_is_sent_again_keeps_the_result_of_a_case_without_an_error():
    suite = judged(named("one", RUBRIC), named("two", ReplyCheck("contains", "4")))
    results = results_of(suite, replace(GOOD, passed=False, failed=True))
    one, two = shown(results, suite)
    assert (one.status, two.status) == ("error", "passed")
    results.remove_errors(one)
    assert grades(results, suite) == ["waiting", "passed"]


def test_a_judge_may_be_named_by_the_suite_or_the_check():
    results = results_of(judged(named("one", RUBRIC)))
    suite = make_suite(named("one", replace(RUBRIC, judge="loopback/echo")))
    assert grades(results, suite) == ["passed"]
    other = make_suite(named("one", replace(RUBRIC, judge="loopback/mirror")))
    assert grades(results, other) == ["waiting"]
