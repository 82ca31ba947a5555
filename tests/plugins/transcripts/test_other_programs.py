"""Exports of Open WebUI and LibreChat, databases of llm and opencode, aichat's YAML."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from tests.support.reading import only, read, said, shown
from tui_chat.interop.formats import ImportSource
from tui_chat.interop.reader import read_conversations
from tui_chat.interop.transcript_builder import FoundConversation


def open_webui(*messages: dict[str, Any], current: str | None = None) -> list[dict[str, Any]]:
    history = {"messages": {each["id"]: each for each in messages}, "currentId": current}
    return [{"id": "c", "title": "Mill", "chat": {"history": history, "system": "Be short."}}]


def read_file(path: Path) -> list[FoundConversation]:
    return list(read_conversations([path.read_bytes()], source=ImportSource(path, path.name)))


def test_details_of_open_webui_are_taken_apart():
    content = (
        '<details type="reasoning" done="true">\n<summary>Thought</summary>\n&gt; A &amp; B\n'
        "</details>\nFirst."
        '<details type="tool_calls" id="t" name="f" arguments="&quot;{}&quot;" '
        'result="&quot;west&quot;">\n<summary>x</summary>\n</details>\nThen.'
    )
    transcript = only(open_webui(
        {"id": "q", "parentId": None, "role": "user", "content": "Wind?"},
        {"id": "a", "parentId": "q", "role": "assistant", "content": content},
        {"id": "b", "parentId": "q", "role": "assistant", "content": "<details type=\"reasoning\""},
        current="a",
    ))  # fmt: skip
    assert said(transcript) == [
        ("user", "Wind?"), ("assistant", "First."), ("tool", "west"), ("assistant", "Then."),
    ]  # fmt: skip
    assert shown(transcript)[1].semantics.reasoning[0].text == "A & B"
    assert transcript.role is not None
    assert transcript.role.system_prompt == "Be short."


def test_nested_messages_of_librechat():
    leaf = {"messageId": "3", "text": "In winter.", "isCreatedByUser": False, "unfinished": True}
    first = {"messageId": "1", "text": "When?", "isCreatedByUser": True, "children": [leaf, 5]}
    [found] = read({"conversationId": "k", "exportAt": "x", "messages": [first]})
    assert found.transcript is not None
    assert said(found.transcript) == [("user", "When?"), ("assistant", "In winter.")]
    assert found.transcript.entries[1].status == "interrupted"
    assert len(found.notes) == 1  # 5 is not a message


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


def aichat(text: str) -> list[FoundConversation]:
    return list(read_conversations([text.encode()], source=ImportSource(name="notes.yaml")))


def test_scalars_of_aichat_are_text():
    [found] = aichat("model: m\nmessages:\n- role: user\n  content: no\n- role: assistant\n"
                     "  content: |-\n    1e3\n    two\n")  # fmt: skip
    assert found.transcript is not None
    assert said(found.transcript) == [("user", "no"), ("assistant", "1e3\ntwo")]
    assert found.transcript.session.title == "notes"


@pytest.mark.parametrize(("text", "fault"), [
    ("messages:\n- &a {role: user, content: x}\n- *a\n", "has an alias in line 3"),
    (f"messages:\n- {'[' * 5000}\n", "is nested too deeply in line 2"),
    ("messages:\n- role: user\n  content: 'x\n", "is not YAML"),
    ("messages:\n  - 5\n", "must be a message with a role"),
])  # fmt: skip
def test_faults_of_aichat(text: str, fault: str):
    found = aichat(text)[0]
    assert found.transcript is None
    assert fault in found.fault


def test_content_of_an_unknown_type_is_noted():
    unknown = {"type": "hologram", "data": "AAAA"}
    question = {"messageId": "1", "parentMessageId": None, "sender": "User", "text": "Hi",
                "isCreatedByUser": True}  # fmt: skip
    content = [{"type": "text", "text": "Ho"}, {"type": "agent_update"}, unknown]
    answer = {"messageId": "2", "parentMessageId": "1", "sender": "GPT",
              "isCreatedByUser": False, "content": content}  # fmt: skip
    exports: list[object] = [
        {"conversationId": "k", "title": "T", "recursive": False, "options": {},
         "messages": [question, answer]},
        open_webui(
            {"id": "q", "parentId": None, "role": "user", "content": "Hi"},
            {"id": "a", "parentId": "q", "role": "assistant", "output": [
                {"type": "message", "content": [{"text": "Ho"}]}, unknown]},
        ),
    ]  # fmt: skip
    for export in exports:
        [found] = read(export)
        assert said(only(export)) == [("user", "Hi"), ("assistant", "Ho")]
        assert found.notes == ("Content of the unknown type “hologram” was left out.",)
