"""Several programs on one real file, some of them killed."""

from __future__ import annotations

import asyncio
import random
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from tests.support.databases import made_at, plain
from tests.support.stores import Opener, begin
from tests.support.tables import each_row
from tests.unit.store.child_text import TEXT
from tui_chat.errors import StoreBusy
from tui_chat.models.message import Message

Run = Callable[..., "subprocess.Popen[str]"]


def line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def say(process: subprocess.Popen[str], text: str) -> None:
    assert process.stdin is not None
    process.stdin.write(text + "\n")
    process.stdin.flush()


# Killed in mid-stream


async def test_a_kill_at_any_moment_loses_nothing_acknowledged(
    path: Path, open_store: Opener, run: Run
) -> None:
    chance = random.Random(20)
    told: dict[str, int] = {}
    children = [run("child_streams.py", path, seed) for seed in range(8)]
    for number, child in enumerate(children):  # they stream side by side, and go one by one
        reply_id = line(child)
        await asyncio.sleep(chance.random() * 0.12)
        child.kill()
        assert child.stdout is not None
        acknowledged = [int(told) for told in child.stdout.read().split()]
        told[str(number)] = max(acknowledged, default=0)
        assert reply_id

    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    store = await open_store()
    summaries = await store.sessions.list()
    assert sorted(s.title for s in summaries) == sorted(told)
    for summary in summaries:
        user, reply = await store.branches.load(summary.session_id)
        assert (user.message.content, user.status) == ("Count.", "complete")
        assert reply.status == summary.status == "interrupted"
        length = len(reply.message.content)
        assert length >= told[summary.title]
        assert reply.message.content == TEXT[:length]
        (block,) = reply.message.reasoning if length else [None]
        assert block is None or block.text == TEXT[: length // 2]
    assert max(told.values()) > 10_000, "no child came far enough to show anything"
    assert [item.name for item in path.parent.iterdir() if "-live-" in item.name] == []


async def test_a_reply_of_a_running_program_is_not_interrupted(
    path: Path, open_store: Opener, run: Run
) -> None:
    child = run("child_streams.py", path, 1)
    line(child), line(child)  # it has stored something
    store = await open_store()
    (summary,) = await store.sessions.list()
    assert summary.status == "streaming"
    first = (await store.branches.load(summary.session_id))[-1].message.content
    for _ in range(20):
        line(child)
    later = (await store.branches.load(summary.session_id))[-1]
    assert later.status == "streaming"
    assert later.message.content.startswith(first)
    assert len(later.message.content) > len(first)

    child.kill()
    child.communicate()
    again = await open_store()
    assert (await again.sessions.list())[0].status == "interrupted"


async def test_a_file_that_a_killed_program_left_is_removed(path: Path, open_store: Opener) -> None:
    left = path.with_name(f"{path.name}-live-killed")
    path.parent.mkdir(exist_ok=True)
    left.touch()
    await open_store()
    assert not left.exists()


async def test_two_stores_in_one_process_do_not_interfere(open_store: Opener) -> None:
    one = await open_store()
    session = await one.sessions.create()
    exchange = await begin(one, session.session_id)
    two = await open_store()
    assert (await two.sessions.list())[0].status == "streaming"
    reply = exchange.reply.message
    await one.replies.flush(reply.id, Message.of("assistant", "so far"))
    assert (await two.branches.load(session.session_id))[-1].message.content == "so far"
    await one.close()  # without having ended it
    three = await open_store()
    entry = (await three.branches.load(session.session_id))[-1]
    assert (entry.status, entry.message.content) == ("interrupted", "so far")


@each_row("version", [0, 1])
async def test_programs_that_start_at_the_same_time_share_a_new_or_an_old_file(
    tmp_path: Path, run: Run, version: int
) -> None:
    path = tmp_path / "chat.db"
    if version:
        made_at(path, version)
    children = [run("child_opens.py", path, 0) for _ in range(4)]
    for child in children:
        say(child, "go")
    assert [line(child) for child in children] == ["fine"] * 4
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT count(*) FROM sessions").fetchone() == (80,)


MANY = 1_000


async def test_two_programs_that_write_at_the_same_time_lose_nothing(
    path: Path, open_store: Opener, run: Run
) -> None:
    children = [run("child_writes.py", path, MANY) for _ in range(2)]
    assert [line(child) for child in children] == ["ready"] * 2
    for child in children:
        say(child, "go")
    written = [line(child) for child in children]
    store = await open_store()
    assert {s.session_id: s.message_count for s in await store.sessions.list()} == dict.fromkeys(
        written, MANY
    )
    for session_id in written:
        contents = [entry.message.content for entry in await store.branches.load(session_id)]
        assert contents == [f"{session_id} {number}" for number in range(MANY)]


# Another program holds it


@each_row("pragma", ["locking_mode = EXCLUSIVE", "journal_mode = DELETE"])
async def test_a_locked_database_is_busy(
    tmp_path: Path, open_store: Opener, run: Run, pragma: str
) -> None:
    path = tmp_path / "chat.db"
    await (await open_store(path)).close()
    holder = run("child_locks.py", path, pragma, "BEGIN EXCLUSIVE")
    assert line(holder) == "held"
    began = time.monotonic()
    async with asyncio.timeout(30):
        with pytest.raises(StoreBusy) as caught:
            await open_store(path)
    assert time.monotonic() - began > 0.2, "it waits for the other program"
    assert "Another program is using" in str(caught.value)
    assert caught.value.advice
    holder.communicate()
    assert await (await open_store(path)).sessions.list() == ()


async def test_an_old_database_is_not_updated_while_another_program_has_it_open(
    tmp_path: Path, open_store: Opener
) -> None:
    path = tmp_path / "chat.db"
    made_at(path, 19)
    with plain(path) as older:  # it is idle: no transaction is open
        older.execute("INSERT INTO drafts SELECT session_id, 'typed' FROM sessions")
        with pytest.raises(StoreBusy, match="has the database"):
            await open_store(path)
        older.execute("INSERT INTO settings VALUES ('theme', 'dark')")
    store = await open_store(path)
    assert await store.settings.get("theme") == "dark"
    assert store.backup is not None


async def test_a_write_waits_for_another_program_and_then_says_busy(
    path: Path, open_store: Opener, run: Run
) -> None:
    store = await open_store()
    session = await store.sessions.create()
    holder = run("child_locks.py", path, "synchronous = FULL", "BEGIN IMMEDIATE")
    assert line(holder) == "held"
    assert [s.session_id for s in await store.sessions.list()] == [session.session_id]
    with pytest.raises(StoreBusy):
        await store.sessions.update(session.session_id, title="x")
    holder.communicate()
    assert (await store.sessions.update(session.session_id, title="x")).title == "x"


# The disk


@pytest.mark.skipif(sys.platform == "win32", reason="no limit on the size of files there")
@each_row("limit", [1, 40_000, 150_000])
async def test_a_disk_error_is_reported(path: Path, run: Run, limit: int) -> None:
    child = run("child_opens.py", path, limit)
    say(child, "go")
    assert line(child).startswith("StoreError: The disk of the database")
