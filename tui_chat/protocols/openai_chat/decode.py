"""Decode an OpenAI Chat Completions request.

1. `developer` is a system turn, `function` a tool turn; the original role is kept.
2. A message is one turn. Its parts, calls and reasoning are pieces of it, in the order written.
3. What no field holds is kept in the extras of the message, the part, the call, the
   tool or the request, so that it can be encoded again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from tui_chat.models.endpoint import Protocol
from tui_chat.models.envelope import ChatEnvelope, Turn
from tui_chat.models.json_text import to_json
from tui_chat.models.media import split_data_url
from tui_chat.models.message import MessageRole, Part, ToolCall
from tui_chat.protocols.common.decoding import (
    TurnBuilder,
    captured_envelope,
    take_marks,
    take_role,
)
from tui_chat.protocols.common.request_fields import Fields, load_request
from tui_chat.protocols.openai_chat.reader import READER
from tui_chat.protocols.openai_chat.reasoning_fields import read_reasoning

_CHAT = Protocol.OPENAI_CHAT
_ROLES: dict[str, MessageRole] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
    "function": "tool",
}

_KNOWN = frozenset(
    (*("text", "refusal", "image_url", "input_audio", "file", "video_url", "thinking"),)
)
"""Types of content that the protocol has."""


def decode(body: bytes) -> ChatEnvelope:
    """Decode a request body. Raises InputError if it is not of this protocol."""
    request, notes = load_request(body, _CHAT, "messages")
    captured = READER.read(dict(request.remaining))
    turns = tuple(
        _turn(message, number) for number, message in enumerate(request.take_list("messages"), 1)
    )
    return captured_envelope(captured, turns, notes, _KNOWN)


def _turn(message: Fields, number: int) -> Turn:
    word, role = take_role(message, _ROLES)
    builder = TurnBuilder(_CHAT, role, number)
    builder.role_word = word if word in ("developer", "function") else ""
    if role == "assistant":
        read_reasoning(message, builder)
    read_content(message, builder)
    builder.name = message.take_text("name")
    if role == "tool":
        builder.tool_call_id = message.take_text("tool_call_id")
    if role == "assistant":
        if not builder.refusal:
            builder.refusal = message.take_text("refusal")
        _read_calls(message, builder)
    builder.extras = message.remaining_json()
    return builder.build()


def _read_calls(message: Fields, builder: TurnBuilder) -> None:
    """Take the tool calls, also those of the old form. null and [] stay as they are."""
    if (function := message.take_fields("function_call")) is not None:
        name, arguments = function.take_text("name"), _arguments(function, "arguments")
        message.put_back("function_call", function)
        builder.add_call(ToolCall("", name, arguments), name="function_call")
    calls = message.remaining.get("tool_calls")
    if not isinstance(calls, list) or not calls:
        return
    for call in message.take_list("tool_calls"):
        kind = "custom" if isinstance(call.remaining.get("custom"), dict) else "function"
        holder = call.take_fields(kind) or Fields({}, "")
        untyped = "untyped" if "type" not in call.remaining else ""
        call.take_equal("type", kind)
        identity, name = call.take_text("id"), holder.take_text("name")
        arguments = _arguments(holder, "input" if kind == "custom" else "arguments")
        call.put_back(kind, holder)
        signature = _take_signature(call)
        form = f"custom {untyped}".strip() if kind == "custom" else untyped
        builder.add_call(
            ToolCall(identity, name, arguments),
            name=form,
            signature=signature,
            extras=call.remaining_json(),
        )


def _take_signature(holder: Fields) -> str:
    """Take Google's signature if it is all that `extra_content` holds."""
    match holder.remaining.get("extra_content"):
        case {"google": {"thought_signature": str(signature), **other}, **more} if not (
            other or more
        ):
            if signature:
                del holder.remaining["extra_content"]
            return signature
        case _:
            return ""


def _arguments(holder: Fields, key: str) -> str:
    """Take arguments, which are text; some clients send the object itself."""
    value = holder.remaining.get(key)
    if isinstance(value, str):
        return holder.take_text(key)
    return "" if value is None else to_json(value)


_AUDIO_MIME = {"wav": "audio/wav", "mp3": "audio/mpeg"}


def read_content(message: Fields, builder: TurnBuilder) -> None:
    """Read a message's content into the turn."""
    content = message.remaining.get("content")
    if not isinstance(content, list) or not any(
        isinstance(part, str) for part in cast("list[object]", content)
    ):
        builder.read_content(message, "content", _read_part)
        return
    builder.shape = "parts"
    del message.remaining["content"]
    for index, part in enumerate(cast("list[object]", content)):
        if isinstance(part, str):
            builder.add_text(part, name="string")
            continue
        holder = Fields({"content": [part]}, f"{message.path('content')}[{index}]")
        for block in holder.take_list("content"):
            _read_part(block, builder)


def _read_part(block: Fields, builder: TurnBuilder) -> None:
    whole = dict(block.remaining)
    kind = block.take_text("type")
    text = whole.get("text")
    if kind == "text" and isinstance(text, str):
        del block.remaining["text"]
        builder.add_text(text, **take_marks(block))
    elif kind == "refusal" and not builder.refusal and (refusal := block.take_text("refusal")):
        builder.add_refusal(refusal, **take_marks(block))
    elif (part := _media(kind, block)) is not None:
        builder.add_part(part, **take_marks(block))
    else:
        builder.add_other(kind, whole)


def _media(kind: str, block: Fields) -> Part | None:
    """Return a part that is not text, its keys taken; None if its type is unknown."""
    read = _READERS.get(kind)
    inner = block.take_fields(kind) if read is not None else None
    if read is None or inner is None:
        return None
    part = read(inner)
    block.put_back(kind, inner)
    return part


def _image(inner: Fields) -> Part | None:
    url = inner.take_text("url")
    detail = inner.take_text("detail")
    if not url:
        return None
    if (split := split_data_url(url)) is not None:
        return Part("image", split[0], data=split[1], detail=detail)
    return Part("image", url=url, detail=detail)


def _audio(inner: Fields) -> Part | None:
    data = inner.take_text("data")
    mime = _AUDIO_MIME.get(str(inner.remaining.get("format")))
    if not data or mime is None:
        return None
    del inner.remaining["format"]
    return Part("audio", mime, data=data)


def _file(inner: Fields) -> Part | None:
    name = inner.take_text("filename")
    file_id = inner.take_text("file_id")
    data = "" if file_id else inner.take_text("file_data")
    if file_id:
        return Part("file", file_id=file_id, protocol=_CHAT, name=name)
    if not data:
        return None
    if (split := split_data_url(data)) is not None:
        return Part("file", split[0], data=split[1], name=name)
    if data.startswith(("http://", "https://")):  # OpenRouter takes links
        return Part("file", url=data, protocol=_CHAT, name=name)
    return Part("file", data=data, name=name)


_READERS: dict[str, Callable[[Fields], Part | None]] = {
    "image_url": _image,
    "input_audio": _audio,
    "file": _file,
}
"""The readers of the object that a part has under the name of its type."""
