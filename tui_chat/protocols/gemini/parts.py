"""Content parts, read: text, thoughts, function calls and responses, bytes and files.

1. A part has one data field; the others (`thought`, `thoughtSignature`, `videoMetadata`) say
   something about it. A signature stays on the part it came with.
2. A function response is text where it is `{"output": text}` or `{"error": text}`; any other
   object is kept as its JSON.
"""

from __future__ import annotations

import re
from typing import Any, cast

from tui_chat.models.endpoint import Protocol
from tui_chat.models.message import Part, PartKind, ToolCall
from tui_chat.models.semantics import ReasoningBlock
from tui_chat.protocols.fields import Fields, compact
from tui_chat.protocols.gemini.spelling import camel_fields, camel_inner
from tui_chat.protocols.turn_builder import TurnBuilder

_GEMINI = Protocol.GEMINI


def kind_of_mime(mime: str) -> PartKind:
    """Return what kind of part a type makes."""
    match mime.partition("/")[0]:
        case "image":
            return "image"
        case "audio":
            return "audio"
        case "video":
            return "video"
        case _:
            return "file"


def is_response(part: Fields) -> bool:
    """Whether a part answers a call of ours."""
    return any(
        isinstance(part.left.get(k), dict) for k in ("functionResponse", "function_response")
    )


def read_part(part: Fields, builder: TurnBuilder) -> None:
    """Take one part into a turn."""
    whole = dict(part.left)
    spelled: set[str] = set()
    fields = camel_fields(part.left, part.place, spelled)
    signature = fields.text("thoughtSignature")
    text = fields.left.get("text")
    if isinstance(text, str):
        del fields.left["text"]
        if fields.exactly("thought", True):
            block = ReasoningBlock(_GEMINI, text, signature)
            builder.think(block, **_marks(fields, spelled))
        else:
            builder.text(text, signature=signature, **_marks(fields, spelled))
    elif (
        builder.role == "assistant"
        and (call := camel_inner(fields, "functionCall", spelled)) is not None
    ):
        arguments = call.left.get("args")
        if isinstance(arguments, dict):
            del call.left["args"]
        said = compact(cast("object", arguments)) if isinstance(arguments, dict) else ""
        identity, name = call.text("id"), call.text("name")
        fields.put_back("functionCall", call)
        builder.call(ToolCall(identity, name, said), signature=signature, **_marks(fields, spelled))
    elif (media := read_media(fields, spelled)) is not None and not signature:
        builder.part(media, **_marks(fields, spelled))
    else:
        builder.other(next((key for key in whole if key not in _ASIDE), "part"), whole)


_KEPT = re.compile(r"gs://|https://generativelanguage\.googleapis\.com/")
"""Files that Google keeps, which nobody else can fetch."""

_ASIDE = ("thought", "thoughtSignature", "thought_signature", "videoMetadata", "video_metadata")


def read_media(fields: Fields, spelled: set[str]) -> Part | None:
    """Return the bytes or the file of a part, its keys taken; None where it has neither."""
    if (inner := camel_inner(fields, "inlineData", spelled)) is not None:
        mime = inner.text("mimeType")
        part = Part(
            kind_of_mime(mime), mime, data=inner.text("data"), name=inner.text("displayName")
        )
        fields.put_back("inlineData", inner)
        return part if part.data and part.mime else None
    if (inner := camel_inner(fields, "fileData", spelled)) is not None:
        mime = inner.text("mimeType")
        uri = inner.text("fileUri")
        owner = _GEMINI if _KEPT.match(uri) else None
        name = inner.text("displayName")
        part = Part(kind_of_mime(mime), mime, url=uri, protocol=owner, name=name)
        fields.put_back("fileData", inner)
        return part if part.url else None
    return None


def read_response(part: Fields, builder: TurnBuilder) -> None:
    """Take a `functionResponse` as a turn of its own."""
    spelled: set[str] = set()
    fields = camel_fields(part.left, part.place, spelled)
    answer = camel_inner(fields, "functionResponse", spelled)
    if answer is None:  # an empty object
        builder.other("functionResponse", part.left)
        return
    builder.tool_call_id, builder.name = answer.text("id"), answer.text("name")
    response = answer.left.get("response")
    name = ""
    text: str | None = None
    if isinstance(response, dict):
        del answer.left["response"]
        said = cast("dict[str, Any]", response)
        key = next(iter(said), "")
        if len(said) == 1 and key in ("output", "error") and isinstance(said[key], str):
            text = said[key]
            builder.failed = True if key == "error" else None
        else:
            name, text = "object", compact(said)
    media = _media_parts(answer, spelled)
    fields.put_back("functionResponse", answer)
    builder.result(name=name, **_marks(fields, spelled))
    if text:
        builder.text(text)
    elif text is None:
        builder.shape = "absent"
    for each, marks in media:
        builder.part(each, **marks)


def _media_parts(answer: Fields, spelled: set[str]) -> list[tuple[Part, dict[str, Any]]]:
    """Return the parts of a response that are bytes or files; nothing where one is neither."""
    given = answer.left.get("parts")
    if not isinstance(given, list) or not given:
        return []
    found: list[tuple[Part, dict[str, Any]]] = []
    for each in cast("list[object]", given):
        if not isinstance(each, dict):
            return []
        own: set[str] = set()
        fields = camel_fields(cast("dict[str, Any]", each), "", own)
        media = read_media(fields, own)
        if media is None:
            return []
        found.append((media, _marks(fields, own)))
    del answer.left["parts"]
    return found


def _marks(fields: Fields, spelled: set[str]) -> dict[str, Any]:
    return {"extras": fields.rest(), "spelled": tuple(sorted(spelled))}
