"""Protocol -> its definition. A new protocol adds its package and one line here."""

from __future__ import annotations

from tui_chat.models.endpoint import Protocol
from tui_chat.protocols.anthropic import ANTHROPIC
from tui_chat.protocols.base import ProtocolDefinition
from tui_chat.protocols.gemini import GEMINI
from tui_chat.protocols.ollama import OLLAMA
from tui_chat.protocols.openai_chat import OPENAI_CHAT
from tui_chat.protocols.openai_responses import OPENAI_RESPONSES

PROTOCOLS: dict[Protocol, ProtocolDefinition] = {
    OPENAI_CHAT.protocol: OPENAI_CHAT,
    OPENAI_RESPONSES.protocol: OPENAI_RESPONSES,
    ANTHROPIC.protocol: ANTHROPIC,
    GEMINI.protocol: GEMINI,
    OLLAMA.protocol: OLLAMA,
}
"""In the order in which they are listed on the screen."""


def protocol_of(protocol: Protocol) -> ProtocolDefinition:
    """Return the definition of a protocol."""
    return PROTOCOLS[protocol]
