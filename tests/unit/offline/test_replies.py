"""What the models say, in every protocol, streamed and not, through the transport."""

import base64
import json
import zlib

import httpx
import pytest

from tests.support.tables import each_row
from tui_chat.models.endpoint import Protocol
from tui_chat.models.token_probabilities import probability, unpack_tokens
from tui_chat.protocols.registry import protocol_of
from tui_chat.providers.response_recorder import read_recorded as read_response

from .conftest import Clock
from .provider_messages import PROTOCOLS, SCHEMA, events, read_reply, request

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
async def test_thinker_reasons_first(client, protocol, stream):
    response = await ask(client, protocol, "thinker", "one two three", stream=stream)
    reply = read_reply(protocol, response)
    assert "3 words" in reply.reasoning
    assert "**3** words" in reply.text
    if stream:
        at = response.text.index
        assert at('Reading"') < at('" thought"')


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
    found = message.semantics.references
    cited = [message.content[each.start : each.end] for each in found.citations]
    if known is Protocol.OLLAMA:
        assert not found.sources  # the protocol has none
        return
    assert [source.host for source in found.sources] == ["example.com", "rfc-editor.org"]
    assert cited == [
        "The domain **example.com** is reserved for documents like this one.",
        " So are names that end in `.example`: nobody can register one.",
    ]


async def test_reasoning_is_signed_as_each_provider_does(client):
    chat = (await ask(client, "openai_chat", "thinker")).json()["choices"][0]["message"]
    assert chat["reasoning_content"]
    item = (await ask(client, "openai_responses", "thinker")).json()["output"][0]
    assert item["type"] == "reasoning"
    assert item["encrypted_content"].startswith("gAAAAA")
    block = (await ask(client, "anthropic", "thinker")).json()["content"][0]
    assert block["type"] == "thinking"
    assert block["signature"]
    parts = (await ask(client, "gemini", "thinker")).json()["candidates"][0]["content"]["parts"]
    assert [part.get("thought", False) for part in parts] == [True, False]
    assert parts[1]["thoughtSignature"]


async def test_anthropic_signature_closes_the_thinking_block(client):
    seen = [d for _, d in events(await ask(client, "anthropic", "thinker", stream=True))]
    at = next(i for i, d in enumerate(seen) if d.get("delta", {}).get("type") == "signature_delta")
    assert seen[at - 1]["delta"]["type"] == "thinking_delta"
    assert seen[at + 1] == {"type": "content_block_stop", "index": 0}


async def test_gemini_signature_is_on_the_last_empty_text(client):
    last = events(await ask(client, "gemini", "thinker", stream=True))[-1][1]
    (part,) = last["candidates"][0]["content"]["parts"]
    assert part["text"] == ""
    assert part["thoughtSignature"]


@every
@both
async def test_toolsmith_calls_the_declared_tool(client, protocol, stream):
    reply = read_reply(
        protocol, await ask(client, protocol, "toolsmith", tools=True, stream=stream)
    )
    assert reply.calls == [("weather", {"city": "example city", "days": 2})]
    assert set(SCHEMA["properties"]) == set(reply.calls[0][1])
    assert reply.text == ""
    unnamed = {"openai_responses": "completed", "gemini": "STOP", "ollama": "stop"}
    assert reply.finish == unnamed.get(protocol, reply.finish)
    assert reply.finish in ("tool_calls", "tool_use", *unnamed.values())


@every
async def test_toolsmith_reports_missing_tools(client, protocol):
    reply = read_reply(protocol, await ask(client, protocol, "toolsmith"))
    assert "declares no tools" in reply.text
    assert reply.calls == []


@every
@both
async def test_the_limit_cuts_and_is_the_finish_reason(client, protocol, stream):
    response = await ask(client, protocol, "lorem:max", limit=20, stream=stream)
    reply = read_reply(protocol, response)
    assert reply.output == 20
    assert reply.finish in ("length", "max_output_tokens", "max_tokens", "MAX_TOKENS")
    assert reply.text


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


@each_row("protocol", ["openai_chat", "anthropic", "gemini", "ollama"])
async def test_text_that_only_begins_like_a_stop_is_sent(client, protocol):
    reply = read_reply(protocol, await ask(client, protocol, "echo", "so it ST", stop="STOP"))
    assert reply.text == "so it ST"


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


async def test_openai_usage_chunk_only_on_request(client):
    path, body = request("openai_chat", "echo", stream=True)
    del body["stream_options"]
    chunks = [d for _, d in events(await client.post(path, json=body)) if d != "[DONE]"]
    assert all("usage" not in chunk and chunk["choices"] for chunk in chunks)
    payloads = [d for _, d in events(await ask(client, "openai_chat", "echo", stream=True))]
    assert payloads[-2]["choices"] == []
    assert payloads[-2]["usage"]["prompt_tokens_details"]["cached_tokens"] == 0
    assert all(chunk["usage"] is None for chunk in payloads[:-2])


async def test_responses_events_are_named_and_numbered(client):
    seen = events(await ask(client, "openai_responses", "thinker", stream=True))
    assert [data["sequence_number"] for _, data in seen] == list(range(len(seen)))
    assert all(name == data["type"] for name, data in seen)
    kinds = list(dict.fromkeys(name.removeprefix("response.") for name, _ in seen))
    assert kinds == [
        "created",
        "in_progress",
        "output_item.added",
        "reasoning_summary_part.added",
        "reasoning_summary_text.delta",
        "reasoning_summary_text.done",
        "reasoning_summary_part.done",
        "output_item.done",
        "content_part.added",
        "output_text.delta",
        "output_text.done",
        "content_part.done",
        "completed",
    ]
    added, done = (
        [d["item"] for name, d in seen if name == f"response.output_item.{end}"]
        for end in ("added", "done")
    )
    assert [item["id"] for item in added] == [item["id"] for item in done]
    assert added[0]["encrypted_content"] != done[0]["encrypted_content"]
    assert seen[-1][1]["response"]["output"] == done


async def test_responses_continue_a_stored_response(client):
    first = (await ask(client, "openai_responses", "echo", "my name is Ada")).json()
    path, body = request("openai_responses", "mirror", "who am I?")
    body["previous_response_id"] = first["id"]
    text = read_reply("openai_responses", await client.post(path, json=body)).text
    assert "1. **user** `my name is Ada`" in text
    assert "2. **assistant** `my name is Ada`" in text
    assert "3. **user** `who am I?`" in text
    body["previous_response_id"] = "resp_unknown"
    refused = await client.post(path, json=body)
    assert refused.status_code == 400
    assert "'resp_unknown' not found" in refused.json()["error"]["message"]


async def test_responses_are_not_stored_with_store_false(client):
    path, body = request("openai_responses", "echo")
    first = (await client.post(path, json=body | {"store": False})).json()
    assert first["store"] is False
    again = await client.post(path, json=body | {"previous_response_id": first["id"]})
    assert again.status_code == 400


async def test_gemini_streams_crlf_without_an_end_mark(client):
    response = await ask(client, "gemini", "echo", "a b c", stream=True)
    assert response.headers["content-type"] == "text/event-stream"
    blocks = response.content.split(b"\r\n\r\n")
    assert blocks.pop() == b""
    assert all(block.startswith(b"data: {") and b"\n" not in block for block in blocks)
    assert json.loads(blocks[-1][6:])["candidates"][0]["finishReason"] == "STOP"


async def test_gemini_without_sse_streams_an_array(client):
    path, body = request("gemini", "echo", "a b c", stream=True)
    response = await client.post(path.partition("?")[0], json=body)
    text = "".join(
        part["text"]
        for chunk in response.json()
        for part in chunk["candidates"][0]["content"]["parts"]
    )
    assert text == "a b c"
    assert response.headers["content-type"].startswith("application/json")


async def test_text_comes_in_pieces_like_tokens(client):
    text = "The quick brown fox jumps over the lazy dog, 12345 times. " * 20
    seen = events(await ask(client, "anthropic", "echo", text.strip(), stream=True))
    pieces = [d["delta"]["text"] for _, d in seen if d.get("delta", {}).get("type") == "text_delta"]
    assert max(map(len, pieces)) <= 8
    assert 3 < len(text) / len(pieces) < 6


async def test_a_huge_echo_is_not_a_million_events(client):
    text = "word " * 60_000
    response = await ask(client, "gemini", "echo", text.strip(), stream=True)
    assert read_reply("gemini", response).text == text.strip()
    assert response.content.count(b"\r\n\r\n") < 20_000


async def test_count_tokens_agrees_with_usage(client):
    path, body = request("anthropic", "echo", "some words to count", tools=True)
    used = (await client.post(path, json=body)).json()["usage"]["input_tokens"]
    del body["max_tokens"]
    counted = await client.post("/v1/messages/count_tokens", json=body)
    assert counted.json() == {"input_tokens": used}
    path, body = request("gemini", "echo", "some words to count")
    used = (await client.post(path, json=body)).json()["usageMetadata"]["promptTokenCount"]
    counted = await client.post("/v1beta/models/echo:countTokens", json=body)
    assert counted.json() == {"totalTokens": used}


async def test_ollama_streams_lines_by_default(client):
    path, body = request("ollama", "thinker", "a b c")
    del body["stream"]
    response = await client.post(path, json=body)
    assert response.headers["content-type"] == "application/x-ndjson"
    lines = [json.loads(line) for line in response.content.split(b"\n")[:-1]]
    assert lines[0]["message"] == {"role": "assistant", "content": "", "thinking": "**"}
    assert lines[0]["created_at"].endswith("Z")
    assert (lines[-1]["message"]["content"], lines[-1]["done_reason"]) == ("", "stop")
    durations = ("total_duration", "load_duration", "prompt_eval_duration", "eval_duration")
    assert all(isinstance(lines[-1][name], int) for name in durations)


@both
async def test_ollama_only_loads_a_model_without_messages(client, stream):
    response = await client.post("/api/chat", json={"model": "echo", "stream": stream})
    body = response.json()
    assert (body["done"], body["done_reason"], body["message"]["content"]) == (True, "load", "")


async def test_ollama_lists_its_models(client):
    models = (await client.get("/api/tags")).json()["models"]
    assert models[0]["name"] == models[0]["model"] == "mirror"


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
    assert reply.text == "The colors of this picture follow from your message."
    if known is Protocol.ANTHROPIC:
        assert not reply.parts  # the protocol has none
        return
    (part,) = reply.parts
    assert (part.kind, part.mime) == ("image", "image/png")
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
