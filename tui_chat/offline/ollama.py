"""Ollama's `/api/chat`.

1. A stream, the default, is JSON objects, one a line. Each repeats model and time, and has a
   message with the next text, thinking or calls; the last one has an empty message, `done`, and
   the figures.
2. A call is whole, its arguments an object. `done_reason` is `stop` after a call too.
3. Durations are in nanoseconds.
4. A request without messages gets an empty reply, with the reason `load`.
5. An error is `{"error": message}`, also as a line of a stream. A local server sends no ids, no
   limits and no wait.
"""

import json
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

from tui_chat.offline.base_protocol import FaultTable, OfflineProtocol, Operation, ResponseWriter
from tui_chat.offline.http_messages import Headers, HttpRequest, OfflineDependencies
from tui_chat.offline.prompt import (
    PromptOther,
    PromptPart,
    PromptReasoning,
    PromptRequest,
    PromptText,
    PromptToolCall,
    PromptToolChoice,
    PromptToolResult,
    PromptTurn,
    compact,
    fields_of,
    limit_of,
    other_fields,
    read_tool,
    rows_of,
    text_of,
    texts_of,
)
from tui_chat.offline.reply import (
    Content,
    Finish,
    Problem,
    SourcePiece,
    ToolCallPiece,
    WholeReply,
    estimate_prompt_tokens,
)
from tui_chat.offline.token_probabilities import openai_tokens, requested_alternatives

_FAULTS: FaultTable = {
    "invalid": (400, "", ""),
    "too_large": (413, "", ""),
    "unknown_model": (404, "", ""),
    "not_found": (404, "", ""),
    "rate_limited": (429, "", "you have reached your limit, please try again in {seconds}s"),
    "failed": (500, "", "an error was encountered while running the model"),
    "overloaded": (*(503, ""), "server busy, please try again.  maximum pending requests exceeded"),
}


class _OllamaChat(OfflineProtocol):
    """`/api/chat`."""

    name = "Ollama chat"
    json_type = "application/json; charset=utf-8"
    stream_type = "application/x-ndjson"
    faults = _FAULTS

    def owns(self, request: HttpRequest) -> bool:
        return request.path.startswith("/api/")

    def operation(self, request: HttpRequest) -> Operation | None:
        method_and_path = request.method.replace("HEAD", "GET"), request.path
        return {
            ("POST", "/api/chat"): Operation("reply"),
            ("GET", "/api/tags"): Operation("models"),
        }.get(method_and_path)

    def read(self, body: dict[str, Any], operation: Operation, size: int) -> PromptRequest:
        options = fields_of(body.get("options"))
        turns = tuple(_turn(fields_of(message)) for message in rows_of(body.get("messages")))
        tools = [fields_of(fields_of(tool).get("function")) for tool in rows_of(body.get("tools"))]
        return PromptRequest(
            protocol=self.name,
            model=text_of(body.get("model")),
            system=(),
            turns=turns,
            tools=tuple(read_tool(tool, "parameters") for tool in tools),
            choice=PromptToolChoice(),
            body=body,
            settings=(
                *other_fields(options, (), "options."),
                *other_fields(body, ("model", "messages", "tools", "stream", "options")),
            ),
            stream=body.get("stream") is not False and bool(turns),
            limit=limit_of(options.get("num_predict")),
            stops=texts_of(options.get("stop")),
            size=size,
        )

    def writer(self, prompt: PromptRequest, dependencies: OfflineDependencies) -> ResponseWriter:
        return _OllamaWriter(prompt, dependencies)

    def error(self, status: int, kind: str, message: str, fault: Problem) -> dict[str, Any]:
        return {"error": message}

    def error_body(self, error: dict[str, Any], id: str) -> bytes:
        return compact(error).encode()

    def error_headers(self, fault: Problem) -> Headers:
        return ()

    def models(self, names: Iterable[str], listed: bool) -> dict[str, Any]:
        return {"models": [{"name": name, "model": name} for name in names]}


def _turn(message: dict[str, Any]) -> PromptTurn:
    role, content = text_of(message.get("role")).lower(), text_of(message.get("content"))
    parts = list[PromptPart]()
    if thinking := text_of(message.get("thinking")):
        parts.append(PromptReasoning(thinking))
    images = [PromptOther("image") for _ in rows_of(message.get("images"))]
    calls = [_call(fields_of(call)) for call in rows_of(message.get("tool_calls"))]
    if role == "tool":
        identity, name = text_of(message.get("tool_call_id")), text_of(message.get("tool_name"))
        return PromptTurn(role, (*parts, PromptToolResult(identity, name, content), *images))
    if content or not (images or calls):
        parts.append(PromptText(content))
    return PromptTurn(role, (*parts, *images, *calls))


def _call(call: dict[str, Any]) -> PromptToolCall:
    function = fields_of(call.get("function"))
    arguments = compact(fields_of(function.get("arguments")))
    return PromptToolCall(text_of(call.get("id")), text_of(function.get("name")), arguments)


class _OllamaWriter:
    id = ""

    def __init__(self, prompt: PromptRequest, dependencies: OfflineDependencies) -> None:
        self._prompt = prompt
        self._dependencies = dependencies
        self._start = dependencies.monotonic()
        self._calls = 0
        self._alternatives = requested_alternatives(
            prompt.body.get("logprobs"), prompt.body.get("top_logprobs")
        )

    def start(self) -> bytes:
        return b""  # the first line already has a part of the reply

    def piece(self, piece: Content) -> bytes:
        if isinstance(piece, SourcePiece):
            return b""  # the protocol has no citations
        return self._line(self._message(WholeReply((piece,))))

    def end(self, finish: Finish) -> bytes:
        return self._line({"role": "assistant", "content": ""}, **self._figures(finish))

    def error(self, error: dict[str, Any]) -> bytes:
        return f"{compact(error)}\n".encode()

    def full_response(self, reply: WholeReply, finish: Finish) -> bytes:
        if not self._prompt.turns:
            return self._line({"role": "assistant", "content": ""}, done=True, done_reason="load")
        return self._line(self._message(reply), **self._figures(finish))

    def _message(self, reply: WholeReply) -> dict[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": reply.text}
        if reply.reasoning:
            message["thinking"] = reply.reasoning
        if reply.pictures:
            message["images"] = [piece.data for piece in reply.pictures]
        if reply.calls:
            message["tool_calls"] = self._tool_calls(reply.calls)
        return message

    def _tool_calls(self, calls: Sequence[ToolCallPiece]) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = []
        for call in calls:
            function = {"index": self._calls, "name": call.name}
            function["arguments"] = json.loads(call.arguments)
            rows.append({"id": f"call_{call.id[-8:].lower()}", "function": function})
            self._calls += 1
        return rows

    def _line(self, message: dict[str, Any], **end: Any) -> bytes:
        now = datetime.fromtimestamp(self._dependencies.now(), UTC)
        line = {
            "model": self._prompt.model,
            "created_at": now.isoformat(timespec="microseconds").replace("+00:00", "Z"),
            "message": message,
            "done": False,
            **end,
        }
        if tokens := openai_tokens(message["content"], self._alternatives):
            line["logprobs"] = tokens
        return f"{compact(line)}\n".encode()

    def _figures(self, finish: Finish) -> dict[str, Any]:
        spent = int((self._dependencies.monotonic() - self._start) * 1e9)
        return {
            "done": True,
            "done_reason": "length" if finish.reason == "length" else "stop",
            "total_duration": spent + 2_000_000,
            "load_duration": 1_000_000,
            "prompt_eval_count": estimate_prompt_tokens(self._prompt.characters),
            "prompt_eval_duration": 1_000_000,
            "eval_count": finish.output,
            "eval_duration": spent,
        }


OLLAMA = _OllamaChat()
