"""What the models say, in every protocol, streamed and not, through the transport."""

import base64
import zlib

import httpx
import pytest

from tests.support.tables import each_row
from tui_chat.models.endpoint import Protocol
from tui_chat.models.token_probabilities import probability, unpack_tokens
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
