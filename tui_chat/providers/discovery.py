"""The models of an endpoint (`GET /models`, in the form of each protocol), and the discovery of
model servers on this machine: Ollama, llama.cpp, LM Studio, vLLM and similar.

1. Discovery runs only on request. The program never probes by itself.
2. Only loopback addresses are probed, without key or proxy, with short timeouts.
3. Any program may listen there: an answer counts only if it is a list of models, and only its
   first `_MAX_BODY` bytes are read.
4. A context length that the server reports is adopted if the server really keeps that much:
   Ollama and LM Studio silently cut a conversation at the length a model was loaded with,
   whatever the model itself could do.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, cast
from urllib.parse import urlsplit

from tui_chat.errors import ProviderError, Refused, TuiChatError
from tui_chat.models.endpoint import Endpoint, Protocol, Retries, Timeouts
from tui_chat.models.json_text import as_object, decode_lenient, objects_in
from tui_chat.models.model_facts import ModelFacts
from tui_chat.protocols.common.error_body import response_error
from tui_chat.protocols.registry import protocol_of, request_url
from tui_chat.providers.client import HttpClient, IncomingResponse, OutgoingRequest
from tui_chat.providers.failures import is_loopback

MAX_LIST_BYTES = 8_000_000
"""Bytes of a model list that are read. OpenRouter's has one and a half million."""
MAX_MODELS = 10_000
"""Models of one endpoint that are read. OpenRouter has five hundred."""
MAX_NAME_LENGTH = 500
"""Characters of a model name; an entry with a longer one is skipped."""
PROBE_TIMEOUTS = Timeouts(connect=0.5, silence=1.5)
SERVER_SECONDS = 3.0
"""Seconds for all requests to one server together."""

_MAX_BODY = 1024 * 1024


def get_request(endpoint: Endpoint, path: str, timeouts: Timeouts | None = None) -> OutgoingRequest:
    """Return a GET request to an endpoint that is not retried.

    `timeouts` replaces the endpoint's own.
    """
    definition = protocol_of(endpoint.protocol)
    configured = {name.lower() for name, _ in endpoint.headers}
    defaults = (("Accept", "application/json"), *definition.headers(endpoint))
    return OutgoingRequest(
        method="GET",
        url=request_url(endpoint, path),
        headers=(
            *(header for header in defaults if header[0].lower() not in configured),
            *endpoint.headers,
        ),
        body=b"",
        secrets=endpoint.secret_values,
        key=endpoint.key,
        key_owner=endpoint.name,
        key_header=endpoint.key_header(definition.key_header),
        proxy=endpoint.proxy,
        timeouts=timeouts or endpoint.timeouts,
        retries=Retries(times=0),
    )


async def list_models(
    endpoint: Endpoint, client: HttpClient, timeouts: Timeouts | None = None
) -> tuple[str, ...]:
    """Return the names of an endpoint's models, in its order.

    Raises KeyMissing, Unreachable, Refused, ReplyCut; ProviderError if the answer is not a list of
    models.
    """
    async with client.open(
        get_request(endpoint, protocol_of(endpoint.protocol).models_path(endpoint), timeouts)
    ) as response:
        body = await _successful_body(endpoint, response)
    return model_names(await asyncio.to_thread(_parse_json, body))


async def check_key(endpoint: Endpoint, client: HttpClient) -> None:
    """Ask an endpoint whether it accepts its key. Raises what `list_models` does."""
    if urlsplit(endpoint.base_url).hostname == "openrouter.ai":
        # Its list of models needs no key. https://openrouter.ai/docs/api-reference/limits
        async with client.open(get_request(endpoint, "/key")) as response:
            await _successful_body(endpoint, response)
    else:
        await list_models(endpoint, client)


def model_names(body: object) -> tuple[str, ...]:
    """Return the names in a parsed model list of any known form. Raises ProviderError."""
    if isinstance(body, dict):
        fields = cast("dict[str, Any]", body)
        for key, name in (("data", "id"), ("models", "name")):
            if isinstance(fields.get(key), list):
                entries = [cast("dict[str, Any]", e) for e in fields[key] if isinstance(e, dict)]
                listed = [e.get(name) or e.get("id") or e.get("model") for e in entries]
                return tuple(
                    model.removeprefix("models/")
                    for model in listed[:MAX_MODELS]
                    if isinstance(model, str) and 0 < len(model) <= MAX_NAME_LENGTH
                )
    raise ProviderError(
        "The answer is not a list of models.", advice="Check the endpoint's base_url and protocol."
    )


async def _successful_body(endpoint: Endpoint, response: IncomingResponse) -> bytes:
    if not 200 <= response.status < 300:
        body, _ = await response.read_start()
        masked = response.key_mask.mask_error_bytes(body)
        refused: Refused = response_error(response.status, masked)
        raise refused
    return response.key_mask.mask_bytes(await response.read_body(MAX_LIST_BYTES))


def _parse_json(body: bytes) -> object:
    try:
        return decode_lenient(body.decode("utf-8-sig", "replace"))
    except ValueError:
        raise ProviderError(
            "The answer is not a list of models: it is not JSON.",
            advice="Check the endpoint's base_url; does it lack a version such as /v1?",
        ) from None


async def discover_endpoints(
    endpoints: Iterable[Endpoint], client: HttpClient
) -> tuple[Endpoint, ...]:
    """Return the `endpoints` at loopback addresses whose servers answer, completed with the models
    and context limits that the servers report. Raises nothing; takes at most `SERVER_SECONDS`.
    """
    local = [endpoint for endpoint in endpoints if is_loopback(endpoint.base_url)]
    answers = await asyncio.gather(*(_probe(endpoint, client) for endpoint in local))
    found: list[Endpoint] = []
    for endpoint, answer in zip(local, answers, strict=True):
        if answer is not None:
            names, limits = answer
            reported = ((name, ModelFacts(limits[name])) for name in limits if name in names)
            models = dict.fromkeys((*(m for m in endpoint.models if m in names), *names))
            facts = (*reported, *endpoint.server_facts)
            found.append(replace(endpoint, models=tuple(models), server_facts=facts))
    return tuple(found)


def merge_discovered(
    endpoints: Sequence[Endpoint], discovered: Sequence[Endpoint]
) -> tuple[Endpoint, ...]:
    """Return the endpoints, each replaced by its discovered version if there is one."""
    found = {(each.name, each.base_url, each.protocol): each for each in discovered}
    return tuple(found.get((each.name, each.base_url, each.protocol), each) for each in endpoints)


async def _probe(
    endpoint: Endpoint, client: HttpClient
) -> tuple[tuple[str, ...], dict[str, int]] | None:
    """Return the models that an endpoint's server reports, and their context lengths in tokens
    where it reports them; None if nothing there answers with models.
    """
    bare = replace(endpoint, key="", proxy="none", query=())
    try:
        async with asyncio.timeout(SERVER_SECONDS):
            host = urlsplit(endpoint.base_url)._replace(path="", query="", fragment="")
            root = replace(bare, protocol=Protocol.OPENAI_CHAT, base_url=host.geturl())
            listed = await _get(bare, protocol_of(bare.protocol).models_path(bare), client)
            if listed is None:
                listed = await _get(root, "/api/tags", client)
            names = model_names(listed)
            return (names, await _limits_of(root, listed, client)) if names else None
    except (TimeoutError, ProviderError):
        return None


async def _limits_of(root: Endpoint, listed: object, client: HttpClient) -> dict[str, int]:
    """Return the context lengths of a server's models, as the program that it is reports them."""
    entries = list(objects_in(as_object(listed).get("data")))
    owners = {entry.get("owned_by") for entry in entries}
    if "llamacpp" in owners:
        props = as_object(await _get(root, "/props", client))
        limit = as_object(props.get("default_generation_settings")).get("n_ctx")
        return _limits((entry.get("id"), limit) for entry in entries)
    if "vllm" in owners:
        return _limits((e.get("id"), e.get("max_model_len")) for e in entries)
    loaded, native = await asyncio.gather(
        _get(root, "/api/ps", client), _get(root, "/api/v0/models", client)
    )
    running = objects_in(as_object(loaded).get("models"))  # Ollama's
    models = objects_in(as_object(native).get("data"))  # LM Studio's
    return _limits(
        (
            *((e.get("name"), e.get("context_length")) for e in running),
            *((e.get("id"), e.get("loaded_context_length")) for e in models),
        )
    )


async def _get(endpoint: Endpoint, path: str, client: HttpClient) -> object:
    """Return a server's answer as parsed JSON; None if it fails or is not JSON."""
    try:
        async with client.open(get_request(endpoint, path, PROBE_TIMEOUTS)) as response:
            if response.status != 200:
                return None
            return json.loads(await response.read_body(_MAX_BODY))
    except (TuiChatError, ValueError, RecursionError):
        return None


def _limits(pairs: Iterable[tuple[object, object]]) -> dict[str, int]:
    return {
        name: limit
        for name, limit in pairs
        if isinstance(name, str) and isinstance(limit, int) and limit > 0
    }
