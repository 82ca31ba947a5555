"""A turn as it is sent: fit for the protocol, written as a message, with what it loses.

It depends on the turn alone, so it is made once. A turn that was captured from this protocol is
written as it was. Of any other, thinking that came from Ollama is sent back, and the model's
template decides what is used; ids of calls that we made up are not sent.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.blocks import Block, CallBlock, MediaBlock, ResultBlock, TextBlock
from tui_chat.models.envelope import Level, Note
from tui_chat.models.json_tree import Obj
from tui_chat.models.memo import Memo
from tui_chat.models.turn import Turn, with_each_block
from tui_chat.protocols.common.losses import argument_notes, is_bare, loss_notes, turn_losses
from tui_chat.protocols.common.trees import object_of, plain
from tui_chat.protocols.common.turn_fit import id_to_send, text_document, with_portable_forms
from tui_chat.protocols.ollama.messages import (
    OLLAMA,
    content_of,
    image_of,
    read_message,
    write_message,
)


@dataclass(frozen=True, slots=True, eq=False)
class SentMessage:
    """A turn in the form of this protocol."""

    tree: Obj
    notes: tuple[Note, ...] = ()


@Memo
def sent_message(turn: Turn) -> SentMessage:
    """Return a turn as it is sent."""
    if turn.captured_from(OLLAMA):
        return SentMessage(object_of(write_message(turn), turn.origin))
    said = with_each_block(turn, lambda block: _own_form(turn, block))
    fit = with_portable_forms(said, OLLAMA)
    written = write_message(fit)
    notes = [*_form_notes(fit)]
    if not is_bare(said):
        losses = list(turn_losses(said, [read_message(plain(written))], OLLAMA))
        notes += loss_notes(said, losses, OLLAMA)
    return SentMessage(object_of(written, turn.origin), tuple(notes))


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
    texts = [i for i, b in enumerate(turn.blocks) if isinstance(b, TextBlock) or _is_document(b)]
    images = [i for i, block in enumerate(turn.blocks) if image_of(block)]
    if any(texts[0] < index < texts[-1] for index in images if texts):
        sentence = "Ollama has no place for an image within the text; it comes first."
        yield Note(Level.WARNING, "order-changed", sentence, turn.origin)
    yield from argument_notes(turn, OLLAMA)
    if content_of(turn)[1]:
        sentence = "Ollama has one text here; the blocks of text are joined by line breaks."
        yield Note(Level.INFO, "parts-merged", sentence, turn.origin)


def _is_document(block: Block) -> bool:
    return isinstance(block, MediaBlock) and bool(block.text)
