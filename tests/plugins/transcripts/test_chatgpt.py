"""ChatGPT's conversations.json."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.exports import chatgpt, node
from tests.support.reading import only, read, said, shown
from tui_chat.interop.readable_parts import siblings
from tui_chat.models.message import Part
from tui_chat.plugins.transcripts import chatgpt as reader


def test_a_conversation_with_a_regenerated_reply_and_an_edited_question():
    told = chatgpt(
        node("root", None, children=("sys",)),
        node("sys", "root", "system", "", children=("q1", "q1b")),
        node("q1", "sys", "user", "Where to?", children=("a1",)),
        node("a1", "q1", "assistant", "North.", metadata={"model_slug": "gpt-4"}),
        # Written before its sibling, named after it.
        node("a3", "q1b", "assistant", "East."),
        node("q1b", "sys", "user", "Where to, now?", children=("a2", "a3")),
        node("a2", "q1b", "assistant", "South."),
        current="a2",
    )
    transcript = only([told])
    assert said(transcript) == [("user", "Where to, now?"), ("assistant", "South.")]
    tree = siblings(transcript)
    assert [each.message.content for each in tree[None]] == ["Where to?", "Where to, now?"]
    second = tree[None][1].message.id
    assert [each.message.content for each in tree[second]] == ["South.", "East."]
    assert [each.model for each in transcript.entries] == ["", "gpt-4", "", "gpt-4o", "gpt-4o"]
    session = transcript.session
    assert (session.title, session.created, session.updated) == (
        "A walk",
        1_700_000_000.0,
        1_700_000_100.0,
    )
    assert not session.archived


def test_a_long_conversation_is_no_deeper_than_a_short_one():
    many = 5_000
    nodes = [node("n0", None, "user", "0")]
    nodes += [node(f"n{n}", f"n{n - 1}", "user", str(n)) for n in range(1, many)]
    assert said(only([chatgpt(*nodes)]))[-1] == ("user", str(many - 1))


def test_thoughts_become_the_reasoning_of_the_reply():
    thoughts = {
        "content_type": "thoughts",
        "thoughts": [
            {"summary": "Maps", "content": "North is up."},
            {"summary": "", "content": ""},
        ],
    }
    recap = {"content_type": "reasoning_recap", "content": "Thought for 4s"}
    told = chatgpt(
        node("q", None, "user", "Where?"),
        node("t", "q", "assistant", content=thoughts),
        node("r", "t", "assistant", content=recap),
        node("a", "r", "assistant", "North."),
    )
    [_, reply] = shown(only([told]))
    assert reply.content == "North."
    [block] = reply.semantics.reasoning
    assert block.text == "**Maps**\n\nNorth is up."


def test_thoughts_without_a_reply_are_kept():
    thoughts = {"content_type": "thoughts", "thoughts": [{"content": "Hm."}]}
    told = chatgpt(node("q", None, "user", "Where?"), node("t", "q", "assistant", content=thoughts))
    transcript = only([told])
    assert transcript.entries[-1].status == "stopped"
    assert shown(transcript)[-1].semantics.reasoning[0].text == "Hm."


def test_a_tool_call_and_its_result():
    told = chatgpt(
        node("q", None, "user", "Count."),
        node(
            *("c", "q", "assistant"),
            content={"content_type": "code", "language": "python", "text": "print(1)"},
            recipient="python",
        ),
        node(
            *("o", "c", "tool"),
            content={"content_type": "execution_output", "text": "1"},
            name="python",
        ),
        node("a", "o", "assistant", "One."),
    )
    [_, call, result, reply] = shown(only([told]))
    [asked] = call.tool_calls
    assert (call.content, asked.name, json.loads(asked.arguments)) == (
        "",
        "python",
        {"input": "print(1)"},
    )
    assert (result.role, result.content, result.tool_call_id) == ("tool", "1", asked.id)
    assert reply.content == "One."


def test_arguments_that_are_json_stay_as_they_are():
    content = {"content_type": "code", "language": "json", "text": '{"q": "x"}'}
    told = chatgpt(node("c", None, "assistant", content=content, recipient="browser.search"))
    assert shown(only([told]))[0].tool_calls[0].arguments == '{"q": "x"}'


def test_code_for_the_reader_is_fenced():
    content = {"content_type": "code", "language": "python", "text": "x = 1"}
    told = chatgpt(node("c", None, "assistant", content=content))
    assert shown(only([told]))[0].content == "```python\nx = 1\n```"


def test_images_are_named_and_noted():
    picture = {"content_type": "image_asset_pointer", "asset_pointer": "sediment://file_1"}
    voice = {
        "content_type": "real_time_user_audio_video_asset_pointer",
        "audio_asset_pointer": {
            "content_type": "audio_asset_pointer",
            "asset_pointer": "sediment://file_2",
        },
    }
    heard = {"content_type": "audio_transcription", "text": "Look."}
    attachments = [
        {"id": "file_1", "name": "cat.png", "mime_type": "image/png"},
        {"id": "file_3", "name": "notes.pdf", "mime_type": "application/pdf"},
    ]
    told = chatgpt(
        node(
            *("q", None, "user"),
            content={
                "content_type": "multimodal_text",
                "parts": [picture, voice, heard, "What is it?"],
            },
            metadata={"attachments": attachments},
        )
    )
    [found] = read([told])
    assert found.transcript is not None
    [message] = shown(found.transcript)
    assert message.content == "Look.\nWhat is it?"
    assert message.parts == (
        Part("image", file_id="sediment://file_1"),
        Part("audio", file_id="sediment://file_2"),
        Part("file", "application/pdf", file_id="file_3", name="notes.pdf"),
    )
    assert found.notes == (reader.MISSING_FILE,) * 3


def test_custom_instructions_are_a_system_message_and_other_hidden_messages_are_noted():
    hidden = {"is_visually_hidden_from_conversation": True}
    told = chatgpt(
        node(
            *("i", None, "user"),
            content={
                "content_type": "user_editable_context",
                "user_profile": "I walk.",
                "user_instructions": "Be short.",
            },
            metadata=hidden,
        ),
        node("h", "i", "system", "Secret of the house.", metadata=hidden),
        node("q", "h", "user", "Hi"),
    )
    [found] = read([told])
    assert found.transcript is not None
    assert said(found.transcript) == [("system", "I walk.\n\nBe short."), ("user", "Hi")]
    assert found.notes == (reader.HIDDEN,)


def test_citations_are_replaced_by_their_sources():
    mark, lost = "\ue200cite\ue202turn0search0\ue201", "\ue200cite\ue202turn0search9\ue201"
    reference = {"matched_text": mark, "alt": "([Maps](https://example.org))"}
    told = chatgpt(
        node(
            *("a", None, "assistant", f"North {mark}.{lost}"),
            metadata={"content_references": [reference]},
        )
    )
    assert shown(only([told]))[0].content == "North ([Maps](https://example.org))."


def test_the_model_is_the_last_one_on_the_active_branch():
    def model_of(current: str, **facts: Any) -> str:
        nodes = [
            node("q", None, "user", "Hi"),
            node("a", "q", "assistant", "A", metadata={"model_slug": "gpt-4"}),
            node("b", "q", "assistant", "B", metadata={"model_slug": "o3"}),
            node("q2", "a", "user", "More"),
        ]
        return only(chatgpt(*nodes, current=current, **facts)).session.model

    assert (model_of("q2"), model_of("b"), model_of("nowhere")) == ("gpt-4", "o3", "o3")
    assert model_of("q", default_model_slug="auto") == "auto"


def test_the_head_is_the_last_message_before_the_current_node():
    told = chatgpt(
        node("q", None, "user", "Hi"), node("empty", "q", "assistant", ""), current="empty"
    )
    assert said(only([told])) == [("user", "Hi")]


@pytest.mark.parametrize(
    ("mapping", "place"),
    [({"a": node("a", "b", "user", "x"), "b": node("b", "a", "user", "y")}, "$[0].mapping")],
)
def test_a_tree_without_a_first_message_is_refused(mapping: dict[str, Any], place: str):
    [found] = read([chatgpt(node("a", None), mapping=mapping)])
    assert (found.transcript, found.place) == (None, place)
    assert found.fault == "has no first message"


def test_a_ring_beside_the_tree_is_noted():
    told = chatgpt(
        node("q", None, "user", "Hi"), node("a", "b", "user", "x"), node("b", "a", "user", "y")
    )
    [found] = read([told])
    assert found.notes == (reader.DETACHED,) * 2


def test_invalid_messages_are_noted():
    nodes = {
        "q": node("q", None, "user", "Hi"),
        "x": 17,
        "y": {"parent": "q", "message": "lost"},
        "root": node("root", None),
    }
    [found] = read([chatgpt(node("q", None), mapping=nodes)])
    assert found.notes == (reader.INVALID,) * 2
    assert found.transcript is not None
    assert [entry.message.content for entry in found.transcript.entries] == ["Hi"]


def test_ids_are_stable_when_a_conversation_grows():
    nodes = [node("q", None, "user", "Hi"), node("a", "q", "assistant", "Hello")]
    before = only([chatgpt(*nodes)])
    after = only([chatgpt(*nodes, node("q2", "a", "user", "More"))])
    assert only([chatgpt(*nodes)]) == before
    assert after.entries[:2] == before.entries
    assert after.session.session_id == before.session.session_id


def test_a_single_conversation_and_json_lines():
    told = chatgpt(node("q", None, "user", "Hi"))
    assert said(only(told)) == [("user", "Hi")]
    both = json.dumps(told).encode() + b"\n" + json.dumps(told | {"id": "2"}).encode()
    assert [each.place for each in read(both)] == ["line 1", "line 2"]


@pytest.mark.parametrize(
    "mapping",
    [
        {"x": 5},
        {"x": None, "y": "text", "z": [1]},
        {"x": {"message": 5, "parent": None}},
        {"x": {"message": {"author": "me", "content": "hi"}}},
        {"x": {"message": {"author": {"role": "robot"}, "content": {"parts": ["hi"]}}}},
        {"a": {"parent": "b"}, "b": {"parent": "a"}},
        {"a": {"parent": "a", "message": {"author": {"role": "user"}}}},
        {"root": {}, "a": {"parent": "b", "message": 1}, "b": {"parent": "a", "message": 2}},
    ],
)
def test_a_conversation_without_readable_messages_is_an_error(mapping: dict[str, Any]):
    [found] = read([{"title": "Broken", "mapping": mapping}])
    assert found.transcript is None
    assert found.fault
    assert found.place.startswith("$[0]")


@pytest.mark.parametrize("mapping", [{}, {"root": {"message": None, "parent": None}}])
def test_a_conversation_without_messages_is_ignored(mapping: dict[str, Any]):
    [found] = read([{"title": "New chat", "mapping": mapping}])
    assert (found.transcript, found.fault, found.ignored) == (None, "", True)


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
