"""OpenAI's Responses.

1. A stream is a sequence of named events; `event:` repeats the `type` inside, and
   `sequence_number` counts from 0 without a gap. There is no end mark: the last event is
   `response.completed`, `response.incomplete` or `response.failed`, with the whole response in it.
2. Every item is added, filled by deltas, and done; its `.done` events repeat the deltas' content.
3. Reasoning is an item of its own before the message: a readable summary and `encrypted_content`,
   whose value in `output_item.added` is not yet the final one.
4. There is no finish reason for tool calls: a call is an item of a completed response's output.
"""

from typing import Any

from tui_chat.models.endpoint import Protocol
from tui_chat.models.json_text import to_json
from tui_chat.offline.prompt import Prompt
from tui_chat.offline.provider import OfflineDependencies
from tui_chat.offline.reply import Finish, Piece
from tui_chat.plugins.practice.openai_chat import OpenAIWriter, source_fields
from tui_chat.plugins.practice.writers import BlockWriter, event

Item = dict[str, Any]
_KINDS = {
    "reasoning": ("rs", "reasoning"),
    "text": ("msg", "message"),
    "picture": ("ig", "image_generation_call"),
    "call": ("fc", "function_call"),
}
"""The beginning of the id, and the type, of items by kind of block."""
_REPEATED: Item = {
    **dict.fromkeys(("instructions", "max_output_tokens", "previous_response_id")),
    "metadata": {},
    "parallel_tool_calls": True,
    "service_tier": "default",
    "store": True,
    "reasoning": {"effort": None, "summary": None},
    "temperature": 1.0,
    "top_p": 1.0,
    "text": {"format": {"type": "text"}, "verbosity": "medium"},
    "truncation": "disabled",
    "tool_choice": "auto",
    "tools": [],
}
"""The request fields that a response repeats, with their default values."""


class ResponsesWriter(BlockWriter, OpenAIWriter):
    """Writes Responses."""

    protocol = Protocol.OPENAI_RESPONSES
    title = "OpenAI Responses"
    reply_id = ("resp_", 50)
    reasons = ("completed", "completed", "incomplete", "completed")

    def __init__(self, prompt: Prompt, dependencies: OfflineDependencies) -> None:
        super().__init__(prompt, dependencies)
        self._number = 0
        self._item: Item = {}
        self._annotations: list[Item] = []
        self.output: list[Item] = []
        self.conversation: list[Item] = []
        """The list to which the output is added at the end."""

    def start(self) -> bytes:
        response = self._response("in_progress")
        created = self._event("response.created", response=response)
        return created + self._event("response.in_progress", response=response)

    def opened(self, block: Piece) -> bytes:
        prefix, kind = _KINDS[block.kind]
        self._item = item = {"id": self._new_id(prefix), "type": kind}
        part: Item | None = None
        opening: tuple[str, dict[str, int]] | None = None
        match block.kind:
            case "reasoning":
                item |= {"encrypted_content": f"gAAAAA{self.random_id(90)}", "summary": []}
                part = {"type": "summary_text", "text": ""}
                opening = ("response.reasoning_summary_part.added", {"summary_index": 0})
            case "call":
                item |= {"status": "in_progress", "arguments": "", "name": block.name}
                item |= {"call_id": f"call_{self.random_id(24)}"}
            case "picture":
                item |= {"status": "in_progress", "result": None}
            case _:
                item |= {"status": "in_progress", "content": [], "role": "assistant"}
                part = {"type": "output_text", "annotations": [], "logprobs": [], "text": ""}
                opening = ("response.content_part.added", {"content_index": 0})
        out = self._event("response.output_item.added", output_index=len(self.output), item=item)
        return out + self._within(opening[0], **opening[1], part=part) if opening else out

    def grown(self, text: str) -> bytes:
        match self.block and self.block.kind:
            case "reasoning":
                kind = "response.reasoning_summary_text.delta"
                return self._within(kind, summary_index=0, delta=text)
            case "call":
                return self._within("response.function_call_arguments.delta", delta=text)
            case "picture":
                return b""
            case _:
                tokens = [token.openai() for token in self.tokens(text)]
                kind = "response.output_text.delta"
                return self._within(kind, content_index=0, delta=text, logprobs=tokens)

    def cite(self, source: Piece) -> bytes:
        number = len(self._annotations)
        annotation = {"type": "url_citation", **source_fields(*self.sources[-1])}
        self._annotations.append(annotation)
        places = {"content_index": 0, "annotation_index": number}
        kind = "response.output_text.annotation.added"
        return self._within(kind, **places, annotation=annotation)

    def closed(self, block: Piece, status: str) -> bytes:
        text, item = block.text, self._item
        match block.kind:
            case "reasoning":
                part: Item = {"type": "summary_text", "text": text}
                kind = "response.reasoning_summary"
                out = self._within(f"{kind}_text.done", summary_index=0, text=text)
                out += self._within(f"{kind}_part.done", summary_index=0, part=part)
                item = {**item, "encrypted_content": f"gAAAAA{self.random_id(180)}"}
                item["summary"] = [part]
            case "call":
                out = self._within("response.function_call_arguments.done", arguments=text)
                item = {**item, "status": status, "arguments": text}
            case "picture":
                out = self._within("response.image_generation_call.completed")
                facts = {"background": "opaque", "output_format": "png", "quality": "low"}
                item = {**item, "status": status, "result": text, **facts, "size": "64x64"}
            case _:
                tokens = [token.openai() for token in self.tokens(text)]
                part = {"type": "output_text", "annotations": self._annotations, "logprobs": tokens}
                part["text"] = text
                self._annotations = []
                kind = "response.output_text.done"
                out = self._within(kind, content_index=0, text=text, logprobs=tokens)
                out += self._within("response.content_part.done", content_index=0, part=part)
                item = {**item, "status": status, "content": [part]}
        out += self._event("response.output_item.done", output_index=len(self.output), item=item)
        self.output.append(item)
        return out

    def end(self, finish: Finish) -> bytes:
        status = self.reason(finish)
        out = self.close(status)
        self.conversation += self.output
        return out + self._event(f"response.{status}", response=self._response(status, finish))

    def whole(self, pieces: list[Piece], finish: Finish) -> bytes:
        for piece in (*pieces, finish):
            self.write(piece)
        return to_json(self._response(self.reason(finish), self.finished(finish))).encode()

    def error(self, body: Item) -> bytes:
        response, error = self._response("failed"), body["error"]
        response["error"] = {"code": error["code"] or "server_error", "message": error["message"]}
        return self._event("response.failed", response=response)

    @classmethod
    def count_body(cls, tokens: int) -> Item:
        return {"object": "response.input_tokens", "input_tokens": tokens}

    def _new_id(self, prefix: str) -> str:
        return f"{prefix}_{self.random_id(50).lower()}"

    def _within(self, kind: str, **fields: Any) -> bytes:
        place = {"item_id": self._item["id"], "output_index": len(self.output)}
        return self._event(kind, **place, **fields)

    def _event(self, kind: str, **fields: Any) -> bytes:
        number, self._number = self._number, self._number + 1
        return event(kind, sequence_number=number, **fields)

    def _response(self, status: str, finish: Finish | None = None) -> Item:
        body = self.prompt.body
        repeated = {
            key: body[key] if body.get(key) is not None else _REPEATED[key] for key in _REPEATED
        }
        incomplete = {"reason": "max_output_tokens"} if status == "incomplete" else None
        return {
            "id": self.id,
            "object": "response",
            "created_at": self.now,
            "status": status,
            "background": False,
            "completed_at": int(self.dependencies.now()) if status == "completed" else None,
            "error": None,
            "incomplete_details": incomplete,
            "model": self.prompt.model,
            "output": list(self.output),
            **repeated,
            "usage": self._usage(finish) if finish else None,
        }

    def _usage(self, finish: Finish) -> Item:
        prompt = self.prompt.tokens
        return {
            "input_tokens": prompt,
            "input_tokens_details": {"cached_tokens": self.cache.read, "cache_write_tokens": 0},
            "output_tokens": finish.output,
            "output_tokens_details": {"reasoning_tokens": self.reasoning},
            "total_tokens": prompt + finish.output,
        }
