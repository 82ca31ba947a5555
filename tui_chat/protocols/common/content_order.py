"""A turn's content in the order in which it is sent.

1. A turn without a layout is reasoning, then text, parts, tool calls.
2. The marks of a layout (ids, signatures, what only the provider understands) count only in the
   protocol they came from. Elsewhere the order and the borders of the texts are kept, but not
   Gemini's borders: they are where a signature happened to sit.
3. A layout that no longer fits, because the text was edited, loses the order, the pieces that
   only the provider understands and the marks on texts. The marks on tool calls stay as long as
   the number of calls does: Gemini refuses a call without its signature.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TypeAlias

from tui_chat.models.endpoint import Protocol
from tui_chat.models.envelope import Turn
from tui_chat.models.message import Part, ToolCall
from tui_chat.models.semantics import Layout, LayoutPiece, ReasoningBlock
from tui_chat.models.text import Text
from tui_chat.protocols.common.encoding import native_form
from tui_chat.protocols.common.urls import is_link, standard_base64

PlacedContent: TypeAlias = tuple[LayoutPiece, Text | ReasoningBlock | ToolCall | Part | None]
"""A piece of a layout and its content; None if the piece itself has it all."""

_PLAIN_CALL = LayoutPiece("call")


def ordered_content(turn: Turn, protocol: Protocol) -> Sequence[PlacedContent]:
    """Return the pieces of a turn, with the marks to be sent back."""
    layout = turn.semantics.layout
    if turn.parts and native_form(turn, protocol) is None:
        turn = replace(turn, parts=tuple(_portable_part(part, protocol) for part in turn.parts))
    if layout is None:
        return _default_order(turn, ())
    is_native = layout.protocol is protocol
    if not layout.fits(turn.text, turn.semantics.reasoning, turn.tool_calls, turn.parts):
        marks = [piece for piece in layout.pieces if piece.kind == "call"] if is_native else ()
        return _default_order(turn, marks)
    if not is_native:
        return list(_without_marks(turn, layout))
    return list(_fill_layout(turn, layout.pieces))


def _portable_part(part: Part, protocol: Protocol) -> Part:
    """Return a part as it can be sent where it was not written: without bytes that are no base64
    and links that lead nowhere. A part without either is one that no protocol can carry.
    """
    if part.data and (data := standard_base64(part.data)) != part.data:
        return replace(part, data=data)
    if part.url and not is_link(part.url) and part.protocol is not protocol:
        return replace(part, url="")
    if part.protocol is Protocol.GEMINI is not protocol and (part.url or part.file_id):
        return replace(part, url="", file_id="")
    return part


def _fill_layout(turn: Turn, pieces: Sequence[LayoutPiece]) -> Iterator[PlacedContent]:
    """Yield the pieces with what stands in them."""
    reasoning, calls, parts = (
        iter(turn.semantics.reasoning),
        iter(turn.tool_calls),
        iter(turn.parts),
    )
    at = 0
    for piece in pieces:
        match piece.kind:
            case "text":
                yield piece, turn.text[at : at + piece.length]
                at += piece.length
            case "reasoning":
                yield piece, next(reasoning)
            case "call":
                yield piece, next(calls)
            case "part":
                yield piece, next(parts)
            case "other" | "result" | "refusal":
                yield piece, None


def _without_marks(turn: Turn, layout: Layout) -> Iterator[PlacedContent]:
    """Yield the pieces of a layout that came from another protocol."""
    pieces: list[LayoutPiece] = []
    joins = layout.protocol is Protocol.GEMINI
    for piece in layout.pieces:
        bare = LayoutPiece(piece.kind, piece.length, cache=piece.cache)
        if piece.kind == "other":
            bare = piece
        elif piece.kind == "text":
            if not piece.length:
                continue
            if joins and pieces and pieces[-1].kind == "text":
                bare = LayoutPiece("text", pieces.pop().length + piece.length)
        pieces.append(bare)
    yield from _fill_layout(turn, pieces)


def _default_order(turn: Turn, marks: Sequence[LayoutPiece]) -> Sequence[PlacedContent]:
    if len(marks) != len(turn.tool_calls):
        marks = [_PLAIN_CALL] * len(turn.tool_calls)
    placed: list[PlacedContent] = [
        (LayoutPiece("reasoning"), block) for block in turn.semantics.reasoning
    ]
    if len(turn.text):
        placed.append((LayoutPiece("text", len(turn.text)), turn.text))
    placed += [(LayoutPiece("part"), part) for part in turn.parts]
    return [*placed, *zip(marks, turn.tool_calls, strict=True)]
