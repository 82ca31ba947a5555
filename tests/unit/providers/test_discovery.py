"""Servers on this machine, found when somebody asks: on real loopback sockets."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from tests.support.tables import each_row
from tests.support.vendors import ENDPOINTS, serve
from tests.unit.providers.conftest import Closing, Provider
from tui_chat.errors import ProviderError, Refused
from tui_chat.models.endpoint import Endpoint, ModelFacts, Protocol
from tui_chat.providers import discovery
from tui_chat.providers.client import HttpClient
from tui_chat.providers.discovery import discover_endpoints, list_models, merge_discovered

Answers = dict[str, object]

OLLAMA: Answers = {
    "/v1/models": {"object": "list", "data": [{"id": "qwen3:8b", "owned_by": "library"},
                                              {"id": "gemma3:4b", "owned_by": "library"}]},
    "/api/tags": {"models": [{"name": "qwen3:8b"}, {"name": "gemma3:4b"}]},
    "/api/ps": {"models": [{"name": "gemma3:4b", "context_length": 4096}]},
}  # fmt: skip
OLD_OLLAMA: Answers = {
    "/api/tags": {"models": [{"name": "llama2:7b"}]},
    "/api/ps": {"models": []},
}
LLAMA_CPP: Answers = {
    "/v1/models": {
        "object": "list",
        "models": [{"name": "other", "model": "other"}],
        "data": [{"id": "m.gguf", "owned_by": "llamacpp", "meta": {"n_ctx_train": 131072}}],
    },
    "/props": {"default_generation_settings": {"n_ctx": 8192}, "total_slots": 1},
}
LM_STUDIO: Answers = {
    "/v1/models": {"data": [{"id": "a", "owned_by": "organization_owner"}, {"id": "b"}]},
    "/api/v0/models": {
        "object": "list",
        "data": [
            {"id": "a", "state": "loaded", "max_context_length": 32768,
             "loaded_context_length": 4096},
            {"id": "b", "state": "not-loaded", "max_context_length": 32768},
        ],
    },
}  # fmt: skip
VLLM: Answers = {
    "/v1/models": {"data": [{"id": "org/m", "owned_by": "vllm", "max_model_len": 40960}]}
}


@asynccontextmanager
async def server(answers: Answers, seen: list[str] | None = None) -> AsyncIterator[int]:
    """Answer GET requests on a loopback socket; what is not JSON is sent as it is."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        path = head.split()[1]
        if seen is not None:
            seen.append(head)
        answer = answers.get(path)
        if answer is Ellipsis:
            await asyncio.sleep(60)
        found = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        status = "200 OK" if answer is not None else "404 Not Found"
        lines = (f"HTTP/1.1 {status}", f"Content-Length: {len(found)}", "Connection: close")
        writer.write("\r\n".join((*lines, "", "")).encode() + found)
        await writer.drain()
        writer.close()

    listening = await asyncio.start_server(handle, "127.0.0.1", 0)
    try:
        yield listening.sockets[0].getsockname()[1]
    finally:
        listening.close()


def at(port: int, name: str = "ollama") -> Endpoint:
    return Endpoint(name, Protocol.OPENAI_CHAT, f"http://127.0.0.1:{port}/v1")


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


KINDS = {
    "ollama": (OLLAMA, ("qwen3:8b", "gemma3:4b"), {"gemma3:4b": 4096, "qwen3:8b": None}),
    "old ollama": (OLD_OLLAMA, ("llama2:7b",), {"llama2:7b": None}),
    "llama.cpp": (LLAMA_CPP, ("m.gguf",), {"m.gguf": 8192}),
    "lm-studio": (LM_STUDIO, ("a", "b"), {"a": 4096, "b": None}),
    "vllm": (VLLM, ("org/m",), {"org/m": 40960}),
}


@each_row("kind", KINDS)
async def test_a_server_is_found_with_its_models_and_limits(kind: str, closing: Closing):
    answers, models, limits = KINDS[kind]
    client = closing(HttpClient())
    async with server(answers) as port:
        found = await discover_endpoints([at(port)], client)
    assert [(each.name, each.models) for each in found] == [("ollama", models)]
    assert found[0].base_url == f"http://127.0.0.1:{port}/v1"
    for model, limit in limits.items():
        assert found[0].facts_of(model) == ModelFacts(limit)


async def test_an_endpoint_of_ones_own_keeps_its_name_and_its_first_model(closing: Closing):
    async with server(OLLAMA) as port:
        mine = Endpoint(
            "mine", Protocol.OPENAI_CHAT, f"http://localhost:{port}/v1", models=("gemma3:4b",)
        )
        (found,) = await discover_endpoints([mine], closing(HttpClient()))
    assert (found.name, found.models) == ("mine", ("gemma3:4b", "qwen3:8b"))


NOBODY = {
    "a web site": {"/v1/models": b"<html>hello</html>"},
    "another JSON": {"/v1/models": {"hello": "world"}},
    "a list of nothing known": {"/v1/models": [1, 2]},
    "nothing at all": {},
    "silence": {"/v1/models": ..., "/api/tags": ...},
    "deep JSON": {"/v1/models": b"[" * 100_000},
}


@each_row("who", NOBODY)
async def test_a_server_without_a_model_list_is_not_found(
    who: str, closing: Closing, monkeypatch: pytest.MonkeyPatch
):
    if who == "silence":
        assert discovery.SERVER_SECONDS <= 3
        monkeypatch.setattr(discovery, "SERVER_SECONDS", 0.5)
    async with server(NOBODY[who]) as port, asyncio.timeout(60):
        assert await discover_endpoints([at(port)], closing(HttpClient())) == ()


async def test_a_missing_server_is_found_out_soon(closing: Closing):
    async with asyncio.timeout(60):
        assert await discover_endpoints([at(free_port())], closing(HttpClient())) == ()


async def test_only_this_machine_is_probed_and_no_key_is_sent(closing: Closing, provider: Provider):
    seen: list[str] = []
    client = closing(provider.client({"KEY": "sk-secret"}))
    async with server(OLLAMA, seen) as port:
        local = Endpoint("l", Protocol.OPENAI_CHAT, f"http://127.0.0.1:{port}/v1", key="env:KEY")
        remote = Endpoint("r", Protocol.OPENAI_CHAT, "https://provider.test/v1", key="env:KEY")
        found = await discover_endpoints([remote, local], client)
    assert [each.name for each in found] == ["l"]
    assert found[0].key == "env:KEY"
    assert provider.seen == []
    assert seen
    assert "sk-secret" not in "".join(seen)


async def test_the_models_of_each_protocol_are_listed(closing: Closing):
    client = closing(HttpClient())
    async with serve() as offline:
        for endpoint in ENDPOINTS[:4]:
            base = endpoint.base_url.replace("http://loopback.invalid", offline.base_url)
            there = Endpoint(endpoint.name, endpoint.protocol, base)
            assert "mirror" in await list_models(there, client)


@each_row(
    ("answers", "error"),
    [({}, Refused), ({"/v1/models": b"no"}, ProviderError), ({"/v1/models": {}}, ProviderError)],
)
async def test_a_missing_model_list_is_an_error(
    answers: Answers, error: type[Exception], closing: Closing
):
    async with server(answers) as port:
        with pytest.raises(error) as raised:
            await list_models(at(port), closing(HttpClient()))
    assert len(str(raised.value).split()) > 3


async def test_endpoints_of_one_server_all_get_its_models(closing: Closing):
    """LM Studio and vLLM serve Chat and Responses at one URL; the second had no models."""
    async with server(VLLM | {"/v1/models?limit=1000": VLLM["/v1/models"]}) as port:
        base = f"http://127.0.0.1:{port}/v1"
        known = (
            Endpoint("mine", Protocol.OPENAI_CHAT, base),
            Endpoint("remote", Protocol.OPENAI_CHAT, "https://provider.test/v1"),
            Endpoint("mine-too", Protocol.OPENAI_CHAT, base, models=("gone",)),
            Endpoint("mine-responses", Protocol.OPENAI_RESPONSES, base),
            Endpoint("vllm", Protocol.OPENAI_RESPONSES, base),
            Endpoint("mine-claude", Protocol.ANTHROPIC, f"http://127.0.0.1:{port}"),
        )
        found = await discover_endpoints(known, closing(HttpClient()))
    assert [each.name for each in found] == [
        "mine", "mine-too", "mine-responses", "vllm", "mine-claude",
    ]  # fmt: skip
    assert {each.models for each in found} == {("org/m",)}
    laid = merge_discovered(known, found)
    assert [each.name for each in laid] == [each.name for each in known]
    assert [bool(each.models) for each in laid] == [True, False, True, True, True, True]
