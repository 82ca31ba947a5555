"""A turn as it is sent: fit for the protocol, written as a message, with what it loses.

It depends on the turn alone, so it is made once. What was captured from this protocol was accepted
as it was, and is written so; of any other turn:

1. A picture or file of the model or of a system message is left out. OpenAI's tool results hold
   none: they follow in a user message.
2. Reasoning that came through Chat is sent back in the same field; if that is plain text, only
   beside tool calls: there DeepSeek requires it, and elsewhere its older models refuse it.
3. A spoken reply is sent as the id under which OpenAI keeps it for a while, instead of its
   transcript; the context removes the id when that time is over.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.block_turn import BlockTurn
from tui_chat.models.blocks import (
    Block,
    CallBlock,
    Extras,
    Json,
    JsonObject,
    MediaBlock,
    ReasoningBlock,
    TextBlock,
    form_of,
    own,
)
from tui_chat.models.envelope import Level, Note
from tui_chat.models.json_tree import Obj
from tui_chat.models.memo import Memo
from tui_chat.models.text import Text
from tui_chat.protocols.common.cache_marks import BREAKPOINT
from tui_chat.protocols.common.encoding import field_origin
from tui_chat.protocols.common.losses import is_bare, loss_notes, turn_losses
from tui_chat.protocols.common.mark_limits import has_marks, mark_origin
from tui_chat.protocols.common.reading import items_of
from tui_chat.protocols.common.trees import Word, dictionary, labelled, object_of, plain
from tui_chat.protocols.common.turn_fit import portable, without
from tui_chat.protocols.openai_chat.messages import (
    CHAT,
    PLAIN_FIELDS,
    SOUND,
    THINKING_BLOCKS,
    Writing,
    can_be_sent_back,
    write_message,
    write_part,
)
from tui_chat.protocols.openai_chat.reader import read_message
from tui_chat.protocols.openai_chat.undocumented_keys import documented_turn, undocumented_keys

_NAME = re.compile(r"[^\s<|\\/>]{1,64}")
"""The names of speakers that OpenAI accepts."""


@dataclass(frozen=True, slots=True)
class Server:
    """What is known of the model and server that a message is sent to."""

    writing: Writing
    speaks: bool = False
    """True if spoken replies go as ids."""
    strict: bool = False
    """True if the server refuses undocumented keys."""
    marks: bool = False
    """True if cache marks are sent."""


@lru_cache(maxsize=8)
def server(*, developer: bool, google: bool, speaks: bool, strict: bool, marks: bool) -> Server:
    """Return what is known of a server, the same object for the same facts: it is part of the key
    under which messages are remembered.
    """
    return Server(Writing(developer, google), speaks, strict, marks)


@dataclass(frozen=True, slots=True, eq=False)
class SentMessage:
    """A turn in the form of this protocol."""

    tree: Obj
    follows: Obj | None = None
    """A user message with what a tool result could not hold, for after all results."""
    notes: tuple[Note, ...] = ()


@Memo
def sent_message(turn: BlockTurn, to: Server) -> SentMessage:
    """Return a turn as it is sent to a server."""
    if turn.captured_from(CHAT):
        written = write_message(turn, to.writing)
        return SentMessage(_marked(turn, written, to), None, tuple(_captured_notes(turn)))
    notes: list[Note] = []
    given = turn
    if to.strict and (keys := undocumented_keys(turn)):
        given = documented_turn(turn)
        sentence = f"Left out, since this server refuses unknown keys: {', '.join(keys)}."
        notes.append(Note(Level.WARNING, "unknown-keys", sentence, turn.origin))
    fit, moved = _fitted(given, to)
    written = write_message(fit, to.writing)
    follows: JsonObject | None = None
    if moved:
        follows = {"role": Word("user"), "content": moved}
    notes = [*_order_notes(fit, moved), *_loss_notes(given, fit, written, moved, to), *notes]
    return SentMessage(
        _marked(turn, written, to),
        object_of(follows, turn.origin) if follows is not None else None,
        tuple(notes),
    )


def _captured_notes(turn: BlockTurn) -> Sequence[Note]:
    if is_bare(replace(turn, extras=None, name="")):
        return ()
    losses = [loss for loss in turn_losses(turn, [turn], CHAT) if loss.kind == "citations"]
    return list(loss_notes(turn, losses, CHAT))


# --- fitting -----------------------------------------------------------------------------


def _fitted(turn: BlockTurn, to: Server) -> tuple[BlockTurn, list[Json]]:
    """Return a turn that is accepted, and the parts of a tool result that follow it."""
    turn = portable(turn, CHAT)
    moved: list[Json] = []
    if turn.role == "tool":
        parts = (write_part(block) for block in turn.blocks if isinstance(block, MediaBlock))
        moved = [part for part in parts if part is not None]
    if not turn.name or not _NAME.fullmatch(turn.name):
        turn = replace(turn, name="") if turn.name else turn
    sends_plain = _sends_plain_reasoning(turn)
    turn = without(turn, lambda block: not _is_accepted(turn, block, to, sends_plain=sends_plain))
    return _with_reasoning_content(turn), moved


def _is_accepted(turn: BlockTurn, block: Block, to: Server, *, sends_plain: bool) -> bool:
    match block:
        case MediaBlock():
            is_sound = to.speaks and form_of(block, CHAT) == SOUND
            return turn.role == "user" or (turn.role == "assistant" and is_sound)
        case ReasoningBlock():
            is_plain = form_of(block, CHAT) in PLAIN_FIELDS
            return can_be_sent_back(block) and (sends_plain or not is_plain)
        case _:
            return True


def _sends_plain_reasoning(turn: BlockTurn) -> bool:
    """Return True if plain reasoning is sent back: beside calls, or with its opaque form."""
    extras = (own(block, CHAT) for block in turn.blocks if isinstance(block, ReasoningBlock))
    is_opaque = any(mine is not None and "reasoning_opaque" in mine.keys for mine in extras)
    return is_opaque or bool(turn.calls)


def _with_reasoning_content(turn: BlockTurn) -> BlockTurn:
    """Return a turn whose Anthropic blocks beside calls are plain text too: servers require it."""
    blocks = [block for block in turn.blocks if isinstance(block, ReasoningBlock)]
    forms = [form_of(block, CHAT) for block in blocks]
    if THINKING_BLOCKS not in forms or "reasoning_content" in forms or not turn.calls:
        return turn
    said = ReasoningBlock(
        "".join(block.text for block in blocks), Extras(CHAT, "reasoning_content")
    )
    # It goes last, so that no other place changes.
    return replace(turn, blocks=(*turn.blocks, said))


# --- notes -------------------------------------------------------------------------------


def _order_notes(turn: BlockTurn, moved: Sequence[Json]) -> list[Note]:
    notes: list[Note] = []
    has_call = False
    for block in turn.blocks:
        has_call = has_call or isinstance(block, CallBlock)
        if has_call and isinstance(block, TextBlock) and not block.is_refusal:
            sentence = "The text after the tool calls is sent before them."
            notes.append(Note(Level.WARNING, "order-changed", sentence, turn.origin))
    sentence = "Images and files of a tool result are sent in a user message after it."
    notes += [Note(Level.WARNING, "part-moved", sentence, turn.origin) for _ in moved]
    return notes


def _loss_notes(
    given: BlockTurn, fit: BlockTurn, written: JsonObject, moved: Sequence[Json], to: Server
) -> Sequence[Note]:
    """Return the notes on what is lost between a turn and its message."""
    if is_bare(given):
        return ()
    heard = [read_message(plain(written))]
    if moved:
        heard.append(read_message({"role": "user", "content": plain(moved)}))
    marks = to.marks and has_marks(given)
    losses = list(turn_losses(given, heard, CHAT, sends_marks=marks))
    reasons = {"name": "name refused", "reasoning": _reasoning_reason(given)}
    if "audio" in written:
        losses = [loss for loss in losses if loss.kind not in ("text", "media")]
    return list(loss_notes(given, losses, CHAT, reasons))


def _reasoning_reason(turn: BlockTurn) -> str:
    blocks = [block for block in turn.blocks if isinstance(block, ReasoningBlock)]
    if all(can_be_sent_back(block) for block in blocks):
        return "reasoning without calls"
    return "reasoning unsigned"


# --- cache marks -------------------------------------------------------------------------


def _marked(turn: BlockTurn, written: JsonObject, to: Server) -> Obj:
    """Return the tree of a message, with a cache breakpoint on its last part if it has marks."""
    content = written.get("content")
    if not (to.marks and has_marks(turn)):
        return object_of(written, turn.origin)
    if isinstance(content, str | Text):
        content = [{"type": Word("text"), "text": content}]
    parts = items_of(content)
    if parts and BREAKPOINT not in (last := dictionary(parts[-1])) and last:
        origin = field_origin(mark_origin(turn), "cache mark")
        mark = labelled({"mode": "explicit"}, origin=origin)
        parts = [*parts[:-1], {**last, BREAKPOINT: mark}]
    return object_of({**written, "content": parts} if parts else written, turn.origin)
