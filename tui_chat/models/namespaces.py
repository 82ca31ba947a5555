"""What a request can say in one protocol and in no other, or not in all.

1. `Semantics` hangs on the envelope. A value is in a unified field of the envelope if there is
   one, else in a field that several protocols share, else in the namespace of its protocol, else
   in `provider_extras`.
2. A namespace has a field for each setting its protocol documents and no unified field holds.
   The field is called as on the wire, Gemini's in snake_case, and holds the JSON value.
3. `UNSET` is the default of every field: an explicit null is something else than nothing.
4. Only the protocol modules in `wire` write these; a protocol reads its own namespace, and tells
   in notes what it leaves of another's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, ClassVar, Final, Literal, TypeAlias

from tui_chat.models.endpoint import Protocol


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
    """Whether the provider keeps the response, for `previous_response_id`."""
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
