"""Replies of the practice models."""

from __future__ import annotations

import base64
import json
import zlib
from itertools import pairwise
from pathlib import Path

import httpx
import pytest

from tests.support.tables import each_row
from tests.support.workspace import CHANGING, LONG_TEXT, LOOPBACKS, cached_preset, put, say
from tui_chat.models.endpoint import Protocol
from tui_chat.models.text import OriginKind
from tui_chat.models.token_probabilities import probability, unpack_tokens
from tui_chat.plugins.practice.provider import PracticeTransport
from tui_chat.protocols.registry import protocol_of
from tui_chat.providers.response_recorder import read_recorded as read_response

from .conftest import Clock
from .provider_messages import PROTOCOLS, read_reply, request

every = each_row("protocol", PROTOCOLS)
both = each_row("stream", [False, True], ids=["whole", "stream"])

TRICKY = 'line one\r\nzwei 🌸 三\u2028four \u0000 `ticks` "quotes" \\ data: [DONE]\n\nend'


async def ask(client: httpx.AsyncClient, protocol: str, *args, **kwargs) -> httpx.Response:
    path, body = request(protocol, *args, **kwargs)
    return await client.post(path, json=body)


@every
@both
async def test_echo_repeats_exactly(client, protocol, stream):
    reply = read_reply(protocol, await ask(client, protocol, "echo", TRICKY, stream=stream))
    assert reply.text == TRICKY
    assert reply.finish in ("stop", "completed", "end_turn", "STOP")


@every
@each_row("model", ["mirror", "echo", "thinker", "researcher", "lorem:max:300", "toolsmith"])
async def test_stream_and_whole_agree(client, protocol, model):
    whole = read_reply(protocol, await ask(client, protocol, model, tools=model == "toolsmith"))
    path, body = request(protocol, model, tools=model == "toolsmith", stream=True)
    streamed = read_reply(protocol, await client.post(path, json=body))
    # the mirror tells whether it is streamed and how long the body was
    if model != "mirror":
        assert streamed == whole
    assert streamed.calls == whole.calls
    assert (streamed.input, streamed.finish) == (whole.input, whole.finish)
    assert whole.output > 0


@every
@both
async def test_researcher_cites_what_it_says(client, protocol, stream):
    response = await ask(client, protocol, "researcher", "é", stream=stream)
    known = Protocol(protocol)
    definition = protocol_of(known)
    if stream:
        reply, error = read_response(response.content, known)
        assert error is None
    else:
        reply = definition.read_reply(response.content)
    message = reply.message(known)
    found = message.about.references
    if known is Protocol.OLLAMA:
        assert not found.sources  # the protocol has none
        return
    assert [source.host for source in found.sources] == ["example.com", "rfc-editor.org"]


@every
async def test_toolsmith_reports_missing_tools(client, protocol):
    reply = read_reply(protocol, await ask(client, protocol, "toolsmith"))
    assert "declares no tools" in reply.text
    assert reply.calls == []


@every
async def test_a_limit_met_exactly_does_not_cut(client, protocol):
    text = "one two three four five six seven eight nine ten " * 2
    size = read_reply(protocol, await ask(client, protocol, "echo", text.strip())).output
    reply = read_reply(protocol, await ask(client, protocol, "echo", text.strip(), limit=size))
    assert reply.text == text.strip()
    assert reply.finish in ("stop", "completed", "end_turn", "STOP")


@each_row("protocol", ["openai_chat", "anthropic", "gemini", "ollama"])
@both
async def test_a_stop_sequence_is_never_sent(client, protocol, stream):
    text = "count ab abab abc STOP-HERE and more"
    response = await ask(client, protocol, "echo", text, stop="STOP-HERE", stream=stream)
    reply = read_reply(protocol, response)
    assert reply.text == "count ab abab abc "
    assert reply.finish in ("stop", "stop_sequence", "STOP")
    if protocol == "anthropic":
        assert b'"stop_sequence":"STOP-HERE"' in response.content


@each_row(
    ("model", "seconds"),
    [("lorem:60:600", 10.0), ("lorem:600:600", 1.0), ("lorem", 15.0), ("echo:10", 0.1)],
)
@both
async def test_the_name_sets_the_speed(client, clock: Clock, model, seconds, stream):
    start = clock.time
    await ask(client, "openai_chat", model, "hello", stream=stream)
    assert clock.time - start == pytest.approx(seconds, abs=0.01)


@each_row("model", ["lorem:max:5000", "echo", "mirror", "thinker"])
async def test_max_never_waits(client, clock: Clock, model):
    await ask(client, "openai_chat", model, stream=True)
    assert clock.slept == []


async def test_lorem_is_deterministic_and_rich(client):
    first = read_reply("openai_chat", await ask(client, "openai_chat", "lorem:max"))
    again = read_reply(
        "openai_chat", await ask(client, "openai_chat", "lorem:max", "else", stream=True)
    )
    assert first.text == again.text
    assert first.output == 900
    for token in ("```python", "```rust", "| --- |", "> ", "   - ", "🌸", "水", "# "):
        assert token in first.text
    long = read_reply("openai_chat", await ask(client, "openai_chat", "lorem:max:12345"))
    assert long.output == 12345
    assert long.text.startswith(first.text)


async def test_responses_are_not_stored_with_store_false(client):
    path, body = request("openai_responses", "echo")
    first = (await client.post(path, json=body | {"store": False})).json()
    assert first["store"] is False
    again = await client.post(path, json=body | {"previous_response_id": first["id"]})
    assert again.status_code == 400


@every
@both
async def test_picture_answers_with_a_picture(client, protocol, stream):
    response = await ask(client, protocol, "picture", "blue", stream=stream)
    known = Protocol(protocol)
    if stream:
        reply, error = read_response(response.content, known)
        assert error is None
    else:
        reply = protocol_of(known).read_reply(response.content)
    assert reply.text == "This is a small blue picture."
    if known is Protocol.ANTHROPIC:
        assert not reply.parts  # the protocol has none
        return
    (part,) = reply.parts
    assert (part.media, part.mime) == ("image", "image/png")
    png = base64.b64decode(part.data)
    assert png[12:24] == b"IHDR" + 2 * (64).to_bytes(4, "big")
    start, length = png.index(b"IDAT") + 4, int.from_bytes(png[33:37], "big")
    assert len(zlib.decompress(png[start : start + length])) == 64 * (1 + 3 * 64)


ASKED = {
    "openai_chat": {"logprobs": True, "top_logprobs": 3},
    "openai_responses": {"include": ["message.output_text.logprobs"], "top_logprobs": 3},
    "gemini": {"generationConfig": {"responseLogprobs": True, "logprobs": 3}},
    "ollama": {"logprobs": True, "top_logprobs": 3},
}


@both
@each_row("protocol", ASKED)
async def test_probabilities_of_tokens_are_sent_to_those_who_ask(client, protocol, stream):
    path, body = request(protocol, "echo", TRICKY, stream=stream)
    unasked = await client.post(path, json=body)
    response = await client.post(path, json=body | ASKED[protocol])
    assert response.status_code == 200
    reply, error = read_response(response.content, Protocol(protocol))
    tokens = unpack_tokens(str(reply.tokens))
    assert error is None
    assert "".join(token.text for token in tokens) == reply.text == TRICKY
    assert {len(token.alternatives) for token in tokens} == {3}
    assert str(read_response(unasked.content, Protocol(protocol))[0].tokens) == ""
    for token in tokens:
        total = sum(probability(other.logprob) for other in token.alternatives)
        assert 0 < total <= 1.001
        assert token.logprob in [other.logprob for other in token.alternatives]


# --- The mirror: does it show an author of presets where everything landed? ---------------


SECRET = "sk-very-secret"


async def mirror(client: httpx.AsyncClient, protocol: str, path: str, body: object) -> str:
    response = await client.post(path, json=body, headers={"x-api-key": SECRET})
    text = read_reply(protocol, response).text
    assert SECRET not in response.text
    return text


CASES = json.loads(Path(__file__).with_name("mirror_requests.json").read_text())


@each_row("protocol", CASES)
async def test_mirror_lists_every_part_in_order(client, protocol):
    case = CASES[protocol]
    text = await mirror(client, protocol, case["path"], case["body"])
    for line in case["lines"]:
        assert line in text, text


async def test_hostile_text_cannot_escape_its_fence(client):
    hostile = "```\n# not a heading\n``````\n</x>\n`````````` tail `"
    body = {
        "model": "mirror",
        "messages": [{"role": "system", "content": hostile}, {"role": "user", "content": "`"}],
    }
    text = await mirror(client, "openai_chat", "/v1/chat/completions", body)
    ticks = "`" * 11
    assert f"{ticks}text\n{hostile}\n{ticks}\n" in text
    assert "2. **user** `` ` `` (1 character)" in text


async def test_a_key_in_the_query_is_not_repeated(client):
    body = {"contents": [{"parts": [{"text": "hi"}]}]}
    path = f"/v1beta/models/mirror:generateContent?key={SECRET}"
    await mirror(client, "gemini", path, body)
    wrong = await client.post(f"/v1beta/nowhere?key={SECRET}", json=body)
    assert wrong.status_code == 404
    assert SECRET not in wrong.text


async def test_a_long_conversation_shows_both_ends(client):
    turns = [{"role": "user", "content": f"turn {i}"} for i in range(1, 10_001)]
    body = {"model": "mirror", "messages": turns}
    text = await mirror(client, "openai_chat", "/v1/chat/completions", body)
    assert "1. **user** `turn 1` (6 characters)" in text
    assert "10000. **user** `turn 10000` (10 characters)" in text
    assert "9,600 turns between" in text
    assert len(text) < 40_000


# --- Why requests of a session lost the prompt cache, as providers reported it ------------


CACHING = [
    endpoint.name
    for endpoint in LOOPBACKS
    if endpoint.protocol not in (Protocol.OLLAMA, Protocol.GEMINI)
]
"""Those of the other protocols report nothing, or no count of 0."""


def reported_losses(workspace) -> int:
    """The tokens that the usage of the replies says to have been cached and read again."""
    replies = [e for e in workspace.state.entries if e.message.role == "assistant"]
    lost = 0
    for before, now in pairwise(replies):
        is_anthropic = workspace.state.endpoint.protocol is Protocol.ANTHROPIC
        usage = before.usage
        written = (usage.cached or 0) + (usage.cache_write or 0) if is_anthropic else usage.input
        assert written is not None
        lost += max(written - (now.usage.cached or 0), 0)
    return lost


@each_row("endpoint", CACHING)
async def test_a_macro_that_changes_is_the_cause_of_each_loss(
    make_workspace, tmp_path: Path, endpoint: str
):
    put(tmp_path / "presets", "mine", cached_preset(f"It is {CHANGING}. {LONG_TEXT}"))
    workspace, heard = await make_workspace(
        endpoint=endpoint, model="echo", transport=PracticeTransport
    )
    await workspace.presets.choose("mine")
    await say(workspace, heard, "one", "two", "three")
    losses = await workspace.cache.losses(workspace.state.entries)
    assert len(losses) == 2
    assert all(loss.origin.kind is OriginKind.MACRO for loss in losses)
    assert all(loss.origin.outermost.id == "p0" for loss in losses)
    tokens = sum(loss.tokens for loss in losses)
    assert tokens == pytest.approx(reported_losses(workspace), rel=0.02)


async def test_a_request_that_only_grows_loses_nothing(make_workspace, tmp_path: Path):
    put(tmp_path / "presets", "mine", cached_preset(LONG_TEXT))
    workspace, heard = await make_workspace(transport=PracticeTransport)
    await workspace.presets.choose("mine")
    await say(workspace, heard, "one", "two", "three")
    assert workspace.state.entries[-1].usage.cached
    assert await workspace.cache.losses(workspace.state.entries) == []
