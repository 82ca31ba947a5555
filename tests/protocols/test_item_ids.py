"""Ids that go back to a provider: of Responses items, and of calls that are too long."""

from __future__ import annotations

import json
from typing import Any

from tests.support.messages import make_message
from tests.support.requests import (
    CHAT,
    RESPONSES,
    call,
    calls,
    chat,
    decoded,
    endpoint,
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


ANSWER = make_message("tool", "done", tool_call_id="c1")
RIGHT = {
    "reasoning": "rs_1",
    "message": "msg_2",
    "function_call": "fc_3",
    "web_search_call": "ws_4",
}


def test_right_ids_go_back_as_they_came() -> None:
    items, codes = sent(Message.of("user", "q"), reply(**RIGHT), ANSWER)
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
    items, codes = sent(Message.of("user", "q"), reply(**{**ids, kind: wrong}), ANSWER)
    assert all("id" not in item for item in items)
    assert codes == ["item-id-left-out"]
    reasoning, message, function = items[1:4]
    assert (reasoning["type"], reasoning["encrypted_content"]) == ("reasoning", "RU5D")
    assert message == {"role": "assistant", "content": "Looking.", "phase": "commentary"}
    assert (function["type"], function["call_id"]) == ("function_call", "c1")
    assert items[4] == {"type": "function_call_output", "call_id": "c1", "output": "done"}


def test_a_search_with_an_invalid_id_is_left_out_with_a_note() -> None:
    items, codes = sent(Message.of("user", "q"), reply(message="msg_1", web_search_call="42"))
    assert "web_search_call" not in {item.get("type") for item in items}
    assert codes == ["piece-left-out"]


LONG = "call_" + "a1b2" * 24


def ids_in(body: dict[str, Any], target: Protocol) -> tuple[list[str], list[str]]:
    """Return the ids of the calls and those of the results."""
    if target is RESPONSES:
        kinds = ("function_call", "function_call_output")
        one, two = ([i["call_id"] for i in body["input"] if i.get("type") == k] for k in kinds)
        return one, two
    called = [c["id"] for m in body["messages"] for c in m.get("tool_calls", ())]
    return called, [m["tool_call_id"] for m in body["messages"] if m["role"] == "tool"]


@each_row(
    ("model", "facts", "is_cut"),
    [("m", {}, False), ("gpt-4.1", {}, True), ("m", {"strict_keys": True}, True)],
)
def test_a_gateways_long_ids_go_back_whole_to_it_and_short_to_openai(
    model: str, facts: dict[str, Any], is_cut: bool
) -> None:
    to = endpoint(CHAT, model, **facts)
    history = (
        Message.of("user", "q"),
        decoded_message(calls(call(LONG))),
        make_message("tool", "done", tool_call_id=LONG),
    )
    composed = compose(Inputs(to, Preset("p"), history, "x", settings=SessionSettings(model=model)))
    called, answered = ids_in(json.loads(composed.payload.body), CHAT)
    assert called == answered
    assert (called != [LONG]) is is_cut


def decoded_message(message: dict[str, Any]) -> Message:
    turn = decoded(chat(message)).turns[0]
    return make_message("assistant", "", tool_calls=turn.tool_calls)


def test_reasoning_of_several_parts_without_an_id_goes_back_as_one_item() -> None:
    item: dict[str, Any] = {
        "type": "reasoning",
        "summary": [{"type": "summary_text", "text": text} for text in ("first", "second")],
        "content": [{"type": "reasoning_text", "text": "whole"}],
        "encrypted_content": "RU5D",
    }
    said = {"role": "assistant", "content": "Looked."}
    turn = decoded({"model": "m", "input": [item, said]}, RESPONSES).turns[0]
    message = Message("assistant", turn.blocks)
    items, codes = sent(Message.of("user", "q"), message)
    assert items[1:3] == [item, said]
    assert codes == []
