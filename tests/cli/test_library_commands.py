"""`tui-chat library` and its earlier names, `models`, and `preset check`."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

from tests.support.command_line import Run
from tests.support.library_home import home

__all__ = ["home"]


def test_presets_are_listed_with_their_origin(home: Run, tmp_path: Path):
    listed = {each["name"]: each for each in json.loads(home("presets", "list", "--json").out)}
    assert (listed["mine"]["about"], listed["mine"]["bundled"]) == ("2 messages", False), (
        "no anchor"
    )
    assert listed["mine"]["path"] == str(tmp_path / "presets" / "mine.json")
    assert listed["plain"]["bundled"] is True
    assert "boss" in listed["broken"]["error"] or "role" in listed["broken"]["error"]
    text = home("presets", "list").out
    assert text.splitlines()[0].split() == ["NAME", "FROM", "ABOUT"]
    assert not (tmp_path / "data").exists()


def test_a_preset_is_shown_by_name_path_or_input(home, tmp_path, monkeypatch):
    shown = home("presets", "show", "mine").out
    path = tmp_path / "presets" / "mine.json"
    assert home("presets", "show", path).out == shown
    assert shown.strip() == path.read_text()
    assert home("presets", "show", "mine", "--json").out == shown
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(path.read_bytes())))
    assert "Be brief." in home("presets", "show", "-").out


def test_a_preset_is_checked_by_name_and_the_old_group_works(home: Run, tmp_path: Path):
    for group in ("presets", "preset"):
        done = home(group, "check", "broken")
        assert done.code == 1
        assert str(tmp_path / "presets" / "broken.json") in done.out
        assert home(group, "check", "mine", "plain").code == 0
    assert "\n  preset" not in home("--help").out
    assert home("library", "check", "presets", "broken").out == done.out
    for words in (("check", "brokn"), ("show", "brokn")):
        done = home("presets", *words)
        assert done.code == 2
        assert "Did you mean “broken”?" in done.err


def test_models_are_listed_with_limits_and_prices(home: Run):
    found = json.loads(home("models", "claude-haiku", "--json").out)
    [haiku] = [each for each in found if each["endpoint"] == "anthropic"]
    assert haiku["context_limit"] >= 200_000
    assert haiku["input_price"] > 0
    assert str(haiku["model"]) in home("models", "CLAUDE-haiku").out
    assert "No models." in home("models", "no-such-model").err
    assert home("models", "--endpoint", "antropic").code == 2


def test_models_are_asked_of_the_servers(home: Run, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    done = home("models", "--endpoint", "loopback", "--online", "--json")
    assert done.code == 0
    assert "mirror" in {each["model"] for each in json.loads(done.out)}
    done = home("models", "--endpoint", "openai", "--online")
    assert done.code == 1
    assert "openai: No API key for openai (OPENAI_API_KEY is not set)." in done.err


def test_roles_are_listed_and_shown(home: Run):
    assert [each["name"] for each in json.loads(home("roles", "list", "--json").out)] == ["Poet"]
    assert "Poet" in home("roles", "list").out
    shown = json.loads(home("roles", "show", "poet").out)
    assert (shown["name"], shown["model"], shown["parameters"]) == ("Poet", "echo", {"seed": 3})
    assert shown["system_prompt"] == "Rhyme."
    assert "Did you mean “Poet”?" in home("roles", "show", "Poot").err


def test_profiles_are_listed_and_shown(home: Run, tmp_path: Path):
    [listed] = json.loads(home("profiles", "list", "--json").out)
    assert (listed["name"], listed["about"]) == ("kim", "Kim: Kim is here.")
    assert "Kim is here." in home("profiles", "list").out
    assert json.loads(home("profiles", "show", "kim").out)["name"] == "Kim"
    (tmp_path / "profiles" / "kim.json").unlink()
    assert "There are no profiles." in home("profiles", "list").err
    assert home("profiles", "show", "kim").code == 2


# --- `tui-chat preset check` and `preset import` ------------------------------------------


GOOD = '[{"type": "chat_history"}]'
DOUBTFUL = '[{"type": "chat_history"},\n {"content": "a", "anchorTaget": "b"}]'
BROKEN = '{"presetMessages": [\n  {"role": "boss"},\n  {"order": "a"}\n]}'


def test_each_finding_has_path_line_level_code_and_sentence(run: Run, tmp_path: Path):
    path = tmp_path / "p.json"
    path.write_text(DOUBTFUL)
    done = run("preset", "check", path)
    assert done.out == (
        f"{path}:2: warning misspelled-key “anchorTaget” is unknown; did you mean “anchorTarget”?\n"
    )
    assert done.code == 0


def test_all_errors_of_all_files_are_printed(run: Run, tmp_path: Path):
    good, broken = tmp_path / "good.json", tmp_path / "broken.json"
    good.write_text(GOOD)
    broken.write_text(BROKEN)
    done = run("preset", "check", broken, good, tmp_path / "none.json")
    lines = done.out.splitlines()
    assert done.code == 2  # one cannot be read
    assert run("preset", "check", broken, good).code == 1
    assert [line.partition(": ")[2].split()[:2] for line in lines] == [
        ["error", "bad-value"],
        ["error", "bad-value"],
        ["error", "unreadable"],
    ]
    assert lines[0].startswith(f"{broken}:2: ")
    assert "$.presetMessages[1].order" in lines[1]
    assert "3 files checked: 3 errors." in done.err


def test_check_accepts_a_folder(run: Run, tmp_path: Path):
    (tmp_path / "a.json").write_text(GOOD)
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "b.json").write_text(BROKEN)
    done = run("preset", "check", tmp_path)
    assert (done.code, done.out) == (0, "")


def test_check_prints_json(run: Run, tmp_path: Path):
    path = tmp_path / "p.json"
    path.write_text(BROKEN)
    done = run("preset", "check", "--json", path)
    assert done.code == 1
    assert json.loads(done.out)[0] == {
        "path": str(path),
        "line": 2,
        "column": 12,
        "level": "error",
        "code": "bad-value",
        "sentence": "must be one of system, user, assistant, tool, not “boss”",
        "place": "$.presetMessages[0].role",
    }
    path.write_text(GOOD)
    assert run("preset", "check", "--json", path).out == "[]\n"


def test_findings_are_sanitized(run: Run, tmp_path: Path):
    path = tmp_path / "p.json"
    path.write_text(
        '[{"type": "chat_history"}, {"id": "\\u001b]0;x\\u0007\\u202e", "role": "user"}]'
    )
    done = run("preset", "check", path)
    assert "\x1b" not in done.out
    assert "\u202e" not in done.out
    assert "␛]0;x␇\\u202e" in done.out


def test_no_file_is_a_usage_error(run: Run):
    assert run("preset", "check").code == 2
    assert run("preset", "check", "--jsn", "a").code == 2
