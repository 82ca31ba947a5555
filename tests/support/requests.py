"""Requests of the protocols for tests, written small, and the ways to convert them."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from tui_chat.models.endpoint import Endpoint, ModelFacts, Protocol
from tui_chat.models.envelope import ChatEnvelope, Level
from tui_chat.models.payload import render
from tui_chat.protocols.base import Encoded
from tui_chat.protocols.common.trees import captured_origin
from tui_chat.protocols.registry import PROTOCOLS

CHAT, RESPONSES = Protocol.OPENAI_CHAT, Protocol.OPENAI_RESPONSES
ANTHROPIC, GEMINI = Protocol.ANTHROPIC, Protocol.GEMINI
OLLAMA = Protocol.OLLAMA


def endpoint(protocol: Protocol, model: str = "m", **facts: Any) -> Endpoint:
    return Endpoint("e", protocol, "https://e", facts=((model, ModelFacts(**facts)),))


def decoded(body: Any, source: Protocol = CHAT, model: str = "") -> ChatEnvelope:
    text = body if isinstance(body, str) else json.dumps(body)
    envelope = PROTOCOLS[source].decode(text.encode())
    if not model:
        return envelope
    origin = captured_origin("model")
    return replace(envelope, parameters=envelope.parameters.with_value("model", model, origin))


def encoded(envelope: ChatEnvelope, target: Protocol, to: Endpoint | None = None) -> Encoded:
    return PROTOCOLS[target].encode(envelope, to or endpoint(target))


def body_of(out: Encoded) -> Any:
    return json.loads(render(out.tree).body)


def converted(
    body: Any, target: Protocol, *, source: Protocol = CHAT, model: str = "", **facts: Any
) -> tuple[Any, list[str]]:
    """Return the converted body, and the codes of the notes that are no mere information."""
    to = endpoint(target, model or "m", **facts)
    envelope = decoded(body, source, model)
    out = encoded(envelope, target, to)
    notes = (*envelope.notes, *out.notes)
    return body_of(out), [note.code for note in notes if note.level is not Level.INFO]


def chat(*messages: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"model": "m", "messages": list(messages), **more}


def user(content: Any = "hi") -> dict[str, Any]:
    return {"role": "user", "content": content}


def system(content: Any) -> dict[str, Any]:
    return {"role": "system", "content": content}


def assistant(content: Any = "hello", **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": content, **more}


def call(identity: str, name: str = "f", arguments: str = "{}") -> dict[str, Any]:
    function = {"name": name, "arguments": arguments}
    return {"id": identity, "type": "function", "function": function}


def calls(*each: dict[str, Any], content: Any = None) -> dict[str, Any]:
    return assistant(content, tool_calls=list(each))


def result(identity: str, content: Any = "done") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": identity, "content": content}


def function(name: str = "f", **more: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": {}}
    return {"type": "function", "function": {"name": name, "parameters": schema, **more}}


PNG = "iVBORw0KGgo="
PICTURE = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}}
