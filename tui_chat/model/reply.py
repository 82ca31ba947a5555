"""An answer growing as it arrives.

A protocol's parser turns bytes into `StreamEvent`s; `advance` folds them into a `Reply`. A
whole body is read into the same `Reply`. Folding is pure, and its cost per event does not
grow with the reply.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias, TypeVar

from tui_chat.model.endpoint import Protocol
from tui_chat.model.message import Message, ToolCall
from tui_chat.model.semantics import (
    KeptReply,
    Layout,
    MessageSemantics,
    Piece,
    PieceKind,
    ReasoningBlock,
)

_B = TypeVar("_B")

FinishReason = Literal[
    "stop", "length", "tool_calls", "content_filter", "refusal", "paused", "other"
]


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as the provider counted them; None where it did not say."""

    input: int | None = None
    """All input, cached parts included."""
    output: int | None = None
    """All output, reasoning included."""
    cached: int | None = None
    """Input served from a prompt cache."""
    cache_write: int | None = None
    """Input written to a prompt cache."""
    reasoning: int | None = None
    """Output spent on reasoning."""
    input_apart: int = field(default=0, compare=False)
    """Of `input`, what the provider counts beside its own figure: Anthropic's cache."""
    output_apart: int = field(default=0, compare=False)
    """Of `output`, what the provider counts beside its own figure: Gemini's thoughts."""


NO_USAGE = Usage()


@dataclass(frozen=True, slots=True)
class Started:
    """The reply begins."""

    model: str = ""
    """The model that answers, as the provider names it."""
    id: str = ""
    """The provider's id of the reply."""
    kept: bool = False
    """Whether the provider keeps the reply under that id, to be continued."""


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

_CHUNK = 4096


@dataclass(frozen=True, slots=True)
class Rope:
    """A string that grows at its end: adding costs the same however long it is."""

    chunks: tuple[str, ...] = ()
    tail: str = ""

    def add(self, text: str) -> Rope:
        """Return the string with `text` at its end."""
        tail = self.tail + text
        return Rope((*self.chunks, tail)) if len(tail) >= _CHUNK else Rope(self.chunks, tail)

    def __str__(self) -> str:
        return "".join(self.chunks) + self.tail

    def __len__(self) -> int:
        return sum(map(len, self.chunks)) + len(self.tail)


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
    """What has arrived of an answer."""

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
    usage: Usage = Usage()
    finish: Finished | None = None

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
        """Whether nothing a person could read or a tool could run has arrived."""
        return not (len(self.content) or len(self.refusal) or self.reasoning or self.calls)

    def message(
        self, protocol: Protocol, *, id: str = "", timestamp: float | None = None
    ) -> Message:
        """Return the answer as a message; `protocol` is where its reasoning can be replayed."""
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
    """Fold one event into the reply."""
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
    """Whether the delta begins no piece of its own."""
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
    pieces: list[Piece] = []
    for so_far in reply.pieces:
        match so_far.kind:
            case "text":
                piece = Piece("text", next(lengths), so_far.signature, so_far.id, so_far.phase)
            case "call":
                call = next(calls)
                piece = Piece("call", signature=call.signature, id=call.item_id)
            case "other":
                piece = Piece("other", name=so_far.name, data=so_far.data)
            case "reasoning":
                piece = Piece("reasoning")
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
