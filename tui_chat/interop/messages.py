"""Unified messages as JSON or JSON lines.

A message is `{"role", "content", "tool_calls"?, "tool_call_id"?, "name"?, "timestamp"?}` as OpenAI
writes it. `content` may be null, or a list of parts: texts, which are joined, pictures, sounds and
files. Messages without an `id` are numbered from 1. What is written is the active branch, without
what only our own JSON can say (other branches, reasoning, usage).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from hashlib import sha256
from typing import Any, cast

from tui_chat.errors import InputError
from tui_chat.interop.readable_parts import shown_branch
from tui_chat.interop.timestamps import parse_timestamp
from tui_chat.interop.transcript_builder import TranscriptBuilder, UnreadableConversation
from tui_chat.models.endpoint import Protocol
from tui_chat.models.message import MESSAGE_ROLES, Message, MessageRole, Part, ToolCall
from tui_chat.models.sanitize import sanitize
from tui_chat.models.semantics import NO_MESSAGE_SEMANTICS, Layout, MessageSemantics
from tui_chat.models.text import clean
from tui_chat.models.transcript import Transcript
from tui_chat.protocols.common.lenient_json import JsonObject, as_string, to_json
from tui_chat.protocols.common.request_fields import (
    Fields,
    describe_json_error,
    excerpt,
    sanitize_json,
)
from tui_chat.protocols.common.turn_builder import TurnBuilder
from tui_chat.protocols.openai_chat.decode import read_content

_TRUSTED = 16
"""Characters from which an id of a message is taken to be the only one in the world."""


def is_message(said: JsonObject) -> bool:
    """Tell whether an object looks like a unified message."""
    return (isinstance(said.get("role"), str) and "content" in said) or "tool_calls" in said


def is_conversation(said: JsonObject) -> bool:
    """Tell whether an object looks like a list of messages with a title, or a request body."""
    return isinstance(said.get("messages"), list) and "chat_messages" not in said


def read_conversation(said: JsonObject) -> tuple[Transcript, list[str]]:
    """Return the conversation of an object with `messages`. Raises Unreadable."""
    told = cast("list[object]", said["messages"])
    values = [(f".messages[{index}]", value) for index, value in enumerate(told)]
    return read_messages(values, title=as_string(said.get("title"))), []


def read_messages(values: Sequence[tuple[str, object]], *, title: str = "") -> Transcript:
    """Return a conversation of messages, each with its place. Raises Unreadable.

    It is the same as before if its first message has the same id; without ids that are unique in
    the world, if all of it is the same.
    """
    messages = [_parse_message(place, value, index) for index, (place, value) in enumerate(values)]
    first = messages[0].id if messages else ""
    trusted = len(first) >= _TRUSTED
    name = first if trusted else sha256(to_json([v for _, v in values]).encode()).hexdigest()
    tree = TranscriptBuilder("messages", name)
    before: str | None = None
    seen: set[str] = set()
    for index, message in enumerate(messages):
        key = message.id if trusted and message.id not in seen else f"{message.id}/{index}"
        seen.add(key)
        before = tree.add(replace(message, id=tree.id_of(key)), before)
    return tree.transcript(title=title, head_id=before)


def _parse_message(place: str, value: object, index: int) -> Message:
    try:
        message = read_message(value, place, index)
    except InputError as error:
        where, _, fault = str(error).partition(": ")
        raise UnreadableConversation(where, fault) from error
    if message.timestamp is not None:
        return replace(message, timestamp=parse_timestamp(message.timestamp))
    return message


def message_lines(transcript: Transcript) -> Iterator[str]:
    """Write the shown branch, a message a line."""
    for entry in shown_branch(transcript):
        line = json.dumps(_message_json(entry.message), ensure_ascii=False, allow_nan=False)
        # U+2028 and U+2029 too, which some readers take for line ends.
        yield sanitize(line, "json") + "\n"


def _message_json(message: Message) -> dict[str, Any]:
    plain: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.parts:
        parts = [_part_json(part) for part in message.parts]
        text = [{"type": "text", "text": message.content}] if message.content else []
        plain["content"] = text + parts
    if message.tool_calls:
        plain["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments},
            }
            for call in message.tool_calls
        ]
    facts = {
        "tool_call_id": message.tool_call_id,
        "name": message.name,
        "id": message.id,
        "timestamp": message.timestamp,
        "pinned": message.pinned,
    }
    return plain | {key: value for key, value in facts.items() if value not in ("", None, False)}


def _part_json(part: Part) -> dict[str, Any]:
    if part.text:
        return {"type": "text", "text": part.text}
    url = f"data:{part.mime};base64,{part.data}" if part.data else part.url
    if part.kind == "image" and url:
        detail = {"detail": part.detail} if part.detail else {}
        return {"type": "image_url", "image_url": {"url": url, **detail}}
    if part.kind == "audio" and part.data and part.mime in _AUDIO:
        audio = {"data": part.data, "format": _AUDIO[part.mime]}
        return {"type": "input_audio", "input_audio": audio}
    source = {"file_data": url} if url else {"file_id": part.file_id}
    name = {"filename": part.name} if part.name else {}
    return {"type": "file", "file": {**name, **source}}


_AUDIO = {"audio/wav": "wav", "audio/mpeg": "mp3"}


def read_history(text: str, source: str) -> tuple[Message, ...]:
    """Read messages from JSON or JSONL text; `source` is what errors call it.

    Raises InputError naming the source, the place (a JSON path or a line) and the fault.
    """
    return tuple(
        read_message(value, place, index) for index, (value, place) in _values(text, source)
    )


def _values(text: str, source: str) -> Iterator[tuple[int, tuple[object, str]]]:
    stripped = text.lstrip("\ufeff \t\r\n")
    if stripped.startswith("["):
        whole = _parsed(text.lstrip("\ufeff"), source)
        values = cast("list[object]", whole)
        yield from enumerate((value, f"{source}: $[{i}]") for i, value in enumerate(values))
        return
    # Not splitlines: U+2028 is legal inside a JSON string.
    lines = ((n, line) for n, line in enumerate(text.split("\n"), 1) if line.strip("\ufeff \t\r"))
    for index, (number, line) in enumerate(lines):
        place = f"{source}: line {number}"
        yield index, (_parsed(line.lstrip("\ufeff"), place), place)


def _parsed(text: str, place: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{place}: is not JSON: {describe_json_error(error)}") from error


_INSTEAD = frozenset({"tool_calls", "function_call", "refusal", "audio"})
"""What a message may have instead of content."""


def read_message(value: object, place: str, index: int) -> Message:
    """Return one message; without an id it is numbered after `index`. Raises InputError."""
    if not isinstance(value, dict):
        raise InputError(f"{place}: a message must be an object, not {_kind(value)}")
    found = cast("dict[str, Any]", value)
    role = found.get("role")
    if role == "developer":
        role = "system"
    if role not in MESSAGE_ROLES:
        known = ", ".join(MESSAGE_ROLES)
        raise InputError(f"{place}.role: must be one of {known}, not {excerpt(role)}")
    timestamp = found.get("timestamp")
    if timestamp is not None and (
        isinstance(timestamp, bool) or not isinstance(timestamp, int | float)
    ):
        raise InputError(f"{place}.timestamp: must be a number, not {_kind(timestamp)}")
    if "content" not in found and not _INSTEAD & found.keys():
        raise InputError(f"{place}.content: is missing; a message without words has null there")
    content, parts, layout = _content(role, found.get("content"), f"{place}.content")
    return Message(
        role=role,
        content=content,
        parts=parts,
        semantics=MessageSemantics(layout=layout) if layout else NO_MESSAGE_SEMANTICS,
        id=_string(found, "id", place) or str(index + 1),
        tool_calls=tuple(_calls(found.get("tool_calls"), f"{place}.tool_calls")),
        tool_call_id=_string(found, "tool_call_id", place),
        name=_string(found, "name", place),
        timestamp=timestamp,
        pinned=found.get("pinned") is True,
    )


def _content(
    role: MessageRole, value: object, place: str
) -> tuple[str, tuple[Part, ...], Layout | None]:
    """Return a message's text, its pictures and files, and the order they stand in."""
    match value:
        case None:
            return "", (), None
        case str():
            return clean(value), (), None
        case list():
            parts = [
                _part(part, f"{place}[{index}]")
                for index, part in enumerate(cast("list[object]", value))
            ]
            if all(isinstance(part, str) for part in parts):
                return "".join(cast("list[str]", parts)), (), None
            return _with_media(role, parts, place)
        case _:
            raise InputError(f"{place}: must be text or a list of parts, not {_kind(value)}")


def _part(part: object, place: str) -> str | dict[str, Any]:
    """Return the words of a text part, or a part of another kind as it is."""
    if isinstance(part, str):
        return clean(part)
    if isinstance(part, dict):
        found = cast("dict[str, Any]", part)
        if isinstance(text := found.get("text"), str):
            return clean(text)
        if found.get("type") in _MEDIA:
            return sanitize_json(found)
        kind = json.dumps(found.get("type", "unknown"))
        known = ", ".join(("text", *_MEDIA))
        raise InputError(f"{place}: must be one of {known}, not of type {kind}")
    raise InputError(f"{place}: must be a part with a text, not {_kind(part)}")


_MEDIA = ("image_url", "input_audio", "file")


def _with_media(
    role: MessageRole, parts: list[str | dict[str, Any]], place: str
) -> tuple[str, tuple[Part, ...], Layout | None]:
    builder = TurnBuilder(Protocol.OPENAI_CHAT, role, 0)
    read_content(Fields({"content": parts}, place.removesuffix(".content")), builder)
    turn = builder.build()
    layout = turn.semantics.layout
    if layout is not None and any(piece.kind == "other" for piece in layout.pieces):
        raise InputError(f"{place}: has a part without anything in it")
    return turn.text.plain, turn.parts, layout


def _calls(value: object, place: str) -> Iterator[ToolCall]:
    if value is None:
        return
    if not isinstance(value, list):
        raise InputError(f"{place}: must be a list, not {_kind(value)}")
    for index, call in enumerate(cast("list[object]", value)):
        here = f"{place}[{index}]"
        if not isinstance(call, dict):
            raise InputError(f"{here}: must be an object, not {_kind(call)}")
        found = cast("dict[str, Any]", call)
        function = found.get("function")
        if not isinstance(function, dict):
            raise InputError(f"{here}.function: must be an object, not {_kind(function)}")
        inner = cast("dict[str, Any]", function)
        arguments = inner.get("arguments", "")
        if not isinstance(arguments, str):  # some writers store them parsed
            arguments = json.dumps(arguments, ensure_ascii=False)
        name = _string(inner, "name", f"{here}.function")
        yield ToolCall(_string(found, "id", here), name, clean(arguments))


def _string(found: dict[str, Any], key: str, place: str) -> str:
    value = found.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise InputError(f"{place}.{key}: must be text, not {_kind(value)}")
    return clean(value)


def _kind(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true or false"
        case int() | float():
            return "a number"
        case str():
            return "text"
        case list():
            return "a list"
        case _:
            return "an object"
