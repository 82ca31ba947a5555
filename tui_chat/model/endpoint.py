"""Where a request goes, and how that place wants it said."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal


class Protocol(StrEnum):
    """How a request is said on the wire."""

    OPENAI_CHAT = "openai_chat"
    OPENAI_RESPONSES = "openai_responses"
    ANTHROPIC = "anthropic"
    GEMINI = "gemini"

    @property
    def label(self) -> str:
        """The name a person knows it by."""
        return _TITLES[self]


_TITLES = {
    Protocol.OPENAI_CHAT: "OpenAI Chat",
    Protocol.OPENAI_RESPONSES: "OpenAI Responses",
    Protocol.ANTHROPIC: "Anthropic",
    Protocol.GEMINI: "Gemini",
}


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """What is known of a model beyond its name; None means unknown."""

    context_limit: int | None = None
    """Tokens of input and output together."""
    sampling: bool | None = None
    """Whether temperature and its kin are accepted."""
    developer_role: bool = False
    """Whether OpenAI wants `developer` where others say `system`."""
    mid_history_system: bool = False
    """Whether Anthropic takes `system` turns inside `messages`."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A configured provider."""

    name: str
    protocol: Protocol
    base_url: str
    """Up to and with the version where the protocol's SDK has it there, without a trailing
    slash: `https://api.openai.com/v1`, `https://api.anthropic.com`,
    `https://generativelanguage.googleapis.com`."""
    key: str = ""
    """A reference, never the key: `env:NAME`; empty where none is needed."""
    models: tuple[str, ...] = ()
    """Models to offer; the first is the default."""
    headers: tuple[tuple[str, str], ...] = ()
    """Extra headers, sent as they are."""
    facts: tuple[tuple[str, ModelFacts], ...] = field(default=())
    """What is known of single models, by exact name."""
    system_fallback: Literal["hoist", "user"] = "hoist"
    """What Anthropic does with a later system turn where the model takes none in place."""
    max_tokens_key: Literal["max_completion_tokens", "max_tokens"] = "max_completion_tokens"
    """How OpenAI Chat's reply limit is called here; servers that imitate OpenAI often know
    only the older `max_tokens`."""
    max_tokens: int = 4096
    """Reply limit where nobody set one and the protocol demands one (Anthropic)."""

    def facts_of(self, model: str) -> ModelFacts:
        """Return what is known of `model`; an empty `ModelFacts` where nothing is."""
        return dict(self.facts).get(model, _NO_FACTS)


_NO_FACTS = ModelFacts()
