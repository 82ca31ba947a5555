"""Databases of earlier versions: migrating, undoing without loss, and migrating again.

`old_files/make.py` tells how the files were made.
"""

from __future__ import annotations

import gzip
import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path

import pytest

from tui_chat.store import Store, schema
from tui_chat.store.maintenance.check import CheckResult, check

Opener = Callable[[], Awaitable[Store]]
Content = dict[str, tuple[list[str], list[tuple[object, ...]]]]

FILES = sorted((Path(__file__).parent / "old_files").glob("v*.db.gz"))
LATEST = len(schema.migrations())


def version_of(file: Path) -> int:
    return int(file.name.removeprefix("v").removesuffix(".db.gz"))


def test_every_earlier_version_has_a_test_file() -> None:
    assert {version_of(file) for file in FILES} >= set(range(1, LATEST))


@pytest.fixture(params=FILES, ids=lambda file: file.name)
def old(request: pytest.FixtureRequest, path: Path) -> int:
    path.parent.mkdir()
    path.write_bytes(gzip.decompress(request.param.read_bytes()))
    return version_of(request.param)


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


def assert_sound(path: Path) -> None:
    heard: list[CheckResult] = []
    check(path, heard.append)
    assert [fault for each in heard for fault in each.faults] == []


def test_migrations_and_undos_of_a_filled_database(path: Path, old: int) -> None:
    assert_sound(path)
    with closing(schema.connect(path, 1.0)) as connection:
        assert schema.version_of(connection) == old
        before = content(connection)
        assert len(before["messages"][1]) > 60
        schema.migrate(connection, path)
        latest = content(connection)
    assert_sound(path)
    with closing(schema.connect(path, 1.0)) as connection:
        schema.undo(connection, old)
        assert content(connection) == before
    assert_sound(path)
    with closing(schema.connect(path, 1.0)) as connection:
        schema.migrate(connection, path)
        assert content(connection) == latest
    assert_sound(path)


def test_each_step_up_and_down(path: Path, old: int) -> None:
    with closing(schema.connect(path, 1.0)) as connection:
        at: dict[int, Content] = {old: content(connection)}
        for version in range(old + 1, LATEST + 1):
            schema.migrate(connection, path, schema.migrations()[:version])
            at[version] = content(connection)
        for version in range(LATEST - 1, old - 1, -1):
            schema.undo(connection, version)
            assert content(connection) == at[version]
        schema.undo(connection, 0)
        assert content(connection).keys() <= {"sqlite_schema"}


async def test_all_conversations_are_kept(path: Path, old: int, open_store: Opener) -> None:
    store = await open_store()
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
    assert branch[1].message.semantics.reasoning[0].text == "Let me see."
    assert branch[-1].status == "interrupted"
    assert branch[-1].message.content.startswith("It will be 0 数字 wörter 😀 1 数字")
    assert len(branch[-1].message.content) > 20_000
    request = await store.requests.get(branch[1].message.id)
    assert request is not None
    assert (request.body, request.recipe["preset"]) == (b"{}", "plain")
    assert await store.drafts.get(sessions["New chat"].session_id) == "a draft\nin two lines"
    assert await store.settings.get("session") == plain.session_id
