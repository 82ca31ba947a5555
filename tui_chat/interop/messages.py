"""Messages as JSON or JSON lines in the form of OpenAI: `role`, `content`, `tool_calls`,
`tool_call_id`, `name`.

1. `content` is a text or null, or a list of parts: texts, images, audio and files. Adjacent texts
   are one. What else a message has is in other keys, which depend on the format.
2. Messages without an `id` are numbered from 1, and one with `muted` is not sent.
3. Exports contain the active branch, without what only our own JSON has (other branches,
   reasoning, sources, usage).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, tzinfo
from typing import Any, cast

from tui_chat.errors import InputError
from tui_chat.interop.readable import active_branch, part_words
from tui_chat.models.blocks import Block, CallBlock, MediaBlock, ResultBlock, TextBlock
from tui_chat.models.json_text import as_object, clean_json, json_fault, type_name
from tui_chat.models.media import is_damaged
from tui_chat.models.message import MESSAGE_ROLES, Message, Muted
from tui_chat.models.sanitize import sanitize
from tui_chat.models.session import SessionTranscript
from tui_chat.models.text import clean
from tui_chat.protocols.common.reading import excerpt
from tui_chat.protocols.openai_chat.messages import read_part

_AUDIO = {"audio/wav": "wav", "audio/mpeg": "mp3"}
_MEDIA = ("image_url", "input_audio", "file")
_CONTENT_ALTERNATIVES = frozenset({"tool_calls", "function_call", "refusal", "audio"})
"""Keys that a message may have instead of content."""

# --- writing -----------------------------------------------------------------------------


def message_lines(transcript: SessionTranscript, _: tzinfo = UTC) -> Iterator[str]:
    """Yield the active branch, one message per line."""
    for entry in active_branch(transcript):
        fields = message_json(entry.message)
        if entry.message.muted.whole:
            fields["muted"] = True
        line = json.dumps(fields, ensure_ascii=False, allow_nan=False)
        # Also U+2028 and U+2029, which some readers treat as line ends.
        yield sanitize(line, "json") + "\n"


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
        "pinned": message.pinned or None,
    }
    return fields | {key: value for key, value in facts.items() if value not in ("", None)}


def _part_json(part: Block) -> dict[str, Any] | None:
    if isinstance(part, TextBlock) and not part.is_refusal:
        return {"type": "text", "text": part.text} if part.text else None
    if not isinstance(part, MediaBlock):
        return None
    if part.text or is_damaged(part):
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


# --- reading -----------------------------------------------------------------------------


def read_history(text: str, source: str) -> tuple[Message, ...]:
    """Read messages from JSON or JSONL text; `source` is what errors call it.

    Raises InputError naming the source, the place (a JSON path or a line) and the fault.
    """
    text = text.lstrip("\ufeff")
    if text.lstrip("\ufeff \t\r\n").startswith("["):
        values = [(f"{source}: $[{i}]", value) for i, value in enumerate(_parsed(text, source))]
    else:
        # Not splitlines: U+2028 is legal inside a JSON string.
        lines = [(f"{source}: line {n}", line) for n, line in enumerate(text.split("\n"), 1)]
        lines = [(place, line.lstrip("\ufeff")) for place, line in lines]
        values = [(place, _parsed(line, place)) for place, line in lines if line.strip(" \t\r")]
    return tuple(read_line(value, place, index) for index, (place, value) in enumerate(values))


def _parsed(text: str, place: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{place} {json_fault(text, error).sentence}") from error


def read_line(value: object, place: str, index: int) -> Message:
    """Parse a message that may be muted; without an id it gets its number, `index` + 1. Raises
    InputError.
    """
    message = read_message(value, place, index)
    muted = as_object(value).get("muted")
    muted = as_object(muted).get("whole", muted)  # an object in older exports
    return replace(message, muted=Muted(whole=True)) if muted is True else message


def read_message(value: object, place: str, index: int) -> Message:
    """Parse a message; without an id it gets its number, `index` + 1. Raises InputError."""
    fields = _object(value, f"{place}: a message")
    role = "system" if fields.get("role") == "developer" else fields.get("role")
    if role not in MESSAGE_ROLES:
        roles = ", ".join(MESSAGE_ROLES)
        raise InputError(f"{place}.role must be one of {roles}, not {excerpt(role)}")
    timestamp = fields.get("timestamp")
    if isinstance(timestamp, bool) or not isinstance(timestamp, int | float | None):
        raise InputError(f"{place}.timestamp must be a number, not {type_name(timestamp)}")
    if "content" not in fields and not _CONTENT_ALTERNATIVES & fields.keys():
        raise InputError(f"{place}.content is missing; it may be null")
    call_id, name = _string(fields, "tool_call_id", place), _string(fields, "name", place)
    blocks: list[Block] = [ResultBlock(call_id, name)] if role == "tool" else []
    blocks += _content(fields.get("content"), f"{place}.content")
    refusal = fields.get("refusal")
    if role == "assistant" and isinstance(refusal, str) and refusal:
        blocks.append(TextBlock(clean(refusal), is_refusal=True))
    calls = fields.get("tool_calls")
    if not isinstance(calls, list | None):
        raise InputError(f"{place}.tool_calls must be a list, not {type_name(calls)}")
    for number, call in enumerate(cast("list[object]", calls or [])):
        blocks.append(_call(call, f"{place}.tool_calls[{number}]"))
    return Message(
        role,
        tuple(blocks),
        _string(fields, "id", place) or str(index + 1),
        "" if role == "tool" else name,
        timestamp,
        fields.get("pinned") is True,
    )


def _content(value: object, place: str) -> Iterator[TextBlock | MediaBlock]:
    """Yield the parts of a content, texts that follow each other as one. Raises InputError."""
    if not isinstance(value, str | list | None):
        raise InputError(f"{place} must be text or a list of parts, not {type_name(value)}")
    text = ""
    parts = cast("list[object]", value) if isinstance(value, list) else [value or ""]
    for index, part in enumerate(parts):
        block = _part(part, f"{place}[{index}]")
        if isinstance(block, TextBlock):
            text += block.text
            continue
        if text:
            yield TextBlock(text)
        yield block
        text = ""
    if text:
        yield TextBlock(text)


def _part(part: object, place: str) -> TextBlock | MediaBlock:
    if isinstance(part, str):
        return TextBlock(clean(part))
    fields = _object(part, place, "a part with text")
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


def _call(call: object, place: str) -> CallBlock:
    fields = _object(call, place)
    function = fields if "name" in fields else _object(fields.get("function"), f"{place}.function")
    arguments = function.get("arguments", "")
    if not isinstance(arguments, str):  # some writers store them parsed
        arguments = json.dumps(arguments, ensure_ascii=False)
    name = _string(function, "name", f"{place}.function")
    return CallBlock(_string(fields, "id", place), name, clean(arguments))


def _object(value: object, place: str, kind: str = "an object") -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InputError(f"{place} must be {kind}, not {type_name(value)}")
    return cast("dict[str, Any]", value)


def _string(fields: dict[str, Any], key: str, place: str) -> str:
    value = fields.get(key)
    if not isinstance(value, str | None):
        raise InputError(f"{place}.{key} must be text, not {type_name(value)}")
    return clean(value or "")
