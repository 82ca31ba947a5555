"""A reply while it arrives.

A protocol's parser turns bytes into `StreamEvent`s, and `advance` folds them into a `Reply`.
Folding is pure, and its cost per event does not depend on the reply's length. It also enforces the
limits of a reply (`models.reply_limits`): beyond one of them the reply stops growing, and
`Reply.excess` says so.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.citations import (
    MOST_CITATIONS,
    MOST_SEARCHES,
    MOST_SOURCES,
    NO_REFERENCES,
    References,
    Source,
)
from tui_chat.models.endpoint import Protocol
from tui_chat.models.message import Message, Part, ToolCall
from tui_chat.models.reply_limits import (
    Content,
    Words,
    admitted_part,
    continues,
    part_excess,
    size_of,
)
from tui_chat.models.semantics import (
    KeptReply,
    Layout,
    LayoutPiece,
    MessageSemantics,
    PieceKind,
    ReasoningBlock,
)
from tui_chat.models.stream_events import (
    Cited,
    Finished,
    MediaPart,
    OtherBlock,
    ReasoningDelta,
    RefusalDelta,
    Restarted,
    Searched,
    SourceFound,
    Started,
    StreamEvent,
    TextDelta,
    ToolCallDelta,
    UsageReport,
)
from tui_chat.models.usage import NO_USAGE, Usage

_B = TypeVar("_B")

MOST_REPLACED = 20
"""Maximum replaced attempts that are kept apart; the texts of later ones are joined to the last."""

_CHUNK = 4096


@dataclass(frozen=True, slots=True)
class Rope:
    """A string with an append in constant time."""

    chunks: tuple[str, ...] = ()
    tail: str = ""
    _length: int = 0

    def add(self, text: str) -> Rope:
        """Return the string with `text` appended."""
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
    """The start of a piece of the reply. It ends where the next one of its kind starts, so that a
    delta that continues it changes nothing here.
    """

    kind: PieceKind
    start: int = 0
    """`text`: the length of the text before it."""
    signature: str = ""
    id: str = ""
    phase: str = ""
    name: str = ""
    data: str = ""
    extras: str = ""


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
    parts: tuple[Part, ...] = ()
    """Pictures, sounds and files, each whole."""
    pieces: tuple[PieceSoFar, ...] = ()
    """All of the above and the provider's opaque blocks, in order of arrival."""
    references: References = NO_REFERENCES
    """What it rests on; the places are checked by `message`, when the text is whole."""
    begun: int = 0
    """Characters at the beginning of the text that this stream continues."""
    replaced: tuple[str, ...] = ()
    """See `MessageSemantics.replaced`."""
    restarts: int = 0
    """How often the provider began again; each time, all that grows is empty again."""
    usage: Usage = NO_USAGE
    finish: Finished | None = None
    size: int = 0
    """Characters counted toward `REPLY_SIZE`."""
    text_size: int = 0
    """Characters counted toward `TEXT_SIZE`."""
    media_size: int = 0
    """Characters counted toward `MEDIA_SIZE`."""
    excess: str = ""
    """A sentence about the limit that the reply exceeded; empty if none."""

    @property
    def text(self) -> str:
        """The text so far."""
        return str(self.content)

    @property
    def thought(self) -> str:
        """The readable reasoning so far, its blocks separated by a blank line."""
        return "\n\n".join(t for block in self.reasoning if (t := str(block.text)))

    @property
    def is_empty(self) -> bool:
        """True if nothing readable, no part and no tool call has arrived."""
        has_text = len(self.content) or len(self.refusal) or self.reasoning
        return not (has_text or self.calls or self.parts)

    def message(
        self, protocol: Protocol, *, id: str = "", timestamp: float | None = None
    ) -> Message:
        """Return the reply as a message; `protocol` can replay its reasoning."""
        text, refusal = self.text, str(self.refusal)
        kept = self.kept and self.id and self.finish is not None
        return Message(
            role="assistant",
            content=text,
            id=id,
            tool_calls=tuple(ToolCall(c.id, c.name, str(c.arguments)) for c in self.calls),
            timestamp=timestamp,
            parts=self.parts,
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
                replaced=self.replaced,
                references=self.references.counted_in(text),
            ),
        )


def advance(reply: Reply, event: StreamEvent) -> Reply:
    """Fold one event into the reply.

    Of an event that exceeds a limit, the part that fits is folded and `excess` is set; of later
    events, only those without content are folded.
    """
    if isinstance(event, SourceFound | Cited | Searched):
        return replace(reply, references=_referenced(reply, event))
    if isinstance(event, Started | UsageReport | Finished):
        return _advanced(reply, event, reply.size, reply.text_size)
    if reply.excess:
        return reply
    if isinstance(event, Restarted):
        return _restarted(reply)
    if isinstance(event, MediaPart):
        return _with_part(reply, event)
    admitted, excess = admitted_part(reply, event)
    if admitted is not None:
        size = size_of(admitted)
        text_size = reply.text_size + (size if isinstance(admitted, Words) else 0)
        reply = _advanced(reply, admitted, reply.size + size, text_size)
    return replace(reply, excess=excess) if excess else reply


def _restarted(reply: Reply) -> Reply:
    """Return an empty reply that keeps the text so far as that of a replaced attempt. Its size
    still counts toward the limits, so that restarts without end come to an end.
    """
    text, replaced = reply.text[reply.begun :], reply.replaced
    if len(replaced) < MOST_REPLACED:
        replaced = (*replaced, text)
    else:
        replaced = (*replaced[:-1], f"{replaced[-1]}\n\n{text}")
    empty = Reply(
        begun=reply.begun,
        size=reply.size + 1,
        text_size=reply.text_size,
        media_size=reply.media_size,
        replaced=replaced,
        restarts=reply.restarts + 1,
    )
    begun = TextDelta(reply.text[: reply.begun])
    return _advanced(empty, begun, empty.size, empty.text_size) if reply.begun else empty


def _with_part(reply: Reply, event: MediaPart) -> Reply:
    """Return the reply with a part. One that exceeds a limit is dropped, and `excess` is set."""
    part = event.part
    size = len(part.data) + len(part.url) + len(part.mime) + len(part.name)
    size += len(event.signature) + len(event.id) + len(event.extras)
    if excess := part_excess(reply, size):
        return replace(reply, excess=excess)
    piece = PieceSoFar("part", 0, event.signature, event.id, extras=event.extras)
    return replace(
        reply,
        parts=(*reply.parts, part),
        pieces=(*reply.pieces, piece),
        media_size=reply.media_size + size,
    )


def _referenced(reply: Reply, event: SourceFound | Cited | Searched) -> References:
    """Return the references with one more. Beyond their limits nothing is added; a reply does not
    end for that.
    """
    known = reply.references
    match event:
        case SourceFound():
            if event.index >= MOST_SOURCES:
                return replace(known, cut=True)
            sources = _grown(known.sources, event.index, Source())
            before, new = sources[event.index], event.source
            sources[event.index] = Source(
                new.title or before.title, new.url or before.url, new.file or before.file
            )
            return replace(known, sources=tuple(sources))
        case Cited(citation):
            if len(known.citations) >= MOST_CITATIONS or citation.source >= len(known.sources):
                return replace(known, cut=True)
            if citation.end:
                start, end = citation.start + reply.begun, citation.end + reply.begun
                citation = replace(citation, start=start, end=end)
            return replace(known, citations=(*known.citations, citation))
        case Searched():
            queries, failures = known.queries, known.failures
            if event.query and event.query not in queries and len(queries) < MOST_SEARCHES:
                queries = (*queries, event.query)
            if event.failure and event.failure not in failures and len(failures) < MOST_SEARCHES:
                failures = (*failures, event.failure)
            return replace(known, queries=queries, failures=failures)


def _advanced(
    reply: Reply,
    event: Content | Started | UsageReport | Finished,
    size: int,
    text_size: int,
) -> Reply:
    """Return the reply with an event and these sizes. Each event makes one new reply and no more:
    it is most of what reading a stream costs.
    """
    sizes = {"size": size, "text_size": text_size}
    match event:
        case Started():
            model, id = event.model or reply.model, event.id or reply.id
            return replace(reply, model=model, id=id, kept=event.kept or reply.kept)
        case TextDelta():
            content = reply.content.add(event.text)
            if continues(reply.pieces, event):
                return replace(reply, **sizes, content=content)
            piece = PieceSoFar("text", len(reply.content), event.signature, event.id, event.phase)
            return replace(reply, **sizes, content=content, pieces=(*reply.pieces, piece))
        case RefusalDelta():
            return replace(reply, **sizes, refusal=reply.refusal.add(event.text))
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
            return replace(reply, **sizes, reasoning=tuple(blocks), pieces=reply.pieces + new)
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
            return replace(reply, **sizes, calls=tuple(calls), pieces=reply.pieces + new)
        case OtherBlock():
            block = PieceSoFar("other", name=event.name, data=event.data)
            return replace(reply, **sizes, pieces=(*reply.pieces, block))
        case UsageReport():
            return replace(reply, usage=_newest(reply.usage, event.usage))
        case Finished():
            return replace(reply, finish=event)


_ORDER: dict[str, int] = {"reasoning": 0, "text": 1, "part": 2, "call": 3, "other": 4}


def _layout(reply: Reply, protocol: Protocol) -> Layout | None:
    """Return the reply's layout, or None if it is the default layout."""
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
            case "part":
                piece = LayoutPiece(
                    "part", signature=so_far.signature, id=so_far.id, extras=so_far.extras
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
    plain = ranks == sorted(ranks) and ranks.count(1) <= 1 and 4 not in ranks
    marks = (piece.signature or piece.id or piece.phase or piece.extras for piece in pieces)
    if plain and not any(marks):
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
        cache_write_1h=said.cache_write_1h or known.cache_write_1h,
        tier=said.tier or known.tier,
    )
