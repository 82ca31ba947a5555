"""OpenAI Chat in the flat model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from tui_chat.models.blocks import (
    Block,
    CallBlock,
    Change,
    Extras,
    Json,
    JsonObject,
    OpaqueBlock,
    ReasoningBlock,
    TextBlock,
    extras_of,
)
from tui_chat.models.endpoint import Protocol
from tui_chat.models.flat.forms import NO_PIECE, FlatForms
from tui_chat.models.flat.values import FlatReasoning, LayoutPiece, ToolCall, WireForm
from tui_chat.models.message import MessageRole

_OLD_CALL = "function_call"
_PARTS = {"thinking": "part", "thinking text": "part with text"}
"""The forms of reasoning that is a part of the content, by the words of the flat model."""


class ChatForms(FlatForms):
    """The forms of OpenAI Chat.

    `content` is the form of a text that is a stretch of the one string `content`, since a stream
    does not say where a part ends. `field` is that of an opaque block that is a key of the message.
    """

    protocol = Protocol.OPENAI_CHAT

    def text(self, piece: LayoutPiece, wire: WireForm | None) -> Extras | None:
        if wire is None:
            form = "" if piece.extras else "content"
            return None if piece is NO_PIECE else self._signed(piece, form)
        return self._marked(piece, piece.name) if self.has_frame(piece, wire) else None

    def refusal(self, piece: LayoutPiece) -> Extras | None:
        return self._marked(piece)

    def call(self, call: ToolCall, piece: LayoutPiece, wire: WireForm | None) -> Extras | None:
        if wire is None and piece is NO_PIECE:
            return None
        form = "custom" if piece.is_custom else _OLD_CALL if piece.name == _OLD_CALL else ""
        # litellm's own field has the signature already.
        is_signed = "thought_signature" in piece.extras
        extras = self.extras(piece, form) if is_signed else self._signed(piece, form)
        if wire is None:
            return extras
        written = written_call(call, form)
        read = _as_read(written, form, is_typed="untyped" not in piece.name)
        for key, value in extras.keys.items():
            inner: Json = read.get(key)
            both = isinstance(inner, dict) and isinstance(value, dict)
            read[key] = cast("JsonObject", inner) | value if both else value
        return extras_of(self.protocol, read, written, form)

    def media(self, piece: LayoutPiece, wire: WireForm | None) -> Extras | None:
        extras = super().media(piece, wire)
        if extras is not None and piece.id:
            return replace(extras, form="audio", keys={**extras.keys, "id": piece.id})
        return self._marked(piece) if extras is not None and piece.cache else extras

    def reasoning(
        self, block: FlatReasoning, piece: LayoutPiece, before: Sequence[Block]
    ) -> Extras:
        kind, *words = block.kind.split(" ")
        if not kind.startswith("reasoning."):
            return self._thought(block, piece)
        numbers = [int(word[1:]) for word in words if word[1:].isdecimal() and word[0] == "#"]
        details = (b.extras for b in before if isinstance(b, ReasoningBlock) and b.extras)
        index = sum(1 for extras in details if extras.form.startswith("reasoning."))
        return self.extras(
            piece,
            kind,
            signature=block.signature,
            data=block.encrypted,
            id=block.id,
            format=next((word for word in words if word[0] != "#"), ""),
            index=numbers[0] if numbers else index,
        )

    def _thought(self, block: FlatReasoning, piece: LayoutPiece) -> Extras:
        """Return the extras of plain reasoning, or of one of litellm's blocks of Anthropic."""
        if block.kind != "thinking_blocks":
            opaque, form = block.encrypted, _PARTS.get(block.kind, block.kind)
            return self.extras(piece, form, signature=block.signature, reasoning_opaque=opaque)
        if block.encrypted:
            return self.extras(piece, "redacted_thinking", data=block.encrypted)
        extras = self.extras(piece, "thinking")
        return replace(extras, keys={**extras.keys, "signature": block.signature})

    def opaque(self, piece: LayoutPiece, wire: WireForm | None) -> OpaqueBlock:
        block = super().opaque(piece, wire)
        return block if wire is not None else replace(block, extras=Extras(self.protocol, "field"))

    def empty_content(self, role: MessageRole, blocks: Sequence[Block]) -> tuple[Json, ...]:
        has_more = any(
            b.is_refusal if isinstance(b, TextBlock) else _is_listed_call(b) for b in blocks
        )
        return (None,) if role == "assistant" and has_more else ("",)

    def message(self, wire: WireForm, role: MessageRole, blocks: Sequence[Block]) -> Extras:
        extras = super().message(wire, "user" if role == "tool" else role, blocks)
        changes = _changed_fields(_written_fields(blocks), extras.keys, ())
        return replace(extras, changes=(*extras.changes, *changes))

    def _signed(self, piece: LayoutPiece, form: str) -> Extras:
        """Return the extras of a piece with Google's signature."""
        google = {"google": {"thought_signature": piece.signature}} if piece.signature else None
        return self.extras(piece, form, extra_content=google)

    def _marked(self, piece: LayoutPiece, form: str = "") -> Extras:
        """Return the extras of a piece with its cache mark."""
        return self.marked(self._signed(piece, form), piece)


def _is_listed_call(block: Block) -> bool:
    is_old = block.extras is not None and block.extras.form == _OLD_CALL
    return isinstance(block, CallBlock) and not is_old


def written_call(call: ToolCall, form: str) -> JsonObject:
    """Return a call as the writer of the protocol says it, without its extras."""
    if form == _OLD_CALL:
        return {"name": call.name, "arguments": call.arguments}
    written: JsonObject = {"id": call.id} if call.id else {}
    holder, key = ("custom", "input") if form == "custom" else ("function", "arguments")
    return {**written, "type": holder, holder: {"name": call.name, key: call.arguments}}


def _as_read(written: JsonObject, form: str, *, is_typed: bool) -> JsonObject:
    """Return a call as it came: what is empty was not there."""
    if form == _OLD_CALL:
        return {key: value for key, value in written.items() if value}
    holder = "custom" if form == "custom" else "function"
    inner = {key: value for key, value in written[holder].items() if value}
    read: dict[str, Any] = {key: value for key, value in written.items() if key != holder}
    if inner:
        read[holder] = inner
    if not is_typed:
        del read["type"]
    return read


def _changed_fields(
    written: JsonObject, keys: Mapping[str, Json], path: tuple[str, ...]
) -> Iterator[Change]:
    """Yield the changes of what the writer says to what the keys of a message have in its place."""
    for key, value in keys.items():
        ours: Json = written.get(key)
        if isinstance(ours, dict) and isinstance(value, Mapping):
            fields, inner = cast("JsonObject", ours), cast("Mapping[str, Json]", value)
            yield from _changed_fields(fields, inner, (*path, key))
        elif key in written:
            yield Change((*path, key), (written[key],), (value,))


def _written_fields(blocks: Sequence[Block]) -> JsonObject:
    """Return fields beside the content that the writer gives to a message with these blocks."""
    fields: JsonObject = {}
    for block in blocks:
        if isinstance(block, TextBlock) and block.is_refusal and block.extras is None:
            fields["refusal"] = block.text
        elif isinstance(block, CallBlock) and not _is_listed_call(block):
            fields[_OLD_CALL] = {"name": block.name, "arguments": block.arguments}
    return fields
