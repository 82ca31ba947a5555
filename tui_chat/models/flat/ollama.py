"""Ollama in the flat model."""

from __future__ import annotations

import json
from collections.abc import Sequence

from tui_chat.models.blocks import Block, Extras, Json, JsonObject, TextBlock, extras_of
from tui_chat.models.endpoint import Protocol
from tui_chat.models.flat.forms import FlatForms, loaded
from tui_chat.models.flat.values import LayoutPiece, ToolCall, WireForm
from tui_chat.models.message import MessageRole


class OllamaForms(FlatForms):
    """The forms of Ollama: a message has one text, and images beside it."""

    protocol = Protocol.OLLAMA

    def call(self, call: ToolCall, piece: LayoutPiece, wire: WireForm | None) -> Extras | None:
        if wire is None:
            return super().call(call, piece, wire)
        arguments: Json = json.loads(call.arguments) if call.arguments else {}
        written: JsonObject = {"function": {"name": call.name, "arguments": arguments}}
        function: JsonObject = {"name": call.name} if call.name else {}
        function |= {"arguments": arguments} if call.arguments else {}
        read = loaded(piece.extras)
        if function:
            read["function"] = function | dict(read.get("function", {}))
        return extras_of(self.protocol, read, written)

    def message(self, wire: WireForm, role: MessageRole, blocks: Sequence[Block]) -> Extras:
        texts = [block for block in blocks if isinstance(block, TextBlock)]
        return super().message(wire, "user" if role == "tool" else role, texts)
