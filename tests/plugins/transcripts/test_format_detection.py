"""The format of a file is detected from its content."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from tests.support.exports import lines
from tests.support.reading import only, read, said
from tests.support.tables import each_row
from tui_chat.interop.messages import message_lines, read_history
from tui_chat.models.message import Muted
from tui_chat.plugins.transcripts.reader import known_formats, read_conversations

USER, REPLY = {"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}
PLAIN = [("user", "Hi"), ("assistant", "Hello")]


@each_row(
    "file",
    [
        [USER, REPLY],
        lines(USER, REPLY),
        b"\xef\xbb\xbf" + lines(USER, REPLY) + b"\r\n\r\n",
        {"messages": [USER, REPLY]},
        {"model": "gpt-4o", "messages": [USER, REPLY]},
        {"conversations": [{"messages": [USER, REPLY]}]},
    ],
)  # fmt: skip
def test_known_formats_are_detected(file: object):
    assert said(only(file)) == PLAIN


def test_json_lines_may_be_several_conversations():
    found = read(lines({"messages": [USER]}, {"messages": [REPLY]}))
    assert [said(each.transcript) for each in found if each.transcript] == [
        [("user", "Hi")],
        [("assistant", "Hello")],
    ]


@each_row(
    ("file", "place", "fault"),
    [
        (b"", "", "is empty"),
        (b" \n ", "", "is empty"),
        (b"hello", "", "is not a conversation of a known format"),
        ([{"a": 1}], "$[0]", "is not a conversation of a known format"),
        ([5], "$[0]", "is not a conversation of a known format"),
        ({"a": 1}, "", "is not a conversation of a known format"),
        ([USER, {"role": "robot", "content": ""}], "$[1].role", "must be one of"),
        (lines(USER) + b"\n{", "", "ends within the value that begins in line 2"),
        (lines(USER, 5), "line 2", "a message must be an object"),
        (b'{"format": "tui-chat", "version": 1}', "$.sessions", "must be a list"),
        (b'{"messages": [1,]}', "", "is not JSON"),
        (b"[] x", "line 1", "more after the end"),
        (b"\xff\xfe[\x00]\x00", "", "is not UTF-8 text"),
        (json.dumps({"messages": [{"role": "user", "content": 5}]}).encode(),
         ".messages[0].content", "must be text or a list of parts"),
    ],
)  # fmt: skip
def test_faults_have_a_place(file: object, place: str, fault: str):
    found = read(file)[-1]
    assert (found.transcript, found.place) == (None, place)
    assert fault in found.fault
    assert found.advice in ("", known_formats())


def test_messages_without_ids_are_recognized_only_if_all_are_equal():
    first, longer = only([USER]), only([USER, REPLY])
    assert only([USER]) == first
    assert longer.session.session_id != first.session.session_id


def test_messages_with_ids_are_recognized_after_growing():
    one, two = USER | {"id": "a" * 20}, REPLY | {"id": "b" * 20}
    first, longer = only([one]), only([one, two])
    assert longer.entries[:1] == first.entries
    assert longer.session.session_id == first.session.session_id


def test_exported_lines_are_read_as_history_and_as_a_conversation():
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}
    told = [
        {"role": "user", "content": [{"type": "text", "text": "a\u2028"}, picture]},
        {"role": "assistant", "content": "", "tool_calls": [call], "timestamp": 5.0},
        {"role": "tool", "content": "x", "tool_call_id": "c", "name": "f", "pinned": True},
        {"role": "user", "content": "y", "muted": True},
        {"role": "user", "content": [picture], "muted": {"reasoning": True, "parts": [0]}},
    ]
    transcript = only(told)
    text = "".join(message_lines(transcript))
    assert text.count("\n") == 5
    history = read_history(text, "f")
    assert [message.content for message in history] == ["a\u2028", "", "x", "y", ""]
    assert history[0].parts == transcript.entries[0].message.parts
    assert history[1] == transcript.entries[1].message
    assert history[3].muted == Muted(whole=True)
    assert said(only(text.encode())) == said(transcript)


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_reported(data: bytes):
    for found in read_conversations([data]):
        assert found.transcript is not None or found.fault or found.ignored


@given(st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=3)
    | st.sampled_from(["user", "all", "text", "thoughts", "tool_use", "q", "2020-01-01"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["mapping", "q", "parent", "children", "message", "author", "role",
                         "content", "parts", "content_type", "metadata", "chat_messages", "uuid",
                         "sender", "type", "text", "mes", "is_user", "extra", "swipes", "swipe_id",
                         "messages", "tool_calls", "format", "sessions", "version", "tui-chat"]),
        inner, max_size=6),
    max_leaves=25,
))  # fmt: skip
def test_almost_valid_files_never_raise(value: object):
    for found in read(value):
        assert found.transcript is not None or found.fault or found.ignored
