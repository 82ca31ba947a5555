"""Roles of sessions on the command line: titles, and a role that was disabled or deleted later."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.support.command_line import Run
from tests.support.server import Provider, chat_text

TEACHER = {
    "roleId": "teacher",
    "name": "Math teacher",
    "systemPrompt": "You teach mathematics.",
}


def prepare(folder: Path, provider: Provider) -> tuple[str, ...]:
    """Write the configuration with a role, and return the options that name it."""
    (folder / "roles").mkdir()
    (folder / "roles" / "teacher.json").write_text(json.dumps(TEACHER))
    (folder / "config.toml").write_text(provider.config())
    return ("--data-dir", str(folder), "--config-dir", str(folder))


def change(folder: Path, statement: str) -> None:
    """Change the database as the app does when a role is disabled or deleted."""
    with closing(sqlite3.connect(folder / "chat.db")) as connection, connection:
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute(statement)


DISABLE = "UPDATE roles SET status = 'disabled' WHERE name = 'Math teacher'"
ENABLE = "UPDATE roles SET status = 'enabled' WHERE name = 'Math teacher'"


def titles(run: Run, options: tuple[str, ...]) -> list[str]:
    listed: list[dict[str, Any]] = json.loads(run(*options, "sessions", "list", "--json").out)
    return [each["title"] for each in listed]


def test_a_session_is_titled_by_its_role_and_its_first_words(tmp_path: Path, run: Run):
    with Provider(chat_text("2")) as provider:
        options = prepare(tmp_path, provider)
        run(*options, "ask", "--role", "Math teacher", "1+1=?")
        run(*options, "ask", "--role", "", "Nobody there?")
        long = "What is " + "very " * 20 + "long?"
        run(*options, "ask", "--role", "", long)
        assert titles(run, options) == [
            long,
            "Nobody there?",
            "Math teacher: 1+1=?",
        ]


def test_a_session_sends_nothing_with_a_role_that_was_disabled(tmp_path: Path, run: Run):
    with Provider(chat_text("2")) as provider:
        options = prepare(tmp_path, provider)
        run(*options, "ask", "--role", "Math teacher", "1+1=?")
        change(tmp_path, DISABLE)
        for words in (
            ("ask", "-c", "2+2=?"),
            ("ask", "-s", "Math teacher: 1+1=?", "2+2=?"),
            ("ask", "-c", "--force", "2+2=?"),
            ("ask", "-c", "--system", "Be brief.", "2+2=?"),
            ("build", "--session", "Math teacher: 1+1=?", "2+2=?"),
        ):
            done = run(*options, *words)
            assert done.code == 2, words
            for way in ("Math teacher", "disabled", "nable it", "o on without it", "new session"):
                assert way in done.err, (words, done.err)
        assert len(provider.received) == 1

        done = run(*options, "ask", "-c", "--role", "", "3+3=?")
        assert done.code == 0, done.err
        assert "You teach mathematics." not in str(provider.bodies[-1])
        assert "1+1=?" in str(provider.bodies[-1])

        change(tmp_path, ENABLE)
        assert run(*options, "ask", "-c", "4+4=?").code == 0
        assert "You teach mathematics." in str(provider.bodies[-1])
        assert run(*options, "ask", "-c", "--role", "", "5+5=?").code == 2, "it keeps its role"


def test_a_session_sends_nothing_with_a_role_that_was_deleted(tmp_path: Path, run: Run):
    with Provider(chat_text("2")) as provider:
        options = prepare(tmp_path, provider)
        run(*options, "ask", "--role", "Math teacher", "1+1=?")
        (tmp_path / "roles" / "teacher.json").unlink()
        change(tmp_path, "UPDATE sessions SET lost_role = 'Math teacher'")
        change(tmp_path, "DELETE FROM roles WHERE name = 'Math teacher'")
        done = run(*options, "ask", "-c", "2+2=?")
        assert done.code == 2
        assert "was deleted" in done.err
        assert len(provider.received) == 1
        assert run(*options, "ask", "-c", "--role", "", "2+2=?").code == 0
        assert run(*options, "ask", "-c", "--bare", "3+3=?").code == 0
        assert len(provider.received) == 3
