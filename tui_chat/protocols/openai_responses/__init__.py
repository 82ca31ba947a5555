"""OpenAI Responses, both ways: `encode` and `decode` for requests, `stream` for replies."""

from __future__ import annotations

from tui_chat.errors import Refused
from tui_chat.models.endpoint import Endpoint, Protocol
from tui_chat.models.envelope import ChatEnvelope
from tui_chat.models.reply import Reply
from tui_chat.protocols.base import Encoded, StreamParser
from tui_chat.protocols.openai_responses import decode, encode, stream


class OpenAIResponses:
    """The protocol as `wire.protocol.WireProtocol` describes it."""

    protocol = Protocol.OPENAI_RESPONSES

    def encode(self, envelope: ChatEnvelope, endpoint: Endpoint) -> Encoded:
        """Say the envelope the way this protocol wants it."""
        return encode.encode(envelope, endpoint)

    def decode(self, body: bytes) -> ChatEnvelope:
        """Read a captured request body. Raises InputError."""
        return decode.decode(body)

    def parser(self) -> StreamParser:
        """Return a fresh parser for a streamed reply."""
        return stream.OpenAIResponsesParser()

    def read(self, body: bytes) -> Reply:
        """Read a reply that came whole. Raises Refused, ReplyCut."""
        return stream.read(body)

    def refusal(self, status: int, body: bytes) -> Refused:
        """Put an HTTP error into words."""
        return stream.refusal(status, body)
