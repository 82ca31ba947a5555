"""Importing conversations from files into the store."""

from __future__ import annotations

import json
import os
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tests.support.stores import clock, new_id, open_store, path, store
from tests.support.tables import each_row
from tui_chat.errors import StoreError
from tui_chat.plugins.transcripts.importer import import_files
from tui_chat.store import Store

__all__ = ["clock", "new_id", "open_store", "path", "store"]


def write(path: Path, value: object) -> Path:
    path.write_text(json.dumps(value))
    return path


def own_file(path: Path, *sessions: str, words: tuple[str, ...] = ("Hi", "Hello")) -> Path:
    """Write an export of ours with sessions of alternating messages."""
    exported: list[dict[str, Any]] = []
    for session in sessions:
        messages: list[dict[str, Any]] = []
        for place, text in enumerate(words):
            parent = {"parent_id": f"{session}-{place - 1}"} if place else {}
            role = "assistant" if place % 2 else "user"
            message = {"id": f"{session}-{place}", "role": role, "content": text, **parent}
            messages.append(message)
        facts = {"session_id": session, "title": session, "head_id": messages[-1]["id"]}
        exported.append({"session": facts, "messages": messages})
    return write(path, {"format": "tui-chat", "version": 1, "sessions": exported})


async def test_importing_our_own_file_again_adds_what_is_new(store: Store, tmp_path: Path):
    file = own_file(tmp_path / "c.json", "one", "two")
    [told] = await import_files(store, [file], dry_run=True)
    assert (told.new, told.added) == (2, 4)
    assert await store.sessions.list() == ()
    [report] = await import_files(store, [file])
    assert (report.new, report.added, report.faults) == (2, 4, [])
    assert report.read == report.size == file.stat().st_size
    [again] = await import_files(store, [file])
    assert (again.new, again.grown, again.known, again.added) == (0, 0, 2, 0)
    assert again.session_ids == report.session_ids
    own_file(file, "one", "two", words=("Hi", "Hello", "More"))
    [grown] = await import_files(store, [file])
    assert (grown.grown, grown.added) == (2, 2)
    branch = await store.branches.load(report.session_ids[0])
    assert [entry.message.content for entry in branch] == ["Hi", "Hello", "More"]


async def test_archives_of_our_own_files_are_read(store: Store, tmp_path: Path):
    text = own_file(tmp_path / "two.json", "two").read_text()
    with zipfile.ZipFile(tmp_path / "two.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("two.json", text)
        archive.writestr("broken.json", "[{")
    [report] = await import_files(store, [tmp_path / "two.zip"])
    assert (report.new, [fault.place for fault in report.faults]) == (1, ["broken.json"])


async def test_faults_beyond_the_limit_are_counted(store: Store, tmp_path: Path):
    [report] = await import_files(store, [write(tmp_path / "c.json", [5] * 250)])
    assert (len(report.faults), report.more_faults) == (100, 150)


@each_row(
    ("data", "fault"),
    [
        (b"PK\x03\x04 and nothing more", "the archive cannot be read"),
        (b"", "is empty"),
        (b"\x89PNG\r\n", "is not UTF-8 text"),
    ],
)
async def test_unreadable_paths_are_faults(store: Store, tmp_path: Path, data: bytes, fault: str):
    path = tmp_path / "file"
    path.write_bytes(data)
    [report] = await import_files(store, [path])
    assert fault in report.faults[0].sentence
    assert report.failed


async def test_an_archive_without_conversations(store: Store, tmp_path: Path):
    path = tmp_path / "export.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("user.json", "{}")
    [report] = await import_files(store, [path])
    assert report.faults[0].sentence == "the archive contains no conversations or character cards"


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
async def test_a_file_is_closed_when_a_batch_cannot_be_stored(store: Store, tmp_path, monkeypatch):
    """And what reads the next batch meanwhile has ended."""
    path = own_file(tmp_path / "many.json", *(f"s{n}" for n in range(9000)))

    async def fail(*_: object, **__: object) -> None:
        raise StoreError("The disk is full.")

    monkeypatch.setattr(store.transcripts, "add_many", fail)
    with pytest.raises(StoreError, match="full"):
        await import_files(store, [path])
    opened = [os.readlink(each) for each in Path("/proc/self/fd").iterdir() if each.exists()]
    assert str(path) not in opened
