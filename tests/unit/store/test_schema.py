"""Migrations and undos; files of other programs or newer versions are not changed."""

from __future__ import annotations

import os
import sqlite3
import stat
import sys
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path

import pytest

from tests.support.tables import each_row
from tui_chat.errors import StoreDamaged, StoreError, StoreNewer
from tui_chat.models.message import Message
from tui_chat.models.role import Role
from tui_chat.models.settings import Settings
from tui_chat.store import Store, schema
from tui_chat.store.backup_files import list_backups
from tui_chat.store.maintenance import backup, upkeep

Opener = Callable[[], Awaitable[Store]]
LATEST = len(schema.migrations())
pytestmark = pytest.mark.usefixtures("impatient")


def plain(path: Path) -> closing[sqlite3.Connection]:
    """A direct connection, for statements that the store does not offer."""
    path.parent.mkdir(parents=True, exist_ok=True)
    return closing(schema.connect(path, 1.0))


def made_at(path: Path, version: int) -> None:
    """Create a database as the program of that version did."""
    with plain(path) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        schema.migrate(connection, path, schema.migrations()[:version])


def shape(connection: sqlite3.Connection) -> list[tuple[str, str]]:
    return sorted(connection.execute("SELECT name, sql FROM sqlite_master WHERE sql <> ''"))


def content(connection: sqlite3.Connection, *tables: str) -> list[list[tuple[object, ...]]]:
    return [list(connection.execute(f"SELECT * FROM {t} ORDER BY 1")) for t in tables]


def neighbors(path: Path) -> list[str]:
    return sorted(item.name for item in path.parent.iterdir() if item != path)


async def fill(store: Store, *, role: bool) -> None:
    if role:
        await store.roles.save(Role("r", "Pirate"))
    session = await store.sessions.create(title="old", role_id="r" if role else None)
    entry = await store.messages.add(session.session_id, Message("user", "hi"), None)
    await store.messages.add(session.session_id, Message("assistant", "ho"), entry.message.id)
    await store.drafts.save(session.session_id, "draft")
    await store.settings.set("k", "v")


def test_migrations_are_numbered_without_gaps_and_each_has_an_undo() -> None:
    steps = schema.migrations()
    assert [step.number for step in steps] == list(range(1, len(steps) + 1))
    assert all(step.undo.strip() for step in steps)


def test_every_table_is_strict(path: Path) -> None:
    made_at(path, LATEST)
    with plain(path) as connection:
        tables = dict(
            connection.execute("SELECT name, strict FROM pragma_table_list WHERE type = 'table'")
        )
    ours = {name: strict for name, strict in tables.items() if not name.startswith("sqlite_")}
    assert len(ours) == 20
    assert set(ours.values()) == {1}


@pytest.mark.parametrize("version", range(LATEST))
def test_migrating_undoing_and_migrating_gives_the_same_schema(path: Path, version: int) -> None:
    made_at(path, version)
    with plain(path) as connection:
        before = shape(connection)
        schema.migrate(connection, path)
        latest = shape(connection)
        schema.undo(connection, version)
        assert (shape(connection), schema.version_of(connection)) == (before, version)
        schema.migrate(connection, path)
        assert (shape(connection), schema.version_of(connection)) == (latest, LATEST)


async def test_undo_and_redo_on_a_filled_database_keep_the_conversations(
    path: Path, open_store: Opener
) -> None:
    store = await open_store()
    await fill(store, role=True)
    await store.close()
    kept = ("messages", "drafts", "settings")
    with plain(path) as connection:
        before = content(connection, *kept)
        schema.undo(connection, 1)
        undone = content(connection, *kept)
        columns = len(undone[0][0])  # those of later versions are gone
        assert undone == [[row[:columns] for row in before[0]], *before[1:]]
        assert not connection.execute("PRAGMA foreign_key_check").fetchall()

    store = await open_store()
    (summary,) = await store.sessions.list()
    assert (summary.title, summary.role_name, summary.message_count) == ("old", "", 2)
    assert [e.message.content for e in await store.branches.load(summary.session_id)] == [
        "hi",
        "ho",
    ]
    assert await store.drafts.get(summary.session_id) == "draft"


async def test_a_database_from_before_branches_is_counted(path: Path, open_store: Opener) -> None:
    made_at(path, 2)
    with plain(path) as connection:
        connection.executescript(
            """
            INSERT INTO sessions (session_id, title, head_id, touched, created, updated)
            VALUES ('s', 'old', 'c', 1, 5, 6), ('t', 'empty', NULL, 2, 5, 6);
            INSERT INTO messages (message_id, session_id, parent_id, message_role, status,
                                  usage_input, usage_output, created)
            VALUES ('a', 's', NULL, 'user', 'complete', NULL, NULL, 5),
                   ('b', 's', 'a', 'assistant', 'failed', 10, 2, 6),
                   ('c', 's', 'b', 'user', 'complete', NULL, NULL, 5),
                   ('d', 's', 'a', 'assistant', 'complete', 1000, NULL, 6);
            """
        )
    store = await open_store()
    shown = [
        (s.title, s.message_count, s.total_tokens, s.status) for s in await store.sessions.list()
    ]
    assert shown == [("empty", 0, 0, "complete"), ("old", 4, 1012, "failed")]
    assert [e.message.id for e in await store.branches.load("s")] == ["a", "b", "c"]
    assert [e.siblings for e in await store.branches.load("s")] == [1, 2, 1]


async def test_undoing_all_migrations_gives_an_empty_file(path: Path, open_store: Opener) -> None:
    store = await open_store()
    await fill(store, role=True)
    await store.close()
    with plain(path) as connection:
        schema.undo(connection, 0)
    assert await (await open_store()).sessions.list() == ()


async def test_a_database_from_before_roles_works_unchanged(path: Path, open_store: Opener) -> None:
    made_at(path, 1)
    with plain(path) as connection:
        connection.executescript(
            """
            INSERT INTO sessions (session_id, title, head_id, touched, created, updated)
            VALUES ('s', 'old', 'b', 1, 5, 6);
            INSERT INTO messages
                (message_id, session_id, parent_id, message_role, created, content)
            VALUES ('a', 's', NULL, 'user', 5, 'hi'), ('b', 's', 'a', 'assistant', 6, 'ho');
            """
        )
    store = await open_store()
    session = await store.sessions.get("s")
    assert session is not None
    assert (session.title, session.role_id, session.updated) == ("old", None, 6)
    assert [e.message.content for e in await store.branches.load("s")] == ["hi", "ho"]
    await store.roles.save(Role("r", "Pirate"))
    await store.sessions.create(role_id="r")
    assert [s.role_name for s in await store.sessions.list()] == ["Pirate", ""]


async def test_a_backup_is_made_before_a_filled_database_is_migrated(
    path: Path, open_store: Opener
) -> None:
    made_at(path, 1)
    with plain(path) as connection:
        connection.execute("INSERT INTO settings VALUES ('k', 'v')")
        before = shape(connection)
    store = await open_store()
    assert store.backup is not None
    assert store.backup.name.startswith("chat.db.v1-20231114T")
    assert store.backup.stat().st_mode & 0o777 == 0o600
    with closing(sqlite3.connect(store.backup)) as copy:
        assert shape(copy) == before
        assert content(copy, "settings") == [[("k", "v")]]
    await store.close()
    assert (await open_store()).backup is None


async def test_backups_do_not_replace_each_other(path: Path, open_store: Opener) -> None:
    made_at(path, 1)
    with plain(path) as connection:
        one = backup.back_up(connection, path, 1.0)
        two = backup.back_up(connection, path, 1.0)
    assert one != two
    assert neighbors(path) == sorted([one.name, two.name])


async def test_a_new_database_needs_no_backup_and_is_private(
    path: Path, open_store: Opener
) -> None:
    store = await open_store()
    assert store.backup is None
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    await store.close()
    assert neighbors(path) == []


async def test_a_failing_migration_leaves_the_database_as_it_was(path: Path) -> None:
    made_at(path, 1)
    bad = schema.Migration(2, "bad", "CREATE TABLE half (x); SELECT nonsense;", "")
    with plain(path) as connection:
        before = shape(connection)
        with pytest.raises(sqlite3.OperationalError):
            schema.migrate(connection, path, (schema.migrations()[0], bad))
        assert (shape(connection), schema.version_of(connection)) == (before, 1)
        assert not connection.in_transaction


async def test_the_slower_of_two_programs_does_not_migrate(path: Path) -> None:
    made_at(path, LATEST)
    with plain(path) as connection:
        before = shape(connection)
        assert not schema._run(connection, schema.migrations()[1].up, 1, 2)
        harmless_looking = "INSERT INTO settings VALUES ('twice', '');"
        assert not schema._run(connection, harmless_looking, 1, 2)
        assert content(connection, "settings") == [[]]
        assert (shape(connection), schema.version_of(connection)) == (before, LATEST)


# What is refused stays as it is, byte for byte


async def refused(path: Path, open_store: Opener, kind: type[StoreError], words: str) -> None:
    before = path.read_bytes()
    beside = neighbors(path)
    with pytest.raises(StoreError, match=words) as caught:
        await open_store()
    assert type(caught.value) is kind
    assert caught.value.advice
    assert path.read_bytes() == before
    assert neighbors(path) == beside


@pytest.mark.parametrize("journal", ["WAL", "DELETE"])
async def test_a_newer_database_is_refused(path: Path, open_store: Opener, journal: str) -> None:
    made_at(path, LATEST)
    with plain(path) as connection:
        connection.execute(f"PRAGMA journal_mode = {journal}")
        connection.execute(f"PRAGMA user_version = {LATEST + 1}")
    await refused(path, open_store, StoreNewer, "newer version of tui-chat")


async def test_a_newer_version_in_the_log_is_detected(path: Path, open_store: Opener) -> None:
    made_at(path, LATEST)
    with plain(path) as other:  # still running, so nothing reaches the file itself
        other.execute("PRAGMA wal_autocheckpoint = 0")
        other.execute(f"PRAGMA user_version = {LATEST + 1}")
        await refused(path, open_store, StoreNewer, "newer version of tui-chat")


async def test_another_programs_database_is_refused(path: Path, open_store: Opener) -> None:
    with plain(path) as connection:
        connection.execute("CREATE TABLE bookmarks (url)")
    await refused(path, open_store, StoreError, "belongs to another program")
    with plain(path) as connection:
        connection.execute("PRAGMA user_version = 1")
    await refused(path, open_store, StoreError, "belongs to another program")


async def test_a_file_that_is_no_database_is_refused(path: Path, open_store: Opener) -> None:
    path.parent.mkdir()
    path.write_bytes(b"Dear diary,\n" * 500)
    await refused(path, open_store, StoreDamaged, "is not a database")


@pytest.mark.parametrize("version", [-1, 10_000, 0x7FFFFFFF])
async def test_an_impossible_version_is_damage(
    path: Path, open_store: Opener, version: int
) -> None:
    made_at(path, LATEST)
    with plain(path) as connection:
        connection.execute("INSERT INTO settings VALUES ('theme', 'dark')")
        connection.execute(f"PRAGMA user_version = {version}")
    await refused(path, open_store, StoreDamaged, "damaged")


async def test_a_damaged_schema_is_reported_when_opening(path: Path, open_store: Opener) -> None:
    made_at(path, LATEST)
    whole = path.read_bytes()
    path.write_bytes(whole[:100] + b"\xa5" * 3996 + whole[4096:])
    await refused(path, open_store, StoreDamaged, "damaged")


async def test_a_truncated_file_is_reported_when_opening(path: Path, open_store: Opener) -> None:
    made_at(path, LATEST)
    path.write_bytes(path.read_bytes()[: 4096 * 5])
    await refused(path, open_store, StoreDamaged, "damaged")


async def test_damage_of_other_pages_is_reported_when_read(path: Path, open_store: Opener) -> None:
    store = await open_store()
    session = await store.sessions.create()
    await store.messages.add(session.session_id, Message("user", "x" * 100_000), None)
    await store.close()
    whole = path.read_bytes()
    kept = len(whole) - 4096 * 20  # the message lies at the end
    path.write_bytes(whole[:kept] + b"\xa5" * (len(whole) - kept))
    store = await open_store()
    with pytest.raises(StoreDamaged, match="damaged"):
        await store.branches.load(session.session_id)


async def test_an_empty_file_is_not_treated_as_a_new_database(
    path: Path, open_store: Opener
) -> None:
    path.parent.mkdir()
    path.touch()
    with pytest.raises(StoreDamaged, match="0 bytes") as caught:
        await open_store()
    assert "delete" in caught.value.advice
    assert path.stat().st_size == 0
    path.unlink()
    assert await (await open_store()).sessions.list() == ()


async def test_a_log_without_its_database_is_kept(path: Path, open_store: Opener) -> None:
    path.parent.mkdir()
    log = path.with_name("chat.db-wal")
    log.write_bytes(b"what was said last")
    with pytest.raises(StoreDamaged, match="log exists"):
        await open_store()
    assert log.read_bytes() == b"what was said last"


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
    assert await (await open_store()).sessions.list() == ()


@pytest.mark.skipif(sys.platform == "win32", reason="has no permission bits")
async def test_folder_and_files_are_private(
    tmp_path: Path, clock: Callable[[], float], new_id: Callable[[], str]
) -> None:
    path = tmp_path / "above" / "data" / "chat.db"
    before = os.umask(0)
    try:
        async with await Store.open(path, now=clock, new_id=new_id) as store:
            await store.sessions.create(title="private")
            modes = {each.name: mode_of(each) for each in path.parent.iterdir()}
        upkeep.backup(path, None, now=1.0)
    finally:
        os.umask(before)
    assert set(modes.values()) == {0o600}
    assert {mode_of(tmp_path / "above"), mode_of(path.parent)} == {0o700}
    assert [mode_of(each) for each in list_backups(path)] == [0o600]


@pytest.mark.skipif(sys.platform == "win32", reason="has no permission bits")
async def test_permissions_of_others_are_removed(path: Path, open_store: Opener) -> None:
    await (await open_store()).close()
    saved = upkeep.backup(path, None, now=1.0)
    for each, mode in ((path.parent, 0o777), (path, 0o666), (saved, 0o644)):
        each.chmod(mode)
    await open_store()
    assert [mode_of(each) for each in (path.parent, path, saved)] == [0o700, 0o600, 0o600]


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@each_row("name", ["file/chat.db", "file/deeper/chat.db", "folder.db"])
async def test_unusable_paths_are_reported(
    tmp_path: Path, name: str, clock: Callable[[], float], new_id: Callable[[], str]
) -> None:
    (tmp_path / "file").write_text("I am not a folder.")
    (tmp_path / "folder.db").mkdir()
    with pytest.raises(StoreError, match="cannot be used") as caught:
        await Store.open(tmp_path / name, now=clock, new_id=new_id)
    assert "folder" in caught.value.advice


async def test_odd_file_names_are_accepted(
    tmp_path: Path, clock: Callable[[], float], new_id: Callable[[], str]
) -> None:
    path = tmp_path / "a?mode=memory#b %20 ü 中.db"
    for _ in range(2):
        async with await Store.open(path, now=clock, new_id=new_id) as store:
            await store.sessions.create()
    assert [item.name for item in tmp_path.iterdir()] == [path.name]


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
        before = content(connection, "roles", "sessions")
    store = await open_store()
    settings = {role.role_id: role.settings for role in await store.roles.list()}
    assert settings == {
        "r": Settings(temperature=0.1),
        "odd": Settings(temperature=9.5, max_tokens=5_000_000_000),
    }
    session = await store.sessions.get("s")
    assert session is not None
    assert session.settings == Settings(temperature=0.7, max_tokens=100)
    assert (await store.sessions.get("t") or session).settings == Settings()
    await store.sessions.update("s", settings=Settings(temperature=0.2, seed=3))
    await store.sessions.update("s", settings=session.settings)
    await store.close()
    with plain(path) as connection:
        schema.undo(connection, 9)
        assert content(connection, "roles", "sessions") == before
