"""What a protocol can express and the unified message cannot, typed.

A value goes to a unified field if there is one, else to a cross-protocol field here, else to
the protocol's namespace, else to `provider_extras`, which is for pass-through only: no logic
reads it. Only the protocol modules in `wire` write semantics.
"""

from __future__ import annotations

from dataclasses import dataclass

from tui_chat.model.endpoint import Protocol


@dataclass(frozen=True, slots=True)
class ReasoningBlock:
    """A piece of a model's reasoning, with what the provider needs to get it back."""

    protocol: Protocol
    """The protocol it came from; it is replayed to that one and left out elsewhere."""
    text: str = ""
    """Readable reasoning or its summary; empty for redacted or withheld reasoning."""
    signature: str = ""
    """Anthropic's `signature` or Gemini's `thoughtSignature`, opaque."""
    encrypted: str = ""
    """Anthropic's redacted `data` or Responses' `encrypted_content`, opaque."""
    id: str = ""
    """Responses' item id (`rs_...`)."""


@dataclass(frozen=True, slots=True)
class MessageSemantics:
    """The semantics of one message."""

    reasoning: tuple[ReasoningBlock, ...] = ()
    """In the order in which it arrived, before the message's text."""
    refusal: str = ""
    """The model's words where it declined, kept apart from its text by OpenAI."""


NO_MESSAGE_SEMANTICS = MessageSemantics()
