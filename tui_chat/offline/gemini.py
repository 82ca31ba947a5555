"""Gemini's generateContent.

1. A stream is whole response objects, one per event, lines ending in CRLF, without an end mark; the
   last is the one with `finishReason`. Without `alt=sse` it is one JSON array instead.
2. Text parts are additions; a function call is one whole part. STOP is the reason after a call too.
3. Thoughts are parts with `thought: true`. Their signature is on the first function call, or on an
   empty text part at the very end: dropping that part loses it.
4. `usageMetadata` is on every object and the last one counts; thoughts are not among the
   candidates' tokens.
5. `groundingMetadata` comes with the last object; its segments count bytes of UTF-8.
6. Every key of a request may be camelCase or snake_case, and an object may stand for a list of one.
7. An error is `{"error": {code, message, status, details?}}`: `code` is the HTTP status, `status`
   the gRPC code's name. A rate limit has no header; its wait is `RetryInfo.retryDelay`, as `2s`.
"""

import json
import re
from collections.abc import Iterable
from typing import Any, assert_never

from tui_chat.offline.base_protocol import FaultTable, OfflineProtocol, Operation, ResponseWriter
from tui_chat.offline.http_messages import Headers, HttpRequest, OfflineDependencies
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
    ToolMode,
    compact,
    fields_of,
    limit_of,
    other_fields,
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
    cited_texts,
    count_tokens,
    estimate_prompt_tokens,
)
from tui_chat.offline.token_probabilities import gemini_tokens, requested_alternatives

_PATH = re.compile(
    r"/(?:v1|v1beta)/models/([^/]+):(generateContent|streamGenerateContent|countTokens)"
)
_MODELS = re.compile(r"/(?:v1|v1beta)/models(?:/([^/]+))?")
_FINISH_REASONS = {"length": "MAX_TOKENS"}
_MODES: dict[str, ToolMode] = {"NONE": "none", "ANY": "required"}
_METADATA = ("thought", "thoughtSignature", "thought_signature")
_FAULTS: FaultTable = {
    "invalid": (400, "INVALID_ARGUMENT", ""),
    "too_large": (400, "INVALID_ARGUMENT", ""),
    "unknown_model": (404, "NOT_FOUND", ""),
    "not_found": (404, "NOT_FOUND", ""),
    "rate_limited": (
        *(429, "RESOURCE_EXHAUSTED"),
        "You exceeded your current quota, please check your plan and billing details.\n"
        "Please retry in {seconds}s.",
    ),
    "failed": (500, "INTERNAL", "An internal error has occurred. Please retry."),
    "overloaded": (503, "UNAVAILABLE", "The model is overloaded. Please try again later."),
}


class _GenerateContent(OfflineProtocol):
    """The generateContent methods."""

    name = "Gemini generateContent"
    json_type = "application/json; charset=UTF-8"
    stream_type = "text/event-stream"
    faults = _FAULTS

    def owns(self, request: HttpRequest) -> bool:
        has_key = request.header("x-goog-api-key") is not None or "key" in request.query
        return has_key or request.path.startswith("/v1beta/")

    def operation(self, request: HttpRequest) -> Operation | None:
        method, path = request.method, request.path
        if method == "POST" and (match := _PATH.fullmatch(path)):
            model, action = match.groups()
            is_stream = action == "streamGenerateContent"
            return Operation("count" if action == "countTokens" else "reply", model, is_stream)
        if method in ("GET", "HEAD") and (match := _MODELS.fullmatch(path)):
            return Operation("models", match[1] or "")
        return None

    def count(self, tokens: int) -> dict[str, Any]:
        return {"totalTokens": tokens}

    def read(self, body: dict[str, Any], operation: Operation, size: int) -> PromptRequest:
        if operation.kind == "count":
            body = fields_of(_either(body, "generateContentRequest")) or body
        config_key = "generation_config" if "generation_config" in body else "generationConfig"
        config = fields_of(body.get(config_key))
        system = fields_of(_either(body, "systemInstruction"))
        calling = _either(fields_of(_either(body, "toolConfig")), "functionCallingConfig")
        allowed = texts_of(_either(fields_of(calling), "allowedFunctionNames"))
        fields = ("contents", "tools", "model", config_key, *_both("systemInstruction"))
        settings = (
            *other_fields(config, (), f"{config_key}."),
            *other_fields(body, (*fields, *_both("toolConfig"))),
        )
        tools = [fields_of(tool) for tool in _rows(body.get("tools"))]
        functions = [
            function for tool in tools for function in _rows(_either(tool, "functionDeclarations"))
        ]
        return PromptRequest(
            protocol=self.name,
            model=operation.model,
            system=tuple(text_of(fields_of(p).get("text")) for p in _rows(system.get("parts"))),
            turns=tuple(_turn(fields_of(content)) for content in _rows(body.get("contents"))),
            tools=tuple(_function(fields_of(function)) for function in functions),
            choice=PromptToolChoice(
                _MODES.get(text_of(fields_of(calling).get("mode")), "auto"),
                allowed[0] if allowed else None,
            ),
            body=body,
            settings=settings,
            stream=operation.stream,
            limit=limit_of(_either(config, "maxOutputTokens")),
            stops=texts_of(_either(config, "stopSequences")),
            size=size,
        )

    def writer(self, prompt: PromptRequest, dependencies: OfflineDependencies) -> ResponseWriter:
        return _ContentWriter(prompt, dependencies)

    def error(self, status: int, kind: str, message: str, fault: Problem) -> dict[str, Any]:
        error: dict[str, Any] = {"code": status, "message": message, "status": kind}
        if fault.seconds:
            retry = "type.googleapis.com/google.rpc.RetryInfo"
            error["details"] = [{"@type": retry, "retryDelay": f"{fault.seconds}s"}]
        return error

    def error_headers(self, fault: Problem) -> Headers:
        return ()

    def models(self, names: Iterable[str], listed: bool) -> dict[str, Any]:
        methods = ["generateContent", "countTokens"]
        entries = [
            {
                "name": f"models/{name}",
                "displayName": f"Loopback {name}",
                "supportedGenerationMethods": methods,
            }
            for name in names
        ]
        return {"models": entries} if listed else entries[0]


class _ArrayStream(_GenerateContent):
    """A stream without `alt=sse`."""

    stream_type = _GenerateContent.json_type

    def owns(self, request: HttpRequest) -> bool:
        return False

    def operation(self, request: HttpRequest) -> Operation | None:
        operation = super().operation(request)
        is_stream = operation is not None and operation.stream
        return operation if is_stream and request.query.get("alt") != "sse" else None

    def writer(self, prompt: PromptRequest, dependencies: OfflineDependencies) -> ResponseWriter:
        return _ArrayStreamWriter(prompt, dependencies)


def _both(name: str) -> tuple[str, str]:
    """Return a name in camelCase and in snake_case."""
    return name, re.sub(r"([A-Z])", lambda capital: f"_{capital[0].lower()}", name)


def _either(fields: dict[str, Any], *names: str) -> Any:
    """Return the value of the first of these fields, in either spelling."""
    spelled = (spelling for name in names for spelling in _both(name))
    return next((fields[name] for name in spelled if fields.get(name) is not None), None)


def _rows(value: Any) -> list[Any]:
    return [value] if isinstance(value, dict) else rows_of(value)


def _turn(content: dict[str, Any]) -> PromptTurn:
    parts = [_part(fields_of(part)) for part in _rows(content.get("parts"))]
    return PromptTurn(text_of(content.get("role")) or "user", tuple(parts))


def _part(part: dict[str, Any]) -> PromptPart:
    if isinstance(text := part.get("text"), str):
        return PromptReasoning(text) if part.get("thought") is True else PromptText(text)
    if (call := fields_of(_either(part, "functionCall"))) != {}:
        arguments = compact(fields_of(call.get("args")))
        return PromptToolCall(text_of(call.get("id")), text_of(call.get("name")), arguments)
    if (result := fields_of(_either(part, "functionResponse"))) != {}:
        text = _response_text(fields_of(result.get("response")))
        return PromptToolResult(text_of(result.get("id")), text_of(result.get("name")), text)
    if (media := fields_of(_either(part, "inlineData", "fileData"))) != {}:
        kind = text_of(_either(media, "mimeType")).partition("/")[0]
        return PromptOther(kind if kind in ("image", "audio", "video") else "file")
    keys = [key for key, value in part.items() if value is not None and key not in _METADATA]
    return PromptOther(keys[0][:64]) if keys else PromptReasoning("")


def _response_text(response: dict[str, Any]) -> str:
    """Return a function's response as text: a lone `output` or `error` as it is, else JSON."""
    for key in ("output", "error", "result"):
        if len(response) == 1 and isinstance(response.get(key), str):
            return response[key]
    return compact(response)


def _function(function: dict[str, Any]) -> PromptTool:
    name, description = text_of(function.get("name")), text_of(function.get("description"))
    schema = fields_of(_either(function, "parameters", "parametersJsonSchema"))
    return PromptTool(name, description, schema)


class _ContentWriter:
    def __init__(self, prompt: PromptRequest, dependencies: OfflineDependencies) -> None:
        self.id = dependencies.random_id(23)
        self._prompt = prompt
        self._random_id = dependencies.random_id
        self._prompt_tokens = estimate_prompt_tokens(prompt.characters)  # every object repeats it
        self._output = self._reasoning = 0
        self._thought = self._signed = False
        self._cited: list[Content] = []
        """The texts and sources so far."""
        config = fields_of(_either(dict(prompt.body), "generationConfig"))
        self._alternatives = requested_alternatives(
            _either(config, "responseLogprobs"), config.get("logprobs")
        )

    def start(self) -> bytes:
        return b""  # the first object already has a part

    def piece(self, piece: Content) -> bytes:
        match piece:
            case ReasoningPiece(text):
                self._thought = True
                self._reasoning += count_tokens(text)
            case TextPiece(text):
                self._output += count_tokens(text)
                self._cited.append(piece)
            case SourcePiece():
                self._cited.append(piece)
                return b""
            case PicturePiece():
                pass
            case ToolCallPiece(name, arguments, _):
                self._output += count_tokens(name) + count_tokens(arguments)
            case _:
                assert_never(piece)
        response = self._response([self._part(piece)], self._output, self._reasoning)
        if isinstance(piece, TextPiece):
            response["candidates"][0] |= gemini_tokens(piece.text, self._alternatives)
        return self._event(response)

    def end(self, finish: Finish) -> bytes:
        part: dict[str, Any] = {"text": ""}
        if self._thought and not self._signed:
            part["thoughtSignature"] = self._signature()
        return self._event(self._finished([part], finish))

    def error(self, error: dict[str, Any]) -> bytes:
        return self._event({"error": error})

    def full_response(self, reply: WholeReply, finish: Finish) -> bytes:
        self._cited = list(reply.pieces)
        parts: list[dict[str, Any]] = []
        if reply.reasoning:
            parts.append({"text": reply.reasoning, "thought": True})
        if reply.text:
            signed = {"thoughtSignature": self._signature()} if reply.reasoning else {}
            parts.append({"text": reply.text, **signed})
        parts += [self._part(piece) for piece in (*reply.pictures, *reply.calls)]
        response = self._finished(parts, finish)
        response["candidates"][0] |= gemini_tokens(reply.text, self._alternatives)
        return json.dumps(response, ensure_ascii=False, indent=2).encode()

    def _part(
        self, piece: ReasoningPiece | TextPiece | PicturePiece | ToolCallPiece
    ) -> dict[str, Any]:
        match piece:
            case ReasoningPiece(text):
                return {"text": text, "thought": True}
            case TextPiece(text):
                return {"text": text}
            case PicturePiece(data):
                inline = {"mimeType": "image/png", "data": data}
                return {"inlineData": inline, "thoughtSignature": self._signature()}
            case ToolCallPiece(name, arguments, id):
                call = {"id": id[:8].lower(), "name": name, "args": json.loads(arguments)}
                if self._signed:
                    return {"functionCall": call}
                self._signed = True
                return {"functionCall": call, "thoughtSignature": self._signature()}
            case _:
                assert_never(piece)

    def _signature(self) -> str:
        return f"Eq{self._random_id(298)}"

    def _finished(self, parts: list[dict[str, Any]], finish: Finish) -> dict[str, Any]:
        response = self._response(parts, finish.output - finish.reasoning, finish.reasoning)
        candidate = response["candidates"][0]
        candidate["finishReason"] = _FINISH_REASONS.get(finish.reason, "STOP")
        if grounding := self._grounding():
            candidate["groundingMetadata"] = grounding
        return response

    def _grounding(self) -> dict[str, Any]:
        chunks: list[dict[str, Any]] = []
        supports: list[dict[str, Any]] = []
        start = 0
        for text, source in cited_texts(self._cited):
            end = start + len(text.encode())
            if source is not None:
                segment = {"startIndex": start, "endIndex": end, "text": text}
                supports.append({"segment": segment, "groundingChunkIndices": [len(chunks)]})
                chunks.append({"web": {"uri": source.url, "title": source.title}})
            start = end
        return {"groundingChunks": chunks, "groundingSupports": supports} if chunks else {}

    def _response(self, parts: list[dict[str, Any]], output: int, reasoning: int) -> dict[str, Any]:
        content: dict[str, Any] = {"parts": parts} if parts else {}
        usage: dict[str, Any] = {"promptTokenCount": self._prompt_tokens}
        if output:
            usage["candidatesTokenCount"] = output
        if cached := self._prompt.cache.read:
            usage["cachedContentTokenCount"] = cached
        usage["totalTokenCount"] = self._prompt_tokens + output + reasoning
        if reasoning:
            usage["thoughtsTokenCount"] = reasoning
        return {
            "candidates": [{"content": {**content, "role": "model"}, "index": 0}],
            "usageMetadata": usage,
            "modelVersion": self._prompt.model,
            "responseId": self.id,
        }

    def _event(self, value: dict[str, Any]) -> bytes:
        return f"data: {compact(value)}\r\n\r\n".encode()


class _ArrayStreamWriter(_ContentWriter):
    _separator = "["

    def end(self, finish: Finish) -> bytes:
        return super().end(finish) + b"\n]\n"

    def error(self, error: dict[str, Any]) -> bytes:
        return super().error(error) + b"\n]\n"

    def _event(self, value: dict[str, Any]) -> bytes:
        separator, self._separator = self._separator, ",\r\n"
        return f"{separator}{json.dumps(value, ensure_ascii=False, indent=2)}".encode()


GEMINI = _GenerateContent()
GEMINI_ARRAY = _ArrayStream()
