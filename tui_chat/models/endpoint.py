"""Endpoints: where a request is sent, and the settings of that provider."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

from tui_chat.models.model_facts import ModelFacts, known_facts, merged_facts


class Protocol(StrEnum):
    """The API format of a request."""

    OPENAI_CHAT = "openai_chat"
    OPENAI_RESPONSES = "openai_responses"
    ANTHROPIC = "anthropic"
    GEMINI = "gemini"

    @property
    def label(self) -> str:
        """The display name."""
        return _TITLES[self]


_TITLES = {
    Protocol.OPENAI_CHAT: "OpenAI Chat",
    Protocol.OPENAI_RESPONSES: "OpenAI Responses",
    Protocol.ANTHROPIC: "Anthropic",
    Protocol.GEMINI: "Gemini",
}


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Timeouts in seconds."""

    connect: float = 15.0
    """To establish a connection."""
    silence: float = 600.0
    """Between two chunks of a reply: reasoning models think for minutes."""


@dataclass(frozen=True, slots=True)
class Retries:
    """How a request is retried after a transient error. Never once a reply has begun."""

    times: int = 2
    """Retries after the first attempt; 0 for none."""
    first_wait: float = 0.5
    """Seconds before the first retry unless the provider names a delay; doubled with each one."""
    longest_wait: float = 60.0
    """Seconds; if the provider asks for a longer delay, its error is shown at once."""


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
    """Extra headers, sent verbatim; they replace ours of the same name."""
    facts: tuple[tuple[str, ModelFacts], ...] = field(default=())
    """What is known of single models here, by exact name, or by how the name begins: `gpt-5*`. It
    goes before what `model_facts` knows of the name."""
    system_fallback: Literal["hoist", "user"] = "hoist"
    """What Anthropic's encoder does with a later system turn where the model accepts none."""
    max_tokens_key: Literal["max_completion_tokens", "max_tokens"] = "max_completion_tokens"
    """How OpenAI Chat's reply limit is called here; servers that imitate OpenAI often know
    only the older `max_tokens`."""
    max_tokens: int | None = None
    """Reply limit where nobody set one and the protocol demands one (Anthropic); None for the most
    that the model accepts."""
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
    """Query parameters added to every URL, for gateways that need them."""
    proxy: str = ""
    """An HTTP or SOCKS proxy's URL; `env:NAME` where it holds a password; `none` to go directly
    whatever the environment says; empty for what the environment says."""
    timeouts: Timeouts = Timeouts()
    retries: Retries = Retries()

    def facts_of(self, model: str) -> ModelFacts:
        """Return what is known of `model`: what this endpoint says of its exact name, then of the
        longest patterns, then what is known of the model wherever it is asked.
        """
        known = known_facts(model)
        found = [
            ((name == model, len(name)), facts)
            for name, facts in self.facts
            if name == model or (name.endswith("*") and model.startswith(name[:-1]))
        ]
        if not found:
            return known
        found.sort(key=lambda entry: entry[0], reverse=True)
        return merged_facts([*(facts for _, facts in found), known])

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
