"""`tui-chat preset test`: cases pass, fail with a readable diff, and are updated."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.support.command_line import Run
from tests.support.mutated_files import SAMPLES, WRONG, mutants
from tests.support.plugins import is_deleted
from tests.support.tables import each_row
from tui_chat.errors import InputError
from tui_chat.paths import bundled
from tui_chat.plugins.prompt_lab.preset_cases import load_case

PRESET = {
    "presetMessages": [
        {"id": "s", "content": "Be {{getvar::tone}}, {{char}}; it is {{date}}."},
        {"id": "world", "type": "placeholder"},
        {"id": "p", "type": "user_profile"},
        {"type": "chat_history"},
        {"id": "r", "role": "user", "content": "Reminder.", "insertionPoint": -1},
    ]
}
TURNS = [
    {"role": "system", "content": "Be dry, Ada; it is June 30, 2025."},
    {"role": "user", "content": "Kim is here.", "origin": "profile"},
    {"role": "user", "content": "U1", "origin": "history:1", "placement": "history"},
    {"role": "user", "content": "Reminder.", "origin": "preset:r", "placement": "depth"},
    {"role": "user", "content": "D", "placement": "draft"},
]


def case(**changes: Any) -> dict[str, Any]:
    return {
        "preset": PRESET,
        "history": [{"role": "user", "content": "U1"}],
        "draft": "D",
        "role": {"name": "Ada"},
        "profile": {"name": "Kim", "content": "Kim is here."},
        "variables": {"tone": "dry"},
        "at": "2025-06-30T23:59:00",
        "expected": TURNS,
        **changes,
    }


def write(folder: Path, value: Any, name: str = "case.json") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=2, ensure_ascii=False), encoding="utf-8")
    return path


def test_a_case_passes(run: Run, tmp_path: Path):
    path = write(tmp_path, case(name="all of it"))
    done = run("preset", "test", tmp_path)
    assert (done.code, done.out) == (0, f"passed {path}: all of it\n1 case: 1 passed.\n")


def test_parts_may_be_files_relative_to_the_case(run: Run, tmp_path: Path):
    write(tmp_path, PRESET, "preset.json")
    (tmp_path / "history.jsonl").write_text('{"role": "user", "content": "U1"}\n')
    write(tmp_path, {"name": "Ada"}, "role.json")
    write(tmp_path, {"name": "Kim", "content": "Kim is here."}, "profile.json")
    lore = {"keys": ["U1"], "content": "L", "anchorTarget": "world", "role": "user"}
    write(tmp_path, {"name": "book", "entries": [{"id": "e", **lore}]}, "book.json")
    turns = [TURNS[0], {"role": "user", "content": "L", "origin": "lore:book/e"}, *TURNS[1:]]
    parts = {
        "preset": "../preset.json",
        "history": "../history.jsonl",
        "role": "../role.json",
        "profile": "../profile.json",
        "lorebooks": ["../book.json"],
    }
    write(tmp_path, case(**parts, expected=turns), "cases/files.json")
    del parts["lorebooks"]
    write(tmp_path, case(**parts, lorebook="../book.json", expected=turns), "cases/one.json")
    done = run("preset", "test", tmp_path)
    assert (done.code, done.out.count("passed ")) == (0, 2), done.out


def test_a_limit_drops_history(run: Run, tmp_path: Path):
    history = [{"role": "user", "content": word * 50} for word in ("one ", "two ", "six ")]
    expected = [{"role": "user", "content": "six " * 50}, {"role": "user", "content": "D"}]
    preset = [{"type": "chat_history"}]
    given = {"preset": preset, "history": history, "draft": "D", "model": "gpt-4o"}
    write(tmp_path, {**given, "limit": 90, "reserve": 10, "expected": expected})
    assert run("preset", "test", tmp_path).code == 0


def test_a_failing_case_shows_the_difference(run: Run, tmp_path: Path):
    changed = [*TURNS[:3], {**TURNS[3], "content": "Remember."}, TURNS[4]]
    path = write(tmp_path, case(expected=changed))
    done = run("preset", "test", tmp_path)
    assert done.code == 1
    assert done.out.startswith(f"FAILED {path}\n")
    assert "    -    Remember.\n" in done.out
    assert "    +    Reminder.\n" in done.out
    assert "     user  (profile)\n" in done.out
    assert "1 case: 0 passed, 1 failed." in done.out
    assert json.loads(path.read_text()) == case(expected=changed)


@each_row(
    "wrong",
    [
        {"role": "assistant"},
        {"content": "reminder."},
        {"origin": "preset:s"},
        {"origin": "history"},
        {"placement": "depth 0"},
        {"placement": "system"},
    ],
)
def test_every_field_of_a_turn_is_compared(wrong: dict[str, str], run: Run, tmp_path: Path):
    write(tmp_path, case(expected=[*TURNS[:3], {**TURNS[3], **wrong}, TURNS[4]]))
    assert run("preset", "test", tmp_path).code == 1


def test_an_extra_or_missing_turn_fails(run: Run, tmp_path: Path):
    for index, turns in enumerate(([*TURNS, TURNS[-1]], TURNS[:-1], [])):
        write(tmp_path, case(expected=turns), f"{index}.json")
    assert "3 cases: 0 passed, 3 failed." in run("preset", "test", tmp_path).out


def test_update_changes_only_the_expected_turns(run: Run, tmp_path: Path):
    before = {
        "draft": "D",
        "preset": [{"type": "chat_history"}],
        "expected": [{"role": "user", "content": "", "origin": "draft"}],
        "seed": 1,
    }
    path = write(tmp_path, before)
    done = run("preset", "test", tmp_path, "--update")
    assert done.code == 0
    assert "-    \n" in done.out
    assert "+    D\n" in done.out
    expected = [{"role": "user", "content": "D", "origin": "draft"}]
    assert json.loads(path.read_text()) == {**before, "expected": expected}
    assert run("preset", "test", tmp_path).out == f"passed {path}\n1 case: 1 passed.\n"


def test_update_adds_missing_expected_turns(run: Run, tmp_path: Path):
    path = write(tmp_path, {"preset": [{"type": "chat_history"}], "draft": "D"})
    assert "no “expected” yet" in run("preset", "test", tmp_path).out
    assert run("preset", "test", tmp_path, "--update").code == 0
    assert json.loads(path.read_text()) == {
        "preset": [{"type": "chat_history"}],
        "draft": "D",
        "expected": [{"role": "user", "content": "D"}],
    }


@each_row(
    ("changes", "words"),
    [
        ({"expected": [{"role": "user"}]}, "$.expected[0] (line"),
        ({"expected": [{"role": "user", "content": "a", "orgin": "b"}]}, "did you mean “origin”"),
        ({"drafft": "D"}, "did you mean “draft”"),
        ({"tools": []}, "it is kept, but has no effect"),
        ({"preset": None}, "“preset” is missing"),
        ({"preset": 3}, "$.preset must be a path"),
        ({"preset": "none.json"}, "case.json: $.preset: "),
        ({"preset": [{"role": "boss"}]}, "($.preset): $[0].role (line 4, column 15)"),
        ({"history": [{"role": "boss"}]}, "($.history): $[0].role"),
        ({"lorebooks": [{"entries": 3}]}, "($.lorebooks[0]): $.entries"),
        ({"at": "noon"}, "$.at: “noon” is not a time"),
        ({"seed": 1.5}, "$.seed"),
        ({"limit": 0}, "must be a whole number from 1, not 0"),
    ],
)
def test_a_broken_case_fails_with_a_sentence(
    changes: dict[str, Any], words: str, run: Run, tmp_path: Path
):
    write(tmp_path, case(**changes))
    done = run("preset", "test", tmp_path, "--update")
    assert done.code == 1
    assert words in done.out


def test_a_broken_json_file_is_not_ignored(run: Run, tmp_path: Path):
    write(tmp_path, case())
    (tmp_path / "other.json").write_text('{"preset": ')
    assert "1 failed" in run("preset", "test", tmp_path).out


@each_row(
    ("name", "value"),
    [
        ("preset.json", PRESET),
        ("role.json", {"name": "Ada", "preset": "plain"}),
        ("history.json", [{"role": "user", "content": "a"}]),
        (".hidden/case.json", case()),
        ("case.txt", case()),
    ],
)
def test_other_files_are_ignored(name: str, value: Any, run: Run, tmp_path: Path):
    write(tmp_path, value, name)
    done = run("preset", "test", tmp_path)
    assert done.code == 2
    assert "no cases found" in done.err


def test_no_folder_is_a_usage_error(run: Run, tmp_path: Path):
    assert run("preset", "test").code == 2
    assert run("preset", "test", tmp_path / "none").code == 2


@pytest.mark.skipif(is_deleted("sillytavern"), reason="some presets are SillyTavern's")
def test_bundled_cases_pass(run: Run):
    done = run("preset", "test", bundled("sample_presets"))
    assert done.code == 0, done.out


def test_each_bundled_preset_has_a_case():
    ours = bundled("sample_presets")
    tested = {
        json.loads(path.read_text(encoding="utf-8"))["preset"]
        for path in (ours / "cases").glob("*.json")
    }
    assert tested == {f"../{path.name}" for path in ours.glob("*.json")}


def test_the_case_in_the_help_is_valid(run: Run):
    said = run("preset", "test", "--help").out
    assert all(
        f'"{key}"' in said for key in ("preset", "history", "draft", "at", "seed", "expected")
    )


def test_any_value_of_a_case_may_be_of_another_type(tmp_path: Path) -> None:
    path = tmp_path / "case.json"
    whole = case(
        preset=SAMPLES["presets"]["preset"],
        lorebooks=[SAMPLES["presets"]["lorebook"]],
        expected=TURNS[-1:],
    )
    for text in mutants(whole, WRONG[::3]):
        path.write_text(text)
        with suppress(InputError):
            load_case(path)


# --- checks of parts of the request ----------------------------------------------------------


@each_row(
    "check",
    [
        {"id": "s"},
        {"id": "s", "at": 0},
        {"id": "s", "at": "system"},
        {"id": "r", "at": -2},
        {"id": "r", "at": "depth"},
        {"id": "r", "at": "depth 1"},
        {"id": "r", "at": "depth -1"},
        {"id": "r", "after": "history", "before": "draft"},
        {"id": "history:1", "at": 3},
        {"id": "profile", "before": "r"},
        {"id": "off", "sent": False},
        {"lore": "Pool", "active": False},
        {"lore": "greeting"},
        {"maxTokens": 200},
        {"max_tokens": 200},
        {"noNotes": "error"},
    ],
)
def test_a_check_passes(check: dict[str, Any], run: Run, tmp_path: Path):
    write(tmp_path, checked(check))
    done = run("presets", "test", tmp_path)
    assert done.code == 0, done.out


def checked(*checks: Any, **changes: Any) -> dict[str, Any]:
    messages = [*PRESET["presetMessages"], {"id": "off", "content": "Off.", "enabled": False}]
    lore = {
        "name": "book",
        "entries": [
            {"id": "greeting", "keys": ["U1"], "content": "Hello.", "anchorTarget": "world"},
            {"id": "p1", "name": "Pool", "keys": ["pool"], "content": "Water."},
        ],
    }
    whole = case(preset={"presetMessages": messages}, lorebooks=[lore], checks=[*checks], **changes)
    del whole["expected"]
    return whole


@each_row(
    ("check", "words"),
    [
        ({"id": "r", "at": 0}, "“r” is in turn 4 (depth 1), not turn 0."),
        ({"id": "r", "at": "depth -3"}, "“r” is in turn 4 (depth 1), not depth -3."),
        ({"id": "r", "before": "history"}, "“r” is in turn 4 (depth 1), not before “history”."),
        ({"id": "s", "after": "draft"}, "“s” is in turn 0 (system), not after “draft”."),
        ({"id": "s", "before": "off"}, "“off” is not sent: disabled."),
        ({"id": "off"}, "“off” is not sent: disabled."),
        ({"id": "r", "sent": False}, "“r” is sent, in turn 4 (depth 1)."),
        ({"id": "ss", "sent": False}, "The preset has no message “ss”."),
        ({"id": "worl"}, "The preset has no message “worl”. Did you mean “world”?"),
        ({"lore": "Pool"}, "“Pool” is not active."),
        ({"lore": "greeting", "active": False}, "“greeting” is active."),
        ({"lore": "Poool"}, "No lorebook has an entry “Poool”. Did you mean “Pool”?"),
        ({"maxTokens": 3}, " too many."),
        ({"body": {"messages": []}}, "The body differs in “messages”"),
    ],
)
def test_a_failing_check_names_place_and_fault(
    check: dict[str, Any], words: str, run: Run, tmp_path: Path
):
    write(tmp_path, checked({"id": "s"}, check))
    done = run("presets", "test", tmp_path)
    assert done.code == 1
    assert f"    $.checks[1]: {words}" in done.out or words in done.out
    assert "$.checks[0]" not in done.out


@each_row(
    ("checks", "words"),
    [
        ([{"idd": "s"}], "$.checks[0] (line"),
        ([{"id": "s", "att": 0}], "did you mean “at”"),
        ([{"id": "s", "tokens": 3}], "it is kept, but has no effect"),
        ([{"maxTokens": 0}], "$.checks[0].maxTokens"),
        ([{"noNotes": "none"}], "$.checks[0].noNotes"),
        ([3], "must be a check: an object with one of “id”, “lore”"),
        ({"id": "s"}, "must be a list of checks"),
    ],
)
def test_a_broken_check_fails_with_a_sentence(checks: Any, words: str, run: Run, tmp_path: Path):
    write(tmp_path, {**checked(), "checks": checks})
    done = run("presets", "test", tmp_path)
    assert done.code == 1
    assert words in done.out


def test_a_whole_body_is_compared_in_the_cases_protocol(run: Run, tmp_path: Path):
    preset = [{"content": "Be brief."}, {"type": "chat_history"}]
    given = {"preset": preset, "draft": "D", "model": "claude-x", "protocol": "anthropic"}
    body = {
        "model": "claude-x",
        "max_tokens": 128000,
        "system": [{"type": "text", "text": "Be brief."}],
        "messages": [{"role": "user", "content": "D"}],
        "stream": True,
    }
    path = write(tmp_path, {**given, "checks": [{"body": body}]})
    done = run("presets", "test", tmp_path)
    assert done.code == 0, done.out
    write(tmp_path, {**given, "checks": [{"body": {**body, "stream": 1}}]}, path.name)
    assert "$.checks[0]: The body differs in “stream”." in run("presets", "test", tmp_path).out


def test_notes_fail_a_check(run: Run, tmp_path: Path):
    preset = [
        {"id": "a", "role": "user", "content": "A", "anchorTarget": "nowhere"},
        {"type": "chat_history"},
    ]
    write(tmp_path, {"preset": preset, "draft": "D", "checks": [{"noNotes": "warning"}]})
    done = run("presets", "test", tmp_path)
    assert done.code == 1
    assert "$.checks[0]: warning: " in done.out
    assert "nowhere" in done.out


def test_update_writes_turns_and_leaves_failing_checks(run: Run, tmp_path: Path):
    path = write(tmp_path, checked({"id": "r", "at": 0}, expected=[]))
    value = json.loads(path.read_text())
    write(tmp_path, {**value, "expected": []})
    done = run("presets", "test", tmp_path, "--update")
    assert done.code == 1
    assert json.loads(path.read_text())["checks"] == value["checks"]
    assert len(json.loads(path.read_text())["expected"]) == 6


def test_results_as_junit(run: Run, tmp_path: Path):
    write(tmp_path, case(name="fine <&>"), "a.json")
    write(tmp_path, case(expected=TURNS[:-1], name="bell \x07"), "b.json")
    write(tmp_path, case(seed="x"), "c.json")
    report = tmp_path / "report.xml"
    assert run("presets", "test", tmp_path, "--junit", report).code == 1
    (suite,) = ElementTree.fromstring(report.read_text()).iter("testsuite")
    assert [suite.get(key) for key in ("tests", "failures", "errors")] == ["3", "1", "1"]
    passed, failed, unread = suite
    assert str(passed.get("name")).endswith("a.json: fine <&>")
    assert len(passed) == 0
    assert failed[0].tag == "failure"
    assert "+    D" in str(failed[0].text)
    assert unread[0].tag == "error"
    assert "$.seed" in str(unread[0].get("message"))


def test_check_fails_for_warnings_when_strict(run: Run, tmp_path: Path):
    path = write(tmp_path, {"presetMessages": [{"content": "A", "insertionpiont": 1}]})
    assert run("presets", "check", path).code == 0
    assert run("presets", "check", path, "--strict").code == 1


def test_what_is_expected_of_the_reply_is_left_to_the_lab(run: Run, tmp_path: Path):
    asserted = {"assert": [{"type": "icontains", "value": "ada"}], "threshold": 1, "passRate": 0.5}
    write(tmp_path, case(**asserted))
    assert run("preset", "test", tmp_path).code == 0
