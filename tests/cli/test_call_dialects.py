"""Tool calls as servers send them: whichever way they come in pieces, the calls are the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.support.command_line import Run
from tests.support.server import events

TEA, MILK = '{"q":"tea"}', '{"q":"milk"}'
Piece = dict[str, Any]


def piece(index: int | None, id: str | None, name: str | None, arguments: Any) -> Piece:
    place = {} if index is None else {"index": index}
    named = {} if id is None else {"id": id}
    function = {} if name is None else {"name": name}
    return {**place, **named, "function": {**function, "arguments": arguments}}


ONE = [("a", TEA)]
TWO = [("a", TEA), ("b", MILK)]
CHAT: dict[str, tuple[list[list[Piece]], list[tuple[str, str]]]] = {
    **{
        f"{first!r} first": (
            [
                [piece(0, "a", "look", first)],
                [piece(0, None, None, '{"q":')],
                [piece(0, None, None, '"tea"}')],
            ],
            ONE,
        )
        for first in ("{}", "", "null", '""', None, {})
    },
    "{} first, then whole": ([[piece(0, "a", "look", "{}")], [piece(0, "a", "look", TEA)]], ONE),
    "{} and no more": ([[piece(0, "a", "look", "{}")]], [("a", "{}")]),
    "{} last": ([[piece(0, "a", "look", TEA)], [piece(0, None, None, "{}")]], ONE),
    "whole twice": ([[piece(0, "a", "look", TEA)], [piece(0, "a", "look", TEA)]], ONE),
    "whole after pieces": (
        [
            [piece(0, "a", "look", '{"q":')],
            [piece(0, None, None, '"tea"}')],
            [piece(0, "a", "look", TEA)],
        ],
        ONE,
    ),
    "whole, then in pieces": (
        [
            [piece(0, "a", "look", TEA)],
            [piece(0, None, None, '{"q":')],
            [piece(0, None, None, '"tea"}')],
        ],
        ONE,
    ),
    "id and name in each piece": (
        [[piece(0, "a", "look", '{"q":')], [piece(0, "a", "look", '"tea"}')]],
        ONE,
    ),
    "name in each piece": (
        [[piece(0, "a", "look", '{"q":')], [piece(0, None, "look", '"tea"}')]],
        ONE,
    ),
    "no index, name in each piece": (
        [[piece(None, "a", "look", '{"q":')], [piece(None, None, "look", '"tea"}')]],
        ONE,
    ),
    "another id in each piece": (
        [[piece(0, "a", "look", '{"q":')], [piece(0, "b", None, '"tea"}')]],
        ONE,
    ),
    "an index that counts pieces": (
        [[piece(0, "a", "look", '{"q":')], [piece(1, "a", None, '"tea"}')]],
        ONE,
    ),
    "an object": ([[piece(0, "a", "look", {"q": "tea"})]], ONE),
    "no index": ([[piece(None, "a", "look", TEA)], [piece(None, "b", "look", MILK)]], TWO),
    "no index, one list": ([[piece(None, "a", "look", TEA), piece(None, "b", "look", MILK)]], TWO),
    "index 0 for all": ([[piece(0, "a", "look", TEA)], [piece(0, "b", "look", MILK)]], TWO),
    "index 0 for all, in pieces": (
        [
            [piece(0, "a", "look", '{"q":')],
            [piece(0, None, None, '"tea"}')],
            [piece(0, "b", "look", '{"q":')],
            [piece(0, None, None, '"milk"}')],
        ],
        TWO,
    ),
    "interleaved": (
        [
            [piece(0, "a", "look", '{"q":'), piece(1, "b", "look", '{"q":')],
            [piece(1, None, None, '"milk"}'), piece(0, None, None, '"tea"}')],
        ],
        TWO,
    ),
    "neither ids nor index": (
        [[piece(None, None, "look", TEA)], [piece(None, None, "look", MILK)]],
        [("", TEA), ("", MILK)],
    ),
    "index 0 without ids": (
        [[piece(0, None, "look", TEA)], [piece(0, None, "look", MILK)]],
        [("", TEA), ("", MILK)],
    ),
    "one id for all, by index": (
        [[piece(0, "look", "look", TEA)], [piece(1, "look", "look", MILK)]],
        [("look", TEA), ("look", MILK)],
    ),
    "an id that comes late": (
        [[piece(0, None, "look", '{"q":')], [piece(0, "a", None, '"tea"}')]],
        ONE,
    ),
}
"""Lists of pieces, one for each chunk, and the ids and arguments of the calls."""


def read_calls(run: Run, folder: Path, protocol: str, body: str) -> list[tuple[str, str]]:
    file = folder / "reply"
    file.write_text(body)
    reply = json.loads(run("read", file, "--protocol", protocol).out)
    assert reply["error"] is None, reply
    assert reply["finish_reason"] == "tool_calls", reply
    return [(each["id"], each["arguments"]) for each in reply["tool_calls"]]


def test_openai_chat(run: Run, tmp_path: Path):
    wrong: list[object] = []
    for name, (lists, wanted) in CHAT.items():
        for finish in ("stop", "tool_calls"):
            chunks = [{"choices": [{"delta": {"tool_calls": pieces}}]} for pieces in lists]
            end = {"choices": [{"delta": {}, "finish_reason": finish}]}
            found = read_calls(run, tmp_path, "openai_chat", events(*chunks, end))
            if found != wanted:
                wrong.append((name, finish, found))
    assert not wrong, wrong


def test_openai_chat_in_its_old_form(run: Run, tmp_path: Path):
    pieces = [{"name": "look", "arguments": ""}, {"arguments": '{"q":'}, {"arguments": '"tea"}'}]
    chunks = [{"choices": [{"delta": {"function_call": each}}]} for each in pieces]
    end = {"choices": [{"delta": {}, "finish_reason": "function_call"}]}
    assert read_calls(run, tmp_path, "openai_chat", events(*chunks, end)) == [("", TEA)]


def item(id: str, call_id: str, arguments: str = "") -> Piece:
    return {
        "type": "function_call",
        "id": id,
        "call_id": call_id,
        "name": "look",
        "arguments": arguments,
    }


def event(kind: str, index: int | None = None, **more: Any) -> Piece:
    place = {} if index is None else {"output_index": index}
    return {"type": f"response.{kind}", **place, **more}


def call_events(index: int | None, id: str, call_id: str, arguments: str) -> list[Piece]:
    return [
        event("output_item.added", index, item=item(id, call_id)),
        event("function_call_arguments.delta", index, item_id=id, delta=arguments[:5]),
        event("function_call_arguments.delta", index, item_id=id, delta=arguments[5:]),
        event("function_call_arguments.done", index, item_id=id, arguments=arguments),
        event("output_item.done", index, item=item(id, call_id, arguments)),
    ]


TEA_AT_0, MILK_AT_0 = call_events(0, "fc_1", "a", TEA), call_events(0, "fc_2", "b", MILK)
MILK_AT_1 = call_events(1, "fc_2", "b", MILK)
DONE = event("completed", response={"status": "completed", "output": []})
RESPONSES: dict[str, list[Piece]] = {
    "an index each": [*TEA_AT_0, *MILK_AT_1],
    "one index": [*TEA_AT_0, *MILK_AT_0],
    "no index": [
        *call_events(None, "fc_1", "a", TEA),
        *call_events(None, "fc_2", "b", MILK),
    ],
    "one index, at the same time": [
        each for pair in zip(TEA_AT_0, MILK_AT_0, strict=True) for each in pair
    ],
    "one index, never done": [*TEA_AT_0[:3], *MILK_AT_0[:3]],
    "one index, only done": [TEA_AT_0[-1], MILK_AT_0[-1]],
    "done twice": [*TEA_AT_0, TEA_AT_0[-1], *MILK_AT_1, MILK_AT_1[-1]],
    "arguments only when done": [TEA_AT_0[0], *TEA_AT_0[3:], MILK_AT_1[0], *MILK_AT_1[3:]],
    "a call only at the end": [
        *TEA_AT_0,
        event(
            "completed",
            response={
                "status": "completed",
                "output": [item("fc_1", "a", TEA), item("fc_2", "b", MILK)],
            },
        ),
    ],
    "ids that change": [
        event("output_item.added", 0, item=item("x1", "a")),
        event("function_call_arguments.delta", 0, item_id="x2", delta=TEA),
        event("output_item.done", 0, item=item("x3", "a", TEA)),
        event("output_item.added", 1, item=item("x4", "b")),
        event("function_call_arguments.delta", 1, item_id="x5", delta=MILK),
        event("output_item.done", 1, item=item("x6", "b", MILK)),
    ],
}
"""Events of a reply with two calls."""


def test_openai_responses(run: Run, tmp_path: Path):
    wrong: list[object] = []
    for name, found in RESPONSES.items():
        calls = read_calls(run, tmp_path, "openai_responses", events(*found, DONE, done=False))
        if calls != TWO:
            wrong.append((name, calls))
    assert not wrong, wrong


def test_text_and_reasoning_of_one_index_stay_apart_from_calls(run: Run, tmp_path: Path):
    message = {"type": "message", "id": "msg_1", "content": []}
    thought = {"type": "reasoning", "id": "rs_1", "summary": []}
    stream = events(
        event("output_item.added", 0, item=thought),
        event("reasoning_summary_text.delta", 0, item_id="rs_1", delta="Hm"),
        event("output_item.done", 0, item=thought),
        event("output_item.added", 0, item=message),
        event("output_text.delta", 0, item_id="msg_1", delta="Yes"),
        *TEA_AT_0,
        *MILK_AT_0,
        DONE,
        done=False,
    )
    file = tmp_path / "reply"
    file.write_text(stream)
    reply = json.loads(run("read", file, "--protocol", "openai_responses").out)
    assert (reply["content"], reply["reasoning"]) == ("Yes", "Hm")
    assert [(each["id"], each["arguments"]) for each in reply["tool_calls"]] == TWO
