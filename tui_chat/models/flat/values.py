"""The values of the flat model, in which messages were stored before they were blocks.

`content` was one string, calls and parts stood beside it, `Layout` said how they were mixed, and
`WireForm` in which form a captured message came. These classes read old rows and old files: they
have the names of their keys.
"""

from __future__ import annotations

from collections.abc import Sized
from typing import Literal

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.about import Brought, KeptReply, Summary
from tui_chat.models.citations import Citation, Source
from tui_chat.models.endpoint import Protocol
from tui_chat.models.message import MessageRole
from tui_chat.models.settings import LoreTimer


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool call by a model."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Part:
    """A picture, sound, video or file."""

    kind: Literal["image", "audio", "video", "file"]
    mime: str = ""
    data: str = ""
    url: str = ""
    file_id: str = ""
    text: str = ""
    protocol: Protocol | None = None
    name: str = ""
    detail: str = ""


@dataclass(frozen=True, slots=True)
class FlatMuted:
    """What of a message is left out of requests."""

    whole: bool = False
    reasoning: bool = False
    parts: tuple[int, ...] = ()


NOT_MUTED = FlatMuted()


@dataclass(frozen=True, slots=True)
class FlatReferences:
    """The sources, citations and searches of a reply."""

    sources: tuple[Source, ...] = ()
    citations: tuple[Citation, ...] = ()
    queries: tuple[str, ...] = ()
    failures: tuple[str, ...] = ()
    length: int = 0
    """Characters of the text in which the places of the citations are counted."""
    cut: bool = False


NO_REFERENCES = FlatReferences()


@dataclass(frozen=True, slots=True)
class FlatReasoning:
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
class FlatSemantics:
    """The semantics of one message."""

    reasoning: tuple[FlatReasoning, ...] = ()
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
    references: FlatReferences = NO_REFERENCES
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


NO_SEMANTICS = FlatSemantics()


@dataclass(frozen=True, slots=True)
class FlatMessage:
    """A message."""

    role: MessageRole
    content: str = ""
    id: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str = ""
    name: str = ""
    timestamp: float | None = None
    pinned: bool = False
    muted: FlatMuted = NOT_MUTED
    semantics: FlatSemantics = NO_SEMANTICS
    parts: tuple[Part, ...] = ()
