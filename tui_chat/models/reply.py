"""A reply growing as it arrives.

A protocol's parser turns bytes into `StreamEvent`s; `advance` folds them into a `Reply`. A
whole body is read into the same `Reply`. Folding is pure, and its cost per event does not
grow with the reply. It is also where a reply's ceilings are enforced: a provider may send
without end, and a reply beyond them says so in `Reply.excess` and grows no further.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, TypeVar

from tui_chat.models.endpoint import Protocol
from tui_chat.models.message import Message, ToolCall
from tui_chat.models.semantics import (
    KeptReply,
    Layout,
    LayoutPiece,
    MessageSemantics,
    PieceKind,
    ReasoningBlock,
)
from tui_chat.models.usage import NO_USAGE, Usage

_B = TypeVar("_B")

FinishReason = Literal[
    "stop", "length", "tool_calls", "content_filter", "refusal", "paused", "other"
]


@dataclass(frozen=True, slots=True)
class Started:
    """The reply begins."""

    model: str = ""
    """The model that answers, as the provider names it."""
    id: str = ""
    """The provider's id of the reply."""
    kept: bool = False
    """True if the provider stores the reply under that id, to be continued."""


@dataclass(frozen=True, slots=True)
class TextDelta:
    """More text."""

    text: str
    signature: str = ""
    """Gemini's signature on this piece of text, which may be empty. A signed piece stands alone:
    it is not joined with its neighbours on replay."""
    id: str = ""
    """Responses' item id; a new one begins a new piece."""
    phase: str = ""
    """Responses' phase of that item."""


@dataclass(frozen=True, slots=True)
class RefusalDelta:
    """More of a refusal that is kept apart from text."""

    text: str


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    """More of a reasoning block; blocks are numbered in order of arrival."""

    index: int
    text: str = ""
    signature: str = ""
    """More of the signature, to be joined."""
    encrypted: str = ""
    """The whole opaque data; the last one counts."""
    id: str = ""
    kind: str = ""
    """See `ReasoningBlock.kind`."""


@dataclass(frozen=True, slots=True)
class ToolCallDelta:
    """More of a tool call; calls are numbered in order of arrival."""

    index: int
    id: str = ""
    name: str = ""
    arguments: str = ""
    """More of the arguments, to be joined."""
    signature: str = ""
    """Gemini's signature on the call; the last one counts."""
    item_id: str = ""
    """Responses' id of the item, beside the id of the call."""


@dataclass(frozen=True, slots=True)
class OtherBlock:
    """Something whole that only the provider understands: a search it ran, code it executed."""

    name: str
    """The provider's word for it."""
    data: str
    """The block as compact JSON."""


@dataclass(frozen=True, slots=True)
class UsageReport:
    """Usage so far; fields that are None leave what is known."""

    usage: Usage


@dataclass(frozen=True, slots=True)
class Finished:
    """The provider says why it stopped."""

    reason: FinishReason
    raw: str
    """The provider's own word."""
    detail: str = ""
    """The provider's words about it, where it gave some (why a prompt was blocked)."""


StreamEvent: TypeAlias = (
    Started
    | TextDelta
    | RefusalDelta
    | ReasoningDelta
    | ToolCallDelta
    | OtherBlock
    | UsageReport
    | Finished
)


def text_bytes(event: StreamEvent) -> int:
    """Return how many bytes of text an event brings, from which its tokens are estimated.

    Bytes, because an English letter is a fourth of a token and a Chinese one about a whole one.
    """
    match event:
        case TextDelta() | RefusalDelta() | ReasoningDelta():
            return len(event.text.encode("utf-8", "replace"))
        case ToolCallDelta():
            return len(event.arguments.encode("utf-8", "replace"))
        case _:
            return 0


REPLY_SIZE = 8_000_000
"""Characters of a reply that are kept: its text, reasoning, tool calls and opaque blocks together.
Most of it is for pictures in opaque blocks."""
TEXT_SIZE = 2_000_000
"""Characters of a reply's text, refusal and reasoning that are kept. The longest replies that any
model gives today, 128,000 tokens, have 0.6 million."""
ARGUMENTS_SIZE = 4_000_000
"""Characters of one tool call's arguments that are kept."""
MOST_CALLS = 1_000
"""Tool calls of a reply that are kept."""
MOST_PIECES = 10_000
"""Pieces of a reply that are kept: runs of text, reasoning blocks, calls and opaque blocks."""

_CHUNK = 4096


@dataclass(frozen=True, slots=True)
class Rope:
    """A string that grows at its end: adding costs the same however long it is."""

    chunks: tuple[str, ...] = ()
    tail: str = ""
    _length: int = 0

    def add(self, text: str) -> Rope:
        """Return the string with `text` at its end."""
        tail, length = self.tail + text, self._length + len(text)
        if len(tail) >= _CHUNK:
            return Rope((*self.chunks, tail), "", length)
        return Rope(self.chunks, tail, length)

    def __str__(self) -> str:
        return "".join((*self.chunks, self.tail))

    def __len__(self) -> int:
        return self._length


@dataclass(frozen=True, slots=True)
class ToolCallSoFar:
    """A tool call that may still be arriving."""

    id: str = ""
    name: str = ""
    arguments: Rope = Rope()
    signature: str = ""
    item_id: str = ""


@dataclass(frozen=True, slots=True)
class ReasoningSoFar:
    """A reasoning block that may still be arriving."""

    text: Rope = Rope()
    signature: Rope = Rope()
    encrypted: str = ""
    id: str = ""
    kind: str = ""


@dataclass(frozen=True, slots=True)
class PieceSoFar:
    """Where a piece of the reply begins. Its end is where the next one of its kind does, so a
    delta that continues it costs nothing here.
    """

    kind: PieceKind
    start: int = 0
    """`text`: how much text came before it."""
    signature: str = ""
    id: str = ""
    phase: str = ""
    name: str = ""
    data: str = ""


@dataclass(frozen=True, slots=True)
class Reply:
    """The reply as far as it has arrived."""

    model: str = ""
    id: str = ""
    kept: bool = False
    """See `Started.kept`."""
    content: Rope = Rope()
    refusal: Rope = Rope()
    reasoning: tuple[ReasoningSoFar, ...] = ()
    calls: tuple[ToolCallSoFar, ...] = ()
    pieces: tuple[PieceSoFar, ...] = ()
    """All of the above and what is only the provider's, in order of arrival."""
    usage: Usage = NO_USAGE
    finish: Finished | None = None
    size: int = 0
    """Characters counted toward `REPLY_SIZE`."""
    text_size: int = 0
    """Characters counted toward `TEXT_SIZE`."""
    excess: str = ""
    """Which ceiling the reply passed and what of it is kept, as a sentence; empty if none."""

    @property
    def text(self) -> str:
        """The text so far."""
        return str(self.content)

    @property
    def thought(self) -> str:
        """The readable reasoning so far, blocks apart by a blank line."""
        return "\n\n".join(t for block in self.reasoning if (t := str(block.text)))

    @property
    def is_empty(self) -> bool:
        """True if nothing readable and no tool call has arrived."""
        return not (len(self.content) or len(self.refusal) or self.reasoning or self.calls)

    def message(
        self, protocol: Protocol, *, id: str = "", timestamp: float | None = None
    ) -> Message:
        """Return the reply as a message; `protocol` is where its reasoning can be replayed."""
        text, refusal = self.text, str(self.refusal)
        kept = self.kept and self.id and self.finish is not None
        return Message(
            role="assistant",
            content=text,
            id=id,
            tool_calls=tuple(ToolCall(c.id, c.name, str(c.arguments)) for c in self.calls),
            timestamp=timestamp,
            semantics=MessageSemantics(
                reasoning=tuple(
                    ReasoningBlock(
                        protocol, str(r.text), str(r.signature), r.encrypted, r.id, r.kind
                    )
                    for r in self.reasoning
                ),
                refusal=refusal,
                layout=_layout(self, protocol),
                kept_as=KeptReply.of(self.id, text) if kept else None,
            ),
        )


def advance(reply: Reply, event: StreamEvent) -> Reply:
    """Fold one event into the reply.

    Of an event that passes a ceiling what fits is folded, and the reply's `excess` says so; of
    the events that follow, only those that bring no content are.
    """
    if isinstance(event, Started | UsageReport | Finished):
        return _advanced(reply, event)
    if reply.excess:
        return reply
    admitted, excess = _admitted(reply, event)
    if admitted is not None:
        size = _size(admitted)
        text_size = reply.text_size + (size if isinstance(admitted, _Words) else 0)
        reply = replace(_advanced(reply, admitted), size=reply.size + size, text_size=text_size)
    return replace(reply, excess=excess) if excess else reply


_Words: TypeAlias = TextDelta | RefusalDelta | ReasoningDelta
_Content: TypeAlias = TextDelta | RefusalDelta | ReasoningDelta | ToolCallDelta | OtherBlock


def _size(event: _Content) -> int:
    """Return how many characters an event adds to the reply."""
    match event:
        case TextDelta():
            return len(event.text) + len(event.signature) + len(event.id) + len(event.phase)
        case RefusalDelta():
            return len(event.text)
        case ReasoningDelta():
            opaque = len(event.signature) + len(event.encrypted)
            return len(event.text) + opaque + len(event.id) + len(event.kind)
        case ToolCallDelta():
            names = len(event.id) + len(event.name) + len(event.item_id)
            return len(event.arguments) + len(event.signature) + names
        case OtherBlock():
            return len(event.data) + len(event.name)


def _admitted(reply: Reply, event: _Content) -> tuple[_Content | None, str]:
    """Return as much of an event as the ceilings leave room for (None for nothing of it), and the
    sentence about the ceiling that it passes, empty if it fits.

    Text is cut where the room ends. Opaque data is worth nothing in part, and is left out.
    """
    if isinstance(event, ToolCallDelta) and event.index >= MOST_CALLS:
        words = f"The reply has more than {MOST_CALLS:,} tool calls; the first {MOST_CALLS:,}"
        return None, f"{words} are kept."
    if len(reply.pieces) >= MOST_PIECES and _begins_piece(reply, event):
        words = f"The reply has more than {MOST_PIECES:,} parts; the first {MOST_PIECES:,}"
        return None, f"{words} are kept."
    if isinstance(event, ToolCallDelta):
        known = len(reply.calls[event.index].arguments) if event.index < len(reply.calls) else 0
        room = min(ARGUMENTS_SIZE - known, REPLY_SIZE - reply.size)
        if len(event.arguments) > ARGUMENTS_SIZE - known:
            most = f"{ARGUMENTS_SIZE:,}"
            words = f"The arguments of a tool call are longer than {most} characters"
            return replace(event, arguments=event.arguments[:room]), f"{words}; {_KEPT}"
    room, most, what = REPLY_SIZE - reply.size, REPLY_SIZE, "reply"
    if isinstance(event, _Words) and TEXT_SIZE - reply.text_size < room:
        room, most, what = TEXT_SIZE - reply.text_size, TEXT_SIZE, "text of the reply"
    if _size(event) <= room:
        return event, ""
    excess = f"The {what} is longer than {most:,} characters; {_KEPT}"
    match event:
        case TextDelta() | RefusalDelta():
            kept = replace(event, text=event.text[:room])
        case ReasoningDelta():
            kept = ReasoningDelta(event.index, event.text[:room], kind=event.kind)
        case ToolCallDelta():
            kept = ToolCallDelta(event.index, arguments=event.arguments[:room])
        case OtherBlock():
            return None, excess
    return (kept if _size(kept) <= room else None), excess


_KEPT = "what came up to there is kept."


def _begins_piece(reply: Reply, event: _Content) -> bool:
    """Return True if the event adds to `Reply.pieces`."""
    match event:
        case TextDelta():
            return not _continues(reply.pieces, event)
        case RefusalDelta():
            return False
        case ReasoningDelta():
            return event.index >= len(reply.reasoning)
        case ToolCallDelta():
            return event.index >= len(reply.calls)
        case OtherBlock():
            return True


def _advanced(reply: Reply, event: StreamEvent) -> Reply:
    match event:
        case Started():
            model, id = event.model or reply.model, event.id or reply.id
            return replace(reply, model=model, id=id, kept=event.kept or reply.kept)
        case TextDelta():
            content = reply.content.add(event.text)
            if _continues(reply.pieces, event):
                return replace(reply, content=content)
            piece = PieceSoFar("text", len(reply.content), event.signature, event.id, event.phase)
            return replace(reply, content=content, pieces=(*reply.pieces, piece))
        case RefusalDelta():
            return replace(reply, refusal=reply.refusal.add(event.text))
        case ReasoningDelta():
            blocks = _grown(reply.reasoning, event.index, ReasoningSoFar())
            old = blocks[event.index]
            blocks[event.index] = ReasoningSoFar(
                old.text.add(event.text),
                old.signature.add(event.signature),
                event.encrypted or old.encrypted,
                event.id or old.id,
                event.kind or old.kind,
            )
            new = (PieceSoFar("reasoning"),) * (len(blocks) - len(reply.reasoning))
            return replace(reply, reasoning=tuple(blocks), pieces=reply.pieces + new)
        case ToolCallDelta():
            calls = _grown(reply.calls, event.index, ToolCallSoFar())
            call = calls[event.index]
            calls[event.index] = ToolCallSoFar(
                event.id or call.id,
                event.name or call.name,
                call.arguments.add(event.arguments),
                event.signature or call.signature,
                event.item_id or call.item_id,
            )
            new = (PieceSoFar("call"),) * (len(calls) - len(reply.calls))
            return replace(reply, calls=tuple(calls), pieces=reply.pieces + new)
        case OtherBlock():
            block = PieceSoFar("other", name=event.name, data=event.data)
            return replace(reply, pieces=(*reply.pieces, block))
        case UsageReport():
            return replace(reply, usage=_newest(reply.usage, event.usage))
        case Finished():
            return replace(reply, finish=event)


def _continues(pieces: tuple[PieceSoFar, ...], delta: TextDelta) -> bool:
    """True if the delta continues the last piece."""
    if delta.signature:
        return False
    if pieces and (last := pieces[-1]).kind == "text" and not last.signature:
        return delta.id in ("", last.id)
    return not (delta.text or delta.id)


_ORDER: dict[str, int] = {"reasoning": 0, "text": 1, "call": 2, "other": 3}


def _layout(reply: Reply, protocol: Protocol) -> Layout | None:
    """Return how the reply is laid out, or None where that is how every message is."""
    starts = [p.start for p in reply.pieces if p.kind == "text"]
    lengths = iter(
        end - start for start, end in zip(starts, [*starts[1:], len(reply.content)], strict=True)
    )
    calls = iter(reply.calls)
    pieces: list[LayoutPiece] = []
    for so_far in reply.pieces:
        match so_far.kind:
            case "text":
                piece = LayoutPiece(
                    "text", next(lengths), so_far.signature, so_far.id, so_far.phase
                )
            case "call":
                call = next(calls)
                piece = LayoutPiece("call", signature=call.signature, id=call.item_id)
            case "other":
                piece = LayoutPiece("other", name=so_far.name, data=so_far.data)
            case "reasoning":
                piece = LayoutPiece("reasoning")
        pieces.append(piece)
    ranks = [_ORDER[piece.kind] for piece in pieces]
    plain = ranks == sorted(ranks) and ranks.count(1) <= 1 and 3 not in ranks
    if plain and not any(piece.signature or piece.id or piece.phase for piece in pieces):
        return None
    return Layout(protocol, tuple(pieces))


def _grown(blocks: tuple[_B, ...], index: int, empty: _B) -> list[_B]:
    """Return the blocks as a list that has `index`; parsers number them without gaps."""
    return [*blocks, *[empty] * (index + 1 - len(blocks))]


def _newest(known: Usage, said: Usage) -> Usage:
    return Usage(
        input=known.input if said.input is None else said.input,
        output=known.output if said.output is None else said.output,
        cached=known.cached if said.cached is None else said.cached,
        cache_write=known.cache_write if said.cache_write is None else said.cache_write,
        reasoning=known.reasoning if said.reasoning is None else said.reasoning,
        input_apart=known.input_apart if said.input is None else said.input_apart,
        output_apart=known.output_apart if said.output is None else said.output_apart,
    )
