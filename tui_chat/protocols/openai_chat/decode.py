"""Reading a captured Chat Completions request.

1. `developer` is a system turn, `function` a tool turn; the word that was used is remembered.
2. A message is one turn. Its parts, calls and reasoning are pieces of it, in the order written.
3. What has no place of its own is kept among the extras of the message, the part, the call, the
   tool or the request, so that it can be said back.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

from tui_chat.errors import InputError
from tui_chat.models.endpoint import Protocol
from tui_chat.models.envelope import ChatEnvelope, Parameters, Turn
from tui_chat.models.message import MessageRole, Part, ToolCall
from tui_chat.models.namespaces import OpenAIChatSettings, Semantics, ToolSemantics
from tui_chat.protocols.common.request_fields import (
    Fields,
    compact,
    kind_of,
    load_request,
    model_of,
    settings_of,
    shown,
    sourced,
    take_if_said_back,
    tools_of,
)
from tui_chat.protocols.common.turn_builder import TurnBuilder, marks_of
from tui_chat.protocols.common.urls import split_data_url
from tui_chat.protocols.openai_chat.reasoning_fields import read_thoughts
from tui_chat.protocols.openai_chat.tools import (
    read_choice,
    read_format,
    read_tool,
    say_choice,
    say_format,
)

_CHAT = Protocol.OPENAI_CHAT
_ROLES: dict[str, MessageRole] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
    "function": "tool",
}


def decode(body: bytes) -> ChatEnvelope:
    """Decode a request body. Raises InputError where it is none of this protocol."""
    request, notes = load_request(body, _CHAT)
    if "messages" not in request.left:
        raise InputError("This is no OpenAI Chat request: it has no “messages”.")
    turns = tuple(
        _turn(message, number) for number, message in enumerate(request.objects("messages"), 1)
    )
    tools, native = tools_of(request, _CHAT, read_tool)
    parameters, max_tokens_key = _parameters(request)
    settings = settings_of(OpenAIChatSettings, request.left, spelled={"max_tokens_key": ""})
    if max_tokens_key:
        settings = replace(settings, max_tokens_key=max_tokens_key)
    semantics = Semantics(
        source=_CHAT,
        tools=ToolSemantics(native=native),
        openai_chat=settings,
        provider_extras={_CHAT: request.left} if request.left else {},
    )
    return ChatEnvelope(turns, parameters, tools, notes=tuple(notes), semantics=semantics)


def _turn(message: Fields, number: int) -> Turn:
    word = message.left.pop("role", None)
    role = _ROLES.get(word) if isinstance(word, str) else None
    if role is None or not isinstance(word, str):
        known = ", ".join(_ROLES)
        raise InputError(f"{message.at('role')} must be one of {known}, not {shown(word)}.")
    builder = TurnBuilder(_CHAT, role, number)
    builder.role_word = word if word in ("developer", "function") else ""
    if role == "assistant":
        read_thoughts(message, builder)
    read_content(message, builder)
    builder.name = message.text("name")
    if role == "tool":
        builder.tool_call_id = message.text("tool_call_id")
        message.exactly("tool_call_id", "")
    if role == "assistant":
        if not builder.refusal:
            builder.refusal = message.text("refusal")
        _read_calls(message, builder)
    builder.extras = message.rest()
    return builder.turn()


def _read_calls(message: Fields, builder: TurnBuilder) -> None:
    """Take the tool calls, also those of the old form. null and [] stay as they are."""
    if (function := message.inner("function_call")) is not None:
        name, arguments = function.text("name"), _arguments(function, "arguments")
        message.put_back("function_call", function)
        builder.call(ToolCall("", name, arguments), name="function_call")
    calls = message.left.get("tool_calls")
    if not isinstance(calls, list) or not calls:
        return
    for call in message.objects("tool_calls"):
        kind = "custom" if isinstance(call.left.get("custom"), dict) else "function"
        holder = call.inner(kind) or Fields({}, "")
        untyped = kind == "function" and "type" not in call.left
        call.exactly("type", kind)
        identity, name = call.text("id"), holder.text("name")
        call.exactly("id", "")  # pairing gives it one
        arguments = _arguments(holder, "input" if kind == "custom" else "arguments")
        call.put_back(kind, holder)
        form = "custom" if kind == "custom" else "untyped" if untyped else ""
        builder.call(ToolCall(identity, name, arguments), name=form, extras=call.rest())


def _arguments(holder: Fields, key: str) -> str:
    """Take arguments, which are text; some clients send the object itself."""
    value = holder.left.get(key)
    if isinstance(value, str):
        del holder.left[key]
        return value
    return "" if value is None else compact(value)


def _parameters(request: Fields) -> tuple[Parameters, str]:
    """Return the unified settings, and the key that the reply limit had."""
    key = ""
    limit: int | None = None
    for name in ("max_completion_tokens", "max_tokens"):
        if limit is None and (limit := request.integer(name)) is not None:
            key = name
    stop = request.strings("stop")
    if not stop and isinstance(word := request.left.get("stop"), str):
        stop = (word,)  # stays in the namespace, since it was no list
    stream = request.exactly("stream", True)
    return (
        Parameters(
            model=model_of(request.text("model")),
            temperature=sourced("temperature", request.number("temperature")),
            max_tokens=sourced("max_tokens", limit),
            stream=stream,
            top_p=sourced("top_p", request.number("top_p")),
            stop=sourced("stop", stop or None),
            seed=sourced("seed", request.integer("seed")),
            presence_penalty=sourced("presence_penalty", request.number("presence_penalty")),
            frequency_penalty=sourced("frequency_penalty", request.number("frequency_penalty")),
            tool_choice=sourced(
                "tool_choice", take_if_said_back(request, "tool_choice", read_choice, say_choice)
            ),
            parallel_tool_calls=sourced("parallel_tool_calls", request.flag("parallel_tool_calls")),
            response_format=sourced(
                "response_format",
                take_if_said_back(request, "response_format", read_format, say_format),
            ),
            effort=sourced("reasoning_effort", request.text("reasoning_effort") or None),
        ),
        key,
    )


_AUDIO_MIME = {"wav": "audio/wav", "mp3": "audio/mpeg"}


def read_content(message: Fields, builder: TurnBuilder) -> None:
    """Take a message's content into the turn."""
    if "content" not in message.left:
        builder.shape = "absent"
        return
    content = message.left.pop("content")
    if content is None:
        builder.shape = "null"
    elif isinstance(content, str):
        builder.shape = "string"
        if content:
            builder.text(content)
    elif isinstance(content, list):
        builder.shape = "parts"
        for index, each in enumerate(cast("list[object]", content)):
            place = f"{message.at('content')}[{index}]"
            if isinstance(each, str):
                each = {"type": "text", "text": each}
            if not isinstance(each, dict):
                raise InputError(f"{place} must be an object, not {kind_of(each)}.")
            _read_part(Fields(cast("dict[str, Any]", each), place), builder)
    else:
        place = message.at("content")
        raise InputError(f"{place} must be a text or a list of parts, not {kind_of(content)}.")


def _read_part(block: Fields, builder: TurnBuilder) -> None:
    whole = dict(block.left)
    kind = block.text("type")
    text = whole.get("text")
    if kind == "text" and isinstance(text, str):
        del block.left["text"]
        builder.text(text, **marks_of(block))
    elif kind == "refusal" and not builder.refusal and (refusal := block.text("refusal")):
        builder.refuse(refusal, **marks_of(block))
    elif (part := _media(kind, block)) is not None:
        builder.part(part, **marks_of(block))
    else:
        builder.other(kind, whole)


def _media(kind: str, block: Fields) -> Part | None:
    """Return a part that is not text, its keys taken; None where it is none that we know."""
    match kind:
        case "image_url":
            key, inner = "image_url", block.inner("image_url")
            part = _image(inner) if inner else None
        case "input_audio":
            key, inner = "input_audio", block.inner("input_audio")
            part = _audio(inner) if inner else None
        case "file":
            key, inner = "file", block.inner("file")
            part = _file(inner) if inner else None
        case _:
            return None
    if inner is not None:
        block.put_back(key, inner)
    return part


def _image(inner: Fields) -> Part | None:
    url = inner.text("url")
    detail = inner.text("detail")
    if not url:
        return None
    if (split := split_data_url(url)) is not None:
        return Part("image", split[0], data=split[1], detail=detail)
    return Part("image", url=url, detail=detail)


def _audio(inner: Fields) -> Part | None:
    data = inner.text("data")
    mime = _AUDIO_MIME.get(str(inner.left.get("format")))
    if not data or mime is None:
        return None
    del inner.left["format"]
    return Part("audio", mime, data=data)


def _file(inner: Fields) -> Part | None:
    name = inner.text("filename")
    file_id = inner.text("file_id")
    data = "" if file_id else inner.text("file_data")
    if file_id:
        return Part("file", file_id=file_id, protocol=_CHAT, name=name)
    if not data:
        return None
    if (split := split_data_url(data)) is not None:
        return Part("file", split[0], data=split[1], name=name)
    if data.startswith(("http://", "https://")):  # OpenRouter takes links
        return Part("file", url=data, protocol=_CHAT, name=name)
    return Part("file", data=data, name=name)
