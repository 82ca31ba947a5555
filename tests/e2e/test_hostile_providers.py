"""A provider that sends without end, on a real socket, at reduced sizes: a ceiling stops it,
one sentence says at which, what came before is kept, and the event loop is never held for long.

`tests.tools.benchmarks.hostile` runs the same cases against the whole app, at full size.
"""

from __future__ import annotations

import asyncio
import time

import pytest

from tests.support.hostile_server import CASES, HostileServer, serve_hostile
from tests.support.tables import each_row
from tests.support.vendors import ENDPOINTS
from tests.support.workspace import settled
from tui_chat.errors import ProviderError, Refused
from tui_chat.models import json_text
from tui_chat.models import reply as reply_limits
from tui_chat.models.endpoint import Protocol
from tui_chat.protocols.anthropic import stream as anthropic
from tui_chat.protocols.gemini import stream as gemini_stream
from tui_chat.providers import client, discovery
from tui_chat.providers.client import HttpClient, new_client
from tui_chat.providers.discovery import list_models

SIZE = 2_000_000
LONGEST_STEP = 0.5
"""Seconds of processor time that one step on the event loop may take. Far more than any takes at
these sizes, and far less than a quadratic one: see `tests.tools.benchmarks.hostile`."""

_EVENT = "An event of the reply is larger than 300 KB; what came before that is kept."
_STREAM = "The response is larger than 1 MB; what came before that is kept."
_REPLY = "The reply is longer than 400,000 characters; the rest was dropped."
_BODY = "The answer is larger than 300 KB, so it was not read."
_ERROR = "(Only the first 64 KB of the error were read.)"
_UNREADABLE = "a piece of the reply that cannot be read"

SAID = {
    "gzip of one line": _EVENT,
    "gzip of events": _STREAM,
    "gzip of JSON": _BODY,
    "gzip of an error": _ERROR,
    "deflate of one line": _EVENT,
    "one line": _EVENT,
    "one comment": _EVENT,
    "a line without a field": _EVENT,
    "many lines of one event": _EVENT,
    "comments without end": _EVENT,
    "blank lines": _EVENT,
    "events that say nothing": _STREAM,
    "one event": _EVENT,
    "one event of emoji": _EVENT,
    "one event of newlines": _EVENT,
    "one event of empty lists": _EVENT,
    "one event of brackets": _EVENT,
    "text without end": _REPLY,
    "one line of text without end": _REPLY,
    "short lines without end": _REPLY,
    "a list without end": _REPLY,
    "a table without end": _REPLY,
    "quotes in quotes": _REPLY,
    "events of a letter": _STREAM,
    "reasoning without end": _REPLY,
    "a refusal without end": _REPLY,
    "reasoning blocks": "The reply has more than 500 parts; the first 500 are kept.",
    "JSON": _BODY,
    "JSON of empty lists": _BODY,
    "an error": _ERROR,
    "one argument at once": _EVENT,
    "one argument in pieces": _REPLY,
    "repeated keys": _REPLY,
    "tool calls": "The reply has more than 500 parts; the first 500 are kept.",
    "tool calls at once": _EVENT,
    "JSON paths": "The arguments of a tool call have more than 400,000 characters",
    "one JSON line": _EVENT,
    "blank JSON lines": _EVENT,
    "JSON lines of text": _REPLY,
    "JSON lines that say nothing": _STREAM,
    "blocks that never end": "The blocks of the reply have more than 500 beginnings",
}


INTERIM = {name for name, case in CASES.items() if case.before}


@pytest.fixture
def reduced(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ceilings that are reached quickly."""
    monkeypatch.setattr(client, "EVENT_SIZE", 300_000)
    monkeypatch.setattr(client, "BODY_SIZE", 300_000)
    monkeypatch.setattr(client, "STREAM_SIZE", 1_500_000)
    monkeypatch.setattr(reply_limits, "REPLY_SIZE", 400_000)
    monkeypatch.setattr(gemini_stream, "REPLY_SIZE", 400_000)
    monkeypatch.setattr(reply_limits, "MOST_PIECES", 500)
    monkeypatch.setattr(anthropic, "MOST_PIECES", 500)
    monkeypatch.setattr(json_text, "UNCHECKED_LENGTH", 10_000)
    monkeypatch.setattr(json_text, "MAX_VALUES", 20_000)


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The processor's time of every step on the event loop, in seconds. `asyncio` has no public
    place to measure each of them; its debug mode reports only steps over a limit of real time.
    """
    taken: list[float] = []
    run = asyncio.Handle._run

    def timed(handle: asyncio.Handle) -> None:
        began = time.thread_time()
        run(handle)
        taken.append(time.thread_time() - began)

    monkeypatch.setattr(asyncio.Handle, "_run", timed)
    return taken


async def meet(name: str, server: HostileServer, make_workspace):
    """Send to a case, and return the reply's entry as it ended."""
    endpoint = server.endpoint(name)
    workspace, _ = await make_workspace(
        "hostile", "m", endpoints=(*ENDPOINTS, endpoint), sent=["Hi."]
    )
    return workspace.state.entries[-1]


def test_every_case_is_expected():
    assert SAID.keys() | INTERIM == CASES.keys()


@pytest.mark.parametrize("name", sorted(INTERIM))
async def test_a_reply_that_never_begins_can_be_stopped(name: str, make_workspace):
    async with serve_hostile(SIZE) as server:
        endpoint = server.endpoint(name)
        workspace, heard = await make_workspace("hostile", "m", endpoints=(*ENDPOINTS, endpoint))
        assert await workspace.replies.submit("Hi.")
        await workspace.replies.stop()
        await settled(workspace, heard)
    assert workspace.state.entries[-1].status == "stopped"


@each_row("name", SAID)
async def test_endless_output_is_stopped_at_a_limit(
    name: str, make_workspace, reduced: None, steps: list[float]
):
    async with serve_hostile(SIZE) as server:
        entry = await meet(name, server, make_workspace)
    assert entry.status == "failed"
    assert SAID[name] in entry.error
    assert "\n" not in entry.error
    message = entry.message
    case = CASES[name]
    if case.status == 200 and "json" not in case.kind:
        thoughts = "".join(block.text for block in message.reasoning)
        assert message.content.startswith("Hello.") or "|a|" in message.content or thoughts
    size = len(message.content) + sum(len(call.arguments) for call in message.tool_calls)
    assert size <= reply_limits.REPLY_SIZE
    assert len(message.tool_calls) <= reply_limits.MOST_PIECES
    assert max(steps) < LONGEST_STEP


async def test_one_event_below_its_limit_is_kept_whole(make_workspace, reduced: None):
    async with serve_hostile(250_000) as server:
        entry = await meet("one event of newlines", server, make_workspace)
    assert (entry.status, entry.error) == ("complete", "")
    assert entry.message.content == "Hello." + "a\n" * (250_000 // 3)


async def test_many_small_values_in_one_event_are_refused(make_workspace, reduced: None):
    async with serve_hostile(250_000) as server:
        entry = await meet("one event of empty lists", server, make_workspace)
    assert entry.status == "failed"
    assert _UNREADABLE in entry.error
    assert entry.message.content == "Hello."


@each_row("name", ["JSON", "gzip of JSON", "an error", "gzip of an error"])
async def test_an_endless_list_of_models_is_not_read(
    name: str, monkeypatch: pytest.MonkeyPatch, steps: list[float]
):
    monkeypatch.setattr(discovery, "MAX_LIST_BYTES", 300_000)
    http_client = HttpClient()
    async with serve_hostile(SIZE) as server:
        kind = Refused if "error" in name else ProviderError
        words = "refused" if "error" in name else "The answer is larger than"
        with pytest.raises(kind, match=words):
            await list_models(server.endpoint(name), http_client)
        await http_client.aclose()
    assert max(steps) < LONGEST_STEP


async def test_of_a_list_of_too_many_models_the_rest_is_ignored():
    names = [{"id": f"m{number}"} for number in range(discovery.MAX_MODELS + 1)]
    assert len(discovery.model_names({"data": names})) == discovery.MAX_MODELS
    assert discovery.model_names({"data": [{"id": "m"}, {"id": "x" * 501}]}) == ("m",)


@each_row("encoding", ["br", "zstd", "gzip, gzip", "x" * 9999])
async def test_an_unrequested_encoding_is_refused(encoding: str, make_workspace, monkeypatch):
    case = CASES["one event"]
    monkeypatch.setitem(CASES, "one event", type(case)(case.body, encoding=encoding))
    async with serve_hostile(1000) as server:
        entry = await meet("one event", server, make_workspace)
    assert entry.status == "failed"
    assert "which was not requested" in entry.error
    assert len(entry.error) < 200


@each_row("protocol", Protocol)
def test_only_bounded_encodings_are_requested(protocol: Protocol):
    sent = new_client("none", {}).headers["accept-encoding"]
    assert sent == "gzip, deflate"
