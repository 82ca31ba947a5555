"""OpenAI: Chat Completions and Responses.

Chat Completions:
1. A stream is `data:` chunks and `data: [DONE]`. The role comes once, in the first chunk; a tool
   call's id and name come once, in the first delta of its index, and its arguments in pieces after
   that.
2. With `stream_options.include_usage` every chunk has `usage: null`, and one more chunk without
   choices has the numbers.
3. Reasoning is `reasoning_content`, the field that DeepSeek and others add; OpenAI itself never
   shows reasoning in this protocol. Pictures are `images`, which OpenRouter adds.
4. An error is `{"error": {message, type, param, code}}` with all four keys always present.

Responses:
1. A stream is a sequence of named events; `event:` repeats the `type` inside, and
   `sequence_number` counts from 0 without a gap. There is no end mark: the last event is
   `response.completed`, `response.incomplete` or `response.failed`, with the whole response in it.
2. Every item is added, filled by deltas, and done; its `.done` events repeat the deltas' content.
3. Reasoning is an item of its own before the message: a readable summary and `encrypted_content`,
   whose value in `output_item.added` is not yet the final one.
4. There is no finish reason for tool calls: a call is an item of a completed response's output.
5. The service puts the turns of `previous_response_id` before those of the request.
"""

import json
from collections.abc import Iterable
from typing import Any, assert_never

from tui_chat.offline.base_protocol import FaultTable, OfflineProtocol, Operation, ResponseWriter
from tui_chat.offline.http_messages import HttpRequest, OfflineDependencies
from tui_chat.offline.prompt import (
    PromptOther,
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


class _OpenAI(OfflineProtocol):
    """What both protocols share."""

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


def _read_tools(value: Any, nested: bool) -> tuple[PromptTool, ...]:
    """Return the tools that the client runs; `nested` in a field named by their type."""
    tools = [fields_of(tool) for tool in rows_of(value)]
    return tuple(
        read_tool(fields_of(tool.get(text_of(tool["type"]))) if nested else tool, "parameters")
        for tool in tools
        if tool.get("type") in _TOOL_KINDS
    )


def _read_choice(value: Any, nested: bool) -> PromptToolChoice:
    """Return the tool choice of OpenAI's protocols."""
    if value in ("none", "auto", "required"):
        return PromptToolChoice(value)
    choice = fields_of(value)
    if choice.get("type") not in _TOOL_KINDS:
        return PromptToolChoice()
    tool = fields_of(choice.get(choice["type"])) if nested else choice
    return PromptToolChoice("required", text_of(tool.get("name")) or None)


class _Chat(_OpenAI):
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
            tools=_read_tools(body.get("tools"), nested=True),
            choice=_read_choice(body.get("tool_choice"), nested=True),
            body=body,
            settings=other_fields(body, ("model", "messages", "tools", "tool_choice", "stream")),
            stream=body.get("stream") is True,
            limit=next((limit for limit in limits if limit), None),
            stops=texts_of(body.get("stop")),
            size=size,
        )

    def writer(self, prompt: PromptRequest, dependencies: OfflineDependencies) -> ResponseWriter:
        return _ChatWriter(prompt, dependencies)


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


class _ChatWriter:
    def __init__(self, prompt: PromptRequest, dependencies: OfflineDependencies) -> None:
        self.id = f"chatcmpl-{dependencies.random_id(29)}"
        self._prompt = prompt
        self._created = int(dependencies.now())
        self._calls = 0
        self._length = self._cited = 0
        self._started = False
        self._wants_usage = (
            fields_of(prompt.body.get("stream_options")).get("include_usage") is True
        )

    def start(self) -> bytes:
        return b""  # the role comes with the first piece, as it does at OpenAI

    def piece(self, piece: Content) -> bytes:
        match piece:
            case TextPiece(text):
                self._length += len(text)
                return self._first({"content": ""}) + self._delta({"content": text})
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
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": reason}
        body = {
            **self._head("chat.completion"),
            "choices": [choice],
            "usage": self._usage(finish),
        }
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

    def _delta(self, delta: dict[str, Any]) -> bytes:
        return self._chunk([_choice(delta, None)])

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


def _source(source: SourcePiece, start: int, end: int) -> dict[str, Any]:
    """Return what both protocols say of the page that a range of text rests on."""
    return {"title": source.title, "url": source.url, "start_index": start, "end_index": end}


def _citation(source: SourcePiece, start: int, end: int) -> dict[str, Any]:
    return {"type": "url_citation", "url_citation": _source(source, start, end)}


def _image(piece: PicturePiece) -> dict[str, Any]:
    url = {"url": f"data:image/png;base64,{piece.data}"}
    return {"type": "image_url", "image_url": url, "index": 0}


def _choice(delta: dict[str, Any], reason: str | None) -> dict[str, Any]:
    return {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}


def _event(chunk: dict[str, Any]) -> bytes:
    return f"data: {compact(chunk)}\n\n".encode()


Item = dict[str, Any]
_FIELDS = ("model", "input", "instructions", "tools", "tool_choice", "stream")
_REPEATED: Item = {
    "instructions": None,
    "max_output_tokens": None,
    "metadata": {},
    "parallel_tool_calls": True,
    "previous_response_id": None,
    "reasoning": {"effort": None, "summary": None},
    "service_tier": "default",
    "store": True,
    "temperature": 1.0,
    "text": {"format": {"type": "text"}, "verbosity": "medium"},
    "tool_choice": "auto",
    "tools": [],
    "top_p": 1.0,
    "truncation": "disabled",
}
"""The request fields that a response repeats, with their default values."""


class _Responses(_OpenAI):
    """Responses."""

    name = "OpenAI Responses"
    path = "/v1/responses"

    def owns(self, request: HttpRequest) -> bool:
        return request.path.startswith(self.path)

    def operation(self, request: HttpRequest) -> Operation | None:
        if request.method == "POST" and request.path == "/v1/responses/input_tokens":
            return Operation("count")
        return super().operation(request)

    def count(self, tokens: int) -> Item:
        return {"object": "response.input_tokens", "input_tokens": tokens}

    def read(self, body: Item, operation: Operation, size: int) -> PromptRequest:
        given, instructions = body.get("input"), body.get("instructions")
        items = [fields_of(item) for item in rows_of(given)]
        if isinstance(given, str):
            items = [{"role": "user", "content": given}]
        return PromptRequest(
            protocol=self.name,
            model=text_of(body.get("model")),
            system=(instructions,) if isinstance(instructions, str) else (),
            turns=tuple(map(_item_turn, items)),
            tools=_read_tools(body.get("tools"), nested=False),
            choice=_read_choice(body.get("tool_choice"), nested=False),
            body=body,
            settings=other_fields(body, _FIELDS),
            stream=body.get("stream") is True,
            limit=limit_of(body.get("max_output_tokens")),
            stops=(),
            size=size,
        )

    def writer(self, prompt: PromptRequest, dependencies: OfflineDependencies) -> ResponseWriter:
        return _ResponsesWriter(prompt, dependencies)


def _item_turn(item: Item) -> PromptTurn:
    kind = text_of(item.get("type")) or "message"
    match kind:
        case "message":
            role, content = text_of(item.get("role")), read_content(item.get("content"))
            return PromptTurn(role, tuple(content))
        case "function_call" | "custom_tool_call":
            identity, name = text_of(item.get("call_id")), text_of(item.get("name"))
            arguments = item.get("arguments" if kind == "function_call" else "input")
            call = PromptToolCall(identity, name, text_of(arguments))
            return PromptTurn("assistant", (call,))
        case "function_call_output" | "custom_tool_call_output":
            output = joined_texts(read_content(item.get("output")))
            result = PromptToolResult(text_of(item.get("call_id")), "", output)
            return PromptTurn("tool", (result,))
        case "reasoning":
            parts = [
                fields_of(part) for key in ("summary", "content") for part in rows_of(item.get(key))
            ]
            reasoning = "\n\n".join(text_of(part.get("text")) for part in parts)
            return PromptTurn("assistant", (PromptReasoning(reasoning),))
        case _:
            return PromptTurn("item", (PromptOther(kind[:64]),))


class _ResponsesWriter:
    def __init__(self, prompt: PromptRequest, dependencies: OfflineDependencies) -> None:
        self.id = _item_id(dependencies, "resp")
        self._prompt = prompt
        self._dependencies = dependencies
        self._created = int(dependencies.now())
        self._number = 0
        self._output: list[Item] = []
        self._open: Item | None = None
        self._text: list[str] = []
        self._annotations: list[Item] = []

    def start(self) -> bytes:
        response = self._response("in_progress")
        return self._event("response.created", response=response) + self._event(
            "response.in_progress", response=response
        )

    def piece(self, piece: Content) -> bytes:
        match piece:
            case ReasoningPiece(text):
                out = self._opened("reasoning")
                self._text.append(text)
                return out + self._within(
                    "response.reasoning_summary_text.delta", summary_index=0, delta=text
                )
            case TextPiece(text):
                out = self._opened("message")
                self._text.append(text)
                return out + self._within(
                    "response.output_text.delta", content_index=0, delta=text, logprobs=[]
                )
            case SourcePiece():
                out, number = self._opened("message"), len(self._annotations)
                start = self._annotations[-1]["end_index"] if number else 0
                place = _source(piece, start, sum(map(len, self._text)))
                annotation: Item = {"type": "url_citation", **place}
                self._annotations.append(annotation)
                return out + self._within(
                    "response.output_text.annotation.added",
                    content_index=0,
                    annotation_index=number,
                    annotation=annotation,
                )
            case PicturePiece(data):
                out = self._closed("completed") + self._opened("image_generation_call")
                self._text.append(data)
                return out + self._closed("completed")
            case ToolCallPiece(name, arguments, id):
                out = self._closed("completed") + self._opened("function_call", name, f"call_{id}")
                self._text.append(arguments)
                for delta in split_tokens(arguments):
                    out += self._within("response.function_call_arguments.delta", delta=delta)
                return out + self._closed("completed")
            case _:
                assert_never(piece)

    def end(self, finish: Finish) -> bytes:
        status = "incomplete" if finish.reason == "length" else "completed"
        out = self._closed(status)
        return out + self._event(f"response.{status}", response=self._response(status, finish))

    def error(self, error: dict[str, Any]) -> bytes:
        response = self._response("failed")
        response["error"] = {
            "code": error["code"] or "server_error",
            "message": error["message"],
        }
        return self._event("response.failed", response=response)

    def full_response(self, reply: WholeReply, finish: Finish) -> bytes:
        for piece in reply.pieces:
            self.piece(piece)
        self.end(finish)
        status = "incomplete" if finish.reason == "length" else "completed"
        return json.dumps(self._response(status, finish), ensure_ascii=False, indent=2).encode()

    def _opened(self, kind: str, name: str = "", call_id: str = "") -> bytes:
        if self._open is not None and self._open["type"] == kind:
            return b""
        out = self._closed("completed")
        token = self._dependencies.random_id
        match kind:
            case "reasoning":
                item: Item = {"id": _item_id(self._dependencies, "rs"), "type": "reasoning"}
                item |= {"encrypted_content": f"gAAAAA{token(90)}", "summary": []}
                part: Item | None = {"type": "summary_text", "text": ""}
                opening = ("response.reasoning_summary_part.added", {"summary_index": 0})
            case "message":
                item = {"id": _item_id(self._dependencies, "msg"), "type": "message"}
                item |= {"status": "in_progress", "content": [], "role": "assistant"}
                part = {"type": "output_text", "annotations": [], "logprobs": [], "text": ""}
                opening = ("response.content_part.added", {"content_index": 0})
            case "image_generation_call":
                item = {"id": _item_id(self._dependencies, "ig"), "type": kind}
                item |= {"status": "in_progress", "result": None}
                part, opening = None, None
            case _:
                item = {"id": _item_id(self._dependencies, "fc"), "type": "function_call"}
                item |= {"status": "in_progress", "arguments": ""}
                item |= {"call_id": call_id, "name": name}
                part, opening = None, None
        self._open = item
        out += self._event("response.output_item.added", output_index=len(self._output), item=item)
        if opening is not None:
            out += self._within(opening[0], **opening[1], part=part)
        return out

    def _closed(self, status: str) -> bytes:
        item, text = self._open, "".join(self._text)
        self._text.clear()
        if item is None:
            return b""
        match item["type"]:
            case "reasoning":
                part: Item = {"type": "summary_text", "text": text}
                out = self._within(
                    "response.reasoning_summary_text.done", summary_index=0, text=text
                ) + self._within("response.reasoning_summary_part.done", summary_index=0, part=part)
                item = {**item, "encrypted_content": f"gAAAAA{self._dependencies.random_id(180)}"}
                item["summary"] = [part]
            case "message":
                part = {"type": "output_text", "annotations": self._annotations, "logprobs": []}
                part["text"] = text
                self._annotations = []
                out = self._within(
                    "response.output_text.done", content_index=0, text=text, logprobs=[]
                ) + self._within("response.content_part.done", content_index=0, part=part)
                item = {**item, "status": status, "content": [part]}
            case "image_generation_call":
                out = self._within("response.image_generation_call.completed")
                facts = {"background": "opaque", "output_format": "png", "quality": "low"}
                item = {**item, "status": status, "result": text, **facts, "size": "64x64"}
            case _:
                out = self._within("response.function_call_arguments.done", arguments=text)
                item = {**item, "status": status, "arguments": text}
        out += self._event("response.output_item.done", output_index=len(self._output), item=item)
        self._output.append(item)
        self._open = None
        return out

    def _within(self, kind: str, **fields: Any) -> bytes:
        id = self._open["id"] if self._open else ""
        return self._event(kind, item_id=id, output_index=len(self._output), **fields)

    def _event(self, kind: str, **fields: Any) -> bytes:
        event = {"type": kind, "sequence_number": self._number, **fields}
        self._number += 1
        return f"event: {kind}\ndata: {compact(event)}\n\n".encode()

    def _response(self, status: str, finish: Finish | None = None) -> Item:
        body = self._prompt.body
        given = {
            key: body[key] if body.get(key) is not None else default
            for key, default in _REPEATED.items()
        }
        return {
            "id": self.id,
            "object": "response",
            "created_at": self._created,
            "status": status,
            "background": False,
            "completed_at": int(self._dependencies.now()) if status == "completed" else None,
            "error": None,
            "incomplete_details": (
                {"reason": "max_output_tokens"} if status == "incomplete" else None
            ),
            "model": self._prompt.model,
            "output": list(self._output),
            **given,
            "usage": self._usage(finish) if finish else None,
        }

    def _usage(self, finish: Finish) -> Item:
        prompt = estimate_prompt_tokens(self._prompt.characters)
        return {
            "input_tokens": prompt,
            "input_tokens_details": {
                "cached_tokens": self._prompt.cache.read,
                "cache_write_tokens": 0,
            },
            "output_tokens": finish.output,
            "output_tokens_details": {"reasoning_tokens": finish.reasoning},
            "total_tokens": prompt + finish.output,
        }


def _item_id(dependencies: OfflineDependencies, prefix: str) -> str:
    return f"{prefix}_{dependencies.random_id(50).lower()}"


OPENAI_CHAT = _Chat()
OPENAI_RESPONSES = _Responses()
