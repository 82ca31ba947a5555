"""The offline provider: an HTTP request in, an `HttpResponse` out, and no I/O between.

It keeps three things in memory: how often each failing model was asked, so that `flaky-429:2`
succeeds at the third request, the latest responses of the Responses protocol, so that
`previous_response_id` works, and the latest prompts, so that `usage` counts cached tokens.

The error for an unknown path is worded by the provider that the request is recognisably meant for:
`/api` is Ollama's, `/v1beta` or a Google key is Gemini's, an `anthropic-version` header is
Anthropic's, all else is OpenAI's. `GET /v1/models` belongs to three of them, decided in the same
way.

Structured output: what a request wants the answer to look like, and an answer that does.
"""

import json
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain
from typing import Any, assert_never, cast

from tui_chat.models.content_encoding import EncodingFault, decode_body
from tui_chat.offline.anthropic.provider import ANTHROPIC
from tui_chat.offline.base_provider import (
    CountTokens,
    Generate,
    ListModels,
    Operation,
    Provider,
    RequestContext,
    ResponseWriter,
)
from tui_chat.offline.dependencies import OfflineDependencies
from tui_chat.offline.gemini.provider import GEMINI
from tui_chat.offline.http_messages import Headers, HttpRequest, HttpResponse, Step
from tui_chat.offline.json_reader import compact, parse_body
from tui_chat.offline.models.catalogue import ModelFunction, find_model
from tui_chat.offline.models.script import NAME as SCRIPT
from tui_chat.offline.models.script import Script
from tui_chat.offline.models.toolsmith import sample_arguments
from tui_chat.offline.ollama.provider import OLLAMA
from tui_chat.offline.openai.provider import OPENAI
from tui_chat.offline.prompt_cache import PromptCache
from tui_chat.offline.prompt_request import (
    PromptPart,
    PromptRequest,
    PromptText,
    PromptToolCall,
    PromptTurn,
)
from tui_chat.offline.reply_pieces import (
    Content,
    Disconnect,
    Failure,
    Finish,
    PicturePiece,
    Piece,
    ReasoningPiece,
    SourcePiece,
    Stall,
    TextPiece,
    TimedPiece,
    ToolCallPiece,
    Wait,
)
from tui_chat.offline.request_errors import (
    BodyTooLarge,
    InvalidJson,
    RequestError,
    RequestRefused,
    UnknownModel,
    UnknownPath,
    WrongMethod,
)
from tui_chat.offline.tokens import estimate_prompt_tokens, limited

_PLACES = (
    ("response_format", "json_schema", "schema"),
    ("text", "format", "schema"),
    ("output_config", "format", "schema"),
    ("output_format", "schema"),
    ("generationConfig", "responseJsonSchema"),
    ("generationConfig", "responseSchema"),
    ("generation_config", "response_schema"),
    ("format",),
)
"""Where requests of the protocols have the JSON schema of the answer."""
_JSON_MODES = (
    (("response_format", "type"), "json_object"),
    (("text", "format", "type"), "json_object"),
    (("generationConfig", "responseMimeType"), "application/json"),
    (("format",), "json"),
)
"""Where they ask for any JSON object."""
_ANY_OBJECT: Mapping[str, Any] = {"type": "object", "properties": {"answer": {"type": "string"}}}
PROVIDERS: tuple[Provider, ...] = (OLLAMA, GEMINI, ANTHROPIC, OPENAI)
"""In the order in which they are asked whether a request is theirs. The last one answers for the
rest."""

MAX_BODY = 64 * 1024 * 1024
"""Maximum bytes of a request body."""

_STORED_RESPONSES = 256
"""Responses kept for `previous_response_id`; the oldest is dropped first."""


def wanted_schema(body: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the schema that the answer has to fit; None if it may be any text."""
    for place in _PLACES:
        found = _at(body, place)
        if isinstance(found, dict):
            return cast("dict[str, Any]", found)
    if any(_at(body, place) == word for place, word in _JSON_MODES):
        return _ANY_OBJECT
    return None


def _at(body: Any, place: tuple[str, ...]) -> Any:
    for key in place:
        body = cast("dict[str, Any]", body).get(key) if isinstance(body, dict) else None
    return body


def obeying(pieces: Iterable[Piece], schema: Mapping[str, Any]) -> Iterator[Piece]:
    """Yield a reply whose text is JSON that fits a schema: the model's own text if it is an object,
    else a sample. A reply without text stays as it is.
    """
    texts: list[str] = []
    for piece in pieces:
        if isinstance(piece, TextPiece):
            texts.append(piece.text)
            continue
        if isinstance(piece, Disconnect | Stall | Failure) and texts:
            yield from map(TextPiece, texts)
            texts = []
        yield piece
    if texts:
        yield TextPiece(_fitting("".join(texts), schema))


def _fitting(text: str, schema: Mapping[str, Any]) -> str:
    try:
        if isinstance(json.loads(text), dict):
            return text
    except (ValueError, RecursionError):
        pass
    sample = sample_arguments(schema)
    if schema is _ANY_OBJECT:
        sample = {"answer": text}
    return json.dumps(sample, ensure_ascii=False)


def provider_of(request: HttpRequest) -> Provider:
    """Return the provider that a request is meant for."""
    for provider in PROVIDERS:
        if provider.generation(request) is not None:
            return provider
    return next((each for each in PROVIDERS if each.owns(request)), PROVIDERS[-1])


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

    def respond(self, request: HttpRequest) -> HttpResponse:
        """Return the response to a request. Never raises for anything a client can send."""
        if self._on_request is not None:
            self._on_request(request)
        provider = provider_of(request)
        id = provider.request_id(self.dependencies)
        try:
            if len(request.body) > MAX_BODY:
                raise RequestRefused(BodyTooLarge(MAX_BODY))
            request = _decoded(request)
            match _operation(provider, request):
                case Generate() as generate:
                    return self._generate(request, generate, id)
                case CountTokens() as count:
                    return self._count(request, count, id)
                case ListModels(model, version):
                    body = provider.model_list() if model is None else provider.model_entry(model)
                    if body is None:
                        raise RequestRefused(UnknownModel(model or "", version))
                    return _response(provider, 200, body, provider.headers(id, self.dependencies))
                case _ as never:
                    assert_never(never)
        except RequestRefused as refused:
            return self.refuse(provider, refused.error, id)

    def refuse(
        self, provider: Provider, error: RequestError, id: str | None = None
    ) -> HttpResponse:
        """Return a provider's response to an error."""
        id = provider.request_id(self.dependencies) if id is None else id
        status, description = provider.describe_error(error)
        special = provider.error_headers(status, error, self.dependencies)
        replaced = {name for name, _ in special}
        usual = [
            (name, value)
            for name, value in provider.headers(id, self.dependencies)
            if name not in replaced
        ]
        body = provider.error_body(description, id)
        return _response(provider, status, body, (*usual, *special))

    def _generate(self, request: HttpRequest, generate: Generate, id: str) -> HttpResponse:
        handler = generate.handler
        context = RequestContext(
            len(request.body), generate.model, generate.stream, stored_turns=self._responses.get
        )
        prompt = handler.parse_request(parse_body(request.body), context)
        model = self._find_model(prompt.model)
        if model is None:
            raise RequestRefused(UnknownModel(prompt.model, generate.version))
        self._requests[prompt.model] += 1
        prompt = replace(prompt, cache=self._caches[prompt.protocol].use(prompt))
        content = model(prompt, self._requests[prompt.model])
        schema = wanted_schema(prompt.body)
        is_scripted = self._script is not None and model == self._script.reply
        pieces = limited(
            content if schema is None or is_scripted else obeying(content, schema),
            prompt.limit,
            prompt.stops,
            self.dependencies.random_id,
        )
        writer = handler.writer(prompt, self.dependencies)
        if handler.stores_responses and prompt.body.get("store") is not False:
            pieces = self._storing(pieces, prompt, writer.id)
        provider = handler.provider
        headers = provider.headers(id, self.dependencies)
        if not prompt.stream:
            return _full_response(pieces, writer, provider, headers)
        first = next(pieces)
        if isinstance(first, Failure):
            raise RequestRefused(first.error)
        headers = (
            ("content-type", handler.stream_type),
            ("cache-control", "no-cache"),
            *headers,
        )
        return HttpResponse(200, headers, _stream(chain((first,), pieces), writer, provider))

    def _find_model(self, name: str) -> ModelFunction | None:
        for each in (name, self._alias):
            if each == SCRIPT and self._script is not None:
                return self._script.reply
            if (model := find_model(each)) is not None:
                return model
        return None

    def _storing(
        self, pieces: Iterator[TimedPiece], prompt: PromptRequest, id: str
    ) -> Iterator[TimedPiece]:
        """Yield the pieces; after the last one, the response can be referred to."""
        calls: list[PromptPart] = []
        texts: list[str] = []
        for piece in pieces:
            match piece:
                case TextPiece(text):
                    texts.append(text)
                case ToolCallPiece(name, arguments, call):
                    calls.append(PromptToolCall(f"call_{call}", name, arguments))
                case Finish():
                    text_parts = [PromptText("".join(texts))] if texts else []
                    parts = (*text_parts, *calls)
                    reply = (PromptTurn("assistant", parts),) if parts else ()
                    self._responses[id] = (*prompt.turns, *reply)
                    while len(self._responses) > _STORED_RESPONSES:
                        self._responses.popitem(last=False)
                case _:
                    pass
            yield piece

    def _count(self, request: HttpRequest, count: CountTokens, id: str) -> HttpResponse:
        context = RequestContext(len(request.body), count.model, counting=True)
        prompt = count.handler.parse_request(parse_body(request.body), context)
        if self._find_model(prompt.model) is None:
            raise RequestRefused(UnknownModel(prompt.model, count.version))
        result: dict[str, Any] = {"object": count.kind} if count.kind else {}
        result[count.result_key] = estimate_prompt_tokens(prompt.characters)
        body = compact(result).encode()
        provider = count.handler.provider
        return _response(provider, 200, body, provider.headers(id, self.dependencies))


def _decoded(request: HttpRequest) -> HttpRequest:
    """Return a request with its content encoding undone. Raises RequestRefused."""
    encoding = request.header("content-encoding")
    if not encoding:
        return request
    try:
        return replace(request, body=decode_body(request.body, encoding, MAX_BODY))
    except EncodingFault as error:
        raise RequestRefused(InvalidJson(str(error))) from error


def _operation(provider: Provider, request: HttpRequest) -> Operation:
    """Return what a request asks for. Raises RequestRefused for a wrong path, method or header."""
    operation = provider.operation(request)
    if operation is None:
        raise RequestRefused(UnknownPath(request.method, request.path))
    methods = ("GET", "HEAD") if isinstance(operation, ListModels) else ("POST",)
    if request.method not in methods:
        raise RequestRefused(WrongMethod(request.method, request.path))
    if not isinstance(operation, ListModels):
        provider.check_headers(request)
    return operation


def _stream(
    pieces: Iterable[TimedPiece], writer: ResponseWriter, provider: Provider
) -> Iterator[Step]:
    """Yield a streamed reply's steps, without empty ones."""
    for step in _stream_steps(pieces, writer, provider):
        if step != b"":
            yield step


def _stream_steps(
    pieces: Iterable[TimedPiece], writer: ResponseWriter, provider: Provider
) -> Iterator[Step]:
    yield writer.start()
    for piece in pieces:
        match piece:
            case TextPiece() | ReasoningPiece() | ToolCallPiece() | SourcePiece() | PicturePiece():
                yield writer.piece(piece)
            case Wait() | Stall() | Disconnect():
                yield piece
            case Failure(error):
                yield writer.error(provider.describe_error(error)[1])
            case Finish():
                yield writer.end(piece)
            case _:
                assert_never(piece)


def _full_response(
    pieces: Iterable[TimedPiece], writer: ResponseWriter, provider: Provider, headers: Headers
) -> HttpResponse:
    """Return the response that is not streamed: all its waits come before the status line."""
    content: list[Content] = []
    seconds = 0.0
    stalls = False
    finish = Finish("stop", None, 0, 0)
    disconnects = False
    for piece in pieces:
        match piece:
            case TextPiece() | ReasoningPiece() | ToolCallPiece() | SourcePiece() | PicturePiece():
                content.append(piece)
            case Wait(more):
                seconds += more
            case Stall():
                stalls = True
            case Disconnect():
                disconnects = True
            case Failure(error):
                raise RequestRefused(error)
            case Finish():
                finish = piece
            case _:
                assert_never(piece)
    body = writer.full_response(content, finish)
    before = (*((Wait(seconds),) if seconds else ()), *((Stall(),) if stalls else ()))
    steps: tuple[Step, ...] = (body[: len(body) // 2], Disconnect()) if disconnects else (body,)
    return replace(_response(provider, 200, body, headers), steps=steps, before=before)


def _response(provider: Provider, status: int, body: bytes, headers: Headers) -> HttpResponse:
    named = {name for name, _ in headers}
    content = (("content-type", provider.json_type), ("content-length", str(len(body))))
    own = (header for header in content if header[0] not in named)
    return HttpResponse(status, (*own, *headers), (body,))
