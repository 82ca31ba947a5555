"""Gemini in the flat model."""

from __future__ import annotations

from collections.abc import Sequence

from tui_chat.models.blocks import Block, Extras
from tui_chat.models.endpoint import Protocol
from tui_chat.models.flat.forms import FlatForms
from tui_chat.models.message import ToolCall
from tui_chat.models.semantics import LayoutPiece, ReasoningBlock, WireForm


class GeminiForms(FlatForms):
    """The forms of Gemini. Every text is a part with its signature, if it has one."""

    protocol = Protocol.GEMINI

    def _signed(self, piece: LayoutPiece, form: str = "") -> Extras:
        return self.extras(piece, form, thoughtSignature=piece.signature)

    def text(self, piece: LayoutPiece, wire: WireForm | None) -> Extras | None:
        return self._signed(piece)

    def call(self, call: ToolCall, piece: LayoutPiece, wire: WireForm | None) -> Extras | None:
        return self._signed(piece)

    def media(self, piece: LayoutPiece, wire: WireForm | None) -> Extras | None:
        return self._signed(piece)

    def result(self, piece: LayoutPiece, wire: WireForm | None) -> Extras | None:
        return self._signed(piece, piece.name)

    def reasoning(
        self, block: ReasoningBlock, piece: LayoutPiece, before: Sequence[Block]
    ) -> Extras:
        return self.extras(piece, thoughtSignature=block.signature)
