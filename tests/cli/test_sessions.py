"""`tui-chat sessions`: shown and organized by id or title, with titles and roles."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.support.command_line import Done, Run
from tests.support.server import Provider, chat_text
from tests.support.tables import each_row
from tui_chat.cli.app import new_id
from tui_chat.models.message import Message
from tui_chat.models.session import Entry, Session, SessionTranscript
from tui_chat.store import Store

Sessions = Callable[..., Done]


@pytest.fixture
def sessions(tmp_path: Path, run: Run) -> Sessions:
    """Return a function that runs `sessions` in a home with two of them."""
    home = ("--data-dir", tmp_path, "--config-dir", tmp_path)
    for text in ("A walk", "A *talk*"):
        options = ("--role", "Assistant", "--model", "echo", "--set", "seed=1")
        assert run(*home, "ask", text, *options).code == 0
    return lambda *words: run(*home, "sessions", *words)


def listed(sessions: Sessions, *options: str) -> list[dict[str, object]]:
    return json.loads(sessions("list", "--json", *options).out)


def test_show_as_text_and_json(sessions: Sessions):
    done = sessions("show", "A walk")
    assert done.code == 0
    assert done.out.startswith("# A walk\n")
    assert "- Role: Assistant\n" in done.out
    shown = json.loads(sessions("show", "A walk", "--json").out)
    assert shown["title"] == "A walk"
    assert shown["settings"] == {"seed": 1}
    assert [(each["role"], each["content"]) for each in shown["messages"]] == [
        ("user", "A walk"),
        ("assistant", "A walk"),
    ]
    assert shown["messages"][1]["model"] == "echo"


def test_the_last_session_is_shown_without_a_name(sessions: Sessions):
    assert sessions("show").out == sessions("show", "A *talk*").out


@each_row(
    ("words", "said"),
    [
        (("sessions", "show"), "There is no session yet."),
        (("export",), "There is no session yet."),
        (("ask", "-c", "x"), "There is no session to continue."),
    ],
)
def test_there_may_be_no_session(words: tuple[str, ...], said: str, run: Run, tmp_path: Path):
    done = run("--data-dir", tmp_path, "--config-dir", tmp_path, *words)
    assert (done.code, done.out) == (2, "")
    assert said in done.err


def test_printed_ids_work_when_pasted_back(sessions: Sessions, run: Run, tmp_path: Path):
    home = ("--data-dir", tmp_path, "--config-dir", tmp_path)
    sessions("delete", "A *talk*")
    for words in (("--limit", "1"), ("--title", "walk"), ()):
        [_, row] = sessions("list", *words).out.splitlines()
        assert run(*home, "ask", "Elsewhere", "--model", "echo").code == 0  # begun meanwhile
        assert sessions("show", row.split()[0]).out.startswith("# A walk\n"), words
        sessions("delete", "Elsewhere")
        sessions("delete", "--undo", "A walk")
    [_, *rows] = sessions("list", "--deleted").out.splitlines()
    talk = next(row.split()[0] for row in rows if "talk" in row)
    done = sessions("show", talk)
    assert done.code == 2
    assert "is in the trash" in done.err
    assert sessions("delete", "--undo", talk).code == 0
    assert sessions("show", talk).code == 0


async def record_session(folder: Path) -> str:
    """Store a session with a title call and a subagent, as the tap does; return its id."""
    async with await Store.open(folder / "chat.db", now=time.time, new_id=new_id) as store:
        ids = [new_id() for _ in range(3)]
        titles = ("Follow the river", "Write a title", "Find the source")
        for session_id, title in zip(ids, titles, strict=True):
            parent = "" if session_id == ids[0] else ids[0]
            session = Session(session_id, title, client="Claude Code", parent_id=parent)
            entry = Entry(Message.of("user", title, id=f"m{session_id}"))
            await store.transcripts.add(SessionTranscript(session, (entry,)))
    return ids[0]


def test_side_conversations_are_listed_as_json_only(sessions: Sessions, tmp_path: Path):
    parent = asyncio.run(record_session(tmp_path))
    assert len(sessions("list").out.splitlines()) == 4, "the head and three"
    assert len(sessions("list", "--title", "source").out.splitlines()) == 2, (
        "its session is not listed"
    )
    assert len(sessions("list", "--limit", "2").out.splitlines()) == 3
    sides = [each for each in listed(sessions) if each["parent_id"] == parent]
    assert [each["client"] for each in sides] == ["Claude Code"] * 2


def test_delete_can_be_undone(sessions: Sessions):
    ids = [str(each["session_id"]) for each in listed(sessions)]
    assert sessions("delete", *ids).code == 0
    assert listed(sessions) == []
    assert sessions("delete", "--undo", "A walk").out == "Restored “A walk”.\n"
    assert [each["title"] for each in listed(sessions)] == ["A walk"]
    assert sessions("delete", "--undo", "A walk").code == 2


@each_row("words", [("show",), ("delete",)])
def test_an_unknown_session_suggests_the_nearest(words: tuple[str, ...], sessions: Sessions):
    done = sessions(words[0], "A wlak", *words[1:])
    assert done.code == 2
    assert "(A walk)" in done.err
    assert done.err.count("\n") == 1


# --- Roles of sessions on the command line ------------------------------------------------


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
