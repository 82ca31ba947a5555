"""`tui-chat redact`."""

from __future__ import annotations

import asyncio
import io
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.command_line import Done, Run
from tests.support.recorded_sessions import store_recorded
from tests.support.tables import each_row
from tui_chat.interop.own_json import read_session

KEY = "sk-ant-api03-aB3dE6gH9jK2mN5pQ8sT1vW4yZ7"
Redact = Callable[..., Done]


@pytest.fixture
def folders(tmp_path: Path) -> tuple[str, ...]:
    return ("--data-dir", str(tmp_path), "--config-dir", str(tmp_path))


@pytest.fixture
def redact(run: Run, folders: tuple[str, ...]) -> Redact:
    asked = run(
        *(*folders, "--endpoint", "loopback", "--model", "echo", "ask"),
        f"The key {KEY} in /home/zerlina/x.py of Kim Lee, mail jane@example.com",
    )
    assert asked.code == 0, asked.err
    return lambda *words: run(*folders, "redact", *words)


def test_without_a_terminal_nothing_is_written_without_consent(
    redact: Redact, tmp_path: Path
) -> None:
    file = tmp_path / "out.json"
    done = redact("--output", file)
    assert done.code != 0
    assert "nothing was written" in done.err
    assert "--yes" in done.err
    assert not file.exists()
    assert KEY in done.err  # the findings are shown all the same
    assert done.out == ""


def test_the_findings_are_shown_and_the_export_has_none(redact: Redact, tmp_path: Path) -> None:
    (tmp_path / "redact.txt").write_text("Kim Lee\n")
    file = tmp_path / "out.json"
    done = redact("--yes", "--output", file)
    assert done.code == 0, done.err
    for line in (
        "API keys and tokens",
        "E-mail addresses",
        "→ REDACTED_EMAIL_1",
        "message 1 (user)",
    ):
        assert line in done.err
    text = file.read_text()
    for secret in (KEY, "zerlina", "jane@example.com", "Kim Lee"):
        assert secret not in text
    assert file.stat().st_mode & 0o077 == 0
    read = read_session(json.loads(text)["sessions"][0])
    assert read.entries[0].message.content == (
        "The key REDACTED_KEY_1 in /home/REDACTED_USER_1/x.py of REDACTED_WORD_1, "
        "mail REDACTED_EMAIL_1"
    )
    assert read.requests[0].request.body is not None
    again = redact("--yes", "--output", file)
    assert "--force" in again.err
    assert redact("--yes", "--output", file, "--force").code == 0


def test_a_redacted_export_can_be_imported(
    redact: Redact, run: Run, folders: tuple[str, ...], tmp_path: Path
) -> None:
    file = tmp_path / "out.json"
    assert redact("--yes", "--output", file).code == 0
    other = ("--data-dir", str(tmp_path / "other"), "--config-dir", str(tmp_path))
    assert "1" in run(*other, "import", file).out
    done = run(*other, "export")
    assert json.loads(done.out)["sessions"] == json.loads(file.read_text())["sessions"]
    assert "Nothing was found." in run(*other, "redact", "--yes").err


@each_row("kind", ["markdown", "html", "jsonl", "json"])
def test_every_format_is_redacted(redact: Redact, kind: str) -> None:
    done = redact("--yes", "--format", kind)
    assert done.code == 0, done.err
    assert KEY not in done.out
    assert "REDACTED_KEY_1" in done.out


def test_a_kind_or_a_text_is_kept(redact: Redact) -> None:
    done = redact("--yes", "--keep", "user", "--keep", "JANE@example.com")
    assert "/home/zerlina/x.py" in done.out
    assert "jane@example.com" in done.out
    assert KEY not in done.out
    wrong = redact("--yes", "--keep", "usre")
    assert wrong.code != 0
    assert wrong.out == ""
    assert "“usre” was not found" in wrong.err
    assert redact("--yes", "--keep", "phone").code == 0  # a kind of which nothing was found


def test_on_a_terminal_it_asks(redact: Redact, monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.TextIOWrapper):
        def isatty(self) -> bool:
            return True

    for answer, is_written in ((b"n\n", False), (b"y\n", True)):
        monkeypatch.setattr(sys, "stdin", Terminal(io.BytesIO(answer)))
        monkeypatch.setattr("tui_chat.plugins.redact.command.is_terminal", lambda *, err: err)
        done = redact()
        assert "Write the session with these placeholders" in done.err
        assert bool(done.out) == is_written


def test_a_fault_of_the_words_is_named(redact: Redact, tmp_path: Path) -> None:
    (tmp_path / "redact.txt").write_text("fine\n?\n")
    done = redact("--yes")
    assert done.code != 0
    assert "redact.txt: line 2" in done.err
    assert done.out == ""


def test_a_recorded_session_is_redacted_with_its_request(
    run: Run, folders: tuple[str, ...], tmp_path: Path
) -> None:
    (tmp_path / "redact.txt").write_text("weather\nclaude-cli\n")
    asyncio.run(store_recorded(tmp_path))
    done = run(*folders, "redact", "recorded", "--yes")
    assert done.code == 0, done.err
    assert "weather" not in done.out
    assert "claude-cli" not in done.out
    read = read_session(json.loads(done.out)["sessions"][0])
    recorded = read.requests[0].request.recorded
    assert recorded is not None
    body = json.loads(recorded.body)
    assert body["messages"][0]["content"] == "What is the REDACTED_WORD_1?"
    assert recorded.headers is not None
    assert recorded.headers[0] == ("anthropic-version", "2023-06-01")
