"""`tui-chat db salvage`."""

from __future__ import annotations

import gc
import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from tests.plugins.maintenance.test_command import Database, db, held
from tests.support.command_line import Run
from tests.support.databases import LATEST, made_at, plain
from tests.support.stores import small_disk
from tui_chat import hooks
from tui_chat.errors import StoreError
from tui_chat.models.message import Message
from tui_chat.plugins.maintenance.salvage import salvage
from tui_chat.store import Store
from tui_chat.store.errors import salvage_means

__all__ = ["db", "held", "small_disk"]
pytestmark = pytest.mark.usefixtures("impatient")


def test_the_advice_on_damage_leads_to_a_working_database(
    db: Database, tmp_path: Path, run: Run
) -> None:
    db.spoil("UPDATE sessions SET tags = '[\"work'")
    refused = db("check")
    assert refused.code == 1
    refused = run("--data-dir", db.path.parent, "sessions", "list")
    assert refused.code == 7
    assert "salvage" in refused.err
    new = tmp_path / "new.db"
    done = db("salvage", "--to", new)
    assert done.code == 0, done.err
    assert "with 2 messages." in done.out
    assert f"tui-chat db restore {new}" in done.out
    assert db("restore", new).code == 0
    assert db("check").code == 0
    assert db.titles() == ["one"]


LOOSE = (
    "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, ') STRICT', ')'); "
    "PRAGMA writable_schema = RESET"
)
"""Makes tables accept values of other types, as a flipped bit can produce."""
STRICT = (
    "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = sql || ' STRICT' "
    "WHERE name IN ('sessions', 'messages')"
)


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE sessions SET title = CAST(x'6fb765' AS TEXT)",
        "UPDATE sessions SET tags = '[\"work'",
        f"{LOOSE}; UPDATE sessions SET title = CAST(title AS BLOB); {STRICT}",
        f"{LOOSE}; UPDATE messages SET content = x'6869', model = x'00' WHERE seq = 2; {STRICT}",
        "UPDATE messages SET tool_calls = '[{' WHERE seq = 2",
        "UPDATE messages SET muted = '[true]' WHERE seq = 2",
        "UPDATE messages SET content = CAST(x'ff' AS TEXT), semantics = '[]' WHERE seq = 2",
        "UPDATE requests SET recipe = '[3]', protocol = 'gemimi', body = x'00'",
    ],
)
def test_all_commands_report_damage_and_salvage_saves_the_rest(
    db: Database, tmp_path: Path, run: Run, damage: str | tuple[bytes, bytes]
) -> None:
    if isinstance(damage, str):
        db.spoil(*damage.split("; "))
    else:
        data = db.path.read_bytes()
        assert damage[0] in data
        db.path.write_bytes(data.replace(*damage))
    before = db.path.read_bytes()
    new = tmp_path / "new.db"
    for command in (
        *("db status", "db check", "db check --json", f"db backup {tmp_path / 'copy.db'}"),
        *("sessions list", "search hi", f"export --all --format json --output {tmp_path / 'out'}"),
        *(f"db salvage --to {new}", "db repair"),
    ):
        assert db.path.read_bytes() == before, command
        done = run("--data-dir", db.path.parent, *command.split())
        assert done.code != 2 or done.err.startswith("Error: The "), command
    gc.collect()  # what a program leaves behind in an error's frames ends with it
    restored = db("restore", new)
    assert restored.code == 0, restored.err
    assert db("check").code == 0
    listed = run("--data-dir", db.path.parent, "sessions", "list", "--json")
    assert [each["message_count"] for each in json.loads(listed.out)] == [2]


def test_a_database_that_is_in_use_or_missing_is_refused(
    db: Database, held: object, tmp_path: Path, run: Run
) -> None:
    refused = db("salvage", "--to", "x")
    assert refused.code == 7
    assert "Another program has the database" in refused.err
    assert "Close tui-chat" in refused.err
    refused = run("--data-dir", tmp_path / "none", "db", "salvage", "--to", tmp_path / "x")
    assert refused.code == 2
    assert "There is no database" in refused.err
    assert not (tmp_path / "none").exists()


def test_a_file_of_an_impossible_version_is_saved(tmp_path: Path) -> None:
    path = tmp_path / "chat.db"
    made_at(path, LATEST)
    with plain(path) as connection:
        connection.execute("INSERT INTO settings VALUES ('theme', 'dark')")
        connection.execute("PRAGMA user_version = 10000")
    assert salvage(path, path.with_name("new.db")).rows["settings"] == 1


async def test_a_full_disk_is_reported(small_disk: Path, new_id: Callable[[], str]) -> None:
    path = small_disk / "chat.db"
    async with await Store.open(path, now=lambda: 1.0, new_id=new_id) as store:
        session = await store.sessions.create(title="s")
        await store.messages.add(session.session_id, Message("user", "Hello"), None)
    with suppress(OSError), (small_disk / "ballast").open("wb", buffering=0) as ballast:
        while True:
            ballast.write(bytes(4096))
    with pytest.raises(StoreError):
        salvage(path, small_disk / "new.db")
    assert not (small_disk / "new.db").exists()


def test_without_the_plugin_the_advice_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    assert salvage_means("old.db") == "`tui-chat db salvage old.db --to NEW`"
    monkeypatch.setattr(hooks, "built_in_plugins", tuple)
    assert salvage_means() == "`sqlite3 FILE .recover`"
