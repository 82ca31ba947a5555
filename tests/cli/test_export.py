"""`tui-chat export`, `sessions list` and `search`."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
from hashlib import sha256
from itertools import count
from pathlib import Path

import pytest

from tests.support.imported_sessions import Command
from tests.support.program import run_program
from tests.support.tables import each_row
from tui_chat.models.endpoint import Protocol
from tui_chat.models.message import Message
from tui_chat.models.session import RequestRecord
from tui_chat.store import Store


def test_sessions_are_printed_as_json_or_a_table(filled: Command):
    told = json.loads(filled("sessions", "list", "--json").out)
    assert {each["title"] for each in told} == {"A walk", "A swim"}
    for each in told:
        assert each["message_count"] == 2, "those of the shown branch"
        assert {"session_id", "role_name", "model", "total_tokens", "status", "updated"} <= set(
            each
        )
    head, *rows = filled("sessions", "list").out.splitlines()
    assert head.split()[:4] == ["ID", "TITLE", "ROLE", "MODEL"]
    assert len(rows) == 2
    assert all(told[n]["session_id"].startswith(row.split()[0]) for n, row in enumerate(rows))


@each_row(
    ("flags", "titles"),
    [
        (["--title", "WALK"], ["A walk"]),
        (["--title", "run"], []),
        (["--limit", "1", "--title", "a"], 1),
        (["--tag", "nothing"], []),
        (["--archived"], 2),
        (["--deleted"], []),
    ],
)
def test_sessions_are_filtered(filled: Command, flags: list[str], titles: list[str] | int):
    told = json.loads(filled("sessions", "list", "--json", *flags).out)
    if isinstance(titles, int):
        assert len(told) == titles
    else:
        assert [each["title"] for each in told] == titles


@pytest.mark.skipif(sys.platform == "win32", reason="pipes have no names there")
def test_export_writes_into_a_named_pipe(filled: Command, tmp_path: Path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()))
    reader.start()
    done = filled("export", "A walk", "--output", pipe)
    reader.join()
    assert (done.code, done.err) == (0, "")
    assert pipe.is_fifo()
    assert read == [filled("export", "A walk").out]


def test_a_shared_export_contains_no_requests(filled: Command, tmp_path: Path):
    async def sent() -> None:
        path = tmp_path / "data" / "chat.db"
        numbers = count()
        store = await Store.open(path, now=lambda: 1.0, new_id=lambda: f"new{next(numbers)}")
        async with store:
            session_id = (await store.sessions.list())[0].session_id
            text = '{"name": "my secret preset"}'
            await store.revisions.save("preset", text)
            record = RequestRecord(
                *("e", Protocol.GEMINI, "POST", "https://x", sha256(b"my body").hexdigest()),
                {"preset": sha256(text.encode()).hexdigest()},
                b"my body",
            )
            begun = await store.replies.begin(
                session_id, parent_id=None, user=None, model="m", endpoint="e", request=record
            )
            said = Message.of("assistant", "Done.")
            await store.replies.end(begun.reply.message.id, message=said, status="complete")
            await store.drafts.save(session_id, "my draft")

    asyncio.run(sent())
    whole = filled("export", "--all").out
    shared = filled("export", "--all", "--without-requests").out
    for secret in ("my secret preset", "my body", "my draft"):
        assert secret in whole
        assert secret not in shared
    assert shared.count('"content"') == whole.count('"content"')


def test_export_formats(filled: Command, tmp_path: Path):
    assert filled("export", "A walk", "--format", "markdown").out.startswith("# A walk\n")
    text = filled("export", "A walk", "--format", "jsonl").out
    assert [json.loads(line)["content"] for line in text.splitlines()][1] == "North."
    path = tmp_path / "history.jsonl"
    path.write_text(text)
    built = filled("build", "--history", path, "And then?")
    assert built.code == 0
    assert "North." in built.out


def test_export_all(filled: Command):
    told = json.loads(filled("export", "--all").out)
    assert len(told["sessions"]) == 2


@each_row(
    ("words", "said"),
    [
        (["A wlak"], "Did you mean"),
        (["nothing like it at all"], "`tui-chat sessions list` lists them."),
        (["A walk", "--all"], "Name one session, or use --all"),
        (["--all", "--format", "jsonl"], "Export them one by one, or as JSON."),
        (["A walk", "--output", "/dev/null/x"], "cannot be written"),
    ],
)
def test_export_refuses_bad_arguments(filled: Command, words: list[str], said: str):
    done = filled("export", *words)
    assert (done.code, done.out) == (2, "")
    assert said in done.err


def test_the_last_session_is_exported_without_a_name(chat: Command, filled: Command):
    assert filled("export").out == filled("export", "A swim").out
    assert filled("export", "-o", "/dev/null/x").code == 2


def test_export_overwrites_only_with_force(filled: Command, tmp_path: Path):
    path = tmp_path / "walk.md"
    path.write_text("mine")
    done = filled("export", "A walk", "--format", "markdown", "--output", path)
    assert (done.code, path.read_text()) == (2, "mine")
    assert "--force" in done.err
    assert filled("export", "A walk", "--output", path, "--force").code == 0
    assert path.read_text().startswith("{")


@pytest.mark.slow
def test_a_closed_pipe_ends_an_export_quietly(filled: Command, tmp_path: Path):
    read, write = os.pipe()
    os.close(read)
    done = run_program("--data-dir", tmp_path / "data", "export", "--all", stdout=write)
    os.close(write)
    assert done.stderr == ""
