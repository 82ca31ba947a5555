"""The content of results: texts, and pictures, sounds and files.

1. A text is cleaned as a model's is; what is invisible in it stays, and is shown by the screen.
2. At most `RESULT_SIZE` bytes of a result go to the model, and it is told how many were left out.
3. `structuredContent` that is in the text already is not repeated.
"""

from __future__ import annotations

import binascii
import json
from base64 import b64decode
from collections.abc import Iterator, Mapping
from typing import Any

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.blocks import MediaBlock
from tui_chat.models.json_text import (
    as_object,
    as_string,
    decode_lenient,
    object_or_none,
    objects_in,
    to_json,
)
from tui_chat.models.media import detect_mime, kind_of, known_mime
from tui_chat.models.sanitize import one_line

RESULT_SIZE = 100_000
"""Bytes of a result that a model gets."""
MOST_PARTS = 20


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The result of a call."""

    text: str
    """The text for the model, at most `RESULT_SIZE` bytes."""
    parts: tuple[MediaBlock, ...] = ()
    """Pictures, sounds and files."""
    failed: bool = False
    """True if the tool says that it failed, or there is no result."""
    structured: Any = None
    """The structured content; None if there is none."""


@dataclass(frozen=True, slots=True)
class ResultContent:
    """Texts and parts, in the order of a result."""

    texts: tuple[str, ...] = ()
    parts: tuple[MediaBlock, ...] = ()

    @property
    def text(self) -> str:
        """The texts, one below the other."""
        return "\n".join(self.texts)


def read_result(result: Mapping[str, Any]) -> ToolResult:
    """Return the result of `tools/call`."""
    content = read_content(result.get("content"))
    structured = result.get("structuredContent")
    texts = content.texts
    if structured is not None and not _repeats(texts, structured):
        texts = (*texts, to_json(structured))
    text = bounded("\n".join(texts))
    return ToolResult(text, content.parts, result.get("isError") is True, structured)


def bounded(text: str) -> str:
    """Return a text of at most `RESULT_SIZE` bytes, which says how many bytes were left out."""
    if len(text) <= RESULT_SIZE // 4 or len(data := text.encode()) <= RESULT_SIZE:
        return text
    kept = RESULT_SIZE - 100
    cut = f"\n[The last {len(data) - kept:,} of {len(data):,} bytes of this result were left out.]"
    return data[:kept].decode(errors="ignore") + cut


def _repeats(texts: tuple[str, ...], structured: object) -> bool:
    """Return True if the texts say what the structured content says: as JSON or as they are, in one
    text or one for each item, with or without the key `result` that servers put around it.
    """
    values: list[object] = [structured]
    inner = as_object(structured)
    if list(inner) == ["result"]:
        values.append(inner["result"])
    parsed = [_parsed(text) for text in texts]
    for value in values:
        for spoken in (parsed, list(texts)):
            if any(_is_equal(value, one) for one in spoken) or _is_equal(value, spoken):
                return True
    return False


def _is_equal(one: object, other: object) -> bool:
    """Return True for equal JSON values: unlike in Python, 1 is not true."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def _parsed(text: str) -> object:
    try:
        return decode_lenient(text)
    except ValueError:
        return text


def read_content(value: object) -> ResultContent:
    """Return content blocks, one or a list."""
    texts: list[str] = []
    parts: list[MediaBlock] = []
    single = object_or_none(value)
    for block in [single] if single is not None else objects_in(value):
        for item in _read_block(block):
            if isinstance(item, str):
                texts.append(item)
            elif len(parts) < MOST_PARTS:
                parts.append(item)
            else:
                texts.append(f"[{item.media} left out: there are more than {MOST_PARTS}]")
    return ResultContent(tuple(texts), tuple(parts))


def _read_block(block: Mapping[str, Any]) -> Iterator[str | MediaBlock]:
    kind = as_string(block.get("type"))
    match kind:
        case "text":
            yield as_string(block.get("text"))
        case "image" | "audio":
            yield _media(as_string(block.get("data")), as_string(block.get("mimeType")), kind, "")
        case "resource_link":
            name = one_line(as_string(block.get("name")), 100)
            yield f"[{name or 'resource'}: {one_line(as_string(block.get('uri')))}]"
        case "resource":
            yield from read_resource(as_object(block.get("resource")))
        case _:
            yield f"[content of the unknown type “{one_line(kind, 40)}” left out]"


def read_resource(resource: Mapping[str, Any]) -> Iterator[str | MediaBlock]:
    """Yield the text or the file that a resource is."""
    if isinstance(resource.get("text"), str):
        yield as_string(resource["text"])
    elif isinstance(resource.get("blob"), str):
        name = one_line(as_string(resource.get("uri")).rpartition("/")[2], 100)
        mime = as_string(resource.get("mimeType")) or "application/octet-stream"
        yield _media(as_string(resource["blob"]), mime, "file", name)


def _media(data: str, mime: str, kind: str, name: str) -> str | MediaBlock:
    """Return a part of base64, or a sentence in place of one that is damaged or not what it says
    that it is.
    """
    try:
        content = b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return f"[{kind} left out: its data is damaged]"
    mime = detect_mime(content) or known_mime(mime)
    if not content or (kind != "file" and kind_of(mime) != kind):
        return f"[{kind} left out: it is empty or of another type]"
    return MediaBlock(kind_of(mime), mime, data, name=name)
