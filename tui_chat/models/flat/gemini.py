"""Gemini in the flat model. The words of a form are the keys that were written in snake_case."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tui_chat.models.blocks import Block, Change, Extras, JsonObject
from tui_chat.models.endpoint import Protocol
from tui_chat.models.flat.forms import FlatForms, loaded
from tui_chat.models.flat.values import FlatReasoning, LayoutPiece, ToolCall, WireForm
from tui_chat.models.message import MessageRole


class GeminiForms(FlatForms):
    """The forms of Gemini. Every text is a part with its signature, if it has one."""

    protocol = Protocol.GEMINI

    def _signed(self, piece: LayoutPiece, *words: str, signature: str = "") -> Extras:
        form = " ".join(filter(None, (*words, *piece.spelled)))
        return self.extras(piece, form, thoughtSignature=signature or piece.signature)

    def text(self, piece: LayoutPiece, wire: WireForm | None) -> Extras | None:
        return self._signed(piece)

    def call(self, call: ToolCall, piece: LayoutPiece, wire: WireForm | None) -> Extras | None:
        return self._signed(piece)

    def media(self, piece: LayoutPiece, wire: WireForm | None) -> Extras | None:
        return self._signed(piece)

    def result(self, piece: LayoutPiece, wire: WireForm | None) -> Extras | None:
        extras = self._signed(piece, piece.name)
        if wire is None or wire.shape != "absent":
            return extras
        answer: JsonObject = extras.keys.get("functionResponse", {})
        read = (answer["response"],) if "response" in answer else ()
        response = Change(("functionResponse", "response"), ({"output": ""},), read)
        return replace(extras, changes=(response,))

    def reasoning(
        self, block: FlatReasoning, piece: LayoutPiece, before: Sequence[Block]
    ) -> Extras:
        return self._signed(piece, signature=block.signature)

    def message(self, wire: WireForm, role: MessageRole, blocks: Sequence[Block]) -> Extras:
        changes: list[Change] = []
        keys = loaded(wire.extras)
        if wire.role:
            read = () if wire.role == "absent" else (wire.role,)
            changes.append(Change(("role",), ("user",), read))
        if wire.shape == "absent" and not blocks:
            parts = (keys["parts"],) if "parts" in keys else ()
            changes.append(Change(("parts",), ([],), parts))
        form = "joined" if wire.joined else ""
        return Extras(self.protocol, form, keys, tuple(changes))
