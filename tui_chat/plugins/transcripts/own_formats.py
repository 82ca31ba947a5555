"""Our own exports, and lists of messages in the form of OpenAI: what the core itself writes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from hashlib import sha256
from typing import cast

from tui_chat.errors import InputError
from tui_chat.interop.formats import (
    FoundConversation,
    ListFormat,
    ObjectFormat,
    Reading,
    UnreadableConversation,
    readable,
)
from tui_chat.interop.messages import read_line
from tui_chat.interop.own_json import check_version, is_own, read_session
from tui_chat.interop.transcript_builder import TranscriptBuilder, parse_timestamp
from tui_chat.models.json_text import JsonObject, as_string, to_json
from tui_chat.models.message import Message
from tui_chat.models.session import SessionTranscript

_TRUSTED = 16
"""Minimum characters of an id that is assumed to be globally unique."""


def _read_sessions(
    elements: Iterable[tuple[str, object]], header: JsonObject
) -> Iterator[FoundConversation]:
    version = check_version(header)

    def read(data: JsonObject) -> Reading:
        return read_session(data, version), []

    for place, value in elements:
        yield readable(place, value, read, may_be_empty=True)


def _without_sessions(_: JsonObject) -> Reading:
    raise UnreadableConversation("$.sessions", "must be a list")


OWN_FORMATS = (
    ListFormat(("sessions",), is_own, _read_sessions),
    ObjectFormat(is_own, _without_sessions),
)


def is_message(value: object) -> bool:
    """Return True if a value looks like a unified message."""
    if not isinstance(value, dict):
        return False
    data = cast("JsonObject", value)
    return (isinstance(data.get("role"), str) and "content" in data) or "tool_calls" in data


def _is_conversation(data: JsonObject) -> bool:
    """Return True if an object has a list of messages, like a request body."""
    return isinstance(data.get("messages"), list) and "chat_messages" not in data


def _read_conversation(data: JsonObject) -> Reading:
    """Return the transcript of an object with `messages`. Raises UnreadableConversation."""
    messages = cast("list[object]", data["messages"])
    values = [(f".messages[{index}]", value) for index, value in enumerate(messages)]
    return _read_messages(values, title=as_string(data.get("title"))), []


MESSAGE_FORMATS = (ObjectFormat(_is_conversation, _read_conversation),)


def message_list(values: Sequence[tuple[str, object]]) -> FoundConversation:
    """Return the conversation of messages, each with its place."""
    return readable("", {}, lambda _: (_read_messages(values), []))


def _read_messages(values: Sequence[tuple[str, object]], *, title: str = "") -> SessionTranscript:
    """Return the transcript of messages, each with its place. Raises UnreadableConversation.

    A conversation is recognized as known by the id of its first message; without globally unique
    ids, only if all of it is equal.
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
        message = read_line(value, place, index)
    except InputError as error:
        key, fault = str(error).removeprefix(place).split(" ", 1)
        raise UnreadableConversation(place + key.removesuffix(":"), fault) from error
    if message.timestamp is not None:
        return replace(message, timestamp=parse_timestamp(message.timestamp))
    return message
