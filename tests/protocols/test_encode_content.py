"""What messages hold: text, blank text, pictures and files, reasoning, refusals, names."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.support.requests import (
    ANTHROPIC,
    CHAT,
    GEMINI,
    LINK,
    PICTURE,
    PNG,
    RESPONSES,
    assistant,
    body_of,
    call,
    calls,
    chat,
    converted,
    decoded,
    encoded,
    result,
    user,
)
from tests.support.tables import each_row
from tui_chat.models.endpoint import Protocol
from tui_chat.models.json_tree import Arr, Obj
from tui_chat.models.message import Part, ToolCall
from tui_chat.models.payload import render
from tui_chat.models.semantics import (
    NO_MESSAGE_SEMANTICS,
    MessageSemantics,
    ReasoningBlock,
    Semantics,
)
from tui_chat.models.text import OriginKind


def test_blocks_stay_blocks_and_strings_stay_strings() -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    request = chat(user("x"), user(parts))
    assert converted(request, RESPONSES)[0]["input"] == [
        {"role": "user", "content": "x"},
        {
            "role": "user",
            "content": [{"type": "input_text", "text": "a"}, {"type": "input_text", "text": "b"}],
        },
    ]
    assert converted(request, ANTHROPIC)[0]["messages"] == request["messages"]
    assert converted(request, GEMINI)[0]["contents"][1]["parts"] == [{"text": "a"}, {"text": "b"}]


MEDIA: list[tuple[Protocol, Any, Any]] = [
    (
        RESPONSES,
        {"type": "input_image", "image_url": f"data:image/png;base64,{PNG}"},
        {"type": "input_image", "image_url": "https://example.invalid/pic.png"},
    ),
    (
        ANTHROPIC,
        {
            "type": "image",
            "source": {"type": "base64", "media_type": "image/png", "data": PNG},
        },
        {"type": "image", "source": {"type": "url", "url": "https://example.invalid/pic.png"}},
    ),
    (
        GEMINI,
        {"inlineData": {"mimeType": "image/png", "data": PNG}},
        {"fileData": {"mimeType": "image/png", "fileUri": "https://example.invalid/pic.png"}},
    ),
]


@each_row(("target", "bytes_", "link"), MEDIA)
def test_pictures_in_every_protocol(target: Protocol, bytes_: Any, link: Any) -> None:
    body, notes = converted(chat(user([PICTURE, {"type": "text", "text": "t"}, LINK])), target)
    turns = body.get("messages") or body.get("input") or body.get("contents")
    parts = turns[0].get("content") or turns[0]["parts"]
    assert [parts[0], parts[2]] == [bytes_, link]
    assert notes == []


def test_what_a_protocol_cannot_show_is_noted() -> None:
    sound = {"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}}
    request = chat(user([{"type": "text", "text": "listen"}, sound]))
    body, notes = converted(request, ANTHROPIC)
    assert body["messages"] == [user("listen")]
    assert notes == ["piece-left-out"]
    assert converted(request, GEMINI)[0]["contents"][0]["parts"][1] == {
        "inlineData": {"mimeType": "audio/wav", "data": "UklGRg=="}
    }


def test_blank_text_beside_a_picture_is_left_out_with_a_note() -> None:
    picture = {"type": "image_url", "image_url": {"url": "https://example.invalid/a.png"}}
    for blank in (" \n", "\x1f"):
        request = chat(user([{"type": "text", "text": blank}, picture]))
        out = encoded(decoded(request, CHAT), ANTHROPIC)
        assert [block["type"] for block in body_of(out)["messages"][0]["content"]] == ["image"]
        assert "blank-text-left-out" in [note.code for note in out.notes]


BLANK: list[tuple[str, list[dict[str, Any]], list[tuple[str, str]], list[str]]] = [
    (
        "in the middle",
        [user("a"), assistant(""), user("b")],
        [("user", "a"), ("user", "b")],
        ["blank-left-out"],
    ),
    (
        "at the end",
        [user("a"), assistant("b"), user(" \n")],
        [("user", "a"), ("assistant", "b"), ("user", ".")],
        ["blank-left-out", "filler-added"],
    ),
    ("alone", [user("")], [("user", ".")], ["blank-left-out", "filler-added"]),
    ("a tail", [user("a"), assistant("b \n")], [("user", "a"), ("assistant", "b")], []),
]


@each_row(("messages", "expected", "expected_notes"), [b[1:] for b in BLANK])
def test_blank_text_for_anthropic(
    messages: list[dict[str, Any]], expected: list[tuple[str, str]], expected_notes: list[str]
) -> None:
    body, notes = converted(chat(*messages), ANTHROPIC)
    assert [(m["role"], m["content"]) for m in body["messages"]] == expected
    assert notes == expected_notes


@each_row("target", [CHAT, RESPONSES, GEMINI])
def test_blank_text_is_fine_elsewhere(target: Protocol) -> None:
    assert converted(chat(user(""), assistant(" "), user("b")), target)[1] == []


def test_a_final_assistant_turn_is_answered_where_the_model_takes_no_prefill() -> None:
    request = chat(user(), assistant("{"))
    assert converted(request, ANTHROPIC, model="claude-haiku-4-5")[0]["messages"] == [
        user(),
        assistant("{"),
    ]
    body, notes = converted(request, ANTHROPIC, model="claude-opus-4-8")
    assert body["messages"][2] == user(".")
    assert notes == ["filler-added"]


SIGNED = {"type": "thinking", "thinking": "hm", "signature": "U0lH"}
THINKING = {
    "model": "m",
    "max_tokens": 99,
    "messages": [user(), assistant([SIGNED, {"type": "text", "text": "x"}]), user()],
}


def test_reasoning_is_sent_back_only_to_its_protocol() -> None:
    assert converted(THINKING, ANTHROPIC, source=ANTHROPIC)[0] == THINKING
    for target in (CHAT, RESPONSES, GEMINI):
        body, notes = converted(THINKING, target, source=ANTHROPIC)
        assert "hm" not in str(body)
        assert notes == ["reasoning-left-out"]


@pytest.mark.parametrize(("beside", "sent"), [((), False), ((ToolCall("a", "f", "{}"),), True)])
def test_plain_reasoning_is_sent_back_only_with_tool_calls(
    beside: tuple[ToolCall, ...], sent: bool
) -> None:
    thought = ReasoningBlock(CHAT, "hm", kind="reasoning_content")
    [turn] = decoded(chat(assistant("x"))).turns
    reply = replace(turn, tool_calls=beside, semantics=MessageSemantics((thought,)))
    envelope = replace(decoded(chat(user())), turns=(reply,), semantics=Semantics())
    assert ("reasoning_content" in body_of(encoded(envelope, CHAT))["messages"][0]) is sent


def test_litellms_thinking_blocks_are_anthropics_own() -> None:
    request = chat(user(), assistant("x", reasoning_content="hm", thinking_blocks=[SIGNED]), user())
    body, _ = converted(request, ANTHROPIC)
    assert body["messages"][1]["content"][0] == SIGNED
    assert converted(request, CHAT)[0] == request


def test_thinking_that_was_never_signed_is_left_out() -> None:
    block = {"type": "thinking", "thinking": "hm", "signature": ""}
    body, notes = converted(
        chat(user(), assistant("x", thinking_blocks=[block]), user()), ANTHROPIC
    )
    assert body["messages"][1] == assistant("x")
    assert "reasoning-left-out" in notes or "extras-left-out" in notes


def test_a_signature_stays_on_the_part_it_came_with() -> None:
    body = {
        "contents": [
            {"role": "user", "parts": [{"text": "hi"}]},
            {
                "role": "model",
                "parts": [
                    {"text": "thought", "thought": True},
                    {"text": "a", "thoughtSignature": "UzE="},
                    {"text": "", "thoughtSignature": "UzI="},
                ],
            },
        ]
    }
    assert converted(body, GEMINI, source=GEMINI)[0] == body
    assert converted(body, CHAT, source=GEMINI)[0]["messages"][1] == assistant("a")


@each_row("target", [RESPONSES, ANTHROPIC, GEMINI])
def test_a_refusal_is_sent_back_as_text(target: Protocol) -> None:
    body, _ = converted(chat(user(), assistant(None, refusal="NO"), user()), target)
    assert "NO" in str(body)


def test_speakers_names_are_kept_or_noted() -> None:
    request = chat({**user(), "name": "alice"})
    assert converted(request, CHAT)[0] == request
    for target in (RESPONSES, ANTHROPIC, GEMINI):
        assert converted(request, target)[1] == ["name-left-out"]


def test_half_a_surrogate_pair_is_replaced_with_a_note() -> None:
    envelope = decoded(chat(user("a\ud83db")))
    assert envelope.turns[0].text.plain == "a\ufffdb"
    assert [note.code for note in envelope.notes] == ["surrogate-replaced"]


def test_unknown_keys_stay_in_their_protocol_with_a_note() -> None:
    part = {"type": "text", "text": "x", "x_part": 1}
    request = chat({**user([part]), "x_message": {"a": None}}, x_top=[1])
    body, notes = converted(request, CHAT)
    assert body == request
    assert notes == ["unknown-keys"]
    body, notes = converted(request, ANTHROPIC)
    assert not any(key in str(body) for key in ("x_part", "x_message", "x_top"))
    assert sorted(notes) == ["extras-left-out", "extras-left-out", "setting-left-out"]


def test_a_server_that_refuses_unknown_keys_gets_none() -> None:
    word = {"type": "text", "text": "w"}
    marked = {**word, "cache_control": {"type": "ephemeral"}, "x_part": 1}
    body = chat(
        {**user([marked, word]), "x_message": {}},
        assistant("s", reasoning_content="r", refusal=None),
        user(),
        x_top=[1],
        tools=[],
        user="u",
    )
    sent, notes = converted(body, CHAT, strict_keys=True)
    assert sent == chat(user([word, word]), assistant("s", refusal=None), user(), user="u")
    assert sorted(notes) == ["tools-empty", "unknown-keys"]
    assert converted(body, CHAT)[0] == body
    assert converted(body, CHAT, strict_keys=False)[1] == ["tools-empty"]


def test_cache_marks_are_sent_where_they_exist() -> None:
    mark = {"cache_control": {"type": "ephemeral"}}
    request = chat(user([{"type": "text", "text": "x", **mark}]))
    body, notes = converted(request, ANTHROPIC)
    assert body["messages"][0]["content"] == [{"type": "text", "text": "x", **mark}]
    assert notes == []
    assert converted(request, GEMINI)[0]["contents"][0]["parts"] == [{"text": "x"}]


def test_of_more_than_four_cache_marks_the_last_four_are_sent() -> None:
    block = {"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}
    body, _ = converted(chat(*[user([block, block])] * 3), ANTHROPIC)
    marks = ["cache_control" in b for m in body["messages"] for b in m["content"]]
    assert marks == [False, False, True, True, True, True]


@each_row("target", list(Protocol))
def test_a_keystroke_encodes_one_turn(target: Protocol) -> None:
    long = decoded(chat(*[user(f"{n}") if n % 2 else assistant(f"{n}") for n in range(400)]))
    one, two = (
        encoded(replace(long, turns=(*long.turns, *decoded(chat(user(draft))).turns)), target)
        for draft in ("d", "dr")
    )
    key = {RESPONSES: "input", GEMINI: "contents"}.get(target, "messages")
    first, second = one.tree.get(key), two.tree.get(key)
    assert isinstance(first, Arr)
    assert isinstance(second, Arr)
    assert all(a is b for a, b in zip(first.items[:-1], second.items[:-1], strict=True))


@each_row("target", list(Protocol))
def test_every_character_of_a_message_keeps_its_origin(target: Protocol) -> None:
    parts = [{"type": "text", "text": "first"}, PICTURE, {"type": "text", "text": "second"}]
    tree = encoded(decoded(chat(user(parts))), target).tree
    assert isinstance(tree, Obj)
    pieces = [r.piece for r in render(tree).regions() if r.piece.origin.kind is OriginKind.HISTORY]
    texts = {p.text: p.start for p in pieces if p.start is not None and p.origin.within is None}
    assert texts == {"first": 0, "second": 5}


A, BLANK = ({"type": "text", "text": text} for text in ("a ", " \n"))
B = {"type": "refusal", "refusal": "b "}
FINAL_SPACE: list[tuple[dict[str, Any], Any]] = [
    (assistant("Sure: \n"), "Sure:"),
    (assistant("I ", refusal="cannot do that.\n\n"), ["I ", "cannot do that."]),
    (assistant(None, refusal="No. "), "No."),
    (assistant([A, B]), ["a ", "b"]),
    (assistant([B, A]), ["b ", "a"]),
    (assistant([A, BLANK]), "a"),
    (assistant("a ", refusal=" \n"), "a"),
    (assistant([A, {"type": "video", "video": {}}]), "a"),
]


@each_row(("last", "expected"), FINAL_SPACE)
def test_no_white_space_ends_a_final_assistant_message(last: dict[str, Any], expected: Any) -> None:
    """Anthropic answers 400 to it, wherever the text came from: content, refusal or a part."""
    envelope = decoded(chat(user(), last), CHAT, "claude-sonnet-4-5")
    out = encoded(envelope, ANTHROPIC)
    content = body_of(out)["messages"][-1]["content"]
    final_text = content if isinstance(content, str) else [block["text"] for block in content]
    assert final_text in (expected, [expected])
    assert "space-cut" in {note.code for note in out.notes}


def test_a_blank_refusal_is_no_text_block() -> None:
    body, _ = converted(chat(user(), assistant("a", refusal=" "), user()), ANTHROPIC)
    assert body["messages"][1]["content"] == "a"


def test_space_stays_where_the_final_message_does_not_end_in_it() -> None:
    envelope = decoded(chat(user(), assistant("a "), user()), CHAT, "claude-sonnet-4-5")
    assert body_of(encoded(envelope, ANTHROPIC))["messages"][1]["content"] == "a "


@each_row("target", list(Protocol))
@each_row("role", ["user", "tool"])
def test_the_name_of_a_text_file_is_sent_or_noted(target: Protocol, role: str) -> None:
    document = Part("file", "text/plain", text="some text", name="notes.txt")
    as_bytes = replace(document, text="", data="c29tZSB0ZXh0")
    start = decoded(chat(user(), calls(call("c1")), result("c1"), user()))
    index = 2 if role == "tool" else 3
    for part in (document, as_bytes):
        turns = list(start.turns)
        turns[index] = replace(turns[index], parts=(part,), semantics=NO_MESSAGE_SEMANTICS)
        envelope = replace(
            start, turns=tuple(turns), semantics=replace(start.semantics, source=None)
        )
        out = encoded(envelope, target)
        sentences = [note.sentence for note in out.notes if note.code == "name-left-out"]
        assert ("notes.txt" in str(body_of(out))) != any("notes.txt" in each for each in sentences)


def test_a_picture_without_its_content_is_not_called_refused() -> None:
    ours = Part("image", "image/png", file_id="file-1", name="cat.png")
    theirs = replace(ours, protocol=RESPONSES)
    start = decoded(chat(user()))
    for target in Protocol:
        for part, reason in ((ours, "not stored here"), (theirs, "keeps it")):
            turn = replace(start.turns[0], parts=(part,), semantics=NO_MESSAGE_SEMANTICS)
            out = encoded(replace(start, turns=(turn,)), target)
            notes = [note.sentence for note in out.notes if note.code == "piece-left-out"]
            if not notes:
                assert "file-1" in str(body_of(out))
                assert target in (RESPONSES, CHAT)
            else:
                assert reason in notes[0]
                assert "cat.png" in notes[0]


def test_a_name_that_openai_refuses_is_left_out_for_that_reason() -> None:
    start = decoded(chat(user()))
    turn = replace(start.turns[0], name="Ann Lee", semantics=NO_MESSAGE_SEMANTICS)
    [note] = [n for n in encoded(replace(start, turns=(turn,)), CHAT).notes if "Ann" in n.sentence]
    assert note.sentence.startswith("OpenAI Chat accepts names of up to 64 characters")
