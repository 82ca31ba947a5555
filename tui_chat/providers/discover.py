"""Which servers run on this machine: Ollama, llama.cpp, LM Studio, vLLM and their like.

1. Only when somebody asks. The program never looks around by itself.
2. Only at loopback addresses, without key, without proxy, with short patience.
3. Whatever listens there may be anybody: an answer counts only where it is a list of models, and
   no more than a little of it is read.
4. What the server tells of its context is taken over, as far as it is what it really keeps:
   Ollama and LM Studio cut a conversation silently at the length a model was loaded with,
   whatever the model itself could do.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast
from urllib.parse import urlsplit

from tui_chat.errors import TuiChatError
from tui_chat.models.base_url import request_url
from tui_chat.models.endpoint import Endpoint, Protocol, Timeouts
from tui_chat.models.model_facts import ModelFacts
from tui_chat.providers.catalogue import asking, models_path, names_in
from tui_chat.providers.client import Transport
from tui_chat.providers.failures import is_loopback

PATIENCE = Timeouts(connect=0.5, silence=1.5)
TOGETHER = 3.0
"""Seconds for everything that is asked of one server."""

_LONGEST = 1024 * 1024
_KINDS = frozenset({"ollama", "llama.cpp", "lm-studio", "vllm"})


async def discover(endpoints: Iterable[Endpoint], transport: Transport) -> tuple[Endpoint, ...]:
    """Return those of `endpoints` at loopback addresses whose servers answer, with the models
    they have and what they tell of them. Raises nothing; takes a few seconds at most.
    """
    local = [each for each in endpoints if is_loopback(each.base_url)]
    # Endpoints of one server that list their models alike: it is asked once for all of them.
    servers: dict[str, list[Endpoint]] = {}
    for each in local:
        servers.setdefault(request_url(each, models_path(each)), []).append(each)
    answers = await asyncio.gather(*(_asked(same[0], transport) for same in servers.values()))
    found = [
        (local.index(each), _described(each, answer))
        for same, answer in zip(servers.values(), answers, strict=True)
        if answer is not None
        for each in same
    ]
    return _distinct([each for _, each in sorted(found, key=lambda pair: pair[0])])


def with_discovered(known: Sequence[Endpoint], found: Sequence[Endpoint]) -> tuple[Endpoint, ...]:
    """Return the endpoints, those that were found in the place of those they were found for."""
    left = list(found)

    def as_found(endpoint: Endpoint) -> Endpoint:
        same = [
            each
            for each in left
            if (each.base_url, each.protocol) == (endpoint.base_url, endpoint.protocol)
        ]
        named = [each for each in same if each.name == endpoint.name] or same
        if not named:
            return endpoint
        left.remove(named[0])
        return named[0]

    return (*map(as_found, known), *left)


@dataclass(frozen=True, slots=True)
class _Server:
    """What a server told."""

    kind: str
    """Which program it is; empty where it does not show."""
    models: tuple[str, ...]
    limits: dict[str, int]
    """Tokens of context by model, as far as it told."""


async def _asked(endpoint: Endpoint, transport: Transport) -> _Server | None:
    """Return what the server of an endpoint tells; None where none answers with models."""
    bare = replace(endpoint, key="", proxy="none", query=())
    try:
        async with asyncio.timeout(TOGETHER):
            root = replace(bare, protocol=Protocol.OPENAI_CHAT, base_url=_root(endpoint.base_url))
            listed = await _get(bare, models_path(bare), transport)
            tags = await _get(root, "/api/tags", transport) if listed is None else None
            names = _names(listed) or _names(tags)
            if names is None:
                return None
            kind, limits = await _told(root, listed, transport)
    except TimeoutError:
        return None
    return _Server(kind, names, limits)


def _described(endpoint: Endpoint, server: _Server) -> Endpoint:
    """Return an endpoint with what its server told."""
    names, limits = server.models, server.limits
    known = tuple((name, ModelFacts(limit)) for name, limit in limits.items() if name in names)
    wanted = tuple(name for name in endpoint.models if name in names)
    return replace(
        endpoint,
        # A llama.cpp at vLLM's usual port is not called vLLM.
        name=server.kind if server.kind and endpoint.name in _KINDS else endpoint.name,
        models=(*wanted, *(name for name in names if name not in wanted)),
        facts=(*endpoint.facts, *known),
    )


async def _told(root: Endpoint, listed: object, transport: Transport) -> tuple[str, dict[str, int]]:
    """Return which server it is, empty where it does not show, and its models' limits."""
    entries = _entries(listed, "data")
    owners = {entry.get("owned_by") for entry in entries}
    if "llamacpp" in owners:
        props = _object(await _get(root, "/props", transport))
        limit = _object(props.get("default_generation_settings")).get("n_ctx")
        return "llama.cpp", _limits((entry.get("id"), limit) for entry in entries)
    if "vllm" in owners:
        return "vllm", _limits((e.get("id"), e.get("max_model_len")) for e in entries)
    loaded, native = await asyncio.gather(
        _get(root, "/api/ps", transport), _get(root, "/api/v0/models", transport)
    )
    if "models" in _object(loaded):
        running = _entries(loaded, "models")
        return "ollama", _limits((e.get("name"), e.get("context_length")) for e in running)
    if rows := [e for e in _entries(native, "data") if "state" in e or "max_context_length" in e]:
        return "lm-studio", _limits((e.get("id"), e.get("loaded_context_length")) for e in rows)
    return "", {}


async def _get(endpoint: Endpoint, path: str, transport: Transport) -> object:
    """Return what a server answers, read as JSON; None where it does not or cannot be read."""
    try:
        async with transport.open(asking(endpoint, path, PATIENCE)) as response:
            if response.status != 200:
                return None
            return json.loads(await response.body(_LONGEST))
    except (TuiChatError, ValueError, RecursionError):
        return None


def _names(body: object) -> tuple[str, ...] | None:
    try:
        return names_in(body)
    except TuiChatError:
        return None


def _root(base_url: str) -> str:
    parts = urlsplit(base_url)
    return f"{parts.scheme}://{parts.netloc}"


def _object(value: object) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _entries(body: object, key: str) -> list[dict[str, Any]]:
    rows = _object(body).get(key)
    return [_object(row) for row in cast("list[object]", rows)] if isinstance(rows, list) else []


def _limits(pairs: Iterable[tuple[object, object]]) -> dict[str, int]:
    return {
        name: limit
        for name, limit in pairs
        if isinstance(name, str) and isinstance(limit, int) and limit > 0
    }


def _distinct(found: list[Endpoint]) -> tuple[Endpoint, ...]:
    """Return the endpoints under names of their own: the second of a kind tells its port."""
    taken: set[str] = set()
    named: list[Endpoint] = []
    for endpoint in found:
        name = endpoint.name
        if name in taken:
            name = f"{name}-{urlsplit(endpoint.base_url).port}"
        taken.add(name)
        named.append(replace(endpoint, name=name))
    return tuple(named)
