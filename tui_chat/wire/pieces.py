"""An assistant's turn in the order in which its provider sent it.

1. A turn without a layout is reasoning, text, pictures and files, then tool calls.
2. A layout counts only in the protocol it came from; to others the turn is as without one.
3. A layout that no longer fits, because the text was edited, loses the order, the pieces that
   are only the provider's and the marks on texts. The marks on tool calls stay as long as the
   number of calls does: Gemini refuses a call without its signature.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from tui_chat.model.endpoint import Protocol
from tui_chat.model.envelope import Turn
from tui_chat.model.message import Part, ToolCall
from tui_chat.model.semantics import Piece, ReasoningBlock
from tui_chat.model.text import Text

Placed: TypeAlias = tuple[Piece, Text | ReasoningBlock | Part | ToolCall | None]
"""A piece and what stands in it; None where that is in the piece itself, or is the refusal."""

_PLAIN_CALL = Piece("call")


def laid_out(turn: Turn, protocol: Protocol) -> Sequence[Placed]:
    """Return the pieces of a turn, with the marks (ids, signatures) to be sent back."""
    layout = turn.semantics.layout
    if layout is None or layout.protocol is not protocol:
        return _plainly(turn, ())
    if not layout.fits(turn.text, turn.semantics.reasoning, turn.tool_calls, turn.parts):
        return _plainly(turn, [piece for piece in layout.pieces if piece.kind == "call"])
    placed: list[Placed] = []
    reasoning, calls = iter(turn.semantics.reasoning), iter(turn.tool_calls)
    parts = iter(turn.parts)
    at = 0
    for piece in layout.pieces:
        match piece.kind:
            case "text":
                placed.append((piece, turn.text[at : at + piece.length]))
                at += piece.length
            case "reasoning":
                placed.append((piece, next(reasoning)))
            case "call":
                placed.append((piece, next(calls)))
            case "part":
                placed.append((piece, next(parts)))
            case "refusal" | "result" | "other":
                placed.append((piece, None))
    return placed


def _plainly(turn: Turn, marks: Sequence[Piece]) -> Sequence[Placed]:
    if len(marks) != len(turn.tool_calls):
        marks = [_PLAIN_CALL] * len(turn.tool_calls)
    placed: list[Placed] = [(Piece("reasoning"), block) for block in turn.semantics.reasoning]
    if len(turn.text):
        placed.append((Piece("text", len(turn.text)), turn.text))
    placed += [(Piece("part"), part) for part in turn.parts]
    return [*placed, *zip(marks, turn.tool_calls, strict=True)]
