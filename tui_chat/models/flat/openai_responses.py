"""OpenAI Responses in the flat model."""

from __future__ import annotations

from collections.abc import Sequence

from tui_chat.models.blocks import Block, Extras
from tui_chat.models.endpoint import Protocol
from tui_chat.models.flat.forms import NO_PIECE, FlatForms
from tui_chat.models.message import ToolCall
from tui_chat.models.semantics import LayoutPiece, ReasoningBlock, WireForm


class ResponsesForms(FlatForms):
    """The forms of OpenAI Responses."""

    protocol = Protocol.OPENAI_RESPONSES

    def text(self, piece: LayoutPiece, wire: WireForm | None) -> Extras | None:
        if not self.has_frame(piece, wire):
            return None
        return self.extras(piece, piece.name, id=piece.id, phase=piece.phase)

    def call(self, call: ToolCall, piece: LayoutPiece, wire: WireForm | None) -> Extras | None:
        if wire is None and piece is NO_PIECE:
            return None
        return self.extras(piece, piece.name, id=piece.id)

    def reasoning(
        self, block: ReasoningBlock, piece: LayoutPiece, before: Sequence[Block]
    ) -> Extras:
        return self.extras(piece, block.kind, id=block.id, encrypted_content=block.encrypted)
