"""A reply while it arrives, as `models.reply_growth` makes it of events."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import replace

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.citations import NO_REFERENCES, References
from tui_chat.models.endpoint import Protocol
from tui_chat.models.message import Message, Part, ToolCall
from tui_chat.models.semantics import (
    KeptReply,
    Layout,
    LayoutPiece,
    MessageSemantics,
    ReasoningBlock,
)
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
    parts: tuple[Part, ...] = ()
    """Pictures, sounds and files, each whole."""
    pieces: tuple[PieceSoFar, ...] = ()
    """All of the above and the provider's opaque blocks, in order of arrival."""
    references: References = NO_REFERENCES
    """The sources of the reply; the places are checked by `message`, when the text is whole."""
    begun: int = 0
    """Characters at the beginning of the text that this stream continues."""
    replaced: tuple[str, ...] = ()
    """See `MessageSemantics.replaced`."""
    restarts: int = 0
    """The number of times that the provider began again; each time, all that grows is empty
    again."""
    tokens: Rope = Rope()
    """See `MessageSemantics.tokens`."""
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
                tokens=str(self.tokens),
            ),
        )


def with_call_ids(message: Message, taken: Collection[str]) -> Message:
    """Return a reply whose calls all have ids, no two the same: results and consent name a call by
    it. A call that came without one gets `call_1` and so on, the first that is not `taken`.
    """
    used: set[str] = set()
    calls: list[ToolCall] = []
    number = 1
    for call in message.tool_calls:
        id, again = call.id, 2
        while not id or id in used:
            if call.id:
                id, again = f"{call.id}_{again}", again + 1
            elif (made := f"call_{number}") not in taken and made not in used:
                id = made
            else:
                number += 1
        used.add(id)
        calls.append(replace(call, id=id))
    return replace(message, tool_calls=tuple(calls)) if calls else message


MADE_ID = re.compile(r"call_[1-9]\d*")
"""The ids that `with_call_ids` gives: a protocol that needs none does not get them."""


_ORDER: dict[str, int] = {"reasoning": 0, "text": 1, "part": 2, "call": 3, "other": 4}


def _layout(reply: Reply, protocol: Protocol) -> Layout | None:
    """Return the reply's layout, or None if it is the default layout."""
    starts = [part.start for part in reply.pieces if part.piece.kind == "text"]
    lengths = iter(
        end - start for start, end in zip(starts, [*starts[1:], len(reply.content)], strict=True)
    )
    calls = iter(reply.calls)
    pieces: list[LayoutPiece] = []
    for piece in (part.piece for part in reply.pieces):
        if piece.kind == "text":
            piece = replace(piece, length=next(lengths))
        elif piece.kind == "call":
            call = next(calls)
            piece = replace(
                piece,
                signature=call.signature,
                id=call.item_id,
                name=call.form,
                extras=call.extras,
            )
        pieces.append(piece)
    ranks = [_ORDER[piece.kind] for piece in pieces]
    plain = ranks == sorted(ranks) and ranks.count(1) <= 1 and 4 not in ranks
    marks = (p.signature or p.id or p.phase or p.name or p.extras for p in pieces)
    if plain and not any(marks):
        return None
    return Layout(protocol, tuple(pieces))
