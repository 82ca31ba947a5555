"""A turn as a message of `/api/chat`: written, and read.

1. The content is one text. Texts that an image or another part separated have a blank line between
   them, and so has a document. Images are beside the text, without a place in it.
2. An image is base64: a link is not fetched. Any message may have images.
3. The arguments of a call are an object; broken arguments are wrapped in one. Ids are optional: a
   result names its tool, and its call's id if there is one.
4. A refusal is text of the model, after all other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

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
from tui_chat.models.json_text import to_json
from tui_chat.models.message import MESSAGE_ROLES, MessageRole
from tui_chat.models.text import Text, clean
from tui_chat.models.turn import Turn
from tui_chat.protocols.common.encoding import field_origin
from tui_chat.protocols.common.reading import (
    content_at,
    items_of,
    learned,
    learned_turn,
    role_at,
    string,
    turn_origin,
)
from tui_chat.protocols.common.trees import Named, Word, dictionary, with_keys
from tui_chat.protocols.common.turn_fit import (
    joined,
    text_borders,
    with_break,
    written_arguments,
)

OLLAMA = Protocol.OLLAMA
_DOCUMENT_SEPARATOR = "\n\n"
_IMAGE_TYPES = {
    "iVBORw0KGgo": "image/png",
    "/9j/": "image/jpeg",
    "R0lGOD": "image/gif",
    "UklGR": "image/webp",
}
"""The type of an image by the beginning of its base64."""


def write_message(turn: Turn) -> JsonObject:
    """Return a turn as a message."""
    written: JsonObject = {"role": Word(form_of(turn, OLLAMA) or turn.role)}
    written["content"], _ = content_of(turn)
    thinking = "".join(
        block.text
        for block in turn.blocks
        if isinstance(block, ReasoningBlock) and own(block, OLLAMA) is not None
    )
    if thinking:
        written["thinking"] = Named(thinking, "thinking")
    if images := [Named(data, "image") for block in turn.blocks if (data := image_of(block))]:
        written["images"] = images
    if turn.tool_calls:
        written["tool_calls"] = [_write_call(call) for call in turn.tool_calls]
    if (head := turn.result) is not None and head.name:
        written["tool_name"] = Named(head.name, "tool name")
    if head is not None and head.call_id:
        written["tool_call_id"] = Named(head.call_id, "tool call id")
    return with_keys(written, turn, OLLAMA)


def image_of(block: Block) -> str:
    """Return the image that a block is, in base64; empty for none."""
    if isinstance(block, OpaqueBlock):  # as replies were stored once
        return string(dictionary(block.value), "image") if block.protocol is OLLAMA else ""
    is_image = isinstance(block, MediaBlock) and block.media == "image" and not block.text
    return block.data if is_image and isinstance(block, MediaBlock) else ""


def content_of(turn: Turn) -> tuple[Text, bool]:
    """Return the one text of a turn, and True if it was several that no blank line separates."""
    texts: list[Text] = []
    refusal, goes_on, is_merged, borders = Text(), False, False, set(text_borders(turn))
    for index, block in enumerate(turn.blocks):
        match block:
            case TextBlock(is_refusal=True):
                refusal = Text.of(clean(block.text), field_origin(turn.origin, "refusal"))
            case TextBlock() if block.text and not goes_on:
                texts.append(turn.text_at(index))
                goes_on = True
            case TextBlock() if block.text:
                is_merged = is_merged or index in borders
                join = with_break if index in borders else joined
                texts[-1] = join(texts[-1], turn.text_at(index))
            case MediaBlock():
                goes_on = False
                if block.text:
                    origin = field_origin(turn.origin, "document")
                    texts.append(Text.of(clean(block.text), origin))
            case _:
                pass
    text = Text.join(_DOCUMENT_SEPARATOR, texts)
    if len(text) and len(refusal):
        return with_break(text, refusal), True
    return joined(text, refusal), is_merged


def _write_call(block: CallBlock) -> JsonObject:
    written: JsonObject = {"id": Named(block.id, "tool call id")} if block.id else {}
    written["function"] = {
        "name": Named(block.name, "tool name"),
        "arguments": written_arguments(block),
    }
    return with_keys(written, block, OLLAMA)


# --- reading -----------------------------------------------------------------------------


def read_message(wire: JsonObject, number: int = 1) -> Turn:
    """Return a message as a turn; roles are read in any capitalization, as the server does. Raises
    InputError for an unknown one.
    """
    word = string(wire, "role")
    roles: dict[str, MessageRole] = {role: role for role in MESSAGE_ROLES}
    place = f"messages[{number - 1}]"
    _, role = role_at({**wire, "role": word.lower()}, place, roles)
    content_at(wire, "content", place, has_parts=False)
    form = word if word != role else ""
    origin = turn_origin(role, number)
    turn = Turn(role, tuple(_blocks(wire, role)), origin, extras=Extras(OLLAMA, form))
    return learned_turn(turn, wire, OLLAMA, write_message(turn), form)


def _blocks(wire: JsonObject, role: MessageRole) -> Iterator[Block]:
    if role == "tool":
        yield ResultBlock(string(wire, "tool_call_id"), string(wire, "tool_name"))
    if role == "assistant" and (thinking := string(wire, "thinking")):
        yield ReasoningBlock(thinking, Extras(OLLAMA))
    if text := string(wire, "content"):
        yield TextBlock(text)
    images = items_of(wire.get("images"))
    for image in images if all(isinstance(image, str) for image in images) else ():
        yield MediaBlock("image", image_type(image), data=image)
    for call in items_of(wire.get("tool_calls")) if role == "assistant" else ():
        yield _read_call(dictionary(call))


def _read_call(wire: Mapping[str, Json]) -> CallBlock:
    function = dictionary(wire.get("function"))
    arguments = dictionary(function.get("arguments"))
    call = CallBlock(string(wire, "id"), string(function, "name"), to_json(arguments))
    return learned(call, dict(wire), OLLAMA, _write_call)


def image_type(data: str) -> str:
    """Return the type of an image; empty if it is not known."""
    return next((kind for start, kind in _IMAGE_TYPES.items() if data.startswith(start)), "")
