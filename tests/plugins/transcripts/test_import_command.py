"""`tui-chat import`."""

from __future__ import annotations

import json
from pathlib import Path

from tests.support.command_line import Run
from tests.support.imported_sessions import Command, chat, file, filled

__all__ = ["chat", "file", "filled"]


def test_import_prints_a_report(chat: Command, file: Path):
    done = chat("import", file)
    assert (done.code, done.err) == (0, "")
    assert "2 sessions read: 2 new, 0 grown, 0 already there; 6 messages added." in done.out
    assert "0 new, 0 grown, 2 already there; 0 messages added." in chat("import", file).out


def test_a_dry_run_says_what_would_happen(chat: Command, file: Path):
    assert "2 would be new" in chat("import", "--dry-run", file).out
    assert json.loads(chat("sessions", "list", "--json").out) == []


def test_import_prints_json(chat: Command, file: Path, tmp_path: Path):
    done = chat("import", "--json", file, tmp_path / "nowhere")
    first, second = json.loads(done.out)
    assert done.code == 2
    assert first["sessions"] == {"new": 2, "grown": 0, "known": 0}
    assert first["messages_added"] == 6
    assert second["faults"][0]["sentence"] == "cannot be read: No such file or directory"
    done = chat("import", tmp_path / "nowhere", file)
    assert done.code == 2
    assert done.err.startswith("Error: ")
    assert "nowhere cannot be read" in done.err
    assert "2 sessions read: 0 new, 0 grown, 2 already there; 0 messages added.\n" in done.out


def test_faults_are_printed_on_standard_error_beside_the_report(chat: Command, tmp_path: Path):
    path = tmp_path / "c.json"
    path.write_text(json.dumps([{"messages": [{"role": "\x1b[31m", "content": ""}]}]))
    done = chat("import", path)
    assert done.code == 2
    assert f"{path}: $[0].messages[0].role must be one of" in done.err
    path.write_text(
        '{"format": "tui-chat", "version": 9, "program": "\\u001b[31mx", "sessions": []}'
    )
    done = chat("import", path)
    assert "Update tui-chat." in done.err
    assert "\x1b" not in done.err


def test_an_export_can_be_imported_into_another_database(filled: Command, run: Run, tmp_path: Path):
    done = filled("export", "A walk")
    path = tmp_path / "walk.json"
    assert filled("export", "A walk", "--output", path).out == ""
    assert path.read_text() == done.out
    [told] = json.loads(done.out)["sessions"]
    assert [message["content"] for message in told["messages"]] == [
        "Where to, 去北方好吗?",
        "North.",
        "South.",
    ]
    other = ("--data-dir", tmp_path / "other")
    assert "1 new" in run(*other, "import", path).out
    assert run(*other, "export", told["session"]["session_id"]).out == done.out
