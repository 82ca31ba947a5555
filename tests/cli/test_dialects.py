"""Calls, usage and costs as servers send them: whichever words they use, the reply has the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.cli.data import table
from tests.support.command_line import Run
from tests.support.server import Provider, events

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


# --- Usage in the words of many servers, and what a later, emptier report does to it ------


USAGES = table("usage_dialects")
BASE = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
ANSWER = {"choices": [{"delta": {"content": "Hi"}, "finish_reason": "stop"}]}
EMPTY = ({"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}, {"prompt_tokens": None})


def usage_in(run: Run, folder: Path, protocol: str, body: str) -> dict[str, Any]:
    file = folder / "reply"
    file.write_text(body)
    return json.loads(run("read", file, "--protocol", protocol).out)["usage"]


def has(usage: dict[str, Any], **wanted: int) -> bool:
    return all(usage[key] == value for key, value in wanted.items())


def test_usage_of_openai_chat(run: Run, tmp_path: Path):
    wrong: list[object] = []
    for name, row in USAGES["openai_chat"].items():
        usage = {**BASE, **row["usage"]}
        bodies = {
            "last": events(ANSWER, {"choices": [], "usage": usage}),
            "in the choice": events({"choices": [{**ANSWER["choices"][0], "usage": usage}]}),
            "whole": json.dumps({"choices": [{"message": {"content": "Hi"}}], "usage": usage}),
            **{
                f"before {empty}": events(
                    {**ANSWER, "usage": usage}, {"choices": [], "usage": empty}
                )
                for empty in EMPTY
            },
        }
        for form, body in bodies.items():
            found = usage_in(run, tmp_path, "openai_chat", body)
            if not has(found, input=10, output=5, **row["read"]):
                wrong.append((name, form, found))
    assert not wrong, wrong


def test_other_places_and_protocols(run: Run, tmp_path: Path):
    wrong: list[object] = []
    for name, row in USAGES["others"].items():
        body = events(*row["events"], done=row["protocol"] == "openai_chat")
        usage = usage_in(run, tmp_path, row["protocol"], body)
        if not has(usage, **row["read"]):
            wrong.append((name, usage))
    assert not wrong, wrong


# --- The cost that a provider reports with a reply goes before any price ------------------


TOKENS = {"prompt_tokens": 1_000_000, "completion_tokens": 0}
PRICES = "[models.m.prices]\ninput = 2.0\noutput = 2.0\n"
REPORTED = table("reported_cost")
"""What a usage says besides its tokens, and the cost in US dollars."""


def test_a_reported_cost_is_the_replys(run: Run, tmp_path: Path):
    wrong: list[object] = []
    for number, (name, (words, cost)) in enumerate(REPORTED.items()):
        folder = tmp_path / str(number)
        folder.mkdir()
        text = {"choices": [{"delta": {"content": "Hi"}, "finish_reason": "stop"}]}
        bodies = [events(text, {"choices": [], "usage": {**TOKENS, **words}})]
        bodies += [events({"choices": text["choices"], "usage": {**TOKENS, **words}})]
        with Provider(*bodies) as provider:
            (folder / "config.toml").write_text(provider.config() + PRICES)
            base = ("--config-dir", folder, "--data-dir", folder)
            found = [json.loads(run(*base, "ask", "Hi", "--json").out)["cost"] for _ in bodies]
            summed = json.loads(run(*base, "usage", "--json").out)
        if found != [cost, cost] or float(summed[0]["cost"]) != 2 * cost:
            wrong.append((name, found, summed))
    assert not wrong, wrong
