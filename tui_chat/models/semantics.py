"""What a protocol can express and the unified message or envelope cannot, typed.

1. `MessageSemantics` belongs to a message, `Semantics` to a whole request. A value goes to a
   unified field if there is one, else to a field that several protocols share, else to the
   namespace of its protocol, else to `provider_extras`, which is for pass-through only: no logic
   reads it.
2. A namespace has a field for each setting its protocol documents and no unified field holds.
   The field is named as in the request body, Gemini's in snake_case, and holds the JSON value.
3. `UNSET` is the default of every namespace field: an explicit null differs from an absent key.
4. Only the protocol modules write semantics. A protocol reads its own namespace and reports in
   notes what it drops of another's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sized
from dataclasses import dataclass, field
from enum import Enum
from hashlib import sha256
from typing import Any, ClassVar, Final, Literal, TypeAlias

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
class LayoutPiece:
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
        """True if the text is still the one that the provider stores."""
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


class Unset(Enum):
    """The type of `UNSET`."""

    UNSET = "unset"


UNSET: Final = Unset.UNSET
"""The request says nothing about it."""

Setting: TypeAlias = Any | Literal[Unset.UNSET]
"""A JSON value, or UNSET."""


@dataclass(frozen=True, slots=True)
class OpenAIChatSettings:
    """`semantics.openai_chat`."""

    protocol: ClassVar = Protocol.OPENAI_CHAT

    audio: Setting = UNSET
    """Voice and format of a spoken reply."""
    function_call: Setting = UNSET
    """Deprecated form of `tool_choice`."""
    functions: Setting = UNSET
    """Deprecated form of `tools`."""
    logit_bias: Setting = UNSET
    logprobs: Setting = UNSET
    metadata: Setting = UNSET
    """Up to 16 pairs kept with a stored reply."""
    modalities: Setting = UNSET
    """`text`, `audio`."""
    moderation: Setting = UNSET
    n: Setting = UNSET
    """How many replies."""
    prediction: Setting = UNSET
    """Text that the reply will mostly repeat."""
    prompt_cache_key: Setting = UNSET
    prompt_cache_options: Setting = UNSET
    prompt_cache_retention: Setting = UNSET
    response_format: Setting = UNSET
    """Only a form that `Parameters.response_format` does not say back word for word."""
    safety_identifier: Setting = UNSET
    service_tier: Setting = UNSET
    stop: Setting = UNSET
    """Only where it was one string and no list."""
    store: Setting = UNSET
    stream: Setting = UNSET
    """Only where it was said to be false."""
    stream_options: Setting = UNSET
    tool_choice: Setting = UNSET
    """Only a form that `Parameters.tool_choice` does not say back word for word."""
    top_logprobs: Setting = UNSET
    user: Setting = UNSET
    verbosity: Setting = UNSET
    web_search_options: Setting = UNSET
    max_tokens_key: Setting = UNSET
    """Not on the wire: which of its two names the reply limit was given."""


@dataclass(frozen=True, slots=True)
class ResponsesSettings:
    """`semantics.responses`."""

    protocol: ClassVar = Protocol.OPENAI_RESPONSES

    background: Setting = UNSET
    context_management: Setting = UNSET
    conversation: Setting = UNSET
    """A conversation that the provider keeps."""
    include: Setting = UNSET
    """What the reply is to carry beyond its text: `reasoning.encrypted_content`, ..."""
    max_tool_calls: Setting = UNSET
    metadata: Setting = UNSET
    moderation: Setting = UNSET
    previous_response_id: Setting = UNSET
    """Only an explicit null; an id is in `semantics.session`."""
    prompt: Setting = UNSET
    """A prompt template that the provider keeps."""
    prompt_cache_key: Setting = UNSET
    prompt_cache_options: Setting = UNSET
    prompt_cache_retention: Setting = UNSET
    reasoning: Setting = UNSET
    """Summary, context and so on; the effort is unified."""
    safety_identifier: Setting = UNSET
    service_tier: Setting = UNSET
    store: Setting = UNSET
    """True if the provider stores the response, for `previous_response_id`."""
    stream: Setting = UNSET
    """Only where it was said to be false."""
    stream_options: Setting = UNSET
    text: Setting = UNSET
    """Verbosity, and any format that `Parameters.response_format` does not say back."""
    tool_choice: Setting = UNSET
    """Only a form that `Parameters.tool_choice` does not say back word for word."""
    top_logprobs: Setting = UNSET
    truncation: Setting = UNSET
    user: Setting = UNSET
    input_shape: Literal["", "string", "absent"] = ""
    """Not on the wire: whether the input was one string, or not there at all."""


@dataclass(frozen=True, slots=True)
class AnthropicSettings:
    """`semantics.anthropic`."""

    protocol: ClassVar = Protocol.ANTHROPIC

    cache_control: Setting = UNSET
    """Top-level: marks the last block that can be cached."""
    container: Setting = UNSET
    context_management: Setting = UNSET
    inference_geo: Setting = UNSET
    mcp_servers: Setting = UNSET
    metadata: Setting = UNSET
    output_config: Setting = UNSET
    """Effort and output format."""
    output_format: Setting = UNSET
    """Older beta form of the output format."""
    service_tier: Setting = UNSET
    speed: Setting = UNSET
    stream: Setting = UNSET
    """Only where it was said to be false."""
    thinking: Setting = UNSET
    tool_choice: Setting = UNSET
    """Only a form that the unified fields do not say back word for word."""
    betas: Setting = UNSET
    """Some clients put the beta header into the body."""


@dataclass(frozen=True, slots=True)
class GeminiSettings:
    """`semantics.gemini`."""

    protocol: ClassVar = Protocol.GEMINI

    cached_content: Setting = UNSET
    continuation_token: Setting = UNSET
    generation_config: Setting = UNSET
    """What of `generationConfig` no unified field holds."""
    labels: Setting = UNSET
    model: Setting = UNSET
    """The body's own `model`, as it was written; the one that counts is in the URL."""
    safety_settings: Setting = UNSET
    service_tier: Setting = UNSET
    store: Setting = UNSET
    tool_config: Setting = UNSET
    """What the unified tool choice does not say back word for word."""
    system_instruction: Setting = UNSET
    """Not on the wire: the instruction's keys other than its parts (`role`)."""
    tool_groups: tuple[tuple[int, str], ...] = ()
    """Not on the wire: how `tools` was written: for each entry, how many function declarations
    it holds, and its other keys (`googleSearch`, ...) as compact JSON."""
    tools_shape: Literal["", "object"] = ""
    """Not on the wire: whether `tools` was one bare object."""
    spelled: tuple[str, ...] = ()
    """Not on the wire: the keys above the contents that were written in snake_case."""


Namespace: TypeAlias = OpenAIChatSettings | ResponsesSettings | AnthropicSettings | GeminiSettings


@dataclass(frozen=True, slots=True)
class SessionSemantics:
    """`semantics.session`: what ties the request to earlier ones."""

    previous_response_id: str = ""
    """The response that this request continues; the provider kept what came before it."""


@dataclass(frozen=True, slots=True)
class NativeTool:
    """A tool that the provider runs itself, or that is no plain function."""

    protocol: Protocol
    """The only one that knows it."""
    position: int
    """Its place among all tools of the request."""
    name: str
    """The provider's word for it: `web_search_20250305`, `code_interpreter`."""
    data: str
    """The definition as compact JSON, for pass-through only."""


@dataclass(frozen=True, slots=True)
class ToolSemantics:
    """`semantics.tools`. That `tools` was an empty list is told by the envelope's own field."""

    alias_map: tuple[tuple[str, str], ...] = ()
    """Our name and its name on the wire, for tools whose names a protocol forbids: pairs that
    were given out before and shall stay. `Encoded.aliases` has those of one request."""
    native: tuple[NativeTool, ...] = ()


@dataclass(frozen=True, slots=True)
class Semantics:
    """All that a request says beyond its turns, tools and parameters."""

    source: Protocol | None = None
    """The protocol it was decoded from; None for what we composed."""
    session: SessionSemantics = SessionSemantics()
    tools: ToolSemantics = ToolSemantics()
    openai_chat: OpenAIChatSettings = OpenAIChatSettings()
    responses: ResponsesSettings = ResponsesSettings()
    anthropic: AnthropicSettings = AnthropicSettings()
    gemini: GeminiSettings = GeminiSettings()
    provider_extras: Mapping[Protocol, Mapping[str, Any]] = field(
        default_factory=dict[Protocol, Mapping[str, Any]]
    )
    """Top-level keys that nobody documents, for pass-through only."""

    @property
    def namespaces(self) -> tuple[Namespace, ...]:
        """The namespaces of all protocols."""
        return (self.openai_chat, self.responses, self.anthropic, self.gemini)


NO_SEMANTICS = Semantics()
