"""What requests encode: contents and settings."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from tests.support.messages import thought
from tests.support.regions import regions
from tests.support.requests import (
    ANTHROPIC,
    CHAT,
    GEMINI,
    PICTURE,
    RESPONSES,
    assistant,
    body_of,
    call,
    calls,
    chat,
    decoded,
    encoded,
    endpoint,
    result,
    user,
)
from tests.support.tables import each_row
from tui_chat.compose import compose
from tui_chat.context import Inputs, SessionSettings
from tui_chat.models.blocks import CallBlock, MediaBlock, TextBlock
from tui_chat.models.endpoint import Endpoint, Protocol
from tui_chat.models.payload import Arr, Obj, render
from tui_chat.models.preset import Preset
from tui_chat.models.settings import ResponseFormat
from tui_chat.models.text import Origin, OriginKind

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


@pytest.mark.parametrize(("beside", "sent"), [((), False), ((CallBlock("a", "f", "{}"),), True)])
def test_plain_reasoning_is_sent_back_only_with_tool_calls(
    beside: tuple[CallBlock, ...], sent: bool
) -> None:
    reasoning = thought(CHAT, "hm", kind="reasoning_content")
    [turn] = decoded(chat(assistant("x"))).turns
    blocks = (reasoning, TextBlock("x"), *beside)
    reply = replace(turn, blocks=blocks, extras=None)
    envelope = replace(decoded(chat(user())), turns=(reply,), source=None, rest=None)
    assert ("reasoning_content" in body_of(encoded(envelope, CHAT))["messages"][0]) is sent


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
    pieces = [r.piece for r in regions(render(tree)) if r.piece.origin.kind is OriginKind.HISTORY]
    texts = {p.text: p.start for p in pieces if p.start is not None and p.origin.within is None}
    assert texts == {"first": 0, "second": 5}


A, BLANK = ({"type": "text", "text": text} for text in ("a ", " \n"))


@each_row("target", list(Protocol))
@each_row("role", ["user", "tool"])
def test_the_name_of_a_text_file_is_sent_or_noted(target: Protocol, role: str) -> None:
    document = MediaBlock("file", "text/plain", text="some text", name="notes.txt")
    as_bytes = replace(document, text="", data="c29tZSB0ZXh0")
    start = decoded(chat(user(), calls(call("c1")), result("c1"), user()))
    index = 2 if role == "tool" else 3
    for part in (document, as_bytes):
        turns = list(start.turns)
        turns[index] = replace(turns[index], blocks=(*turns[index].blocks, part), extras=None)
        envelope = replace(start, turns=tuple(turns), source=None)
        out = encoded(envelope, target)
        sentences = [note.sentence for note in out.notes if note.code == "name-left-out"]
        assert ("notes.txt" in str(body_of(out))) != any("notes.txt" in each for each in sentences)


def test_a_picture_without_its_content_is_not_called_refused() -> None:
    ours = MediaBlock("image", "image/png", file_id="file-1", name="cat.png")
    theirs = replace(ours, owner=RESPONSES)
    start = decoded(chat(user()))
    for target in Protocol:
        for part, reason in ((ours, "not stored here"), (theirs, "keeps it")):
            turn = replace(start.turns[0], blocks=(TextBlock("hi"), part), extras=None)
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
    turn = replace(start.turns[0], name="Ann Lee", extras=None)
    [note] = [n for n in encoded(replace(start, turns=(turn,)), CHAT).notes if "Ann" in n.sentence]
    assert note.sentence.startswith("OpenAI Chat accepts names of up to 64 characters")


# --- Settings on their way from one protocol to another -----------------------------------


OLLAMA = Protocol.OLLAMA
SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}}


SCHEMA = {"type": "object", "properties": {}, "additionalProperties": False}


def test_another_model_loses_the_settings_it_refuses() -> None:
    own = {"model": "claude-sonnet-4-5", "max_tokens": 9, "temperature": 1, "messages": [user()]}
    envelope = decoded(own, ANTHROPIC)
    origin = Origin(OriginKind.SETTING, "model", "--model")
    parameters = envelope.parameters.with_value("model", "claude-opus-4-8", origin)
    out = encoded(replace(envelope, parameters=parameters), ANTHROPIC)
    assert "temperature" not in body_of(out)
    assert [note.code for note in out.notes] == ["sampling-left-out"]


def test_the_endpoints_limit_needs_no_note() -> None:
    to = replace(endpoint(ANTHROPIC), max_tokens=777)
    out = encoded(decoded(chat(user()), CHAT, "claude-haiku-4-5"), ANTHROPIC, to)
    assert body_of(out)["max_tokens"] == 777
    assert out.notes == ()


def test_the_default_limit_leaves_room_for_a_long_input_and_is_no_reserve() -> None:
    to = Endpoint("e", ANTHROPIC, "https://e", models=("claude-haiku-4-5",))
    short = compose(Inputs(to, Preset("p"), draft="hi"))
    assert json.loads(short.payload.body)["max_tokens"] == 64_000
    assert short.envelope.budget is not None
    assert short.envelope.budget.reserve == 4096
    long = compose(Inputs(to, Preset("p"), draft="word " * 150_000))
    assert long.envelope.budget is not None
    limit = json.loads(long.payload.body)["max_tokens"]
    assert 0 < limit < 64_000
    assert limit + long.envelope.budget.total <= 200_000


@each_row(
    ("protocol", "form", "sent"),
    [
        (CHAT, ResponseFormat("schema", SCHEMA), {"name": "reply", "schema": SCHEMA}),
        (RESPONSES, ResponseFormat("schema", SCHEMA), {"name": "reply", "schema": SCHEMA}),
        (OLLAMA, ResponseFormat("schema", SCHEMA), SCHEMA),
        (OLLAMA, ResponseFormat("schema", {}), "json"),
        (OLLAMA, ResponseFormat("json"), "json"),
    ],
)
def test_a_schema_without_a_name_or_content(
    protocol: Protocol, form: ResponseFormat, sent: Any
) -> None:
    to = Endpoint("e", protocol, "https://e.invalid", models=("m",))
    settings = SessionSettings(response_format=form)
    body = json.loads(compose(Inputs(to, Preset("p"), draft="x", settings=settings)).payload.body)
    if protocol is OLLAMA:
        assert body["format"] == sent
    else:
        found = (
            body["response_format"]["json_schema"] if protocol is CHAT else body["text"]["format"]
        )
        assert sent.items() <= found.items()
