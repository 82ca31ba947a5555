"""A provider in five protocols for tests of the core: the core's offline provider, with the least
that each protocol needs, and with models that reason, call tools and fail.

`toolsmith` calls the first tool of a request and reports its result; `flaky-500`, `flaky-cut` and
others fail.
"""

from __future__ import annotations

import json
import math
from base64 import b64encode
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import httpx

from tests.support.drawings import drawing
from tui_chat.models.common_prefix import common_prefix
from tui_chat.models.endpoint import Protocol
from tui_chat.models.json_text import to_json
from tui_chat.offline import models
from tui_chat.offline.models import Model
from tui_chat.offline.prompt import Prompt, Refusal, read_prompt
from tui_chat.offline.provider import (
    OfflineDependencies,
    OfflineTransport,
    ReplyWriter,
)
from tui_chat.offline.reply import Finish, Piece, Pieces, split_tokens
from tui_chat.protocols.registry import protocol_of_path

Json = dict[str, Any]
FAILURES = {"429": 429, "500": 500, "529": 529, "error": 529}


def call_tokens(piece: Piece) -> int:
    """Return the tokens of a call."""
    tokens = [*split_tokens(piece.name), *split_tokens(piece.text)]
    return len(tokens) if piece.kind == "call" else 0


class Writer(ReplyWriter):
    """Writes OpenAI Chat; a subclass another protocol. `block` is a piece in the protocol's form,
    `delta` an event for one, `full` a reply with all blocks.
    """

    count = 0
    """The pieces so far, neighboring texts as one."""
    cached = written = reasoning = 0
    """The tokens that the provider's cache served and took, and those of the reasoning."""
    length = cited = 0
    """The characters of the text so far, and of those before the last source."""
    is_new, call_tokens = False, 0
    last = ""
    """The kind of the piece before."""

    def start(self) -> bytes:
        choice = {"index": 0, "delta": {"role": "assistant", "content": ""}}
        return self.event({**self.head, "choices": [choice]})

    def write(self, piece: Piece | Finish) -> bytes:
        if isinstance(piece, Finish):
            return self.end(replace(piece, output=piece.output + self.call_tokens))
        self.call_tokens += call_tokens(piece)
        self.is_new = piece.kind != self.last or piece.kind == "call"
        self.count += self.is_new
        self.last = piece.kind
        self.reasoning += piece.kind == "reasoning"
        return self.delta(piece)

    def whole(self, pieces: list[Piece], finish: Finish) -> bytes:
        blocks: list[Piece] = []
        for piece in pieces:
            if blocks and piece.kind in ("text", "reasoning") and blocks[-1].kind == piece.kind:
                piece = Piece(blocks.pop().text + piece.text, piece.kind)
            blocks.append(piece)
        self.last = "call" if any(piece.kind == "call" for piece in blocks) else "text"
        finish = replace(finish, output=finish.output + sum(map(call_tokens, blocks)))
        return to_json(self.full(blocks, finish)).encode()

    def delta(self, piece: Piece) -> bytes:
        choice: Json = {"index": 0, "delta": self.fields([piece])}
        if self.prompt.body.get("logprobs") and piece.kind == "text":
            choice["logprobs"] = {"content": [self.probability(piece.text)]}
        return self.event({**self.head, "choices": [choice]})

    def probability(self, text: str) -> Json:
        token = {"token": text, "logprob": -0.1 if len(text) % 3 else -0.8}
        others = [token, {"token": "else", "logprob": -2.5}]
        return {**token, "top_logprobs": others[: self.prompt.body.get("top_logprobs", 0)]}

    def end(self, finish: Finish) -> bytes:
        choice = {"index": 0, "delta": {}, "finish_reason": self.reason(finish)}
        return self.event({**self.head, "choices": [choice], "usage": self.usage(finish)}) + (
            b"data: [DONE]\n\n"
        )

    def full(self, pieces: list[Piece], finish: Finish) -> Json:
        message = {"role": "assistant", **self.fields(pieces)}
        choice = {"index": 0, "message": message, "finish_reason": self.reason(finish)}
        head = {**self.head, "object": "chat.completion"}
        return {**head, "choices": [choice], "usage": self.usage(finish)}

    @property
    def head(self) -> Json:
        created = int(self.dependencies.now())
        head = {"id": self.id, "object": "chat.completion.chunk", "created": created}
        return {**head, "model": self.prompt.model}

    def fields(self, pieces: list[Piece]) -> Json:
        fields: Json = {}
        for piece in pieces:
            match piece.kind:
                case "text":
                    fields["content"] = fields.get("content", "") + piece.text
                    self.length += len(piece.text)
                case "reasoning":
                    fields["reasoning_content"] = piece.text
                case "call":
                    function = {"name": piece.name, "arguments": piece.text}
                    call = {"index": max(0, self.count - 1), "id": self.call_id}
                    fields["tool_calls"] = [{**call, "type": "function", "function": function}]
                case "picture":
                    url = {"url": f"data:image/png;base64,{piece.text}"}
                    fields["images"] = [{"type": "image_url", "image_url": url, "index": 0}]
                case _:
                    source = {"title": piece.name, "url": piece.text}
                    source |= {"start_index": self.cited, "end_index": self.length}
                    self.cited = self.length
                    citation = {"type": "url_citation", "url_citation": source}
                    fields.setdefault("annotations", []).append(citation)
        return fields

    @property
    def call_id(self) -> str:
        return f"call_{self.dependencies.random_id(24)}"

    def reason(self, finish: Finish) -> str:
        return "length" if finish.reason == "length" else "tool_calls" if self.called else "stop"

    @property
    def called(self) -> bool:
        return self.last == "call"

    def usage(self, finish: Finish) -> Json:
        prompt = self.prompt.tokens
        total = prompt + finish.output
        counts = {"prompt_tokens": prompt, "completion_tokens": finish.output}
        details: Json = {"prompt_tokens_details": {"cached_tokens": self.cached}}
        details["completion_tokens_details"] = {"reasoning_tokens": self.reasoning}
        return {**counts, "total_tokens": total, **details}

    def event(self, body: Json, name: str = "") -> bytes:
        line = f"event: {name}\n" if name else ""
        return f"{line}data: {to_json(body)}\n\n".encode()

    def error(self, body: Json) -> bytes:
        return self.event(body)

    @classmethod
    def refuse(cls, refusal: Refusal) -> tuple[int, dict[str, str], Json]:
        status = int(refusal.kind) if refusal.kind.isdigit() else 404
        status = 400 if refusal.kind == "invalid" else status
        known = {429: "Rate limit. Please try again in 2s.", 529: "overloaded"}
        failed = "The server had an error while processing your request. Sorry about that!"
        words = refusal.message or known.get(status, failed)
        headers = {"retry-after": "2"} if status == 429 else {}
        return status, headers, cls.fault(status, words)

    @classmethod
    def fault(cls, status: int, message: str) -> Json:
        return {"error": {"message": message, "type": "server_error", "code": None}}


class ResponsesWriter(Writer):
    protocol = Protocol.OPENAI_RESPONSES

    def __init__(self, prompt: Prompt, dependencies: OfflineDependencies) -> None:
        super().__init__(prompt, dependencies)
        self.id = f"resp_{dependencies.random_id(24)}"
        self.output: list[Json] = []
        self.conversation: list[Any] = []

    def start(self) -> bytes:
        return self.typed("response.created", response={**self.head, "status": "in_progress"})

    def typed(self, kind: str, **fields: Any) -> bytes:
        return self.event({"type": kind, **fields}, kind)

    def delta(self, piece: Piece) -> bytes:
        index = self.count - 1
        if piece.kind == "text":
            if self.is_new:
                self.output.append(self.item(Piece("")))
            self.output[-1]["content"][0]["text"] += piece.text
            return self.typed("response.output_text.delta", output_index=index, delta=piece.text)
        if piece.kind == "source":
            return b""
        self.output.append(self.item(piece))
        fields = {"output_index": index, "item": self.output[-1]}
        return self.typed("response.output_item.done", **fields)

    def item(self, piece: Piece) -> Json:
        id = self.dependencies.random_id(24)
        match piece.kind:
            case "call":
                call = {"type": "function_call", "id": f"fc_{id}", "call_id": self.call_id}
                return {**call, "name": piece.name, "arguments": piece.text}
            case "reasoning":
                summary = [{"type": "summary_text", "text": piece.text}]
                return {"type": "reasoning", "id": f"rs_{id}", "summary": summary}
            case _:
                part = {"type": "output_text", "text": piece.text, "annotations": []}
                head = {"type": "message", "id": f"msg_{id}", "role": "assistant"}
                return {**head, "status": "completed", "content": [part]}

    def end(self, finish: Finish) -> bytes:
        response = self.full([], finish)
        return self.typed(f"response.{response['status']}", response=response)

    def full(self, pieces: list[Piece], finish: Finish) -> Json:
        is_cut = finish.reason == "length"
        usage: Json = {"input_tokens": self.prompt.tokens, "output_tokens": finish.output}
        usage["input_tokens_details"] = {"cached_tokens": self.cached}
        usage["output_tokens_details"] = {"reasoning_tokens": self.reasoning}
        usage["total_tokens"] = self.prompt.tokens + finish.output
        why = {"reason": "max_output_tokens"} if is_cut else None
        self.output += [self.item(piece) for piece in pieces if piece.kind != "source"]
        self.conversation += self.output
        status = {"status": "incomplete" if is_cut else "completed", "incomplete_details": why}
        stored = {"store": self.prompt.body.get("store", True)}
        return {
            **self.head,
            "object": "response",
            **stored,
            **status,
            "output": self.output,
            "usage": usage,
        }

    def error(self, body: Json) -> bytes:
        response = {**self.head, "status": "failed", "error": body["error"]}
        return self.typed("response.failed", response=response)


class AnthropicWriter(Writer):
    protocol = Protocol.ANTHROPIC

    def start(self) -> bytes:
        message = {**self.full([], Finish("stop", 0)), "stop_reason": None}
        return self.typed("message_start", message=message)

    def typed(self, kind: str, **fields: Any) -> bytes:
        return self.event({"type": kind, **fields}, kind)

    def write(self, piece: Piece | Finish) -> bytes:
        out = super().write(piece)
        if isinstance(piece, Piece) and piece.kind != "source" and self.is_new:
            block = self.block(Piece("{}" if piece.kind == "call" else "", piece.kind, piece.name))
            index = self.count - 1
            closed = self.typed("content_block_stop", index=index - 1) if index else b""
            opened = self.typed("content_block_start", index=index, content_block=block)
            return closed + opened + out
        return out

    def delta(self, piece: Piece) -> bytes:
        kinds = {"text": "text", "reasoning": "thinking", "call": "partial_json"}
        if piece.kind == "source":
            self.count -= 1
            return b""
        key = kinds[piece.kind]
        kind = "input_json" if piece.kind == "call" else key
        delta = {"type": f"{kind}_delta", key: piece.text}
        return self.typed("content_block_delta", index=self.count - 1, delta=delta)

    def block(self, piece: Piece) -> Json:
        match piece.kind:
            case "call":
                id = f"toolu_{self.dependencies.random_id(8)}"
                call = {"type": "tool_use", "id": id, "name": piece.name}
                return {**call, "input": json.loads(piece.text)}
            case "reasoning":
                return {"type": "thinking", "thinking": piece.text, "signature": "c2ln"}
            case _:
                return {"type": "text", "text": piece.text}

    def end(self, finish: Finish) -> bytes:
        closed = self.typed("content_block_stop", index=self.count - 1) if self.count else b""
        full = self.full([], finish)
        delta = {"stop_reason": full["stop_reason"], "stop_sequence": None}
        ended = self.typed("message_delta", delta=delta, usage=full["usage"])
        return closed + ended + self.typed("message_stop")

    def full(self, pieces: list[Piece], finish: Finish) -> Json:
        new = self.prompt.tokens - self.cached - self.written
        usage = {"input_tokens": new, "output_tokens": finish.output}
        usage |= {"cache_read_input_tokens": self.cached}
        usage |= {"cache_creation_input_tokens": self.written}
        reason = "max_tokens" if finish.reason == "length" else "end_turn"
        message = {"type": "message", "role": "assistant", **self.head, "usage": usage}
        message["content"] = [self.block(piece) for piece in pieces if piece.kind != "source"]
        return {**message, "stop_reason": "tool_use" if self.called else reason}

    def error(self, body: Json) -> bytes:
        return self.event(body, "error")

    @classmethod
    def fault(cls, status: int, message: str) -> Json:
        kind = "overloaded_error" if status == 529 else "api_error"
        return {"type": "error", "error": {"type": kind, "message": message}}


class GeminiWriter(Writer):
    protocol = Protocol.GEMINI

    def start(self) -> bytes:
        return b""

    def delta(self, piece: Piece) -> bytes:
        return self.event(self.full([piece], None)) if piece.kind != "source" else b""

    def end(self, finish: Finish) -> bytes:
        return self.event(self.full([Piece("")], finish))

    def full(self, pieces: list[Piece], finish: Finish | None) -> Json:
        parts = [self.part(piece) for piece in pieces if piece.kind != "source"]
        candidate: Json = {"content": {"role": "model", "parts": parts}, "index": 0}
        usage: Json = {"promptTokenCount": self.prompt.tokens}
        usage |= {"cachedContentTokenCount": self.cached} if self.cached else {}
        if finish is not None:
            candidate["finishReason"] = "MAX_TOKENS" if finish.reason == "length" else "STOP"
            usage["candidatesTokenCount"] = finish.output
        named = {"modelVersion": self.prompt.model, "responseId": self.id}
        return {"candidates": [candidate], "usageMetadata": usage, **named}

    def part(self, piece: Piece) -> Json:
        match piece.kind:
            case "call":
                call = {"name": piece.name, "args": json.loads(piece.text)}
                return {"functionCall": call, "thoughtSignature": "c2ln"}
            case "reasoning":
                return {"text": piece.text, "thought": True}
            case _:
                return {"text": piece.text}

    @classmethod
    def fault(cls, status: int, message: str) -> Json:
        return {"error": {"code": status, "message": message, "status": "UNAVAILABLE"}}


class OllamaWriter(Writer):
    protocol = Protocol.OLLAMA
    stream_type = "application/x-ndjson"

    def start(self) -> bytes:
        return b""

    def delta(self, piece: Piece) -> bytes:
        return self.event(self.full([piece], None)) if piece.kind != "source" else b""

    def end(self, finish: Finish) -> bytes:
        return self.event(self.full([], finish))

    def event(self, body: Json, name: str = "") -> bytes:
        return f"{to_json(body)}\n".encode()

    def full(self, pieces: list[Piece], finish: Finish | None) -> Json:
        texts = [piece.text for piece in pieces if piece.kind == "text"]
        message: Json = {"role": "assistant", "content": "".join(texts)}
        for piece in pieces:
            if piece.kind == "call":
                function = {"name": piece.name, "arguments": json.loads(piece.text)}
                message["tool_calls"] = [{"id": self.call_id, "function": function}]
            elif piece.kind == "reasoning":
                message["thinking"] = piece.text
        line: Json = {"model": self.prompt.model, "message": message, "done": finish is not None}
        if finish is not None:
            line["done_reason"] = finish.reason
            line |= {"prompt_eval_count": self.prompt.tokens, "eval_count": finish.output}
        return line

    @classmethod
    def fault(cls, status: int, message: str) -> Json:
        return {"error": message}


WRITERS = {
    writer.protocol: writer
    for writer in (Writer, ResponsesWriter, AnthropicWriter, GeminiWriter, OllamaWriter)
}


def fail(name: str) -> Pieces:
    yield from ()
    raise Refusal(str(FAILURES[name]), seconds=2 if name == "429" else 0)


def breaking(end: str) -> Pieces:
    """Yield the beginning of a reply that breaks."""
    yield Piece(
        "I was going to tell you about the ferry, and how it leaves at dawn, and who is on it, "
        "and why the old man at the oars has never once looked"
    )
    if end == "stall":
        yield math.inf
    elif end == "cut":
        sentence = "peer closed connection without sending complete message body"
        raise httpx.RemoteProtocolError(f"{sentence} (incomplete chunked read)")
    yield from fail(end)


def last_text(prompt: Prompt) -> str:
    texts = (turn.text.plain for turn in reversed(prompt.envelope.turns) if turn.role == "user")
    return next(texts, "")


def think(prompt: Prompt) -> Pieces:
    last, earlier = last_text(prompt), len(prompt.envelope.turns) - 1
    yield Piece(
        f"**Reading the request**\n\nThe user wrote {words(last)} after {earlier} earlier turns. "
        "I am a small program, so I should count, not guess.\n\n"
        "**Deciding**\n\nCounting is done. I will report it and stop.",
        "reasoning",
    )
    count, _, unit = words(last).partition(" ")
    yield Piece(
        f"I thought about it. Your message has **{count}** {unit} and {len(last)} characters."
    )


def words(text: str) -> str:
    count = len(text.split())
    return f"{count} {'word' if count == 1 else 'words'}"


def research(prompt: Prompt) -> Pieces:
    yield Piece("The domain **example.com** is reserved for documents like this one.")
    yield Piece("https://example.com/", "source", "Example Domain")
    yield Piece(" So are names that end in `.example`: nobody can register one.")
    title = "RFC 2606: Reserved Top Level DNS Names"
    yield Piece("https://www.rfc-editor.org/rfc/rfc2606", "source", title)
    yield Piece(f"\n\nYour message has {words(last_text(prompt))}. That needs no source.")


def draw(_prompt: Prompt) -> Pieces:
    yield Piece("A picture.")
    yield Piece(b64encode(drawing()).decode(), "picture")


def call_tool(prompt: Prompt, name: str = "") -> Pieces:
    """Yield a call of a tool, a text argument for each that it requires, or a report of results."""
    turns, tools = prompt.envelope.turns, prompt.envelope.tools or ()
    named = {call.id: call.name for turn in turns for call in turn.tool_calls}
    results: list[str] = []
    for turn in reversed(turns):
        if turn.role != "tool":
            break
        tool = turn.name or named.get(turn.tool_call_id, "tool")
        results.insert(0, f"The tool `{tool}` answered:\n\n```text\n{turn.text.plain}\n```")
    tool = next((tool for tool in tools if name in ("", tool.name)), None)
    if results:
        yield Piece("\n\n".join(results))
    elif tool is None:
        yield Piece("The request declares no tools, so there is nothing to call.")
    else:
        keys = tool.parameters.get("properties", {}) if tool.parameters else {}
        yield Piece(json.dumps({key: f"example {key}" for key in keys}), "call", tool.name)


class TestProvider(OfflineTransport):
    """The provider. `on_request` gets each request; `alias` answers for unknown models, or else
    the n-th reply of `script`, a text or `text` and `tool_calls`, as the n-th of a conversation.
    """

    __test__ = False

    def __init__(
        self,
        dependencies: OfflineDependencies | None = None,
        on_request: Callable[[httpx.Request], None] = lambda request: None,
        alias: str = "",
        script: Sequence[Any] = (),
    ) -> None:
        super().__init__(dependencies)
        self._script = script
        self._arrived, self._alias = on_request, alias
        self._requests: Counter[str] = Counter()
        self._prompts: dict[str, list[str]] = defaultdict(list)
        """The prompts by model."""
        self._kept: dict[str, list[Any]] = {}
        """The items of conversations by the id of the response that ends them."""

    def writer_for(self, request: httpx.Request) -> type[ReplyWriter]:
        if request.url.path.startswith("/api/"):
            return OllamaWriter
        return WRITERS[protocol_of_path(request.url.path) or Protocol.OPENAI_CHAT]

    async def answer(
        self, writer: type[ReplyWriter], request: httpx.Request, data: bytes
    ) -> httpx.Response:
        self._arrived(request)
        path = request.url.path
        if request.method == "GET" and path.endswith(("/models", "/api/tags")):
            return httpx.Response(200, json=_models(writer, models.MODELS))
        if path.endswith("/count_tokens"):
            prompt = read_prompt(Protocol.ANTHROPIC, data)
            return httpx.Response(200, json={"input_tokens": prompt.tokens})
        if protocol_of_path(path) is None:
            raise Refusal("not_found", f"Nothing answers {path} here.")
        prompt = read_prompt(writer.protocol, self._with_kept(data))
        if writer.protocol is Protocol.GEMINI:
            prompt = _named_by_path(prompt, path)
        self.check(writer.protocol, request, data)
        model = self.model(prompt.model) or self.model(self._alias)
        if model is None:
            raise Refusal("unknown_model", f"There is no model “{prompt.model}”.")
        self._requests[prompt.model] += 1
        reply = writer(prompt, self.dependencies)
        assert isinstance(reply, Writer)
        self._use_cache(reply, data)
        if isinstance(reply, ResponsesWriter):
            self._kept[reply.id] = reply.conversation = _items(prompt.body)
        return await self.reply(request, reply, model(prompt))

    def _use_cache(self, reply: Writer, data: bytes) -> None:
        """Count what the cache of a provider has of a prompt: the longest common beginning with one
        before, from 1,024 tokens on. Anthropic's has only what is marked.
        """
        is_marked = b'"cache_control"' in data
        if reply.protocol is Protocol.OLLAMA or (
            reply.protocol is Protocol.ANTHROPIC and not is_marked
        ):
            return
        text = "".join(turn.text.plain for turn in reply.prompt.envelope.turns)
        earlier = self._prompts[reply.prompt.model]
        common = max((common_prefix(text, old) // 4 for old in earlier), default=0)
        reply.cached = common // 128 * 128 if common >= 1024 else 0
        reply.written = reply.prompt.tokens if is_marked and not reply.cached else 0
        earlier.append(text)

    def _with_kept(self, data: bytes) -> bytes:
        """Return a body with the conversation that it refers to."""
        try:
            body = json.loads(data)
        except ValueError:
            return data
        kept = self._kept.get(body.get("previous_response_id"))
        return data if kept is None else to_json({**body, "input": kept + _items(body)}).encode()

    def check(self, protocol: Protocol, request: httpx.Request, data: bytes) -> None:
        """Raise Refusal for what the vendor would not accept."""

    def model(self, name: str) -> Model | None:
        stem, _, option = name.partition(":")
        if stem == "toolsmith":
            return lambda prompt: call_tool(prompt, option)
        kind = stem.removeprefix("flaky-")
        if stem.startswith("flaky-") and kind in ("error", "cut", "stall"):
            return lambda prompt: breaking(kind)
        if stem.startswith("flaky-"):
            is_over = option and self._requests[name] >= int(option)
            return models.echo if is_over else lambda prompt: fail(kind)
        own: dict[str, Model] = {"thinker": think, "researcher": research, "picture": draw}
        model = own.get(name) or models.find_model(name)
        return self._play if model is None and self._script else model

    def _play(self, prompt: Prompt) -> Pieces:
        row = self._script[sum(turn.role == "assistant" for turn in prompt.envelope.turns)]
        fields = {"text": row} if isinstance(row, str) else row
        if text := fields.get("text"):
            yield Piece(text)
        for call in fields.get("tool_calls", ()):
            yield Piece(to_json(call.get("arguments", {})), "call", call["name"])


def _models(writer: type[ReplyWriter], names: Iterable[str]) -> Json:
    if writer is OllamaWriter:
        return {"models": [{"name": name, "model": name} for name in names]}
    return {"object": "list", "data": [{"id": name, "object": "model"} for name in names]}


def _items(body: Mapping[str, Any]) -> list[Any]:
    items = body.get("input") or []
    return [{"role": "user", "content": items}] if isinstance(items, str) else list(items)


def _named_by_path(prompt: Prompt, path: str) -> Prompt:
    model, _, verb = path.rpartition("/")[2].rpartition(":")
    streams = verb.startswith("stream")
    parameters = prompt.envelope.parameters.with_values(model=model, stream=streams)
    return replace(prompt, envelope=replace(prompt.envelope, parameters=parameters))
