"""A request as a model reads it: what its protocol decodes, and the fields of its body."""

import json
from collections.abc import Mapping
from functools import cached_property
from typing import Any

from tui_chat.errors import InputError
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.endpoint import Protocol
from tui_chat.models.envelope import ChatEnvelope, Turn
from tui_chat.protocols.registry import protocol_of


class Refusal(Exception):
    """Raised while a request is answered; becomes an error response, or an error in the stream."""

    def __init__(self, kind: str, message: str = "", seconds: int = 0) -> None:
        """`kind` is `invalid`, `unknown_model`, `not_found` or a plugin's; `seconds` to wait."""
        super().__init__(message)
        self.kind, self.message, self.seconds = kind, message, seconds


@dataclass(frozen=True)
class Prompt:
    """A complete request for a reply."""

    envelope: ChatEnvelope
    body: Mapping[str, Any]
    size: int
    """Length of the body in bytes."""
    title: str = "OpenAI Chat Completions"
    """The protocol's name, as its provider calls it."""

    @property
    def model(self) -> str:
        """The name of the model."""
        return self.envelope.parameters.values.model

    @cached_property
    def tokens(self) -> int:
        """The tokens of system, turns and tools, estimated from their characters."""
        tools = self.envelope.functions
        lengths = (len(t.name) + len(t.description) + len(str(t.parameters)) for t in tools)
        return max(1, -(-(sum(map(_length, self.envelope.turns)) + sum(lengths)) // 4))


def _length(turn: Turn) -> int:
    reasoning = sum(len(block.text) for block in turn.reasoning)
    calls = sum(len(call.name) + len(call.arguments) for call in turn.tool_calls)
    media = 1_000 * len(turn.parts)  # a picture costs a provider on the order of 250 tokens
    return len(turn.text.plain) + len(turn.name or turn.tool_name) + reasoning + calls + media


def read_prompt(protocol: Protocol, data: bytes) -> Prompt:
    """Return the request in a body. Raises Refusal."""
    try:
        envelope = protocol_of(protocol).decode(data)
    except InputError as error:
        raise Refusal("invalid", str(error)) from error
    return Prompt(envelope, json.loads(data), len(data))
