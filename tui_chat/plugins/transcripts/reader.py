"""Reading the conversations of a file of any known format.

1. The format is detected from the content, not from the file name: a database by its tables, JSON
   lines by the first record that only one format has, an object by its keys.
2. Conversations in an array or in JSON lines are read one by one. A broken one is reported, and
   the rest is read; where the text itself is no JSON, reading ends.
3. Lines of records are one conversation, which loses its damaged lines only. Lines of messages
   are read completely or not at all.

Our own exports are tried first, lists of messages in the form of OpenAI last, and between them the
formats of all plugins. They are imported when a file is read; `known_formats` needs their names
alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from hashlib import sha256
from itertools import chain
from typing import TypeAlias, TypeVar, cast

from tui_chat import api, hooks
from tui_chat.errors import InputError
from tui_chat.hooks import PluginFailed, guard, report
from tui_chat.interop.formats import (
    FileFormat,
    Format,
    FoundConversation,
    ImportSource,
    LinesFormat,
    ListFormat,
    ObjectFormat,
    Reading,
    TextFormat,
    UnreadableConversation,
    readable,
)
from tui_chat.interop.messages import read_line
from tui_chat.interop.own_json import check_version, is_own, read_session
from tui_chat.interop.transcript_builder import TranscriptBuilder, parse_timestamp
from tui_chat.models.json_text import JsonObject, as_array, as_object, as_string, to_json
from tui_chat.models.message import Message
from tui_chat.models.session import SessionTranscript
from tui_chat.plugins.transcripts.json_text import (
    LARGEST,
    BadLine,
    BadText,
    JsonText,
    parse_line,
    read_records,
    split_lines,
)

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


_SAMPLE_LINES = 40
_SAMPLE_BYTES = 8 * 2**20
"""Lines and bytes of a text in which a record of a known format is looked for."""
_FIRST = (api.Format("tui-chat's own JSON", ""), OWN_FORMATS)
_LAST = (api.Format("JSON or JSON lines of messages", ""), MESSAGE_FORMATS)
_Named: TypeAlias = "tuple[api.Format, Format]"
F = TypeVar("F")


def format_names() -> tuple[str, ...]:
    """Return what all formats are called, those of plugins too."""
    added = (entry for _, entry in hooks.parts("formats"))
    return tuple(dict.fromkeys(entry.name for entry in (_FIRST[0], *added, _LAST[0])))


def known_formats() -> str:
    """Return the advice for a file of no known format: all formats, and the plugins that cannot be
    loaded.
    """
    return " ".join([f"Known formats: {', '.join(format_names())}.", *map(str, hooks.faults())])


def _formats(kind: type[F]) -> list[tuple[api.Format, F]]:
    """Return all formats of a kind, in the order in which they are tried."""
    loaded = _loaded(hooks.plugins())
    return [(entry, form) for entry, form in loaded if isinstance(form, kind)]


@lru_cache(maxsize=1)
def _loaded(_: tuple[api.Plugin, ...]) -> tuple[_Named, ...]:
    loaded: list[_Named] = [(_FIRST[0], form) for form in _FIRST[1]]
    for plugin, entry in hooks.parts("formats"):
        try:
            formats = hooks.load_part(plugin, entry.path)
            with guard(plugin.name, f"format {entry.name}"):
                is_tuple = isinstance(formats, tuple)
                each_of = cast("tuple[object, ...]", formats) if is_tuple else ()
                if not is_tuple or not all(isinstance(each, Format) for each in each_of):
                    raise TypeError(f"{entry.path} is no tuple of formats")
            loaded += ((entry, form) for form in formats)
        except PluginFailed as error:
            report(error.fault)
    return (*loaded, *((_LAST[0], form) for form in _LAST[1]))


def read_conversations(
    pieces: Iterable[bytes], *, source: ImportSource | None = None, largest: int = LARGEST
) -> Iterator[FoundConversation]:
    """Read all conversations of a file. Raises nothing: errors are results, too.

    `source` is the file that the pieces are from; without it, what a format keeps beside the file
    is not read.
    """
    try:
        yield from _read(iter(pieces), source or ImportSource(), largest)
    except UnreadableConversation as error:
        yield FoundConversation(f"${error.place}", fault=error.fault, advice=error.advice)
    except (BadText, InputError) as error:
        advice = error.advice if isinstance(error, InputError) else ""
        yield FoundConversation("", fault=str(error), advice=advice)
    except OSError as error:
        yield FoundConversation("", fault=f"cannot be read: {error.strerror or error}")


def _read(
    pieces: Iterator[bytes], source: ImportSource, largest: int
) -> Iterator[FoundConversation]:
    sample = _sample(pieces)
    files = [named for named in _formats(FileFormat) if sample.startswith(named[1].magic)]
    if files:
        yield from _file(files, source)
        return
    text = chain([sample], pieces)
    if lines := _lines_format(sample):
        entry, form = lines
        reader = form.open(source)
        yield from _written_by(entry, read_records(text, reader.take))
        yield from _written_by(entry, reader.conversations())
        return
    first = sample.lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
    for entry, form in _formats(TextFormat):
        if first and first not in b"{[" and form.detect(sample):
            yield from _written_by(entry, form.read(text, source))
            return
    yield from _json(JsonText(text, largest=largest))


def _written_by(
    entry: api.Format, conversations: Iterable[FoundConversation]
) -> Iterator[FoundConversation]:
    return (replace(conversation, program=entry.program) for conversation in conversations)


def _sample(pieces: Iterator[bytes]) -> bytes:
    """Return the first lines of a text: enough to detect a format of JSON lines."""
    read: list[bytes] = []
    size = lines = 0
    while lines < _SAMPLE_LINES and size < _SAMPLE_BYTES and (piece := next(pieces, b"")):
        read.append(piece)
        size, lines = size + len(piece), lines + piece.count(b"\n")
    return b"".join(read)


def _lines_format(sample: bytes) -> tuple[api.Format, LinesFormat] | None:
    """Return the format of the first line that is, on its own, a record of one."""
    formats = _formats(LinesFormat)
    for _, line in zip(range(_SAMPLE_LINES), split_lines([sample], _SAMPLE_BYTES), strict=False):
        if line is None or not line.lstrip(b"\xef\xbb\xbf \t").startswith(b"{"):
            continue
        try:
            record = parse_line(line)
        except BadLine:
            continue
        for entry, form in formats:
            if record is not None and form.detect(record):
                return entry, form
    return None


def _file(
    formats: Iterable[tuple[api.Format, FileFormat]], source: ImportSource
) -> Iterator[FoundConversation]:
    if source.path is None:
        advice = "Unpack it, and name the file."
        yield FoundConversation("", fault="is a database within another file", advice=advice)
        return
    for entry, form in formats:
        if form.detect(source.path):
            yield from _written_by(entry, form.read(source.path, source))
            return
    yield _unknown("")


def _json(text: JsonText) -> Iterator[FoundConversation]:
    match text.peek():
        case "":
            yield FoundConversation("", fault="is empty")
        case "[":
            yield from _array(text.elements())
        case "{":
            yield from _objects(text)
        case _:
            yield _unknown("")
            return
    if text.peek():
        fault = "there is more after the end of the conversations"
        yield FoundConversation(f"line {text.line}", fault=fault)


def _unknown(place: str) -> FoundConversation:
    fault = "is not a conversation of a known format"
    return FoundConversation(place, fault=fault, advice=known_formats(), unknown=True)


def _conversation(place: str, value: object) -> FoundConversation:
    data = as_object(value)
    for entry, form in _formats(ObjectFormat):
        if form.detect(data):
            if form.read is None:
                return FoundConversation(place, ignored=True)
            return replace(readable(place, value, form.read), program=entry.program)
    return _unknown(place)


def _array(values: Iterable[object], place: str = "$") -> Iterator[FoundConversation]:
    messages: list[tuple[str, object]] = []
    for index, value in enumerate(values):
        if is_message(value) or messages:
            messages.append((f"{place}[{index}]", value))
        else:
            yield _conversation(f"{place}[{index}]", value)
    if messages:
        yield message_list(messages)


def _objects(text: JsonText) -> Iterator[FoundConversation]:
    data = as_object(text.value())
    if is_message(data):
        yield message_list([("line 1", data), *_lines(text)])
    elif text.peek():
        yield _conversation("line 1", data)
        for place, value in _lines(text):
            yield _conversation(place, value)
    else:
        yield from _object(data)


def _lines(text: JsonText) -> Iterator[tuple[str, object]]:
    """Yield the values up to the end of the text with their places."""
    while text.peek():
        place = f"line {text.line}"
        yield place, text.value()


def _object(data: JsonObject) -> Iterator[FoundConversation]:
    """Read a file that is one object: a conversation, or a list of them."""
    for _, form in _formats(ListFormat):
        *outer, last = form.keys
        inner = as_object(data.get(outer[0])) if outer else data
        if isinstance(inner.get(last), list) and form.detect(data):
            place = f"$.{'.'.join(form.keys)}"
            listed = ((f"{place}[{n}]", value) for n, value in enumerate(as_array(inner[last])))
            yield from form.read(listed, data)
            return
    first = data.get("conversations")
    if isinstance(first, list) and next(iter(data)) == "conversations":
        yield from _array(as_array(data.get("conversations")), "$.conversations")
    else:
        yield _conversation("", data)
