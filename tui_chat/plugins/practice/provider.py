"""The provider of all protocols, as an httpx transport; `server` serves it to other programs.

It keeps three things in memory: how often each model was asked, so that `flaky-429:2` succeeds at
the third request, the latest conversations of the Responses protocol, so that
`previous_response_id` works, and the latest prompts, so that `usage` counts cached tokens.

The protocol of a request is told by its path, else by its headers: a Google key is Gemini's, an
`anthropic-version` Anthropic's. `GET /v1/models` belongs to three of them, decided in the same way.
"""

import json
import re
from collections import Counter, OrderedDict, defaultdict
from dataclasses import replace
from typing import Any
from urllib.parse import unquote

import httpx

from tui_chat.models.content_encoding import EncodingFault, decode_body
from tui_chat.models.endpoint import Protocol
from tui_chat.models.json_text import to_json
from tui_chat.offline.models import Model
from tui_chat.offline.prompt import Prompt, Refusal, read_prompt
from tui_chat.offline.provider import (
    OfflineDependencies,
    OfflineTransport,
    ReplyWriter,
)
from tui_chat.offline.reply import Piece, Pieces
from tui_chat.plugins.practice.anthropic import AnthropicWriter
from tui_chat.plugins.practice.endpoints import MODELS
from tui_chat.plugins.practice.gemini import GeminiWriter
from tui_chat.plugins.practice.json_answers import obeying
from tui_chat.plugins.practice.models import find_model
from tui_chat.plugins.practice.ollama import OllamaWriter
from tui_chat.plugins.practice.openai_chat import ChatWriter
from tui_chat.plugins.practice.openai_responses import ResponsesWriter
from tui_chat.plugins.practice.prompt_cache import PromptCache
from tui_chat.plugins.practice.script import NAME as SCRIPT
from tui_chat.plugins.practice.script import Script
from tui_chat.plugins.practice.writers import PracticeWriter
from tui_chat.protocols.registry import protocol_of_path

_WRITERS: dict[Protocol, type[PracticeWriter]] = {
    writer.protocol: writer
    for writer in (ChatWriter, ResponsesWriter, AnthropicWriter, GeminiWriter, OllamaWriter)
}
MAX_BODY = 64 * 1024 * 1024
"""Maximum bytes of a request body."""
_STORED_RESPONSES = 256
"""Conversations kept for `previous_response_id`; the oldest is dropped first."""
_COUNT = re.compile(r"/messages/count_tokens$|/responses/input_tokens$|:countTokens$")
_MODELS = re.compile(r"/(?:v1|v1beta)/models(?:/([^/]+))?$|/api/tags$")
_MODEL = re.compile(r"/models/([^/]+):")


class PracticeTransport(OfflineTransport):
    """Answers requests in every protocol, with one set of models."""

    def __init__(
        self,
        dependencies: OfflineDependencies | None = None,
        alias: str = "",
        script: Script | None = None,
    ) -> None:
        """`alias` is the model that answers for unknown names; empty to refuse them. `script` is
        what the model `script` plays; without one there is no such model.
        """
        super().__init__(dependencies)
        self._alias, self._script = alias, script
        self._caches: defaultdict[Protocol, PromptCache] = defaultdict(
            lambda: PromptCache(self.dependencies.monotonic)
        )
        self._requests: Counter[str] = Counter()
        """Requests by model name."""
        self._conversations: OrderedDict[str, list[Any]] = OrderedDict()
        """The items of a conversation by the id of the response that ends it."""

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        response = await super().handle_async_request(request)
        if header := self.writer_for(request).id_header:
            response.headers[header] = f"req_{self.dependencies.random_id(24)}"
        return response

    def writer_for(self, request: httpx.Request) -> type[PracticeWriter]:
        path, query, headers = request.url.path, request.url.params, request.headers
        if (protocol := protocol_of_path(path)) is not None:
            return _WRITERS[protocol]
        if path.startswith("/api/"):
            return OllamaWriter
        if path.startswith("/v1beta/") or "x-goog-api-key" in headers or "key" in query:
            return GeminiWriter
        if path.startswith("/v1/messages") or "anthropic-version" in headers:
            return AnthropicWriter
        return ResponsesWriter if path.startswith("/v1/responses") else ChatWriter

    async def answer(
        self, writer: type[ReplyWriter], request: httpx.Request, data: bytes
    ) -> httpx.Response:
        assert issubclass(writer, PracticeWriter)
        path = unquote(request.url.path)
        if request.method in ("GET", "HEAD") and (listed := _MODELS.search(path)):
            if listed[1]:
                self.model(listed[1])
            body = writer.model(listed[1]) if listed[1] else writer.models(MODELS)
            return _json(writer, body)
        is_count = _COUNT.search(path)
        if request.method != "POST" or not (is_count or protocol_of_path(path)):
            sentence = f"Nothing answers {request.method} {path[:200]} here."
            raise Refusal("not_found", sentence)
        prompt = self.read(writer, request, data)
        model = self.model(prompt.model)
        if is_count:
            return _json(writer, writer.count_body(prompt.tokens))
        reply = writer(prompt, self.dependencies)
        reply.cache = self._caches[writer.protocol].use(writer.protocol, prompt)
        pieces = model(prompt)
        if self._script is None or model != self._script.reply:
            pieces = obeying(pieces, prompt.envelope)
        return await self.reply(request, reply, self._followed(pieces, reply))

    def model(self, name: str) -> Model:
        """Return a model, or the one that answers for unknown names. Raises Refusal."""
        for known in (name, self._alias):
            if known == SCRIPT and self._script is not None:
                return self._script.reply
            if (model := find_model(known, self._requests[name] + 1)) is not None:
                return model
        raise Refusal("unknown_model", f"The offline provider has no model “{name[:200]}”.")

    def read(self, writer: type[PracticeWriter], request: httpx.Request, data: bytes) -> Prompt:
        """Return the request in a body. Raises Refusal."""
        if len(data) > MAX_BODY:
            raise Refusal("too_large", f"The request's body exceeds {MAX_BODY:,} bytes.")
        try:
            data = decode_body(data, request.headers.get("content-encoding", ""), MAX_BODY)
        except EncodingFault as error:
            raise Refusal("invalid", str(error)) from error
        prompt = read_prompt(writer.protocol, data)
        if previous := prompt.body.get("previous_response_id"):
            if (items := self._conversations.get(str(previous))) is None:
                sentence = f"Previous response with id '{str(previous)[:200]}' not found."
                raise Refusal("invalid", sentence)
            body = {**prompt.body, "input": [*items, *_items(prompt)]}
            prompt = read_prompt(writer.protocol, json.dumps(body).encode())
        parameters = prompt.envelope.parameters
        if named := _MODEL.search(unquote(request.url.path)):
            is_stream = ":stream" in request.url.path
            parameters = parameters.with_values(model=named[1], stream=is_stream)
        envelope = replace(prompt.envelope, parameters=parameters)
        if not envelope.turns:
            raise Refusal("invalid", "The request has no messages.")
        return Prompt(envelope, prompt.body, prompt.size, writer.title)

    def _followed(self, pieces: Pieces, reply: PracticeWriter) -> Pieces:
        """Yield a reply up to a stop sequence; afterwards it can be referred to."""
        prompt = reply.prompt
        self._requests[prompt.model] += 1
        if isinstance(reply, ResponsesWriter) and prompt.body.get("store") is not False:
            self._conversations[reply.id] = reply.conversation = _items(prompt)
            while len(self._conversations) > _STORED_RESPONSES:
                self._conversations.popitem(last=False)
        stops = prompt.envelope.parameters.values.stop
        for piece in pieces:
            if isinstance(piece, Piece) and piece.kind == "text" and stops is not None:
                starts = [(piece.text.find(stop), stop) for stop in stops if stop in piece.text]
                start, reply.stop = min(starts, default=(len(piece.text), None))
                piece = replace(piece, text=piece.text[:start])
            yield piece
            if reply.stop is not None:
                break


def _json(writer: type[PracticeWriter], body: dict[str, Any]) -> httpx.Response:
    headers = {"content-type": writer.json_type}
    return httpx.Response(200, headers=headers, content=to_json(body))


def _items(prompt: Prompt) -> list[Any]:
    """Return the items of a request of the Responses protocol."""
    items = prompt.body.get("input")
    return [{"role": "user", "content": items}] if isinstance(items, str) else list(items or ())
