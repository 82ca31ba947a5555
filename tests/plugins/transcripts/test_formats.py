"""Which format a file has, and texts of JSON in it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.exports import block, chatgpt, claude, claude_message, lines, node
from tests.support.reading import only, read, said
from tests.support.strategies import any_text
from tests.support.tables import each_row
from tui_chat import hooks
from tui_chat.interop.messages import message_lines, read_history
from tui_chat.models.message import Muted
from tui_chat.plugins.transcripts.json_text import BadText, JsonText
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


# --- The formats of other programs are detected from their content ------------------------


@pytest.mark.parametrize(
    "file",
    [
        chatgpt(node("q", None, "user", "Hi"), node("a", "q", "assistant", "Hello")),
        {"conversations": [claude(claude_message("1", "human", block("Hi")),
                                  claude_message("2", "assistant", block("Hello")))]},
    ],
)  # fmt: skip
def test_formats_are_known_by_their_beginning(file: object):
    assert said(only(file)) == [("user", "Hi"), ("assistant", "Hello")]


def test_formats_may_be_mixed():
    both = [chatgpt(node("q", None, "user", "a")), claude(claude_message("1", "human", text="b"))]
    assert [each.transcript is not None for each in read(both)] == [True, True]


def test_what_is_beside_conversations_is_passed_over():
    account = {"uuid": "a", "email_address": "kim@example.org"}
    assert [each.ignored for each in read([account])] == [True]


def test_without_the_plugin_its_formats_are_unknown(monkeypatch: pytest.MonkeyPatch):
    assert "Codex's rollouts" in known_formats()
    left = tuple(each for each in hooks.plugins() if each.name != "transcripts")
    monkeypatch.setattr(hooks, "built_in_plugins", lambda: left)
    talk = chatgpt(node("q", None, "user", "Hi"))
    [found] = read([talk])
    assert found.fault == "is not a conversation of a known format"
    assert "Known formats: " in found.advice
    assert "Codex's rollouts" not in found.advice


@pytest.mark.slow
def test_the_app_starts_without_a_reader():
    program = (
        "import sys, tui_chat.cli.app, tui_chat.ui.app, tui_chat.workspace.workspace\n"
        "print([name for name in sys.modules if name.startswith('tui_chat.plugins.transcripts.')])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("[]\n", "")


# --- JSON in pieces of any size -----------------------------------------------------------


values = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**6), 10**6) | any_text,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(any_text, inner, max_size=4),
    max_leaves=12,
)


def cut(data: bytes, size: int) -> Iterator[bytes]:
    for start in range(0, len(data), size):
        yield data[start : start + size]


def every(reader: JsonText) -> list[object]:
    assert reader.peek() == "["
    return list(reader.elements())


@given(st.lists(values, max_size=6), st.integers(1, 40), st.booleans(), st.sampled_from([None, 1]))
def test_an_array_is_read_alike_in_pieces_of_any_size(
    told: list[object], size: int, ascii_only: bool, indent: int | None
):
    data = json.dumps(told, ensure_ascii=ascii_only, indent=indent).encode()
    reader = JsonText(cut(data, size))
    assert every(reader) == told
    assert reader.peek() == ""
    assert reader.line == data.count(b"\n") + 1


@given(st.binary(max_size=80), st.integers(1, 9))
def test_any_bytes_give_values_or_an_error(data: bytes, size: int):
    try:
        reader = JsonText(cut(data, size))
        while reader.peek():
            reader.value()
    except BadText:
        pass


@each_row(
    ("text", "told"),
    [
        (b'[{"a": 1}, {"a": tru}, 2]', "in line 1"),
        (b'[{"a": 1},\n[NaN]]', "NaN"),
        (b'[{"a": 1}, 1e999]', "in line 1"),
        (b'[{"a": 1}, {"b": ', "ends within the value that begins in line 1"),
        (b'[{"a": 1}, ' + b"[" * 200_000, "is nested too deeply"),
    ],
)
def test_what_precedes_damage_is_read(text: bytes, told: str):
    elements = JsonText([text]).elements()
    assert next(elements) == {"a": 1}
    with pytest.raises(BadText, match=told):
        next(elements)


def test_a_text_that_is_not_utf_8_is_not_read():
    with pytest.raises(BadText, match="is not UTF-8 text"):
        JsonText([b'[{"a": 1},\n{"b": "\xe4"}, 2]'])


def test_a_text_that_is_too_large_is_not_read():
    with pytest.raises(BadText, match="is larger than 0 MiB"):
        JsonText(cut(b"[" + b"1," * 3_000, 100), largest=2_000)
