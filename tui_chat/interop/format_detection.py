"""Conversations of any known kind, out of the bytes of a file.

1. What a file is shows in its content: its name is not looked at.
2. An array and JSON lines of conversations are read one by one; broken ones are told, and the
   rest goes on. Where the text itself breaks off, so does the reading.
3. Lines that are messages are one conversation: it is whole or it is not read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TypeAlias, cast

from tui_chat.interop import chatgpt, claude, messages, own_json, sillytavern
from tui_chat.interop.json_stream import LARGEST, BadText, BadValue, JsonStream
from tui_chat.interop.transcript_builder import FoundConversation, UnreadableConversation, readable
from tui_chat.models.transcript import Transcript
from tui_chat.protocols.common.lenient_json import JsonObject, as_object

KNOWN = (
    "Known are tui-chat's own JSON, JSON and JSON lines of messages, SillyTavern's chats, and the "
    "conversations.json of ChatGPT and Claude."
)

_Read: TypeAlias = "Callable[[JsonObject], tuple[Transcript, list[str]]]"


def read_conversations(
    pieces: Iterable[bytes], *, largest: int = LARGEST
) -> Iterator[FoundConversation]:
    """Read all conversations of a file; each fault is a `Found` too, and nothing is raised."""
    reader = JsonStream(pieces, largest=largest)
    try:
        match reader.peek():
            case "":
                yield FoundConversation("", fault="is empty")
                return
            case "[":
                yield from _array(reader)
            case "{":
                yield from _objects(reader)
            case _:
                yield _unknown("")
                return
        if reader.peek():
            yield FoundConversation(
                f"line {reader.line}", fault="follows the end of the conversations"
            )
    except BadText as error:
        yield FoundConversation("", fault=str(error))


def _unknown(place: str) -> FoundConversation:
    fault = "is no conversation of a kind that is known"
    return FoundConversation(place, fault=fault, advice=KNOWN, unknown=True)


def _kind(said: JsonObject) -> _Read | None:
    """Return how one object that is a whole conversation is read."""
    for kind in (chatgpt, claude, messages):
        if kind.is_conversation(said):
            return kind.read_conversation
    return None


def _conversation(place: str, value: object) -> FoundConversation:
    said = as_object(value)
    if claude.is_passed_over(said):
        return FoundConversation(place, passed_over=True)
    read = _kind(said)
    return _unknown(place) if read is None else readable(place, value, read)


def _array(reader: JsonStream) -> Iterator[FoundConversation]:
    told: list[tuple[str, object]] = []
    for index in reader.elements():
        place = f"$[{index}]"
        try:
            value = reader.value()
        except BadValue as error:
            yield FoundConversation(place, fault=str(error))
            continue
        if _is_message(value) or told:
            told.append((place, value))
        else:
            yield _conversation(place, value)
    if told:
        yield _told(told)


def _is_message(value: object) -> bool:
    return isinstance(value, dict) and messages.is_message(cast("JsonObject", value))


def _told(told: list[tuple[str, object]]) -> FoundConversation:
    def read(_: JsonObject) -> tuple[Transcript, list[str]]:
        return messages.read_messages(told), []

    return readable("", {}, read)


def _objects(reader: JsonStream) -> Iterator[FoundConversation]:
    said: dict[str, object] = {}
    streamed = False
    for key in reader.members():
        if key == "sessions" and own_json.is_header(said) and reader.peek() == "[":
            try:
                own_json.check_version(said)
            except UnreadableConversation as error:
                yield FoundConversation(f"${error.place}", fault=error.fault, advice=error.advice)
                reader.stop()
                return
            yield from own_json.read_sessions(reader)
            streamed = True
        elif key == "conversations" and not said and reader.peek() == "[":
            yield from _array(reader)
            streamed = True
        else:
            try:
                said[key] = reader.value()
            except BadValue as error:
                raise BadText(str(error)) from error
    if streamed:
        return
    if own_json.is_header(said):
        yield FoundConversation("$.sessions", fault="must be a list")
    elif reader.peek():
        yield from _lines(reader, said)
    elif sillytavern.is_header(said) or sillytavern.is_message(said):
        yield _chat([("line 1", said)])
    elif messages.is_message(said):
        yield _told([("line 1", said)])
    else:
        yield _conversation("", said)


def _lines(reader: JsonStream, first: JsonObject) -> Iterator[FoundConversation]:
    """Read JSON lines whose first is known."""
    chat = sillytavern.is_header(first) or sillytavern.is_message(first)
    if not (chat or messages.is_message(first)):
        yield _conversation("line 1", first)
        while reader.peek():
            place = f"line {reader.line}"
            try:
                value = reader.value()
            except BadValue as error:
                yield FoundConversation(place, fault=str(error))
                continue
            yield _conversation(place, value)
        return
    told: list[tuple[str, object]] = [("line 1", first)]
    while reader.peek():
        place = f"line {reader.line}"
        try:
            told.append((place, reader.value()))
        except BadValue as error:
            yield FoundConversation(place, fault=str(error))
            reader.stop()
            return
    yield _chat(told) if chat else _told(told)


def _chat(told: list[tuple[str, object]]) -> FoundConversation:
    for place, value in told:
        if not isinstance(value, dict):
            return FoundConversation(place, fault="must be an object")
    lines = cast("list[tuple[str, JsonObject]]", told)
    return readable("", {}, partial(_read_chat, lines))


def _read_chat(lines: list[tuple[str, JsonObject]], _: JsonObject) -> tuple[Transcript, list[str]]:
    return sillytavern.read_chat(lines)
