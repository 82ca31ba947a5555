"""Anthropic in the flat model."""

from __future__ import annotations

from collections.abc import Sequence

from tui_chat.models.blocks import Block, Json
from tui_chat.models.endpoint import Protocol
from tui_chat.models.flat.forms import FlatForms
from tui_chat.models.message import MessageRole


class AnthropicForms(FlatForms):
    """The forms of Anthropic. The cache mark is a field of a block."""

    protocol = Protocol.ANTHROPIC

    def empty_content(self, role: MessageRole, blocks: Sequence[Block]) -> tuple[Json, ...]:
        return ([],)
