"""What a protocol can express and the unified message cannot, typed.

A value goes to a unified field if there is one, else to a cross-protocol field here, else to
the protocol's namespace, else to `provider_extras`, which is for pass-through only: no logic
reads it. Only the protocol modules in `wire` write semantics.
"""

from __future__ import annotations

from collections.abc import Sized
from dataclasses import dataclass
from hashlib import sha256
from typing import Literal

from tui_chat.models.endpoint import Protocol


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
    kind: str = ""
    """The provider's own word for what this is, where it has several. Responses: `summary` or
    `reasoning_text` (two blocks with one `id` are two sides of one item). Chat: the field it
    came in (`reasoning_content`, `reasoning`), or an OpenRouter detail's type, a space, and its
    format (`reasoning.encrypted google-gemini-v1`)."""


PieceKind = Literal["reasoning", "text", "call", "other"]
"""What a reply is made of."""

ContentKind = PieceKind | Literal["part", "refusal", "result"]
"""What any message is made of: also pictures and files, a refusal among the text, and the block
that a tool result stands in."""


@dataclass(frozen=True, slots=True)
class Piece:
    """One stretch of a message: the next reasoning block, the next text, the next tool call, the
    next part, or something only the provider understands.
    """

    kind: ContentKind
    length: int = 0
    """`text`: how many characters of the content it covers; may be 0."""
    signature: str = ""
    """`text`, `call`: Gemini's `thoughtSignature` that sat on this part, opaque."""
    id: str = ""
    """`text`, `call`: Responses' item id (`msg_...`, `fc_...`), not to be mixed up with the id
    of a tool call."""
    phase: str = ""
    """`text`: Responses' `commentary` or `final_answer`; must be kept on replay."""
    name: str = ""
    """`other`: the provider's word for it (`server_tool_use`, `web_search_call`,
    `executableCode`). `result`: `object` where the text is the response object itself as JSON.
    `call`: `untyped` where Chat's `type` was left out, `function_call` where it was in Chat's
    old form, `custom` where its arguments are free text. A Responses `text`: see its `items`."""
    data: str = ""
    """`other`: the block as compact JSON, for pass-through only."""
    cache: str = ""
    """Anthropic's `cache_control` on this block, as compact JSON; routers take it too."""
    extras: str = ""
    """The block's keys that have no field here, as a compact JSON object, for pass-through."""
    spelled: tuple[str, ...] = ()
    """The keys of this block that were written in snake_case where Gemini's are camelCase."""


@dataclass(frozen=True, slots=True)
class Layout:
    """In which order a provider sent the pieces of a message, and what it wants back with them."""

    protocol: Protocol
    """Where it came from. Elsewhere its ids, signatures and `other` pieces mean nothing."""
    pieces: tuple[Piece, ...]

    def fits(self, content: Sized, reasoning: Sized, calls: Sized, parts: Sized = ()) -> bool:
        """Whether it still describes the message: an edit of the text makes it stale."""
        kinds = [piece.kind for piece in self.pieces]
        return (
            sum(piece.length for piece in self.pieces) == len(content)
            and kinds.count("reasoning") == len(reasoning)
            and kinds.count("call") == len(calls)
            and kinds.count("part") == len(parts)
        )


ContentShape = Literal["", "string", "parts", "null", "absent"]
"""How a message's content was written; empty where it is as we would write it."""


@dataclass(frozen=True, slots=True)
class WireForm:
    """How a captured message was written, for saying it again in its own protocol."""

    protocol: Protocol
    """Elsewhere none of this means anything."""
    shape: ContentShape = ""
    joined: bool = False
    """It shared a message on the wire with the turn before it."""
    role: str = ""
    """What its role was called, where that is not the usual word (`developer`, `function`)."""
    slot: str = ""
    """The field it stood in, where that is not the list of messages: `system`, `instructions`,
    `systemInstruction`."""
    extras: str = ""
    """The message's keys that have no field here, as a compact JSON object, for pass-through."""


@dataclass(frozen=True, slots=True)
class KeptReply:
    """A reply that the provider keeps, so that it can be continued without being sent again."""

    id: str
    """Responses' id of it (`resp_...`)."""
    digest: str
    """Of its text, which may be changed here and not there."""

    @classmethod
    def of(cls, id: str, text: str) -> KeptReply:
        """Return the mark of a reply with this text."""
        return cls(id, _digest(text))

    def fits(self, text: str) -> bool:
        """Whether the text is still what the provider keeps."""
        return self.digest == _digest(text)


def _digest(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class MessageSemantics:
    """The semantics of one message."""

    reasoning: tuple[ReasoningBlock, ...] = ()
    """In the order in which it arrived; before the message's text unless `layout` says else."""
    refusal: str = ""
    """The model's words where it declined, kept apart from its text by OpenAI."""
    layout: Layout | None = None
    """None where it says nothing new: reasoning, text, parts, then tool calls, unsigned."""
    failed: bool | None = None
    """Tool results: whether the tool failed, where the source says."""
    wire: WireForm | None = None
    """Only on what was decoded from a request."""
    kept_as: KeptReply | None = None
    """Replies through Responses: what the provider keeps it as, where it does."""


NO_MESSAGE_SEMANTICS = MessageSemantics()
