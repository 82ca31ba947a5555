"""A message without its muted reasoning and parts, and without calls whose results are muted.

What is left must be accepted by the protocol that the message came from.

1. Reasoning stands before what it led to. If all of that goes, it goes: Anthropic refuses a message
   that ends in thinking.
2. Responses ties an item to the reasoning before it by its id: it refuses reasoning whose next item
   is gone, and an item with an id whose reasoning is gone. So either both stay as they are, or the
   reasoning goes and the items are sent without ids.
3. Gemini wants its signature on the first call of a message: it moves to the next one.
4. Muted reasoning stays where a provider demands it back for what is left.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import field, replace

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.endpoint import Protocol
from tui_chat.models.memo import Memo
from tui_chat.models.message import NOT_MUTED, Message
from tui_chat.models.semantics import Layout, LayoutPiece, ReasoningBlock


@dataclass(frozen=True, slots=True)
class Reduction:
    """What is left of a message."""

    message: Message | None
    """None if nothing is left."""
    is_demanded: bool = False
    """True if some muted reasoning has to stay."""


@Memo
def reduce_message(message: Message, removed: frozenset[int], is_open: bool) -> Reduction:
    """Return a message without its muted reasoning and parts, and without some of its calls."""
    calls = tuple(call for i, call in enumerate(message.tool_calls) if i not in removed)
    muted_parts = frozenset(message.muted.parts)
    parts = tuple(part for i, part in enumerate(message.parts) if i not in muted_parts)
    semantics = message.semantics
    is_empty = not (message.content.strip() or calls or parts or semantics.refusal)
    if is_empty and message.role != "tool":
        return Reduction(None)
    pieces = _PieceReduction(message, removed, muted_parts, bool(calls), is_open)
    pieces.run()
    reasoning = tuple(b for i, b in enumerate(semantics.reasoning) if i in pieces.reasoning)
    semantics = replace(semantics, reasoning=reasoning, layout=pieces.layout)
    sent = replace(message, tool_calls=calls, parts=parts, semantics=semantics, muted=NOT_MUTED)
    return Reduction(sent, pieces.is_demanded)


@dataclass(slots=True)
class _PieceReduction:
    """The pieces of a message's layout, and those that stay."""

    message: Message
    removed_calls: Collection[int]
    removed_parts: Collection[int]
    has_calls: bool
    """True if calls stay."""
    is_open: bool
    """True if the request goes on with the calls of this message."""
    reasoning: set[int] = field(default_factory=set[int])
    """The indices of the reasoning that stays."""
    layout: Layout | None = None
    """The layout of what stays."""
    is_demanded: bool = False

    def run(self) -> None:
        """Find what stays."""
        message, layout = self.message, self.message.semantics.layout
        blocks, calls = message.semantics.reasoning, message.tool_calls
        fits = layout is not None and layout.fits(message.content, blocks, calls, message.parts)
        pieces = layout.pieces if fits and layout is not None else _default_pieces(message)
        kept = [piece for group in self._groups(pieces) for piece in self._reduced(group)]
        if layout is None:
            return
        if not fits:
            # Of a layout that an edit made stale, only the marks on calls count.
            marks = [piece for piece in layout.pieces if piece.kind == "call"]
            fitting = len(marks) == len(calls)
            kept = [p for i, p in enumerate(marks) if fitting and i not in self.removed_calls]
        self.layout = replace(layout, pieces=tuple(kept))

    def _groups(self, pieces: Collection[LayoutPiece]) -> Iterator[list[_Place]]:
        """Yield the pieces in groups: reasoning, and what it led to."""
        numbers = {"reasoning": 0, "call": 0, "part": 0}
        start = 0
        group: list[_Place] = []
        for piece in pieces:
            begins = piece.kind == "reasoning" and group and group[-1].piece.kind != "reasoning"
            if begins:
                yield group
                group = []
            number = numbers.get(piece.kind, 0)
            numbers[piece.kind] = number + 1
            text = self.message.content[start : start + piece.length]
            start += piece.length
            is_removed = (piece.kind == "call" and number in self.removed_calls) or (
                piece.kind == "part" and number in self.removed_parts
            )
            is_blank = piece.kind == "text" and not (text.strip() or piece.signature)
            group.append(_Place(piece, number, is_removed, is_blank))
        yield group

    def _reduced(self, group: list[_Place]) -> Iterator[LayoutPiece]:
        """Yield the pieces of a group that stay."""
        reasoning = [place for place in group if place.piece.kind == "reasoning"]
        rest = [place for place in group if place.piece.kind != "reasoning"]
        blocks = [self.message.semantics.reasoning[place.number] for place in reasoning]
        keeps = bool(blocks) and self._keeps_reasoning(blocks, rest)
        if keeps:
            removed_ids = {self.message.tool_calls[number].id for number in self.removed_calls}
            for place, block in zip(reasoning, blocks, strict=True):
                if not block.id or block.id not in removed_ids:  # OpenRouter names the call
                    self.reasoning.add(place.number)
                    yield place.piece
        loses_ids = bool(blocks) and not keeps and blocks[0].protocol is Protocol.OPENAI_RESPONSES
        signature = ""
        for place in rest:
            piece = place.piece
            if place.is_removed:
                signature = signature or (piece.signature if piece.kind == "call" else "")
                continue
            if signature and piece.kind == "call":
                piece = replace(piece, signature=piece.signature or signature)
                signature = ""
            if loses_ids and piece.kind in ("text", "call") and piece.id:
                piece = replace(piece, id="")
            yield piece

    def _keeps_reasoning(self, blocks: list[ReasoningBlock], rest: list[_Place]) -> bool:
        followers = [place for place in rest if not place.is_blank]
        stay = [place for place in followers if not place.is_removed]
        if followers and not stay:
            return False
        protocol = blocks[0].protocol
        if protocol is Protocol.OPENAI_RESPONSES and followers and followers[0].is_removed:
            return False
        if not self.message.muted.reasoning:
            return True
        if self._is_demanded(blocks, stay):
            self.is_demanded = True
            return True
        return False

    def _is_demanded(self, blocks: list[ReasoningBlock], stay: list[_Place]) -> bool:
        """Return True if a provider refuses what stays without the reasoning before it."""
        match blocks[0].protocol:
            case Protocol.OPENAI_RESPONSES:  # items of the provider's own have no form without id
                return any(place.piece.kind in ("other", "part") for place in stay)
            case Protocol.OPENAI_CHAT:  # DeepSeek, with every call of the conversation
                is_plain = not blocks[0].kind.startswith("reasoning.")
                return self.has_calls and (is_plain or self.is_open)
            case Protocol.ANTHROPIC:
                return self.has_calls and self.is_open
            case Protocol.GEMINI:
                is_signed = any(block.signature for block in blocks)
                return self.has_calls and self.is_open and is_signed
            case _:
                return False


@dataclass(frozen=True, slots=True)
class _Place:
    """A piece of a layout."""

    piece: LayoutPiece
    number: int
    """Its index among the pieces of its kind."""
    is_removed: bool
    is_blank: bool
    """True for a text of nothing but white space, which may not be sent."""


def _default_pieces(message: Message) -> list[LayoutPiece]:
    """Return the pieces of a message without a layout."""
    return [
        *(LayoutPiece("reasoning") for _ in message.semantics.reasoning),
        *((LayoutPiece("text", len(message.content)),) if message.content else ()),
        *(LayoutPiece("part") for _ in message.parts),
        *(LayoutPiece("call") for _ in message.tool_calls),
    ]
