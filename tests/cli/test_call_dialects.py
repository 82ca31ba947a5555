"""Tool calls as servers send them: whichever way they come in pieces, the calls are the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.cli.data import table
from tests.support.command_line import Run
from tests.support.server import events

TEA, MILK = '{"q":"tea"}', '{"q":"milk"}'
TWO = [("a", TEA), ("b", MILK)]
DONE = {"type": "response.completed", "response": {"status": "completed", "output": []}}
TABLE = table("call_dialects")
"""For OpenAI Chat lists of pieces, one for each chunk, and the ids and arguments of the calls; for
Responses the events of a reply with two calls.
"""


def read(run: Run, folder: Path, protocol: str, body: str) -> dict[str, Any]:
    file = folder / "reply"
    file.write_text(body)
    return json.loads(run("read", file, "--protocol", protocol).out)


def calls_of(reply: dict[str, Any]) -> list[tuple[str, str]]:
    assert reply["error"] is None, reply
    assert reply["finish_reason"] == "tool_calls", reply
    return [(each["id"], each["arguments"]) for each in reply["tool_calls"]]


def test_openai_chat(run: Run, tmp_path: Path):
    wrong: list[object] = []
    for name, row in TABLE["openai_chat"].items():
        for finish in ("stop", "tool_calls"):
            chunks = [{"choices": [{"delta": {"tool_calls": pieces}}]} for pieces in row["chunks"]]
            end = {"choices": [{"delta": {}, "finish_reason": finish}]}
            found = calls_of(read(run, tmp_path, "openai_chat", events(*chunks, end)))
            if found != [*map(tuple, row["calls"])]:
                wrong.append((name, finish, found))
    assert not wrong, wrong


def test_openai_chat_in_its_old_form(run: Run, tmp_path: Path):
    pieces = [{"name": "look", "arguments": ""}, {"arguments": '{"q":'}, {"arguments": '"tea"}'}]
    chunks = [{"choices": [{"delta": {"function_call": each}}]} for each in pieces]
    end = {"choices": [{"delta": {}, "finish_reason": "function_call"}]}
    reply = read(run, tmp_path, "openai_chat", events(*chunks, end))
    assert calls_of(reply) == [("", TEA)]


def test_openai_responses(run: Run, tmp_path: Path):
    wrong: list[object] = []
    for name, found in TABLE["openai_responses"].items():
        reply = read(run, tmp_path, "openai_responses", events(*found, DONE, done=False))
        if calls_of(reply) != TWO:
            wrong.append((name, reply))
    assert not wrong, wrong


def test_text_and_reasoning_of_one_index_stay_apart_from_calls(run: Run, tmp_path: Path):
    [found] = TABLE["mixed"].values()
    reply = read(run, tmp_path, "openai_responses", events(*found, DONE, done=False))
    assert (reply["content"], reply["reasoning"]) == ("Yes", "Hm")
    assert calls_of(reply) == TWO
