"""OpenAI's Responses.

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
from typing import Any, assert_never

from tui_chat.offline.base_protocol import Operation, ResponseWriter
from tui_chat.offline.http_messages import HttpRequest, OfflineDependencies
from tui_chat.offline.openai_chat import OpenAIProtocol, read_choice, read_tools, source_fields
from tui_chat.offline.prompt import (
    PromptOther,
    PromptReasoning,
    PromptRequest,
    PromptToolCall,
    PromptToolResult,
    PromptTurn,
    compact,
    fields_of,
    joined_texts,
    limit_of,
    other_fields,
    read_content,
    rows_of,
    text_of,
    texts_of,
)
from tui_chat.offline.reply import (
    Content,
    Finish,
    PicturePiece,
    ReasoningPiece,
    SourcePiece,
    TextPiece,
    ToolCallPiece,
    WholeReply,
    estimate_prompt_tokens,
    split_tokens,
)
from tui_chat.offline.token_probabilities import openai_tokens, requested_alternatives

Item = dict[str, Any]
_FIELDS = ("model", "input", "instructions", "tools", "tool_choice", "stream")
_LOGPROBS = "message.output_text.logprobs"
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


class _Responses(OpenAIProtocol):
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
        content, instructions = body.get("input"), body.get("instructions")
        items = [fields_of(item) for item in rows_of(content)]
        if isinstance(content, str):
            items = [{"role": "user", "content": content}]
        return PromptRequest(
            protocol=self.name,
            model=text_of(body.get("model")),
            system=(instructions,) if isinstance(instructions, str) else (),
            turns=tuple(map(_item_turn, items)),
            tools=read_tools(body.get("tools"), nested=False),
            choice=read_choice(body.get("tool_choice"), nested=False),
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
            parts = [*rows_of(item.get("summary")), *rows_of(item.get("content"))]
            reasoning = "\n\n".join(text_of(fields_of(part).get("text")) for part in parts)
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
        self._alternatives = requested_alternatives(
            _LOGPROBS in texts_of(prompt.body.get("include")), prompt.body.get("top_logprobs")
        )

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
                tokens = openai_tokens(text, self._alternatives)
                return out + self._within(
                    "response.output_text.delta", content_index=0, delta=text, logprobs=tokens
                )
            case SourcePiece():
                out, number = self._opened("message"), len(self._annotations)
                start = self._annotations[-1]["end_index"] if number else 0
                place = source_fields(piece, start, sum(map(len, self._text)))
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
        response["error"] = {"code": error["code"] or "server_error", "message": error["message"]}
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
                tokens = openai_tokens(text, self._alternatives)
                part = {"type": "output_text", "annotations": self._annotations, "logprobs": tokens}
                part["text"] = text
                self._annotations = []
                out = self._within(
                    "response.output_text.done", content_index=0, text=text, logprobs=tokens
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
        repeated = {
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
            **repeated,
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


OPENAI_RESPONSES = _Responses()
