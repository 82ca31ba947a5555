"""Ids that go back to a provider: of Responses items, and of calls that are too long."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.requests import (
    ANTHROPIC,
    CHAT,
    GEMINI,
    RESPONSES,
    body_of,
    call,
    calls,
    chat,
    converted,
    decoded,
    encoded,
    endpoint,
    result,
    user,
)
from tests.support.tables import each_row
from tui_chat.compose import compose
from tui_chat.context import Inputs, SessionSettings
from tui_chat.models.endpoint import Endpoint, Protocol
from tui_chat.models.message import Message
from tui_chat.models.preset import Preset
from tui_chat.protocols.openai_responses.stream import read_reply

FORMS = {"reasoning": "rs", "message": "msg", "function_call": "fc", "web_search_call": "ws"}


def reply(**ids: str) -> Message:
    """A stored reply of reasoning, words and a call, under these item ids."""
    summary = [{"type": "summary_text", "text": "hm"}]
    words = [{"type": "output_text", "text": "Looking.", "annotations": []}]
    output: list[dict[str, Any]] = [
        {"type": "reasoning", "summary": summary, "encrypted_content": "RU5D"},
        {"type": "web_search_call", "status": "completed"},
        {"type": "message", "role": "assistant", "phase": "commentary", "content": words},
        {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"},
    ]
    output = [{**each, "id": ids[each["type"]]} for each in output if each["type"] in ids]
    body = {"id": "resp_1", "status": "completed", "output": output}
    return read_reply(json.dumps(body).encode()).message(RESPONSES)


def sent(*history: Message) -> tuple[list[dict[str, Any]], list[str]]:
    to = Endpoint("e", RESPONSES, "https://e", models=("m",))
    composed = compose(Inputs(to, Preset("p"), history, "go on"))
    codes = [note.code for note in composed.notes]
    return json.loads(composed.payload.body)["input"], codes


ANSWER = Message("tool", "done", tool_call_id="c1")
RIGHT = {
    "reasoning": "rs_1",
    "message": "msg_2",
    "function_call": "fc_3",
    "web_search_call": "ws_4",
}


def test_right_ids_go_back_as_they_came() -> None:
    items, codes = sent(Message("user", "q"), reply(**RIGHT), ANSWER)
    assert [item.get("id") for item in items] == [None, "rs_1", "ws_4", "msg_2", "fc_3", None, None]
    assert codes == []


WRONG = ["call_abc", "item-7", "b594b7e1-3db8-4a0e", "fc_" + "x" * 70, "fc_a:b", "rs_", "msg_ö"]


@each_row(
    ("kind", "wrong"),
    [
        (kind, wrong)
        for kind in ("reasoning", "message", "function_call")
        for wrong in WRONG
        if wrong != FORMS[kind] + "_"
    ],
)
def test_an_id_in_no_form_of_its_type_takes_the_ids_of_its_turn_with_it(
    kind: str, wrong: str
) -> None:
    ids = {name: RIGHT[name] for name in ("reasoning", "message", "function_call")}
    items, codes = sent(Message("user", "q"), reply(**{**ids, kind: wrong}), ANSWER)
    assert all("id" not in item for item in items)
    assert codes == ["item-id-left-out"]
    reasoning, message, function = items[1:4]
    assert (reasoning["type"], reasoning["encrypted_content"]) == ("reasoning", "RU5D")
    assert message == {"role": "assistant", "content": "Looking.", "phase": "commentary"}
    assert (function["type"], function["call_id"]) == ("function_call", "c1")
    assert items[4] == {"type": "function_call_output", "call_id": "c1", "output": "done"}


def test_a_search_with_an_invalid_id_is_left_out_with_a_note() -> None:
    items, codes = sent(Message("user", "q"), reply(message="msg_1", web_search_call="42"))
    assert "web_search_call" not in {item.get("type") for item in items}
    assert codes == ["piece-left-out"]


def test_a_captured_request_keeps_the_ids_it_had() -> None:
    item = {"type": "function_call", "id": "odd", "call_id": "c", "name": "f", "arguments": "{}"}
    answer = {"type": "function_call_output", "id": "odd2", "call_id": "c", "output": "x"}
    request = {"model": "m", "input": [item, answer]}
    assert converted(request, RESPONSES, source=RESPONSES)[0] == request


LONG = "call_" + "a1b2" * 24
TWIN = LONG[:-1] + "X"


def ids_in(body: dict[str, Any], target: Protocol) -> tuple[list[str], list[str]]:
    """Return the ids of the calls and those of the results."""
    if target is RESPONSES:
        kinds = ("function_call", "function_call_output")
        one, two = ([i["call_id"] for i in body["input"] if i.get("type") == k] for k in kinds)
        return one, two
    called = [c["id"] for m in body["messages"] for c in m.get("tool_calls", ())]
    return called, [m["tool_call_id"] for m in body["messages"] if m["role"] == "tool"]


def blocks(*ids: str) -> dict[str, Any]:
    """An Anthropic request whose calls have these ids."""
    used = [{"type": "tool_use", "id": each, "name": "f", "input": {}} for each in ids]
    answers = [{"type": "tool_result", "tool_use_id": each, "content": "x"} for each in ids]
    messages = [
        user(),
        {"role": "assistant", "content": used},
        {"role": "user", "content": answers},
    ]
    return {"model": "m", "max_tokens": 9, "messages": messages}


@pytest.mark.parametrize(("target", "longest"), [(RESPONSES, 64), (CHAT, 40)])
def test_long_call_ids_are_shortened_alike_and_apart(target: Protocol, longest: int) -> None:
    ids = (LONG, TWIN, "short", "x" * (longest + 1), "x" * longest)
    body, _ = converted(blocks(*ids), target, source=ANTHROPIC)
    called, answered = ids_in(body, target)
    assert called == answered
    assert len(set(called)) == len(ids)
    assert max(map(len, called)) <= longest
    assert (called[2], called[4]) == ("short", "x" * longest)
    assert called == ids_in(converted(blocks(*ids), target, source=ANTHROPIC)[0], target)[0]
    out = encoded(decoded(blocks(*ids), ANTHROPIC), target)
    assert "call-id-changed" in {note.code for note in out.notes}


def test_long_ids_of_chat_reach_responses_short() -> None:
    request = chat(user(), calls(call(LONG), call(TWIN)), result(LONG), result(TWIN), user())
    called, answered = ids_in(converted(request, RESPONSES)[0], RESPONSES)
    assert called == answered
    assert max(map(len, called)) <= 64


@pytest.mark.parametrize("target", [ANTHROPIC, GEMINI])
def test_ids_are_whole_without_a_length_limit(target: Protocol) -> None:
    request = chat(user(), calls(call(LONG)), result(LONG), user())
    assert json.dumps(converted(request, target)[0]).count(LONG) == 2


@each_row(
    ("model", "facts", "is_cut"),
    [("m", {}, False), ("gpt-4.1", {}, True), ("m", {"strict_keys": True}, True)],
)
def test_a_gateways_long_ids_go_back_whole_to_it_and_short_to_openai(
    model: str, facts: dict[str, Any], is_cut: bool
) -> None:
    to = endpoint(CHAT, model, **facts)
    history = (
        Message("user", "q"),
        decoded_message(calls(call(LONG))),
        Message("tool", "done", tool_call_id=LONG),
    )
    composed = compose(Inputs(to, Preset("p"), history, "x", settings=SessionSettings(model=model)))
    called, answered = ids_in(json.loads(composed.payload.body), CHAT)
    assert called == answered
    assert (called != [LONG]) is is_cut


def test_a_captured_request_keeps_its_long_ids() -> None:
    request = chat(user(), calls(call(LONG)), result(LONG), user())
    assert body_of(encoded(decoded(request), CHAT)) == request


def decoded_message(message: dict[str, Any]) -> Message:
    turn = decoded(chat(message)).turns[0]
    return Message("assistant", "", tool_calls=turn.tool_calls)
