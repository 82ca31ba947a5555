"""A message as JSON in the form of OpenAI: `role`, `content`, `tool_calls`, `tool_call_id`, `name`.

`content` is a text or null, or a list of parts: texts, images, audio and files. Texts that follow
each other are one. What else a message has is in other keys, which depend on the format.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, cast

from tui_chat.errors import InputError
from tui_chat.interop.readable_parts import part_words
from tui_chat.models.blocks import Block, CallBlock, MediaBlock, ResultBlock, TextBlock
from tui_chat.models.json_text import clean_json, type_name
from tui_chat.models.media import is_damaged
from tui_chat.models.message import MESSAGE_ROLES, Message, MessageRole
from tui_chat.models.text import clean
from tui_chat.protocols.common.reading import excerpt
from tui_chat.protocols.openai_chat.messages import read_part

_AUDIO = {"audio/wav": "wav", "audio/mpeg": "mp3"}
_MEDIA = ("image_url", "input_audio", "file")
_CONTENT_ALTERNATIVES = frozenset({"tool_calls", "function_call", "refusal", "audio"})
"""Keys that a message may have instead of content."""


# Writing


def message_json(message: Message, *, has_media: bool = True) -> dict[str, Any]:
    """Return a message as anyone reads it; `has_media`: with its pictures, sounds and files."""
    fields: dict[str, Any] = {"role": message.role, "content": message.content}
    if has_media and message.parts:
        fields["content"] = [part for block in message.blocks if (part := _part_json(block))]
    if message.tool_calls:
        fields["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments},
            }
            for call in message.tool_calls
        ]
    facts = {
        "refusal": message.refusal,
        "tool_call_id": message.tool_call_id,
        "name": message.name or message.tool_name,
        "id": message.id,
        "timestamp": message.timestamp,
        "pinned": message.pinned,
    }
    said = {key: value for key, value in facts.items() if value or key == "timestamp"}
    return fields | {key: value for key, value in said.items() if value is not None}


def _is_written_as_text(part: MediaBlock) -> bool:
    """Return True for a document, and for a damaged file, of which its name is written."""
    return bool(part.text) or is_damaged(part)


def _part_json(part: Block) -> dict[str, Any] | None:
    if isinstance(part, TextBlock) and not part.is_refusal:
        return {"type": "text", "text": part.text} if part.text else None
    if not isinstance(part, MediaBlock):
        return None
    if _is_written_as_text(part):
        return {"type": "text", "text": part.text or f"[{part_words(part)}]"}
    url = f"data:{part.mime};base64,{part.data}" if part.data else part.url
    if part.media == "image" and url:
        detail = {"detail": part.detail} if part.detail else {}
        return {"type": "image_url", "image_url": {"url": url, **detail}}
    if part.media == "audio" and part.data and part.mime in _AUDIO:
        audio = {"data": part.data, "format": _AUDIO[part.mime]}
        return {"type": "input_audio", "input_audio": audio}
    source = {"file_data": url} if url else {"file_id": part.file_id}
    name = {"filename": part.name} if part.name else {}
    return {"type": "file", "file": {**name, **source}}


# Reading


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
    return Message(
        role,
        tuple(_blocks(fields, role, place)),
        _string(fields, "id", place) or str(index + 1),
        "" if role == "tool" else _string(fields, "name", place),
        timestamp,
        fields.get("pinned") is True,
    )


def _blocks(fields: dict[str, Any], role: MessageRole, place: str) -> Iterator[Block]:
    call_id, name = _string(fields, "tool_call_id", place), _string(fields, "name", place)
    if role == "tool":
        yield ResultBlock(call_id, name)
    yield from _content(fields.get("content"), f"{place}.content")
    refusal = fields.get("refusal")
    if role == "assistant" and isinstance(refusal, str) and refusal:
        yield TextBlock(clean(refusal), is_refusal=True)
    yield from _calls(fields.get("tool_calls"), f"{place}.tool_calls")


def _content(value: object, place: str) -> Sequence[Block]:
    match value:
        case None:
            return ()
        case str():
            return (TextBlock(clean(value)),) if value else ()
        case list():
            blocks: list[Block] = []
            for index, part in enumerate(cast("list[object]", value)):
                block = _part(part, f"{place}[{index}]")
                if isinstance(block, TextBlock) and blocks and isinstance(blocks[-1], TextBlock):
                    block = TextBlock(blocks.pop().text + block.text)  # type: ignore[union-attr]
                blocks.append(block)
            return [b for b in blocks if not isinstance(b, TextBlock) or b.text]
        case _:
            raise InputError(f"{place} must be text or a list of parts, not {type_name(value)}")


def _part(part: object, place: str) -> TextBlock | MediaBlock:
    """Return a part. Raises InputError."""
    if isinstance(part, str):
        return TextBlock(clean(part))
    if not isinstance(part, dict):
        raise InputError(f"{place} must be a part with text, not {type_name(part)}")
    fields = cast("dict[str, Any]", part)
    if isinstance(text := fields.get("text"), str):
        return TextBlock(clean(text))
    if fields.get("type") not in _MEDIA:
        kind = json.dumps(fields.get("type", "unknown"))
        kinds = ", ".join(("text", *_MEDIA))
        raise InputError(f"{place} must be one of {kinds}, not of type {kind}")
    block = read_part(clean_json(fields))
    if block is None:
        raise InputError(f"{place} has an empty part")
    return block


def _calls(value: object, place: str) -> Iterator[CallBlock]:
    if value is None:
        return
    if not isinstance(value, list):
        raise InputError(f"{place} must be a list, not {type_name(value)}")
    for index, call in enumerate(cast("list[object]", value)):
        here = f"{place}[{index}]"
        if not isinstance(call, dict):
            raise InputError(f"{here} must be an object, not {type_name(call)}")
        fields = cast("dict[str, Any]", call)
        function = fields if "name" in fields else fields.get("function")
        if not isinstance(function, dict):
            raise InputError(f"{here}.function must be an object, not {type_name(function)}")
        inner = cast("dict[str, Any]", function)
        arguments = inner.get("arguments", "")
        if not isinstance(arguments, str):  # some writers store them parsed
            arguments = json.dumps(arguments, ensure_ascii=False)
        name = _string(inner, "name", f"{here}.function")
        yield CallBlock(_string(fields, "id", here), name, clean(arguments))


def _string(fields: dict[str, Any], key: str, place: str) -> str:
    value = fields.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise InputError(f"{place}.{key} must be text, not {type_name(value)}")
    return clean(value)
