"""Reading the conversations of a file of any known format.

1. The format is detected from the content, not from the file name: a database by its tables, JSON
   lines by the first record that only one format has, an object by its keys.
2. Conversations in an array or in JSON lines are read one by one. A broken one is reported, and
   the rest is read; if the text itself breaks off, reading ends.
3. Lines of records are one conversation, which loses its damaged lines only. Lines of messages
   are read completely or not at all.

The formats are those of the core (`_FIRST`, `_LAST`) and between them those of the plugins. They
are imported when a file is read; `known_formats` needs their names alone.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import lru_cache
from itertools import chain
from typing import cast

from tui_chat import api, hooks
from tui_chat.errors import InputError
from tui_chat.hooks import PluginFailed, guard, report
from tui_chat.interop import messages
from tui_chat.interop.formats import (
    DatabaseFormat,
    Format,
    ImportSource,
    LinesFormat,
    ObjectFormat,
    StreamedFormat,
    TextFormat,
)
from tui_chat.interop.json_stream import (
    LARGEST,
    BadLine,
    BadText,
    BadValue,
    JsonLines,
    JsonStream,
    parse_line,
    split_lines,
)
from tui_chat.interop.transcript_builder import FoundConversation, UnreadableConversation, readable
from tui_chat.models.json_text import JsonObject, as_object

_MAGIC_BYTES = 16
"""Bytes at the beginning of a file that say whether it is a database."""
_SAMPLE_LINES = 40
_SAMPLE_BYTES = 8 * 2**20
"""Lines and bytes of a text in which a record of a known format is looked for."""


_FIRST = (api.Format("tui-chat's own JSON", "tui_chat.interop.own_json:FORMATS"),)
_LAST = (api.Format("JSON or JSON lines of messages", "tui_chat.interop.messages:FORMATS"),)

_OTHER_FILES: tuple[tuple[tuple[str, ...], str, str], ...] = (
    (
        ("prompts", "prompt_order"),
        "a preset of another program",
        "Import it with `tui-chat presets import FILE`, or in the preset editor with m.",
    ),
    (("presetMessages",), "a preset", "Copy it into the folder `presets` beside config.toml."),
    (
        ("entries",),
        "a lorebook",
        "Copy it into the folder `lorebooks` beside config.toml; `/lorebook` chooses it.",
    ),
)
"""Files that hold no conversation: containers that all of them have, what they are, advice."""


def format_names() -> tuple[str, ...]:
    """Return what all formats are called, those of plugins too."""
    added = (path for _, path in hooks.parts("formats"))
    return tuple(dict.fromkeys(path.name for path in (*_FIRST, *added, *_LAST)))


def known_formats() -> str:
    """Return the advice for a file of no known format: all formats, and the plugins that cannot be
    loaded.
    """
    return " ".join([f"Known formats: {', '.join(format_names())}.", *map(str, hooks.faults())])


def _formats() -> tuple[tuple[api.Format, Format], ...]:
    """Return all formats in the order in which they are tried."""
    return _loaded(hooks.plugins())


@lru_cache(maxsize=1)
def _loaded(_: tuple[api.Plugin, ...]) -> tuple[tuple[api.Format, Format], ...]:
    loaded: list[tuple[api.Format, Format]] = []

    def add(path: api.Format, formats: Iterable[Format]) -> None:
        loaded.extend((path, form) for form in formats)

    for path in _FIRST:
        add(path, hooks.load(path.path))
    for plugin, path in hooks.parts("formats"):
        try:
            formats = hooks.load_part(plugin, path.path)
            with guard(plugin.name, f"format {path.name}"):
                _require_formats(path, formats)
            add(path, formats)
        except PluginFailed as error:
            report(error.fault)
    for path in _LAST:
        add(path, hooks.load(path.path))
    return tuple(loaded)


def _require_formats(path: api.Format, formats: object) -> None:
    """Raise TypeError for what is no tuple of formats."""
    if not isinstance(formats, tuple) or not all(
        isinstance(each, Format) for each in cast("tuple[object, ...]", formats)
    ):
        raise TypeError(f"{path.path} is no tuple of formats")


def read_conversations(
    pieces: Iterable[bytes], *, source: ImportSource | None = None, largest: int = LARGEST
) -> Iterator[FoundConversation]:
    """Read all conversations of a file. Raises nothing: errors are results, too.

    `source` is the file that the pieces are from; without it, what a format keeps beside the file
    is not read.
    """
    source = source or ImportSource()
    try:
        yield from _read(iter(pieces), source, largest)
    except InputError as error:
        yield FoundConversation("", fault=str(error), advice=error.advice)
    except OSError as error:
        yield FoundConversation("", fault=f"cannot be read: {error.strerror or error}")


def _read(
    pieces: Iterator[bytes], source: ImportSource, largest: int
) -> Iterator[FoundConversation]:
    head = _head(pieces, _MAGIC_BYTES)
    if databases := _databases(head):
        yield from _database(databases, source)
        return
    first = head.lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
    if first:
        head = _sample(head, pieces)
        if lines := _lines_format(head):
            path, known = lines
            yield from _written_by(path, known.read(JsonLines(chain([head], pieces)), source))
            return
        for path, known in _formats():
            if isinstance(known, TextFormat) and first not in b"{[" and known.detect(head):
                yield from _written_by(path, known.read(chain([head], pieces), source))
                return
    yield from _json(JsonStream(chain([head], pieces), largest=largest))


def transcript_format(content: bytes) -> str:
    """Return what the format of a file is called whose content is the conversations of a program;
    empty for any other. Lists of messages are none: they may be a request.
    """
    if databases := _databases(content[:_MAGIC_BYTES]):
        return " or ".join(path.name for path, _ in databases)
    sample = content[:_SAMPLE_BYTES]
    if lines := _lines_format(sample):
        return lines[0].name
    first = sample.lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
    if first and first not in b"{[":
        texts = ((path, form) for path, form in _formats() if isinstance(form, TextFormat))
        return next((path.name for path, form in texts if form.detect(sample)), "")
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        return ""
    values = cast("list[object]", value)[:1] if isinstance(value, list) else [value]
    for data in map(as_object, values):
        for path, known in _formats():
            if isinstance(known, ObjectFormat) and known not in messages.FORMATS:
                is_detected = known.read is not None and known.detect(data)
            else:
                is_detected = isinstance(known, StreamedFormat) and any(
                    known.detect(key, data) for key in data
                )
            if is_detected:
                return path.name
    return ""


def _written_by(
    path: api.Format, conversations: Iterable[FoundConversation]
) -> Iterator[FoundConversation]:
    return (replace(conversation, program=path.program) for conversation in conversations)


def _head(pieces: Iterator[bytes], size: int) -> bytes:
    head = b""
    for piece in pieces:
        head += piece
        if len(head) >= size:
            break
    return head


def _sample(head: bytes, pieces: Iterator[bytes]) -> bytes:
    """Return the first lines of a text: enough to detect a format of JSON lines."""
    read_pieces, size, lines = [head], len(head), head.count(b"\n")
    while lines < _SAMPLE_LINES and size < _SAMPLE_BYTES:
        piece = next(pieces, b"")
        if not piece:
            break
        read_pieces.append(piece)
        size, lines = size + len(piece), lines + piece.count(b"\n")
    return b"".join(read_pieces)


def _lines_format(sample: bytes) -> tuple[api.Format, LinesFormat] | None:
    """Return the format of the first line that is, on its own, a record of one."""
    formats = [(path, form) for path, form in _formats() if isinstance(form, LinesFormat)]
    for index, line in enumerate(split_lines([sample], _SAMPLE_BYTES)):
        if index == _SAMPLE_LINES:
            return None
        if line is None or not line.lstrip(b"\xef\xbb\xbf \t").startswith(b"{"):
            continue
        try:
            record = parse_line(line)
        except BadLine:
            continue
        for path, form in formats:
            if record is not None and form.detect(record):
                return path, form
    return None


def _databases(head: bytes) -> list[tuple[api.Format, DatabaseFormat]]:
    """Return the formats whose files begin so."""
    formats = ((path, form) for path, form in _formats() if isinstance(form, DatabaseFormat))
    return [(path, form) for path, form in formats if head.startswith(form.magic)]


def _database(
    formats: Iterable[tuple[api.Format, DatabaseFormat]], source: ImportSource
) -> Iterator[FoundConversation]:
    if source.path is None:
        advice = "Unpack it, and name the file."
        yield FoundConversation("", fault="is a database within another file", advice=advice)
        return
    for path, form in formats:
        if form.detect(source.path):
            yield from _written_by(path, form.read(source.path, source))
            return
    yield _unknown("")


def _json(reader: JsonStream) -> Iterator[FoundConversation]:
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
    return FoundConversation(place, fault=fault, advice=known_formats(), unknown=True)


def _conversation(place: str, value: object) -> FoundConversation:
    data = as_object(value)
    for path, form in _formats():
        if isinstance(form, ObjectFormat) and form.detect(data):
            if form.read is None:
                return FoundConversation(place, ignored=True)
            return replace(readable(place, value, form.read), program=path.program)
    for keys, what, advice in _OTHER_FILES:
        if all(isinstance(data.get(key), dict | list) for key in keys):
            return FoundConversation(place, fault=f"is {what}", advice=advice, unknown=True)
    return _unknown(place)


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
        yield messages.message_list(values)


def _is_message(value: object) -> bool:
    return isinstance(value, dict) and messages.is_message(cast("JsonObject", value))


def _streamed(key: str, data: JsonObject, opening: str) -> _Streamed | None:
    for _, form in _formats():
        if isinstance(form, StreamedFormat) and form.detect(key, data):
            return form.read if form.opening == opening else None
    return None


_Streamed = Callable[[JsonStream, JsonObject], Iterator[FoundConversation]]


def _objects(reader: JsonStream) -> Iterator[FoundConversation]:
    data: dict[str, object] = {}
    streamed = False
    for key in reader.members():
        if read := _streamed(key, data, reader.peek()):
            try:
                yield from read(reader, data)
            except UnreadableConversation as error:
                yield FoundConversation(f"${error.place}", fault=error.fault, advice=error.advice)
                reader.stop()
                return
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
    if _is_message(data):
        yield from _message_lines(reader, data)
    elif reader.peek():
        yield from _lines(reader, data)
    else:
        yield _conversation("", data)


def _message_lines(reader: JsonStream, first: JsonObject) -> Iterator[FoundConversation]:
    """Read lines of messages, which are one conversation, completely or not at all."""
    values: list[tuple[str, object]] = [("line 1", first)]
    while reader.peek():
        place = f"line {reader.line}"
        try:
            values.append((place, reader.value()))
        except BadValue as error:
            yield FoundConversation(place, fault=str(error))
            reader.stop()
            return
    yield messages.message_list(values)


def _lines(reader: JsonStream, first: JsonObject) -> Iterator[FoundConversation]:
    """Read JSON lines of conversations, whose first line is parsed already."""
    yield _conversation("line 1", first)
    while reader.peek():
        place = f"line {reader.line}"
        try:
            value = reader.value()
        except BadValue as error:
            yield FoundConversation(place, fault=str(error))
            continue
        yield _conversation(place, value)
