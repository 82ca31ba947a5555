"""`tui-chat preset test`: cases pass, fail with a readable diff, and are updated."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run
from tui_chat.paths import bundled

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
    {"role": "system", "content": "Be dry, Ada; it is 2025-06-30."},
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


@pytest.mark.parametrize(
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
    path = tmp_path / "case.json"
    before = (
        '{\n    "draft": "D",\n    "preset": [{"type":   "chat_history"}],\n'
        '    "expected": [{"role": "user", "content": "", "origin": "draft"}],\n    "seed": 1\n}\n'
    )
    path.write_text(before)
    done = run("preset", "test", tmp_path, "--update")
    assert done.code == 0
    assert "-    \n" in done.out
    assert "+    D\n" in done.out
    turns = '[\n        {\n            "role": "user",\n            "content": "D",\n'
    turns += '            "origin": "draft"\n        }\n    ]'
    start, end = before.index('[{"role"'), before.index(',\n    "seed"')
    assert path.read_text() == before[:start] + turns + before[end:]
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


@pytest.mark.parametrize(
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


@pytest.mark.parametrize(
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
