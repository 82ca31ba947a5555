"""A reply while it arrives, as `models.reply_growth` makes it of events."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.about import NOTHING_ABOUT, About, KeptReply
from tui_chat.models.blocks import Block, CallBlock, MediaBlock, ReasoningBlock, TextBlock
from tui_chat.models.citations import NO_REFERENCES, Citation, References
from tui_chat.models.endpoint import Protocol
from tui_chat.models.flat.forms import NO_PIECE
from tui_chat.models.flat.messages import FORMS
from tui_chat.models.flat.values import FlatReasoning, LayoutPiece, ToolCall
from tui_chat.models.message import Message, place_citations
from tui_chat.models.stream_events import Finished
from tui_chat.models.usage import NO_USAGE, Usage

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
    form: str = ""
    extras: str = ""


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

    piece: LayoutPiece
    """The piece, without the length of a text, and without what a call has itself."""
    start: int = 0
    """`text`: the length of the text before it."""


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
    parts: tuple[MediaBlock, ...] = ()
    """Pictures, sounds and files, each whole."""
    pieces: tuple[PieceSoFar, ...] = ()
    """All of the above and the provider's opaque blocks, in order of arrival."""
    references: References = NO_REFERENCES
    """The sources of the reply."""
    citations: tuple[Citation, ...] = ()
    """Counted in the whole text; the places are checked by `message`, when the text is whole."""
    begun: int = 0
    """Characters at the beginning of the text that this stream continues."""
    replaced: tuple[str, ...] = ()
    """See `About.replaced`."""
    restarts: int = 0
    """The number of times that the provider began again; each time, all that grows is empty
    again."""
    tokens: Rope = Rope()
    """See `About.tokens`."""
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
        text = self.text
        kept = self.kept and self.id and self.finish is not None
        about = About(
            references=self.references,
            kept_as=KeptReply.of(self.id, text) if kept else None,
            replaced=self.replaced,
            tokens=str(self.tokens),
        )
        if about == NOTHING_ABOUT:
            about = NOTHING_ABOUT
        return Message("assistant", _blocks(self, protocol), id, timestamp=timestamp, about=about)


def with_call_ids(message: Message, taken: Collection[str]) -> Message:
    """Return a reply whose calls all have ids, no two the same: results and consent name a call by
    it. A call that came without one gets `call_1` and so on, the first that is not `taken`.
    """
    used: set[str] = set()
    blocks: list[Block] = []
    number = 1
    for block in message.blocks:
        if isinstance(block, CallBlock):
            id, again = block.id, 2
            while not id or id in used:
                if block.id:
                    id, again = f"{block.id}_{again}", again + 1
                elif (made := f"call_{number}") not in taken and made not in used:
                    id = made
                else:
                    number += 1
            used.add(id)
            block = replace(block, id=id)
        blocks.append(block)
    return replace(message, blocks=tuple(blocks)) if used else message


MADE_ID = re.compile(r"call_[1-9]\d*")
"""The ids that `with_call_ids` gives: a protocol that needs none does not get them."""


_ORDER: dict[str, int] = {"reasoning": 0, "text": 1, "part": 2, "call": 3, "other": 4}


def _blocks(reply: Reply, protocol: Protocol) -> tuple[Block, ...]:
    """Return the blocks of a reply, in order of arrival."""
    pieces = list(_pieces(reply))
    forms = FORMS[protocol]
    is_plain = _is_plain(pieces)
    blocks: list[Block] = []
    text, start = reply.text, 0
    reasoning, calls, parts = iter(reply.reasoning), iter(reply.calls), iter(reply.parts)
    for piece in pieces:
        match piece.kind:
            case "text":
                words = text[start : start + piece.length]
                start += piece.length
                extras = None if is_plain else forms.said(piece, None)
                blocks.append(TextBlock(words, extras=extras))
            case "reasoning":
                thought = next(reasoning)
                old = FlatReasoning(
                    protocol,
                    str(thought.text),
                    str(thought.signature),
                    thought.encrypted,
                    thought.id,
                    thought.kind,
                )
                piece = NO_PIECE if is_plain else piece
                blocks.append(ReasoningBlock(old.text, forms.reasoning(old, piece, blocks)))
            case "call":
                call = next(calls)
                flat = ToolCall(call.id, call.name, str(call.arguments))
                extras = None if is_plain else forms.call(flat, piece, None)
                blocks.append(CallBlock(flat.id, flat.name, flat.arguments, extras=extras))
            case "part":
                extras = None if is_plain else forms.media(piece, None)
                blocks.append(replace(next(parts), extras=extras))
            case _:
                blocks.append(forms.opaque(piece, None))
    if refusal := str(reply.refusal):
        place = len(blocks)
        while place and isinstance(blocks[place - 1], CallBlock):
            place -= 1
        blocks.insert(place, TextBlock(refusal, is_refusal=True))
    place_citations(blocks, reply.citations)
    return tuple(blocks)


def _pieces(reply: Reply) -> Iterator[LayoutPiece]:
    """Yield the pieces of a reply, complete."""
    starts = [part.start for part in reply.pieces if part.piece.kind == "text"]
    lengths = iter(
        end - start for start, end in zip(starts, [*starts[1:], len(reply.content)], strict=True)
    )
    calls = iter(reply.calls)
    for piece in (part.piece for part in reply.pieces):
        if piece.kind == "text":
            piece = replace(piece, length=next(lengths))
        elif piece.kind == "call":
            call = next(calls)
            marks = {"signature": call.signature, "id": call.item_id}
            piece = replace(piece, **marks, name=call.form, extras=call.extras)
        yield piece


def _is_plain(pieces: Sequence[LayoutPiece]) -> bool:
    """Return True for pieces in the usual order, of which nothing is marked."""
    ranks = [_ORDER[piece.kind] for piece in pieces]
    in_order = ranks == sorted(ranks) and ranks.count(1) <= 1 and 4 not in ranks
    return in_order and not any(
        p.signature or p.id or p.phase or p.name or p.extras for p in pieces
    )
