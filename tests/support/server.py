"""A provider on a loopback port that gives scripted answers and keeps the requests."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self


@dataclass(frozen=True)
class Answer:
    """One scripted answer. `body` is sent as it is, in pieces if there are several, with `pause`
    seconds before each piece after the first. Each piece is asked for when it is its turn.
    """

    body: bytes | str | Iterable[bytes | str]
    content_type: str = "text/event-stream"
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict[str, str])
    pause: float = 0.0

    @property
    def pieces(self) -> Iterator[bytes]:
        pieces = [self.body] if isinstance(self.body, bytes | str) else self.body
        return (each.encode() if isinstance(each, str) else each for each in pieces)


@dataclass(frozen=True)
class Received:
    """One request that arrived."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def events(*values: object, done: bool = True) -> str:
    """Return values as server-sent events, with OpenAI Chat's `[DONE]` behind them."""
    lines = [f"data: {json.dumps(value)}\n\n" for value in values]
    return "".join(lines) + ("data: [DONE]\n\n" if done else "")


def chat_text(*words: str, finish: str | None = "stop") -> str:
    """Return the stream of an OpenAI Chat reply with these pieces of text."""
    chunks = [{"choices": [{"index": 0, "delta": {"content": word}}]} for word in words]
    if finish is not None:
        end = {"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]}
        return events(*chunks, end)
    return events(*chunks, done=False)


def chat_calls(*calls: tuple[str, str], ids: Sequence[str] = ()) -> str:
    """Return the stream of an OpenAI Chat reply that calls tools: a name and arguments each. `ids`
    are those of the calls, which may be empty or the same; by default `call_1` and so on.
    """
    given = ids or [f"call_{number}" for number in range(1, len(calls) + 1)]
    pieces = [
        {"index": n, "id": given[n], "function": {"name": name, "arguments": arguments}}
        for n, (name, arguments) in enumerate(calls)
    ]
    delta = {"choices": [{"index": 0, "delta": {"tool_calls": pieces}}]}
    end = {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}
    return events(delta, end)


Reply = Callable[[Received], Answer]
"""What answers a request by what it says."""


def json_answer(value: object, status: int = 200) -> Answer:
    """Return a value as an answer of JSON."""
    return Answer(json.dumps(value), "application/json", status)


class Provider:
    """A server that gives the n-th POST the n-th answer, and the last one from then on. A GET is
    answered with `models`, in OpenAI's form. Its requests are in `received`.
    """

    def __init__(
        self, *answers: Answer | str | Reply, models: Sequence[str] | Reply = ("m",)
    ) -> None:
        in_order = [Answer(each) if isinstance(each, str) else each for each in answers]
        self.received: list[Received] = []
        provider = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                if callable(models):
                    self._write(models(self._received("GET", b"")))
                    return
                listed = {"object": "list", "data": [{"id": name} for name in models]}
                self._write(json_answer(listed))

            def do_POST(self) -> None:
                size = int(self.headers.get("Content-Length") or 0)
                received = self._received("POST", self.rfile.read(size))
                provider.received.append(received)
                number = min(len(provider.received), len(in_order)) - 1
                answer = in_order[number]
                self._write(answer(received) if callable(answer) else answer)

            def _received(self, method: str, body: bytes) -> Received:
                headers = {name.lower(): value for name, value in self.headers.items()}
                return Received(method, self.path, headers, body)

            def _write(self, answer: Answer) -> None:
                self.send_response(answer.status)
                if answer.content_type:
                    self.send_header("Content-Type", answer.content_type)
                for name, value in answer.headers.items():
                    self.send_header(name, value)
                self.send_header("Connection", "close")
                self.end_headers()
                try:
                    for number, piece in enumerate(answer.pieces):
                        if number and answer.pause:
                            time.sleep(answer.pause)
                        self.wfile.write(piece)
                        self.wfile.flush()
                except OSError:
                    pass  # the client went away

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def bodies(self) -> list[Any]:
        """The bodies of all requests, parsed."""
        return [each.json for each in self.received]

    def config(self, protocol: str = "openai_chat", model: str = "m", name: str = "local") -> str:
        """Return a `config.toml` whose only endpoint of ours, also the default, is this server."""
        path = "" if protocol in ("ollama", "gemini") else "/v1"
        return (
            f'endpoint = "{name}"\nmodel = "{model}"\n\n[endpoints.{name}]\n'
            f'protocol = "{protocol}"\nbase_url = "{self.url}{path}"\n'
        )
