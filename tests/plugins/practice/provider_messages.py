"""The same request in every protocol, and its reply in neutral words."""

import json
from dataclasses import dataclass
from typing import Any

import httpx

from tui_chat.models.endpoint import Protocol
from tui_chat.protocols.registry import protocol_of
from tui_chat.providers.response_recorder import read_recorded

PROTOCOLS = ("openai_chat", "openai_responses", "anthropic", "gemini", "ollama")

SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer", "minimum": 2}},
    "required": ["city"],
}


def request(
    protocol: str,
    model: str,
    text: str = "hello",
    *,
    stream: bool = False,
    tools: bool = False,
    limit: int | None = None,
    stop: str | None = None,
) -> tuple[str, dict[str, Any]]:
    """A path and a body."""
    function = {"name": "weather", "description": "tells the weather"}
    body: dict[str, Any]
    match protocol:
        case "openai_chat":
            body = {"model": model, "messages": [{"role": "user", "content": text}]}
            body |= {"stream": stream, "stream_options": {"include_usage": True}} if stream else {}
            body |= {"max_completion_tokens": limit} if limit else {}
            body |= {"stop": stop} if stop else {}
            tool: Any = {"type": "function", "function": {**function, "parameters": SCHEMA}}
            path = "/v1/chat/completions"
        case "openai_responses":
            body = {"model": model, "input": text, "stream": stream}
            body |= {"max_output_tokens": limit} if limit else {}
            tool = {"type": "function", **function, "parameters": SCHEMA, "strict": False}
            path = "/v1/responses"
        case "anthropic":
            body = {"model": model, "messages": [{"role": "user", "content": text}]}
            body |= {"max_tokens": limit or 100_000, "stream": stream}
            body |= {"stop_sequences": [stop]} if stop else {}
            tool = {**function, "input_schema": SCHEMA}
            path = "/v1/messages"
        case "ollama":
            options: dict[str, Any] = {"num_predict": limit} if limit else {}
            options |= {"stop": [stop]} if stop else {}
            body = {"model": model, "messages": [{"role": "user", "content": text}]}
            body |= {"stream": stream} | ({"options": options} if options else {})
            tool = {"type": "function", "function": {**function, "parameters": SCHEMA}}
            path = "/api/chat"
        case _:
            config: dict[str, Any] = {"maxOutputTokens": limit} if limit else {}
            config |= {"stopSequences": [stop]} if stop else {}
            body = {"contents": [{"role": "user", "parts": [{"text": text}]}]}
            body |= {"generationConfig": config} if config else {}
            tool = {"functionDeclarations": [{**function, "parameters": SCHEMA}]}
            verb = "streamGenerateContent?alt=sse" if stream else "generateContent"
            path = f"/v1beta/models/{model}:{verb}"
    if tools:
        body["tools"] = [tool]
    return path, body


@dataclass
class Reply:
    """A reply in neutral words."""

    text: str
    reasoning: str
    calls: list[tuple[str, Any]]
    finish: str
    input: int | None
    output: int | None
    """Reasoning included."""


def read_reply(protocol: str, response: httpx.Response) -> Reply:
    """Read a reply, streamed or not, to its end, as the app does. `test_sdks` has the readings of
    the official clients.
    """
    assert response.status_code == 200, response.text
    kind = response.headers["content-type"]
    if "event-stream" in kind or "ndjson" in kind:
        reply, error = read_recorded(response.content, Protocol(protocol))
        assert error is None
    else:
        reply = protocol_of(Protocol(protocol)).read_reply(response.content)
    assert reply.finish is not None
    return Reply(
        reply.text,
        reply.thought,
        [(call.name, json.loads(str(call.arguments))) for call in reply.calls],
        reply.finish.raw,
        reply.usage.input,
        reply.usage.output,
    )
