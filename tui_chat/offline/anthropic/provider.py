"""Anthropic's headers, errors, model list and paths.

An error is `{"type": "error", "error": {type, message}, "request_id"}`, with the id of the
`request-id` header. Field errors read `messages.0.content: Field required`. A rate limit is also
reported in `retry-after` and `anthropic-ratelimit-*`, whose resets are RFC 3339 times.

Writing a reply as Messages.

1. A stream is `message_start`, then blocks (`content_block_start`, deltas, `content_block_stop`)
   counted by `index`, then `message_delta` with the stop reason and the usage so far, then
   `message_stop`. A `ping` may come anywhere; here it comes after the first block starts.
2. A thinking block starts empty, grows by `thinking_delta` and gets its `signature` in one delta at
   its end. A tool's input grows by `input_json_delta`, the first of them empty.
3. A cited text is a block of its own, with its citations as deltas after the text.
4. `usage` in `message_delta` is the total, not an increment.
"""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, assert_never

from tui_chat.offline.anthropic.parse_request import parse_request
from tui_chat.offline.base_provider import CountTokens, Generate, ProtocolHandler, Provider
from tui_chat.offline.dependencies import OfflineDependencies
from tui_chat.offline.http_messages import Headers, HttpRequest
from tui_chat.offline.json_reader import compact
from tui_chat.offline.models.catalogue import MODELS, find_model
from tui_chat.offline.prompt_request import PromptRequest
from tui_chat.offline.reply_pieces import (
    Content,
    Finish,
    PicturePiece,
    ReasoningPiece,
    SourcePiece,
    TextPiece,
    ToolCallPiece,
    cited_texts,
)
from tui_chat.offline.request_errors import (
    BodyTooLarge,
    EmptyArray,
    InvalidJson,
    InvalidValue,
    MissingField,
    MissingHeader,
    NumberOutOfRange,
    Overloaded,
    Path,
    RateLimited,
    RequestError,
    RequestRefused,
    ServerFailure,
    UnknownModel,
    UnknownPath,
    UnknownResponse,
    WrongMethod,
    WrongType,
)
from tui_chat.offline.tokens import estimate_prompt_tokens, split_tokens

_STOP_REASONS = {
    "stop": "end_turn",
    "stop_sequence": "stop_sequence",
    "length": "max_tokens",
    "tool_calls": "tool_use",
}
_TYPES = {"a string": "string", "an array": "list", "an integer": "integer", "a boolean": "boolean"}


class MessagesWriter:
    """One Messages reply."""

    def __init__(self, prompt: PromptRequest, dependencies: OfflineDependencies) -> None:
        self.id = f"msg_01{dependencies.random_id(22)}"
        self._prompt = prompt
        self._dependencies = dependencies
        self._index = -1
        self._open: str | None = None

    def start(self) -> bytes:
        """Return the message, still empty."""
        message = self._message([], None)
        message["usage"] |= {"output_tokens": 1}
        return _event("message_start", message=message)

    def piece(self, piece: Content) -> bytes:
        """Return a delta, after opening the block it belongs to and closing the one before."""
        match piece:
            case ReasoningPiece(text):
                block = {"type": "thinking", "thinking": "", "signature": ""}
                return self._opened(block) + self._delta("thinking_delta", thinking=text)
            case TextPiece(text):
                opened = self._opened({"type": "text", "text": ""})
                return opened + self._delta("text_delta", text=text)
            case SourcePiece():
                opened = self._opened({"type": "text", "text": ""})
                cited = self._delta("citations_delta", citation=self._citation(piece))
                return opened + cited + self._closed()
            case PicturePiece():
                return b""  # the protocol has no pictures in replies
            case ToolCallPiece(name, arguments, id):
                block: dict[str, Any] = {
                    "type": "tool_use",
                    "id": f"toolu_01{id[:22]}",
                    "name": name,
                    "input": {},
                }
                out = self._closed() + self._opened(block)
                for partial in ("", *split_tokens(arguments)):
                    out += self._delta("input_json_delta", partial_json=partial)
                return out + self._closed()
            case _:
                assert_never(piece)

    def end(self, finish: Finish) -> bytes:
        """End the last block and the message."""
        return (
            self._closed()
            + _event(
                "message_delta",
                delta={"stop_reason": _STOP_REASONS[finish.reason], "stop_sequence": finish.stop},
                usage=self._usage_of(finish),
            )
            + _event("message_stop")
        )

    def error(self, error: dict[str, Any]) -> bytes:
        """Return an `error` event; nothing follows."""
        return _event("error", error=error)

    def full_response(self, pieces: Sequence[Content], finish: Finish) -> bytes:
        """Return the message object."""
        thinking = "".join(piece.text for piece in pieces if isinstance(piece, ReasoningPiece))
        content: list[dict[str, Any]] = []
        if thinking:
            content.append({"type": "thinking", "thinking": thinking, "signature": self._sign()})
        for text, source in cited_texts(pieces):
            cited = {"citations": [self._citation(source)]} if source else {}
            content.append({"type": "text", "text": text, **cited})
        content += [
            {
                "type": "tool_use",
                "id": f"toolu_01{piece.id[:22]}",
                "name": piece.name,
                "input": json.loads(piece.arguments),
            }
            for piece in pieces
            if isinstance(piece, ToolCallPiece)
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
        if self._open is None:
            return b""
        signed = self._open == "thinking"
        out = self._delta("signature_delta", signature=self._sign()) if signed else b""
        self._open = None
        return out + _event("content_block_stop", index=self._index)

    def _delta(self, kind: str, **fields: Any) -> bytes:
        return _event("content_block_delta", index=self._index, delta={"type": kind, **fields})

    def _citation(self, source: SourcePiece) -> dict[str, Any]:
        return {
            "type": "web_search_result_location",
            "url": source.url,
            "title": source.title,
            "cited_text": source.title,
            "encrypted_index": f"Eo{self._dependencies.random_id(98)}",
        }

    def _sign(self) -> str:
        return f"Eq{self._dependencies.random_id(298)}"

    def _message(self, content: list[dict[str, Any]], finish: Finish | None) -> dict[str, Any]:
        cache = self._prompt.cache
        usage = {
            **self._usage_of(finish),
            "cache_creation": {
                "ephemeral_5m_input_tokens": cache.written,
                "ephemeral_1h_input_tokens": cache.written_1h,
            },
            "service_tier": "standard",
        }
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

    def _usage_of(self, finish: Finish | None) -> dict[str, Any]:
        cache = self._prompt.cache
        written = cache.written + cache.written_1h
        total = estimate_prompt_tokens(self._prompt.characters)
        return {
            "input_tokens": total - cache.read - written,
            "cache_creation_input_tokens": written,
            "cache_read_input_tokens": cache.read,
            "output_tokens": finish.output if finish else 0,
        }


def _event(kind: str, **fields: Any) -> bytes:
    return f"event: {kind}\ndata: {compact({'type': kind, **fields})}\n\n".encode()


class AnthropicProvider(Provider):
    """Anthropic."""

    def owns(self, request: HttpRequest) -> bool:
        """Return True for paths below /v1/messages, and with the version header."""
        return (
            request.path.startswith("/v1/messages")
            or request.header("anthropic-version") is not None
        )

    def generation(self, request: HttpRequest) -> Generate | CountTokens | None:
        """Return the operation of one of Anthropic's paths."""
        return _GENERATIONS.get(request.path)

    def check_headers(self, request: HttpRequest) -> None:
        """Raise RequestRefused if `anthropic-version` is missing."""
        if request.header("anthropic-version") is None:
            raise RequestRefused(MissingHeader("anthropic-version"))

    def request_id(self, dependencies: OfflineDependencies) -> str:
        """Return `req_01` and 22 characters."""
        return f"req_01{dependencies.random_id(22)}"

    def headers(self, request_id: str, dependencies: OfflineDependencies) -> Headers:
        """Return the request id and limits that are far from reached."""
        reset = _rfc3339(dependencies.now())
        return (
            ("anthropic-organization-id", "00000000-0000-4000-8000-000000000000"),
            ("anthropic-ratelimit-requests-limit", "10000"),
            ("anthropic-ratelimit-requests-remaining", "9999"),
            ("anthropic-ratelimit-requests-reset", reset),
            ("anthropic-ratelimit-tokens-limit", "10000000"),
            ("anthropic-ratelimit-tokens-remaining", "9999000"),
            ("anthropic-ratelimit-tokens-reset", reset),
            ("request-id", request_id),
        )

    def describe_error(self, error: RequestError) -> tuple[int, dict[str, Any]]:
        """Return the status and the error object of an error."""
        match error:
            case InvalidJson(reason):
                return _invalid(f"The request body is not valid JSON: {reason}")
            case MissingHeader(name):
                return _invalid(f"{name}: header is required")
            case MissingField(path):
                return _invalid(f"{_dotted(path)}: Field required")
            case WrongType((), _, _):
                return _invalid(
                    "Input should be a valid dictionary or object to extract fields from"
                )
            case WrongType(path, expected, _):
                type_name = _TYPES.get(expected, expected.partition(" ")[2])
                return _invalid(f"{_dotted(path)}: Input should be a valid {type_name}")
            case EmptyArray(("messages",)):
                return _invalid("messages: at least one message is required")
            case EmptyArray(path):
                return _invalid(
                    f"{_dotted(path)}: List should have at least 1 item after validation"
                )
            case NumberOutOfRange(path, bound, below, _):
                side = "greater" if below else "less"
                return _invalid(
                    f"{_dotted(path)}: Input should be {side} than or equal to {bound:g}"
                )
            case InvalidValue(path, message, _):
                return _invalid(f"{_dotted(path)}: {message}" if path else message)
            case BodyTooLarge():
                message = "Request exceeds the maximum size"
                return 413, {"type": "request_too_large", "message": message}
            case UnknownModel(model):
                return 404, {"type": "not_found_error", "message": f"model: {model[:200]}"}
            case UnknownPath() | UnknownResponse():
                return 404, {"type": "not_found_error", "message": "Not Found"}
            case WrongMethod():
                return 405, {"type": "invalid_request_error", "message": "Method Not Allowed"}
            case RateLimited():
                message = (
                    "This request would exceed your account's rate limit. Please try again later."
                )
                return 429, {"type": "rate_limit_error", "message": message}
            case ServerFailure():
                return 500, {"type": "api_error", "message": "Internal server error"}
            case Overloaded():
                return 529, {"type": "overloaded_error", "message": "Overloaded"}
            case _:
                assert_never(error)

    def error_body(self, error: dict[str, Any], request_id: str) -> bytes:
        """Return the body around an error object."""
        return compact({"type": "error", "error": error, "request_id": request_id}).encode()

    def error_headers(
        self, status: int, error: RequestError, dependencies: OfflineDependencies
    ) -> Headers:
        """Return the wait for a rate limit, and whether a retry makes sense."""
        extra: Headers = ()
        if isinstance(error, RateLimited):
            extra = (
                ("retry-after", str(error.seconds)),
                ("anthropic-ratelimit-requests-remaining", "0"),
                (
                    "anthropic-ratelimit-requests-reset",
                    _rfc3339(dependencies.now() + error.seconds),
                ),
            )
        return (*extra, ("x-should-retry", "true")) if status >= 429 else extra

    def model_list(self) -> bytes:
        """Return the body of `GET /v1/models`."""
        body = {
            "data": [_model_entry(model.name) for model in MODELS],
            "first_id": MODELS[0].name,
            "last_id": MODELS[-1].name,
            "has_more": False,
        }
        return compact(body).encode()

    def model_entry(self, name: str) -> bytes | None:
        """Return the body of `GET /v1/models/NAME`."""
        return compact(_model_entry(name)).encode() if find_model(name) else None


ANTHROPIC = AnthropicProvider()

_MESSAGES = ProtocolHandler(ANTHROPIC, parse_request, MessagesWriter)
_GENERATIONS: dict[str, Generate | CountTokens] = {
    "/v1/messages": Generate(_MESSAGES),
    "/v1/messages/count_tokens": CountTokens(_MESSAGES, "input_tokens"),
}


def _model_entry(name: str) -> dict[str, str | int]:
    return {
        "type": "model",
        "id": name,
        "display_name": f"Loopback {name}",
        "created_at": "2023-11-14T00:00:00Z",
        "lifecycle": "active",
        "max_input_tokens": 1_000_000,
        "max_tokens": 1_000_000,
    }


def _invalid(message: str) -> tuple[int, dict[str, str]]:
    return 400, {"type": "invalid_request_error", "message": message}


def _dotted(path: Path) -> str:
    return ".".join(map(str, path))


def _rfc3339(seconds: float) -> str:
    moment = datetime.fromtimestamp(int(seconds), UTC)
    return moment.isoformat().replace("+00:00", "Z")
