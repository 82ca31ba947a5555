"""Endpoints: where a request is sent, and the settings of that provider."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import field, replace
from enum import StrEnum
from typing import Annotated, Literal, Self
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models import endpoint_checks as checks
from tui_chat.models.boundary import AsTable, Check, Hidden, Range
from tui_chat.models.memo import Memo
from tui_chat.models.model_facts import (
    ModelFacts,
    known_facts,
    maker_of,
    merged_facts,
    published_date,
    published_facts,
    spellings,
)
from tui_chat.models.settings import NO_SETTINGS, Settings

CREDENTIAL_MASK = "[key]"
"""Stands for a credential in what is shown or kept of a request."""

_HARMLESS_HEADERS = re.compile(
    r"accept(-.*)?|user-agent|content-(type|language)|cache-control|pragma|priority|referer|origin"
    r"|http-referer|x-title|x-app|x-client-name|x-stainless-.*|.*-version|.*-beta|.*-betas"
)
_HARMLESS_PARAMETERS = re.compile(r"alt|beta|stream|.*version")
"""Names of headers and parameters whose values identify nobody and open nothing."""


class Protocol(StrEnum):
    """The API format of a request: its id and its display name."""

    label: str
    """The display name."""

    def __new__(cls, value: str, label: str) -> Self:
        """Return a member whose value is its id."""
        member = str.__new__(cls, value)
        member._value_ = value
        member.label = label
        return member

    OPENAI_CHAT = "openai_chat", "OpenAI Chat"
    OPENAI_RESPONSES = "openai_responses", "OpenAI Responses"
    ANTHROPIC = "anthropic", "Anthropic"
    GEMINI = "gemini", "Gemini"
    OLLAMA = "ollama", "Ollama"


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Timeouts in seconds."""

    connect: Annotated[float, Range(above=0, high=3600)] = 15.0
    """Seconds to establish a connection."""
    silence: Annotated[float, Range(above=0, high=86_400)] = 600.0
    """Seconds between two chunks of a reply."""


@dataclass(frozen=True, slots=True)
class Retries:
    """The rules for retrying a request after a transient error. Never once a reply has begun."""

    times: Annotated[int, Range(0, 10)] = 2
    """Retries after the first attempt."""
    first_wait: Annotated[float, Range(above=0, high=60)] = 0.5
    """Seconds before the first retry, doubled with each, unless the provider names a delay."""
    longest_wait: Annotated[float, Range(above=0, high=3600)] = 60.0
    """Seconds; a longer delay is an error at once."""


_Facts = Annotated[
    tuple[tuple[Annotated[str, Check(checks.model_pattern)], ModelFacts], ...], AsTable()
]
_Query = Annotated[checks.Pairs, AsTable(), Check(checks.without_secrets)]


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Endpoint:
    """A configured provider."""

    name: Annotated[str, Hidden()]
    protocol: Protocol
    """Required for a new endpoint."""
    base_url: Annotated[str, Check(checks.base_url)]
    """As for the SDK of its protocol: `https://api.openai.com/v1`, `https://api.anthropic.com`,
    `https://generativelanguage.googleapis.com`."""
    key: Annotated[str, Check(checks.key_reference)] = ""
    """A reference, never the key: `env:NAME`, for example."""
    models: tuple[Annotated[str, Check(checks.model_name)], ...] = ()
    """Models to offer; the first is the default."""
    headers: Annotated[_Query, Check(checks.sendable)] = ()
    """Extra headers, sent verbatim; they replace ours of the same name."""
    facts: _Facts = field(default=())
    """Facts about its models: see below."""
    facts_anywhere: Annotated[_Facts, Hidden()] = field(default=())
    """The user's facts about models at all endpoints, likewise: by one of a name's `spellings`.
    """
    server_facts: Annotated[_Facts, Hidden()] = field(default=())
    """Facts about this server and its models, by name as in `facts`: built in, or reported by the
    server."""
    system_fallback: Literal["hoist", "user"] = "hoist"
    """Anthropic: what a later system message becomes if the model accepts none."""
    max_tokens_key: Literal["max_completion_tokens", "max_tokens"] = "max_completion_tokens"
    """OpenAI Chat: the name of the reply limit."""
    max_tokens: Annotated[int | None, Range(1)] = None
    """Anthropic: the reply limit if none is set; without it the most that the model accepts."""
    auth: Annotated[str, Check(checks.auth)] = ""
    """How the key is sent, if not in the usual way: `bearer`, `x-api-key`, `x-goog-api-key`,
    `header:NAME`, `none`."""
    api_version: Annotated[str, Check(checks.api_version)] = ""
    """Anthropic's `anthropic-version`, or the version in Gemini's path."""
    query: _Query = ()
    """Query parameters added to every URL."""
    proxy: Annotated[str, Check(checks.proxy)] = ""
    """URL of an HTTP or SOCKS proxy, or `env:NAME` if it holds a password; `none` to use none;
    without it that of the environment."""
    settings: Settings = NO_SETTINGS
    """Settings of its requests: see above."""
    timeouts: Timeouts = Timeouts()
    """Limits on waiting."""
    retries: Retries = Retries()
    """Limits on repeated attempts."""

    def facts_of(self, model: str) -> ModelFacts:
        """Return what is known of `model`; the sources are those of `facts_by_source`, the first
        one that knows a fact counts.
        """
        return _facts_of(self, model)

    def facts_by_source(self, model: str) -> Iterator[tuple[str, ModelFacts]]:
        """Yield the sources of facts about `model`, the first to count first, with their names.
        Within a source an exact name goes before a pattern, and a longer one before a shorter one.

        The efforts and budgets that a model's name tells are those of its maker's own protocol. A
        server with another protocol maps them itself (OpenRouter, litellm, Google's endpoint for
        OpenAI's protocol), so there it is only known whether the model reasons.
        """
        if self.facts:
            yield "config.toml, this endpoint", _matching(self.facts, (model,))
        if self.facts_anywhere:
            yield "config.toml, all endpoints", _matching(self.facts_anywhere, spellings(model))
        if self.server_facts:
            yield "this server", _matching(self.server_facts, (model,))
        facts = known_facts(model)
        if facts.can_reason and self.protocol not in _MAKERS.get(maker_of(model), Protocol):
            facts = replace(facts, efforts=None, budgets=None, reasons=True)
        yield "the model's name", facts
        yield f"published on {published_date()}", published_facts(model, self.base_url)

    def without_secrets(self) -> Endpoint:
        """Return the endpoint in a form that may be shown and kept: without its key reference and
        proxy. Values of its headers and query, which may be secrets whatever their names are, are
        masked unless they are known to be harmless, and so are a user and a password in its base
        URL. The bodies of its requests are the same.
        """
        return replace(
            self,
            base_url=_masked_url(self.base_url),
            key="",
            proxy="",
            headers=_masked(self.headers, _HARMLESS_HEADERS),
            query=_masked(self.query, _HARMLESS_PARAMETERS),
        )

    @property
    def secret_values(self) -> tuple[str, ...]:
        """Values of headers and query that look like secrets, to be masked where a server repeats
        them. A word that occurs in any text would be masked by mistake, so it is none.
        """
        masked = self.without_secrets()
        pairs = zip((*self.headers, *self.query), (*masked.headers, *masked.query), strict=True)
        return tuple(
            value for (_, value), (_, shown) in pairs if shown != value and looks_secret(value)
        )

    def key_header(self, usual: tuple[str, str]) -> tuple[str, str] | None:
        """Return the header of the key and the prefix of its value; None if no key is sent.

        `usual` is the protocol's own.
        """
        if not self.key or self.auth == "none":
            return None
        kind, _, name = self.auth.partition(":")
        return (name, "") if kind == "header" else _AUTH.get(self.auth, usual)


def _masked(
    pairs: tuple[tuple[str, str], ...], harmless: re.Pattern[str]
) -> tuple[tuple[str, str], ...]:
    return tuple(
        (name, value if harmless.fullmatch(name.lower()) else CREDENTIAL_MASK)
        for name, value in pairs
    )


def _masked_url(url: str) -> str:
    if "@" not in url and "?" not in url:
        return url
    try:
        parts = urlsplit(url)
    except ValueError:
        return CREDENTIAL_MASK
    _, at, host = parts.netloc.rpartition("@")
    pairs = tuple(parse_qsl(parts.query, keep_blank_values=True))
    netloc = quote(CREDENTIAL_MASK) + at + host if at else host
    return urlunsplit(
        parts._replace(netloc=netloc, query=urlencode(_masked(pairs, _HARMLESS_PARAMETERS)))
    )


looks_secret = re.compile(r"(?=.*\d)(?=.*[A-Za-z])\S{12,}").fullmatch
"""Fits what is long, in one piece, and has letters and digits."""

_AUTH = {
    "bearer": ("Authorization", "Bearer "),
    "x-api-key": ("x-api-key", ""),
    "x-goog-api-key": ("x-goog-api-key", ""),
}


_MAKERS = {
    "anthropic": (Protocol.ANTHROPIC,),
    "google": (Protocol.GEMINI,),
    "openai": (Protocol.OPENAI_CHAT, Protocol.OPENAI_RESPONSES),
}
"""The own protocols of the makers of models."""


@Memo  # every encoder asks several times a keystroke; merging takes 20 µs
def _facts_of(endpoint: Endpoint, model: str) -> ModelFacts:
    return merged_facts(facts for _, facts in endpoint.facts_by_source(model))


def _matching(facts: tuple[tuple[str, ModelFacts], ...], names: Collection[str]) -> ModelFacts:
    """Return the facts that fit a model by one of its names."""
    matches = [
        ((pattern in names, len(pattern)), entry_facts)
        for pattern, entry_facts in facts
        if pattern in names
        or (pattern.endswith("*") and any(name.startswith(pattern[:-1]) for name in names))
    ]
    matches.sort(key=lambda entry: entry[0], reverse=True)
    return merged_facts(entry_facts for _, entry_facts in matches)
