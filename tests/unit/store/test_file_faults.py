"""Faults of the file system: errors have advice, and the data stays unchanged.

Disks that are full, places one may not write to, and files that are not what they were. Files
that were damaged inside are in test_salvage, newer ones and others' in test_schema, those
that another program holds in test_process_lock.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tui_chat.errors import StoreDamaged, StoreError
from tui_chat.models.message import Message
from tui_chat.store import Store
from tui_chat.store.maintenance import upkeep

HERE = Path(__file__).parent
Opener = Callable[[], Awaitable[Store]]


async def filled(path: Path) -> None:
    numbers = iter(range(1000))
    async with await Store.open(
        path, now=lambda: 1.0, new_id=lambda: f"{next(numbers):04}"
    ) as store:
        session = await store.sessions.create(title="old")
        await store.messages.add(session.session_id, Message("user", "hi " * 2000), None)


# Places one may not use


@pytest.fixture
def shared() -> Iterator[Path]:
    """A database in a folder that every user can access."""
    base = Path(tempfile.mkdtemp())
    base.chmod(0o755)
    folder = base / "data"
    path = folder / "chat.db"
    asyncio.run(filled(path))
    path.chmod(0o666)
    folder.chmod(0o777)
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

READ_ONLY = {
    "folder": (lambda path: path.parent.chmod(0o555), {"status", "check"}),
    "file": (lambda path: path.chmod(0o444), {"status", "check", "backup", "salvage"}),
    "nothing of the file": (lambda path: path.chmod(0), set[str]()),
    "nothing of the folder": (lambda path: path.parent.chmod(0), set[str]()),
}


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="permissions are other there")
@pytest.mark.parametrize("what", READ_ONLY)
def test_missing_permissions_are_reported(shared: Path, what: str) -> None:
    before = shared.read_bytes()
    forbid, still_works = READ_ONLY[what]
    forbid(shared)
    told = ways(shared)
    shared.parent.chmod(0o755)
    shared.chmod(0o644)
    assert {way for way, words in told.items() if words == "fine"} == still_works & told.keys()
    for way, words in told.items():
        if way not in still_works:
            assert str(shared) in words or "new.db" in words
            assert MAY_NOT in words, (way, words)
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


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 0.75 MB; an empty database takes 0.5 MB."""
    folder = tmp_path / "small"
    folder.mkdir()
    mounted = shutil.which("mount") and os.geteuid() == 0 and subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=768k", "tmpfs", str(folder)], capture_output=True
    ).returncode == 0  # fmt: skip
    if not mounted:
        pytest.skip("no disk can be mounted here")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


async def test_a_database_that_does_not_fit_is_not_begun(
    small_disk: Path, new_id: Callable[[], str]
) -> None:
    path, ballast = small_disk / "chat.db", small_disk / "ballast"
    for size in (600_000, 300_000, 170_000):
        ballast.write_bytes(b"x" * size)
        with pytest.raises(StoreError, match="is full"):
            await Store.open(path, now=lambda: 1.0, new_id=new_id)
        assert [each.name for each in small_disk.iterdir()] == ["ballast"]
    ballast.unlink()
    await (await Store.open(path, now=lambda: 1.0, new_id=new_id)).close()


async def test_a_full_disk_is_reported(small_disk: Path, new_id: Callable[[], str]) -> None:
    path = small_disk / "chat.db"
    ballast = small_disk / "ballast"
    store = await Store.open(path, now=lambda: 1.0, new_id=new_id)
    session = await store.sessions.create(title="s")
    stored: list[str] = []

    async def write_until_it_is_full() -> None:
        parent: str | None = None
        while True:
            message = Message("user", f"{len(stored)} " * 1000)
            parent = (await store.messages.add(session.session_id, message, parent)).message.id
            stored.append(message.content)

    with pytest.raises(StoreError, match=r"is full|reported an error") as caught:
        await write_until_it_is_full()
    assert "Stored data is safe" in caught.value.advice
    assert len(stored) > 3
    assert [e.message.content for e in await store.branches.load(session.session_id)] == stored

    for act in (
        lambda: upkeep.backup(path, None, now=1.0),
        lambda: upkeep.vacuum(path),
    ):
        with pytest.raises(StoreError):
            act()
    assert {i.name for i in small_disk.iterdir()} <= {"chat.db", "chat.db-wal", "chat.db-shm"}
    await store.close()
    ballast.write_bytes(b"")
    async with await Store.open(path, now=lambda: 1.0, new_id=new_id) as again:
        assert [e.message.content for e in await again.branches.load(session.session_id)] == stored
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


async def test_compacting_requires_free_space(path: Path) -> None:
    await filled(path)
    before = path.read_bytes()
    with pytest.raises(StoreError, match=r"needs .* free bytes") as caught:
        upkeep.vacuum(path, free=len(before))
    assert "Free some space" in caught.value.advice
    assert path.read_bytes() == before


# Files that are not what they were


async def test_an_emptied_file_is_not_treated_as_new(path: Path, open_store: Opener) -> None:
    await filled(path)
    backup = upkeep.backup(path, None, now=1.0)
    path.write_bytes(b"")
    with pytest.raises(StoreDamaged, match="0 bytes") as caught:
        await open_store()
    assert "db restore" in caught.value.advice
    upkeep.restore(path, backup, now=2.0)
    (session,) = await (await open_store()).sessions.list()
    assert session.title == "old"


async def test_the_log_of_an_emptied_file_is_kept(path: Path, open_store: Opener) -> None:
    await filled(path)
    path.write_bytes(b"")
    log = path.with_name("chat.db-wal")
    log.write_bytes(b"something")
    with pytest.raises(StoreDamaged):
        await open_store()
    assert log.read_bytes() == b"something"


@pytest.mark.parametrize("garbage", [b"\xa5" * 50_000, b"\0" * 32, b"x"])
async def test_a_garbage_log_does_not_affect_the_file(
    path: Path, open_store: Opener, garbage: bytes
) -> None:
    await filled(path)
    path.with_name("chat.db-wal").write_bytes(garbage)
    store = await open_store()
    (session,) = await store.sessions.list()
    assert (await store.branches.load(session.session_id))[0].message.content == "hi " * 2000
    await store.close()
    assert upkeep.status(path).messages == 1


@pytest.mark.skipif(sys.platform == "win32", reason="a file that is open stays there")
@pytest.mark.parametrize("put", [None, b"", b"another"])
async def test_nothing_is_written_to_a_file_that_was_removed_or_replaced(
    path: Path, open_store: Callable[[], Awaitable[Store]], put: bytes | None
) -> None:
    store = await open_store()
    session = await store.sessions.create(title="t")
    path.rename(path.with_name("elsewhere"))
    if put is not None:
        path.write_bytes(put)
    with pytest.raises(StoreError, match="removed or replaced"):
        await store.messages.add(session.session_id, Message("user", "lost?"), None)
    assert path.exists() == (put is not None)
    path.unlink(missing_ok=True)
    path.with_name("elsewhere").rename(path)
    await store.messages.add(session.session_id, Message("user", "kept"), None)
    assert len(await store.branches.load(session.session_id)) == 1
