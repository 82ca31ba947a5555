"""Exports, logs and databases of other programs: a table of all that is found in them, and what a
table cannot say.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.support.exports import chatgpt, claude_code, lines, node
from tests.support.found_conversations import check
from tests.support.golden import cases
from tests.support.reading import only, read, said
from tests.support.tables import each_row
from tui_chat.interop.formats import FoundConversation, ImportSource
from tui_chat.plugins.transcripts.reader import read_conversations

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
