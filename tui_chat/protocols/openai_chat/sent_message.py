"""A turn as it is sent: fit for the protocol, written as a message, with what it loses.

It depends on the turn alone, so it is made once. What was captured from this protocol was accepted
as it was, and is written so; of any other turn:

1. A picture or file of the model or of a system message is left out. OpenAI's tool results hold
   none: they follow in a user message.
2. Reasoning that came through Chat is sent back in the same field; if that is plain text, only
   beside tool calls: there DeepSeek requires it, and elsewhere its older models refuse it.
3. Of a spoken reply the transcript is sent.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.blocks import (
    Block,
    CallBlock,
    Extras,
    JsonObject,
    MediaBlock,
    ReasoningBlock,
    TextBlock,
    form_of,
)
from tui_chat.models.envelope import Level, Note
from tui_chat.models.json_tree import Obj
from tui_chat.models.memo import Memo
from tui_chat.models.turn import Turn
from tui_chat.protocols.common.losses import loss_notes
from tui_chat.protocols.common.trees import object_of, plain
from tui_chat.protocols.common.turn_fit import portable, without
from tui_chat.protocols.openai_chat.messages import (
    CHAT,
    PLAIN_FIELDS,
    THINKING_BLOCKS,
    Target,
    can_be_sent_back,
    read_message,
    write_message,
    write_part,
)
from tui_chat.protocols.openai_chat.undocumented_keys import documented

_NAME = re.compile(r"[^\s<|\\/>]{1,64}")
"""The names of speakers that OpenAI accepts."""


@dataclass(frozen=True, slots=True, eq=False)
class SentMessage:
    """A turn in the form of this protocol."""

    tree: Obj
    follows: Obj | None = None
    """A user message with what a tool result could not hold, for after all results."""
    notes: tuple[Note, ...] = ()
    undocumented: tuple[str, ...] = ()
    """The undocumented keys of it, which a strict server is not sent."""


@Memo
def sent_message(turn: Turn, to: Target) -> SentMessage:
    """Return a turn as it is sent. `to` is part of the key under which that is remembered, so it
    should be the same object for the same target.
    """
    sent = (turn,) if turn.captured_from(CHAT) else _fitted(turn)
    written = [write_message(each, to) for each in sent]
    notes = [*_order_notes(sent), *_loss_notes(turn, sent, written)]
    names: dict[str, None] = {}
    kept = documented(written[0], names)
    trees = [object_of(each, turn.origin) for each in written[1:]]
    message = kept if to.strict else written[0]
    tree = object_of(message, turn.origin)
    return SentMessage(tree, trees[0] if trees else None, tuple(notes), tuple(names))


# --- fitting -----------------------------------------------------------------------------


def _fitted(turn: Turn) -> tuple[Turn, ...]:
    """Return a turn that is accepted, and the user's that follows a tool result."""
    fit = portable(turn, CHAT)
    fit = without(fit, lambda block: not _is_accepted(turn, block))
    if fit.name and not _NAME.fullmatch(fit.name):
        fit = replace(fit, name="")
    fit = _with_reasoning_content(fit)
    media = tuple(b for b in portable(turn, CHAT).blocks if turn.role == "tool" and _is_file(b))
    return (fit, Turn("user", media, turn.origin)) if media else (fit,)


def _is_file(block: Block) -> bool:
    """Return True for a picture or file that the protocol has a form for."""
    return isinstance(block, MediaBlock) and write_part(block) is not None


def _is_accepted(turn: Turn, block: Block) -> bool:
    match block:
        case MediaBlock():
            return turn.role == "user"
        case ReasoningBlock():
            is_plain = form_of(block, CHAT) in PLAIN_FIELDS
            return can_be_sent_back(block) and (bool(turn.tool_calls) or not is_plain)
        case _:
            return True


def _with_reasoning_content(turn: Turn) -> Turn:
    """Return a turn whose Anthropic blocks beside calls are plain text too: servers require it."""
    blocks = [block for block in turn.blocks if isinstance(block, ReasoningBlock)]
    forms = [form_of(block, CHAT) for block in blocks]
    if (
        not turn.tool_calls
        or "reasoning_content" in forms
        or set(forms).isdisjoint(THINKING_BLOCKS)
    ):
        return turn
    said = ReasoningBlock(
        "".join(block.text for block in blocks), Extras(CHAT, "reasoning_content")
    )
    # It goes last, so that no other place changes.
    return replace(turn, blocks=(*turn.blocks, said))


# --- notes -------------------------------------------------------------------------------


def _order_notes(sent: Sequence[Turn]) -> Iterator[Note]:
    has_call = False
    for block in sent[0].blocks:
        has_call = has_call or isinstance(block, CallBlock)
        if has_call and isinstance(block, TextBlock) and not block.is_refusal:
            sentence = "The text after the tool calls is sent before them."
            yield Note(Level.WARNING, "order-changed", sentence, sent[0].origin)
    for follow in sent[1:]:
        sentence = "Images and files of a tool result are sent in a user message after it."
        yield Note(Level.WARNING, "part-moved", sentence, follow.origin)


def _loss_notes(turn: Turn, sent: Sequence[Turn], written: Sequence[JsonObject]) -> Iterator[Note]:
    """Yield the notes on what is lost between a turn and its message."""
    is_own = turn.captured_from(CHAT)

    def hear() -> Sequence[Turn]:
        return sent if is_own else [read_message(plain(each)) for each in written]

    reasons = {"name": "name refused", "reasoning": _reasoning_reason(turn)}
    yield from loss_notes(turn, CHAT, hear, sends_marks=is_own, reasons=reasons)


def _reasoning_reason(turn: Turn) -> str:
    blocks = [block for block in turn.blocks if isinstance(block, ReasoningBlock)]
    if all(can_be_sent_back(block) for block in blocks):
        return "reasoning without calls"
    return "reasoning unsigned"
