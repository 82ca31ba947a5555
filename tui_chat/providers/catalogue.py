"""Which models an endpoint has: `GET /models`, in the words of each protocol."""

from __future__ import annotations

import asyncio
from typing import Any, cast

from tui_chat.errors import ProviderError, Refused, TooLarge
from tui_chat.models.base_url import request_url
from tui_chat.models.endpoint import Endpoint, Protocol, Retries, Timeouts
from tui_chat.protocols.anthropic.encode import VERSION as ANTHROPIC_VERSION
from tui_chat.protocols.common.lenient_json import load
from tui_chat.protocols.gemini.encode import VERSION as GEMINI_VERSION
from tui_chat.protocols.registry import protocol_of
from tui_chat.providers.client import Incoming, Outgoing, Transport

LONGEST = 8_000_000
"""Bytes of a list that is read; OpenRouter's has one and a half million."""
MOST_MODELS = 10_000
"""Models of one endpoint; OpenRouter has five hundred."""
LONGEST_NAME = 500
"""Characters of what can be a model's name."""

_BEARER = ("Authorization", "Bearer ")


def asking(endpoint: Endpoint, path: str, timeouts: Timeouts | None = None) -> Outgoing:
    """Return a GET request to an endpoint, asked once."""
    usual = ("x-goog-api-key", "") if endpoint.protocol is Protocol.GEMINI else _BEARER
    version: tuple[tuple[str, str], ...] = ()
    if endpoint.protocol is Protocol.ANTHROPIC:
        version = (("anthropic-version", endpoint.api_version or ANTHROPIC_VERSION),)
    named = {name.lower() for name, _ in endpoint.headers}
    ours = (("Accept", "application/json"), *version)
    return Outgoing(
        method="GET",
        url=request_url(endpoint, path),
        headers=(*(each for each in ours if each[0].lower() not in named), *endpoint.headers),
        body=b"",
        key=endpoint.key,
        key_header=endpoint.key_header(usual),
        proxy=endpoint.proxy,
        timeouts=timeouts or endpoint.timeouts,
        retries=Retries(times=0),
    )


async def list_models(
    endpoint: Endpoint, transport: Transport, timeouts: Timeouts | None = None
) -> tuple[str, ...]:
    """Return the names of the models that an endpoint says it has, in its order.

    Raises KeyMissing, Unreachable, Refused, ReplyCut; ProviderError where the answer is no list.
    """
    async with transport.open(asking(endpoint, models_path(endpoint), timeouts)) as response:
        body = await _success(endpoint, response)
    return names_in(await asyncio.to_thread(_json, body))


def names_in(body: object) -> tuple[str, ...]:
    """Return the names in a list of models, whoever sent it. Raises ProviderError."""
    if isinstance(body, dict):
        said = cast("dict[str, Any]", body)
        for key, name in (("data", "id"), ("models", "name")):
            if isinstance(said.get(key), list):
                entries = [cast("dict[str, Any]", e) for e in said[key] if isinstance(e, dict)]
                found = [e.get(name) or e.get("id") or e.get("model") for e in entries]
                names = tuple(
                    each.removeprefix("models/")
                    for each in found
                    if isinstance(each, str) and 0 < len(each) <= LONGEST_NAME
                )
                if len(names) > MOST_MODELS:
                    raise ProviderError(
                        f"The answer lists {len(names):,} models; a list of more than "
                        f"{MOST_MODELS:,} is not taken.",
                        advice="Name the models that you use in the endpoint's `models`.",
                    )
                return names
    raise ProviderError(
        "The answer is no list of models.", advice="Check the endpoint's base_url and protocol."
    )


def models_path(endpoint: Endpoint) -> str:
    """Return the path of the list of an endpoint's models."""
    match endpoint.protocol:
        case Protocol.OPENAI_CHAT | Protocol.OPENAI_RESPONSES:
            return "/models"
        case Protocol.ANTHROPIC:
            return "/v1/models?limit=1000"
        case Protocol.GEMINI:
            return f"/{endpoint.api_version or GEMINI_VERSION}/models?pageSize=1000"


async def _success(endpoint: Endpoint, response: Incoming) -> bytes:
    if not 200 <= response.status < 300:
        body, _ = await response.beginning()
        said = response.without_key(body)
        refused: Refused = protocol_of(endpoint.protocol).refusal(response.status, said)
        raise refused
    try:
        return response.without_key(await response.body(LONGEST))
    except TooLarge:
        raise ProviderError(
            f"The list of models is larger than {LONGEST // 1_000_000} MB, so it was not read.",
            advice="Check the endpoint's base_url, or name the models in its `models`.",
        ) from None


def _json(body: bytes) -> object:
    try:
        return load(body.decode("utf-8-sig", "replace"))
    except ValueError:
        raise ProviderError(
            "The answer is no list of models: it is not JSON.",
            advice="Check the endpoint's base_url; was its version left out?",
        ) from None
