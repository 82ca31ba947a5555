"""Requests of Ollama's chat API: what only this protocol has, read and written."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from tests.support.requests import (
    CHAT,
    GEMINI,
    OLLAMA,
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
    endpoint,
    function,
    result,
    system,
    user,
)
from tests.support.tables import each_row
from tui_chat.compose import compose
from tui_chat.context import Inputs
from tui_chat.errors import InputError
from tui_chat.models.endpoint import Endpoint
from tui_chat.models.message import Message
from tui_chat.models.preset import Preset
from tui_chat.models.text import OriginKind
from tui_chat.protocols.ollama.stream import read_reply

LLAMA = Endpoint("e", OLLAMA, "http://127.0.0.1:11434", models=("qwen3:8b",))
CAPTURED: list[dict[str, Any]] = [
    {"model": "m", "messages": [user()]},
    {"model": "m", "messages": [], "keep_alive": 0},
    {"model": "m", "messages": [user()], "stream": False, "options": {}, "tools": []},
    {
        "model": "m",
        "messages": [
            {"role": "System", "content": "S"},
            {"role": "user", "content": "look", "images": [PNG, "/9j/AA=="]},
            {
                "role": "assistant",
                "content": "",
                "thinking": "hm",
                "tool_calls": [
                    {"function": {"index": 0, "name": "f", "arguments": {"b": 1, "a": [None]}}},
                    {"id": "c2", "type": "function", "function": {"name": "g", "arguments": {}}},
                ],
            },
            {"role": "tool", "tool_name": "f", "content": "done"},
            {"role": "tool", "tool_name": "g", "tool_call_id": "c2", "content": "done too"},
            {"role": "assistant", "tool_calls": None},
            {"role": "assistant", "content": None, "images": []},
        ],
        "tools": [function("f", description="d"), function("g")],
        "think": "high",
        "format": {"type": "object"},
        "stream": True,
        "options": {"temperature": 0.5, "num_ctx": 8192, "num_predict": -1, "stop": ["a"], "x": 1},
        "keep_alive": "5m",
        "truncate": False,
        "logprobs": True,
        "vendor": {"a": 1},
    },
    {"model": "m", "messages": [user()], "format": "", "think": True, "options": {"top_k": 4}},
    {"model": "m", "messages": [user()], "format": {}, "think": None, "options": None},
]


@each_row("body", CAPTURED)
def test_a_captured_request_is_encoded_as_it_was(body: dict[str, Any]) -> None:
    assert converted(body, OLLAMA, source=OLLAMA)[0] == body


def test_a_stream_is_the_default_and_always_named_by_us() -> None:
    plain = {"model": "m", "messages": [user()]}
    assert decoded(plain, OLLAMA).parameters.stream
    assert not decoded({**plain, "stream": False}, OLLAMA).parameters.stream
    for stream in (True, False):
        assert json.loads(composed(stream=stream).payload.body)["stream"] is stream


def composed(*history: Message, draft: str = "hi", **more: Any) -> Any:
    return compose(Inputs(LLAMA, Preset("p"), history, draft, **more))


def test_the_context_limit_of_the_request_is_sent() -> None:
    assert "options" not in json.loads(composed().payload.body)
    limited = composed(context_limit=4096)
    assert json.loads(limited.payload.body)["options"] == {"num_ctx": 4096}
    origins = {
        region.piece.origin.name
        for region in limited.payload.regions()
        if region.piece.origin.kind is OriginKind.SETTING and region.piece.origin.id == "num_ctx"
    }
    assert origins == {"num_ctx: the context limit that this request was built for"}


SETTINGS = [
    ({"temperature": 0.5}, {"options": {"temperature": 0.5}}),
    ({"max_tokens": 99}, {"options": {"num_predict": 99}}),
    ({"stop": ["a", "b", "c", "d"]}, {"options": {"stop": ["a", "b", "c", "d"]}}),
    ({"seed": 7, "top_p": 0.5}, {"options": {"top_p": 0.5, "seed": 7}}),
    ({"presence_penalty": 1.5}, {"options": {"presence_penalty": 1.5}}),
    ({"reasoning_effort": "high"}, {"think": "high"}),
    ({"reasoning_effort": "none"}, {"think": False}),
    ({"response_format": {"type": "json_object"}}, {"format": "json"}),
    (
        {"response_format": {"type": "json_schema", "json_schema": {"schema": {"type": "object"}}}},
        {"format": {"type": "object"}},
    ),
]


@each_row(("settings", "sent"), SETTINGS)
def test_settings_under_their_names_and_back(
    settings: dict[str, Any], sent: dict[str, Any]
) -> None:
    request = chat(user("JSON"), **settings)
    body, notes = converted(request, OLLAMA)
    assert {key: body[key] for key in sent} == sent
    assert notes == []
    back = converted(body, CHAT, source=OLLAMA)[0]
    back["max_tokens"] = back.pop("max_completion_tokens", None)
    assert {key: back[key] for key in settings if key != "response_format"} == {
        key: value for key, value in settings.items() if key != "response_format"
    }


@pytest.mark.parametrize(("effort", "level"), [("minimal", "low"), ("xhigh", "high")])
def test_an_effort_without_a_level_becomes_the_nearest_with_a_note(effort: str, level: str) -> None:
    body, notes = converted(chat(user(), reasoning_effort=effort), OLLAMA)
    assert body["think"] == level
    assert notes == ["setting-changed"]


def test_a_choice_among_tools_cannot_be_sent() -> None:
    for choice, codes in (("required", ["setting-left-out"]), ("auto", [])):
        request = chat(user(), tools=[function()], tool_choice=choice, parallel_tool_calls=True)
        body, notes = converted(request, OLLAMA)
        assert "tool_choice" not in body
        assert notes == codes


def test_strict_is_left_out_with_a_note() -> None:
    tool = function()
    tool["function"]["strict"] = True
    body, notes = converted(chat(user(), tools=[tool]), OLLAMA)
    assert body["tools"] == [function()]
    assert notes == ["tool-extras-left-out"]


def test_calls_without_ids_are_answered_by_name_and_order() -> None:
    """In other protocols they get ids, and each result the id of its call."""
    body = {
        "model": "m",
        "messages": [
            user(),
            {
                "role": "assistant",
                "content": "",
                "tool_calls": [own_call("f", 1), own_call("g", 2)],
            },
            {"role": "tool", "tool_name": "g", "content": "G"},
            {"role": "tool", "tool_name": "f", "content": "F"},
        ],
    }
    sent, _ = converted(body, CHAT, source=OLLAMA)
    ids = [made["id"] for made in sent["messages"][1]["tool_calls"]]
    assert len(set(ids)) == 2
    assert [(m["tool_call_id"], m["content"]) for m in sent["messages"][2:]] == [
        (ids[0], "F"),
        (ids[1], "G"),
    ]


def own_call(name: str, value: int) -> dict[str, Any]:
    return {"function": {"name": name, "arguments": {"v": value}}}


def test_results_name_their_tools_and_their_calls() -> None:
    request = chat(
        user(), calls(call("1", "f", '{"a": 1}'), call("2", "g")), result("2"), result("1")
    )
    messages = converted(request, OLLAMA)[0]["messages"]
    assert messages[1]["tool_calls"] == [
        {"id": "1", "function": {"name": "f", "arguments": {"a": 1}}},
        {"id": "2", "function": {"name": "g", "arguments": {}}},
    ]
    assert messages[2:] == [
        {"role": "tool", "content": "done", "tool_name": "f", "tool_call_id": "1"},
        {"role": "tool", "content": "done", "tool_name": "g", "tool_call_id": "2"},
    ]


def test_broken_arguments_are_wrapped_with_a_note() -> None:
    body, notes = converted(chat(user(), calls(call("1", "f", "{x")), result("1")), OLLAMA)
    made = body["messages"][1]["tool_calls"][0]["function"]["arguments"]
    assert (made, notes) == ({"arguments": "{x"}, ["arguments-wrapped"])


def test_images_stand_beside_the_text() -> None:
    text = {"type": "text", "text": "w"}
    body, notes = converted(chat(user([PICTURE, text])), OLLAMA)
    assert body["messages"] == [{"role": "user", "content": "w", "images": [PNG]}]
    assert notes == []
    body, notes = converted(chat(user([text, PICTURE, text])), OLLAMA)
    assert body["messages"][0]["content"] == "w\n\nw"
    assert notes == ["order-changed"]


def test_an_image_keeps_its_type_on_the_way_to_another_protocol() -> None:
    body = {"model": "m", "messages": [{**user("w"), "images": [PNG, "R0lGODlh"]}]}
    parts = converted(body, GEMINI, source=OLLAMA)[0]["contents"][0]["parts"]
    assert [part["inlineData"]["mimeType"] for part in parts[1:]] == ["image/png", "image/gif"]


@each_row(
    "part",
    [
        {"type": "image_url", "image_url": {"url": "https://e.test/a.png"}},
        {"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}},
        {"type": "file", "file": {"file_id": "file-1"}},
    ],
)
def test_what_cannot_be_carried_is_left_out_with_a_note(part: dict[str, Any]) -> None:
    body, notes = converted(chat(user([{"type": "text", "text": "w"}, part])), OLLAMA)
    assert body["messages"] == [user("w")]
    assert notes == ["piece-left-out"]


def test_roles_stay_and_system_messages_may_stand_anywhere() -> None:
    request = chat(system("S"), user(), assistant(), system("T"), user(), user())
    body, notes = converted(request, OLLAMA)
    assert body["messages"] == request["messages"]
    assert notes == []


def thinking_reply() -> Message:
    message = {"role": "assistant", "content": "Six.", "thinking": "Half a dozen."}
    body = {"model": "m", "message": message, "done": True, "done_reason": "stop"}
    return replace(read_reply(json.dumps(body).encode()).message(OLLAMA), id="r")


def test_thinking_is_sent_back_to_ollama_only() -> None:
    history = (Message("user", "How many?", "u"), thinking_reply())
    messages = json.loads(composed(*history).payload.body)["messages"]
    assert messages[1] == {"role": "assistant", "content": "Six.", "thinking": "Half a dozen."}
    to = Endpoint("e", RESPONSES, "https://e", models=("m",))
    other = compose(Inputs(to, Preset("p"), history, "hi"))
    assert b"Half a dozen." not in other.payload.body
    assert "reasoning-left-out" in [note.code for note in other.notes]


def test_a_failed_tool_is_sent_as_its_text_alone() -> None:
    body = {
        "contents": [
            {"role": "user", "parts": [{"text": "hi"}]},
            {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}}}]},
            {
                "role": "user",
                "parts": [{"functionResponse": {"name": "f", "response": {"error": "no"}}}],
            },
        ]
    }
    sent, notes = converted(body, OLLAMA, source=GEMINI, model="m")
    assert sent["messages"][2] == {"role": "tool", "content": "no", "tool_name": "f"}
    assert notes == ["failure-left-out"]


FAULTS = [
    ({"model": "m"}, "it has no “messages”"),
    ({"messages": [{"role": "boss", "content": "x"}]}, "must be one of system, user"),
    ({"messages": [{"role": "user", "content": []}]}, "must be a text, not a list"),
    ({"messages": {}}, "must be a list"),
]


@each_row(("body", "words"), FAULTS)
def test_a_body_without_a_request_is_refused(body: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        decoded(body, OLLAMA)


def test_a_model_without_sampling_settings_gets_none() -> None:
    envelope = decoded(chat(user(), temperature=0.5), CHAT, "x")
    out = encoded(envelope, OLLAMA, endpoint(OLLAMA, "x", sampling=False))
    assert "options" not in body_of(out)
    assert [note.code for note in out.notes] == ["sampling-left-out"]
