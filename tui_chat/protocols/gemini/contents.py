"""A turn as content of generateContent: written, and read.

1. Each block is a part. A part has one data field; the other fields (`thought`, `thoughtSignature`,
   `videoMetadata`) describe it. A signature stays on its part.
2. A function response is a turn of its own, which shares a content with others: their form is
   `joined`. Its text is `{"output": text}` or `{"error": text}`; any other object is its text as
   JSON, which the form says.
3. The other words of a block's form are its keys in snake_case; see `spelling`.
4. A refusal is text of the model. Empty text is allowed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from tui_chat.models.blocks import (
    Block,
    CallBlock,
    Extras,
    HasExtras,
    Json,
    JsonObject,
    MediaBlock,
    MediaKind,
    OpaqueBlock,
    ReasoningBlock,
    ResultBlock,
    TextBlock,
    form_of,
    own,
)
from tui_chat.models.endpoint import Protocol
from tui_chat.models.json_text import to_json
from tui_chat.models.json_tree import Lit
from tui_chat.models.message import MessageRole
from tui_chat.models.text import GLUE, Text
from tui_chat.models.turn import Turn
from tui_chat.protocols.common.reading import (
    items_of,
    learned,
    learned_turn,
    role_at,
    string,
    turn_origin,
)
from tui_chat.protocols.common.trees import Named, Word, dictionary, labelled, with_keys
from tui_chat.protocols.common.turn_fit import (
    arguments_object,
    google_signature,
    merged_text,
    written_arguments,
)
from tui_chat.protocols.gemini.spelling import HOLDERS, camel, spelled

_GEMINI = Protocol.GEMINI
JOINED = "joined"
"""The form of a turn that shares the content of the turn before it."""
OBJECT = "object"
"""The word in the form of a result whose text is the response object as JSON."""
_TRUE = Lit(True)


# --- writing -----------------------------------------------------------------------------


def write_content(first: Turn, parts: Json) -> JsonObject:
    """Return a content with these parts; `first` is its first turn."""
    role = {"role": Word("model" if first.role == "assistant" else "user")}
    written = {**({} if first.role == "system" else role), "parts": parts}
    return with_keys(written, first, _GEMINI)


def write_parts(turn: Turn) -> list[Json]:
    """Return the parts of a turn. Nothing is left out that the protocol has a form for."""
    if (head := turn.result) is not None:
        return [_spelled(_write_result(turn, head), head)]
    parts = (
        write_part(block, turn.text_at(index) if isinstance(block, TextBlock) else None)
        for index, block in enumerate(turn.blocks)
    )
    return [part for part in parts if part is not None]


def write_part(block: Block, text: Text | None = None) -> Json:
    """Return a block as a part; None if there is no form for it. `text`: that of a text block with
    its origins.
    """
    if isinstance(block, OpaqueBlock):
        return labelled(block.value, block.name) if block.protocol is _GEMINI else None
    written = _write_part(block, text)
    return None if written is None else _spelled(written, block)


def _spelled(written: JsonObject, holder: HasExtras) -> JsonObject:
    return spelled(written, form_of(holder, _GEMINI).split(), HOLDERS)


def _write_part(block: Block, text: Text | None = None) -> JsonObject | None:
    """Return a block as a part whose keys are all in camelCase."""
    match block:
        case TextBlock(is_refusal=True):
            written: JsonObject | None = {"text": Named(block.text, "refusal")}
        case TextBlock():
            written = {"text": block.text if text is None else text}
        case ReasoningBlock() if own(block, _GEMINI) is not None:
            written = {"text": Named(block.text, "thought"), "thought": _TRUE}
        case CallBlock():
            written = {"functionCall": _write_call(block)}
        case MediaBlock():
            written = _write_media(block)
        case _:
            return None
    if written is None:
        return None
    if signature := google_signature(block):
        written["thoughtSignature"] = Named(signature, "signature")
    return with_keys(written, block, _GEMINI)


def _write_call(block: CallBlock) -> JsonObject:
    written: JsonObject = {"id": Named(block.id, "tool call id")} if block.id else {}
    if block.name:
        written["name"] = Named(block.name, "tool name")
    if block.arguments:
        written["args"] = written_arguments(block)
    return written


def _write_media(block: MediaBlock) -> JsonObject | None:
    if block.text:
        return {"text": Named(block.text, "document")}
    written: JsonObject = {"mimeType": Word(block.mime)} if block.mime else {}
    name = {"displayName": Named(block.name, "name")} if block.name else {}
    if block.data:
        return {"inlineData": {**written, "data": Named(block.data, block.media), **name}}
    if block.url:
        return {"fileData": {**written, "fileUri": Named(block.url, "link"), **name}}
    return None


def _write_result(turn: Turn, head: ResultBlock) -> JsonObject:
    """Return a tool result as a part whose keys are in camelCase, but for those of its media."""
    content = turn.blocks[1:]
    if content and isinstance(content[0], OpaqueBlock):  # the whole part, which was empty
        return labelled(content[0].value, content[0].name)
    written: JsonObject = {"id": Named(head.call_id, "tool call id")} if head.call_id else {}
    if head.name:
        written["name"] = Named(head.name, "tool name")
    written["response"] = _write_response(turn, head)
    media = [write_part(block) for block in content if isinstance(block, MediaBlock)]
    if parts := [part for part in media if part is not None]:
        written["parts"] = parts
    return with_keys({"functionResponse": written}, head, _GEMINI)


def _write_response(turn: Turn, head: ResultBlock) -> Json:
    text = merged_text(turn)
    if OBJECT in form_of(head, _GEMINI).split():
        # If its text was edited, it may be no object any more.
        value = arguments_object(text.plain) if text.plain else None
        if value is not None:
            return Named(value, "response")
    return {"error" if head.failed else "output": text}


# --- reading -----------------------------------------------------------------------------

_ROLES: dict[str, MessageRole] = {"user": "user", "model": "assistant", "function": "user"}


def read_content(wire: JsonObject, number: int = 1, place: str = "content") -> list[Turn]:
    """Return a content as turns. `number` is that of the first, `place` the content's in the body.
    Raises InputError for an unknown role.
    """
    _, role = role_at({"role": "user", **wire}, place, _ROLES)
    groups = list(_groups(items_of(wire.get("parts")), role)) or [(role, [])]
    turns = [
        Turn(
            each,
            tuple(blocks),
            turn_origin(each, number + index),
            extras=Extras(_GEMINI, JOINED if index else ""),
        )
        for index, (each, blocks) in enumerate(groups)
    ]
    parts = [part for turn in turns for part in write_parts(turn)]
    turns[0] = learned_turn(turns[0], wire, _GEMINI, write_content(turns[0], parts))
    return turns


def read_instruction(wire: JsonObject) -> Turn | None:
    """Return the turn of a `systemInstruction`; None if it has no parts."""
    blocks = tuple(_read_part(part, "system") for part in items_of(wire.get("parts")))
    turn = Turn("system", blocks, turn_origin("system", 1), extras=Extras(_GEMINI))
    written = write_content(turn, write_parts(turn))
    return learned_turn(turn, wire, _GEMINI, written) if blocks else None


def _groups(parts: Sequence[Json], role: MessageRole) -> Iterator[tuple[MessageRole, list[Block]]]:
    """Yield the blocks of each turn in a content: a result, or what is between two of them."""
    between: list[Block] = []
    for part in parts:
        result = _read_result(part) if role == "user" else []
        if not result:
            between.append(_read_part(part, role))
            continue
        if between:
            yield role, between
        yield "tool", result
        between = []
    if between:
        yield role, between


def _read_part(wire: Json, role: MessageRole) -> Block:
    part, form = camel(dictionary(wire), HOLDERS)
    block = _read_block(part, role)
    if block is None:
        name = next((key for key in dictionary(wire) if key not in _ASIDE), "part")
        return OpaqueBlock(_GEMINI, name, wire)
    return learned(block, part, _GEMINI, _write_part, form)


_ASIDE = ("thought", "thoughtSignature", "thought_signature", "videoMetadata", "video_metadata")


def _read_block(
    part: JsonObject, role: MessageRole
) -> TextBlock | ReasoningBlock | CallBlock | MediaBlock | None:
    if isinstance(part.get("text"), str):
        is_thought = part.get("thought") is True
        return ReasoningBlock(part["text"]) if is_thought else TextBlock(part["text"])
    call = dictionary(part.get("functionCall"))
    if role == "assistant" and call:
        arguments = call.get("args")
        text = to_json(dictionary(arguments)) if isinstance(arguments, dict) else ""
        return CallBlock(string(call, "id"), string(call, "name"), text)
    return _read_media(part)


def _read_media(part: Mapping[str, Json]) -> MediaBlock | None:
    inner = dictionary(part.get("inlineData"))
    mime, data = string(inner, "mimeType"), string(inner, "data")
    if mime and data:
        name = string(inner, "displayName")
        return MediaBlock(kind_of_mime(mime), mime, data, name=name)
    inner = dictionary(part.get("fileData"))
    mime, uri, name = (string(inner, key) for key in ("mimeType", "fileUri", "displayName"))
    owner = _GEMINI if KEPT.match(uri) else None
    return MediaBlock(kind_of_mime(mime), mime, url=uri, name=name, owner=owner) if uri else None


KEPT = re.compile(r"gs://|https://generativelanguage\.googleapis\.com/")
"""Files that Google keeps, which nobody else can fetch."""


def kind_of_mime(mime: str) -> MediaKind:
    """Return the kind of part of a MIME type."""
    match mime.partition("/")[0]:
        case "image" | "audio" | "video" as kind:
            return kind
        case _:
            return "file"


def _read_result(wire: Json) -> list[Block]:
    """Return the head of a result and its content; nothing for any other part."""
    part, form = camel(dictionary(wire), HOLDERS)
    answer = part.get("functionResponse")
    if not isinstance(answer, dict):
        return []
    answer = dictionary(answer)
    response = answer.get("response")
    text, failed = "", None
    match response:
        case {"output": str(text), **other} if not other:
            pass
        case {"error": str(text), **other} if not other:
            failed = True
        case dict():
            text, form = to_json(dictionary(response)), f"{OBJECT} {form}".strip()
        case _:
            pass
    content: list[Block] = [TextBlock(text)] if text else []
    media = [_read_part(each, "tool") for each in items_of(answer.get("parts"))]
    if all(isinstance(block, MediaBlock) for block in media):
        content += media

    def write(head: ResultBlock) -> JsonObject:
        return _write_result(Turn("tool", (head, *content), GLUE), head)

    head = ResultBlock(string(answer, "id"), string(answer, "name"), failed)
    return [learned(head, part, _GEMINI, write, form), *content]
