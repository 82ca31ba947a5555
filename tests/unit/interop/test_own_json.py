"""Our own JSON: nothing is lost, and everything is checked."""

from __future__ import annotations

import json
from dataclasses import replace
from hashlib import sha256
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.reading import only, read, read_pieces
from tests.support.replies import written
from tests.support.tables import each_row
from tests.support.transcripts import transcripts
from tui_chat.models.endpoint import Protocol
from tui_chat.models.message import Message
from tui_chat.models.role import Role
from tui_chat.models.session import Entry, RequestRecord, Session, SessionTranscript, StoredRequest
from tui_chat.models.settings import Settings


@pytest.mark.slow
@given(st.lists(transcripts(), max_size=3), st.integers(1, 2000))
def test_an_export_is_read_back(told: list[SessionTranscript], size: int):
    data = written(*told).encode()
    pieces = [data[start : start + size] for start in range(0, len(data), size)]
    found = read_pieces(pieces)
    assert [each.fault for each in found] == [""] * len(told)
    assert [each.transcript for each in found] == told


@pytest.mark.slow
@given(transcripts())
def test_control_characters_are_escaped(told: SessionTranscript):
    text = written(told)
    assert not any(char in text for char in "\x1b\x9b\u202e\u2028")


def test_fields_of_message_and_entry_do_not_collide():
    ours = set(Message.__dataclass_fields__) & set(Entry.__dataclass_fields__)
    assert ours == set()


def example() -> dict[str, Any]:
    told = SessionTranscript(
        Session("s1", "Walk", "r1", head_id="m2", created=1.0, updated=2.0),
        (
            Entry(Message.of("user", "Hi", "m1")),
            Entry(Message.of("assistant", "Hello", "m2"), "m1", model="x"),
        ),
        Role("r1", "Ada"),
        (("gold", "12"),),
        (
            StoredRequest(
                "m2", RequestRecord("e", Protocol.GEMINI, "POST", "https://x/", "0" * 64, {})
            ),
        ),
        (("preset", "{}"),),
    )
    return json.loads(written(told))


def test_a_streaming_reply_is_read_as_interrupted():
    said = example()
    said["sessions"][0]["messages"][1]["status"] = "streaming"
    assert only(said).entries[1].status == "interrupted"


def test_a_newer_version_is_refused():
    [found] = read(example() | {"version": 3, "program": "tui-chat 9.0"})
    assert found.transcript is None
    assert found.place == "$.version"
    assert "by tui-chat 9.0 in version 3" in found.fault
    assert found.advice == "Update tui-chat."


def test_unknown_keys_are_ignored():
    said = example()
    plain = only(said)
    for value in (said["sessions"][0], *said["sessions"][0].values()):
        for each in value if isinstance(value, list) else [value]:
            each["from_tomorrow"] = {"x": 1}
    del said["sessions"][0]["variables"]["from_tomorrow"]
    assert only(said) == plain


FAULTS = [
    ("messages.0.role", "robot", ".messages[0].role"),
    ("messages.0.role", ..., ".messages[0].role"),
    ("messages.0.content", 5, ".messages[0].content"),
    ("messages.0.id", "m2", ".messages[1].id"),
    ("messages.0.id", "../x", ".messages[0].id"),
    ("messages.0.id", ..., ".messages[0].id"),
    ("messages.0.parent_id", "m2", ".messages[0].parent_id"),
    ("messages.0.timestamp", 1e300, ".messages[0].timestamp"),
    ("messages.0.timestamp", -1, ".messages[0].timestamp"),
    ("messages.0.extras", {"protocol": "x"}, ".messages[0].extras.protocol"),
    *(
        ("messages.0.blocks", value, f".messages[0].{place}")
        for value, place in (
            (5, "blocks"),
            ([5], "blocks[0]"),
            ([{}], "blocks[0]"),
            ([{"kind": "poem"}], "blocks[0]"),
            ([{"kind": "text"}], "blocks[0].text"),
            ([{"kind": "text", "text": "a", "extras": {"keys": 5}}], "blocks[0].extras"),
            ([{"kind": "result", "call_id": "a"}], "blocks[0]"),
        )
    ),
    ("messages.0.muted", {"blocks": [1]}, ".messages[0].muted.blocks"),
    *(
        ("messages.0.about", {"references": value}, f".messages[0].about.references{place}")
        for value, place in (
            ({"sources": [{"url": "javascript:alert(1)"}]}, ".sources[0].url"),
            ({"sources": [{}] * 1000}, ".sources"),
        )
    ),
    *(
        ("messages.0.about", {"tokens": value}, f".messages[0].about.tokens{place}")
        for value, place in (
            ("x", ""),
            ([{"text": "a"}], "[0].logprob"),
            ([{"text": "a", "logprob": 0.5}], "[0].logprob"),
            ([{"text": "", "logprob": -1}], "[0].text"),
            ([{"text": "a" * 201, "logprob": -1}], "[0].text"),
            ([{"text": "a", "logprob": -1, "alternatives": [{}]}], "[0].alternatives[0]"),
            (
                [{"text": "a", "logprob": 0, "alternatives": [{"text": "a", "logprob": 0}] * 21}],
                "[0].alternatives",
            ),
        )
    ),
    ("messages.0", 5, ".messages[0]"),
    ("messages", 5, ".messages"),
    ("messages.1.seconds", -1, ".messages[1].seconds"),
    ("messages.1.usage", {"input": "many"}, ".messages[1].usage.input"),
    ("session", ..., ".session"),
    ("session.session_id", "", ".session.session_id"),
    ("session.head_id", "m9", ".session.head_id"),
    ("session.created", 10**400, ".session.created"),
    ("session.max_tokens", 0, ".session.settings"),
    ("session.tags", [5], ".session.tags[0]"),
    ("role.role_id", "r2", ".role.role_id"),
    ("role.status", "retired", ".role.status"),
    ("variables.gold", 12, ".variables.gold"),
    ("requests", {}, ".requests"),
    ("requests.0", 5, ".requests[0]"),
    ("requests.0.message_id", "m9", ".requests[0].message_id"),
    ("requests.0.recipe", "x", ".requests[0].recipe"),
    ("requests.0.protocol", "smtp", ".requests[0].protocol"),
    ("requests.0.url", "file:///etc/passwd", ".requests[0].url"),
    ("requests.0.url", "https://x/\x1b[2J", ".requests[0].url"),
    ("requests.0.method", "post it", ".requests[0].method"),
    ("requests.0.sha256", "0", ".requests[0].sha256"),
    ("requests.0.created", -1, ".requests[0].created"),
    ("revisions.0.kind", "virus", ".revisions[0].kind"),
    ("revisions.0.json", "{", ".revisions[0].json"),
]


@each_row(("where", "value", "place"), FAULTS)
def test_an_error_has_a_place_and_the_next_session_is_read(where: str, value: Any, place: str):
    said = example()
    said["sessions"].append(example()["sessions"][0])
    *path, last = where.split(".")
    at: Any = said["sessions"][0]
    for step in path:
        at = at[int(step) if step.isdigit() else step]
    key = int(last) if last.isdigit() else last
    if value is ...:
        del at[key]
    else:
        at[key] = value
    [bad, good] = read(said)
    assert bad.transcript is None
    assert bad.place.startswith(f"$.sessions[0]{place}")
    assert good.transcript is not None


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=6,
)


@given(st.data())
def test_null_in_any_place_never_raises(data: st.DataObject):
    said = example()
    at: Any = said
    while True:
        keys = sorted(at) if isinstance(at, dict) else list(range(len(at)))
        key = data.draw(st.sampled_from(keys))
        if isinstance(at[key], dict | list) and at[key] and data.draw(st.booleans()):
            at = at[key]
            continue
        at[key] = data.draw(json_values)
        break
    for found in read(json.dumps(said).encode()):
        assert found.transcript is not None or found.fault


def test_a_body_must_match_its_hash():
    body = b'{"text": "\xe2\x80\xae odd \xef\xbb\xbf"}'
    for exact in (body, b"\xff\x00 no text", b""):
        record = RequestRecord(
            "e", Protocol.GEMINI, "POST", "https://x/", sha256(exact).hexdigest(), {}, exact
        )
        entries = (Entry(Message.of("assistant", "a", "m")),)
        told = SessionTranscript(
            Session("s", "T"), entries, requests=(StoredRequest("m", record),), draft="x"
        )
        said = json.loads(written(told))
        assert only(said) == told
        sent = said["sessions"][0]["requests"][0]
        for odd in ("another", 5, "\ud800"):
            sent.pop("body_base64", None)
            sent["body"] = odd
            [found] = read(said)
            assert found.transcript is None
            assert "requests[0].body" in found.place
    sent["body"] = None
    sent["body_base64"] = "not that"
    [found] = read(said)
    assert "requests[0].body" in found.place
    lost = SessionTranscript(
        Session("s", "T"), entries, requests=(StoredRequest("m", replace(record, body=b"damaged")),)
    )
    assert only(json.loads(written(lost))).requests[0].request.body is None


def test_a_draft_must_be_text():
    said = example()
    said["sessions"][0]["draft"] = 5
    [found] = read(said)
    assert found.place.endswith(".draft")


def test_a_file_of_an_older_program_has_settings_beside_title_and_name():
    said = example()
    said["sessions"][0]["session"] |= {"temperature": 0.5, "max_tokens": 9}
    said["sessions"][0]["session"].pop("settings", None)
    [found] = read(said)
    assert found.transcript is not None
    assert found.transcript.session.settings == Settings(temperature=0.5, max_tokens=9)
