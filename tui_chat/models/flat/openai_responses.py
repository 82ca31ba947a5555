"""OpenAI Responses in the flat model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tui_chat.models.blocks import Block, Change, Extras, JsonObject
from tui_chat.models.blocks import ReasoningBlock as Reasoning
from tui_chat.models.endpoint import Protocol
from tui_chat.models.flat.forms import NO_PIECE, FlatForms, loaded
from tui_chat.models.flat.values import FlatReasoning, LayoutPiece, ToolCall, WireForm
from tui_chat.models.message import MessageRole


class ResponsesForms(FlatForms):
    """The forms of OpenAI Responses.

    The keys of a text of the model are a pair, those of its item and those of its part.
    """

    protocol = Protocol.OPENAI_RESPONSES

    def text(self, piece: LayoutPiece, wire: WireForm | None) -> Extras | None:
        return self.marked(self.extras(piece), piece) if self.has_frame(piece, wire) else None

    def said(self, piece: LayoutPiece, wire: WireForm | None) -> Extras | None:
        if wire is not None:
            return self._pair(piece, "part" if piece.name == "more" else piece.name)
        if piece.id:
            return self._pair(piece, "message")
        return self._pair(piece, "string") if piece.phase else None

    def refusal(self, piece: LayoutPiece) -> Extras | None:
        return self._pair(piece, "part" if piece.name == "more" else piece.name)

    def _pair(self, piece: LayoutPiece, form: str) -> Extras:
        item = loaded(piece.extras)
        part = item.pop("content", {})
        marks = {"id": piece.id, "phase": piece.phase}
        item = {key: value for key, value in marks.items() if value} | item
        keys: JsonObject = {"item": item, "part": part}
        return Extras(self.protocol, form, {key: value for key, value in keys.items() if value})

    def call(self, call: ToolCall, piece: LayoutPiece, wire: WireForm | None) -> Extras | None:
        if wire is None and piece is NO_PIECE:
            return None
        return self.extras(piece, piece.name, id=piece.id)

    def media(self, piece: LayoutPiece, wire: WireForm | None) -> Extras | None:
        if wire is not None:
            return self.marked(self.extras(piece), piece)
        if not piece.id:
            return None
        keys = {"id": piece.id, "status": "completed", **loaded(piece.extras)}
        return Extras(self.protocol, "image_generation_call", keys)

    def result(self, piece: LayoutPiece, wire: WireForm | None) -> Extras | None:
        return self.extras(piece, piece.name, id=piece.id) if piece is not NO_PIECE else None

    def reasoning(
        self, block: FlatReasoning, piece: LayoutPiece, before: Sequence[Block]
    ) -> Extras:
        is_more = piece.name == "more"
        if block.id and piece.name != "item":
            is_more = is_more or _item_before(before) == block.id
        words = ["more"] * is_more + ["content"] * (block.kind == "reasoning_text")
        form = " ".join(words)
        if is_more:
            return Extras(self.protocol, form)
        return self.extras(piece, form, id=block.id, encrypted_content=block.encrypted)

    def message(self, wire: WireForm, role: MessageRole, blocks: Sequence[Block]) -> Extras:
        extras = super().message(wire, "user" if role == "tool" else role, blocks)
        if role != "tool":
            return extras
        changes = tuple(Change(("output",), c.before, c.value) for c in extras.changes)
        return replace(extras, changes=changes)


def _item_before(blocks: Sequence[Block]) -> str:
    """Return the id of the reasoning item that the last block is a part of; empty for none."""
    for block in reversed(blocks):
        extras = block.extras
        if not isinstance(block, Reasoning) or extras is None:
            return ""
        if not extras.form.startswith("more"):
            return str(extras.keys.get("id", ""))
    return ""
