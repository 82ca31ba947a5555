"""The places where the flat model keeps what is `Extras` in blocks: the defaults of all protocols.

A protocol's own module has a subclass for what differs.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar, cast

from tui_chat.models.blocks import (
    Block,
    Cache,
    Change,
    Extras,
    Json,
    JsonObject,
    MediaBlock,
    OpaqueBlock,
    TextBlock,
)
from tui_chat.models.endpoint import Protocol
from tui_chat.models.flat.values import FlatReasoning, LayoutPiece, ToolCall, WireForm
from tui_chat.models.message import MessageRole

NO_PIECE = LayoutPiece("other")
"""Stands for the piece of a message without a layout."""


class FlatForms:
    """The forms of one protocol. `wire` is None for a message that was not captured."""

    protocol: ClassVar[Protocol]

    def extras(self, piece: LayoutPiece, form: str = "", **more: Json) -> Extras:
        """Return the extras of a piece. `more`: keys that have fields of their own in the flat
        model; an empty one is left out.
        """
        keys = loaded(piece.extras)
        keys.update({key: value for key, value in more.items() if value not in ("", None)})
        return Extras(self.protocol, form, keys)

    def marked(self, extras: Extras, piece: LayoutPiece) -> Extras:
        """Return extras with the cache mark of their piece, as it was written."""
        if not piece.cache:
            return extras
        key = "prompt_cache_breakpoint" if '"mode"' in piece.cache else "cache_control"
        return replace(extras, keys={key: json.loads(piece.cache), **extras.keys})

    def has_frame(self, piece: LayoutPiece, wire: WireForm | None) -> bool:
        """Return True if a text is an object even where it is alone."""
        is_listed = wire is not None and wire.shape == "parts"
        return is_listed or bool(piece.extras or piece.cache or piece.id or piece.signature)

    def text(self, piece: LayoutPiece, wire: WireForm | None) -> Extras | None:
        """Return the extras of a text; None if it is bare."""
        return self.extras(piece) if self.has_frame(piece, wire) else None

    def said(self, piece: LayoutPiece, wire: WireForm | None) -> Extras | None:
        """Return the extras of a text of the model; None if it is bare."""
        return self.text(piece, wire)

    def refusal(self, piece: LayoutPiece) -> Extras | None:
        """Return the extras of a refusal that is a piece of the content."""
        return self.extras(piece)

    def call(self, call: ToolCall, piece: LayoutPiece, wire: WireForm | None) -> Extras | None:
        """Return the extras of a call."""
        return self.extras(piece) if wire is not None or piece is not NO_PIECE else None

    def media(self, piece: LayoutPiece, wire: WireForm | None) -> Extras | None:
        """Return the extras of a picture or file."""
        return self.extras(piece) if wire is not None or piece is not NO_PIECE else None

    def result(self, piece: LayoutPiece, wire: WireForm | None) -> Extras | None:
        """Return the extras of the head of a tool result."""
        return self.extras(piece) if piece is not NO_PIECE else None

    def reasoning(
        self, block: FlatReasoning, piece: LayoutPiece, before: Sequence[Block]
    ) -> Extras:
        """Return the extras of reasoning of this protocol. `before` are the blocks before it."""
        return self.extras(piece, block.kind, signature=block.signature, data=block.encrypted)

    def opaque(self, piece: LayoutPiece, wire: WireForm | None) -> OpaqueBlock:
        """Return a block that only the protocol understands."""
        return OpaqueBlock(self.protocol, piece.name, json.loads(piece.data))

    def empty_content(self, role: MessageRole, blocks: Sequence[Block]) -> tuple[Json, ...]:
        """Return the content that the writer gives to a message without any; `()` for no key."""
        return ("",)

    def message(self, wire: WireForm, role: MessageRole, blocks: Sequence[Block]) -> Extras:
        """Return the extras of a captured message."""
        form = "joined" if wire.joined else wire.role or wire.slot
        changes: tuple[Change, ...] = ()
        keys = loaded(wire.extras)
        has_content = any(map(_is_content, blocks))
        if not has_content and wire.shape and role != "tool":
            read = _EMPTY[wire.shape]
            ours = self.empty_content(role, blocks)
            if ours and read != ours:
                changes = (Change(("content",), ours, read),)
            elif read and not ours:
                keys["content"] = read[0]
        return Extras(self.protocol, form, keys, changes)


def _is_content(block: Block) -> bool:
    """Return True for a block that is a part of the content: a bare refusal stands beside it."""
    if isinstance(block, TextBlock):
        return not block.is_refusal or block.extras is not None
    return isinstance(block, MediaBlock | OpaqueBlock)


_EMPTY: dict[str, tuple[Json, ...]] = {
    "null": (None,),
    "absent": (),
    "string": ("",),
    "parts": ([],),
}
"""The content of a message without any, by the shape that it had."""


def loaded(text: str) -> JsonObject:
    """Return an object that the flat model keeps as compact JSON; empty for none."""
    return cast("JsonObject", json.loads(text)) if text else {}


def cache_of(mark: str) -> Cache:
    """Return a cache mark, which the flat model keeps as its provider wrote it."""
    lifetime: Any = loaded(mark).get("ttl", "default") if mark else ""
    return lifetime
