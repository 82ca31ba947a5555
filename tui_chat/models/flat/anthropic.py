"""Anthropic in the flat model."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from tui_chat.models.blocks import Block, Change, Extras, Json
from tui_chat.models.endpoint import Protocol
from tui_chat.models.flat.forms import FlatForms, loaded
from tui_chat.models.flat.values import FlatReasoning, LayoutPiece, ToolCall, WireForm
from tui_chat.models.message import MessageRole


class AnthropicForms(FlatForms):
    """The forms of Anthropic. The cache mark is a field of a block, but not of reasoning."""

    protocol = Protocol.ANTHROPIC

    def call(self, call: ToolCall, piece: LayoutPiece, wire: WireForm | None) -> Extras | None:
        extras = super().call(call, piece, wire)
        if extras is None or wire is None:
            return extras
        return self._changed(extras, *(k for k in ("id", "name") if not getattr(call, k)))

    def result(self, piece: LayoutPiece, wire: WireForm | None) -> Extras | None:
        if wire is None:
            return super().result(piece, wire)
        extras = self.extras(piece)
        if wire.shape in _EMPTY:
            extras = replace(extras, keys={**extras.keys, "content": _EMPTY[wire.shape]})
        return self._changed(extras, "tool_use_id")

    def _changed(self, extras: Extras, *names: str) -> Extras:
        """Return extras by which a text of the flat model is what it was read as, if it is empty:
        something else than a text, or missing.
        """
        keys = dict(extras.keys)
        changes = [
            Change((name,), ("",), (keys.pop(name),) if name in keys else ()) for name in names
        ]
        return replace(extras, keys=keys, changes=tuple(changes))

    def reasoning(
        self, block: FlatReasoning, piece: LayoutPiece, before: Sequence[Block]
    ) -> Extras:
        known: dict[str, Json] = {"signature": block.signature}
        if block.encrypted:
            known = {"data": block.encrypted}
        if piece.cache:
            known["cache_control"] = json.loads(piece.cache)
        keys = {key: value for key, value in known.items() if value} | loaded(piece.extras)
        return Extras(self.protocol, "redacted_thinking" if block.encrypted else "", keys)

    def empty_content(self, role: MessageRole, blocks: Sequence[Block]) -> tuple[Json, ...]:
        return ([],)


_EMPTY: dict[str, Json] = {"string": "", "parts": [], "null": None}
"""The content of a result without any, by the shape that it had."""
