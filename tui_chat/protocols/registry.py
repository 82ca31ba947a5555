"""Protocol -> its implementation."""

from __future__ import annotations

from tui_chat.models.endpoint import Protocol
from tui_chat.protocols.anthropic import Anthropic
from tui_chat.protocols.base import WireProtocol
from tui_chat.protocols.gemini import Gemini
from tui_chat.protocols.openai_chat import OpenAIChat
from tui_chat.protocols.openai_responses import OpenAIResponses

PROTOCOLS: dict[Protocol, WireProtocol] = {
    wire.protocol: wire for wire in (OpenAIChat(), OpenAIResponses(), Anthropic(), Gemini())
}
"""All four."""


def protocol_of(protocol: Protocol) -> WireProtocol:
    """Return the implementation of a protocol."""
    return PROTOCOLS[protocol]
