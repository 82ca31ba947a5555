"""`tui-chat db`: status, migrations, backups, checks and rescue."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.support.command_line import Done, Run
from tui_chat.errors import StoreDamaged, StoreError
from tui_chat.models.endpoint import Protocol
from tui_chat.models.message import Message
from tui_chat.models.session import RequestRecord
from tui_chat.plugins.maintenance.upkeep import vacuum
from tui_chat.store import Store, schema

pytestmark = pytest.mark.usefixtures("impatient")

LATEST = len(schema.migrations())
OTHER_PROGRAM = Path(__file__).parents[2] / "unit" / "store" / "child_locks.py"


class Database:
    """A filled database, and `tui-chat db` for it."""

    def __init__(self, folder: Path, run: Run) -> None:
        self.path = folder / "chat.db"
        self._run = run
        asyncio.run(self.add("one"))

    def __call__(self, *words: object) -> Done:
        return self._run("--data-dir", self.path.parent, "db", *words)

    async def add(self, *titles: str) -> None:
        numbers = itertools.count()
        async with await Store.open(
            self.path, now=lambda: 1.7e9, new_id=lambda: f"{titles[0]}{next(numbers):03}"
        ) as store:
            for title in titles:
                session = await store.sessions.create(title=title)
                first = await store.messages.add(session.session_id, Message.of("user", "hi"), None)
                exchange = await store.replies.begin(
                    session.session_id, parent_id=first.message.id, user=None, model="m",
                    endpoint="e", request=RequestRecord(
                        "e", Protocol.GEMINI, "POST", "https://x",
                        "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a",
                        {}, b"{}",
                    ),
                )  # fmt: skip
                await store.replies.end(
                    exchange.reply.message.id,
                    message=Message.of("assistant", "ho"),
                    status="complete",
                )

    def titles(self, path: Path | None = None) -> list[str]:
        with closing(sqlite3.connect(path or self.path)) as connection:
            return [t for (t,) in connection.execute("SELECT title FROM sessions ORDER BY seq")]

    def spoil(self, *statements: str) -> None:
        with closing(sqlite3.connect(self.path)) as connection:
            for statement in statements:
                connection.execute(statement)
            connection.commit()

    def beside(self) -> list[str]:
        return sorted(item.name for item in self.path.parent.iterdir() if item != self.path)


@pytest.fixture
def db(tmp_path: Path, run: Run) -> Database:
    return Database(tmp_path, run)


@pytest.fixture
def held(db: Database) -> Iterator[subprocess.Popen[str]]:
    """Another program that has the database open."""
    other = subprocess.Popen(
        [sys.executable, str(OTHER_PROGRAM), str(db.path), "synchronous = FULL", "BEGIN"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert other.stdout.readline() == "held\n"
    yield other
    other.communicate()


def test_status(db: Database) -> None:
    told = json.loads(db("status", "--json").out)
    assert told == {
        "path": str(db.path),
        "exists": True,
        "version": LATEST,
        "applied": [f"{step.number:04} {step.name}" for step in schema.migrations()],
        "pending": [],
        "bytes": db.path.stat().st_size,
        "log_bytes": 0,
        "free_bytes": told["free_bytes"],
        "sessions": 1,
        "messages": 2,
        "backup": None,
        "in_use": False,
    }
    assert "none: `tui-chat db backup`" in db("status").out
    assert db.beside() == []


def test_status_beside_another_program(db: Database, held: object) -> None:
    told = json.loads(db("status", "--json").out)
    assert (told["in_use"], told["sessions"]) == (True, 1)
    assert "yes, another program has it open" in db("status").out


def test_a_backup_while_another_program_writes(
    db: Database, held: subprocess.Popen[str], tmp_path: Path
) -> None:
    target = tmp_path / "copy.db"
    assert str(target) in db("backup", target).out
    assert db.titles(target) == ["one"]
    assert target.stat().st_mode & 0o777 == 0o600
    again = db("backup", target)
    assert again.code == 2
    assert "exists already" in again.err
    held.communicate()
    asyncio.run(db.add("two"))
    assert db("backup", target, "--force").code == 0
    assert db.titles(target) == ["one", "two"]
    assert not [name for name in db.beside() if "partial" in name or "copy.db-" in name]


def test_a_backup_removes_partial_files_of_killed_backups(db: Database) -> None:
    left, written, other = (
        db.path.with_name(db.path.name + end)
        for end in (".123.partial-journal", f".{os.getppid()}.partial", ".125.part")
    )
    for file in (left, written, other):
        file.write_bytes(b"x")
    for file in (left, other):
        os.utime(file, (1e9, 1e9))
    assert db("backup").code == 0
    assert not left.exists()
    assert written.exists(), "another program may be writing it"
    assert other.exists()


def test_a_backup_without_a_name_is_made_beside_the_database(db: Database) -> None:
    db("backup"), db("backup")
    names = db.beside()
    assert len(names) == 2
    assert all(n.startswith(f"chat.db.v{LATEST}-") and n.endswith(".bak") for n in names)


def test_restore_replaces_the_database(db: Database, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    db("backup", copy)
    asyncio.run(db.add("two"))
    done = db("restore", copy)
    assert done.code == 0, done.err
    assert db.titles() == ["one"]
    aside = Path(done.out.split()[-1])
    assert db.titles(aside) == ["one", "two"]
    assert db("restore", aside).code == 0
    assert db.titles() == ["one", "two"]
    asyncio.run(db.add("three"))


def test_an_emptied_file_is_restored_from_its_backup(db: Database) -> None:
    db("backup")
    [saved] = db.path.parent.glob("*.bak")
    db.path.write_bytes(b"")
    with pytest.raises(StoreDamaged, match="0 bytes") as caught:
        asyncio.run(db.add("two"))
    assert "db restore" in caught.value.advice
    assert db("restore", saved).code == 0
    assert db.titles() == ["one"]


def test_restore_without_a_database(db: Database, tmp_path: Path) -> None:
    copy = tmp_path / "elsewhere" / "copy.db"
    copy.parent.mkdir()
    db("backup", copy)
    db.path.unlink()
    assert db("restore", copy).code == 0
    assert db.titles() == ["one"]
    assert db("check").code == 0


@pytest.mark.parametrize("content", [b"Dear diary", b"SQLite format 3\0" + b"\xa5" * 9000])
def test_restore_over_a_damaged_database(db: Database, tmp_path: Path, content: bytes) -> None:
    copy = tmp_path / "copy.db"
    db("backup", copy)
    db.path.write_bytes(content)
    done = db("restore", copy)
    assert done.code == 0, done.err
    assert Path(done.out.split()[-1]).read_bytes() == content
    assert db.titles() == ["one"]


def test_the_advice_names_a_backup_only_if_there_is_one(db: Database, tmp_path: Path) -> None:
    whole = db.path.read_bytes()
    damaged = whole[:100] + b"\xa5" * (len(whole) - 100)
    db.path.write_bytes(damaged)
    done = db("status")
    assert done.code == 7
    assert "There is no backup" in done.err
    assert "sqlite3 FILE .recover" in done.err
    db.path.write_bytes(whole)
    db("backup")
    [name] = (path.name for path in db.path.parent.glob("*.bak"))
    db.path.write_bytes(damaged)
    assert f"db restore {db.path.with_name(name)}" in db("status").err


@pytest.mark.skipif(sys.platform == "win32", reason="there a process cannot be looked for")
def test_what_a_killed_backup_left_is_removed(db: Database) -> None:
    left = [db.path.with_name(f"{db.path.name}.12345.partial{end}") for end in ("", "-journal")]
    running = db.path.with_name(f"{db.path.name}.{os.getppid()}.partial")
    for path in (*left, running):
        path.touch()
    for path in left:
        os.utime(path, (1.0, 1.0))
    assert db("backup").code == 0
    assert [path.exists() for path in (*left, running)] == [False, False, True]


def test_restore_over_a_newer_database_keeps_it(db: Database, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    db("backup", copy)
    db.spoil(f"PRAGMA user_version = {LATEST + 1}", "INSERT INTO settings VALUES ('new', '')")
    done = db("restore", copy)
    with closing(sqlite3.connect(Path(done.out.split()[-1]))) as aside:
        assert schema.version_of(aside) == LATEST + 1
    assert db("status").code == 0


def bad_copies(db: Database, folder: Path) -> Iterator[tuple[Path, str]]:
    yield folder / "missing.db", "There is no database"
    yield db.path, "is the database itself"
    diary = folder / "diary.db"
    diary.write_bytes(b"Dear diary,\n" * 500)
    yield diary, "is not a database"
    cut = folder / "cut.db"
    db("backup", cut)
    cut.write_bytes(cut.read_bytes()[:-8192])
    yield cut, "is damaged"
    empty = folder / "empty.db"
    empty.touch()
    yield empty, "is empty"
    with closing(sqlite3.connect(folder / "other.db")) as other:
        other.execute("CREATE TABLE bookmarks (url)")
    yield folder / "other.db", "belongs to another program"
    yield folder, "is a folder"


def test_restore_refuses_an_unusable_copy(db: Database, tmp_path: Path) -> None:
    folder = tmp_path / "copies"
    folder.mkdir()
    before = db.path.read_bytes()
    for copy, words in bad_copies(db, folder):
        refused = db("restore", copy)
        assert refused.code in (2, 7)
        assert words in refused.err
        assert "Traceback" not in refused.err
        assert (db.path.read_bytes(), db.beside()) == (before, ["copies"])


def test_commands_that_need_exclusive_access_are_refused_while_the_database_is_in_use(
    db: Database, held: object, tmp_path: Path
) -> None:
    copy = tmp_path / "copy.db"
    db("backup", copy)
    for words in (["restore", copy], ["vacuum"]):
        refused = db(*words)
        assert refused.code == 7
        assert "Another program has the database" in refused.err
        assert "Close tui-chat" in refused.err
    assert json.loads(db("status", "--json").out)["version"] == LATEST


SPOILT = {
    "branches": ("UPDATE messages SET parent_id = message_id WHERE seq = 1", ""),
    "references": ("DELETE FROM sessions", "refers to a missing row of"),
    "tables": ("DROP INDEX messages_parent", "index messages_parent is missing."),
    "tables, strange": ("CREATE TABLE strange (x)", "table strange is unexpected."),
    "tables, changed": (
        "ALTER TABLE revisions ADD COLUMN x TEXT",
        "revisions has a different definition.",
    ),
    "values": ("UPDATE requests SET recipe = '{'", ""),
    "requests": ("UPDATE requests SET body = x'00'", ""),
}
"""What spoils what a check looks at, and words of the fault."""


@pytest.mark.parametrize("name", SPOILT)
def test_check_finds_and_names_faults(db: Database, name: str) -> None:
    statement, fault = SPOILT[name]
    assert db("check").code == 0
    db.spoil("PRAGMA foreign_keys = OFF", statement)
    found = db("check", "--json")
    assert found.code == 1
    checks = {check["name"]: check["faults"] for check in json.loads(found.out)["checks"]}
    faults = checks[name.partition(",")[0]]
    assert fault in faults[0]
    told = db("check")
    assert faults[0] in told.out
    is_repaired = name in ("values", "requests")
    assert ("tui-chat db restore" in told.out) is not is_repaired
    if is_repaired:
        assert "tui-chat db repair" in told.out
        assert "1." in db("repair").out
        assert db("check").code == 0


@pytest.mark.parametrize(
    ("name", "statement"),
    [
        ("counts", "UPDATE sessions SET message_count = 7"),
        ("search", "INSERT INTO texts (rowid, text) VALUES (99, 'ghost')"),
        ("search", "DELETE FROM texts"),
        ("search", "UPDATE messages SET content = content || ' more' WHERE status = 'complete'"),
    ],
)
def test_repair_rebuilds_derived_data(db: Database, name: str, statement: str) -> None:
    if name == "search" and LATEST < 4:
        pytest.skip("there is no search index yet")
    db.spoil(statement)
    told = db("check")
    assert told.code == 1
    assert f"NO  {name}" in told.out
    assert "tui-chat db repair" in told.out
    assert db("repair").code == 0
    assert db("check").code == 0


def test_check_finds_a_visible_deleted_message(db: Database) -> None:
    db.spoil(
        "INSERT INTO deletions SELECT 1, message_id, NULL, 1.0 FROM messages WHERE seq = 1",
        "UPDATE messages SET hidden = 1 WHERE seq = 1",
    )
    assert "messages after it are visible" in db("check").out


@pytest.mark.parametrize("place", [0, 100, 4096 * 3])
def test_check_finds_damage(db: Database, place: int) -> None:
    data = bytearray(db.path.read_bytes())
    data[place : place + 3000] = b"\xa5" * 3000
    db.path.write_bytes(data)
    found = db("check")
    assert found.code == 1
    assert "NO" in found.out
    assert ".recover" in found.out or place < 200
    assert db.path.read_bytes() == data


def test_vacuum_frees_space(db: Database) -> None:
    db.spoil(
        "INSERT INTO settings VALUES ('k', zeroblob(0) || hex(zeroblob(900000)))",
        "DELETE FROM settings",
    )
    before = db.path.stat().st_size
    assert " MB -> " in db("vacuum").out
    assert db.path.stat().st_size < before / 5
    assert db.titles() == ["one"]


def test_compacting_requires_free_space(db: Database) -> None:
    before = db.path.read_bytes()
    with pytest.raises(StoreError, match=r"needs .* free bytes") as caught:
        vacuum(db.path, free=len(before))
    assert "Free some space" in caught.value.advice
    assert db.path.read_bytes() == before


def test_a_missing_database_is_an_error(tmp_path: Path, run: Run) -> None:
    status = run("--data-dir", tmp_path / "none", "db", "status")
    assert (status.code, status.err) == (0, "")
    assert "the first start of the app creates it" in status.out
    as_json = run("--data-dir", tmp_path / "none", "db", "status", "--json")
    assert json.loads(as_json.out)["exists"] is False
    for words in (["backup"], ["check"], ["vacuum"]):
        refused = run("--data-dir", tmp_path / "none", "db", *words)
        assert refused.code == 2
        assert "There is no database" in refused.err
    assert not (tmp_path / "none").exists()
