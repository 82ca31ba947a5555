"""Typed fields for what a protocol can express of a message and no other field holds.

Only the protocol modules write semantics, the workspace `summary` and `brought`, importers
`lore_timers`.
"""

from __future__ import annotations

from collections.abc import Sized
from hashlib import sha256
from typing import Literal

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.citations import NO_REFERENCES, References
from tui_chat.models.endpoint import Protocol
from tui_chat.models.settings import LoreTimer


@dataclass(frozen=True, slots=True)
class ReasoningBlock:
    """A piece of a model's reasoning, with what the provider needs to get it back."""

    protocol: Protocol
    """The source protocol, the only one to which it is replayed."""
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
    came in (`reasoning_content`, `reasoning`, `thinking_blocks`), `thinking` for a part of the
    content, or an OpenRouter detail's type, format and index, with blanks between them
    (`reasoning.encrypted google-gemini-v1 #0`)."""

    @property
    def is_anthropic(self) -> bool:
        """True if it is Anthropic's: also if a gateway of Chat passed it on with its signature."""
        if self.protocol is not Protocol.OPENAI_CHAT:
            return self.protocol is Protocol.ANTHROPIC
        is_passed_on = self.kind == "thinking_blocks" or " anthropic-" in self.kind
        return is_passed_on and bool(self.signature or self.encrypted)


PieceKind = Literal["reasoning", "text", "part", "call", "other"]
"""The kinds of pieces of a reply; parts are pictures, sounds and files."""

ContentKind = PieceKind | Literal["refusal", "result"]
"""The kinds of content of any message: also a refusal among the text, and the block that a tool
result stands in."""


@dataclass(frozen=True, slots=True)
class LayoutPiece:
    """One stretch of a message: the next reasoning block, the next text, the next tool call, the
    next part, or something only the provider understands.
    """

    kind: ContentKind
    length: int = 0
    """`text`: how many characters of the content it covers; may be 0."""
    signature: str = ""
    """`text`, `call`, `part`: Gemini's `thoughtSignature` that sat on this part, opaque."""
    id: str = ""
    """`text`, `call`, `part`: Responses' item id (`msg_...`, `fc_...`, `ig_...`), not to be mixed
    up with the id of a tool call. `part`: Chat's id of a sound, too."""
    phase: str = ""
    """`text`: Responses' `commentary` or `final_answer`; must be kept on replay."""
    name: str = ""
    """`other`: the provider's word for it (`server_tool_use`, `web_search_call`,
    `executableCode`). `result`: `object` where the text is the response object itself as JSON.
    `call`: `untyped` where Chat's `type` was left out, `function_call` where it was in Chat's
    old form, `custom` where its arguments are free text, `custom untyped` for both. A Responses
    `text`: see its `items`."""
    data: str = ""
    """`other`: the block as compact JSON, for pass-through only."""
    cache: str = ""
    """Anthropic's `cache_control` on this block, as compact JSON; routers take it too."""
    extras: str = ""
    """The block's keys that have no field here, as a compact JSON object, for pass-through."""
    spelled: tuple[str, ...] = ()
    """The keys of this block that were written in snake_case where Gemini's are camelCase."""

    @property
    def is_custom(self) -> bool:
        """True for a call whose arguments are free text."""
        return self.kind == "call" and self.name.startswith("custom")


@dataclass(frozen=True, slots=True)
class Layout:
    """The order of a message's pieces, and the data that must be replayed with them."""

    protocol: Protocol
    """The source protocol, the only one for which ids, signatures and `other` pieces are valid."""
    pieces: tuple[LayoutPiece, ...]

    def fits(self, content: Sized, reasoning: Sized, calls: Sized, parts: Sized = ()) -> bool:
        """True if it still describes the message; an edit of the text makes it stale."""
        kinds = [piece.kind for piece in self.pieces]
        return (
            sum(piece.length for piece in self.pieces) == len(content)
            and kinds.count("reasoning") == len(reasoning)
            and kinds.count("call") == len(calls)
            and kinds.count("part") == len(parts)
        )


ContentShape = Literal["", "string", "parts", "null", "absent"]
"""The form of a message's content; empty for the default form."""


@dataclass(frozen=True, slots=True)
class WireForm:
    """The form in which a captured message was written, for saying it again in its own protocol."""

    protocol: Protocol
    """The only protocol for which it is meaningful."""
    shape: ContentShape = ""
    joined: bool = False
    """True if it shared a wire message with the previous turn."""
    role: str = ""
    """The name of its role if unusual (`developer`, `function`)."""
    slot: str = ""
    """The field it stood in, where that is not the list of messages: `system`, `instructions`,
    `systemInstruction`. `item`: the turn is a whole item of a type that is not known."""
    extras: str = ""
    """The message's keys that have no field here, as a compact JSON object, for pass-through."""


@dataclass(frozen=True, slots=True)
class KeptReply:
    """A reply that the provider keeps and that can be continued without sending it again."""

    id: str
    """Responses' id of it (`resp_...`)."""
    digest: str
    """Digest of its text, which may be edited here but not there."""

    @classmethod
    def of(cls, id: str, text: str) -> KeptReply:
        """Return the mark of a reply with this text."""
        return cls(id, _digest(text))

    def fits(self, text: str) -> bool:
        """True if the text is still the one that the provider stores."""
        return self.digest == _digest(text)


def _digest(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Summary:
    """The messages that a summary stands for: all of its branch before it but the last `kept`.

    Messages are counted as they are sent: without empty replies. What leads to a message never
    changes, so the numbers hold in forks and exports too.
    """

    kept: int
    """The number of messages directly before the summary that are still sent."""
    messages: int
    """The number of messages that it replaced when it was written."""
    enabled: bool = True
    """False if the messages are sent again, and the summary is not."""


@dataclass(frozen=True, slots=True)
class Brought:
    """The place that a message was brought from: in another branch, or a server's prompt."""

    message_id: str = ""
    """The copied reply, or the last message that was summed up; empty for a prompt."""
    messages: int = 0
    """The number of messages that were summed up; 0 for a copied reply."""
    prompt: str = ""
    """The prompt as `SERVER:PROMPT`, and what the server says that it is."""

    @property
    def words(self) -> str:
        """The origin in words."""
        if self.prompt:
            return f"from {self.prompt}"
        branch = "another branch of this conversation"
        if not self.messages:
            return f"from {branch}"
        return f"a summary of {self.messages:,} message{'s' * (self.messages != 1)} of {branch}"


@dataclass(frozen=True, slots=True)
class MessageSemantics:
    """The semantics of one message."""

    reasoning: tuple[ReasoningBlock, ...] = ()
    """In order of arrival; before the message's text unless `layout` says otherwise."""
    refusal: str = ""
    """The text of a refusal, which OpenAI separates from other text."""
    layout: Layout | None = None
    """None for the default: reasoning, text, parts, then tool calls, all unsigned."""
    failed: bool | None = None
    """For tool results: True if the tool failed; None if unknown."""
    wire: WireForm | None = None
    """Only for decoded requests."""
    kept_as: KeptReply | None = None
    """For replies through Responses: the reply that the provider keeps, if it does."""
    replaced: tuple[str, ...] = ()
    """The texts of attempts at this reply that the provider gave up and replaced within the same
    stream, oldest first; an empty one had only reasoning or calls. No protocol sends them back."""
    references: References = NO_REFERENCES
    """The sources of a reply. For the reader: no protocol sends it back."""
    is_speaker_chosen: bool = False
    """True if the message's name was chosen for it alone."""
    summary: Summary | None = None
    """The messages that it replaces, if it is a summary of earlier messages."""
    brought: Brought | None = None
    """Its place of origin, if it was brought from another branch or has a server's prompt. For the
    reader."""
    source: str = ""
    """The message in another program's file, as compact JSON, for an export back; empty for
    none."""
    lore_timers: tuple[LoreTimer, ...] | None = None
    """The timers of lore entries after it, as an imported chat has them; None to compute them."""
    tokens: str = ""
    """The tokens of a reply with their probabilities, packed by `token_probabilities`; empty if the
    provider sent none. For the reader: no protocol sends it back."""


NO_MESSAGE_SEMANTICS = MessageSemantics()
