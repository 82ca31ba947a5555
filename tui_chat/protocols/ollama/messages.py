"""Turns as messages of `/api/chat`: written, read, and made fit to send.

1. The content is one text. Texts that an image or another part separated have a blank line between
   them, and so has a document. Images are beside the text, without a place in it.
2. An image is base64: a link is not fetched. Any message may have images.
3. The arguments of a call are an object; broken arguments are wrapped in one. Ids are optional: a
   result names its tool, and its call's id if there is one. Those that we made up are not sent.
4. A refusal is text of the model, after all other.
5. Thinking that came from Ollama is sent back, and the model's template decides what is used.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tui_chat.models.blocks import (
    Block,
    CallBlock,
    Extras,
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
from tui_chat.models.envelope import Level, Note, Turn, with_each_block
from tui_chat.models.json_text import to_json
from tui_chat.models.memo import Memo
from tui_chat.models.message import MESSAGE_ROLES, MessageRole
from tui_chat.models.payload import Obj
from tui_chat.models.text import Text, clean
from tui_chat.protocols.common import reading
from tui_chat.protocols.common.losses import argument_notes, loss_notes
from tui_chat.protocols.common.reading import items_of, learned, string
from tui_chat.protocols.common.trees import (
    Named,
    Word,
    dictionary,
    field_origin,
    object_of,
    optional,
    plain,
    with_keys,
)
from tui_chat.protocols.common.turn_fit import (
    id_to_send,
    joined,
    text_borders,
    text_document,
    with_break,
    with_portable_forms,
    written_arguments,
)

OLLAMA = Protocol.OLLAMA
_IMAGE_TYPES = {
    "iVBORw0KGgo": "image/png",
    "/9j/": "image/jpeg",
    "R0lGOD": "image/gif",
    "UklGR": "image/webp",
}
"""The type of an image by the beginning of its base64."""


def write_message(turn: Turn) -> JsonObject:
    """Return a turn as a message."""
    thoughts = [block.text for block in turn.reasoning if own(block, OLLAMA) is not None]
    images = [Named(data, "image") for block in turn.blocks if (data := _image_of(block))]
    calls = [_write_call(call) for call in turn.tool_calls]
    written: JsonObject = {
        "role": Word(form_of(turn, OLLAMA) or turn.role),
        "content": _content_of(turn)[0],
        **optional("thinking", "".join(thoughts), "thinking"),
        **({"images": images} if images else {}),
        **({"tool_calls": calls} if calls else {}),
        **optional("tool_name", turn.tool_name, "tool name"),
        **optional("tool_call_id", turn.tool_call_id, "tool call id"),
    }
    return with_keys(written, turn, OLLAMA)


def _image_of(block: Block) -> str:
    """Return the image that a block is, in base64; empty for none."""
    if isinstance(block, OpaqueBlock):  # as replies were stored once
        return string(dictionary(block.value), "image") if block.protocol is OLLAMA else ""
    is_image = isinstance(block, MediaBlock) and block.media == "image" and not block.text
    return block.data if is_image and isinstance(block, MediaBlock) else ""


def _content_of(turn: Turn) -> tuple[Text, bool]:
    """Return the one text of a turn, and True if it was several that no blank line separates."""
    texts: list[Text] = []
    refusal, goes_on, is_merged, borders = Text(), False, False, text_borders(turn)
    for index, block in enumerate(turn.blocks):
        if isinstance(block, TextBlock) and block.is_refusal:
            refusal = Text.of(clean(block.text), field_origin(turn.origin, "refusal"))
        elif isinstance(block, TextBlock) and block.text:
            text, is_border = turn.text_at(index), index in borders
            if goes_on:
                join = with_break if is_border else joined
                text, is_merged = join(texts.pop(), text), is_merged or is_border
            texts.append(text)
            goes_on = True
        elif isinstance(block, MediaBlock):
            goes_on = False
            if block.text:
                texts.append(Text.of(clean(block.text), field_origin(turn.origin, "document")))
    text = Text.join("\n\n", texts)
    if len(text) and len(refusal):
        return with_break(text, refusal), True
    return joined(text, refusal), is_merged


def _write_call(block: CallBlock) -> JsonObject:
    name = Named(block.name, "tool name")
    written = {
        **optional("id", block.id, "tool call id"),
        "function": {"name": name, "arguments": written_arguments(block)},
    }
    return with_keys(written, block, OLLAMA)


# --- reading -----------------------------------------------------------------------------


def read_message(wire: JsonObject, number: int = 1) -> Turn:
    """Return a message as a turn; roles are read in any capitalization, as the server does. Raises
    InputError for an unknown one.
    """
    word, place = string(wire, "role"), f"messages[{number - 1}]"
    roles: dict[str, MessageRole] = {role: role for role in MESSAGE_ROLES}
    _, role = reading.role_at({**wire, "role": word.lower()}, place, roles)
    reading.content_at(wire, "content", place, has_parts=False)
    form, origin = word if word != role else "", reading.turn_origin(role, number)
    turn = Turn(role, tuple(_read_blocks(wire, role)), origin, extras=Extras(OLLAMA, form))
    return reading.learned_turn(turn, wire, OLLAMA, write_message(turn), form)


def _read_blocks(wire: JsonObject, role: MessageRole) -> Iterator[Block]:
    if role == "tool":
        yield ResultBlock(string(wire, "tool_call_id"), string(wire, "tool_name"))
    if role == "assistant" and (thinking := string(wire, "thinking")):
        yield ReasoningBlock(thinking, Extras(OLLAMA))
    if text := string(wire, "content"):
        yield TextBlock(text)
    images = items_of(wire.get("images"))
    for image in images if all(isinstance(image, str) for image in images) else ():
        kinds = (kind for start, kind in _IMAGE_TYPES.items() if image.startswith(start))
        yield MediaBlock("image", next(kinds, ""), data=image)
    for call in items_of(wire.get("tool_calls")) if role == "assistant" else ():
        call, function = dictionary(call), dictionary(dictionary(call).get("function"))
        arguments = to_json(dictionary(function.get("arguments")))
        block = CallBlock(string(call, "id"), string(function, "name"), arguments)
        yield learned(block, call, OLLAMA, _write_call)


# --- sending -----------------------------------------------------------------------------


@Memo
def sent_message(turn: Turn) -> tuple[Obj, tuple[Note, ...]]:
    """Return a turn as it is sent, and what it loses. What was captured from this protocol is
    written as it was.
    """
    if turn.captured_from(OLLAMA):
        return object_of(write_message(turn), turn.origin), ()
    said = with_each_block(turn, lambda block: _own_form(turn, block))
    fit = with_portable_forms(said, OLLAMA)
    written = write_message(fit)
    notes = [*_form_notes(fit)]
    notes += loss_notes(said, OLLAMA, lambda: [read_message(plain(written))])
    return object_of(written, turn.origin), tuple(notes)


def _own_form(turn: Turn, block: Block) -> Block:
    match block:
        case CallBlock() if block.id != (identity := id_to_send(turn, block.id)):
            return replace(block, id=identity)
        case ResultBlock() if block.call_id != (identity := id_to_send(turn, block.call_id)):
            return replace(block, call_id=identity)
        case _:
            return text_document(block)


def _form_notes(turn: Turn) -> Iterator[Note]:
    """Yield the notes on what is sent in another form or place."""
    blocks = list(enumerate(turn.blocks))
    texts = [index for index, block in blocks if isinstance(block, TextBlock)]
    texts += [index for index, block in blocks if isinstance(block, MediaBlock) and block.text]
    if texts and any(min(texts) < i < max(texts) for i, block in blocks if _image_of(block)):
        sentence = "Ollama has no place for an image within the text; it comes first."
        yield Note(Level.WARNING, "order-changed", sentence, turn.origin)
    yield from argument_notes(turn, OLLAMA)
    if _content_of(turn)[1]:
        sentence = "Ollama has one text here; the blocks of text are joined by line breaks."
        yield Note(Level.INFO, "parts-merged", sentence, turn.origin)
