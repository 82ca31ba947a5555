"""Requests with odd values: nothing raises, and in its own protocol a request stays as it was, or a
note says that it did not.

Recorded requests, where they are at hand, and the golden cases are changed in random places. The
suite tries some hundred; for a long run:

    TUI_CHAT_MUTANTS=25000 uv run pytest tests/protocols/test_mutated_requests.py

`TUI_CHAT_MUTANTS_SEED` begins elsewhere. A long run also tries the inspector,
`convert` and the tap.
"""

from __future__ import annotations

import copy
import json
import os
import random
from collections.abc import Iterator
from typing import Any

from tests.protocols.golden import REQUESTS
from tests.support.agent_requests import agent_body
from tests.support.corpus import RECORDED
from tests.support.golden import case_files, read
from tests.support.requests import (
    ANTHROPIC,
)
from tui_chat.analysis.captured_request import read_captured
from tui_chat.cli.captured import convert
from tui_chat.compose import encode
from tui_chat.errors import InputError
from tui_chat.models.endpoint import Endpoint, Protocol
from tui_chat.protocols.registry import protocol_of

COUNT = int(os.environ.get("TUI_CHAT_MUTANTS", "400"))
SEED = int(os.environ.get("TUI_CHAT_MUTANTS_SEED", "1"))
LONG = 2_000
"""The number of mutants from which all uses are tried."""
LARGEST = 60_000
"""Characters of the largest recorded request that is changed."""

WHOLE: list[tuple[Protocol, Any]] = [
    *((protocol, agent_body(protocol)) for protocol in Protocol),
    *((Protocol(case["source"]), case["body"]) for case in read(REQUESTS / "whole.json").values()),
]
OURS: list[tuple[Protocol, Any]] = [
    *WHOLE,
    *(
        (Protocol(case["source"]), case["body"])
        for path in case_files(REQUESTS)
        for case in read(path).values()
        if isinstance(case["body"], dict)
    ),
]
VALUES: list[Any] = [
    *(None, True, False, 0, 1, -1, 2.5, 1e300, "", " ", "x", "none", "auto", "user", "assistant"),
    *([], {}, [{}], ["x"], [None], {"x": 1}, {"type": "text"}, {"type": "text", "text": ""}),
    *("text", "tool", "image", "é\u2028\U0001f600", [[]], {"role": "user"}, 10**30),
]


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of every value inside a value."""
    entries = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in entries:
        yield (*path, key)
        if isinstance(inner, dict | list):
            yield from places(inner, (*path, key))


def changed(value: Any, chance: random.Random) -> Any:
    """Return a request with one to three values deleted, replaced, doubled or of another type."""
    value = copy.deepcopy(value)
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        paths = list(places(value))
        if not paths:
            break
        *path, key = chance.choice(paths)
        holder = value
        for step in path:
            holder = holder[step]
        match chance.randrange(6):
            case 0:
                del holder[key]
            case 1 if isinstance(holder, list):
                holder.insert(key, copy.deepcopy(holder[key]))
            case 2 if isinstance(holder, dict):
                holder[chance.choice(("x", "type", "id", "name", "content", "role"))] = holder.pop(
                    key
                )
            case 3:
                holder[key] = [holder[key]]
            case 4:
                *_, other = chance.choice(paths)
                holder[key] = other if isinstance(other, str) else str(holder[key])
            case _:
                holder[key] = copy.deepcopy(chance.choice(VALUES))
    return value


def same(one: Any, other: Any) -> bool:
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def fault(protocol: Protocol, body: bytes, *, is_long: bool) -> str:
    """Return what is wrong with the answer to a request; empty if nothing is."""
    try:
        envelope = protocol_of(protocol).decode(body)
    except InputError:
        return ""
    for target in Protocol:
        made = encode(envelope, Endpoint("e", target, ""))
        assert json.loads(made.payload.body) is not None
        if target is protocol and not made.notes and not envelope.notes:
            sent = json.loads(made.payload.body)
            if not same(sent, json.loads(body)):
                return f"changed without a note: {made.payload.body.decode()}"
    if is_long:
        other_uses(protocol, body)
    return ""


def other_uses(protocol: Protocol, body: bytes) -> None:
    """Read and show a request as the inspector, `convert` and the tap do."""
    captured = read_captured(body.decode(), protocol)
    captured.composed(Endpoint("e", protocol, ""), "m")
    for target in Protocol:
        convert(body, protocol, Endpoint("e", target, ""), model="gpt-5")


def requests() -> list[tuple[Protocol, Any]]:
    recorded = [
        (protocol, json.loads(path.read_text()))
        for protocol, path in RECORDED
        if path.stat().st_size <= LARGEST
    ]
    return [*OURS, *recorded] if COUNT >= LONG else [*OURS, *recorded[::7]]


def json_bytes(value: Any) -> bytes:
    """Return JSON as programs send it: half a pair of surrogates only fits in as an escape."""
    try:
        return json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return json.dumps(value).encode()


def test_the_requests_of_ours_come_back_equal() -> None:
    for number, (protocol, request) in enumerate(OURS):
        is_long = number < len(WHOLE)
        wrong = fault(protocol, json.dumps(request).encode(), is_long=is_long)
        assert not wrong, f"{protocol}: {wrong}"


def test_what_mutants_found_comes_back_equal() -> None:
    """Each was once sent otherwise than it came, without a note, or raised an error."""
    refusal = {"role": "assistant", "refusal": "I will not."}
    call = {"id": "a", "custom": {"name": "exec", "input": "ls"}}
    for found in (
        [refusal],
        [{**refusal, "content": ""}],
        [{**refusal, "content": []}],
        [{"role": "assistant", "function_call": {"name": "f", "arguments": {"x": 1}}}],
        [{"role": "assistant", "content": None, "function_call": {"arguments": {}}}],
        [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "a", "content": "done"},
        ],
    ):
        body = {"model": "m", "messages": [{"role": "user", "content": "hi"}, *found]}
        assert not fault(Protocol.OPENAI_CHAT, json_bytes(body), is_long=False), found
    odd = {"thinking": {"type": "adaptive", "display": ["x"]}, "service_tier": ["auto"]}
    body = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}], **odd}
    assert not fault(ANTHROPIC, json_bytes(body), is_long=False)


def test_a_request_with_odd_values_raises_nothing_and_changes_with_a_note(capsys: Any) -> None:
    chance = random.Random(SEED)
    pool = requests()
    wrong: list[str] = []
    for number in range(COUNT):
        protocol, request = pool[chance.randrange(len(OURS)) if number % 2 else number % len(pool)]
        body = json_bytes(changed(request, chance))
        try:
            why = fault(protocol, body, is_long=COUNT >= LONG)
        except Exception as error:  # whatever it is, it is what this test looks for
            why = f"{type(error).__name__}: {error}"
        capsys.readouterr()
        if why:
            wrong.append(f"{protocol} mutant {number}: {body.decode()}\n  {why}")
    report = os.environ.get("TUI_CHAT_MUTANTS_REPORT")
    if report:
        with open(report, "w", encoding="utf-8") as file:
            file.write("\n".join(wrong))
    assert not wrong, "\n".join([f"{len(wrong)} of {COUNT}", *(line[:1500] for line in wrong[:8])])
