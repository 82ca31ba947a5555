"""What lets the offline provider stand in for real ones: scripts, caches, encodings, schemas."""

from __future__ import annotations

import gzip
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from backports import zstd

from tests.support.tables import each_row
from tui_chat.plugins.practice.provider import PracticeTransport
from tui_chat.plugins.practice.script import read_script
from tui_chat.providers.server import LoopbackServer

from .provider_messages import read_reply, request

CLAUDE = {"anthropic-version": "2023-06-01"}
TOOLS = [
    {"name": "first", "input_schema": {"type": "object", "properties": {}}},
    {
        "name": "second",
        "input_schema": {
            "type": "object",
            "properties": {"n": {"type": "number"}, "half": {"type": "number", "minimum": 0.5}},
        },
    },
]


def user(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}


class Provider:
    """A client of a running provider."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self._client = client

    async def claude(self, messages: list[Any], model: str = "script", **more: Any) -> Any:
        body = {"model": model, "max_tokens": 5000, "messages": messages, **more}
        reply = await self._client.post("/v1/messages", json=body, headers=CLAUDE)
        return reply.json() | {"status": reply.status_code}

    async def chat(self, messages: list[Any], model: str = "echo", **more: Any) -> Any:
        body = {"model": model, "messages": messages, **more}
        return (await self._client.post("/v1/chat/completions", json=body)).json()

    async def post(self, path: str, **more: Any) -> httpx.Response:
        return await self._client.post(path, **more)


@asynccontextmanager
async def provider(clock: Any = None, **options: Any) -> AsyncIterator[Provider]:
    practice = PracticeTransport(clock and clock.dependencies, **options)
    async with (
        LoopbackServer(practice) as server,
        httpx.AsyncClient(base_url=server.base_url, timeout=20) as client,
    ):
        yield Provider(client)


SCRIPT = [
    "Hello.",
    {"reasoning": "Hm.", "text": "Wait", "tool_calls": [{"name": "Read", "arguments": {"n": 1}}]},
    {"fail": [529, 429], "text": "Done."},
]


async def test_a_script_is_played_turn_by_turn(clock):
    script = read_script(json.dumps(SCRIPT).encode())
    async with provider(clock, script=script, alias="script") as offline:
        messages: list[Any] = [user("Hi")]
        one = await offline.claude(messages, "claude-sonnet-4-5")
        assert one["content"] == [{"type": "text", "text": "Hello.", "citations": None}] or (
            one["content"][0]["text"] == "Hello."
        )
        messages += [{"role": "assistant", "content": one["content"]}, user("Go on")]
        again = [await offline.claude(messages) for _ in range(2)]
        for two in again:  # a retry gets the same reply
            assert [block["type"] for block in two["content"]] == ["thinking", "text", "tool_use"]
            assert (two["content"][2]["name"], two["content"][2]["input"]) == ("Read", {"n": 1})
            assert two["stop_reason"] == "tool_use"
        result = {"type": "tool_result", "tool_use_id": two["content"][2]["id"], "content": "x"}
        messages += [{"role": "assistant", "content": two["content"]},
                     {"role": "user", "content": [result]}]  # fmt: skip
        tries = [await offline.claude(messages) for _ in range(3)]
        assert [each["status"] for each in tries] == [529, 429, 200]
        assert tries[2]["content"][0]["text"] == "Done."
        messages += [{"role": "assistant", "content": "Done."}, user("And?")]
        last = await offline.claude(messages)
        assert last["content"][0]["text"] == "The script has no more replies."


async def test_several_scripts_are_told_apart_by_how_a_conversation_begins():
    scripts = [{"when": "subagent", "replies": ["I help."]}, {"replies": ["Main."]}]
    script = read_script(json.dumps({"scripts": scripts}).encode())
    async with provider(script=script) as offline:
        one = await offline.chat([user("do it")], "script")
        system = {"role": "system", "content": "You are a subagent"}
        two = await offline.chat([system, user("do it")], "script")
        texts = [each["choices"][0]["message"]["content"] for each in (one, two)]
        assert texts == ["Main.", "I help."]


@pytest.mark.parametrize("end", ["cut", "error"])
async def test_a_scripted_reply_can_break_off(end: str):
    script = read_script(json.dumps([{"text": "Half", "end": end}]).encode())
    async with provider(script=script) as offline:
        body = {"model": "script", "messages": [user("x")], "stream": True}
        if end == "cut":
            with pytest.raises(httpx.RemoteProtocolError):
                await offline.post("/v1/chat/completions", json=body)
        else:
            assert '"error"' in (await offline.post("/v1/chat/completions", json=body)).text


@each_row(
    ("data", "told"),
    [
        (b"[", "line 1, column 2: is not JSON"),
        (b"[]", "replies"),
        (b"[1]", "replies[0]: must be an object"),
        (b'[{"txt": "x"}]', "replies[0].txt: is unknown; known are text"),
        (b'[{"tool_calls": [{}]}]', "replies[0].tool_calls[0].name"),
        (
            b'[{"tool_calls": [{"name": "x", "arguments": "y"}]}]',
            "replies[0].tool_calls[0].arguments: must be an object",
        ),
        (b'[{"tool_calls": [{"name": ""}]}]', "replies[0].tool_calls[0].name: must not be empty"),
        (b'[{"fail": [418]}]', "replies[0].fail[0]: must be one of 429, 500, 529"),
        (b'[{"end": "never"}]', "replies[0].end"),
        (b'{"scripts": [{"when": 1, "replies": ["x"]}]}', "scripts[0].when"),
        (b'{"scripts": [1]}', "scripts[0]: must be an object"),
        (b'{"scripts": []}', "scripts: must be a list"),
    ],
)
def test_a_bad_script_is_explained(data: bytes, told: str):
    with pytest.raises(ValueError) as caught:
        read_script(data)
    assert told in str(caught.value)


async def test_toolsmith_calls_the_named_tool_with_whole_numbers():
    async with provider() as offline:
        reply = await offline.claude([user("x")], "toolsmith:second", tools=TOOLS)
        assert reply["content"][0]["input"] == {"n": 1, "half": 0.5}
        assert '"n":1,' in json.dumps(reply, separators=(",", ":"))
        reply = await offline.claude([user("x")], "toolsmith:third", tools=TOOLS)
        assert "No tool `third` was declared" in reply["content"][0]["text"]
        reply = await offline.claude([user("x")], "toolsmith", tools=TOOLS)
        assert reply["content"][0]["name"] == "first"


async def test_unknown_models_are_an_alias_on_request():
    async with provider(alias="echo") as offline:
        assert (await offline.claude([user("x")], "claude-x"))["content"][0]["text"] == "x"
        headers = {"content-type": "application/json", **CLAUDE}
        body = {"model": "claude-x", "messages": [user("x")]}
        counted = await offline.post("/v1/messages/count_tokens", json=body, headers=headers)
        assert counted.json() == {"input_tokens": 1}
    async with provider() as offline:
        assert (await offline.claude([user("x")], "claude-x"))["status"] == 404


@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
async def test_compressed_requests_are_read(encoding: str):
    encode = {"gzip": gzip.compress, "zstd": zstd.compress}[encoding]
    body = json.dumps({"model": "echo", "messages": [user("packed")]}).encode()
    async with provider() as offline:
        headers = {"content-encoding": encoding}
        reply = await offline.post("/v1/chat/completions", content=encode(body), headers=headers)
        assert reply.json()["choices"][0]["message"]["content"] == "packed"
        reply = await offline.post("/v1/chat/completions", content=body, headers=headers)
        assert reply.status_code == 400
        bomb = encode(b" " * (65 << 20))
        reply = await offline.post("/v1/chat/completions", content=bomb, headers=headers)
        assert reply.status_code == 400


SCHEMA = {
    "type": "object",
    "properties": {"title": {"type": "string"}, "count": {"type": "integer", "minimum": 3}},
    "required": ["title", "count"],
}
JSON_SCHEMA = {"type": "json_schema", "schema": SCHEMA}
FORMATS: dict[str, dict[str, Any]] = {
    "openai_chat": {"response_format": {"type": "json_schema", "json_schema": {"schema": SCHEMA}}},
    "openai_responses": {"text": {"format": JSON_SCHEMA}},
    "anthropic": {"output_config": {"format": JSON_SCHEMA}},
    "gemini": {
        "generationConfig": {"responseMimeType": "application/json", "responseSchema": SCHEMA}
    },
    "ollama": {"format": SCHEMA},
}


@each_row("protocol", FORMATS)
async def test_a_schema_is_obeyed(protocol: str):
    path, body = request(protocol, "echo", "x")
    async with provider() as offline:
        reply = await offline.post(path, json=body | FORMATS[protocol], headers=CLAUDE)
        answer = json.loads(read_reply(protocol, reply).text)
        assert isinstance(answer["title"], str)
        assert answer["count"] >= 3


async def test_a_models_own_json_and_tool_calls_stay():
    async with provider() as offline:
        mode = {"response_format": {"type": "json_object"}}
        reply = await offline.chat([user('{"mine": 1}')], **mode)
        assert reply["choices"][0]["message"]["content"] == '{"mine": 1}'
        reply = await offline.chat([user("text")], **mode)
        assert json.loads(reply["choices"][0]["message"]["content"]) == {"answer": "text"}


# --- the prompt cache --------------------------------------------------------------------------


async def test_openai_caches_the_beginning_in_steps():
    async with provider() as offline:
        messages: list[Any] = [user("word " * 2000)]

        async def cached(messages: list[Any], model: str = "echo") -> tuple[int, int]:
            usage = (await offline.chat(messages, model))["usage"]
            return usage["prompt_tokens_details"]["cached_tokens"], usage["prompt_tokens"]

        assert await cached(messages) == (0, 2500)
        read, total = await cached([*messages, {"role": "assistant", "content": "Yes"}, user("Go")])
        assert total - 300 < read <= total
        assert read % 128 == 0
        assert await cached([user("Other " + "word " * 2000)]) == (0, 2502)
        assert (await cached(messages, "thinker"))[0] == 0
        changed = [user("word " * 1000 + "changed " + "word " * 1000)]
        assert 1024 <= (await cached(changed))[0] < 1300
        short = [user("word " * 100)]
        assert [await cached(short), await cached(short)] == [(0, 125), (0, 125)]


async def test_anthropic_caches_up_to_marks_for_minutes(clock):
    async with provider(clock) as offline:
        mark = {"cache_control": {"type": "ephemeral"}}
        hour = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}

        def block(text: str, **more: Any) -> dict[str, Any]:
            return {"type": "text", "text": text, **more}

        async def usage(system: Any, *messages: Any) -> tuple[int, int, int]:
            found = (await offline.claude(list(messages), "echo", system=system))["usage"]
            keys = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
            return tuple(found[key] for key in keys)

        system = [block("rule " * 2000, **mark)]
        plain, written, read = await usage(system, user("Hi"))
        assert written > 2300
        assert read == 0
        assert plain < 30
        assert (await usage(system, user("Hi again")))[1:] == (0, written)
        clock.time += 200
        assert (await usage(system, user("Hi again")))[2] == written  # which renews it
        clock.time += 200
        assert (await usage(system, user("Hi again")))[2] == written
        clock.time += 301
        assert (await usage(system, user("Hi again")))[1:] == (written, 0)
        changed = [block("rule " * 1999 + "!", **mark)]
        assert (await usage(changed, user("Hi")))[2] == 0
        assert await usage([block("rule " * 2000)], user("Hi")) == (plain + written, 0, 0)
        longer = {"role": "user", "content": [block("more " * 1000, **hour)]}
        _, more, before = await usage(system, longer)
        assert before == written
        assert more == pytest.approx(1250, abs=30)
        found = (await offline.claude([longer], "echo", system=system))["usage"]
        assert found["cache_read_input_tokens"] == before + more
        clock.time += 3000
        assert (await usage(system, longer))[2] == before + more


async def test_gemini_reports_cached_tokens():
    async with provider() as offline:
        body = {"contents": [{"role": "user", "parts": [{"text": "word " * 2000}]}]}
        path = "/v1beta/models/echo:generateContent"
        one, two = [(await offline.post(path, json=body)).json() for _ in range(2)]
        assert "cachedContentTokenCount" not in one["usageMetadata"]
        assert two["usageMetadata"]["cachedContentTokenCount"] == 2432
