"""Unified messages as JSON or JSON lines.

A message is `{"role", "content", "tool_calls"?, "tool_call_id"?, "name"?, "timestamp"?}`, in the
form of OpenAI. `content` may be null, or a list of parts: texts, which are joined, images, audio
and files. Messages without an `id` are numbered from 1. Exports contain the active branch, without
what only our own JSON has (other branches, reasoning, usage). `references`, what a reply rests on,
have the form that they have there.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, tzinfo
from typing import Any, cast

from tui_chat.errors import InputError
from tui_chat.interop.own_json import read_references
from tui_chat.interop.readable_parts import active_branch, part_words
from tui_chat.models.boundary import InvalidValue, pack, read
from tui_chat.models.citations import NO_REFERENCES
from tui_chat.models.endpoint import Protocol
from tui_chat.models.json_text import (
    clean_json,
    json_fault,
    type_name,
)
from tui_chat.models.media import is_damaged
from tui_chat.models.message import (
    MESSAGE_ROLES,
    NOT_MUTED,
    Message,
    MessageRole,
    Muted,
    Part,
    ToolCall,
)
from tui_chat.models.sanitize import sanitize
from tui_chat.models.semantics import NO_MESSAGE_SEMANTICS, Layout, MessageSemantics, Summary
from tui_chat.models.text import clean
from tui_chat.models.transcript import SessionTranscript
from tui_chat.protocols.common.decoding import TurnBuilder
from tui_chat.protocols.common.request_fields import Fields, excerpt
from tui_chat.protocols.openai_chat.decode import read_content


def message_lines(transcript: SessionTranscript, _: tzinfo = UTC) -> Iterator[str]:
    """Yield the active branch, one message per line."""
    for entry in active_branch(transcript):
        line = json.dumps(_message_json(entry.message), ensure_ascii=False, allow_nan=False)
        # Also U+2028 and U+2029, which some readers treat as line ends.
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
    if message.muted:
        # Documents are written as text, so the parts after them have other numbers.
        numbers = [i for i, part in enumerate(message.parts) if not _is_written_as_text(part)]
        parts = tuple(numbers.index(i) for i in message.muted.parts if i in numbers)
        plain["muted"] = json.loads(pack(replace(message.muted, parts=parts)))
    if message.semantics.references != NO_REFERENCES:
        plain["references"] = json.loads(pack(message.semantics.references))
    if message.semantics.summary is not None:
        plain["summary"] = json.loads(pack(message.semantics.summary))
    return plain | {key: value for key, value in facts.items() if value not in ("", None, False)}


def _is_written_as_text(part: Part) -> bool:
    return bool(part.text) or is_damaged(part)


def _part_json(part: Part) -> dict[str, Any]:
    if part.text:
        return {"type": "text", "text": part.text}
    if is_damaged(part):
        return {"type": "text", "text": f"[{part_words(part)}]"}
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
        raise InputError(f"{place} {json_fault(text, error).sentence}") from error


def _summary(value: object, place: str) -> Summary | None:
    if value is None:
        return None
    summary = cast("dict[str, object]", value) if isinstance(value, dict) else {}
    kept, messages = summary.get("kept"), summary.get("messages")
    for number in (kept, messages):
        if not isinstance(number, int) or isinstance(number, bool) or number < 0:
            fault = "must be an object with the numbers `kept` and `messages`"
            raise InputError(f"{place}.summary: {fault}")
    return Summary(cast("int", kept), cast("int", messages), summary.get("enabled") is not False)


_CONTENT_ALTERNATIVES = frozenset({"tool_calls", "function_call", "refusal", "audio"})
"""Keys that a message may have instead of content."""


def read_message(value: object, place: str, index: int) -> Message:
    """Parse a message; without an id it gets its number, `index` + 1. Raises InputError."""
    if not isinstance(value, dict):
        raise InputError(f"{place}: a message must be an object, not {type_name(value)}")
    fields = cast("dict[str, Any]", value)
    role = fields.get("role")
    if role == "developer":
        role = "system"
    if role not in MESSAGE_ROLES:
        roles = ", ".join(MESSAGE_ROLES)
        raise InputError(f"{place}.role must be one of {roles}, not {excerpt(role)}")
    timestamp = fields.get("timestamp")
    if timestamp is not None and (
        isinstance(timestamp, bool) or not isinstance(timestamp, int | float)
    ):
        raise InputError(f"{place}.timestamp must be a number, not {type_name(timestamp)}")
    if "content" not in fields and not _CONTENT_ALTERNATIVES & fields.keys():
        raise InputError(f"{place}.content is missing; it may be null")
    content, parts, layout = _content(role, fields.get("content"), f"{place}.content")
    references = NO_REFERENCES
    if fields.get("references") is not None:
        references = read_references(fields["references"], f"{place}.references")
    semantics = MessageSemantics(
        layout=layout, references=references, summary=_summary(fields.get("summary"), place)
    )
    return Message(
        role=role,
        content=content,
        parts=parts,
        semantics=NO_MESSAGE_SEMANTICS if semantics == NO_MESSAGE_SEMANTICS else semantics,
        id=_string(fields, "id", place) or str(index + 1),
        tool_calls=tuple(_calls(fields.get("tool_calls"), f"{place}.tool_calls")),
        tool_call_id=_string(fields, "tool_call_id", place),
        name=_string(fields, "name", place),
        timestamp=timestamp,
        pinned=fields.get("pinned") is True,
        muted=_muted(fields.get("muted"), f"{place}.muted"),
    )


def _muted(value: object, place: str) -> Muted:
    """Return what is muted: true is the whole message."""
    if value is None or isinstance(value, bool):
        return Muted(whole=True) if value else NOT_MUTED
    try:
        return read(Muted, value)
    except InvalidValue as error:
        fault = error.faults[0]
        path = "".join(f".{name}" for name in fault.path)
        raise InputError(f"{place}{path} {fault.sentence}") from error


def _content(
    role: MessageRole, value: object, place: str
) -> tuple[str, tuple[Part, ...], Layout | None]:
    """Return a message's text, its images and files, and their order."""
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
            raise InputError(f"{place} must be text or a list of parts, not {type_name(value)}")


def _part(part: object, place: str) -> str | dict[str, Any]:
    """Return the text of a text part, or a part of another type unchanged."""
    if isinstance(part, str):
        return clean(part)
    if isinstance(part, dict):
        fields = cast("dict[str, Any]", part)
        if isinstance(text := fields.get("text"), str):
            return clean(text)
        if fields.get("type") in _MEDIA:
            return clean_json(fields)
        kind = json.dumps(fields.get("type", "unknown"))
        kinds = ", ".join(("text", *_MEDIA))
        raise InputError(f"{place} must be one of {kinds}, not of type {kind}")
    raise InputError(f"{place} must be a part with text, not {type_name(part)}")


_MEDIA = ("image_url", "input_audio", "file")


def _with_media(
    role: MessageRole, parts: list[str | dict[str, Any]], place: str
) -> tuple[str, tuple[Part, ...], Layout | None]:
    builder = TurnBuilder(Protocol.OPENAI_CHAT, role, 0)
    read_content(Fields({"content": parts}, place.removesuffix(".content")), builder)
    turn = builder.build()
    layout = turn.semantics.layout
    if layout is not None and any(piece.kind == "other" for piece in layout.pieces):
        raise InputError(f"{place} has an empty part")
    return turn.text.plain, turn.parts, layout


def _calls(value: object, place: str) -> Iterator[ToolCall]:
    if value is None:
        return
    if not isinstance(value, list):
        raise InputError(f"{place} must be a list, not {type_name(value)}")
    for index, call in enumerate(cast("list[object]", value)):
        here = f"{place}[{index}]"
        if not isinstance(call, dict):
            raise InputError(f"{here} must be an object, not {type_name(call)}")
        fields = cast("dict[str, Any]", call)
        function = fields.get("function")
        if not isinstance(function, dict):
            raise InputError(f"{here}.function must be an object, not {type_name(function)}")
        inner = cast("dict[str, Any]", function)
        arguments = inner.get("arguments", "")
        if not isinstance(arguments, str):  # some writers store them parsed
            arguments = json.dumps(arguments, ensure_ascii=False)
        name = _string(inner, "name", f"{here}.function")
        yield ToolCall(_string(fields, "id", here), name, clean(arguments))


def _string(fields: dict[str, Any], key: str, place: str) -> str:
    value = fields.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise InputError(f"{place}.{key} must be text, not {type_name(value)}")
    return clean(value)
