"""The importer, its command and its action."""

from __future__ import annotations

import base64
import json
import zipfile
from collections.abc import AsyncIterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from tests.support.command_line import Run
from tests.support.databases import provide_database
from tests.support.exports import block, chatgpt, claude, claude_message, node
from tests.support.imported_sessions import Command, chat, file, filled
from tests.support.tables import each_row
from tui_chat.models.role import Role
from tui_chat.models.search import Query
from tui_chat.models.session import Session, SessionTranscript
from tui_chat.plugins.transcripts.importer import (
    COMPLETED,
    DIFFERENT,
    ChatParticipants,
    import_files,
)
from tui_chat.plugins.transcripts.report import Report
from tui_chat.store import Store

__all__ = ["chat", "file", "filled"]

ids = count()


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    path = tmp_path / "chat.db"
    opened = await Store.open(
        provide_database(path), now=lambda: 1e9, new_id=lambda: f"id-{next(ids)}"
    )
    async with opened:
        yield opened


def conversation(name: str, *more: dict[str, Any]) -> dict[str, Any]:
    nodes = [node("q", None, "user", f"Hi {name}"), node("a", "q", "assistant", "Hello")]
    return chatgpt(*nodes, *more, conversation_id=name, title=name)


def write(path: Path, value: object) -> Path:
    path.write_text(json.dumps(value))
    return path


async def test_importing_a_file_again_adds_nothing(store: Store, tmp_path: Path):
    file = write(tmp_path / "c.json", [conversation("one"), conversation("two")])
    [report] = await import_files(store, [file])
    assert (report.new, report.added, report.faults) == (2, 4, [])
    assert report.read == report.size == file.stat().st_size
    assert [each.title for each in await store.sessions.list()] == ["two", "one"]
    [again] = await import_files(store, [file])
    assert (again.new, again.grown, again.known, again.added) == (0, 0, 2, 0)
    assert again.session_ids == report.session_ids


async def test_importing_a_grown_file_adds_new_messages(store: Store, tmp_path: Path):
    file = tmp_path / "c.json"
    await import_files(store, [write(file, [conversation("one"), conversation("two")])])
    grown = conversation("one", node("q2", "a", "user", "More"))
    [report] = await import_files(store, [write(file, [grown, conversation("two")])])
    assert (report.grown, report.added, report.known) == (1, 1, 1)
    branch = await store.branches.load(report.session_ids[0])
    assert [entry.message.content for entry in branch] == ["Hi one", "Hello", "More"]


async def test_an_answer_that_was_being_written_is_completed_by_the_next_import(
    store: Store, tmp_path: Path
):
    def line(uuid: str, parent: str | None, kind: str, *blocks: object) -> dict[str, object]:
        message = {"role": kind, "content": blocks, **({"id": "m"} if kind == "assistant" else {})}
        return {"type": kind, "uuid": uuid, "parentUuid": parent, "sessionId": "s",
                "message": message}  # fmt: skip

    records = [
        line("u", None, "user", {"type": "text", "text": "Look"}),
        line("a1", "u", "assistant", {"type": "text", "text": "Heron"}),
        line("a2", "a1", "assistant", {"type": "tool_use", "id": "c", "name": "Ls", "input": {}}),
        line("r", "a2", "user", {"type": "tool_result", "tool_use_id": "c", "content": "egret"}),
    ]
    file = tmp_path / "s.jsonl"
    file.write_text("".join(json.dumps(each) + "\n" for each in records[:2]))
    await import_files(store, [file])
    file.write_text("".join(json.dumps(each) + "\n" for each in records[:3]))
    [report] = await import_files(store, [file])
    assert (report.grown, report.added, report.notes) == (1, 0, {COMPLETED: 1})
    file.write_text("".join(json.dumps(each) + "\n" for each in records))
    [report] = await import_files(store, [file])
    assert (report.grown, report.added, report.notes) == (1, 1, {})
    _, answer, result = await store.branches.load(report.session_ids[0])
    assert (answer.message.content, [call.id for call in answer.message.tool_calls]) == (
        *("Heron", ["c"]),
    )
    assert (result.message.content, result.message.tool_call_id) == ("egret", "c")
    assert {hit.place for hit in await store.search.find(Query("Ls"))} == {"call"}
    assert len(await store.search.find(Query("heron"))) == 1


async def test_a_message_with_another_text_in_the_file_stays_and_is_noted(
    store: Store, tmp_path: Path
):
    file = write(tmp_path / "c.json", [conversation("one")])
    await import_files(store, [file])
    file.write_text(file.read_text().replace("Hello", "Changed"))
    [report] = await import_files(store, [file])
    assert (report.known, report.added, report.notes) == (1, 0, {DIFFERENT: 1})
    branch = await store.branches.load(report.session_ids[0])
    assert [entry.message.content for entry in branch] == ["Hi one", "Hello"]


async def test_a_dry_run_changes_nothing(store: Store, tmp_path: Path):
    file = write(tmp_path / "c.json", [conversation("one")])
    [told] = await import_files(store, [file], dry_run=True)
    assert (told.new, told.added) == (1, 2)
    assert await store.sessions.list() == ()
    [done] = await import_files(store, [file])
    assert (done.new, done.added, done.session_ids) == (told.new, told.added, told.session_ids)


async def test_broken_conversations_are_reported_and_the_rest_is_imported(
    store: Store, tmp_path: Path
):
    broken = chatgpt(node("a", "b", "user", "x"), node("b", "a", "user", "y"))
    file = write(tmp_path / "c.json", [conversation("one"), broken, {"x": 1}, conversation("two")])
    missing = tmp_path / "nowhere.json"
    [report, nothing] = await import_files(store, [file, missing])
    assert report.new == 2
    assert [(fault.place, fault.sentence) for fault in report.faults] == [
        ("$[1].mapping", "has no first message"),
        ("$[2]", "is not a conversation of a known format"),
    ]
    assert [fault.sentence for fault in nothing.faults] == [
        "cannot be read: No such file or directory"
    ]


async def test_other_files_in_an_archive_are_ignored(store: Store, tmp_path: Path):
    path = tmp_path / "export.zip"
    told = claude(claude_message("m", "human", block("Roses?")))
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("user.json", json.dumps({"id": "u", "email": "kim@example.org"}))
        archive.writestr("shared_conversations.json", json.dumps([{"id": "1", "title": "x"}]))
        archive.writestr("conversations.json", json.dumps([conversation("one"), told]))
        archive.writestr("more/broken.json", "[{")
        archive.writestr("cat.png", b"\x89PNG")
    [report] = await import_files(store, [path])
    assert report.new == 2
    [fault] = report.faults
    assert fault.place == "more/broken.json"


PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


@pytest.mark.parametrize("packed", [True, False])
async def test_pictures_and_files_of_an_export_are_imported(
    packed: bool, store: Store, tmp_path: Path
):
    pointers = ("file-service://file-AbC123", "sediment://file_0000ff", "sediment://file_missing")
    content = {
        "content_type": "multimodal_text",
        "parts": [
            *(
                {"content_type": "image_asset_pointer", "asset_pointer": pointer}
                for pointer in pointers
            ),
            "Look.",
        ],
    }
    attached = [{"id": "file-Note42", "name": "notes.md", "mime_type": "text/markdown"}]
    told = chatgpt(node("q", None, "user", content=content, metadata={"attachments": attached}))
    members = {
        "conversations.json": json.dumps([told]).encode(),
        "file-AbC123-photo.png": PIXEL,
        "dalle/file_0000ff-1.webp": PIXEL,
        "file-Note42-notes.md": b"# Notes",
    }
    path = tmp_path / "export"
    if packed:
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, data in members.items():
                archive.writestr(name, data)
    else:
        for name, data in members.items():
            (path / name).parent.mkdir(parents=True, exist_ok=True)
            (path / name).write_bytes(data)
    [report] = await import_files(store, [path])
    assert (report.new, report.faults, report.skipped) == (1, [], [])
    [count] = [count for note, count in report.notes.items() if "beside the export" in note]
    assert count == 1, "the one that is missing"
    [entry] = await store.branches.load(report.session_ids[0])
    parts = entry.message.parts
    assert [base64.b64decode(part.data) for part in parts[:2]] == [PIXEL, PIXEL]
    assert [part.mime for part in parts[:2]] == ["image/png", "image/png"]
    assert (parts[2].data, parts[2].file_id) == ("", pointers[2])
    assert (parts[3].text, parts[3].name) == ("# Notes", "notes.md")


async def test_a_folder_is_read_like_an_archive(store: Store, tmp_path: Path):
    folder = tmp_path / "export"
    (folder / "more").mkdir(parents=True)
    (folder / ".hidden").mkdir()
    write(folder / "user.json", {"id": "u", "email": "kim@example.org"})
    write(folder / "conversations.json", [conversation("one")])
    write(folder / "more" / "two.json", conversation("two"))
    write(folder / ".hidden" / "three.json", conversation("three"))
    (folder / "broken.json").write_text("[{")
    (folder / "cat.png").write_bytes(b"\x89PNG")
    (folder / "gone.json").symlink_to(tmp_path / "nowhere")
    [report] = await import_files(store, [folder])
    assert (report.new, [fault.place for fault in report.faults]) == (2, ["broken.json"])
    assert report.read == report.size > 0
    (tmp_path / "empty").mkdir()
    [empty] = await import_files(store, [tmp_path / "empty"])
    assert empty.faults[0].sentence == "the folder contains no conversations or character cards"
    assert "conversations.json" in empty.faults[0].advice


async def test_small_files_share_a_batch_and_each_has_its_report(store: Store, tmp_path: Path):
    """A broken file in the middle does not affect the others."""
    files = [write(tmp_path / f"{n}.json", conversation(str(n))) for n in range(5)]
    files[2].write_text("{")
    batches: list[Report] = []
    reports = await import_files(store, files, progress=batches.append)
    assert [report.path for report in reports] == files
    assert [(report.new, report.failed) for report in reports] == [
        (0, True) if n == 2 else (1, False) for n in range(5)
    ]
    assert len(batches) == 1


async def test_a_decompression_bomb_is_refused(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("tui_chat.plugins.transcripts.files.BOMB_SIZE", 2**20)
    path = tmp_path / "bomb.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(3):
            archive.writestr(f"{number}.json", " " * 2**20)
    [report] = await import_files(store, [path])
    assert "would unpack from 0.0 MB to 3 MB" in report.faults[0].sentence
    assert "unpack it" in report.faults[0].advice
    assert report.read == 0
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("conversations.json", json.dumps([conversation("one")]) + " " * 2**19)
    [report] = await import_files(store, [path])
    assert report.new == 1, "what is not large may shrink as it likes"


@pytest.mark.slow
async def test_progress_is_reported_and_notes_are_counted(store: Store, tmp_path: Path):
    files = [{"file_name": "cat.png", "file_uuid": "f"}]
    told = [
        claude(claude_message("m", "human", text="x", files=files), uuid=f"c{n}")
        for n in range(2_500)
    ]
    seen: list[tuple[int, int]] = []

    def progress(report: Report) -> None:
        seen.append((report.new, report.read))

    file = write(tmp_path / "c.json", told)
    [report] = await import_files(store, [file], progress=progress)
    assert len(seen) > 1
    assert seen == sorted(seen)
    assert seen[-1] == (2_500, file.stat().st_size)
    assert list(report.notes.values()) == [2_500]
    [again] = await import_files(store, [file])
    assert not again.notes


# --- `tui-chat import` --------------------------------------------------------------------


def test_import_prints_a_report(chat: Command, file: Path):
    done = chat("import", file)
    assert (done.code, done.err) == (0, "")
    assert "2 sessions read: 2 new, 0 grown, 0 already there; 6 messages added." in done.out
    assert "0 new, 0 grown, 2 already there; 0 messages added." in chat("import", file).out


def test_a_dry_run_says_what_would_happen(chat: Command, file: Path):
    assert "2 would be new" in chat("import", "--dry-run", file).out
    assert json.loads(chat("sessions", "list", "--json").out) == []


def test_import_prints_json(chat: Command, file: Path, tmp_path: Path):
    done = chat("import", "--json", file, tmp_path / "nowhere")
    first, second = json.loads(done.out)
    assert done.code == 2
    assert first["sessions"] == {"new": 2, "grown": 0, "known": 0}
    assert first["messages_added"] == 6
    assert second["faults"][0]["sentence"] == "cannot be read: No such file or directory"
    done = chat("import", tmp_path / "nowhere", file)
    assert done.code == 2
    assert done.err.startswith("Error: ")
    assert "nowhere cannot be read" in done.err
    assert "2 sessions read: 0 new, 0 grown, 2 already there; 0 messages added.\n" in done.out


def test_faults_are_printed_on_standard_error_beside_the_report(chat: Command, tmp_path: Path):
    path = tmp_path / "c.json"
    path.write_text(json.dumps([{"messages": [{"role": "\x1b[31m", "content": ""}]}]))
    done = chat("import", path)
    assert done.code == 2
    assert f"{path}: $[0].messages[0].role must be one of" in done.err
    path.write_text(
        '{"format": "tui-chat", "version": 9, "program": "\\u001b[31mx", "sessions": []}'
    )
    done = chat("import", path)
    assert "Update tui-chat." in done.err
    assert "\x1b" not in done.err


def test_an_export_can_be_imported_into_another_database(filled: Command, run: Run, tmp_path: Path):
    done = filled("export", "A walk")
    path = tmp_path / "walk.json"
    assert filled("export", "A walk", "--output", path).out == ""
    assert path.read_text() == done.out
    [told] = json.loads(done.out)["sessions"]
    assert [message["content"] for message in told["messages"]] == [
        "Where to, 去北方好吗?",
        "North.",
        "South.",
    ]
    other = ("--data-dir", tmp_path / "other")
    assert "1 new" in run(*other, "import", path).out
    assert run(*other, "export", told["session"]["session_id"]).out == done.out


# --- Who speaks in an imported chat: roles and profiles by name, and names alone ----------


CHAT = SessionTranscript(Session("s", "Talk"), character="ADA", user="ines")
ROLES = (Role("old", "Ada"), Role("new", "ada"), Role("off", "Ada", status="disabled"))
POET = (Role("poet", "Poet"),)
ME = {"ines": "me"}
CARD = Role("card", "Ada", "I am Ada.")


@each_row(
    ("roles", "profiles", "cards", "found", "names"),
    [
        # the newest enabled role, and the profile of the name
        (ROLES, ME, (), ("new", "me"), (None, None)),
        (ROLES, {}, (CARD,), ("card", ""), (None, "ines")),
        # names without a role or profile are settings
        (POET, {}, (), (None, ""), ("ADA", "ines")),
    ],
)
def test_who_speaks(
    roles: tuple[Role, ...], profiles: dict[str, str], cards: tuple[Role, ...],
    found: tuple[str | None, str], names: tuple[str | None, str | None],
):  # fmt: skip
    participants = ChatParticipants(roles, profiles)
    chat = participants.assign(CHAT, cards)
    session = chat.session
    assert (session.role_id, session.profile) == found
    assert (session.settings.char_name, session.settings.user_name) == names
    assert chat.role == next(iter(cards), None)
    plain = SessionTranscript(Session("s", "Talk"))
    assert participants.assign(plain, ()) is plain, "it names nobody"
