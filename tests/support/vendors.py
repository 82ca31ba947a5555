"""The offline provider with the strictness of the vendors: evidence that our requests are right.

`tui_chat.offline` is lenient; OpenAI, Anthropic, Google and Ollama are not. A `VendorService`
refuses what breaks a rule of the vendor that the types of its SDK cannot say: above all, a call
without its result. The types are held by `sdk_types.accept`, which costs seconds to import.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from tui_chat.models.content_encoding import decode_body
from tui_chat.models.endpoint import Protocol
from tui_chat.offline.http_messages import HttpRequest, HttpResponse, OfflineDependencies, Pause
from tui_chat.offline.reply import Problem
from tui_chat.offline.script import Script
from tui_chat.offline.server import OfflineServer
from tui_chat.offline.service import MAX_BODY, OfflineService, protocol_of
from tui_chat.offline.transport import LoopbackTransport

_PROTOCOLS = {
    "OpenAI Chat Completions": Protocol.OPENAI_CHAT,
    "OpenAI Responses": Protocol.OPENAI_RESPONSES,
    "Anthropic Messages": Protocol.ANTHROPIC,
    "Gemini generateContent": Protocol.GEMINI,
    "Ollama chat": Protocol.OLLAMA,
}


class VendorService(OfflineService):
    """Answers what the vendor of a request would accept, and refuses the rest."""

    def __init__(
        self,
        dependencies: OfflineDependencies | None = None,
        on_request: Callable[[HttpRequest], None] | None = None,
        alias: str = "",
        script: Script | None = None,
    ) -> None:
        super().__init__(dependencies, on_request, alias, script)
        self._arrived = on_request or (lambda request: None)

    async def respond(self, request: HttpRequest, pause: Pause) -> HttpResponse:
        asked = protocol_of(request)
        operation = asked.operation(request)
        if request.method == "POST" and operation is not None and operation.kind == "reply":
            fault = _fault(_PROTOCOLS[asked.name], request)
            if fault:
                self._arrived(request)
                id = f"req_{self.dependencies.random_id(24)}"
                return self.refuse(asked, Problem("invalid", fault), id)
        return await super().respond(request, pause)


def _fault(protocol: Protocol, request: HttpRequest) -> str:
    """Return what a vendor would find wrong; empty if nothing, or if it is the offline provider's
    to say.
    """
    if protocol is Protocol.ANTHROPIC and request.header("anthropic-version") is None:
        return "anthropic-version: header is required"
    try:
        encoding = request.header("content-encoding") or ""
        body = json.loads(decode_body(request.body, encoding, MAX_BODY))
    except ValueError:
        return ""
    try:
        return _rule_fault(protocol, body)
    except (AttributeError, KeyError, TypeError) as error:
        return f"The request has not the form that {protocol.label} expects: {error!r}."


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


class VendorTransport(LoopbackTransport):
    """The vendors inside the process; the arguments are those of `OfflineService`."""

    def __init__(
        self,
        *,
        dependencies: OfflineDependencies | None = None,
        on_request: Callable[[HttpRequest], None] | None = None,
        alias: str = "",
        script: Script | None = None,
    ) -> None:
        super().__init__(VendorService(dependencies, on_request, alias, script))


def serve(
    port: int = 0,
    host: str = "127.0.0.1",
    *,
    on_request: Callable[[HttpRequest], None] | None = None,
    dependencies: OfflineDependencies | None = None,
    alias: str = "",
    script: Script | None = None,
) -> OfflineServer:
    """Return a server of the vendors on a loopback socket; the arguments are those of the offline
    provider's.
    """
    return OfflineServer(VendorService(dependencies, on_request, alias, script), port, host)
