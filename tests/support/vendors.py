"""The provider of the tests with the strictness of the vendors: evidence that our requests are
right.

OpenAI, Anthropic, Google and Ollama refuse what breaks a rule of theirs that the types of their
SDKs cannot say: above all, a call without its result. The types are held by `sdk_types.accept`,
which costs seconds to import.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx

from tests.support.provider import TestProvider
from tui_chat.config.built_in_endpoints import LOCAL, LOOPBACK_URL, PROVIDERS
from tui_chat.models.endpoint import Endpoint, Protocol
from tui_chat.offline.prompt import Refusal
from tui_chat.offline.provider import OfflineDependencies
from tui_chat.providers.server import LoopbackServer

LOOPBACKS = tuple(
    Endpoint(
        "loopback"
        if protocol is Protocol.OPENAI_CHAT
        else f"loopback-{protocol.value.removeprefix('openai_')}",
        protocol,
        f"{LOOPBACK_URL}/v1" if protocol.value.startswith("openai_") else LOOPBACK_URL,
        models=("mirror", "echo", "lorem", "thinker", "researcher", "picture", "toolsmith"),
    )
    for protocol in Protocol
)
"""The tests' provider in each protocol."""
ENDPOINTS = (*LOOPBACKS, *PROVIDERS, *LOCAL)


@dataclass(frozen=True)
class HttpRequest:
    """A request that arrived."""

    method: str
    target: str
    """Path and query as sent."""
    headers: tuple[tuple[str, str], ...] = field(repr=False)
    body: bytes = field(repr=False)

    @property
    def path(self) -> str:
        return self.target.partition("?")[0]

    def header(self, name: str) -> str | None:
        return next((value for key, value in self.headers if key.lower() == name), None)


def read_request(request: httpx.Request) -> HttpRequest:
    headers = tuple(
        (name.decode("latin-1").lower(), value.decode("latin-1"))
        for name, value in request.headers.raw
    )
    target = request.url.raw_path.decode("ascii")
    return HttpRequest(request.method, target, headers, request.content)


class VendorTransport(TestProvider):
    """The vendors inside the process."""

    def __init__(
        self,
        *,
        dependencies: OfflineDependencies | None = None,
        on_request: Callable[[HttpRequest], None] | None = None,
        alias: str = "",
        script: Sequence[Any] = (),
    ) -> None:
        listen = on_request or (lambda request: None)
        super().__init__(dependencies, lambda request: listen(read_request(request)), alias, script)

    def check(self, protocol: Protocol, request: httpx.Request, data: bytes) -> None:
        if protocol is Protocol.ANTHROPIC and "anthropic-version" not in request.headers:
            raise Refusal("invalid", "anthropic-version: header is required")
        try:
            fault = _rule_fault(protocol, json.loads(data))
        except (AttributeError, KeyError, TypeError) as error:
            fault = f"The request has not the form that {protocol.label} expects: {error!r}."
        if fault:
            raise Refusal("invalid", fault)


def serve(
    port: int = 0,
    *,
    on_request: Callable[[HttpRequest], None] | None = None,
    dependencies: OfflineDependencies | None = None,
    alias: str = "",
    script: Sequence[Any] = (),
) -> LoopbackServer:
    """Return a server of the vendors on a loopback socket."""
    options = {"on_request": on_request, "dependencies": dependencies}
    transport = VendorTransport(**options, alias=alias, script=script)
    return LoopbackServer(transport, port)


def _rule_fault(protocol: Protocol, body: dict[str, Any]) -> str:
    match protocol:
        case Protocol.OPENAI_CHAT | Protocol.ANTHROPIC:
            messages = body["messages"]
            if not messages:
                return "messages: empty array"
            turns = _chat_turns if protocol is Protocol.OPENAI_CHAT else _anthropic_turns
            blank = _blank_fault(messages) if protocol is Protocol.ANTHROPIC else ""
            limit = "" if protocol is Protocol.OPENAI_CHAT or body["max_tokens"] else "max_tokens"
            return limit or blank or _pairing_fault(turns(messages))
        case Protocol.OPENAI_RESPONSES:
            items = body.get("input", "")
            if not isinstance(items, list) or "previous_response_id" in body:
                return ""
            called = [each["call_id"] for each in items if each.get("type") == "function_call"]
            return _pairing_fault([(called, []), ([], _outputs(items))])
        case Protocol.GEMINI:
            return _gemini_fault(body["contents"])
        case Protocol.OLLAMA:
            return ""


Turn = tuple[list[str], list[str]]
"""The ids of the calls of a turn, and those of its results."""


def _chat_turns(messages: list[dict[str, Any]]) -> Iterator[Turn]:
    results: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            results.append(message["tool_call_id"])
            continue
        if results:
            yield [], results
            results = []
        yield [call["id"] for call in message.get("tool_calls") or ()], []
    yield [], results


def _anthropic_turns(messages: list[dict[str, Any]]) -> Iterator[Turn]:
    for message in messages:
        content = message["content"]
        blocks = content if isinstance(content, list) else []
        results = sum(block["type"] == "tool_result" for block in blocks)
        in_front = [block for block in blocks[:results] if block["type"] == "tool_result"]
        yield (
            [block["id"] for block in blocks if block["type"] == "tool_use"],
            [block["tool_use_id"] for block in in_front],
        )


def _outputs(items: list[dict[str, Any]]) -> list[str]:
    return [item["call_id"] for item in items if item.get("type") == "function_call_output"]


def _pairing_fault(turns: Iterable[Turn]) -> str:
    """Return a fault if the calls of a turn are not the ones whose results come next."""
    waiting: list[str] = []
    for calls, results in turns:
        if sorted(results) != sorted(waiting):
            return f"The calls {waiting} must be answered at once, and not by {results}."
        waiting = calls
    return f"No result for the calls {waiting}." if waiting else ""


def _blank_fault(messages: list[dict[str, Any]]) -> str:
    for message in messages:
        content = message["content"]
        texts = (
            [content] if isinstance(content, str) else [b["text"] for b in content if "text" in b]
        )
        if any(not text.strip() for text in texts):
            return "messages: text content blocks must contain non-whitespace text"
    if messages[-1]["role"] == "assistant" and texts and texts[-1] != texts[-1].rstrip():
        return "messages: final assistant content cannot end with trailing whitespace"
    return ""


def _gemini_fault(contents: list[dict[str, Any]]) -> str:
    called = 0
    for content in contents:
        parts = content.get("parts")
        if not parts:
            return "contents.parts must not be empty."
        answered = sum("functionResponse" in part for part in parts)
        if answered != called:
            return "The number of function response parts must be that of the function call parts."
        called = sum("functionCall" in part for part in parts)
    return ""
