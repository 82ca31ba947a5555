"""The models of an endpoint: `GET /models`, in the form of each protocol."""

from __future__ import annotations

import asyncio
from typing import Any, cast

from tui_chat.errors import ProviderError, Refused, TooLarge
from tui_chat.models.endpoint import Endpoint, Retries, Timeouts
from tui_chat.protocols.base_url import request_url
from tui_chat.protocols.common.error_body import response_error
from tui_chat.protocols.common.lenient_json import load_json
from tui_chat.protocols.registry import protocol_of
from tui_chat.providers.client import HttpClient, IncomingResponse, OutgoingRequest

MAX_LIST_BYTES = 8_000_000
"""Bytes of a model list that are read. OpenRouter's has one and a half million."""
MAX_MODELS = 10_000
"""Models of one endpoint. OpenRouter has five hundred."""
MAX_NAME_LENGTH = 500
"""Characters of a model name; an entry with a longer one is skipped."""


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
            *(each for each in defaults if each[0].lower() not in configured),
            *endpoint.headers,
        ),
        body=b"",
        key=endpoint.key,
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


def model_names(body: object) -> tuple[str, ...]:
    """Return the names in a parsed model list of any known form. Raises ProviderError."""
    if isinstance(body, dict):
        fields = cast("dict[str, Any]", body)
        for key, name in (("data", "id"), ("models", "name")):
            if isinstance(fields.get(key), list):
                entries = [cast("dict[str, Any]", e) for e in fields[key] if isinstance(e, dict)]
                found = [e.get(name) or e.get("id") or e.get("model") for e in entries]
                names = tuple(
                    each.removeprefix("models/")
                    for each in found
                    if isinstance(each, str) and 0 < len(each) <= MAX_NAME_LENGTH
                )
                if len(names) > MAX_MODELS:
                    raise ProviderError(
                        f"The answer lists {len(names):,} models; a list of more than "
                        f"{MAX_MODELS:,} is not accepted.",
                        advice="Name the models that you use in the endpoint's `models`.",
                    )
                return names
    raise ProviderError(
        "The answer is not a list of models.", advice="Check the endpoint's base_url and protocol."
    )


async def _successful_body(endpoint: Endpoint, response: IncomingResponse) -> bytes:
    if not 200 <= response.status < 300:
        body, _ = await response.read_start()
        masked = response.key_mask.mask_bytes(body)
        refused: Refused = response_error(response.status, masked)
        raise refused
    try:
        return response.key_mask.mask_bytes(await response.read_body(MAX_LIST_BYTES))
    except TooLarge:
        raise ProviderError(
            f"The list of models is larger than {MAX_LIST_BYTES // 1_000_000} MB, "
            "so it was not read.",
            advice="Check the endpoint's base_url, or name the models in its `models`.",
        ) from None


def _parse_json(body: bytes) -> object:
    try:
        return load_json(body.decode("utf-8-sig", "replace"))
    except ValueError:
        raise ProviderError(
            "The answer is not a list of models: it is not JSON.",
            advice="Check the endpoint's base_url; does it lack a version such as /v1?",
        ) from None
