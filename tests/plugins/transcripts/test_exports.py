"""Exports of other programs, and our own files."""

from __future__ import annotations

import json
import os
import sqlite3
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.command_line import Run
from tests.support.exports import ROOT, chatgpt, claude_code, lines, node
from tests.support.found_conversations import check
from tests.support.golden import cases
from tests.support.reading import only, read, said
from tests.support.stores import clock, new_id, open_store, path, store
from tests.support.tables import each_row
from tui_chat.errors import StoreError
from tui_chat.interop.formats import FoundConversation, ImportSource
from tui_chat.plugins.transcripts.importer import import_files
from tui_chat.plugins.transcripts.reader import read_conversations
from tui_chat.store import Store

__all__ = ["clock", "new_id", "open_store", "path", "store"]

EXPORTS = Path(__file__).parent / "exports"


@each_row(
    ("case", "expected"),
    [(case, expected) for _, case, expected in cases(EXPORTS)],
    ids=[name for name, *_ in cases(EXPORTS)],
)
def test_all_that_is_found_in_an_export(case: dict[str, Any], expected: Any) -> None:
    check(case, expected)


def test_a_long_conversation_is_no_deeper_than_a_short_one():
    many = 5_000
    nodes = [node("n0", None, "user", "0")]
    nodes += [node(f"n{n}", f"n{n - 1}", "user", str(n)) for n in range(1, many)]
    assert said(only([chatgpt(*nodes)]))[-1] == ("user", str(many - 1))


def test_ids_are_stable_when_a_conversation_grows():
    nodes = [node("q", None, "user", "Hi"), node("a", "q", "assistant", "Hello")]
    before = only([chatgpt(*nodes)])
    after = only([chatgpt(*nodes, node("q2", "a", "user", "More"))])
    assert only([chatgpt(*nodes)]) == before
    assert after.entries[:2] == before.entries
    assert after.session.session_id == before.session.session_id


def test_a_growing_session_keeps_its_ids():
    records = [claude_code(str(n), str(n - 1) if n else None, f"Text {n}") for n in range(5)]
    short, long = only(lines(*records[:3])), only(lines(*records))
    assert long.entries[:3] == short.entries
    assert long.session.session_id == short.session.session_id


def faults(found: list[FoundConversation]) -> list[tuple[str, str]]:
    return [(each.place, each.fault) for each in found if each.fault]


def test_damaged_lines_cost_only_themselves():
    good = [claude_code("u", None, "Hi"), claude_code("v", "gone", "Still there")]
    data = lines(good[0]) + b'\n{"uuid": "x", "par\n42\n{"uuid": "y"}\n\xff\n' + lines(good[1])
    found = read(data)
    assert [place for place, _ in faults(found)] == ["line 2", "line 3", "line 4", "line 5"]
    assert found[-1].transcript is not None
    assert said(found[-1].transcript) == [("user", "Hi"), ("user", "Still there")]


def test_a_large_line_is_skipped():
    data = lines(claude_code("u", None, "Hi")) + b'\n{"x": "' + b"a" * 65 * 2**20 + b'"}\n'
    found = read(data)
    assert faults(found) == [("line 2", "is larger than 64 MiB")]
    assert found[-1].transcript is not None


def read_file(path: Path) -> list[FoundConversation]:
    return list(read_conversations([path.read_bytes()], source=ImportSource(path, path.name)))


LLM = """
    CREATE TABLE conversations (id TEXT PRIMARY KEY, name TEXT, model TEXT);
    CREATE TABLE responses (id TEXT PRIMARY KEY, model TEXT, prompt TEXT, system TEXT,
        response TEXT, conversation_id TEXT, datetime_utc TEXT);
    INSERT INTO conversations VALUES ('c', 'The inn', 'm');
    INSERT INTO responses VALUES ('1', 'm', 'Rooms?', 'Be kind.', 'Nine.', 'c', '2025-01-01');
    INSERT INTO responses VALUES ('2', 'm', 'Beds?', 'Be kind.', 'Ten.', 'c', '2025-01-02');
"""


def test_a_database_in_use_is_read_and_left_alone(tmp_path: Path):
    path = tmp_path / "logs.db"
    writer = sqlite3.connect(path, isolation_level=None)
    writer.execute("PRAGMA journal_mode=WAL")
    writer.executescript(LLM)
    writer.execute("BEGIN IMMEDIATE")  # a reader must not wait for it
    [found] = read_file(path)
    assert found.transcript is not None
    assert said(found.transcript) == [
        ("system", "Be kind."), ("user", "Rooms?"), ("assistant", "Nine."), ("user", "Beds?"),
        ("assistant", "Ten."),
    ]  # fmt: skip
    writer.execute("COMMIT")
    writer.close()
    before = path.read_bytes(), sorted(tmp_path.iterdir())
    assert read_file(path) == [found]
    assert (path.read_bytes(), sorted(tmp_path.iterdir())) == before


def test_a_damaged_part_of_opencode_costs_itself_only(tmp_path: Path):
    path = tmp_path / "opencode.db"
    with sqlite3.connect(path) as database:
        database.executescript("""
            CREATE TABLE session (id TEXT, parent_id TEXT, title TEXT, revert TEXT);
            CREATE TABLE message (id TEXT, session_id TEXT, data TEXT);
            CREATE TABLE part (id TEXT, message_id TEXT, session_id TEXT, data TEXT);
            INSERT INTO session VALUES ('s', NULL, 'Kite', NULL);
            INSERT INTO message VALUES ('m1', 's', '{"role":"user"}');
            INSERT INTO message VALUES ('m2', 's', '{"role":"assi');
            INSERT INTO part VALUES ('p1', 'm1', 's', '{"type":"text","text":"Fly"}');
            INSERT INTO part VALUES ('p2', 'm1', 's', '[]');
            INSERT INTO part VALUES ('p3', 'm2', 's', '{"type":"text","text":"It flies"}');
        """)
    database.close()
    *faults, found = read_file(path)
    assert [each.place for each in faults] == ["session s, part p2", "session s, message m2"]
    assert found.transcript is not None
    assert said(found.transcript) == [("user", "Fly"), ("assistant", "It flies")]


def test_a_view_in_the_place_of_a_table_is_not_read(tmp_path: Path):
    path = tmp_path / "logs.db"
    with sqlite3.connect(path) as database:
        database.executescript("""
            CREATE TABLE conversations (id TEXT);
            CREATE VIEW responses AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)
                SELECT i AS id, i AS conversation_id FROM n;
        """)
    database.close()
    [found] = read_file(path)
    assert found.unknown


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(("role", "content_type", "parts", "text")), inner)
    ),
    max_leaves=6,
)
_MESSAGES = st.fixed_dictionaries(
    {},
    optional={
        "author": st.just({"role": "user"}) | st.just({"role": "assistant"}) | _JSON,
        "content": st.just({"content_type": "text", "parts": ["Hello"]}) | _JSON,
        **dict.fromkeys(("create_time", "metadata", "recipient", "status"), _JSON),
    },
)
_NODES = (
    st.fixed_dictionaries(
        {},
        optional={
            "message": _MESSAGES | _JSON,
            "parent": st.sampled_from("abcde") | _JSON,
            "children": st.lists(st.sampled_from("abcde")) | _JSON,
        },
    )
    | _JSON
)


@given(st.dictionaries(st.sampled_from("abcde"), _NODES), _JSON, _JSON)
def test_no_mapping_makes_an_empty_session(mapping: dict[str, Any], current: object, title: object):
    conversation = {"mapping": mapping, "current_node": current, "title": title}
    for found in read([conversation]):
        assert bool(found.fault) + found.ignored + (found.transcript is not None) == 1
        assert found.transcript is None or found.transcript.entries


# --- Importing conversations from files into the store ------------------------------------


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


# --- Files of other programs as they are found: partly broken, or of forms that are seldom met


DATA = Path(__file__).parent / "data"


def test_a_bad_conversation_among_many_files_is_named_as_in_a_file_alone(run: Run, tmp_path: Path):
    folder, alone = tmp_path / "folder", tmp_path / "alone.json"
    folder.mkdir()
    whole = chatgpt(node(ROOT, None, children=("a",)), node("a", ROOT, "user", "One"))
    broken = {"title": "Broken", "mapping": 3}
    wrong = []
    for number, (name, values) in enumerate(
        (
            ("behind", [whole, broken]),
            ("before", [broken, whole]),
            ("foreign", [whole, {"nothing": "known"}]),
        )
    ):
        alone.write_text(json.dumps(values))
        (folder / "a.json").write_text(json.dumps(values))
        (folder / "user.json").write_text("[{}]")
        archive = tmp_path / f"{name}.zip"
        with zipfile.ZipFile(archive, "w") as file:
            file.write(alone, "a.json")
            file.writestr("user.json", "[{}]")
        results = []
        for kind, source in (("alone", alone), ("folder", folder), ("archive", archive)):
            done = run("--data-dir", tmp_path / f"{number} {kind}", "import", source)
            fault = done.err.split("a.json ")[-1].split("alone.json ")[-1].splitlines()[:1]
            fault = [line.removeprefix(f"{alone}: ").split("$")[-1] for line in fault]
            results.append((done.code, fault))
            if kind != "alone" and "a.json" in done.out.partition("skipped")[2]:
                wrong.append((name, kind, done.out))
        if len({str(result) for result in results}) > 1 or results[0][0] == 0:
            wrong.append((name, results))
    assert not wrong, wrong


@pytest.fixture
def chat(run: Run, tmp_path: Path) -> Run:
    """Run a command on a new database."""
    return lambda *words: run("--data-dir", tmp_path / "data", *words)


def test_the_activity_of_google_takeout_is_a_session_for_each_prompt(chat: Run):
    assert chat("import", DATA / "MyActivity.json").code == 0
    sessions = json.loads(chat("export", "--all").out)["sessions"]
    texts = {tuple(message["content"] for message in each["messages"]) for each in sessions}
    answer = "A **filter** & more.\n\n- one\n- two\n\n```\nx  y\n```"
    assert texts == {("Why?", answer), ("Alone",)}


def test_a_session_of_pi_is_read_with_calls_branches_and_tokens(chat: Run):
    done = chat("import", DATA / "pi_session.jsonl")
    assert (done.code, done.err) == (0, "")
    shown = json.loads(chat("sessions", "show", "List", "--json").out)
    assert [m["content"] for m in shown["messages"]] == ["List", "Two", "Thanks"]
    (session,) = json.loads(chat("export", "--all").out)["sessions"]
    texts = {m.get("content", "") for m in session["messages"]}
    assert texts == {"List", "", "a", "One", "Two", "Thanks"}
    (calling,) = (m for m in session["messages"] if m.get("tool_calls"))
    assert json.loads(calling["tool_calls"][0]["arguments"]) == {"command": "ls"}
