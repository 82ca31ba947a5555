"""`tui-chat preset check` and `preset import`."""

from __future__ import annotations

import json
from pathlib import Path

from tests.support.command_line import Run

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
