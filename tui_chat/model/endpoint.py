"""Where a request goes, and how that place wants it said."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Any, Literal


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
class Prices:
    """What tokens cost, in US dollars for a million of them; None means unknown."""

    input: float | None = None
    output: float | None = None
    cached: float | None = None
    """Input that the provider still had in its cache."""
    cache_write: float | None = None
    """Input that was put into the provider's cache."""


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """What is known of a model beyond its name; None means unknown."""

    context_limit: int | None = None
    """Tokens of input and output together."""
    sampling: bool | None = None
    """Whether temperature and its kin are accepted."""
    developer_role: bool | None = None
    """Whether OpenAI wants `developer` where others say `system`."""
    mid_history_system: bool | None = None
    """Whether Anthropic takes `system` turns inside `messages`."""
    prefill: bool | None = None
    """Whether the conversation may end with the beginning of the reply."""
    strict_keys: bool | None = None
    """Whether OpenAI Chat's server refuses keys that it does not know, and an empty `tools`; a
    captured request then loses them. None: they are passed on, with a warning."""
    stream_usage: bool | None = None
    """Whether OpenAI Chat's `stream_options.include_usage` is accepted."""
    max_tokens_key: Literal["max_completion_tokens", "max_tokens"] | None = None
    """How OpenAI Chat's reply limit is called; None leaves it to the endpoint."""
    prices: Prices | None = None


@dataclass(frozen=True, slots=True)
class Timeouts:
    """How long to wait, in seconds."""

    connect: float = 15.0
    """For a connection."""
    silence: float = 600.0
    """For the next word: reasoning models think for minutes. Esc is quicker."""


@dataclass(frozen=True, slots=True)
class Retries:
    """How a request that met a passing trouble is tried again. Never once a reply has begun."""

    times: int = 2
    """Tries after the first one; 0 for none."""
    first_wait: float = 0.5
    """Seconds before the second try where the provider names no time; doubled with each try."""
    longest_wait: float = 60.0
    """Seconds; where the provider asks for more, its refusal is shown at once instead."""


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
    """A reference, never the key: `env:NAME`, `keyring:SERVICE/NAME`, `command:PROGRAM ...`;
    empty where none is needed."""
    models: tuple[str, ...] = ()
    """Models to offer; the first is the default."""
    headers: tuple[tuple[str, str], ...] = ()
    """Extra headers, sent as they are; one of ours by the same name gives way."""
    facts: tuple[tuple[str, ModelFacts], ...] = field(default=())
    """What is known of single models, by exact name, or by how the name begins: `gpt-5*`."""
    system_fallback: Literal["hoist", "user"] = "hoist"
    """What Anthropic does with a later system turn where the model takes none in place."""
    max_tokens_key: Literal["max_completion_tokens", "max_tokens"] = "max_completion_tokens"
    """How OpenAI Chat's reply limit is called here; servers that imitate OpenAI often know
    only the older `max_tokens`."""
    max_tokens: int = 4096
    """Reply limit where nobody set one and the protocol demands one (Anthropic)."""
    auth: str = ""
    """How the key is sent: `bearer`, `x-api-key`, `x-goog-api-key`, `header:NAME`, `none`;
    empty for the protocol's own way."""
    api_version: str = ""
    """Anthropic's `anthropic-version`, or the version in Gemini's path; empty for the
    protocol's own."""
    provider_keeps: bool = False
    """Responses: whether the provider keeps the conversation, so that a request sends only what
    is new since its last reply."""
    query: tuple[tuple[str, str], ...] = ()
    """Put behind every URL, as some gateways want it."""
    proxy: str = ""
    """An HTTP or SOCKS proxy's URL; `env:NAME` where it holds a password; `none` to go directly
    whatever the environment says; empty for what the environment says."""
    timeouts: Timeouts = Timeouts()
    retries: Retries = Retries()

    def facts_of(self, model: str) -> ModelFacts:
        """Return what is known of `model`: what its exact name says, then the longest patterns."""
        found = [
            ((name == model, len(name)), facts)
            for name, facts in self.facts
            if name == model or (name.endswith("*") and model.startswith(name[:-1]))
        ]
        if len(found) < 2:
            return found[0][1] if found else _NO_FACTS
        found.sort(key=lambda entry: entry[0], reverse=True)
        return _merged([facts for _, facts in found])

    def key_header(self, usual: tuple[str, str]) -> tuple[str, str] | None:
        """Return the header that carries the key and what stands before it; None for no key.

        `usual` is the protocol's own.
        """
        if not self.key or self.auth == "none":
            return None
        kind, _, name = self.auth.partition(":")
        if kind == "header":
            return (name, "")
        return _AUTH.get(self.auth, usual)


_AUTH = {
    "bearer": ("Authorization", "Bearer "),
    "x-api-key": ("x-api-key", ""),
    "x-goog-api-key": ("x-goog-api-key", ""),
}

_NO_FACTS = ModelFacts()
_FACTS = tuple(each.name for each in fields(ModelFacts))


def _merged(found: list[ModelFacts]) -> ModelFacts:
    """Return one value of several; of each fact the first that is known counts."""
    values: dict[str, Any] = {}
    for name in _FACTS:
        values[name] = next(
            (value for facts in found if (value := getattr(facts, name)) is not None), None
        )
    return ModelFacts(**values)
