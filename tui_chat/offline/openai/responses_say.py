"""Saying a reply as Responses.

1. A stream is a sequence of named events; `event:` repeats the `type` inside, and
   `sequence_number` counts from 0 without a gap. There is no end mark: the last event is
   `response.completed`, `response.incomplete` or `response.failed`, with the whole response in it.
2. Every item is added, filled by deltas, and done; its `.done` events repeat what the deltas said.
3. Reasoning is an item of its own before the message: a readable summary and `encrypted_content`,
   whose value in `output_item.added` is not yet the final one.
4. There is no "stopped to call a tool": a call is an item of the output of a completed response.
"""

import json
from collections.abc import Sequence
from typing import Any, assert_never

from tui_chat.offline import tokens
from tui_chat.offline.asked import Asked
from tui_chat.offline.node import compact
from tui_chat.offline.openai import house
from tui_chat.offline.pieces import Finish, Reasoning, Said, Text, ToolCall
from tui_chat.offline.problems import Broken, Overloaded, RateLimited
from tui_chat.offline.world import World

Item = dict[str, Any]


class ResponsesVoice:
    """One Responses reply."""

    def __init__(self, asked: Asked, world: World) -> None:
        self.id = self._name(world, "resp")
        self._asked = asked
        self._world = world
        self._created = int(world.now())
        self._number = 0
        self._output: list[Item] = []
        self._open: Item | None = None
        self._text: list[str] = []

    def begin(self) -> bytes:
        """Say that the response is created and in progress."""
        response = self._response("in_progress")
        return self._event("response.created", response=response) + self._event(
            "response.in_progress", response=response
        )

    def say(self, said: Said) -> bytes:
        """Return a delta, after opening the item it belongs to and closing the one before."""
        match said:
            case Reasoning(text):
                out = self._opened("reasoning")
                self._text.append(text)
                return out + self._within(
                    "response.reasoning_summary_text.delta", summary_index=0, delta=text
                )
            case Text(text):
                out = self._opened("message")
                self._text.append(text)
                return out + self._within(
                    "response.output_text.delta", content_index=0, delta=text, logprobs=[]
                )
            case ToolCall(name, arguments, id):
                out = self._closed("completed") + self._opened("function_call", name, f"call_{id}")
                self._text.append(arguments)
                for piece in tokens.split(arguments):
                    out += self._within("response.function_call_arguments.delta", delta=piece)
                return out + self._closed("completed")
            case _:
                assert_never(said)

    def end(self, finish: Finish) -> bytes:
        """End the open item and the response."""
        status = "incomplete" if finish.reason == "length" else "completed"
        out = self._closed(status)
        return out + self._event(f"response.{status}", response=self._response(status, finish))

    def fail(self, problem: RateLimited | Broken | Overloaded) -> bytes:
        """`response.failed`, with what was finished before it."""
        error = house.describe(problem)[1]
        response = self._response("failed")
        response["error"] = {
            "code": "rate_limit_exceeded" if isinstance(problem, RateLimited) else "server_error",
            "message": error["message"],
        }
        return self._event("response.failed", response=response)

    def whole(self, pieces: Sequence[Said], finish: Finish) -> bytes:
        """Return the response object: the same that the stream's last event would hold."""
        for piece in pieces:
            self.say(piece)
        self.end(finish)
        status = "incomplete" if finish.reason == "length" else "completed"
        return json.dumps(self._response(status, finish), ensure_ascii=False, indent=2).encode()

    def _opened(self, kind: str, name: str = "", call_id: str = "") -> bytes:
        if self._open is not None and self._open["type"] == kind:
            return b""
        out = self._closed("completed")
        token = self._world.token
        match kind:
            case "reasoning":
                item: Item = {"id": self._name(self._world, "rs"), "type": "reasoning"}
                item |= {"encrypted_content": f"gAAAAA{token(90)}", "summary": []}
                part: Item | None = {"type": "summary_text", "text": ""}
                opening = ("response.reasoning_summary_part.added", {"summary_index": 0})
            case "message":
                item = {"id": self._name(self._world, "msg"), "type": "message"}
                item |= {"status": "in_progress", "content": [], "role": "assistant"}
                part = {"type": "output_text", "annotations": [], "logprobs": [], "text": ""}
                opening = ("response.content_part.added", {"content_index": 0})
            case _:
                item = {"id": self._name(self._world, "fc"), "type": "function_call"}
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
                item = {**item, "encrypted_content": f"gAAAAA{self._world.token(180)}"}
                item["summary"] = [part]
            case "message":
                part = {"type": "output_text", "annotations": [], "logprobs": [], "text": text}
                out = self._within(
                    "response.output_text.done", content_index=0, text=text, logprobs=[]
                ) + self._within("response.content_part.done", content_index=0, part=part)
                item = {**item, "status": status, "content": [part]}
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

    @staticmethod
    def _name(world: World, prefix: str) -> str:
        return f"{prefix}_{world.token(50).lower()}"

    def _response(self, status: str, finish: Finish | None = None) -> Item:
        body = self._asked.body
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
            "completed_at": int(self._world.now()) if status == "completed" else None,
            "error": None,
            "incomplete_details": (
                {"reason": "max_output_tokens"} if status == "incomplete" else None
            ),
            "model": self._asked.model,
            "output": list(self._output),
            **given,
            "usage": self._cost(finish) if finish else None,
        }

    def _cost(self, finish: Finish) -> Item:
        prompt = tokens.estimate(self._asked.characters)
        return {
            "input_tokens": prompt,
            "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
            "output_tokens": finish.output,
            "output_tokens_details": {"reasoning_tokens": finish.reasoning},
            "total_tokens": prompt + finish.output,
        }


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
"""What a response repeats of its request, and the value where the request was silent."""
