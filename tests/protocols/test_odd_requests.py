"""Broken requests: every body is decoded or refused with a sentence, and a decoded one encodes in
every protocol.
"""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.requests import (
    ANTHROPIC,
    CHAT,
    GEMINI,
    PICTURE,
    PNG,
    RESPONSES,
    assistant,
    call,
    calls,
    chat,
    converted,
    function,
    result,
    system,
    user,
)
from tests.support.tables import each_row
from tui_chat.errors import InputError
from tui_chat.models.endpoint import Protocol

WHOLE = chat(
    system("Be exact."),
    user([{"type": "text", "text": "w", "cache_control": {"type": "ephemeral"}}, PICTURE]),
    calls(call("a", "f", '{"x": 1}'), call("b", "g.h"), content="Looking."),
    result("b"),
    result("a", [{"type": "text", "text": "done"}]),
    assistant("Said.", reasoning_content="Thought."),
    user(),
    tools=[function("f"), function("g.h"), {"type": "custom", "custom": {"name": "c"}}],
    tool_choice="required",
    temperature=0.5,
    max_tokens=9,
    stop=["x"],
    response_format={"type": "json_schema", "json_schema": {"name": "r", "schema": {}}},
)
BODIES = {protocol: converted(WHOLE, protocol, model="m")[0] for protocol in Protocol}

WORDS = ["", "  ", "x", "a b/c", "\ud83d", "{broken", "data:x", "tool"]
OTHERS = [None, True, 0, -1, 10**30, 0.5, [], {}, [[]], [{}], [None], ["x"], {"a": None}]
ODD = st.sampled_from([*WORDS, *OTHERS, {"type": "text"}, {"type": "weird"}])


def places(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [at] if at else []
    if not isinstance(value, dict | list):
        return found
    inner = value.items() if isinstance(value, dict) else enumerate(value)
    return found + [place for key, each in inner for place in places(each, (*at, key))]


places_of = {protocol: places(body) for protocol, body in BODIES.items()}


@st.composite
def broken(draw: st.DrawFn, protocol: Protocol) -> Any:
    body = copy.deepcopy(BODIES[protocol])
    for place in draw(st.lists(st.sampled_from(places_of[protocol]), min_size=1, max_size=3)):
        holder = body
        try:
            for key in place[:-1]:
                holder = holder[key]
            match draw(st.sampled_from(["put", "drop", "double", "add"])):
                case "put":
                    holder[place[-1]] = copy.deepcopy(draw(ODD))
                case "drop":
                    del holder[place[-1]]
                case "double":
                    holder.append(copy.deepcopy(holder[place[-1]]))
                case _:
                    holder[place[-1]]["x_new"] = copy.deepcopy(draw(ODD))
        except (KeyError, IndexError, TypeError, AttributeError):
            continue  # an earlier change has taken the place away
    return body


@pytest.mark.slow
@each_row("source", list(Protocol))
@given(data=st.data())
def test_a_broken_request_is_refused_or_encodes_in_every_protocol(
    source: Protocol, data: st.DataObject
) -> None:
    body = data.draw(broken(source))
    for target in Protocol:
        try:
            sent, _ = converted(body, target, source=source)
        except InputError:
            return
        assert json.dumps(sent, ensure_ascii=False).encode()


def test_a_tool_without_a_kind_or_any_key_is_passed_on() -> None:
    body = chat(user(), tools=[{}, function()])
    assert converted(body, CHAT)[0] == body


@pytest.mark.parametrize("holder", ["function_call", "functionCall"])
def test_geminis_unknown_keys_keep_their_spelling(holder: str) -> None:
    made = {holder: {"name": "f", "args": {"a_b": 1}, "will_continue": True, "xNew": 1}}
    body = {
        "contents": [
            {"role": "user", "parts": [{"text": "hi"}]},
            {"role": "model", "parts": [made]},
            {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {}}}]},
        ]
    }
    assert converted(body, GEMINI, source=GEMINI)[0] == body


LINKS = [
    ("https://example.invalid/a.png", True),
    ("ftp://example.invalid/a.png", False),
    ("a.png", False),
    ("data:image/png;base64,!!", False),
    (f"data:image/png;base64,{PNG}", True),
]


@each_row("target", [RESPONSES, ANTHROPIC, GEMINI])
@each_row(("url", "sent"), LINKS)
def test_only_reachable_images_are_sent(target: Protocol, url: str, sent: bool) -> None:
    body = chat(user([{"type": "image_url", "image_url": {"url": url}}, "w"]))
    converted_body, notes = converted(body, target)
    assert (
        (PNG in json.dumps(converted_body)) or ("example.invalid" in json.dumps(converted_body))
    ) is sent
    assert ("piece-left-out" in notes) is not sent
    assert (
        converted(body, CHAT)[0]["messages"][0]["content"][0] == body["messages"][0]["content"][0]
    )


def test_url_safe_base64_is_converted_and_googles_files_stay_there() -> None:
    def with_part(**part: Any) -> dict[str, Any]:
        return {"contents": [{"role": "user", "parts": [part, {"text": "w"}]}]}

    safe = with_part(inlineData={"mimeType": "image/png", "data": "_-8"})
    sent, _ = converted(safe, ANTHROPIC, source=GEMINI, model="m")
    assert sent["messages"][0]["content"][0]["source"]["data"] == "/+8="
    kept = with_part(fileData={"mimeType": "image/png", "fileUri": "gs://bucket/a.png"})
    for target in (CHAT, RESPONSES, ANTHROPIC):
        sent, notes = converted(kept, target, source=GEMINI, model="m")
        assert "gs://" not in json.dumps(sent)
        assert "piece-left-out" in notes
    assert converted(kept, GEMINI, source=GEMINI)[0] == kept


def test_a_text_document_is_text_for_anthropic() -> None:
    file = {"file_data": "data:text/plain;base64,aGk=", "filename": "a.txt"}
    sent, _ = converted(chat(user([{"type": "file", "file": file}])), ANTHROPIC)
    assert sent["messages"][0]["content"][0] == {
        "type": "document",
        "source": {"type": "text", "media_type": "text/plain", "data": "hi"},
        "title": "a.txt",
    }


@each_row("target", [RESPONSES, ANTHROPIC, GEMINI])
def test_invalid_settings_are_left_out_with_a_note(target: Protocol) -> None:
    sent, notes = converted(chat(user(), max_tokens=-3, reasoning_effort="zany"), target)
    assert "zany" not in json.dumps(sent)
    assert "-3" not in json.dumps(sent)
    assert notes.count("setting-left-out") == 2


def test_calls_in_user_messages_stay_in_their_protocol() -> None:
    gemini = {"contents": [{"role": "user", "parts": [{"functionCall": {"name": "f"}}]}]}
    block = {"type": "tool_use", "id": "a", "name": "f", "input": {}}
    anthropic = {"model": "m", "max_tokens": 1, "messages": [user([block])]}
    for source, body in ((GEMINI, gemini), (ANTHROPIC, anthropic)):
        assert converted(body, source, source=source)[0] == body
        sent, notes = converted(body, CHAT, source=source, model="m")
        assert "tool_calls" not in json.dumps(sent)
        assert "piece-left-out" in notes
