"""Unified messages as a conversation of their own, and a conversation as JSON lines of them.

A line is what `history` reads and `tui-chat build --history` takes: the branch that is shown,
without what only our own JSON can say (other branches, reasoning, usage).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from hashlib import sha256
from typing import Any, cast

from tui_chat.errors import InputError
from tui_chat.interop.branch import shown_branch
from tui_chat.interop.found import Growing, Unreadable
from tui_chat.interop.history import read_message
from tui_chat.interop.moments import moment
from tui_chat.models.message import Message, Part
from tui_chat.models.sanitize import sanitize
from tui_chat.models.transcript import Transcript
from tui_chat.protocols.common.lenient_json import JsonObject, as_string, to_json

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
    messages = [_message(place, value, index) for index, (place, value) in enumerate(values)]
    first = messages[0].id if messages else ""
    trusted = len(first) >= _TRUSTED
    name = first if trusted else sha256(to_json([v for _, v in values]).encode()).hexdigest()
    tree = Growing("messages", name)
    before: str | None = None
    seen: set[str] = set()
    for index, message in enumerate(messages):
        key = message.id if trusted and message.id not in seen else f"{message.id}/{index}"
        seen.add(key)
        before = tree.add(replace(message, id=tree.id_of(key)), before)
    return tree.transcript(title=title, head_id=before)


def _message(place: str, value: object, index: int) -> Message:
    try:
        message = read_message(value, place, index)
    except InputError as error:
        where, _, fault = str(error).partition(": ")
        raise Unreadable(where, fault) from error
    if message.timestamp is not None:
        return replace(message, timestamp=moment(message.timestamp))
    return message


def message_lines(transcript: Transcript) -> Iterator[str]:
    """Write the shown branch, a message a line."""
    for entry in shown_branch(transcript):
        line = json.dumps(_plain(entry.message), ensure_ascii=False, allow_nan=False)
        # U+2028 and U+2029 too, which some readers take for line ends.
        yield sanitize(line, "json") + "\n"


def _plain(message: Message) -> dict[str, Any]:
    plain: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.parts:
        parts = [_part(part) for part in message.parts]
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


def _part(part: Part) -> dict[str, Any]:
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
