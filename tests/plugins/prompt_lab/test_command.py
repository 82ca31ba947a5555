"""`tui-chat eval` as a user runs it."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.plugins.prompt_lab.conftest import make_case
from tests.support.command_line import Done, Run
from tests.support.tables import each_row
from tui_chat.plugins.prompt_lab.suites import add_case, suite_file
from tui_chat.plugins.prompt_lab.values import ReplyCheck

ROOT = Path(__file__).parents[3]
HOSTILE = "\x1b]0;title\x07\u202e"


@pytest.fixture
def lab(run: Run, tmp_path: Path) -> Run:
    """Return the command line of a new home."""

    def call(*words: object) -> Done:
        return run("--data-dir", tmp_path / "data", "--config-dir", tmp_path / "config", *words)

    return call


def suite(folder: Path, *tests: dict[str, Any], **more: Any) -> Path:
    path = folder / "talk.eval.json"
    more = {"presets": ["none"], "models": ["loopback/echo"], **more}
    path.write_text(json.dumps({**more, "tests": list(tests)}))
    return path


def asserted(draft: str, kind: str = "icontains", value: str = "hello") -> dict[str, Any]:
    return {"description": draft, "draft": draft, "assert": [{"type": kind, "value": value}]}


def test_all_passed(lab: Run, tmp_path: Path):
    done = lab("eval", "run", suite(tmp_path, asserted("Hello"), asserted("hello you")))
    assert (done.code, done.err) == (0, "")
    assert "✓ 1.00" in done.out
    assert "run 1  2 cells  2 ✓  $0.0000  complete  on loopback/echo" in done.out
    assert "no sessions" in lab("sessions", "list").err.lower() + lab("sessions", "list").out


def test_files_of_the_results(lab: Run, tmp_path: Path):
    path = suite(tmp_path, asserted("Hello"), asserted(f"Bye {HOSTILE}"), asserted("=1+1"))
    names = {kind: tmp_path / f"out.{kind}" for kind in ("json", "junit")}
    flags = [word for kind, name in names.items() for word in (f"--{kind}", name)]
    before = os.umask(0)
    try:
        assert lab("eval", "run", path, *flags).code == 1
    finally:
        os.umask(before)
    if sys.platform != "win32":  # they hold prompts and replies
        modes = {kind: oct(name.stat().st_mode & 0o777) for kind, name in names.items()}
        assert set(modes.values()) == {"0o600"}, modes
    whole = json.loads(names["json"].read_text())
    assert whole["cells"] == {"failed": 2, "passed": 1}
    xml = ElementTree.fromstring(names["junit"].read_text())
    [variant] = xml
    assert (variant.get("name"), variant.get("tests"), variant.get("failures")) == (
        "none",
        "3",
        "2",
    )
    assert {cell["reply"] for cell in whole["results"]} >= {"Hello", "=1+1"}
    assert not any("\x1b" in name.read_text() for name in names.values())


def test_a_case_without_checks_does_not_count_as_passed(lab: Run, tmp_path: Path):
    path = suite(tmp_path, {"description": "Hi", "draft": "Hi"}, asserted("Hello"))
    junit, results = tmp_path / "out.xml", tmp_path / "out.json"
    done = lab("eval", "run", path, "--junit", junit, "--json", results)
    assert done.code == 0
    assert re.search(r"^Hi +– no checks$", done.out, re.M)
    assert "2 cells  1 ✓, 1 without checks" in done.out
    assert f"1 case without checks cannot fail: add “assert” in {path}." in done.out
    [variant] = ElementTree.fromstring(junit.read_text())
    assert (variant.get("tests"), variant.get("skipped")) == ("2", "1")
    assert [each.get("message") for each in variant.iter("skipped")] == ["no checks"]
    whole = json.loads(results.read_text())
    assert whole["unchecked"] == 1
    assert {cell["case"]: cell["unchecked"] for cell in whole["results"]} == {
        "Hi": True,
        "Hello": False,
    }


def test_a_table_of_promptfoo(lab: Run, tmp_path: Path):
    table = tmp_path / "cases.csv"
    table.write_text(
        'draft,__expected1,__expected2\n"Paris?","icontains: paris","not-contains: x"\n'
    )
    assert lab("eval", "run", table, "--model", "loopback/echo").code == 0


def test_the_plan_is_printed_and_nothing_is_sent(lab: Run, tmp_path: Path):
    path = suite(tmp_path, asserted("Hello"), models=["openai/gpt-4o-mini"])
    done = lab("eval", "run", path, "--dry-run", "--repeat", 2)
    assert done.code == 0
    assert "2 cells (1 case, 1 variant)" in done.out
    assert "$0.0000 to $0.0" in done.out
    assert not (tmp_path / "data" / "chat.db").exists()


def test_requests_do_not_leave_the_machine_unasked(lab: Run, tmp_path: Path):
    path = suite(tmp_path, asserted("Hello"), models=["openai/gpt-4o-mini"])
    done = lab("eval", "run", path)
    assert done.code == 2
    assert "would leave this machine" in done.err
    assert "--max-cost or --yes" in done.err


def test_the_price_of_a_judge_counts(lab: Run, tmp_path: Path):
    cases = asserted("Hello", "llm-rubric", "is kind"), asserted("Bye")
    path = suite(tmp_path, *cases, judge="openai/gpt-4o-mini")
    words = lab("eval", "run", path, "--dry-run").out
    assert ", with 1 request to judges." in words
    assert float(words.partition(" to $")[2].partition(",")[0]) > 0.0001
    done = lab("eval", "run", path)
    assert done.code == 2
    assert "would leave this machine" in done.err
    assert "1 request to judges" in done.err


def test_a_model_and_a_judge_of_unknown_price_have_no_budget(lab: Run, tmp_path: Path):
    unknown = "openai/gpt-99-unheard-of"
    of_model = suite(tmp_path, asserted("Hello"), models=[unknown])
    for path in (of_model, None):
        path = path or suite(tmp_path, asserted("Hello", "llm-rubric", "is kind"), judge=unknown)
        done = lab("eval", "run", path, "--max-cost", "1")
        assert (done.code, f"price of {unknown} is unknown" in done.err) == (2, True)
    assert "There are no runs" in lab("eval", "list").err


def test_a_missing_key_is_said_before_anything_is_sent(lab: Run, tmp_path: Path):
    path = suite(tmp_path, asserted("Hello"), models=["loopback/echo", "openai/gpt-4o-mini"])
    junit = tmp_path / "results.xml"
    junit.write_text("of an earlier run")
    done = lab("eval", "run", path, "--max-cost", "1", "--junit", junit)
    assert done.code == 3
    assert "OPENAI_API_KEY is not set" in done.err
    [[test]] = ElementTree.fromstring(junit.read_text())
    assert test.get("name") == str(path)
    assert "OPENAI_API_KEY is not set" in test[0].get("message", "")
    assert test[0].tag == "error"
    assert "There are no runs" in lab("eval", "list").err


def test_faults_name_the_suite(lab: Run, tmp_path: Path):
    for more, words in (
        ({"models": ["nowhere/x"]}, "There is no endpoint “nowhere”."),
        ({"presets": ["tutro"]}, "There is no preset “tutro”."),
        ({"judge": "nowhere/x"}, "the judge: There is no endpoint “nowhere”."),
    ):
        path = suite(tmp_path, asserted("Hello", "llm-rubric", "kind"), **more)
        done = lab("eval", "run", path)
        assert (done.code, f"{path}: {words}" in done.err) == (2, True), done.err
    done = lab("eval", "run", suite(tmp_path, asserted("Hello")), "--json", tmp_path / "no" / "x")
    assert (done.code, "is no folder" in done.err) == (2, True)
    assert "There are no runs" in lab("eval", "list").err


def test_the_rest_of_a_run_does_not_leave_the_machine_unasked(
    lab: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("OPENAI_API_KEY", "unused")
    path = suite(tmp_path, asserted("Hello"), asserted("Bye"), models=["openai/gpt-4o-mini"])
    assert lab("eval", "run", path, "--max-cost", "0").code == 4
    done = lab("eval", "run", path, "--reuse")
    assert done.code == 2
    assert "would leave this machine: 2 cells (2 cases, 1 variant)" in done.err
    done = lab("eval", "run", path, "--reuse", "--max-cost", "0")
    assert done.code == 4
    assert "run 2  2 cells  2 not sent" in done.out
    assert "with --reuse sends the rest." in done.err


@each_row(
    ("words", "sentence"),
    [
        (("nothing.json",), "no file, and no preset that has a suite"),
        ((), "Missing argument"),
        (("talk.eval.json", "--model", "nowhere/x"), "no endpoint “nowhere”"),
    ],
)
def test_wrong_input(
    lab: Run, tmp_path: Path, words: tuple[str, ...], sentence: str, monkeypatch: pytest.MonkeyPatch
):
    suite(tmp_path, asserted("Hello"))
    monkeypatch.chdir(tmp_path)
    done = lab("eval", "run", *words)
    assert done.code == 2
    assert sentence in done.err


def test_a_rubric_needs_a_named_judge(lab: Run, tmp_path: Path):
    path = suite(tmp_path, asserted("Hello", "llm-rubric", "is kind"))
    assert "no judge is named" in lab("eval", "run", path).err
    path = suite(tmp_path, asserted("Hello", "llm-rubric", "is kind"), judge="loopback/echo")
    done = lab("eval", "run", path)
    assert "judges its own replies" in done.err


def test_the_suite_that_comes_with_the_program_runs(lab: Run):
    done = lab("eval", "run", "code-reviewer")
    assert done.code == 1, "some of it fails, to be compared"
    assert "10 cells" in done.out
    assert "ERROR" not in done.out
    assert done.err.startswith("This suite runs on the built-in model")
    compared = lab("eval", "compare")
    assert (compared.code, compared.err) == (0, "")


def test_values_of_checks_may_be_objects(lab: Run, tmp_path: Path):
    path = suite(
        tmp_path,
        {"draft": "Hello", "assert": [{"type": "word-count", "value": {"max": 400}}]},
        {"draft": "Bye", "assert": [{"type": "contains-any", "value": ["Bye", "no"]}]},
    )
    assert lab("eval", "run", path).code == 0
    assert lab("eval", "run", path, "--reuse").code == 0


def test_files_have_the_results_of_all_suites(lab: Run, tmp_path: Path):
    paths = [tmp_path / name for name in ("one.eval.json", "two.eval.json")]
    for path, kind in zip(paths, ("equals", "starts-with"), strict=True):
        path.write_text(suite(tmp_path, asserted("Hello", kind, "x")).read_text())
    names = {kind: tmp_path / f"out.{kind}" for kind in ("json", "junit")}
    flags = [word for kind, name in names.items() for word in (f"--{kind}", name)]
    assert lab("eval", "run", *paths, *flags).code == 1
    assert [run["suite"] for run in json.loads(names["json"].read_text())] == ["one", "two"]
    tests = ElementTree.parse(names["junit"]).getroot()
    assert [each.get("name") for each in tests] == ["one: none", "two: none"]


def test_errors_are_no_failures(lab: Run, tmp_path: Path):
    path = suite(tmp_path, asserted("Hello"), models=["loopback/flaky-cut"])
    assert lab("eval", "run", path).code == 3
    assert "0 of 1 replies are taken over." in lab("eval", "run", path, "--reuse").err


def test_a_baseline_and_a_regression(lab: Run, tmp_path: Path):
    path = suite(tmp_path, asserted("Hello"), asserted("Bye", "contains", "Bye"))
    assert lab("eval", "run", path, "--baseline").code == 0
    assert "baseline of talk" in lab("eval", "accept").out
    suite(tmp_path, asserted("Hello"), asserted("Bye", "contains", "good"))
    junit = tmp_path / "results.xml"
    done = lab("eval", "run", path, "--baseline", "--junit", junit)
    assert done.code == 5, "worse says more than failed"
    [[hello, bye]] = ElementTree.fromstring(junit.read_text())
    assert len(hello) == 0
    words = "0 of 1 passed. #1: It passed in run 1. contains: “good” is missing."
    assert bye[0].get("message") == words
    assert "against run 1: better 0, worse 1 of 2: not distinguishable" in done.out
    assert "  worse: Bye | none" in done.out
    assert "worse: Hello" not in done.out
    compared = lab("eval", "compare")
    assert "run 2 against run 1: better 0, worse 1 of 2" in compared.out
    lab("eval", "accept")
    again = lab("eval", "run", path, "--baseline")
    assert again.code == 1, "it failed before, too"
    assert "worse:" not in again.out


def test_a_baseline_with_which_nothing_can_be_compared(lab: Run, tmp_path: Path):
    path = suite(tmp_path, asserted("Hello"))
    assert "`tui-chat eval accept 1`" in lab("eval", "run", path, "--baseline").err
    lab("eval", "accept")
    suite(tmp_path, asserted("Hello you"))
    done = lab("eval", "run", path, "--baseline")
    assert (done.code, done.err) == (
        2,
        "against run 1: nothing to compare: no case with checks has ended in both\n",
    )


@pytest.mark.skipif(sys.platform == "win32", reason="the recipe is for a shell")
@pytest.mark.parametrize("has_suite", [True, False])
def test_the_recipe_for_ci_runs(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_suite: bool
) -> None:
    """Its commands of this program are run in this process, all others by a shell."""
    recipe = (ROOT / "docs" / "prompt-lab.md").read_text().split("## In CI")[1]
    moving, beginning, trying = re.findall(r"```sh\n(.+?)```", recipe, re.S)[:3]
    workflow = recipe.split("```yaml\n")[1].split("```")[0]
    steps = re.findall(r"run: (?:>\n((?: {10}.+\n)+)|(.+))", workflow)
    commands = [" ".join((folded or line).split()) for folded, line in steps]
    assert commands.pop(0).startswith("pip install")
    config, repository = tmp_path / "config", tmp_path / "repository"
    (config / "tui-chat" / "presets").mkdir(parents=True)
    repository.mkdir()
    monkeypatch.chdir(repository)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(config))
    messages = [{"id": "who", "content": "Say hello."}, {"id": "talk", "type": "chat_history"}]
    preset = {"name": "tutor", "presetMessages": messages}
    (config / "tui-chat" / "presets" / "tutor.json").write_text(json.dumps(preset))
    case = make_case("What?", ReplyCheck("icontains", "hello"))
    add_case(suite_file(config / "tui-chat", "tutor"), "tutor", case)

    def obey(script: str) -> list[Done]:
        script = re.sub(
            r"\$\(tui-chat (.+?)\)", lambda found: run(*found[1].split()).out.strip(), script
        )
        done: list[Done] = []
        for part in re.split(r"^((?:find .+)?tui-chat .+\n)", f"{script}\n", flags=re.M):
            if "tui-chat presets" in part or part.startswith("tui-chat "):
                files = sorted(Path("prompts").glob("*.json")) if "{}" in part else []
                words = shlex.split(part.partition("tui-chat ")[2])
                done.append(run(*(w for w in words if w not in ("{}", "+", "||", "true")), *files))
            else:
                subprocess.run(["/bin/sh", "-ec", part], check=True)
        return done

    *_, tried = obey((moving if has_suite else beginning) + trying)
    assert "  1 ✓  " in tried.out, tried.err
    (config / "tui-chat" / "presets" / "tutor.json").unlink()
    path = repository / "prompts" / "cases" / "tutor.eval.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "models": ["loopback/mirror"]}))
    for expected in ("No run of this suite is accepted yet", "worse 0 of 1: no difference"):
        done = [step for command in commands for step in obey(command)]
        assert [step.code for step in done] == [0, 0, 0], [step.err for step in done]
        assert expected in done[1].out + done[1].err
        assert "is the baseline of tutor" in done[2].out
    assert (repository / "results.xml").exists()


def test_a_rate_hides_no_regression(lab: Run, tmp_path: Path):
    good = {**asserted("Hello"), "passRate": 0}
    path = suite(tmp_path, good)
    lab("eval", "run", path)
    lab("eval", "accept")
    suite(tmp_path, {**asserted("Hello", "icontains", "x"), "passRate": 0})
    junit = tmp_path / "results.xml"
    assert lab("eval", "run", path, "--baseline", "--junit", junit).code == 5
    [[test]] = ElementTree.fromstring(junit.read_text())
    assert test[0].tag == "failure"
    assert "It passed in run 1." in test[0].get("message", "")


def test_runs_are_shown_and_deleted(lab: Run, tmp_path: Path):
    lab("eval", "run", suite(tmp_path, asserted(f"Hello {HOSTILE}"), asserted("Bye")))
    shown = lab("eval", "show")
    assert "FAILED Bye | none: icontains: “hello” is missing." in shown.out
    assert "\x1b" not in shown.out
    whole = json.loads(lab("eval", "show", "1", "--json").out)
    assert len(whole["results"]) == 2
    assert lab("eval", "delete", "1").code == 0
    assert "There are no runs" in lab("eval", "list").err


def test_ablation_says_what_a_message_changes(lab: Run, tmp_path: Path):
    messages = [{"id": "a", "content": "Hello rule"}, {"id": "b", "content": "Unused"}]
    (tmp_path / "two.json").write_text(json.dumps({"name": "two", "presetMessages": messages}))
    case = asserted("Hi", "contains", "Hello rule")
    variants = [{"preset": "two.json", "ablation": True}]
    path = suite(tmp_path, case, presets=[], models=["loopback/mirror"], variants=variants)
    lab("eval", "run", path)
    out = lab("eval", "compare").out
    assert "two without a against two: better 0, worse 1 of 1" in out
    assert "two without b against two: better 0, worse 0 of 1: no difference" in out


def test_what_has_the_same_bytes_is_not_sent_again(lab: Run, tmp_path: Path):
    judge = {"judge": "loopback/echo"}
    path = suite(tmp_path, asserted("Hello"), asserted("Bye"), **judge)
    lab("eval", "run", path)
    changed = asserted("Bye") | {"draft": "Bye, hello"}
    suite(tmp_path, asserted("Hello"), changed, asserted("New"), **judge)
    done = lab("eval", "run", path, "--reuse")
    assert "1 of 3 replies are taken over." in done.err
    assert "run 2  3 cells  2 ✓ 1 ✗" in done.out
    results = json.loads(lab("eval", "show", "--json").out)["results"]
    assert {cell["reply"] for cell in results} == {"Hello", "Bye, hello", "New"}


def test_what_is_taken_over_is_graded_by_the_checks_as_they_are_now(lab: Run, tmp_path: Path):
    path = suite(tmp_path, asserted("Hello"))
    lab("eval", "run", path)
    for number, (text, code, sign) in enumerate((("x", 1, "✗"), ("Hello", 0, "✓")), 2):
        suite(tmp_path, asserted("Hello", "contains", text))
        done = lab("eval", "run", path, "--reuse")
        assert ("1 of 1 replies are taken over." in done.err, done.code) == (True, code)
        assert f"run {number}  1 cell  1 {sign}" in done.out
        assert ("contains: " in done.out) is bool(code)
    suite(tmp_path, asserted("Hello", "llm-rubric", "Is kind."), judge="loopback/mirror")
    assert "0 of 1 replies" in lab("eval", "run", path, "--reuse").err, "no judge was asked"


def test_only_what_is_left_to_send_needs_consent(lab: Run, tmp_path: Path):
    path = suite(tmp_path, asserted("Hello"))
    lab("eval", "run", path)
    more = {"models": ["loopback/echo", "openai/gpt-4o-mini"]}
    suite(tmp_path, asserted("Hello"), **more)
    done = lab("eval", "run", path, "--reuse")
    assert "would leave this machine: 1 cell" in done.err
    assert len(json.loads(lab("eval", "list", "--json").out)) == 1, "nothing is left of it"


def test_a_practice_model_that_nobody_named_is_said(lab: Run, tmp_path: Path):
    path = suite(tmp_path, asserted("hello"), models=[])
    assert "a practice model" in lab("eval", "run", path).err
    assert "practice" not in lab("eval", "run", path, "--model", "loopback/mirror").err


def test_only_errors_are_no_baseline(lab: Run, tmp_path: Path):
    lab("eval", "run", suite(tmp_path, asserted("hello")), "--model", "loopback/error:401")
    done = lab("eval", "accept")
    assert (done.code, "has only errors" in done.err) == (2, True)


def test_the_table_has_the_cases_in_the_order_of_the_suite(lab: Run, tmp_path: Path):
    names = [f"case {number}" for number in range(9)]
    done = lab("eval", "run", suite(tmp_path, *map(asserted, names)))
    assert re.findall(r"^case \d", done.out, re.MULTILINE) == names
