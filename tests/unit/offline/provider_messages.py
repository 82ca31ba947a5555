"""The same request in every protocol, and reading the replies without the app's own parsers."""

import json
from dataclasses import dataclass
from typing import Any

import httpx

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

    text: str = ""
    reasoning: str = ""
    calls: list[tuple[str, Any]] | None = None
    finish: str | None = None
    input: int = 0
    output: int = 0
    """Reasoning included."""


def events(response: httpx.Response) -> list[tuple[str | None, Any]]:
    """Event name and data of each event; data is JSON, or `[DONE]`."""
    found: list[tuple[str | None, Any]] = []
    for block in response.content.decode().replace("\r\n", "\n").split("\n\n"):
        if block:
            fields = dict(line.split(": ", 1) for line in block.split("\n"))
            data = fields["data"]
            found.append((fields.get("event"), data if data == "[DONE]" else json.loads(data)))
    return found


def read_reply(protocol: str, response: httpx.Response) -> Reply:
    """Read a reply, streamed or not, to its end."""
    assert response.status_code == 200, response.text
    if "ndjson" in response.headers["content-type"]:
        return _ollama([json.loads(line) for line in response.content.split(b"\n")[:-1]])
    if "event-stream" not in response.headers["content-type"]:
        return _whole(protocol, response.json())
    data = [data for _, data in events(response)]
    match protocol:
        case "openai_chat":
            return _chat(data)
        case "openai_responses":
            return _responses(data)
        case "anthropic":
            return _anthropic(data)
        case _:
            return _gemini(data)


def _whole(protocol: str, body: dict[str, Any]) -> Reply:
    match protocol:
        case "openai_chat":
            choice, usage = body["choices"][0], body["usage"]
            message = choice["message"]
            calls = [
                (call["function"]["name"], json.loads(call["function"]["arguments"]))
                for call in message.get("tool_calls", [])
            ]
            return Reply(
                message["content"] or "",
                message.get("reasoning_content", ""),
                calls,
                choice["finish_reason"],
                usage["prompt_tokens"],
                usage["completion_tokens"],
            )
        case "openai_responses":
            return _responses([{"type": f"response.{body['status']}", "response": body}])
        case "anthropic":
            blocks = body["content"]
            return Reply(
                "".join(block["text"] for block in blocks if block["type"] == "text"),
                "".join(block["thinking"] for block in blocks if block["type"] == "thinking"),
                [(b["name"], b["input"]) for b in blocks if b["type"] == "tool_use"],
                body["stop_reason"],
                body["usage"]["input_tokens"],
                body["usage"]["output_tokens"],
            )
        case "ollama":
            return _ollama([body])
        case _:
            return _gemini([body])


def _chat(data: list[Any]) -> Reply:
    assert data[-1] == "[DONE]"
    reply = Reply(calls=[])
    names: list[str] = []
    arguments: list[str] = []
    for chunk in data[:-1]:
        if not chunk["choices"]:
            reply.input = chunk["usage"]["prompt_tokens"]
            reply.output = chunk["usage"]["completion_tokens"]
            continue
        choice = chunk["choices"][0]
        reply.text += choice["delta"].get("content") or ""
        reply.reasoning += choice["delta"].get("reasoning_content") or ""
        reply.finish = choice["finish_reason"] or reply.finish
        for call in choice["delta"].get("tool_calls", []):
            if "id" in call:
                assert call["index"] == len(names)
                names.append(call["function"]["name"])
                arguments.append("")
            arguments[call["index"]] += call["function"]["arguments"]
    reply.calls = [(n, json.loads(a)) for n, a in zip(names, arguments, strict=True)]
    return reply


def _responses(data: list[Any]) -> Reply:
    last = data[-1]
    response = last["response"]
    deltas = "".join(d["delta"] for d in data if d["type"] == "response.output_text.delta")
    reply = Reply(calls=[], finish=last["type"].removeprefix("response."))
    for item in response["output"]:
        match item["type"]:
            case "message":
                reply.text += "".join(part["text"] for part in item["content"])
            case "reasoning":
                reply.reasoning += "".join(part["text"] for part in item["summary"])
            case _:
                assert reply.calls is not None
                reply.calls.append((item["name"], json.loads(item["arguments"])))
    assert len(data) == 1 or deltas == reply.text
    reply.input = response["usage"]["input_tokens"]
    reply.output = response["usage"]["output_tokens"]
    return reply


def _anthropic(data: list[Any]) -> Reply:
    assert data[0]["type"] == "message_start"
    assert data[-1]["type"] == "message_stop"
    reply = Reply(calls=[], input=data[0]["message"]["usage"]["input_tokens"])
    open_: int | None = None
    partial = name = ""
    for event in data:
        match event["type"]:
            case "content_block_start":
                assert open_ is None
                open_ = event["index"]
                name, partial = event["content_block"].get("name", ""), ""
            case "content_block_delta":
                assert event["index"] == open_
                delta = event["delta"]
                reply.text += delta.get("text", "")
                reply.reasoning += delta.get("thinking", "")
                partial += delta.get("partial_json", "")
            case "content_block_stop":
                assert event["index"] == open_
                open_ = None
                if name:
                    assert reply.calls is not None
                    reply.calls.append((name, json.loads(partial)))
                    name = ""
            case "message_delta":
                reply.finish = event["delta"]["stop_reason"]
                reply.output = event["usage"]["output_tokens"]
            case _:
                pass
    return reply


def _gemini(data: list[Any]) -> Reply:
    reply = Reply(calls=[])
    for chunk in data:
        candidate = chunk["candidates"][0]
        reply.finish = candidate.get("finishReason", reply.finish)
        for part in candidate["content"].get("parts", []):
            if part.get("thought"):
                reply.reasoning += part["text"]
            elif "functionCall" in part:
                assert reply.calls is not None
                reply.calls.append((part["functionCall"]["name"], part["functionCall"]["args"]))
            else:
                reply.text += part["text"]
        usage = chunk["usageMetadata"]
        reply.input = usage["promptTokenCount"]
        reply.output = usage.get("candidatesTokenCount", 0) + usage.get("thoughtsTokenCount", 0)
        assert usage["totalTokenCount"] == reply.input + reply.output
    return reply


def _ollama(data: list[Any]) -> Reply:
    assert [chunk["done"] for chunk in data] == [False] * (len(data) - 1) + [True]
    last = data[-1]
    reply = Reply(calls=[], finish=last["done_reason"])
    for chunk in data:
        message = chunk["message"]
        assert message["role"] == "assistant"
        reply.text += message["content"]
        reply.reasoning += message.get("thinking", "")
        for call in message.get("tool_calls", []):
            assert reply.calls is not None
            assert call["function"]["index"] == len(reply.calls)
            reply.calls.append((call["function"]["name"], call["function"]["arguments"]))
    reply.input, reply.output = last["prompt_eval_count"], last["eval_count"]
    return reply
