"""Turns as contents of generateContent: written, read, and made fit to send.

1. Each block is a part. A part has one data field; the other fields (`thought`, `thoughtSignature`,
   `videoMetadata`) describe it. A signature stays on its part.
2. A function response is a turn of its own, which shares a content with others: their form is
   `joined`. Its text is `{"output": text}` or `{"error": text}`; any other object is its text as
   JSON, which the form says.
3. The other words of a block's form are its keys in snake_case; see `spelling`.
4. A refusal is text of the model. Empty text is allowed.

What was captured from this protocol was accepted as it was, and is sent so. Of any other turn:
5. Calls need no ids, so those that we made up are not sent. A call has arguments, a result the name
   of its function, and bytes a type.
6. A document of a tool result is sent as bytes: a response holds no other text than its own.
7. All system turns are the one `systemInstruction`, which is a text.
"""

from __future__ import annotations

import mimetypes
import re
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import replace

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.blocks import (
    Block,
    CallBlock,
    Extras,
    Json,
    JsonObject,
    MediaBlock,
    OpaqueBlock,
    ReasoningBlock,
    ResultBlock,
    TextBlock,
    form_of,
    own,
)
from tui_chat.models.endpoint import Protocol
from tui_chat.models.envelope import Level, Note, Turn, with_block, with_each_block
from tui_chat.models.json_text import to_json
from tui_chat.models.media import kind_of
from tui_chat.models.memo import Memo
from tui_chat.models.message import MessageRole
from tui_chat.models.payload import Lit, Obj, Tree
from tui_chat.models.text import GLUE, Text
from tui_chat.protocols.common import losses, reading
from tui_chat.protocols.common.reading import items_of, learned, string, turn_origin
from tui_chat.protocols.common.trees import (
    Named,
    Word,
    dictionary,
    labelled,
    object_of,
    optional,
    plain,
    tree,
    with_keys,
)
from tui_chat.protocols.common.turn_fit import (
    arguments_object,
    google_signature,
    id_to_send,
    merged_text,
    portable,
    text_borders,
    without,
    written_arguments,
)
from tui_chat.protocols.gemini.spelling import HOLDERS, camel, spelled

GEMINI = Protocol.GEMINI
JOINED = "joined"
"""The form of a turn that shares the content of the turn before it."""
_OBJECT = "object"
"""The word in the form of a result whose text is the response object as JSON."""


# --- writing -----------------------------------------------------------------------------


def write_content(first: Turn, parts: Json) -> JsonObject:
    """Return a content with these parts; `first` is its first turn."""
    role = {"role": Word("model" if first.role == "assistant" else "user")}
    written = {**({} if first.role == "system" else role), "parts": parts}
    return with_keys(written, first, GEMINI)


def write_parts(turn: Turn) -> list[Json]:
    """Return the parts of a turn. Nothing is left out that the protocol has a form for."""
    if (head := turn.result) is not None:
        return [_spelled(_write_result(turn, head), head)]
    parts = (
        _write_part(block, turn.text_at(index) if isinstance(block, TextBlock) else None)
        for index, block in enumerate(turn.blocks)
    )
    return [part for part in parts if part is not None]


def _write_part(block: Block, text: Text | None = None) -> Json:
    """Return a block as a part; None if there is no form for it. `text`: that of a text block with
    its origins.
    """
    if isinstance(block, OpaqueBlock):
        return labelled(block.value, block.name) if block.protocol is GEMINI else None
    written = _write_block(block, text)
    return _spelled(written, block) if written else None


def _spelled(written: JsonObject, head: Block) -> JsonObject:
    return spelled(written, form_of(head, GEMINI).split(), HOLDERS)


def _write_block(block: Block, text: Text | None = None) -> JsonObject:
    """Return a block as a part with all keys in camelCase; empty if there is no form for it."""
    match block:
        case TextBlock():
            said = Named(block.text, "refusal") if block.is_refusal else block.text
            written: JsonObject = {"text": said if text is None or block.is_refusal else text}
        case ReasoningBlock() if own(block, GEMINI) is not None:
            written = {"text": Named(block.text, "thought"), "thought": Lit(True)}
        case CallBlock():
            call = optional("id", block.id, "tool call id")
            call |= optional("name", block.name, "tool name")
            call |= {"args": written_arguments(block)} if block.arguments else {}
            written = {"functionCall": call}
        case MediaBlock(text="", data="", url=""):
            return {}
        case MediaBlock():
            mime = {"mimeType": Word(block.mime)} if block.mime else {}
            name = optional("displayName", block.name, "name")
            if block.text:
                written = {"text": Named(block.text, "document")}
            elif block.data:
                data = {"data": Named(block.data, block.media)}
                written = {"inlineData": {**mime, **data, **name}}
            else:
                written = {"fileData": {**mime, "fileUri": Named(block.url, "link"), **name}}
        case _:
            return {}
    written |= optional("thoughtSignature", google_signature(block), "signature")
    return with_keys(written, block, GEMINI)


def _write_result(turn: Turn, head: ResultBlock) -> JsonObject:
    """Return a tool result as a part whose keys are in camelCase, but for those of its media."""
    content = turn.blocks[1:]
    if content and isinstance(content[0], OpaqueBlock):  # the whole part, which was empty
        return labelled(content[0].value, content[0].name)
    text = merged_text(turn)
    # If its text was edited, it may be no object any more.
    is_object = _OBJECT in form_of(head, GEMINI).split() and text.plain
    value = arguments_object(text.plain) if is_object else None
    said = {"error" if head.failed else "output": text}
    media = [_write_part(block) for block in content if isinstance(block, MediaBlock)]
    parts = [part for part in media if part is not None]
    written: JsonObject = {
        **optional("id", head.call_id, "tool call id"),
        **optional("name", head.name, "tool name"),
        "response": said if value is None else Named(value, "response"),
        **({"parts": parts} if parts else {}),
    }
    return with_keys({"functionResponse": written}, head, GEMINI)


# --- reading -----------------------------------------------------------------------------

_ROLES: dict[str, MessageRole] = {"user": "user", "model": "assistant", "function": "user"}
_KEPT = re.compile(r"gs://|https://generativelanguage\.googleapis\.com/")
"""Files that Google keeps, which nobody else can fetch."""


def read_content(wire: JsonObject, number: int = 1, place: str = "content") -> list[Turn]:
    """Return a content as turns: its results, and what is between two of them. `number` is that of
    the first, `place` the content's in the body. Raises InputError for an unknown role.
    """
    _, role = reading.role_at({"role": "user", **wire}, place, _ROLES)
    groups: list[tuple[MessageRole, list[Block]]] = []
    for part in items_of(wire.get("parts")):
        if role == "user" and (result := _read_result(part)):
            groups.append(("tool", result))
            continue
        if not groups or groups[-1][0] == "tool":
            groups.append((role, []))
        groups[-1][1].append(_read_part(part, role))
    if not groups:
        groups.append((role, []))
    turns = [
        Turn(
            of,
            tuple(blocks),
            turn_origin(of, number + index),
            extras=Extras(GEMINI, JOINED if index else ""),
        )
        for index, (of, blocks) in enumerate(groups)
    ]
    parts = [part for turn in turns for part in write_parts(turn)]
    turns[0] = reading.learned_turn(turns[0], wire, GEMINI, write_content(turns[0], parts))
    return turns


def read_instruction(wire: JsonObject) -> Turn | None:
    """Return the turn of a `systemInstruction`; None if it has no parts."""
    blocks = tuple(_read_part(part, "system") for part in items_of(wire.get("parts")))
    turn = Turn("system", blocks, turn_origin("system", 1), extras=Extras(GEMINI))
    written = write_content(turn, write_parts(turn))
    return reading.learned_turn(turn, wire, GEMINI, written) if blocks else None


_ASIDE = ("thought", "thoughtSignature", "thought_signature", "videoMetadata", "video_metadata")


def _read_part(wire: Json, role: MessageRole) -> Block:
    part, form = camel(dictionary(wire), HOLDERS)
    call = dictionary(part.get("functionCall"))
    if isinstance(part.get("text"), str):
        block = ReasoningBlock if part.get("thought") is True else TextBlock
        return learned(block(part["text"]), part, GEMINI, _write_block, form)
    if role == "assistant" and call:
        arguments = call.get("args")
        text = to_json(dictionary(arguments)) if isinstance(arguments, dict) else ""
        block = CallBlock(string(call, "id"), string(call, "name"), text)
        return learned(block, part, GEMINI, _write_block, form)
    if (media := _read_media(part)) is not None:
        return learned(media, part, GEMINI, _write_block, form)
    name = next((key for key in dictionary(wire) if key not in _ASIDE), "part")
    return OpaqueBlock(GEMINI, name, wire)


def _read_media(part: JsonObject) -> MediaBlock | None:
    for holder, key in (("inlineData", "data"), ("fileData", "fileUri")):
        inner = dictionary(part.get(holder))
        mime, content, name = (string(inner, key) for key in ("mimeType", key, "displayName"))
        kind = kind_of(mime)
        if content and key == "fileUri":
            owner = GEMINI if _KEPT.match(content) else None
            return MediaBlock(kind, mime, url=content, name=name, owner=owner)
        if content and mime:
            return MediaBlock(kind, mime, content, name=name)
    return None


def _read_result(wire: Json) -> list[Block]:
    """Return the head of a result and its content; nothing for any other part."""
    part, form = camel(dictionary(wire), HOLDERS)
    answer = dictionary(part.get("functionResponse"))
    if not isinstance(part.get("functionResponse"), dict):
        return []
    text, failed = "", None
    match answer.get("response"):
        case {"output": str(text), **other} if not other:
            pass
        case {"error": str(text), **other} if not other:
            failed = True
        case dict():
            text, form = to_json(answer["response"]), f"{_OBJECT} {form}".strip()
        case _:
            pass
    content: list[Block] = [TextBlock(text)] if text else []
    media = [_read_part(each, "tool") for each in items_of(answer.get("parts"))]
    if all(isinstance(block, MediaBlock) for block in media):
        content += media

    def write(head: ResultBlock) -> JsonObject:
        return _write_result(Turn("tool", (head, *content), GLUE), head)

    head = ResultBlock(string(answer, "id"), string(answer, "name"), failed)
    return [learned(head, part, GEMINI, write, form), *content]


# --- sending -----------------------------------------------------------------------------

_STAND_IN = "skip_thought_signature_validator"
"""The signature that Google documents for calls which have none of their own."""
_UNKNOWN = {"image": "image/png", "audio": "audio/wav", "video": "video/mp4"}
"""The types that bytes of unknown type get: Gemini demands a type."""


@dataclass(frozen=True, slots=True, eq=False)
class SentContent:
    """A turn in the form of this protocol."""

    parts: tuple[Tree, ...]
    content: Obj
    """The turn as a content by itself."""
    notes: tuple[Note, ...] = ()


@Memo
def sent_content(turn: Turn, signs: bool) -> SentContent:
    """Return a turn as it is sent. `signs`: its first call must have a signature."""
    notes: list[Note] = []
    is_own = turn.captured_from(GEMINI)
    fit = turn if is_own else _fitted(turn)
    if signs and (signed := _signed(fit)) is not fit:
        sentence = (
            "The first tool call has no thought signature, which Gemini 3 requires; Google's "
            "placeholder for calls of other models is sent."
        )
        notes.append(Note(Level.WARNING, "signature-stand-in", sentence, turn.origin))
        fit = signed
    written = write_parts(fit)
    if not (written or is_own):
        written.append({"text": ""})
    notes += losses.argument_notes(fit, GEMINI)
    if turn.role == "tool":
        notes += _merged_notes(turn)
    if not is_own:
        wire = write_content(fit, written)
        notes += losses.loss_notes(_with_bytes(turn), GEMINI, lambda: read_content(plain(wire)))
    parts = tuple([tree(part, turn.origin) for part in written])
    return SentContent(parts, object_of(write_content(turn, parts), turn.origin), tuple(notes))


def _fitted(turn: Turn) -> Turn:
    """Return a turn that is accepted."""
    fit = _with_bytes(portable(turn, GEMINI))
    if turn.role == "system":
        fit = without(fit, lambda block: isinstance(block, MediaBlock))
    return with_each_block(fit, lambda block: _fit_block(turn, block))


def _fit_block(turn: Turn, block: Block) -> Block:
    fit = block
    match block:
        case CallBlock():
            identity, arguments = id_to_send(turn, block.id), block.arguments or "{}"
            fit = replace(block, id=identity, arguments=arguments)
        case ResultBlock():
            identity, name = id_to_send(turn, block.call_id), block.name or block.call_id or "_"
            fit = replace(block, call_id=identity, name=name)
        case MediaBlock(mime="") if block.data:
            fit = replace(block, mime=_UNKNOWN.get(block.media, "application/octet-stream"))
        case MediaBlock(mime="") if block.url:
            guessed, _ = mimetypes.guess_type(block.url.partition("?")[0])
            fit = replace(block, mime=guessed or "")
        case _:
            pass
    return block if fit == block else fit


def _with_bytes(turn: Turn) -> Turn:
    """Return a turn whose documents are bytes if it is a tool result."""
    if turn.role != "tool":
        return turn
    return with_each_block(turn, _as_bytes)


def _as_bytes(block: Block) -> Block:
    if not isinstance(block, MediaBlock) or not block.text:
        return block
    data = b64encode(block.text.encode()).decode()
    return replace(block, mime=block.mime or "text/plain", data=data, text="")


def _signed(turn: Turn) -> Turn:
    """Return a turn whose first call has a signature; the turn itself if it had one."""
    for index, block in enumerate(turn.blocks):
        if isinstance(block, CallBlock):
            if google_signature(block):
                return turn
            mine = own(block, GEMINI) or Extras(GEMINI)
            keys = {**mine.keys, "thoughtSignature": _STAND_IN}
            return with_block(turn, index, replace(block, extras=replace(mine, keys=keys)))
    return turn


def _merged_notes(turn: Turn) -> Iterator[Note]:
    """Yield the note on blocks of text that are sent as one."""
    if text_borders(turn):
        sentence = (
            f"{GEMINI.label} has one text here; the blocks of text are joined by line breaks."
        )
        yield Note(Level.INFO, "parts-merged", sentence, turn.origin)


def instruction_notes(turn: Turn) -> Iterator[Note]:
    """Yield the notes on a system turn of which the instruction has the text alone."""
    heard = Turn("system", (TextBlock(merged_text(turn).plain),), turn.origin)
    for block in turn.blocks:
        if isinstance(block, OpaqueBlock) and block.protocol is GEMINI:
            yield losses.reason_note("opaque", turn.origin, GEMINI, block.name)
    yield from losses.loss_notes(turn, GEMINI, lambda: [heard])
    yield from _merged_notes(turn)
