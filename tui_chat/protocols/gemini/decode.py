"""Decode a Gemini generateContent request.

1. `systemInstruction` is one leading system turn, its parts the pieces.
2. Every function response is a separate turn; the rest of its content is another turn, marked as
   joined to it. Any other content is one turn.
3. A part has one data field; the other fields (`thought`, `thoughtSignature`, `videoMetadata`)
   describe it. A signature stays on its part.
4. A function response is text if it is `{"output": text}` or `{"error": text}`; any other object
   is kept as its JSON.
5. The model is in the URL and may be missing in the body; the URL also decides whether the
   reply is streamed.
6. Keys may be in snake_case; see `spelling`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from tui_chat.errors import InputError
from tui_chat.models.endpoint import Protocol
from tui_chat.models.envelope import ChatEnvelope, Turn
from tui_chat.models.json_text import to_json
from tui_chat.models.message import MessageRole, Part, ToolCall
from tui_chat.models.semantics import ReasoningBlock
from tui_chat.protocols.common.decoding import (
    TurnBuilder,
    captured_envelope,
    turns_with_results,
)
from tui_chat.protocols.common.request_fields import Fields, load_request
from tui_chat.protocols.gemini.contents import KEPT, kind_of_mime
from tui_chat.protocols.gemini.reader import READER
from tui_chat.protocols.gemini.spelling import camel_fields

_GEMINI = Protocol.GEMINI
_ROLES: dict[str, MessageRole] = {
    "user": "user",
    "model": "assistant",
    "function": "user",
    "absent": "user",
}

_KNOWN = frozenset(
    (
        *("executableCode", "executable_code", "codeExecutionResult", "code_execution_result"),
        *("functionCall", "function_call", "functionResponse", "function_response"),
        *("inlineData", "inline_data", "fileData", "file_data"),
        *("toolCall", "tool_call", "toolResponse", "tool_response"),
    )
)
"""Types of content that the protocol has."""


def decode(body: bytes) -> ChatEnvelope:
    """Decode a request body. Raises InputError if it is not of this protocol."""
    loaded, notes = load_request(body, _GEMINI, "contents")
    captured = READER.read(dict(loaded.remaining))
    request = camel_fields(loaded.remaining, "", set())
    turns = list(_system(request))
    for content in request.take_list("contents"):
        turns += _turns(content, len(turns) + 1)
    return captured_envelope(captured, turns, notes, _KNOWN)


def _system(request: Fields) -> Iterator[Turn]:
    """Yield the turn of the instruction, if it has parts."""
    instruction = camel_inner(request, "systemInstruction", set())
    if instruction is None or not instruction.remaining.get("parts"):
        return
    builder = TurnBuilder(_GEMINI, "system", 1)
    builder.slot = "systemInstruction"
    for part in instruction.take_list("parts"):
        read_part(part, builder)
    builder.extras = instruction.remaining_json()
    yield builder.build()


def _turns(content: Fields, number: int) -> Iterator[Turn]:
    word = content.remaining.pop("role", "absent")
    role = _ROLES.get(word) if isinstance(word, str) else None
    if role is None:
        raise InputError(f"{content.path('role')} must be user or model, not {word!r}.")
    had_parts = content.remaining.get("parts") is not None
    parts = list(content.take_list("parts")) if had_parts else []
    builder = TurnBuilder(_GEMINI, role, number)
    builder.shape = "parts" if had_parts else "absent"
    builder.extras = content.remaining_json()
    builder.role_word = word if word in ("absent", "function") else ""
    yield from turns_with_results(builder, parts, is_response, read_response, read_part)


def is_response(part: Fields) -> bool:
    """Return True if a part is a function response."""
    return any(
        isinstance(part.remaining.get(k), dict) for k in ("functionResponse", "function_response")
    )


def read_part(part: Fields, builder: TurnBuilder) -> None:
    """Read one part into a turn."""
    whole = dict(part.remaining)
    spelled: set[str] = set()
    fields = camel_fields(part.remaining, part.place, spelled)
    signature = fields.take_text("thoughtSignature")
    text = fields.remaining.get("text")
    if isinstance(text, str):
        del fields.remaining["text"]
        if fields.take_equal("thought", True):
            block = ReasoningBlock(_GEMINI, text, signature)
            builder.add_reasoning(block, **_marks(fields, spelled))
        else:
            builder.add_text(text, signature=signature, **_marks(fields, spelled))
    elif (
        builder.role == "assistant"
        and (call := camel_inner(fields, "functionCall", spelled)) is not None
    ):
        arguments = call.remaining.get("args")
        if isinstance(arguments, dict):
            del call.remaining["args"]
        arguments_json = to_json(cast("object", arguments)) if isinstance(arguments, dict) else ""
        identity, name = call.take_text("id"), call.take_text("name")
        fields.put_back("functionCall", call)
        builder.add_call(
            ToolCall(identity, name, arguments_json), signature=signature, **_marks(fields, spelled)
        )
    elif (media := read_media(fields, spelled)) is not None:
        builder.add_part(media, signature=signature, **_marks(fields, spelled))
    else:
        builder.add_other(next((key for key in whole if key not in _ASIDE), "part"), whole)


_ASIDE = ("thought", "thoughtSignature", "thought_signature", "videoMetadata", "video_metadata")


def read_media(fields: Fields, spelled: set[str]) -> Part | None:
    """Return the bytes or the file of a part, its keys taken; None if it has neither."""
    if (inner := camel_inner(fields, "inlineData", spelled)) is not None:
        mime = inner.take_text("mimeType")
        part = Part(
            kind_of_mime(mime),
            mime,
            data=inner.take_text("data"),
            name=inner.take_text("displayName"),
        )
        fields.put_back("inlineData", inner)
        return part if part.data and part.mime else None
    if (inner := camel_inner(fields, "fileData", spelled)) is not None:
        mime = inner.take_text("mimeType")
        uri = inner.take_text("fileUri")
        owner = _GEMINI if KEPT.match(uri) else None
        name = inner.take_text("displayName")
        part = Part(kind_of_mime(mime), mime, url=uri, protocol=owner, name=name)
        fields.put_back("fileData", inner)
        return part if part.url else None
    return None


def read_response(part: Fields, builder: TurnBuilder) -> None:
    """Read a `functionResponse` into a turn of its own."""
    spelled: set[str] = set()
    fields = camel_fields(part.remaining, part.place, spelled)
    answer = camel_inner(fields, "functionResponse", spelled)
    if answer is None:  # an empty object
        builder.add_other("functionResponse", part.remaining)
        return
    builder.tool_call_id, builder.name = answer.take_text("id"), answer.take_text("name")
    response = answer.remaining.get("response")
    name = ""
    text: str | None = None
    if isinstance(response, dict):
        del answer.remaining["response"]
        response_fields = cast("dict[str, Any]", response)
        key = next(iter(response_fields), "")
        if (
            len(response_fields) == 1
            and key in ("output", "error")
            and isinstance(response_fields[key], str)
        ):
            text = response_fields[key]
            builder.failed = True if key == "error" else None
        else:
            name, text = "object", to_json(response_fields)
    media = _media_parts(answer, spelled)
    fields.put_back("functionResponse", answer)
    builder.add_result(name=name, **_marks(fields, spelled))
    builder.shape = "absent" if text is None else "parts"
    if text:
        builder.add_text(text)
    for media_part, marks in media:
        builder.add_part(media_part, **marks)


def _media_parts(answer: Fields, spelled: set[str]) -> list[tuple[Part, dict[str, Any]]]:
    """Return the parts of a response that are bytes or files; nothing if one is neither."""
    parts = answer.remaining.get("parts")
    if not isinstance(parts, list) or not parts:
        return []
    media_and_marks: list[tuple[Part, dict[str, Any]]] = []
    for part in cast("list[object]", parts):
        if not isinstance(part, dict):
            return []
        own: set[str] = set()
        fields = camel_fields(cast("dict[str, Any]", part), "", own)
        media = read_media(fields, own)
        if media is None:
            return []
        media_and_marks.append((media, _marks(fields, own)))
    del answer.remaining["parts"]
    return media_and_marks


def _marks(fields: Fields, spelled: set[str]) -> dict[str, Any]:
    return {"extras": fields.remaining_json(), "spelled": tuple(sorted(spelled))}


def camel_inner(fields: Fields, key: str, spelled: set[str]) -> Fields | None:
    """Take an inner object apart in the same way."""
    inner = fields.take_fields(key)
    return camel_fields(inner.remaining, inner.place, spelled) if inner else None
