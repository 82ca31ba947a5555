"""OpenAI's Chat Completions, and what the Responses share with them.

1. A tool call's id and name come once, in the first delta of its index, and its arguments in pieces
   after that.
2. With `stream_options.include_usage` every chunk has `usage: null`, and one more chunk without
   choices has the numbers.
3. Reasoning is `reasoning_content`, the field that DeepSeek and others add. Pictures are `images`,
   which OpenRouter adds.
"""

from collections.abc import Iterable
from typing import Any, ClassVar

from tui_chat.models.json_text import as_object, to_json
from tui_chat.offline.prompt import Refusal
from tui_chat.offline.reply import Finish, Piece, split_tokens
from tui_chat.plugins.practice.writers import Faults, PracticeWriter, client_faults, text_of

_CODES = {
    "too_large": "request_too_large",
    "unknown_model": "model_not_found",
    "rate_limited": "rate_limit_exceeded",
}


class OpenAIWriter(PracticeWriter):
    """The common part of OpenAI's two protocols."""

    id_header = "x-request-id"
    faults: ClassVar[Faults] = {
        **client_faults(
            "invalid_request_error", "invalid_request_error", (413, "invalid_request_error")
        ),
        "rate_limited": (
            *(429, "requests"),
            "Rate limit reached on requests per min (RPM). Please try again in {s}s.",
        ),
        "failed": (
            *(500, "server_error"),
            "The server had an error while processing your request.",
        ),
        "overloaded": (
            *(503, "server_error"),
            "The engine is currently overloaded, please try again later",
        ),
    }

    @classmethod
    def models(cls, names: Iterable[str]) -> dict[str, Any]:
        data = [{"id": name, "object": "model", "owned_by": "loopback"} for name in names]
        return {"object": "list", "data": data}

    @classmethod
    def fault(cls, status: int, kind: str, message: str, refusal: Refusal) -> dict[str, Any]:
        code = _CODES.get(refusal.kind)
        return {"error": {"message": message, "type": kind, "param": None, "code": code}}


class ChatWriter(OpenAIWriter):
    """Writes Chat Completions."""

    title = "OpenAI Chat Completions"
    reply_id = ("chatcmpl-", 29)
    reasons = ("stop", "stop", "length", "tool_calls")

    def start(self) -> bytes:
        return self._event({"role": "assistant", "content": "", "refusal": None})

    def piece(self, piece: Piece) -> bytes:
        match piece.kind:
            case "text":
                return self._event({"content": piece.text}, piece.text)
            case "source":
                return self._event({"annotations": [_citation(*self.sources[-1])]})
            case "reasoning":
                return self._event({"reasoning_content": piece.text})
            case "picture":
                return self._event({"images": [_image(piece)]})
            case "call":
                index = self.calls - 1
                call = {"index": index, **self._call(piece, "")}
                deltas: list[dict[str, Any]] = [call]
                for text in split_tokens(piece.text):
                    deltas.append({"index": index, "function": {"arguments": text}})
                return b"".join(self._event({"tool_calls": [delta]}) for delta in deltas)

    def end(self, finish: Finish) -> bytes:
        out = self._event({}, reason=self.reason(finish))
        if self._wants_usage:
            out += self._data([], usage=self._usage(finish))
        return out + b"data: [DONE]\n\n"

    def body(self, pieces: list[Piece], finish: Finish) -> dict[str, Any]:
        text, calls = text_of(pieces), [piece for piece in pieces if piece.kind == "call"]
        fields = {
            "reasoning_content": text_of(pieces, "reasoning"),
            "tool_calls": [self._call(call, call.text) for call in calls],
            "images": [_image(piece) for piece in pieces if piece.kind == "picture"],
        }
        message = {"role": "assistant", "content": text or (None if calls else "")}
        message |= {name: value for name, value in fields.items() if value}
        annotations = [_citation(*source) for source in self.sources]
        message |= {"refusal": None, "annotations": annotations}
        reason, logprobs = self.reason(finish), self._logprobs(text)
        choice = {"index": 0, "message": message, "logprobs": logprobs, "finish_reason": reason}
        return {**self._head("chat.completion"), "choices": [choice], "usage": self._usage(finish)}

    @property
    def _wants_usage(self) -> bool:
        return as_object(self.prompt.body.get("stream_options")).get("include_usage") is True

    def _call(self, call: Piece, arguments: str) -> dict[str, Any]:
        function = {"name": call.name, "arguments": arguments}
        return {"id": f"call_{self.random_id(24)}", "type": "function", "function": function}

    def _head(self, kind: str) -> dict[str, Any]:
        return {
            "id": self.id,
            "object": kind,
            "created": self.now,
            "model": self.prompt.model,
            "service_tier": "default",
            "system_fingerprint": "fp_loopback",
        }

    def _logprobs(self, text: str) -> dict[str, Any] | None:
        tokens = [token.openai() for token in self.tokens(text)]
        return {"content": tokens, "refusal": None} if tokens else None

    def _event(self, delta: dict[str, Any], text: str = "", reason: str | None = None) -> bytes:
        logprobs = self._logprobs(text)
        choice = {"index": 0, "delta": delta, "logprobs": logprobs, "finish_reason": reason}
        return self._data([choice], **({"usage": None} if self._wants_usage else {}))

    def _data(self, choices: list[Any], **fields: Any) -> bytes:
        chunk = {**self._head("chat.completion.chunk"), "choices": choices, **fields}
        return f"data: {to_json(chunk)}\n\n".encode()

    def _usage(self, finish: Finish) -> dict[str, Any]:
        prompt = self.prompt.tokens
        return {
            "prompt_tokens": prompt,
            "completion_tokens": finish.output,
            "total_tokens": prompt + finish.output,
            "prompt_tokens_details": {"cached_tokens": self.cache.read},
            "completion_tokens_details": {"reasoning_tokens": self.reasoning},
        }


def source_fields(source: Piece, start: int, end: int) -> dict[str, Any]:
    """Return what both protocols say of the page that a range of text rests on."""
    return {"title": source.name, "url": source.text, "start_index": start, "end_index": end}


def _citation(source: Piece, start: int, end: int) -> dict[str, Any]:
    return {"type": "url_citation", "url_citation": source_fields(source, start, end)}


def _image(piece: Piece) -> dict[str, Any]:
    url = {"url": f"data:image/png;base64,{piece.text}"}
    return {"type": "image_url", "image_url": url, "index": 0}
