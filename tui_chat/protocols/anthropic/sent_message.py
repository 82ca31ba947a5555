"""A turn as it is sent: fit for the protocol, written as a message, with what it loses.

It depends on the turn alone, so it is made once. What was captured from this protocol was accepted
as it was, and is written so; of any other turn:

1. Blank text is refused: it is left out, and so is a turn that has nothing else.
2. Thinking is sent back only if it is signed or encrypted, also if a gateway of OpenAI Chat passed
   it on.
3. Pictures are sent in four types, files as PDF or as text; none of the model or of a system turn.
4. A refusal is sent back as text of the model.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.blocks import (
    Block,
    Extras,
    MediaBlock,
    ReasoningBlock,
    ResultBlock,
    TextBlock,
    own,
)
from tui_chat.models.endpoint import Protocol
from tui_chat.models.envelope import Note
from tui_chat.models.json_tree import Obj, Tree
from tui_chat.models.memo import Memo
from tui_chat.models.turn import Turn, kept_blocks, with_block, with_each_block
from tui_chat.protocols.anthropic.messages import (
    ANTHROPIC,
    REDACTED,
    framed,
    read_message,
    write_block,
    write_content,
    write_message,
)
from tui_chat.protocols.common.losses import (
    argument_notes,
    loss_notes,
    reason_note,
)
from tui_chat.protocols.common.reading import string
from tui_chat.protocols.common.trees import dictionary, object_of, plain, tree
from tui_chat.protocols.common.turn_fit import is_blank, portable, text_document, without

_IMAGES = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})
_PDF = "application/pdf"


@dataclass(frozen=True, slots=True, eq=False)
class SentTurn:
    """A turn in the form of this protocol."""

    blocks: tuple[Tree, ...]
    kinds: tuple[str, ...]
    """Their types."""
    message: Obj | None
    """The turn as a message by itself; None if nothing of it is sent."""
    notes: tuple[Note, ...] = ()


@Memo
def sent_turn(turn: Turn) -> SentTurn:
    """Return a turn as it is sent."""
    is_own = turn.captured_from(ANTHROPIC)
    said = turn if is_own else _as_said(turn)
    fit = turn if is_own else _fitted(said)
    blocks, content = write_content(fit)
    trees = tuple(tree(block, turn.origin) for block in blocks)
    message = None
    if is_own or blocks:
        content = trees if content is blocks else content
        message = object_of(framed(fit, content), turn.origin)
    kinds = tuple(string(plain(dictionary(block)), "type") for block in blocks)
    notes = () if is_own else tuple(_notes(turn, said, fit))
    return SentTurn(trees, kinds, message, notes)


def trimmed_message(turn: Turn) -> Obj | None:
    """Return the message of a turn without the white space that it ends in, which Anthropic refuses
    in the last message of the model; None if it ends in none, or has nothing else.
    """
    fit = turn if turn.captured_from(ANTHROPIC) else _fitted(_as_said(turn))
    end = len(fit.blocks)
    while end and is_blank(fit.blocks[end - 1]):
        end -= 1
    if not end:
        return None
    trimmed = kept_blocks(fit, range(end))
    last = trimmed.blocks[-1]
    if isinstance(last, TextBlock) and (words := last.text.rstrip()) != last.text:
        text = trimmed.text_at(end - 1)[: len(words)]
        trimmed = with_block(trimmed, end - 1, replace(last, text=words), text)
    return None if trimmed is fit else object_of(write_message((trimmed,)), turn.origin)


# --- fitting -----------------------------------------------------------------------------


def _as_said(turn: Turn) -> Turn:
    """Return a turn with the same blocks in the protocol's own forms: documents of text as text,
    since of bytes only PDF is accepted, and thinking that a gateway passed on as Anthropic's.
    """
    return with_each_block(turn, lambda block: _own_thinking(text_document(block)))


def _own_thinking(block: Block) -> Block:
    extras = block.extras
    if not isinstance(block, ReasoningBlock) or extras is None:
        return block
    is_detail = extras.form.startswith("reasoning.")
    is_listed = extras.form in ("thinking", REDACTED)
    is_claude = is_listed or (is_detail and string(extras.keys, "format").startswith("anthropic-"))
    if extras.protocol is not Protocol.OPENAI_CHAT or not is_claude:
        return block
    if data := string(extras.keys, "data"):
        return ReasoningBlock("", Extras(ANTHROPIC, REDACTED, {"data": data}))
    keys = {"signature": string(extras.keys, "signature")}
    return ReasoningBlock(block.text, Extras(ANTHROPIC, "", keys))


def _fitted(turn: Turn) -> Turn:
    """Return a turn of which the protocol accepts all blocks."""
    fit = portable(turn, ANTHROPIC)
    return without(fit, lambda block: not _is_accepted(turn, block))


def _is_accepted(turn: Turn, block: Block) -> bool:
    match block:
        case ResultBlock():
            return True
        case MediaBlock() if turn.role in ("assistant", "system"):
            return False
        case MediaBlock() if block.data and not block.file_id:
            return block.mime in _IMAGES if block.media == "image" else block.mime == _PDF
        case ReasoningBlock():
            return _is_signed(block)
        case _:
            return not is_blank(block) and write_block(block) is not None


def _is_signed(block: ReasoningBlock) -> bool:
    extras = own(block, ANTHROPIC)
    return extras is not None and any(extras.keys.get(key) for key in ("signature", "data"))


# --- notes -------------------------------------------------------------------------------


def _notes(turn: Turn, said: Turn, fit: Turn) -> Iterator[Note]:
    """Yield the notes on what is lost between a turn and what is sent of it."""
    yield from argument_notes(turn, ANTHROPIC)

    def hear() -> Iterable[Turn]:
        return read_message(plain(write_message((fit,))))

    unsaid = ("text", "refusal")
    yield from loss_notes(said, ANTHROPIC, hear, sends_marks=True, unsaid=unsaid)
    if fit.blocks and any(is_blank(b) and isinstance(b, TextBlock) and b.text for b in turn.blocks):
        yield reason_note("text", turn.origin, ANTHROPIC)
