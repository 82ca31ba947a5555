"""The endpoints and models of the offline provider, which exist without any configuration."""

from __future__ import annotations

from typing import Any

from tui_chat.api import OfflineProvider
from tui_chat.config.built_in_endpoints import LOOPBACK_URL
from tui_chat.models.endpoint import Endpoint, Protocol

MODELS = {
    "mirror": "Answers with the request it received.",
    "echo": "Repeats the last user message exactly.",
    "lorem": "Writes a long Markdown reply; lorem:SPEED:TOKENS sets how fast and how long.",
    "thinker": "Reasons first, then answers.",
    "researcher": "Answers with citations of web pages, which it does not read.",
    "picture": "Answers with a small picture, where the protocol has them.",
    "toolsmith": "Calls a declared tool, then reports what the tool answered; toolsmith:NAME.",
    "flaky-429": "Refuses for rate limits; flaky-429:N refuses N times, then echoes.",
    "flaky-500": "Fails with a server error; flaky-500:N fails N times, then echoes.",
    "flaky-529": "Fails for overload; flaky-529:N fails N times, then echoes.",
    "flaky-error": "Starts to answer, then reports an error inside the stream.",
    "flaky-cut": "Starts to answer, then drops the connection.",
    "flaky-stall": "Starts to answer, then sends nothing more and stays connected.",
}
"""The names of the models, in the order in which servers list them, and a sentence about each."""

_LISTED = tuple(name for name in MODELS if not name.startswith("flaky"))
ENDPOINTS = tuple(
    Endpoint(
        "loopback"
        if protocol is Protocol.OPENAI_CHAT
        else f"loopback-{protocol.value.removeprefix('openai_')}",
        protocol,
        f"{LOOPBACK_URL}/v1" if protocol.value.startswith("openai_") else LOOPBACK_URL,
        models=_LISTED,
    )
    for protocol in Protocol
)


def _transport() -> Any:
    from tui_chat.plugins.practice.provider import PracticeTransport

    return PracticeTransport()


def _serve(**options: Any) -> Any:
    from tui_chat.plugins.practice.command import serve

    return serve(**options)


PROVIDER = OfflineProvider(ENDPOINTS, MODELS, _transport, _serve)
