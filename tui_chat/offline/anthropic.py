"""Anthropic's Messages.

1. A stream is `message_start`, then blocks (`content_block_start`, deltas, `content_block_stop`)
   counted by `index`, then `message_delta` with the stop reason and the usage so far, then
   `message_stop`. A `ping` may come anywhere; here it comes after the first block starts.
2. A thinking block starts empty, grows by `thinking_delta` and gets its `signature` in one delta at
   its end. A tool's input grows by `input_json_delta`, the first of them empty.
3. A cited text is a block of its own, with its citations as deltas after the text.
4. `usage` in `message_delta` is the total, not an increment.
5. An error is `{"type": "error", "error": {type, message}, "request_id"}`, with the id of the
   `request-id` header. `x-should-retry` says whether a retry makes sense.
"""

import json
from collections.abc import Iterable
from typing import Any, assert_never

from tui_chat.offline.base_protocol import FaultTable, OfflineProtocol, Operation, ResponseWriter
from tui_chat.offline.http_messages import Headers, HttpRequest, OfflineDependencies
from tui_chat.offline.prompt import (
    PromptPart,
    PromptReasoning,
    PromptRequest,
    PromptToolCall,
    PromptToolChoice,
    PromptToolResult,
    PromptTurn,
    ToolMode,
    compact,
    fields_of,
    joined_texts,
    limit_of,
    other_fields,
    read_content,
    read_part,
    read_tool,
    rows_of,
    text_of,
    texts_of,
)
from tui_chat.offline.reply import (
    Content,
    Finish,
    PicturePiece,
    Problem,
    ReasoningPiece,
    SourcePiece,
    TextPiece,
    ToolCallPiece,
    WholeReply,
    estimate_prompt_tokens,
    split_tokens,
)

_FIELDS = ("model", "messages", "system", "tools", "tool_choice", "stream")
_STOP_REASONS = {
    "stop": "end_turn",
    "stop_sequence": "stop_sequence",
    "length": "max_tokens",
    "tool_calls": "tool_use",
}
_TOOL_MODES: dict[str, ToolMode] = {"any": "required", "tool": "required", "none": "none"}
_COUNT_PATH = "/v1/messages/count_tokens"
_FAULTS: FaultTable = {
    "invalid": (400, "invalid_request_error", ""),
    "too_large": (413, "request_too_large", ""),
    "unknown_model": (404, "not_found_error", ""),
    "not_found": (404, "not_found_error", ""),
    "rate_limited": (
        *(429, "rate_limit_error"),
        "This request would exceed your account's rate limit. Please try again later.",
    ),
    "failed": (500, "api_error", "Internal server error"),
    "overloaded": (529, "overloaded_error", "Overloaded"),
}


class _Messages(OfflineProtocol):
    """Messages."""

    name = "Anthropic Messages"
    id_header = "request-id"
    faults = _FAULTS

    def owns(self, request: HttpRequest) -> bool:
        is_named = request.header("anthropic-version") is not None
        return is_named or request.path.startswith("/v1/messages")

    def operation(self, request: HttpRequest) -> Operation | None:
        method, path = request.method, request.path
        if method == "POST" and path in ("/v1/messages", _COUNT_PATH):
            return Operation("count" if path == _COUNT_PATH else "reply")
        if method in ("GET", "HEAD") and (path == "/v1/models" or path.startswith("/v1/models/")):
            return Operation("models", path.removeprefix("/v1/models").removeprefix("/"))
        return None

    def read(self, body: dict[str, Any], operation: Operation, size: int) -> PromptRequest:
        system = body.get("system")
        blocks = [system] if isinstance(system, str) else rows_of(system)
        tools = [fields_of(tool) for tool in rows_of(body.get("tools"))]
        choice = fields_of(body.get("tool_choice"))
        return PromptRequest(
            protocol=self.name,
            model=text_of(body.get("model")),
            system=texts_of(
                [b if isinstance(b, str) else fields_of(b).get("text") for b in blocks]
            ),
            turns=tuple(_turn(fields_of(message)) for message in rows_of(body.get("messages"))),
            tools=tuple(
                read_tool(tool, "input_schema")
                for tool in tools
                if tool.get("type") in (None, "custom")
            ),
            choice=PromptToolChoice(
                _TOOL_MODES.get(text_of(choice.get("type")), "auto"),
                text_of(choice.get("name")) or None,
            ),
            body=body,
            settings=other_fields(body, _FIELDS),
            stream=body.get("stream") is True,
            limit=limit_of(body.get("max_tokens"), 0),
            stops=texts_of(body.get("stop_sequences")),
            size=size,
        )

    def writer(self, prompt: PromptRequest, dependencies: OfflineDependencies) -> ResponseWriter:
        return _MessagesWriter(prompt, dependencies)

    def error(self, status: int, kind: str, message: str, fault: Problem) -> dict[str, Any]:
        return {"type": kind, "message": message}

    def error_body(self, error: dict[str, Any], id: str) -> bytes:
        return compact({"type": "error", "error": error, "request_id": id}).encode()

    def error_headers(self, fault: Problem) -> Headers:
        is_passing = self.faults[fault.kind][0] >= 429
        retry = (("x-should-retry", "true"),) if is_passing else ()
        return (*super().error_headers(fault), *retry)

    def models(self, names: Iterable[str], listed: bool) -> dict[str, Any]:
        data = [
            {
                "type": "model",
                "id": name,
                "display_name": f"Loopback {name}",
                "created_at": "2023-11-14T00:00:00Z",
            }
            for name in names
        ]
        if not listed:
            return data[0]
        ends = {"first_id": data[0]["id"], "last_id": data[-1]["id"]}
        return {"data": data, **ends, "has_more": False}


def _turn(message: dict[str, Any]) -> PromptTurn:
    content = message.get("content")
    blocks = [fields_of(block) for block in rows_of(content)]
    parts = read_content(content) if isinstance(content, str) else map(_block, blocks)
    return PromptTurn(text_of(message.get("role")), tuple(parts))


def _block(block: dict[str, Any]) -> PromptPart:
    match block.get("type"):
        case "thinking" | "redacted_thinking":
            return PromptReasoning(text_of(block.get("thinking")))
        case "tool_use":
            name, arguments = text_of(block.get("name")), compact(fields_of(block.get("input")))
            return PromptToolCall(text_of(block.get("id")), name, arguments)
        case "tool_result":
            text = joined_texts(read_content(block.get("content")))
            return PromptToolResult(text_of(block.get("tool_use_id")), "", text)
        case _:
            return read_part(block)


class _MessagesWriter:
    def __init__(self, prompt: PromptRequest, dependencies: OfflineDependencies) -> None:
        self.id = f"msg_01{dependencies.random_id(22)}"
        self._prompt = prompt
        self._random_id = dependencies.random_id
        self._index = -1
        self._open = ""
        """The type of the open block."""

    def start(self) -> bytes:
        message = self._message([], None)
        message["usage"] |= {"output_tokens": 1}
        return _event("message_start", message=message)

    def piece(self, piece: Content) -> bytes:
        match piece:
            case ReasoningPiece(text):
                opened = self._opened({"type": "thinking", "thinking": "", "signature": ""})
                return opened + self._delta("thinking_delta", thinking=text)
            case TextPiece(text):
                opened = self._opened({"type": "text", "text": ""})
                return opened + self._delta("text_delta", text=text)
            case SourcePiece():
                opened = self._opened({"type": "text", "text": ""})
                cited = self._delta("citations_delta", citation=self._citation(piece))
                return opened + cited + self._closed()
            case PicturePiece():
                return b""  # the protocol has no pictures in replies
            case ToolCallPiece():
                out = self._closed() + self._opened({**_tool_use(piece), "input": {}})
                for partial in ("", *split_tokens(piece.arguments)):
                    out += self._delta("input_json_delta", partial_json=partial)
                return out + self._closed()
            case _:
                assert_never(piece)

    def end(self, finish: Finish) -> bytes:
        reason = {"stop_reason": _STOP_REASONS[finish.reason], "stop_sequence": finish.stop}
        ended = _event("message_delta", delta=reason, usage=self._usage(finish))
        return self._closed() + ended + _event("message_stop")

    def error(self, error: dict[str, Any]) -> bytes:
        return _event("error", error=error)

    def full_response(self, reply: WholeReply, finish: Finish) -> bytes:
        content: list[dict[str, Any]] = []
        if reply.reasoning:
            signed = {"thinking": reply.reasoning, "signature": self._signature()}
            content.append({"type": "thinking", **signed})
        for text, source in reply.cited:
            cited = {"citations": [self._citation(source)]} if source else {}
            content.append({"type": "text", "text": text, **cited})
        content += [
            {**_tool_use(call), "input": json.loads(call.arguments)} for call in reply.calls
        ]
        return compact(self._message(content, finish)).encode()

    def _opened(self, block: dict[str, Any]) -> bytes:
        if self._open == block["type"]:
            return b""
        out = self._closed()
        self._index += 1
        self._open = block["type"]
        out += _event("content_block_start", index=self._index, content_block=block)
        return out + (_event("ping") if self._index == 0 else b"")

    def _closed(self) -> bytes:
        if not self._open:
            return b""
        signed = self._open == "thinking"
        out = self._delta("signature_delta", signature=self._signature()) if signed else b""
        self._open = ""
        return out + _event("content_block_stop", index=self._index)

    def _delta(self, kind: str, **fields: Any) -> bytes:
        return _event("content_block_delta", index=self._index, delta={"type": kind, **fields})

    def _citation(self, source: SourcePiece) -> dict[str, Any]:
        return {
            "type": "web_search_result_location",
            "url": source.url,
            "title": source.title,
            "cited_text": source.title,
            "encrypted_index": f"Eo{self._random_id(98)}",
        }

    def _signature(self) -> str:
        return f"Eq{self._random_id(298)}"

    def _message(self, content: list[dict[str, Any]], finish: Finish | None) -> dict[str, Any]:
        cache = self._prompt.cache
        written = {
            "ephemeral_5m_input_tokens": cache.written,
            "ephemeral_1h_input_tokens": cache.written_1h,
        }
        usage = {**self._usage(finish), "cache_creation": written, "service_tier": "standard"}
        return {
            "id": self.id,
            "type": "message",
            "role": "assistant",
            "model": self._prompt.model,
            "content": content,
            "stop_reason": _STOP_REASONS[finish.reason] if finish else None,
            "stop_sequence": finish.stop if finish else None,
            "usage": usage,
        }

    def _usage(self, finish: Finish | None) -> dict[str, Any]:
        cache = self._prompt.cache
        written = cache.written + cache.written_1h
        total = estimate_prompt_tokens(self._prompt.characters)
        return {
            "input_tokens": total - cache.read - written,
            "cache_creation_input_tokens": written,
            "cache_read_input_tokens": cache.read,
            "output_tokens": finish.output if finish else 0,
        }


def _tool_use(call: ToolCallPiece) -> dict[str, Any]:
    return {"type": "tool_use", "id": f"toolu_01{call.id[:22]}", "name": call.name}


def _event(kind: str, **fields: Any) -> bytes:
    return f"event: {kind}\ndata: {compact({'type': kind, **fields})}\n\n".encode()


ANTHROPIC = _Messages()
