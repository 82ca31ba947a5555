"""Writing replies as Chat Completions and as Responses.

Chat Completions:
1. A stream is `data:` chunks and `data: [DONE]`. The role comes once, in the first chunk; a tool
   call's id and name come once, in the first delta of its index, and its arguments in pieces after
   that.
2. With `stream_options.include_usage` every chunk has `usage: null`, and one more chunk without
   choices has the numbers.
3. Reasoning is `reasoning_content`, the field that DeepSeek and others add; OpenAI itself never
   shows reasoning in this protocol. Pictures are `images`, which OpenRouter adds.

Responses:
1. A stream is a sequence of named events; `event:` repeats the `type` inside, and
   `sequence_number` counts from 0 without a gap. There is no end mark: the last event is
   `response.completed`, `response.incomplete` or `response.failed`, with the whole response in it.
2. Every item is added, filled by deltas, and done; its `.done` events repeat the deltas' content.
3. Reasoning is an item of its own before the message: a readable summary and `encrypted_content`,
   whose value in `output_item.added` is not yet the final one.
4. There is no finish reason for tool calls: a call is an item of a completed response's output.
"""

import json
from collections.abc import Sequence
from typing import Any, assert_never

from tui_chat.offline.dependencies import OfflineDependencies
from tui_chat.offline.json_reader import compact
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
from tui_chat.offline.tokens import estimate_prompt_tokens, split_tokens

_FINISH_REASONS = {
    "stop": "stop",
    "stop_sequence": "stop",
    "length": "length",
    "tool_calls": "tool_calls",
}
_FINGERPRINT = "fp_loopback"


class ChatWriter:
    """One Chat Completions reply."""

    def __init__(self, prompt: PromptRequest, dependencies: OfflineDependencies) -> None:
        self.id = f"chatcmpl-{dependencies.random_id(29)}"
        self._prompt = prompt
        self._dependencies = dependencies
        self._created = int(dependencies.now())
        self._calls = 0
        self._length = self._cited = 0
        self._started = False
        options = prompt.body.get("stream_options")
        self._wants_usage: bool = options is not None and options.get("include_usage") is True

    def start(self) -> bytes:
        """Return nothing: the role comes with the first piece, as it does at OpenAI."""
        return b""

    def piece(self, piece: Content) -> bytes:
        """Return one chunk, or several for a tool call."""
        match piece:
            case TextPiece(text):
                self._length += len(text)
                return self._first({"content": ""}) + self._delta({"content": text})
            case SourcePiece():
                place = self._cited, self._length
                self._cited = self._length
                return self._delta({"annotations": [_chat_annotation(piece, *place)]})
            case ReasoningPiece(text):
                first = self._first({"content": None, "reasoning_content": ""})
                return first + self._delta({"reasoning_content": text})
            case PicturePiece(data):
                images = {"images": [_chat_image(data)]}
                return self._first({"content": ""}) + self._delta(images)
            case ToolCallPiece(name, arguments, id):
                index, self._calls = self._calls, self._calls + 1
                call = {
                    "index": index,
                    "id": f"call_{id}",
                    "type": "function",
                    "function": {"name": name, "arguments": ""},
                }
                opened = {"tool_calls": [call]}
                first = self._first({"content": None, **opened}) or self._delta(opened)
                return first + b"".join(
                    self._delta(
                        {"tool_calls": [{"index": index, "function": {"arguments": delta}}]}
                    )
                    for delta in split_tokens(arguments)
                )
            case _:
                assert_never(piece)

    def end(self, finish: Finish) -> bytes:
        """Return the finish reason, the usage if it was requested, and the end mark."""
        out = self._first({"content": ""}) + self._chunk(
            [_choice({}, _FINISH_REASONS[finish.reason])]
        )
        if self._wants_usage:
            out += self._chunk([], self._usage_of(finish))
        return out + b"data: [DONE]\n\n"

    def error(self, error: dict[str, Any]) -> bytes:
        """Return a chunk that is an error object; no end mark follows."""
        return _chat_event({"error": error})

    def full_response(self, pieces: Sequence[Content], finish: Finish) -> bytes:
        """Return the `chat.completion` object."""
        text = "".join(piece.text for piece in pieces if isinstance(piece, TextPiece))
        reasoning = "".join(piece.text for piece in pieces if isinstance(piece, ReasoningPiece))
        calls = [
            {
                "id": f"call_{piece.id}",
                "type": "function",
                "function": {"name": piece.name, "arguments": piece.arguments},
            }
            for piece in pieces
            if isinstance(piece, ToolCallPiece)
        ]
        message: dict[str, Any] = {"role": "assistant", "content": text or (None if calls else "")}
        if reasoning:
            message["reasoning_content"] = reasoning
        if calls:
            message["tool_calls"] = calls
        images = [_chat_image(piece.data) for piece in pieces if isinstance(piece, PicturePiece)]
        if images:
            message["images"] = images
        annotations: list[dict[str, Any]] = []
        length = 0
        for cited, source in cited_texts(pieces):
            if source is not None:
                annotations.append(_chat_annotation(source, length, length + len(cited)))
            length += len(cited)
        message |= {"refusal": None, "annotations": annotations}
        choice = {
            "index": 0,
            "message": message,
            "logprobs": None,
            "finish_reason": _FINISH_REASONS[finish.reason],
        }
        body = {
            "id": self.id,
            "object": "chat.completion",
            "created": self._created,
            "model": self._prompt.model,
            "choices": [choice],
            "usage": self._usage_of(finish),
            "service_tier": "default",
            "system_fingerprint": _FINGERPRINT,
        }
        return json.dumps(body, ensure_ascii=False, indent=2).encode()

    def _first(self, delta: dict[str, Any]) -> bytes:
        if self._started:
            return b""
        self._started = True
        return self._delta({"role": "assistant", **delta, "refusal": None})

    def _delta(self, delta: dict[str, Any]) -> bytes:
        return self._chunk([_choice(delta, None)])

    def _chunk(self, choices: list[dict[str, Any]], usage: dict[str, Any] | None = None) -> bytes:
        chunk: dict[str, Any] = {
            "id": self.id,
            "object": "chat.completion.chunk",
            "created": self._created,
            "model": self._prompt.model,
            "service_tier": "default",
            "system_fingerprint": _FINGERPRINT,
            "choices": choices,
        }
        if self._wants_usage:
            chunk["usage"] = usage
        return _chat_event(chunk)

    def _usage_of(self, finish: Finish) -> dict[str, Any]:
        prompt = estimate_prompt_tokens(self._prompt.characters)
        return {
            "prompt_tokens": prompt,
            "completion_tokens": finish.output,
            "total_tokens": prompt + finish.output,
            "prompt_tokens_details": {
                "cached_tokens": self._prompt.cache.read,
                "audio_tokens": 0,
            },
            "completion_tokens_details": {
                "reasoning_tokens": finish.reasoning,
                "audio_tokens": 0,
                "accepted_prediction_tokens": 0,
                "rejected_prediction_tokens": 0,
            },
        }


def _annotation(source: SourcePiece, start: int, end: int) -> dict[str, Any]:
    place = {"start_index": start, "end_index": end}
    return {"title": source.title, "url": source.url, **place}


def _chat_annotation(source: SourcePiece, start: int, end: int) -> dict[str, Any]:
    return {"type": "url_citation", "url_citation": _annotation(source, start, end)}


def _chat_image(data: str) -> dict[str, Any]:
    url = {"url": f"data:image/png;base64,{data}"}
    return {"type": "image_url", "image_url": url, "index": 0}


def _choice(delta: dict[str, Any], reason: str | None) -> dict[str, Any]:
    return {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}


def _chat_event(chunk: dict[str, Any]) -> bytes:
    return f"data: {compact(chunk)}\n\n".encode()


Item = dict[str, Any]


class ResponsesWriter:
    """One Responses reply."""

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
        """Return the events that the response is created and in progress."""
        response = self._response("in_progress")
        return self._event("response.created", response=response) + self._event(
            "response.in_progress", response=response
        )

    def piece(self, piece: Content) -> bytes:
        """Return a delta, after opening the item it belongs to and closing the one before."""
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
                place = _annotation(piece, start, sum(map(len, self._text)))
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
        """End the open item and the response."""
        status = "incomplete" if finish.reason == "length" else "completed"
        out = self._closed(status)
        return out + self._event(f"response.{status}", response=self._response(status, finish))

    def error(self, error: dict[str, Any]) -> bytes:
        """Return `response.failed`, with the items finished before it."""
        response = self._response("failed")
        response["error"] = {
            "code": error["code"] or "server_error",
            "message": error["message"],
        }
        return self._event("response.failed", response=response)

    def full_response(self, pieces: Sequence[Content], finish: Finish) -> bytes:
        """Return the response object, the same as in a stream's last event."""
        for piece in pieces:
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
            "usage": self._usage_of(finish) if finish else None,
        }

    def _usage_of(self, finish: Finish) -> Item:
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


_REPEATED: Item = {
    "instructions": None,
    "max_output_tokens": None,
    "max_tool_calls": None,
    "metadata": {},
    "parallel_tool_calls": True,
    "previous_response_id": None,
    "prompt_cache_key": None,
    "reasoning": {"effort": None, "summary": None},
    "safety_identifier": None,
    "service_tier": "default",
    "store": True,
    "temperature": 1.0,
    "text": {"format": {"type": "text"}, "verbosity": "medium"},
    "tool_choice": "auto",
    "tools": [],
    "top_logprobs": 0,
    "top_p": 1.0,
    "truncation": "disabled",
    "user": None,
}
"""The request fields that a response repeats, with their default values."""
