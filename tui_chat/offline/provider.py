"""The offline provider inside the process: an httpx transport, so client code runs unchanged.

A subclass answers in more protocols (`ReplyWriter`) and with more models.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator
from itertools import chain
from secrets import token_hex
from typing import Any

import httpx

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.endpoint import Protocol
from tui_chat.models.json_text import to_json
from tui_chat.offline.models import find_model
from tui_chat.offline.prompt import Prompt, Refusal, read_prompt
from tui_chat.offline.reply import Finish, Piece, Pieces, limited

_MORE = "It has mirror, echo and lorem; the plugin “practice” has more models, in all protocols."


@dataclass(frozen=True, slots=True)
class OfflineDependencies:
    """The sources of time and randomness."""

    now: Callable[[], float] = time.time
    """Seconds since 1970."""
    monotonic: Callable[[], float] = time.monotonic
    """Seconds on a clock that never jumps."""
    sleep: Callable[[float], Coroutine[Any, Any, None]] = asyncio.sleep
    random_id: Callable[[int], str] = lambda length: token_hex(length)[:length]
    """Returns random letters and digits of the given length."""


class ReplyWriter:
    """Writes one reply in OpenAI Chat, streamed or whole; a subclass writes another protocol."""

    protocol = Protocol.OPENAI_CHAT
    json_type = "application/json"
    stream_type = "text/event-stream; charset=utf-8"

    def __init__(self, prompt: Prompt, dependencies: OfflineDependencies) -> None:
        self.prompt, self.dependencies = prompt, dependencies
        self.id = f"chatcmpl-{dependencies.random_id(29)}"
        self._created = int(dependencies.now())

    def start(self) -> bytes:
        """Return the bytes before the first piece."""
        return self._chunk({"role": "assistant", "content": ""})

    def write(self, piece: Piece | Finish) -> bytes:
        """Return the bytes of one piece, or of the end."""
        if isinstance(piece, Piece):
            return self._chunk({"content": piece.text})
        return self._chunk({}, piece) + b"data: [DONE]\n\n"

    def error(self, body: dict[str, Any]) -> bytes:
        """Return the bytes of an error after the stream began."""
        return f"data: {to_json(body)}\n\n".encode()

    def whole(self, pieces: list[Piece], finish: Finish) -> bytes:
        """Return the reply as one body; used instead of the other methods."""
        message = {"role": "assistant", "content": "".join(piece.text for piece in pieces)}
        return to_json(self._body("chat.completion", {"message": message}, finish)).encode()

    @classmethod
    def refuse(cls, refusal: Refusal) -> tuple[int, dict[str, str], dict[str, Any]]:
        """Return status, headers and body of an error."""
        error = {"message": refusal.message, "type": "invalid_request_error", "param": None}
        status = 400 if refusal.kind == "invalid" else 404
        return status, {}, {"error": {**error, "code": refusal.kind}}

    def _chunk(self, delta: dict[str, Any], finish: Finish | None = None) -> bytes:
        return self.error(self._body("chat.completion.chunk", {"delta": delta}, finish))

    def _body(self, kind: str, choice: dict[str, Any], finish: Finish | None) -> dict[str, Any]:
        choice = {"index": 0, **choice, "finish_reason": finish and finish.reason}
        body: dict[str, Any] = {"id": self.id, "created": self._created, "model": self.prompt.model}
        if finish is not None:
            counts = {"prompt_tokens": self.prompt.tokens, "completion_tokens": finish.output}
            body["usage"] = {**counts, "total_tokens": sum(counts.values())}
        return {**body, "object": kind, "choices": [choice]}


class OfflineTransport(httpx.AsyncBaseTransport):
    """Answers every request, without a network, whatever the host."""

    def __init__(self, dependencies: OfflineDependencies | None = None) -> None:
        self.dependencies = dependencies or OfflineDependencies()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Return the response, its body not yet sent. Raises `httpx.TransportError`."""
        data = await request.aread()
        writer = self.writer_for(request)
        try:
            return await self.answer(writer, request, data)
        except Refusal as refusal:
            status, headers, error = writer.refuse(refusal)
            headers |= {"content-type": writer.json_type}
            return httpx.Response(status, headers=headers, content=to_json(error))

    def writer_for(self, request: httpx.Request) -> type[ReplyWriter]:
        """Return the class that writes replies in the protocol of a request."""
        return ReplyWriter

    async def answer(
        self, writer: type[ReplyWriter], request: httpx.Request, data: bytes
    ) -> httpx.Response:
        """Return the response to a request with a body. Raises Refusal."""
        if not request.url.path.endswith("/chat/completions"):
            raise Refusal("not_found", f"The offline provider answers OpenAI Chat only. {_MORE}")
        prompt = read_prompt(writer.protocol, data)
        if (model := find_model(prompt.model)) is None:
            sentence = f"The offline provider has no model “{prompt.model[:200]}”. {_MORE}"
            raise Refusal("unknown_model", sentence)
        return await self.reply(request, writer(prompt, self.dependencies), model(prompt))

    async def reply(
        self, request: httpx.Request, writer: ReplyWriter, pieces: Pieces
    ) -> httpx.Response:
        """Return the response with a model's reply. Raises Refusal."""
        settings = writer.prompt.envelope.parameters.values
        limit = settings.max_tokens
        found = limited(pieces, limit if limit and limit > 0 else None)
        timed = self._timed(chain((next(found),), found), request)
        if not settings.stream:
            *content, finish = [piece async for piece in timed]
            headers = {"content-type": writer.json_type}
            return httpx.Response(200, headers=headers, content=writer.whole(content, finish))

        async def events() -> AsyncGenerator[bytes]:
            yield writer.start()
            try:
                async for piece in timed:
                    yield writer.write(piece)
                    await asyncio.sleep(0)  # a model at full speed must not hold the event loop
            except Refusal as refusal:
                yield writer.error(writer.refuse(refusal)[2])

        return httpx.Response(200, headers={"content-type": writer.stream_type}, content=events())

    async def _timed(
        self, pieces: Iterator[Piece | float | Finish], request: httpx.Request
    ) -> AsyncGenerator[Any]:
        """Yield the pieces, each when it is due; a slow reader does not slow the model further."""
        timeout = request.extensions.get("timeout", {}).get("read")
        due = self.dependencies.monotonic()
        for piece in pieces:
            if isinstance(piece, Piece | Finish):
                yield piece
                continue
            due += piece
            if (remaining := due - self.dependencies.monotonic()) > 0:
                try:
                    async with asyncio.timeout(timeout):
                        await self.dependencies.sleep(remaining)
                except TimeoutError:
                    raise httpx.ReadTimeout("No more was sent", request=request) from None
