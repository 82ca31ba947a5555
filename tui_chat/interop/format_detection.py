"""Reading the conversations of a file of any known format.

1. The format is detected from the content, not from the file name.
2. Conversations in an array or in JSON lines are read one by one. A broken one is reported, and
   the rest is read; if the text itself breaks off, reading ends.
3. Lines of messages are one conversation, which is read completely or not at all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TypeAlias, cast

from tui_chat.interop import chatgpt, claude, messages, own_json, sillytavern
from tui_chat.interop.json_stream import LARGEST, BadText, BadValue, JsonStream
from tui_chat.interop.transcript_builder import FoundConversation, UnreadableConversation, readable
from tui_chat.models.transcript import SessionTranscript
from tui_chat.protocols.common.lenient_json import JsonObject, as_object

KNOWN = (
    "Known formats: tui-chat's own JSON, JSON or JSON lines of messages, SillyTavern's chats, and "
    "the conversations.json of ChatGPT and Claude."
)

_Read: TypeAlias = "Callable[[JsonObject], tuple[SessionTranscript, list[str]]]"


def read_conversations(
    pieces: Iterable[bytes], *, largest: int = LARGEST
) -> Iterator[FoundConversation]:
    """Read all conversations of a file. Raises nothing: errors are results, too."""
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
                f"line {reader.line}", fault="there is more after the end of the conversations"
            )
    except BadText as error:
        yield FoundConversation("", fault=str(error))


def _unknown(place: str) -> FoundConversation:
    fault = "is not a conversation of a known format"
    return FoundConversation(place, fault=fault, advice=KNOWN, unknown=True)


def _reader_for(data: JsonObject) -> _Read | None:
    """Return the reader for an object that is a whole conversation."""
    for module in (chatgpt, claude, messages):
        if module.is_conversation(data):
            return module.read_conversation
    return None


def _conversation(place: str, value: object) -> FoundConversation:
    data = as_object(value)
    if claude.is_ignored(data):
        return FoundConversation(place, ignored=True)
    read = _reader_for(data)
    return _unknown(place) if read is None else readable(place, value, read)


def _array(reader: JsonStream) -> Iterator[FoundConversation]:
    values: list[tuple[str, object]] = []
    for index in reader.elements():
        place = f"$[{index}]"
        try:
            value = reader.value()
        except BadValue as error:
            yield FoundConversation(place, fault=str(error))
            continue
        if _is_message(value) or values:
            values.append((place, value))
        else:
            yield _conversation(place, value)
    if values:
        yield _message_list(values)


def _is_message(value: object) -> bool:
    return isinstance(value, dict) and messages.is_message(cast("JsonObject", value))


def _message_list(values: list[tuple[str, object]]) -> FoundConversation:
    def read(_: JsonObject) -> tuple[SessionTranscript, list[str]]:
        return messages.read_messages(values), []

    return readable("", {}, read)


def _objects(reader: JsonStream) -> Iterator[FoundConversation]:
    data: dict[str, object] = {}
    streamed = False
    for key in reader.members():
        if key == "sessions" and own_json.is_header(data) and reader.peek() == "[":
            try:
                own_json.check_version(data)
            except UnreadableConversation as error:
                yield FoundConversation(f"${error.place}", fault=error.fault, advice=error.advice)
                reader.stop()
                return
            yield from own_json.read_sessions(reader)
            streamed = True
        elif key == "conversations" and not data and reader.peek() == "[":
            yield from _array(reader)
            streamed = True
        else:
            try:
                data[key] = reader.value()
            except BadValue as error:
                raise BadText(str(error)) from error
    if streamed:
        return
    if own_json.is_header(data):
        yield FoundConversation("$.sessions", fault="must be a list")
    elif reader.peek():
        yield from _lines(reader, data)
    elif sillytavern.is_header(data) or sillytavern.is_message(data):
        yield _chat([("line 1", data)])
    elif messages.is_message(data):
        yield _message_list([("line 1", data)])
    else:
        yield _conversation("", data)


def _lines(reader: JsonStream, first: JsonObject) -> Iterator[FoundConversation]:
    """Read JSON lines whose first line is parsed already."""
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
    values: list[tuple[str, object]] = [("line 1", first)]
    while reader.peek():
        place = f"line {reader.line}"
        try:
            values.append((place, reader.value()))
        except BadValue as error:
            yield FoundConversation(place, fault=str(error))
            reader.stop()
            return
    yield _chat(values) if chat else _message_list(values)


def _chat(values: list[tuple[str, object]]) -> FoundConversation:
    for place, value in values:
        if not isinstance(value, dict):
            return FoundConversation(place, fault="must be an object")
    lines = cast("list[tuple[str, JsonObject]]", values)
    return readable("", {}, partial(_read_chat, lines))


def _read_chat(
    lines: list[tuple[str, JsonObject]], _: JsonObject
) -> tuple[SessionTranscript, list[str]]:
    return sillytavern.read_chat(lines)
