"""A turn as it is sent: fit for the protocol, written as parts, with what it loses.

It depends on the turn alone, so it is made once. What was captured from this protocol was accepted
as it was, and is written so; of any other turn:

1. Calls need no ids, so those that we made up are not sent. A call has arguments, a result the name
   of its function, and bytes a type.
2. A document of a tool result is sent as bytes: a response holds no other text than its own.
3. All system turns are the one `systemInstruction`, which is a text.
"""

from __future__ import annotations

import mimetypes
from base64 import b64encode
from collections.abc import Iterable, Iterator
from dataclasses import replace

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.blocks import (
    Block,
    CallBlock,
    Extras,
    MediaBlock,
    OpaqueBlock,
    ResultBlock,
    TextBlock,
    own,
)
from tui_chat.models.endpoint import Protocol
from tui_chat.models.envelope import Level, Note
from tui_chat.models.json_tree import Obj, Tree
from tui_chat.models.memo import Memo
from tui_chat.models.turn import Turn, with_block, with_each_block
from tui_chat.protocols.common.losses import argument_notes, loss_notes, reason_note
from tui_chat.protocols.common.trees import object_of, plain, tree
from tui_chat.protocols.common.turn_fit import (
    google_signature,
    id_to_send,
    merged_text,
    portable,
    text_borders,
    without,
)
from tui_chat.protocols.gemini.contents import (
    read_content,
    write_content,
    write_parts,
)

_GEMINI = Protocol.GEMINI
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
    fit = turn if turn.captured_from(_GEMINI) else _fitted(turn)
    if signs and (signed := _signed(fit)) is not fit:
        sentence = (
            "The first tool call has no thought signature, which Gemini 3 requires; Google's "
            "placeholder for calls of other models is sent."
        )
        notes.append(Note(Level.WARNING, "signature-stand-in", sentence, turn.origin))
        fit = signed
    written = write_parts(fit)
    if not (written or turn.captured_from(_GEMINI)):
        written.append({"text": ""})
    notes += _notes(turn, fit)
    if not turn.captured_from(_GEMINI):

        def hear() -> Iterable[Turn]:
            return read_content(plain(write_content(fit, written)))

        notes += loss_notes(_with_bytes(turn), _GEMINI, hear)
    parts = tuple([tree(part, turn.origin) for part in written])
    return SentContent(parts, object_of(write_content(turn, parts), turn.origin), tuple(notes))


# --- fitting -----------------------------------------------------------------------------


def _fitted(turn: Turn) -> Turn:
    """Return a turn that is accepted."""
    fit = _with_bytes(portable(turn, _GEMINI))
    if turn.role == "system":
        fit = without(fit, lambda block: isinstance(block, MediaBlock))
    return with_each_block(fit, lambda block: _fit_block(turn, block))


def _fit_block(turn: Turn, block: Block) -> Block:
    match block:
        case CallBlock():
            identity, arguments = id_to_send(turn, block.id), block.arguments or "{}"
            if (identity, arguments) != (block.id, block.arguments):
                return replace(block, id=identity, arguments=arguments)
        case ResultBlock():
            identity, name = id_to_send(turn, block.call_id), block.name or block.call_id or "_"
            if (identity, name) != (block.call_id, block.name):
                return replace(block, call_id=identity, name=name)
        case MediaBlock(mime="") if block.data:
            return replace(block, mime=_UNKNOWN.get(block.media, "application/octet-stream"))
        case MediaBlock(mime="") if block.url:
            guessed, _ = mimetypes.guess_type(block.url.partition("?")[0])
            return replace(block, mime=guessed) if guessed else block
        case _:
            pass
    return block


def _with_bytes(turn: Turn) -> Turn:
    """Return a turn whose documents are bytes if it is a tool result."""
    if turn.role == "tool":
        for index, block in enumerate(turn.blocks):
            if isinstance(block, MediaBlock) and block.text:
                data = b64encode(block.text.encode()).decode()
                mime = block.mime or "text/plain"
                turn = with_block(turn, index, replace(block, mime=mime, data=data, text=""))
    return turn


def _signed(turn: Turn) -> Turn:
    """Return a turn whose first call has a signature; the turn itself if it had one."""
    for index, block in enumerate(turn.blocks):
        if isinstance(block, CallBlock):
            if google_signature(block):
                return turn
            mine = own(block, _GEMINI) or Extras(_GEMINI)
            keys = {**mine.keys, "thoughtSignature": _STAND_IN}
            return with_block(turn, index, replace(block, extras=replace(mine, keys=keys)))
    return turn


# --- notes -------------------------------------------------------------------------------


def _notes(turn: Turn, fit: Turn) -> Iterator[Note]:
    """Yield the notes on what is sent otherwise."""
    yield from argument_notes(fit, _GEMINI)
    if turn.role == "tool":
        yield from merged_notes(turn)


def merged_notes(turn: Turn) -> Iterator[Note]:
    """Yield the note on blocks of text that are sent as one."""
    if text_borders(turn):
        sentence = "has one text here; the blocks of text are joined by line breaks."
        yield Note(Level.INFO, "parts-merged", f"{_GEMINI.label} {sentence}", turn.origin)


def instruction_notes(turn: Turn) -> Iterator[Note]:
    """Yield the notes on a system turn of which the instruction has the text alone."""
    heard = Turn("system", (TextBlock(merged_text(turn).plain),), turn.origin)
    for block in turn.blocks:
        if isinstance(block, OpaqueBlock) and block.protocol is _GEMINI:
            yield reason_note("opaque", turn.origin, _GEMINI, block.name)
    yield from loss_notes(turn, _GEMINI, lambda: [heard])
    yield from merged_notes(turn)
