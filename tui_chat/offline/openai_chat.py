"""OpenAI's Chat Completions, and what the Responses share with them.

1. A stream is `data:` chunks and `data: [DONE]`. The role comes once, in the first chunk; a tool
   call's id and name come once, in the first delta of its index, and its arguments in pieces after
   that.
2. With `stream_options.include_usage` every chunk has `usage: null`, and one more chunk without
   choices has the numbers.
3. Reasoning is `reasoning_content`, the field that DeepSeek and others add; OpenAI itself never
   shows reasoning in this protocol. Pictures are `images`, which OpenRouter adds.
4. An error is `{"error": {message, type, param, code}}` with all four keys always present.
"""

import json
from collections.abc import Iterable
from typing import Any, assert_never

from tui_chat.offline.base_protocol import FaultTable, OfflineProtocol, Operation, ResponseWriter
from tui_chat.offline.http_messages import HttpRequest, OfflineDependencies
from tui_chat.offline.prompt import (
    PromptPart,
    PromptReasoning,
    PromptRequest,
    PromptText,
    PromptTool,
    PromptToolCall,
    PromptToolChoice,
    PromptToolResult,
    PromptTurn,
    compact,
    fields_of,
    joined_texts,
    limit_of,
    other_fields,
    read_content,
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
from tui_chat.offline.token_probabilities import openai_tokens, requested_alternatives

_FAULTS: FaultTable = {
    "invalid": (400, "invalid_request_error", ""),
    "too_large": (413, "invalid_request_error", ""),
    "unknown_model": (404, "invalid_request_error", ""),
    "not_found": (404, "invalid_request_error", ""),
    "rate_limited": (
        *(429, "requests"),
        "Rate limit reached for this loopback model on requests per min (RPM): Limit 3, Used 3, "
        "Requested 1. Please try again in {seconds}s.",
    ),
    "failed": (
        *(500, "server_error"),
        "The server had an error while processing your request. Sorry about that!",
    ),
    "overloaded": (
        *(503, "server_error"),
        "The engine is currently overloaded, please try again later",
    ),
}
_CODES = {
    "too_large": "request_too_large",
    "unknown_model": "model_not_found",
    "rate_limited": "rate_limit_exceeded",
}
_FINISH_REASONS = {"stop_sequence": "stop"}
_TOOL_KINDS = ("function", "custom")
"""Tools that the client runs; the provider or a vendor runs tools of other kinds."""


class OpenAIProtocol(OfflineProtocol):
    """The parts that are the same in both of OpenAI's protocols."""

    path: str
    id_header = "x-request-id"
    faults = _FAULTS

    def operation(self, request: HttpRequest) -> Operation | None:
        method, path = request.method, request.path
        if method == "POST" and path == self.path:
            return Operation("reply")
        if method in ("GET", "HEAD") and (path == "/v1/models" or path.startswith("/v1/models/")):
            return Operation("models", path.removeprefix("/v1/models").removeprefix("/"))
        return None

    def error(self, status: int, kind: str, message: str, fault: Problem) -> dict[str, Any]:
        return {"message": message, "type": kind, "param": None, "code": _CODES.get(fault.kind)}

    def models(self, names: Iterable[str], listed: bool) -> dict[str, Any]:
        data = [
            {"id": name, "object": "model", "created": 1_700_000_000, "owned_by": "loopback"}
            for name in names
        ]
        return {"object": "list", "data": data} if listed else data[0]


def read_tools(value: Any, nested: bool) -> tuple[PromptTool, ...]:
    """Return the tools that the client runs; `nested` in a field named by their type."""
    tools = [fields_of(tool) for tool in rows_of(value)]
    return tuple(
        read_tool(fields_of(tool.get(text_of(tool["type"]))) if nested else tool, "parameters")
        for tool in tools
        if tool.get("type") in _TOOL_KINDS
    )


def read_choice(value: Any, nested: bool) -> PromptToolChoice:
    """Return the tool choice of OpenAI's protocols."""
    if value in ("none", "auto", "required"):
        return PromptToolChoice(value)
    choice = fields_of(value)
    if choice.get("type") not in _TOOL_KINDS:
        return PromptToolChoice()
    tool = fields_of(choice.get(choice["type"])) if nested else choice
    return PromptToolChoice("required", text_of(tool.get("name")) or None)


class _ChatCompletions(OpenAIProtocol):
    """Chat Completions."""

    name = "OpenAI Chat Completions"
    path = "/v1/chat/completions"

    def owns(self, request: HttpRequest) -> bool:
        return True  # what no other protocol claims

    def read(self, body: dict[str, Any], operation: Operation, size: int) -> PromptRequest:
        limits = map(limit_of, (body.get("max_completion_tokens"), body.get("max_tokens")))
        return PromptRequest(
            protocol=self.name,
            model=text_of(body.get("model")),
            system=(),
            turns=tuple(_turn(fields_of(message)) for message in rows_of(body.get("messages"))),
            tools=read_tools(body.get("tools"), nested=True),
            choice=read_choice(body.get("tool_choice"), nested=True),
            body=body,
            settings=other_fields(body, ("model", "messages", "tools", "tool_choice", "stream")),
            stream=body.get("stream") is True,
            limit=next((limit for limit in limits if limit), None),
            stops=texts_of(body.get("stop")),
            size=size,
        )

    def writer(self, prompt: PromptRequest, dependencies: OfflineDependencies) -> ResponseWriter:
        return _ChatCompletionsWriter(prompt, dependencies)


def _turn(message: dict[str, Any]) -> PromptTurn:
    role = text_of(message.get("role"))
    parts = list[PromptPart]()
    if isinstance(reasoning := message.get("reasoning_content"), str):
        parts.append(PromptReasoning(reasoning))
    content = read_content(message.get("content"))
    if role == "tool":
        identity = text_of(message.get("tool_call_id"))
        return PromptTurn(role, (PromptToolResult(identity, "", joined_texts(content)),))
    parts += content
    if isinstance(refusal := message.get("refusal"), str):
        parts.append(PromptText(refusal))
    parts += [_call(fields_of(call)) for call in rows_of(message.get("tool_calls"))]
    return PromptTurn(role, tuple(parts))


def _call(call: dict[str, Any]) -> PromptToolCall:
    is_custom = call.get("type") == "custom"
    tool = fields_of(call.get("custom" if is_custom else "function"))
    arguments = text_of(tool.get("input" if is_custom else "arguments"))
    return PromptToolCall(text_of(call.get("id")), text_of(tool.get("name")), arguments)


class _ChatCompletionsWriter:
    def __init__(self, prompt: PromptRequest, dependencies: OfflineDependencies) -> None:
        self.id = f"chatcmpl-{dependencies.random_id(29)}"
        self._prompt = prompt
        self._created = int(dependencies.now())
        self._calls = 0
        self._length = self._cited = 0
        self._started = False
        self._alternatives = requested_alternatives(
            prompt.body.get("logprobs"), prompt.body.get("top_logprobs")
        )
        self._wants_usage = (
            fields_of(prompt.body.get("stream_options")).get("include_usage") is True
        )

    def start(self) -> bytes:
        return b""  # the role comes with the first piece, as it does at OpenAI

    def piece(self, piece: Content) -> bytes:
        match piece:
            case TextPiece(text):
                self._length += len(text)
                return self._first({"content": ""}) + self._delta({"content": text}, text)
            case SourcePiece():
                start, self._cited = self._cited, self._length
                return self._delta({"annotations": [_citation(piece, start, self._length)]})
            case ReasoningPiece(text):
                first = self._first({"content": None, "reasoning_content": ""})
                return first + self._delta({"reasoning_content": text})
            case PicturePiece():
                return self._first({"content": ""}) + self._delta({"images": [_image(piece)]})
            case ToolCallPiece(name, arguments, id):
                index, self._calls = self._calls, self._calls + 1
                function = {"name": name, "arguments": ""}
                call = {"index": index, "id": f"call_{id}", "type": "function"}
                opened = {"tool_calls": [{**call, "function": function}]}
                out = self._first({"content": None, **opened}) or self._delta(opened)
                for delta in split_tokens(arguments):
                    more = {"index": index, "function": {"arguments": delta}}
                    out += self._delta({"tool_calls": [more]})
                return out
            case _:
                assert_never(piece)

    def end(self, finish: Finish) -> bytes:
        reason = _FINISH_REASONS.get(finish.reason, finish.reason)
        out = self._first({"content": ""}) + self._chunk([_choice({}, reason)])
        if self._wants_usage:
            out += self._chunk([], self._usage(finish))
        return out + b"data: [DONE]\n\n"

    def error(self, error: dict[str, Any]) -> bytes:
        return _event({"error": error})  # no end mark follows

    def full_response(self, reply: WholeReply, finish: Finish) -> bytes:
        calls = [
            {
                "id": f"call_{piece.id}",
                "type": "function",
                "function": {"name": piece.name, "arguments": piece.arguments},
            }
            for piece in reply.calls
        ]
        content = reply.text or (None if calls else "")
        message: dict[str, Any] = {"role": "assistant", "content": content}
        if reply.reasoning:
            message["reasoning_content"] = reply.reasoning
        if calls:
            message["tool_calls"] = calls
        if reply.pictures:
            message["images"] = [_image(piece) for piece in reply.pictures]
        annotations: list[dict[str, Any]] = []
        length = 0
        for cited, source in reply.cited:
            if source is not None:
                annotations.append(_citation(source, length, length + len(cited)))
            length += len(cited)
        message |= {"refusal": None, "annotations": annotations}
        reason = _FINISH_REASONS.get(finish.reason, finish.reason)
        logprobs = self._logprobs(reply.text)
        choice = {"index": 0, "message": message, "logprobs": logprobs, "finish_reason": reason}
        body = {**self._head("chat.completion"), "choices": [choice], "usage": self._usage(finish)}
        return json.dumps(body, ensure_ascii=False, indent=2).encode()

    def _head(self, kind: str) -> dict[str, Any]:
        return {
            "id": self.id,
            "object": kind,
            "created": self._created,
            "model": self._prompt.model,
            "service_tier": "default",
            "system_fingerprint": "fp_loopback",
        }

    def _first(self, delta: dict[str, Any]) -> bytes:
        if self._started:
            return b""
        self._started = True
        return self._delta({"role": "assistant", **delta, "refusal": None})

    def _delta(self, delta: dict[str, Any], text: str = "") -> bytes:
        return self._chunk([{**_choice(delta, None), "logprobs": self._logprobs(text)}])

    def _logprobs(self, text: str) -> dict[str, Any] | None:
        tokens = openai_tokens(text, self._alternatives)
        return {"content": tokens, "refusal": None} if tokens else None

    def _chunk(self, choices: list[dict[str, Any]], usage: dict[str, Any] | None = None) -> bytes:
        chunk = {**self._head("chat.completion.chunk"), "choices": choices}
        return _event({**chunk, "usage": usage} if self._wants_usage else chunk)

    def _usage(self, finish: Finish) -> dict[str, Any]:
        prompt = estimate_prompt_tokens(self._prompt.characters)
        return {
            "prompt_tokens": prompt,
            "completion_tokens": finish.output,
            "total_tokens": prompt + finish.output,
            "prompt_tokens_details": {"cached_tokens": self._prompt.cache.read},
            "completion_tokens_details": {"reasoning_tokens": finish.reasoning},
        }


def source_fields(source: SourcePiece, start: int, end: int) -> dict[str, Any]:
    """Return what both protocols say of the page that a range of text rests on."""
    return {"title": source.title, "url": source.url, "start_index": start, "end_index": end}


def _citation(source: SourcePiece, start: int, end: int) -> dict[str, Any]:
    return {"type": "url_citation", "url_citation": source_fields(source, start, end)}


def _image(piece: PicturePiece) -> dict[str, Any]:
    url = {"url": f"data:image/png;base64,{piece.data}"}
    return {"type": "image_url", "image_url": url, "index": 0}


def _choice(delta: dict[str, Any], reason: str | None) -> dict[str, Any]:
    return {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}


def _event(chunk: dict[str, Any]) -> bytes:
    return f"data: {compact(chunk)}\n\n".encode()


OPENAI_CHAT = _ChatCompletions()
