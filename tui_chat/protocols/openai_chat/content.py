"""The parts of a message's content: text, pictures, sounds, files and refusals.

1. A part is read into a piece of the turn and written back from it; both stand here together.
2. Only a user message takes more than text. What a place cannot hold is left out and told.
"""

from __future__ import annotations

from typing import Any, cast

from tui_chat.errors import InputError
from tui_chat.models.endpoint import Protocol
from tui_chat.models.json_tree import Obj
from tui_chat.models.message import Part
from tui_chat.models.text import Origin
from tui_chat.protocols.encoding import Items, quote, word
from tui_chat.protocols.fields import Fields, kind_of
from tui_chat.protocols.turn_builder import TurnBuilder, marks_of
from tui_chat.protocols.urls import data_url, split_data_url

_CHAT = Protocol.OPENAI_CHAT
_AUDIO_MIME = {"wav": "audio/wav", "mp3": "audio/mpeg"}
_AUDIO_FORMAT = {
    "audio/wav": "wav",
    "audio/x-wav": "wav",
    "audio/wave": "wav",
    "audio/mpeg": "mp3",
    "audio/mp3": "mp3",
}


def read_content(message: Fields, builder: TurnBuilder) -> None:
    """Take a message's content into the turn."""
    if "content" not in message.left:
        builder.shape = "absent"
        return
    content = message.left.pop("content")
    if content is None:
        builder.shape = "null"
    elif isinstance(content, str):
        builder.shape = "string"
        if content:
            builder.text(content)
    elif isinstance(content, list):
        builder.shape = "parts"
        for index, each in enumerate(cast("list[object]", content)):
            place = f"{message.at('content')}[{index}]"
            if isinstance(each, str):
                each = {"type": "text", "text": each}
            if not isinstance(each, dict):
                raise InputError(f"{place} must be an object, not {kind_of(each)}.")
            _read_part(Fields(cast("dict[str, Any]", each), place), builder)
    else:
        place = message.at("content")
        raise InputError(f"{place} must be a text or a list of parts, not {kind_of(content)}.")


def _read_part(block: Fields, builder: TurnBuilder) -> None:
    whole = dict(block.left)
    kind = block.text("type")
    text = whole.get("text")
    if kind == "text" and isinstance(text, str):
        del block.left["text"]
        builder.text(text, **marks_of(block))
    elif kind == "refusal" and not builder.refusal and (refusal := block.text("refusal")):
        builder.refuse(refusal, **marks_of(block))
    elif (part := _media(kind, block)) is not None:
        builder.part(part, **marks_of(block))
    else:
        builder.other(kind, whole)


def _media(kind: str, block: Fields) -> Part | None:
    """Return a part that is not text, its keys taken; None where it is none that we know."""
    match kind:
        case "image_url":
            key, inner = "image_url", block.inner("image_url")
            part = _image(inner) if inner else None
        case "input_audio":
            key, inner = "input_audio", block.inner("input_audio")
            part = _audio(inner) if inner else None
        case "file":
            key, inner = "file", block.inner("file")
            part = _file(inner) if inner else None
        case _:
            return None
    if inner is not None:
        block.put_back(key, inner)
    return part


def _image(inner: Fields) -> Part | None:
    url = inner.text("url")
    detail = inner.text("detail")
    if not url:
        return None
    if (split := split_data_url(url)) is not None:
        return Part("image", split[0], data=split[1], detail=detail)
    return Part("image", url=url, detail=detail)


def _audio(inner: Fields) -> Part | None:
    data = inner.text("data")
    mime = _AUDIO_MIME.get(str(inner.left.get("format")))
    if not data or mime is None:
        return None
    del inner.left["format"]
    return Part("audio", mime, data=data)


def _file(inner: Fields) -> Part | None:
    name = inner.text("filename")
    file_id = inner.text("file_id")
    data = "" if file_id else inner.text("file_data")
    if file_id:
        return Part("file", file_id=file_id, protocol=_CHAT, name=name)
    if not data:
        return None
    if (split := split_data_url(data)) is not None:
        return Part("file", split[0], data=split[1], name=name)
    if data.startswith(("http://", "https://")):  # OpenRouter takes links
        return Part("file", url=data, protocol=_CHAT, name=name)
    return Part("file", data=data, name=name)


def say_part(part: Part, origin: Origin) -> Items | None:
    """Return a part on the wire; None where the protocol has no word for it."""
    if part.text:
        return [("type", word("text")), ("text", quote(part.text, origin, "document"))]
    match part.kind:
        case "image" if part.data or part.url:
            url = data_url(part.mime, part.data) if part.data else part.url
            inner: Items = [("url", quote(url, origin, "picture"))]
            if part.detail:
                inner.append(("detail", word(part.detail)))
            return _wrapped("image_url", inner, origin)
        case "audio" if part.data and part.mime in _AUDIO_FORMAT:
            data = ("data", quote(part.data, origin, "sound"))
            return _wrapped(
                "input_audio", [data, ("format", word(_AUDIO_FORMAT[part.mime]))], origin
            )
        case "file":
            return _say_file(part, origin)
        case _:
            return None


def _say_file(part: Part, origin: Origin) -> Items | None:
    inner: Items = []
    if part.name:
        inner.append(("filename", quote(part.name, origin, "file name")))
    if part.file_id and part.protocol in (_CHAT, Protocol.OPENAI_RESPONSES):
        inner.append(("file_id", quote(part.file_id, origin, "file id")))
    elif part.data:
        data = data_url(part.mime, part.data) if part.mime else part.data
        inner.append(("file_data", quote(data, origin, "file")))
    elif part.url and part.protocol is _CHAT:
        inner.append(("file_data", quote(part.url, origin, "file")))
    else:
        return None
    return _wrapped("file", inner, origin)


def _wrapped(kind: str, inner: Items, origin: Origin) -> Items:
    return [("type", word(kind)), (kind, Obj(tuple(inner), origin))]
