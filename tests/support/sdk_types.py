"""The official SDKs' own types as oracles: they accept whatever we send.

A TypedDict is turned into a strict pydantic type that forbids unknown keys; unions of TypedDicts
are distinguished by `type` and `role` as the providers do, and otherwise tried in turn.
"""

from __future__ import annotations

import types
import typing
from base64 import b64decode
from collections.abc import Callable
from functools import cache
from typing import Annotated, Any, NotRequired, Required

import typing_extensions as te
from ollama._types import ChatRequest, Message, Options, Tool
from pydantic import BaseModel, ConfigDict, TypeAdapter

from tests.support.requests import ANTHROPIC, CHAT, GEMINI, OLLAMA, RESPONSES
from tests.support.sdks import chat_params, messages_params, responses_params
from tests.support.sdks import genai_types as google
from tui_chat.models.endpoint import Protocol

SDK = {
    CHAT: (chat_params, "CompletionCreateParams"),
    RESPONSES: (responses_params, "ResponseCreateParams"),
    ANTHROPIC: (messages_params, "MessageCreateParams"),
}
TOLERATED = {"id", "status", "type", "detail", "annotations", "strict", "parameters"}
"""Keys that Responses types demand and the server does not: recorded calls lack them."""


@cache
def strict(kind: Any) -> Any:
    """Return the type with every TypedDict in it closed to unknown keys."""
    origin, arguments = te.get_origin(kind), te.get_args(kind)
    if te.is_typeddict(kind):
        return closed(kind)
    if origin in (Required, NotRequired, te.Required, te.NotRequired, Annotated):
        return strict(arguments[0])
    if origin is typing.Union or origin is types.UnionType:
        kept = [a for a in arguments if not (isinstance(a, type) and issubclass(a, BaseModel))]
        if not kept:  # models of replies, which requests may repeat
            return dict[str, Any]
        return typing.Union[tuple(strict(a) for a in kept)]  # noqa: UP007 - made at run time
    if origin is typing.Literal or kind in (str, int, float, bool, type(None)):
        return kind
    if origin is dict or str(origin).endswith("Mapping'>"):
        return dict[str, Any]
    if origin is not None and arguments:
        return list[strict(arguments[0])]
    return Any


busy: set[Any] = set()


def closed(kind: Any) -> Any:
    if kind in busy:  # a schema within a schema
        return dict[str, Any]
    busy.add(kind)
    open_ended = "InputSchema" in kind.__name__ or "extra_items" in vars(kind)
    fields = {
        key: (Required if key in kind.__required_keys__ and key not in TOLERATED else NotRequired)[
            strict(hint)
        ]
        for key, hint in te.get_type_hints(kind, include_extras=True).items()
    }
    made = te.TypedDict(kind.__name__, fields)  # type: ignore[operator]
    made.__pydantic_config__ = ConfigDict(extra="allow" if open_ended else "forbid", strict=True)
    busy.discard(kind)
    return made


@cache
def adapter(protocol: Protocol, stream: bool) -> TypeAdapter[Any]:
    module, name = SDK[protocol]
    return TypeAdapter(strict(getattr(module, f"{name}{'' if stream else 'Non'}Streaming")))


def accept(protocol: Protocol, body: Any) -> None:
    """Raise where the SDK's types do not take the body."""
    if protocol is OLLAMA:
        accept_ollama(body)
        return
    if protocol is not GEMINI:
        adapter(protocol, body.get("stream") is True).validate_python(body)
        return
    readers: dict[str, Callable[[Any], Any]] = {
        "contents": lambda each: [google.Content.model_validate(c) for c in each],
        "systemInstruction": google.Content.model_validate,
        "tools": lambda each: [google.Tool.model_validate(t) for t in each],
        "toolConfig": google.ToolConfig.model_validate,
        "generationConfig": google.GenerationConfig.model_validate,
        "serviceTier": google.ServiceTier,
        "store": TypeAdapter(bool).validate_python,
    }
    for key, value in body.items():
        readers[key](value)


SERVER_KEYS = {Message: {"tool_call_id"}, Message.ToolCall: {"id"}, Options: {"min_p"}}
"""Keys that the server's own types have and its Python client lacks (`api/types.go`)."""


def accept_ollama(body: Any) -> None:
    """Raise if the client's models do not accept the body, or do not know one of its keys."""
    known_only(ChatRequest, body)
    known_only(Options, body.get("options", {}))
    images: list[str] = []
    for message in body["messages"]:
        known_only(Message, message)
        images += message.get("images", ())
        for call in message.get("tool_calls", ()):
            known_only(Message.ToolCall, call)
            known_only(Message.ToolCall.Function, call["function"])
    for tool in body.get("tools", ()):
        known_only(Tool, tool)
        known_only(Tool.Function, tool["function"])
    for image in images:
        b64decode(image, validate=True)
    messages = [{k: v for k, v in each.items() if k != "images"} for each in body["messages"]]
    ChatRequest.model_validate({**body, "messages": []}, strict=True)
    for message in messages:
        Message.model_validate(message, strict=True)


def known_only(kind: type[BaseModel], value: dict[str, Any]) -> None:
    unknown = value.keys() - kind.model_fields.keys() - SERVER_KEYS.get(kind, set())
    if unknown:
        raise ValueError(f"error: {kind.__name__} does not know {unknown}")
