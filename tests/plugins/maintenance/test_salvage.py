"""Damaged files: readable rows are saved to a new file, and the old one is not changed."""

from __future__ import annotations

import asyncio
import random
import shutil
import sqlite3
from contextlib import closing, suppress
from hashlib import sha256
from itertools import count
from pathlib import Path

import pytest

from tests.support.databases import made_at, plain
from tests.support.stores import give_variables, remove_forever
from tests.support.tables import each_row
from tui_chat.errors import InputError, StoreDamaged, StoreNewer
from tui_chat.models.endpoint import Protocol
from tui_chat.models.message import Message
from tui_chat.models.request import RequestRecord
from tui_chat.models.role import Role
from tui_chat.plugins.maintenance.repair import RECOVERED_TITLE
from tui_chat.plugins.maintenance.salvage import SalvageResult, salvage
from tui_chat.store import Store, schema

PAGE = 4096
LATEST = len(schema.migrations())
Rows = dict[str, list[tuple[object, ...]]]


def rows_of(path: Path) -> Rows:
    with closing(sqlite3.connect(path)) as connection:
        tables = connection.execute(
            "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' "
            "AND name NOT LIKE 'sqlite_%' AND name NOT LIKE 'unindexed_%'"
        ).fetchall()
        return {
            table: sorted(connection.execute(f"SELECT * FROM {table}"), key=repr)
            for (table,) in tables
        }


async def fill(path: Path) -> None:
    """Create a file with all kinds of rows, short and long, on about a hundred pages."""
    numbers, seconds = count(1), count(1_700_000_000)

    def new_id() -> str:
        return f"id-{next(numbers):06}"

    def request(body: bytes) -> RequestRecord:
        sha = sha256(body).hexdigest()
        return RequestRecord("e", Protocol.GEMINI, "POST", "https://x", sha, {"a": [1]}, body)

    chance = random.Random(5)
    async with await Store.open(path, now=lambda: float(next(seconds)), new_id=new_id) as store:
        await store.roles.save(Role("r", "Pirate", system_prompt="Arr 你好"))
        for number in range(12):
            session = await store.sessions.create(title=f"s{number}", role_id="r")
            parent = None
            for _ in range(12):
                content = f"{new_id()} " + "wörter 数字 " * chance.choice((1, 10, 100, 900, 3000))
                entry = await store.messages.add(
                    session.session_id, Message("user", content), parent
                )
                parent = entry.message.id
            exchange = await store.replies.begin(
                session.session_id, parent_id=parent, user=Message("user", "?"), model="m",
                endpoint="e", request=request(b"x" * chance.choice((10, 9000))),
            )  # fmt: skip
            reply = exchange.reply.message.id
            await store.replies.flush(reply, Message("assistant", "part"))
            if number % 3:
                await store.replies.end(
                    reply, message=Message("assistant", "done"), status="complete", seconds=2.0
                )
            await store.drafts.save(session.session_id, f"draft {number}")
            await give_variables(store, session.session_id, {"mood": "glad", "n": str(number)})
        await store.settings.set("last", "something")
        await store.database.write(
            lambda tx: tx.run(
                "INSERT INTO profiles (name, content, created, updated) "
                "VALUES ('Kim', 'Kim likes short answers.', 1, 1)"
            )
        )
        await store.revisions.save("preset", '{"name": "p"}')
        await store.messages.delete(reply)
        sessions = await store.sessions.list()
        await remove_forever(store, sessions[3].session_id)


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("filled") / "chat.db"
    asyncio.run(fill(path))
    return path


@pytest.fixture
def whole(path: Path, filled: Path) -> Path:
    path.parent.mkdir()
    return Path(shutil.copy(filled, path))


def damage(path: Path, first: int, last: int, fill: bytes = b"\xa5") -> None:
    """Overwrite pages, numbered from 1."""
    data = bytearray(path.read_bytes())
    data[(first - 1) * PAGE : last * PAGE] = fill * (last - first + 1) * PAGE
    path.write_bytes(data)


def saved(path: Path) -> tuple[SalvageResult, Rows]:
    """Salvage, check that the old file is unchanged and the new one valid; return its content."""
    before = {item: item.read_bytes() for item in path.parent.iterdir()}
    target = path.with_name("new.db")
    result = salvage(path, target)
    assert result.target == target
    assert {i: i.read_bytes() for i in path.parent.iterdir() if i != target} == before
    with closing(sqlite3.connect(target)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert not connection.execute("PRAGMA foreign_key_check").fetchall()
        assert schema.version_of(connection) == LATEST
    rows = rows_of(target)
    counted = {table: number for table, number in result.rows.items() if table in rows}
    assert counted == {table: len(rows[table]) for table in counted}
    assert not any(result.rows[table] for table in result.rows.keys() - counted.keys())
    return result, rows


async def test_an_undamaged_file_is_saved_completely(whole: Path) -> None:
    before = rows_of(whole)
    result, rows = saved(whole)
    assert rows == before
    assert (result.gaps, result.repairs) == (0, ())


async def test_rows_that_are_only_in_the_log_are_saved(whole: Path) -> None:
    with closing(sqlite3.connect(whole)) as other:  # keeps the log from being folded in
        other.execute("PRAGMA wal_autocheckpoint = 0")
        for number in range(200):
            other.execute("INSERT INTO settings VALUES (?, ?)", (f"k{number}", "v" * 500))
            other.commit()
        before = rows_of(whole)
        assert whole.with_name("chat.db-wal").stat().st_size > 100_000
        copy = whole.with_name("copy") / "chat.db"
        copy.parent.mkdir()
        for name in ("chat.db", "chat.db-wal"):
            (copy.parent / name).write_bytes((whole.parent / name).read_bytes())
    log = copy.with_name("chat.db-wal")
    assert saved(copy)[1] == before
    copy.with_name("new.db").unlink()

    log.write_bytes(log.read_bytes()[:-3000])  # the last commit did not reach the disk
    assert len(saved(copy)[1]["settings"]) == len(before["settings"]) - 1
    copy.with_name("new.db").unlink()

    log.write_bytes(b"\xa5" * 100_000)
    assert len(saved(copy)[1]["settings"]) == 1


async def test_without_its_first_page_a_backup_is_advised(whole: Path) -> None:
    damage(whole, 1, 1)
    with pytest.raises(StoreDamaged) as caught:
        salvage(whole, whole.with_name("new.db"))
    assert "restore" in caught.value.advice


@pytest.mark.slow
async def test_a_lost_page_loses_only_its_own_rows(whole: Path) -> None:
    """The page of a table's leaf; that of its tree loses what SQLite reaches through it."""
    before, data = rows_of(whole), whole.read_bytes()
    target = whole.with_name("new.db")
    tables = ("messages", "requests", "settings", "roles")
    kept = 0
    every = range(2, len(data) // PAGE + 1, 31)
    for number in every:
        damage(whole, number, number)
        with suppress(StoreDamaged):  # the page of the tree of all sessions or messages
            _, rows = saved(whole)
            lost = [
                row
                for table in tables
                for row in before[table]
                if row[0] not in {each[0] for each in rows[table]}
            ]
            kept += len(lost) <= 40  # as many short rows go on one page
        target.unlink(missing_ok=True)
        whole.write_bytes(data)
    assert kept >= 0.8 * len(every)


async def test_a_corrupted_status_or_role_loses_no_message(whole: Path) -> None:
    before, data = rows_of(whole), whole.read_bytes()
    assert data.count(b"usercomplete") > 40
    whole.write_bytes(data.replace(b"usercomplete", b"us\xb7rc-mplete", 40))
    result, rows = saved(whole)
    assert [row[0] for row in rows["messages"]] == [row[0] for row in before["messages"]]
    assert result.repairs == ("Invalid values that were replaced by the most likely ones: 80.",)


async def test_a_truncated_file(whole: Path) -> None:
    before = rows_of(whole)
    whole.write_bytes(whole.read_bytes()[: whole.stat().st_size // 2 - 1000])
    result, rows = saved(whole)
    assert len(before["messages"]) / 4 < len(rows["messages"]) < len(before["messages"])
    assert result.gaps


async def test_messages_of_a_lost_session_get_a_new_one(whole: Path) -> None:
    with closing(sqlite3.connect(whole)) as connection:
        connection.execute("PRAGMA foreign_keys = OFF")
        connection.execute("DELETE FROM sessions WHERE title IN ('s1', 's2')")
        connection.execute("DELETE FROM messages WHERE seq IN (40, 41, 60)")
        connection.commit()
    before = rows_of(whole)
    result, rows = saved(whole)
    assert [row[0] for row in rows["messages"]] == [row[0] for row in before["messages"]]
    async with await Store.open(result.target, now=lambda: 1.0, new_id=lambda: "x") as store:
        sessions = await store.sessions.list()
        assert sum(s.title == RECOVERED_TITLE for s in sessions) == 2
        for session in sessions:
            branch = await store.branches.load(session.session_id)
            assert session.message_count == len(branch) > 10
    assert len(result.repairs) == 2


async def test_a_ring_of_messages_is_opened(whole: Path) -> None:
    with closing(sqlite3.connect(whole)) as connection:
        first, last = connection.execute(
            "SELECT min(message_id), max(message_id) FROM messages GROUP BY session_id"
        ).fetchone()
        connection.execute("UPDATE messages SET parent_id = ? WHERE message_id = ?", (last, first))
        connection.commit()
    result, _ = saved(whole)
    assert result.repairs[0].endswith("got a new one: 1.")


@each_row("version", range(1, LATEST))
async def test_an_older_file(tmp_path: Path, version: int) -> None:
    path = tmp_path / "chat.db"
    made_at(path, version)
    with plain(path) as connection:
        connection.executescript(
            """
            PRAGMA foreign_keys = OFF;
            INSERT INTO sessions (session_id, title, head_id, touched, created, updated)
            VALUES ('s', 'old', 'b', 1, 5, 6);
            INSERT INTO messages
                (message_id, session_id, parent_id, message_role, created, content)
            VALUES ('a', 's', NULL, 'user', 5, 'hi'), ('b', 's', 'a', 'assistant', 6, 'ho');
            """
        )
    result, _ = saved(path)
    async with await Store.open(result.target, now=lambda: 1.0, new_id=lambda: "x") as store:
        assert [e.message.content for e in await store.branches.load("s")] == ["hi", "ho"]
        assert (await store.sessions.list())[0].message_count == 2


@each_row(
    "content",
    [b"", b"Dear diary,\n" * 5000, b"\0" * 50_000, b"x", b"SQLite format 3\0\x10\0" + b"\0" * 999],
)
def test_a_file_with_nothing_readable_is_an_error(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "chat.db"
    path.write_bytes(content)
    with pytest.raises(StoreDamaged) as caught:
        salvage(path, path.with_name("new.db"))
    assert "restore" in caught.value.advice
    assert [item.name for item in path.parent.iterdir()] == ["chat.db"]
    assert path.read_bytes() == content


async def test_salvage_overwrites_no_file(whole: Path) -> None:
    target = whole.with_name("new.db")
    target.write_text("mine")
    with pytest.raises(InputError, match="exists already"):
        salvage(whole, target)
    assert target.read_text() == "mine"


async def test_a_newer_file_is_refused(whole: Path) -> None:
    with closing(sqlite3.connect(whole)) as connection:
        connection.execute(f"PRAGMA user_version = {LATEST + 1}")
    with pytest.raises(StoreNewer):
        salvage(whole, whole.with_name("new.db"))


@each_row("seed", range(8))
async def test_any_damage_is_survived(tmp_path: Path, filled: Path, seed: int) -> None:
    whole = Path(shutil.copy(filled, tmp_path / "chat.db"))
    chance = random.Random(seed)
    data = bytearray(whole.read_bytes())
    for _ in range(chance.choice((1, 10, 300))):
        start = chance.randrange(len(data))
        length = chance.choice((1, 2, 50, 5000))
        data[start : start + length] = chance.randbytes(min(length, len(data) - start))
    whole.write_bytes(data)
    with suppress(StoreNewer, StoreDamaged):  # the version, or the first page, was hit
        saved(whole)
