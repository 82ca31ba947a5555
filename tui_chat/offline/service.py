"""The offline provider: an HTTP request in, an `HttpResponse` out.

It keeps three things in memory: how often each failing model was asked, so that `flaky-429:2`
succeeds at the third request, the latest responses of the Responses protocol, so that
`previous_response_id` works, and the latest prompts, so that `usage` counts cached tokens.

The protocol of a request is told by its path, else by its headers: a Google key is Gemini's, an
`anthropic-version` Anthropic's. `GET /v1/models` belongs to three of them, decided in the same way.
"""

from collections import Counter, OrderedDict, defaultdict
from collections.abc import AsyncGenerator, Callable, Iterator
from dataclasses import replace
from itertools import chain

from tui_chat.models.content_encoding import EncodingFault, decode_body
from tui_chat.offline.anthropic import ANTHROPIC
from tui_chat.offline.base_protocol import OfflineProtocol, Operation, ResponseWriter
from tui_chat.offline.gemini import GEMINI, GEMINI_ARRAY
from tui_chat.offline.http_messages import (
    ConnectionCut,
    Headers,
    HttpRequest,
    HttpResponse,
    OfflineDependencies,
    Pause,
)
from tui_chat.offline.json_answers import obeying, wanted_schema
from tui_chat.offline.models import MODELS, ModelFunction, find_model
from tui_chat.offline.ollama import OLLAMA
from tui_chat.offline.openai_chat import OPENAI_CHAT
from tui_chat.offline.openai_responses import OPENAI_RESPONSES
from tui_chat.offline.prompt import (
    PromptPart,
    PromptRequest,
    PromptText,
    PromptToolCall,
    PromptTurn,
    compact,
    parse_body,
    text_of,
)
from tui_chat.offline.prompt_cache import PromptCache
from tui_chat.offline.reply import (
    Content,
    Disconnect,
    Failure,
    Finish,
    Problem,
    Refusal,
    Stall,
    TextPiece,
    TimedPiece,
    ToolCallPiece,
    Wait,
    WholeReply,
    estimate_prompt_tokens,
    limited,
)
from tui_chat.offline.script import NAME as SCRIPT
from tui_chat.offline.script import Script

PROTOCOLS: tuple[OfflineProtocol, ...] = (
    *(OLLAMA, GEMINI_ARRAY, GEMINI, ANTHROPIC),
    *(OPENAI_RESPONSES, OPENAI_CHAT),
)
"""In the order in which they are asked whether a request is theirs. The last one takes the rest."""

MAX_BODY = 64 * 1024 * 1024
"""Maximum bytes of a request body."""

_STORED_RESPONSES = 256
"""Responses kept for `previous_response_id`; the oldest is dropped first."""


def protocol_of(request: HttpRequest) -> OfflineProtocol:
    """Return the protocol of a request, by what it asks for, else by whom it is meant for."""
    fitting = (protocol for protocol in PROTOCOLS if protocol.operation(request) is not None)
    posted = next(fitting, None) if request.method == "POST" else None
    return posted or next(protocol for protocol in PROTOCOLS if protocol.owns(request))


class OfflineService:
    """Answers requests in every protocol, with one set of models."""

    def __init__(
        self,
        dependencies: OfflineDependencies | None = None,
        on_request: Callable[[HttpRequest], None] | None = None,
        alias: str = "",
        script: Script | None = None,
    ) -> None:
        """`alias` is the model that answers for unknown names; empty to refuse them. `script` is
        what the model `script` plays; without one there is no such model.
        """
        self.dependencies = dependencies or OfflineDependencies()
        self._alias = alias
        self._script = script
        self._caches: defaultdict[str, PromptCache] = defaultdict(
            lambda: PromptCache(self.dependencies.monotonic)
        )
        """The providers' prompt caches, by protocol."""
        self._on_request = on_request
        self._requests: Counter[str] = Counter()
        """Requests by model name."""
        self._responses: OrderedDict[str, tuple[PromptTurn, ...]] = OrderedDict()
        """The turns of a conversation by the id of the response that ends it."""

    async def respond(self, request: HttpRequest, pause: Pause) -> HttpResponse:
        """Return the response to a request; an unstreamed reply is delayed as a whole. Raises
        nothing for what a client can send, only what `pause` raises.
        """
        if self._on_request is not None:
            self._on_request(request)
        protocol, id = protocol_of(request), f"req_{self.dependencies.random_id(24)}"
        try:
            return await self._answer(protocol, request, id, pause)
        except Refusal as refusal:
            return self.refuse(protocol, refusal.fault, id)

    def refuse(self, protocol: OfflineProtocol, fault: Problem, id: str) -> HttpResponse:
        """Return the response to a fault."""
        status, error = protocol.describe(fault)
        headers = (*_headers(protocol, id), *protocol.error_headers(fault))
        return _whole(protocol, status, headers, protocol.error_body(error, id))

    async def _answer(
        self, protocol: OfflineProtocol, request: HttpRequest, id: str, pause: Pause
    ) -> HttpResponse:
        operation = protocol.operation(request)
        if operation is None:
            message = f"Nothing answers {request.method} {request.path[:200]} here."
            raise Refusal(Problem("not_found", message))
        headers = _headers(protocol, id)
        if operation.kind == "models":
            names = [operation.model] if operation.model else [model.name for model in MODELS]
            self._model(names[0])
            body = compact(protocol.models(names, listed=not operation.model)).encode()
            return _whole(protocol, 200, headers, body)
        prompt = self._read(protocol, operation, request)
        if operation.kind == "count":
            self._model(prompt.model)
            count = protocol.count(estimate_prompt_tokens(prompt.characters))
            return _whole(protocol, 200, headers, compact(count).encode())
        prompt = replace(prompt, cache=self._caches[prompt.protocol].use(prompt))
        writer = protocol.writer(prompt, self.dependencies)
        pieces = self._pieces(prompt, writer.id)
        if not prompt.stream:
            return await self._full_response(protocol, headers, pieces, writer, pause)
        first = next(pieces)
        if isinstance(first, Failure):
            raise Refusal(first.fault)
        headers = (("content-type", protocol.stream_type), ("cache-control", "no-cache"), *headers)
        events = self._stream(protocol, chain((first,), pieces), writer, pause)
        return HttpResponse(200, headers, events)

    def _read(
        self, protocol: OfflineProtocol, operation: Operation, request: HttpRequest
    ) -> PromptRequest:
        data = request.body
        if len(data) > MAX_BODY:
            raise Refusal(too_large())
        try:
            data = decode_body(data, request.header("content-encoding") or "", MAX_BODY)
        except EncodingFault as error:
            raise Refusal(Problem("invalid", str(error))) from error
        body = parse_body(data)
        prompt = protocol.read(body, operation, len(data))
        if previous := text_of(body.get("previous_response_id")):
            if (turns := self._responses.get(previous)) is None:
                message = f"Previous response with id '{previous[:200]}' not found."
                raise Refusal(Problem("invalid", message))
            prompt = replace(prompt, turns=(*turns, *prompt.turns))
        if not prompt.model:
            raise Refusal(Problem("invalid", "The request names no model."))
        if not prompt.turns and protocol is not OLLAMA:
            raise Refusal(Problem("invalid", "The request has no messages."))
        return prompt

    def _model(self, name: str) -> ModelFunction:
        for model_name in (name, self._alias):
            if model_name == SCRIPT and self._script is not None:
                return self._script.reply
            if (model := find_model(model_name)) is not None:
                return model
        message = f"The offline provider has no model “{name[:200]}”."
        raise Refusal(Problem("unknown_model", message))

    def _pieces(self, prompt: PromptRequest, id: str) -> Iterator[TimedPiece]:
        """Yield the reply to a request within its limits; afterwards it can be referred to."""
        model = self._model(prompt.model)
        self._requests[prompt.model] += 1
        pieces = model(prompt, self._requests[prompt.model])
        schema = wanted_schema(prompt.body)
        if schema is not None and (self._script is None or model != self._script.reply):
            pieces = obeying(pieces, schema)
        parts = list[PromptPart]()
        text = ""
        for piece in limited(pieces, prompt.limit, prompt.stops, self.dependencies.random_id):
            match piece:
                case TextPiece(more):
                    text += more
                case ToolCallPiece(name, arguments, call):
                    parts.append(PromptToolCall(f"call_{call}", name, arguments))
                case Finish() if id.startswith("resp_") and prompt.body.get("store") is not False:
                    parts[:0] = [PromptText(text)] if text else []
                    reply = (PromptTurn("assistant", tuple(parts)),) if parts else ()
                    self._responses[id] = (*prompt.turns, *reply)
                    while len(self._responses) > _STORED_RESPONSES:
                        self._responses.popitem(last=False)
                case _:
                    pass
            yield piece

    async def _stream(
        self,
        protocol: OfflineProtocol,
        pieces: Iterator[TimedPiece],
        writer: ResponseWriter,
        pause: Pause,
    ) -> AsyncGenerator[bytes, None]:
        if start := writer.start():
            yield start
        async for piece in self._timed(pieces, pause):
            match piece:
                case Disconnect():
                    raise ConnectionCut
                case Failure(fault):
                    data = writer.error(protocol.describe(fault)[1])
                case Finish():
                    data = writer.end(piece)
                case _:
                    data = writer.piece(piece)
            if data:
                yield data

    async def _full_response(
        self,
        protocol: OfflineProtocol,
        headers: Headers,
        pieces: Iterator[TimedPiece],
        writer: ResponseWriter,
        pause: Pause,
    ) -> HttpResponse:
        content: list[Content] = []
        finish = Finish("stop", None, 0, 0)
        is_cut = False
        async for piece in self._timed(pieces, pause):
            match piece:
                case Disconnect():
                    is_cut = True
                case Failure(fault):
                    raise Refusal(fault)
                case Finish():
                    finish = piece
                case _:
                    content.append(piece)
        body = writer.full_response(WholeReply(content), finish)
        return _whole(protocol, 200, headers, body, is_cut)

    async def _timed(
        self, pieces: Iterator[TimedPiece], pause: Pause
    ) -> AsyncGenerator[Content | Disconnect | Failure | Finish, None]:
        """Yield the pieces, each when it is due. Waits add up on a clock of their own, so that a
        slow reader does not slow the model further.
        """
        due = self.dependencies.monotonic()
        for piece in pieces:
            match piece:
                case Wait(seconds):
                    due += seconds
                    if (remaining := due - self.dependencies.monotonic()) > 0:
                        await pause(remaining)
                case Stall():
                    await pause(None)
                case _:
                    yield piece


def too_large() -> Problem:
    """Return the fault of a body over the limit."""
    return Problem("too_large", f"The request's body exceeds {MAX_BODY:,} bytes.")


def _headers(protocol: OfflineProtocol, id: str) -> Headers:
    return ((protocol.id_header, id),) if protocol.id_header else ()


def _whole(
    protocol: OfflineProtocol, status: int, headers: Headers, body: bytes, is_cut: bool = False
) -> HttpResponse:
    async def send() -> AsyncGenerator[bytes, None]:
        yield body[: len(body) // 2] if is_cut else body
        if is_cut:
            raise ConnectionCut

    content = (("content-type", protocol.json_type), ("content-length", str(len(body))))
    return HttpResponse(status, (*content, *headers), send())
