"""The file: migrations and undos, files that are refused and stay unchanged, backups, permissions,
and faults of the disk. Files with damage inside are in the tests of maintenance, those that another
program holds in `test_process_lock`.
"""

from __future__ import annotations

import asyncio
import gzip
import os
import shutil
import sqlite3
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.support.databases import LATEST, assert_sound, made_at, plain
from tests.support.stores import Opener, shown
from tests.support.tables import each_row
from tui_chat.errors import StoreDamaged, StoreError, StoreNewer
from tui_chat.models.message import Message
from tui_chat.models.settings import Settings
from tui_chat.store import Store, backup, schema
from tui_chat.store.access import status
from tui_chat.store.backup import back_up
from tui_chat.store.backup_files import list_backups

pytestmark = pytest.mark.usefixtures("impatient")
HERE = Path(__file__).parent
OLD_FILES = sorted((HERE / "old_files").glob("v*.db.gz"))
Content = dict[str, tuple[list[str], list[tuple[object, ...]]]]


def content(connection: sqlite3.Connection) -> Content:
    """All our tables with their columns and rows."""
    tables = connection.execute(
        "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table'"
    ).fetchall()
    found: Content = {}
    for (table,) in tables:
        # The page on which a table begins depends on which pages happened to be free.
        columns = "type, name, tbl_name, sql" if table == "sqlite_schema" else "*"
        rows = connection.execute(f"SELECT {columns} FROM {table}")
        found[table] = ([column[0] for column in rows.description], sorted(rows, key=repr))
    return found


def neighbors(path: Path) -> list[str]:
    return sorted(item.name for item in path.parent.iterdir() if item != path)


# Databases of earlier versions; `old_files/make.py` tells how the files were made.


def version_of(file: Path) -> int:
    return int(file.name.removeprefix("v").removesuffix(".db.gz"))


def unpacked(file: Path, path: Path) -> int:
    """Put an old file at `path`; return its version."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.decompress(file.read_bytes()))
    return version_of(file)


def test_every_earlier_version_has_a_test_file() -> None:
    assert [step.number for step in schema.migrations()] == list(range(1, LATEST + 1))
    assert {version_of(file) for file in OLD_FILES} >= set(range(1, LATEST))


@each_row("file", OLD_FILES, ids=lambda file: file.name)
def test_each_step_on_a_filled_database(tmp_path: Path, file: Path) -> None:
    path = tmp_path / "chat.db"
    old = unpacked(file, path)
    assert_sound(path)
    with plain(path) as connection:
        at: dict[int, Content] = {old: content(connection)}
        assert len(at[old]["messages"][1]) > 60
        for version in range(old + 1, LATEST + 1):
            schema.migrate(connection, path, schema.migrations()[:version])
            at[version] = content(connection)
    assert_sound(path)
    again = tmp_path / "again.db"
    unpacked(file, again)
    with plain(again) as connection:  # all steps at once give the same
        schema.migrate(connection, again)
        assert content(connection) == at[LATEST]


@each_row("file", OLD_FILES, ids=lambda file: file.name)
async def test_all_conversations_are_kept(tmp_path: Path, file: Path, open_store: Opener) -> None:
    path = tmp_path / "chat.db"
    old = unpacked(file, path)
    store = await open_store(path)
    assert (store.backup is None) == (old == LATEST)
    sessions = {s.title: s for s in await store.sessions.list()}
    assert sessions.keys() == {"Zwei Wege 两条路", "With a role", "New chat"}
    with_role, plain = sessions["With a role"], sessions["Zwei Wege 两条路"]
    assert with_role.role_name == ("Pirate" if old > 1 else "")
    assert (plain.message_count, with_role.message_count) == (10, 60)
    assert plain.total_tokens == 60
    assert plain.status == "interrupted"

    branch = await store.branches.load(with_role.session_id)
    assert [e.message.content.split()[0] for e in branch] == [str(n) for n in range(60)]
    branch = await store.branches.load(plain.session_id)
    assert [e.message.role for e in branch] == ["user", "assistant", "tool", "user", "assistant"]
    assert branch[0].message.pinned
    assert branch[1].message.tool_calls[0].arguments == '{"city":"Köln"}'
    assert branch[1].message.reasoning[0].text == "Let me see."
    assert branch[-1].status == "interrupted"
    assert branch[-1].message.content.startswith("It will be 0 数字 wörter 😀 1 数字")
    assert len(branch[-1].message.content) > 20_000
    request = await store.requests.get(branch[1].message.id)
    assert request is not None
    assert (request.body, request.recipe["preset"]) == (b"{}", "plain")
    assert await store.drafts.get(sessions["New chat"].session_id) == "a draft\nin two lines"
    assert await store.settings.get("session") == plain.session_id


async def test_a_database_from_before_branches_is_counted(path: Path, open_store: Opener) -> None:
    made_at(path, 2)
    with plain(path) as connection:
        connection.executescript(
            """
            INSERT INTO sessions (session_id, title, head_id, touched, created, updated)
            VALUES ('s', 'old', 'c', 1, 5, 6), ('t', 'empty', NULL, 2, 5, 6);
            INSERT INTO messages (message_id, session_id, parent_id, message_role, status,
                                  usage_input, usage_output, created, content)
            VALUES ('a', 's', NULL, 'user', 'complete', NULL, NULL, 5, 'a'),
                   ('b', 's', 'a', 'assistant', 'failed', 10, 2, 6, 'b'),
                   ('c', 's', 'b', 'user', 'complete', NULL, NULL, 5, 'c'),
                   ('d', 's', 'a', 'assistant', 'complete', 1000, NULL, 6, 'd');
            """
        )
    store = await open_store()
    listed = await store.sessions.list()
    assert [(s.title, s.message_count, s.total_tokens, s.status) for s in listed] == [
        ("empty", 0, 0, "complete"),
        ("old", 4, 1012, "failed"),
    ]
    assert await shown(store, "s") == "a b1/2 c"


async def test_settings_of_older_databases_are_kept(path: Path, open_store: Opener) -> None:
    made_at(path, 9)
    with plain(path) as connection:
        connection.executescript(
            """
            INSERT INTO roles (role_id, name, temperature, max_tokens, created, updated)
            VALUES ('r', 'Pirate', 0.1, NULL, 1, 1), ('odd', 'Odd', 9.5, 5000000000, 1, 1);
            INSERT INTO sessions (session_id, title, temperature, max_tokens, touched,
                                  created, updated)
            VALUES ('s', 'old', 0.7, 100, 1, 1, 1), ('t', 'none', NULL, NULL, 2, 1, 1);
            """
        )
    store = await open_store()
    settings = {role.role_id: role.settings for role in await store.roles.list()}
    assert settings == {
        "r": Settings(temperature=0.1),
        "odd": Settings(temperature=9.5, max_tokens=5_000_000_000),
    }
    session, plain_one = await store.sessions.get("s"), await store.sessions.get("t")
    assert session is not None
    assert session.settings == Settings(temperature=0.7, max_tokens=100)
    assert plain_one is not None
    assert plain_one.settings == Settings()


async def test_a_failing_migration_leaves_the_database_as_it_was(path: Path) -> None:
    made_at(path, 1)
    bad = schema.Migration(2, "bad", "CREATE TABLE half (x); SELECT nonsense;")
    with plain(path) as connection:
        before = content(connection)
        with pytest.raises(sqlite3.OperationalError):
            schema.migrate(connection, path, (schema.migrations()[0], bad))
        assert (content(connection), schema.version_of(connection)) == (before, 1)
        assert not connection.in_transaction


async def test_a_backup_is_made_before_a_filled_database_is_migrated(
    path: Path, open_store: Opener
) -> None:
    made_at(path, 1)
    with plain(path) as connection:
        connection.execute("INSERT INTO settings VALUES ('k', 'v')")
        before = content(connection)
        copies = {backup.back_up(connection, path, 1.0) for _ in range(2)}
        assert sorted(copy.name for copy in copies) == list_names(path)
    store = await open_store()
    assert store.backup is not None
    assert store.backup.name.startswith("chat.db.v1-20231114T")
    with closing(sqlite3.connect(store.backup)) as copy:
        assert content(copy) == before
    await store.close()
    assert (await open_store()).backup is None


def list_names(path: Path) -> list[str]:
    return sorted(each.name for each in list_backups(path))


# What is refused stays as it is, byte for byte


def with_version(version: int, journal: str = "WAL") -> Callable[[Path], None]:
    def make(path: Path) -> None:
        made_at(path, LATEST)
        with plain(path) as connection:
            connection.execute("INSERT INTO settings VALUES ('theme', 'dark')")
            connection.execute(f"PRAGMA journal_mode = {journal}")
            connection.execute(f"PRAGMA user_version = {version}")

    return make


def of_another_program(version: int) -> Callable[[Path], None]:
    def make(path: Path) -> None:
        with plain(path) as connection:
            connection.execute("CREATE TABLE bookmarks (url)")
            connection.execute(f"PRAGMA user_version = {version}")

    return make


def changed(change: Callable[[bytes], bytes]) -> Callable[[Path], None]:
    def make(path: Path) -> None:
        made_at(path, LATEST)
        path.write_bytes(change(path.read_bytes()))

    return make


def with_log(path: Path) -> None:
    made_at(path, LATEST)
    path.write_bytes(b"")
    path.with_name("chat.db-wal").write_bytes(b"what was said last")


REFUSED = {
    "newer": (with_version(LATEST + 1), StoreNewer, "newer version of tui-chat"),
    "newer, no log": (with_version(LATEST + 1, "DELETE"), StoreNewer, "newer version of tui-chat"),
    "foreign": (of_another_program(0), StoreError, "belongs to another program"),
    "foreign, numbered": (of_another_program(1), StoreError, "belongs to another program"),
    "no database": (
        lambda path: path.write_bytes(b"Dear diary,\n" * 500),
        StoreDamaged,
        "is not a database",
    ),
    "version -1": (with_version(-1), StoreDamaged, "damaged"),
    "version 10,000": (with_version(10_000), StoreDamaged, "damaged"),
    "greatest version": (with_version(0x7FFFFFFF), StoreDamaged, "damaged"),
    "damaged schema": (
        changed(lambda whole: whole[:100] + b"\xa5" * 3996 + whole[4096:]),
        StoreDamaged,
        "damaged",
    ),
    "truncated": (changed(lambda whole: whole[: 4096 * 5]), StoreDamaged, "damaged"),
    "empty": (lambda path: path.touch(), StoreDamaged, "0 bytes"),
    "emptied, with a log": (with_log, StoreDamaged, "0 bytes"),
    "a log alone": (
        lambda path: path.with_name("chat.db-wal").write_bytes(b"what was said last"),
        StoreDamaged,
        "log exists",
    ),
}  # fmt: skip


@each_row(("make", "kind", "words"), REFUSED.values(), ids=[*REFUSED])
async def test_what_is_refused_is_not_changed(
    tmp_path: Path,
    open_store: Opener,
    make: Callable[[Path], object],
    kind: type[StoreError],
    words: str,
) -> None:
    path = tmp_path / "chat.db"
    make(path)
    before = {each.name: each.read_bytes() for each in tmp_path.iterdir()}
    with pytest.raises(StoreError, match=words) as caught:
        await open_store(path)
    assert type(caught.value) is kind
    assert caught.value.advice
    assert {each.name: each.read_bytes() for each in tmp_path.iterdir()} == before


async def test_a_newer_version_in_the_log_is_detected(path: Path, open_store: Opener) -> None:
    made_at(path, LATEST)
    with plain(path) as other:  # still running, so nothing reaches the file itself
        other.execute("PRAGMA wal_autocheckpoint = 0")
        other.execute(f"PRAGMA user_version = {LATEST + 1}")
        with pytest.raises(StoreNewer):
            await open_store()


async def test_damage_of_other_pages_is_reported_when_read(path: Path, open_store: Opener) -> None:
    store = await open_store()
    session = await store.sessions.create()
    await store.messages.add(session.session_id, Message.of("user", "x" * 100_000), None)
    await store.close()
    whole = path.read_bytes()
    pages = (whole[start : start + 4096] for start in range(0, len(whole), 4096))
    path.write_bytes(b"".join(b"\xa5" * 4096 if b"x" * 999 in page else page for page in pages))
    store = await open_store()
    with pytest.raises(StoreDamaged, match="damaged"):
        await store.branches.load(session.session_id)


async def test_a_new_database_gets_its_name_when_complete(
    path: Path, open_store: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program that is killed while it creates a database leaves no empty file."""

    def killed(*_: object) -> None:
        assert not path.exists()
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(schema, "migrate", killed)
        with pytest.raises(KeyboardInterrupt):
            schema.prepare(path, now=1.0, busy_timeout=1.0)
    assert list(path.parent.iterdir()) == []
    store = await open_store()
    assert (await store.sessions.list(), store.backup) == ((), None)
    await store.close()
    assert neighbors(path) == []


async def filled(path: Path) -> None:
    numbers = iter(range(1000))
    async with await Store.open(
        path, now=lambda: 1.0, new_id=lambda: f"{next(numbers):04}"
    ) as store:
        session = await store.sessions.create(title="old")
        await store.messages.add(session.session_id, Message.of("user", "hi " * 2000), None)


@each_row("garbage", [b"\xa5" * 50_000, b"\0" * 32, b"x"])
async def test_a_garbage_log_does_not_affect_the_file(
    tmp_path: Path, open_store: Opener, garbage: bytes
) -> None:
    path = tmp_path / "chat.db"
    await filled(path)
    path.with_name("chat.db-wal").write_bytes(garbage)
    store = await open_store(path)
    (session,) = await store.sessions.list()
    assert await shown(store, session.session_id) == "hi " * 2000
    await store.close()
    assert status(path).messages == 1


@pytest.mark.skipif(sys.platform == "win32", reason="a file that is open stays there")
@each_row("put", [None, b"", b"another"])
async def test_nothing_is_written_to_a_file_that_was_removed_or_replaced(
    tmp_path: Path, open_store: Opener, put: bytes | None
) -> None:
    path = tmp_path / "chat.db"
    store = await open_store(path)
    session = await store.sessions.create(title="t")
    path.rename(path.with_name("elsewhere"))
    if put is not None:
        path.write_bytes(put)
    with pytest.raises(StoreError, match="removed or replaced"):
        await store.messages.add(session.session_id, Message.of("user", "lost?"), None)
    assert path.exists() == (put is not None)
    path.unlink(missing_ok=True)
    path.with_name("elsewhere").rename(path)
    await store.messages.add(session.session_id, Message.of("user", "kept"), None)
    assert await shown(store, session) == "kept"


# Places and permissions


@pytest.mark.skipif(sys.platform == "win32", reason="has no permission bits")
async def test_folder_and_files_are_private_and_become_so_again(
    tmp_path: Path, open_store: Opener
) -> None:
    path = tmp_path / "above" / "data" / "chat.db"
    before = os.umask(0)
    try:
        store = await open_store(path)
        await store.sessions.create(title="private")
        assert {mode_of(each) for each in path.parent.iterdir()} == {0o600}
        await store.close()
        with closing(sqlite3.connect(path)) as connection:
            saved = back_up(connection, path, 1.0)
    finally:
        os.umask(before)
    assert {mode_of(tmp_path / "above"), mode_of(path.parent)} == {0o700}
    assert mode_of(saved) == 0o600
    for each, mode in ((path.parent, 0o777), (path, 0o666), (saved, 0o644)):
        each.chmod(mode)
    await open_store(path)
    assert [mode_of(each) for each in (path.parent, path, saved)] == [0o700, 0o600, 0o600]


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


async def test_unusable_paths_are_reported_and_odd_names_accepted(
    tmp_path: Path, open_store: Opener
) -> None:
    odd = tmp_path / "odd" / "a?mode=memory#b %20 ü 中.db"
    for _ in range(2):
        store = await open_store(odd)
        await store.sessions.create()
        await store.close()
    assert [item.name for item in odd.parent.iterdir()] == [odd.name]
    (tmp_path / "file").write_text("I am not a folder.")
    (tmp_path / "folder.db").mkdir()
    for name in ("file/chat.db", "file/deeper/chat.db", "folder.db"):
        with pytest.raises(StoreError, match="cannot be used") as caught:
            await open_store(tmp_path / name)
        assert "folder" in caught.value.advice


@pytest.fixture
def shared() -> Iterator[Path]:
    """A database in a folder that every user can access."""
    base = Path(tempfile.mkdtemp())
    base.chmod(0o755)
    folder = base / "data"
    path = folder / "chat.db"
    asyncio.run(filled(path))
    yield path
    base.chmod(0o755)
    if folder.exists():
        folder.chmod(0o755)
    shutil.rmtree(base)


def ways(path: Path) -> dict[str, str]:
    """Return the error of each way to use a database without permission."""
    done = subprocess.run(
        [sys.executable, str(HERE / "child_nobody.py"), str(path)], capture_output=True, text=True
    )
    assert not done.stderr
    return dict(line.split(": ", 1) for line in done.stdout.splitlines())


MAY_NOT = "permissions of the file and its folder"


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="permissions are other there")
def test_missing_permissions_are_reported(shared: Path) -> None:
    before = shared.read_bytes()
    for folder, file, still_works in (
        (0o555, 0o666, {"status", "check"}),
        (0o777, 0o444, {"status", "check", "backup"}),
        (0o777, 0, set[str]()),
        (0, 0o666, set[str]()),
    ):
        for left in list_backups(shared):
            left.unlink()
        shared.chmod(file)
        shared.parent.chmod(folder)
        told = ways(shared)
        shared.parent.chmod(0o755)
        shared.chmod(0o644)
        fine = {way for way, words in told.items() if words == "fine"}
        assert fine == still_works & told.keys(), (folder, file)
        for way in told.keys() - fine:
            assert str(shared) in told[way] or "new.db" in told[way]
            assert MAY_NOT in told[way], (way, folder, file)
        assert shared.read_bytes() == before


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="permissions are other there")
def test_a_folder_that_cannot_be_created_is_reported(shared: Path) -> None:
    shutil.rmtree(shared.parent)
    shared.parent.parent.chmod(0o555)
    told = ways(shared)
    assert MAY_NOT in told.pop("write")
    assert all("There is no database" in words for words in told.values())


# Disks that are full


async def test_a_database_that_does_not_fit_is_not_begun(
    small_disk: Path, open_store: Opener
) -> None:
    path, ballast = small_disk / "chat.db", small_disk / "ballast"
    for size in (600_000, 300_000, 170_000):
        ballast.write_bytes(b"x" * size)
        with pytest.raises(StoreError, match="is full"):
            await open_store(path)
        assert [each.name for each in small_disk.iterdir()] == ["ballast"]
    ballast.unlink()
    await (await open_store(path)).close()


async def test_a_full_disk_is_reported_and_loses_nothing(
    small_disk: Path, open_store: Opener
) -> None:
    path = small_disk / "chat.db"
    store = await open_store(path)
    session = await store.sessions.create(title="s")
    stored: list[str] = []

    async def write_until_it_is_full() -> None:
        parent: str | None = None
        while True:
            message = Message.of("user", f"{len(stored)} " * 1000)
            parent = (await store.messages.add(session.session_id, message, parent)).message.id
            stored.append(message.content)

    with pytest.raises(StoreError, match=r"is full|reported an error") as caught:
        await write_until_it_is_full()
    assert "Stored data is safe" in caught.value.advice
    assert len(stored) > 3
    assert await shown(store, session) == " ".join(stored)
    with closing(sqlite3.connect(path)) as connection, pytest.raises(sqlite3.OperationalError):
        back_up(connection, path, 1.0)
    assert {i.name for i in small_disk.iterdir()} <= {"chat.db", "chat.db-wal", "chat.db-shm"}
    await store.close()
    again = await open_store(path)
    assert await shown(again, session) == " ".join(stored)
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
