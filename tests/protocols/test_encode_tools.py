"""Tool calls and results, tool names and choices, in every protocol."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.requests import (
    ANTHROPIC,
    CHAT,
    GEMINI,
    OLLAMA,
    PICTURE,
    PNG,
    RESPONSES,
    assistant,
    call,
    calls,
    chat,
    converted,
    decoded,
    encoded,
    function,
    result,
    user,
)
from tests.support.tables import each_row
from tui_chat.models.endpoint import Protocol
from tui_chat.models.message import Message, ToolCall
from tui_chat.protocols.common.tools import restore_names

Story = list[tuple[str, ...]]


def story(body: Any, protocol: Protocol) -> Story:
    """Tell a body as speech, calls and results, whatever the protocol."""
    match protocol:
        case Protocol.OPENAI_CHAT:
            return [line for message in body["messages"] for line in _chat(message)]
        case Protocol.OPENAI_RESPONSES:
            return [_item(item) for item in body["input"]]
        case Protocol.ANTHROPIC:
            return [line for message in body["messages"] for line in _blocks(message)]
        case Protocol.GEMINI:
            return [line for content in body["contents"] for line in _parts(content)]
        case Protocol.OLLAMA:
            return [line for message in body["messages"] for line in _ollama(message)]


def _chat(message: dict[str, Any]) -> Story:
    if message["role"] == "tool":
        return [("result", message["tool_call_id"], message["content"])]
    words = [(message["role"], message["content"])] if message["content"] else []
    wanted = message.get("tool_calls", [])
    return [*words, *(("call", c["id"], c["function"]["name"]) for c in wanted)]


def _ollama(message: dict[str, Any]) -> Story:
    if message["role"] == "tool":
        return [("result", message.get("tool_call_id", ""), message["content"])]
    return _chat(message)


def _item(item: dict[str, Any]) -> tuple[str, ...]:
    match item.get("type"):
        case "function_call":
            return ("call", item["call_id"], item["name"])
        case "function_call_output":
            return ("result", item["call_id"], item["output"])
        case _:
            return (item["role"], item["content"])


def _blocks(message: dict[str, Any]) -> Story:
    if isinstance(message["content"], str):
        return [(message["role"], message["content"])]
    found: Story = []
    for block in message["content"]:
        match block["type"]:
            case "tool_use":
                found.append(("call", block["id"], block["name"]))
            case "tool_result":
                found.append(("result", block["tool_use_id"], block.get("content", "")))
            case _:
                found.append((message["role"], block["text"]))
    return found


def _parts(content: dict[str, Any]) -> Story:
    found: Story = []
    for part in content["parts"]:
        if called := part.get("functionCall"):
            found.append(("call", called.get("id", ""), called["name"]))
        elif answer := part.get("functionResponse"):
            found.append(("result", answer.get("id", ""), answer["response"]["output"]))
        else:
            role = "assistant" if content["role"] == "model" else content["role"]
            found.append((role, part["text"]))
    return found


HI = ("user", "hi")
SOUND: Story = [
    HI,
    ("call", "a", "f"),
    ("call", "b", "f"),
    ("result", "a", "A"),
    ("result", "b", "B"),
    ("user", "on"),
]
TWO = calls(call("a"), call("b"))
ON = user("on")
A, B = result("a", "A"), result("b", "B")

STORIES: list[tuple[str, list[dict[str, Any]], Story, list[str]]] = [
    ("in order", [user(), TWO, A, B, ON], SOUND, []),
    ("out of order", [user(), TWO, B, A, ON], SOUND, []),
    ("split by a user", [user(), TWO, A, ON, B], SOUND, ["result-moved"]),
    (
        "one missing",
        [user(), TWO, A, ON],
        [*SOUND[:4], ("result", "b", ""), ("user", "on")],
        ["result-missing"],
    ),
    (
        "missing at the end",
        [user(), calls(call("a"))],
        [HI, ("call", "a", "f"), ("result", "a", "")],
        ["result-missing"],
    ),
    ("an orphan", [user(), A, ON], [HI, ("user", "A"), ("user", "on")], ["result-without-call"]),
    (
        "answered twice",
        [user(), calls(call("a")), A, result("a", "again"), ON],
        [HI, ("call", "a", "f"), ("result", "a", "A"), ("user", "again"), ("user", "on")],
        ["result-without-call"],
    ),
    (
        "text beside a call",
        [user(), calls(call("a"), content="look"), A],
        [HI, ("assistant", "look"), ("call", "a", "f"), ("result", "a", "A")],
        [],
    ),
    (
        "two calling turns in a row",
        [user(), calls(call("a")), calls(call("b")), A, B],
        [HI, ("call", "a", "f"), ("result", "a", "A"), ("call", "b", "f"), ("result", "b", "B")],
        ["result-moved"],
    ),
]


@each_row("target", list(Protocol))
@each_row(
    ("messages", "expected", "expected_notes"),
    [s[1:] for s in STORIES],
    ids=[s[0] for s in STORIES],
)
def test_calls_and_results(
    messages: list[dict[str, Any]], expected: Story, expected_notes: list[str], target: Protocol
) -> None:
    body, notes = converted(chat(*messages), target)
    if target is CHAT and messages == [user(), TWO, B, A, ON]:
        expected = [*SOUND[:3], SOUND[4], SOUND[3], SOUND[5]]  # valid as it was, so it stays
    assert story(body, target) == expected
    assert sorted(set(notes)) == expected_notes


@pytest.mark.parametrize("target", [ANTHROPIC, RESPONSES])
def test_ids_are_made_unique_where_required(target: Protocol) -> None:
    again = [calls(call("a")), result("a", "1"), calls(call("a")), result("a", "2")]
    body, _ = converted(chat(user(), *again), target)
    assert story(body, target)[1:] == [
        ("call", "a", "f"),
        ("result", "a", "1"),
        ("call", "a_2", "f"),
        ("result", "a_2", "2"),
    ]


def test_ids_of_forbidden_characters_are_changed_on_both_sides() -> None:
    body, _ = converted(chat(user(), calls(call("c:1|x")), result("c:1|x")), ANTHROPIC)
    assert story(body, ANTHROPIC)[1:] == [("call", "c_1_x", "f"), ("result", "c_1_x", "done")]


def test_calls_without_ids_are_paired_by_name_and_order_and_given_some() -> None:
    parts = [{"functionCall": {"name": n, "args": {}}} for n in ("f", "g", "f")]
    answers = [
        {"functionResponse": {"name": n, "response": {"output": o}}}
        for n, o in (("g", "G"), ("f", "F1"), ("f", "F2"))
    ]
    body = {
        "contents": [
            {"role": "user", "parts": [{"text": "hi"}]},
            {"role": "model", "parts": parts},
            {"role": "user", "parts": answers},
        ]
    }
    back, _ = converted(body, GEMINI, source=GEMINI)
    assert back == body
    sent, _ = converted(body, CHAT, source=GEMINI)
    results = {line[1]: line[2] for line in story(sent, CHAT) if line[0] == "result"}
    names = {line[1]: line[2] for line in story(sent, CHAT) if line[0] == "call"}
    assert [(names[key], results[key]) for key in names] == [("f", "F1"), ("g", "G"), ("f", "F2")]


ARGUMENTS = [
    ('{"a": 1}', {"a": 1}, False),
    ("", {}, False),
    ("{broken", {"arguments": "{broken"}, True),
    ("[1]", {"arguments": "[1]"}, True),
    ('{"a": NaN}', {"arguments": '{"a": NaN}'}, True),
]


@each_row(("arguments", "expected", "has_note"), ARGUMENTS)
def test_arguments_become_objects_where_a_protocol_wants_them(
    arguments: str, expected: dict[str, Any], has_note: bool
) -> None:
    request = chat(user(), calls(call("a", arguments=arguments)), result("a"))
    body, notes = converted(request, ANTHROPIC)
    assert body["messages"][1]["content"][0]["input"] == expected
    assert ("arguments-wrapped" in notes) is has_note
    body, notes = converted(request, GEMINI)
    assert body["contents"][1]["parts"][0]["functionCall"]["args"] == expected
    body, notes = converted(request, RESPONSES)
    assert body["input"][1]["arguments"] == arguments
    assert notes == []


def test_ollama_takes_any_name() -> None:
    request = chat(user(), calls(call("1", "a/b")), result("1"), tools=[function("a b")])
    body, notes = converted(request, OLLAMA)
    assert ("call", "1", "a/b") in story(body, OLLAMA)
    assert body["tools"][0]["function"]["name"] == "a b"
    assert notes == []


@each_row("target", [each for each in Protocol if each is not OLLAMA])
def test_forbidden_names_are_aliased_apart_and_restored(target: Protocol) -> None:
    names = ["a b", "a/b", "a_b"]
    request = chat(user(), calls(call("1", "a/b")), result("1"), tools=[function(n) for n in names])
    envelope = decoded(request)
    out = encoded(envelope, target)
    aliases = dict(out.aliases)
    assert aliases == {"a b": "a_b_2", "a/b": "a_b_3"}
    assert [note.code for note in out.notes].count("tool-renamed") == 2
    reply = Message(
        "assistant", tool_calls=(ToolCall("2", "a_b_2", "{}"), ToolCall("3", "a_b", ""))
    )
    assert [c.name for c in restore_names(reply, out.aliases).tool_calls] == ["a b", "a_b"]
    body, _ = converted(request, target)
    assert ("call", "1", "a_b_3") in story(body, target)


CHOICES: list[tuple[Any, Any, Any, Any]] = [
    ("auto", "auto", {"type": "auto"}, {"mode": "AUTO"}),
    ("none", "none", {"type": "none"}, {"mode": "NONE"}),
    ("required", "required", {"type": "any"}, {"mode": "ANY"}),
    (
        {"type": "function", "function": {"name": "f"}},
        {"type": "function", "name": "f"},
        {"type": "tool", "name": "f"},
        {"mode": "ANY", "allowedFunctionNames": ["f"]},
    ),
]


@each_row(("choice", "responses", "anthropic", "gemini"), CHOICES)
def test_tool_choice_in_every_protocol(
    choice: Any, responses: Any, anthropic: Any, gemini: Any
) -> None:
    request = chat(user(), tools=[function()], tool_choice=choice)
    assert converted(request, CHAT)[0] == request
    assert converted(request, RESPONSES)[0]["tool_choice"] == responses
    assert converted(request, ANTHROPIC)[0]["tool_choice"] == anthropic
    assert converted(request, GEMINI)[0]["toolConfig"] == {"functionCallingConfig": gemini}


@each_row("target", [RESPONSES, ANTHROPIC, GEMINI])
def test_a_choice_of_tools_that_are_not_sent_is_left_out(target: Protocol) -> None:
    for more in ({"tools": [function()]}, {}):
        choice = {"type": "function", "function": {"name": "gone"}}
        body, notes = converted(chat(user(), tool_choice=choice, **more), target)
        assert not {"tool_choice", "toolConfig"} & body.keys()
        assert notes == ["setting-left-out"]


def test_an_empty_list_of_tools_is_something_else_than_none() -> None:
    assert decoded(chat(user())).tools is None
    assert decoded(chat(user(), tools=[])).tools == ()
    assert converted(chat(user(), tools=[]), CHAT)[0]["tools"] == []
    for target in (RESPONSES, ANTHROPIC, GEMINI):
        assert "tools" not in converted(chat(user(), tools=[]), target)[0]


def test_a_picture_in_a_result_stays_there_or_follows_it() -> None:
    request = chat(user(), calls(call("a")), result("a", [PICTURE]), assistant("ok"))
    assert converted(request, CHAT) == (request, [])
    source = {"type": "base64", "media_type": "image/png", "data": PNG}
    picture = {"type": "image", "source": source}
    done = {"type": "tool_result", "tool_use_id": "a", "content": [picture]}
    use = {"type": "tool_use", "id": "a", "name": "f", "input": {}}
    claude = chat(user(), assistant([use]), user([done]), assistant("ok"), max_tokens=9)
    body, notes = converted(claude, CHAT, source=ANTHROPIC)
    assert body["messages"][2] == result("a", "")
    assert body["messages"][3] == user([PICTURE])
    assert notes == ["part-moved"]
    body, notes = converted(request, ANTHROPIC)
    assert body["messages"][2]["content"][0]["content"][0]["source"]["data"] == PNG
    assert notes == []


@each_row("target", [RESPONSES, ANTHROPIC, GEMINI])
def test_a_tool_that_is_defined_twice_is_sent_once(target: Protocol) -> None:
    body, notes = converted(chat(user(), tools=[function(), function()]), target)
    tools = body["tools"][0].get("functionDeclarations", body["tools"])
    assert [tool["name"] for tool in tools] == ["f"]
    assert notes == ["tool-twice"]


def test_gemini_schemas_are_json_schemas_elsewhere() -> None:
    schema = {
        "type": "OBJECT",
        "properties": {"a": {"type": "STRING", "nullable": True, "enum": ["STRING"]}},
    }
    body = {
        "contents": [{"role": "user", "parts": [{"text": "hi"}]}],
        "tools": [{"functionDeclarations": [{"name": "f", "parameters": schema}]}],
    }
    assert converted(body, GEMINI, source=GEMINI)[0] == body
    sent, _ = converted(body, ANTHROPIC, source=GEMINI)
    assert sent["tools"][0]["input_schema"] == {
        "type": "object",
        "properties": {"a": {"type": ["string", "null"], "enum": ["STRING"]}},
    }


def test_tools_of_the_provider_stay_with_it_in_their_places() -> None:
    native = {"type": "memory_20250818", "name": "memory"}
    ours = {"name": "f", "input_schema": {"type": "object"}}
    body = {"model": "m", "max_tokens": 9, "messages": [user()], "tools": [native, ours]}
    assert converted(body, ANTHROPIC, source=ANTHROPIC)[0] == body
    sent, notes = converted(body, CHAT, source=ANTHROPIC)
    assert [tool["function"]["name"] for tool in sent["tools"]] == ["f"]
    assert notes == ["tool-left-out"]


def test_gemini_3_gets_a_stand_in_for_calls_that_another_model_made() -> None:
    request = chat(user(), calls(call("a"), call("b")), result("a"), result("b"))
    body, notes = converted(request, GEMINI, model="gemini-3-pro")
    first, second = body["contents"][1]["parts"]
    assert first["thoughtSignature"] == "skip_thought_signature_validator"
    assert "thoughtSignature" not in second
    assert notes == ["signature-stand-in"]
    assert converted(request, GEMINI, model="gemini-2.5-pro")[1] == []


def test_gemini_joins_a_call_to_the_text_before_it_and_accepts_none_first() -> None:
    request = chat(assistant("first"), calls(call("a")), result("a"), user())
    body, notes = converted(request, GEMINI)
    assert [content["role"] for content in body["contents"]] == ["user", "model", "user", "user"]
    assert [list(part) for part in body["contents"][1]["parts"]] == [["text"], ["functionCall"]]
    assert notes == ["filler-added"]
