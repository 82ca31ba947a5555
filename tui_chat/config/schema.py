"""The keys of `config.toml` and their values. An error never repeats a value.

Everything is optional, so that an entry can override a built-in endpoint; `file` checks that a new
endpoint is complete.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from typing import Annotated, Any, Literal
from urllib.parse import SplitResult, parse_qsl, urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, PlainValidator

from tui_chat.models.endpoint import Protocol
from tui_chat.models.model_facts import MEDIA
from tui_chat.models.setting_types import SettingError, read_settings
from tui_chat.models.settings import EFFORTS, NO_SETTINGS, Settings
from tui_chat.protocols.base_url import with_scheme

_SECRET_NAMES = frozenset(
    {
        "authorization",
        "proxy-authorization",
        "cookie",
        "x-api-key",
        "api-key",
        "x-goog-api-key",
        "key",
        "api_key",
        "apikey",
        "access_token",
        "token",
    }
)
"""Headers and query parameters that contain keys, which would be visible there."""

_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")


def _base_url(url: str) -> str:
    """Return a base URL with its scheme. Its parts are read when the protocol is known."""
    url = with_scheme(url.strip())
    parts = _url(url, ("http", "https"))
    if parts.fragment:
        raise ValueError("must have no fragment")
    for name, _ in parse_qsl(parts.query, keep_blank_values=True):
        if name.lower() in _SECRET_NAMES:
            raise ValueError(f"has a key in its query ({name}); set a reference as `key` instead")
    return url


def _proxy(proxy: str) -> str:
    if proxy not in ("", "none") and not re.fullmatch(r"env:[^\s=]+", proxy):
        _url(proxy, ("http", "https", "socks5", "socks5h"))
    return proxy


def _url(url: str, schemes: tuple[str, ...]) -> SplitResult:
    if not url.startswith(tuple(f"{scheme}://" for scheme in schemes)):
        raise ValueError(f"must begin with {' or '.join(f'{scheme}://' for scheme in schemes)}")
    try:
        parts = urlsplit(url)
        readable = bool(parts.hostname) and parts.port != 0
    except ValueError:
        raise ValueError("is not a URL: host and port cannot be read") from None
    if not readable or not url.isprintable() or " " in url:
        raise ValueError("is not a URL: host and port cannot be read")
    if "@" in parts.netloc:
        raise ValueError("must not contain a user or a password; keys are references")
    return parts


def _key(key: str) -> str:
    kind, _, rest = key.partition(":")
    match kind:
        case "":
            pass
        case "env" if re.fullmatch(r"[^\s=]+", rest):
            pass
        case "keyring" if all(rest.partition("/")):
            pass
        case "command" if rest.strip():
            pass
        case _:
            raise ValueError(
                "must be a reference: “env:NAME”, “keyring:SERVICE/NAME” or "
                "“command:PROGRAM ARGUMENTS”, never the key itself"
            )
    return key


def _auth(auth: str) -> str:
    kind, _, name = auth.partition(":")
    if auth not in ("", "bearer", "x-api-key", "x-goog-api-key", "none") and not (
        kind == "header" and _NAME.fullmatch(name)
    ):
        raise ValueError("must be “bearer”, “x-api-key”, “x-goog-api-key”, “header:NAME” or “none”")
    return auth


def _no_secrets(given: dict[str, str]) -> dict[str, str]:
    for name in given:
        if name.lower() in _SECRET_NAMES:
            raise ValueError(f"{name} contains a key; set a reference as `key`, and `auth`")
    return given


def _sendable(headers: dict[str, str]) -> dict[str, str]:
    for name, value in headers.items():
        if not _NAME.fullmatch(name):
            raise ValueError("a header name has invalid characters")
        if not (value.isascii() and value.isprintable()):
            raise ValueError(f"{name} must be plain ASCII in one line")
    return headers


def _one_line(what: str) -> Callable[[str], str]:
    def check(text: str) -> str:
        if not text.strip() or not text.isprintable():
            raise ValueError(f"{what} must be text in one line")
        return text

    return check


def _parameters(given: object) -> Settings:
    try:
        return read_settings(given)
    except SettingError as error:
        raise ValueError(error.sentence) from None


class Strict(BaseModel):
    """A table whose keys are all known."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


_Dollars = Annotated[Decimal, Field(ge=0, le=10**6, allow_inf_nan=False)]


class PriceTierTable(Strict):
    """Prices of requests with more than `above` tokens of input."""

    above: int = Field(ge=0, le=10**9)
    """Tokens of input beyond which these prices hold."""
    input: _Dollars | None = None
    """All input."""
    output: _Dollars | None = None
    """All output."""
    cached: _Dollars | None = None
    """Input that the provider still had in its cache; not set: as all input."""
    cache_write: _Dollars | None = None
    """Input that was put into the provider's cache, for five minutes where there is a choice;
    not set: as all input."""
    cache_write_1h: _Dollars | None = None
    reasoning: _Dollars | None = None
    """Output spent on reasoning; not set: as all output."""


def _ascending(tiers: tuple[PriceTierTable, ...]) -> tuple[PriceTierTable, ...]:
    return tuple(sorted(tiers, key=lambda tier: tier.above))


class PricesTable(Strict):
    """US dollars per million tokens; see `models.prices.Prices`."""

    input: _Dollars | None = None
    """All input."""
    output: _Dollars | None = None
    """All output."""
    cached: _Dollars | None = None
    """Input that the provider still had in its cache; not set: as all input."""
    cache_write: _Dollars | None = None
    """Input that was put into the provider's cache, for five minutes where there is a choice;
    not set: as all input."""
    cache_write_1h: _Dollars | None = None
    reasoning: _Dollars | None = None
    """Output spent on reasoning; not set: as all output."""
    per_request: _Dollars | None = None
    """US dollars for each request besides."""
    tiers: Annotated[tuple[PriceTierTable, ...], AfterValidator(_ascending)] = ()
    """Other prices of requests with more input."""
    starts: date | None = Field(None, alias="from")
    """The first day on which the prices hold."""
    until: date | None = None
    """The last day on which they hold."""


def _efforts(words: tuple[str, ...]) -> tuple[str, ...]:
    """Return efforts, the least first."""
    for word in words:
        if word not in EFFORTS:
            raise ValueError(f"must be some of {', '.join(EFFORTS)}")
    return tuple(word for word in EFFORTS if word in words)


def _sampling_efforts(words: tuple[str, ...]) -> tuple[str, ...]:
    """Return efforts; the empty word is the model's own default."""
    known = _efforts(tuple(word for word in words if word))
    return ("", *known) if "" in words else known


def _budgets(tokens: tuple[int, ...]) -> tuple[int, ...]:
    if tokens and not (len(tokens) == 2 and 0 <= tokens[0] <= tokens[1]):
        raise ValueError("must be the least and the most tokens, or empty for none")
    return tokens


def _media(words: tuple[str, ...]) -> tuple[str, ...]:
    for word in words:
        if word not in MEDIA:
            raise ValueError(f"must be some of {', '.join(MEDIA)}")
    return tuple(word for word in MEDIA if word in words)


_Media = Annotated[tuple[str, ...], AfterValidator(_media)]
_Efforts = Annotated[tuple[str, ...], AfterValidator(_efforts)]
_Tokens = Annotated[int, Field(gt=0, le=10**9)]


class FactsTable(Strict):
    """The fields of `models.model_facts.ModelFacts`."""

    context_limit: _Tokens | None = None
    sampling: bool | None = None
    sampling_efforts: Annotated[tuple[str, ...], AfterValidator(_sampling_efforts)] | None = None
    """The reasoning efforts at which they are; the empty text is the model's own default. Counts
    only where `sampling` is not set."""
    developer_role: bool | None = None
    mid_history_system: bool | None = None
    prefill: bool | None = None
    max_output: _Tokens | None = None
    strict_keys: bool | None = None
    """True if OpenAI Chat's server refuses unknown keys and an empty `tools`; a captured request
    then loses them. Not set: they are passed on, with a warning."""
    stream_usage: bool | None = None
    max_tokens_key: Literal["max_completion_tokens", "max_tokens"] | None = None
    """How OpenAI Chat's reply limit is called; not set: as at the endpoint."""
    prices: PricesTable | None = None
    """US dollars per million tokens; they go before those that come with the program."""
    efforts: _Efforts | None = None
    reasons_by_default: bool | None = None
    budgets: Annotated[tuple[int, ...], AfterValidator(_budgets)] | None = None
    adaptive_thinking: bool | None = None
    forced_tools: bool | None = None
    stop: bool | None = None
    response_schema: bool | None = None
    cache_breakpoints: bool | None = None
    hosted_beside_functions: bool | None = None
    reasons: bool | None = None
    input_media: _Media | None = None
    """What it accepts: some of `text`, `image`, `audio`, `video`, `pdf`."""
    output_media: _Media | None = None
    """What it can reply with: some of the same."""


def _pattern(pattern: str) -> str:
    if not pattern.strip() or not pattern.isprintable():
        raise ValueError("a model's name must be text in one line")
    if "*" in pattern[:-1]:
        raise ValueError("a model's name may have a “*” only at its end")
    return pattern


_Facts = dict[Annotated[str, AfterValidator(_pattern)], FactsTable]
"""Facts about models, by name, or by how the name begins: `gpt-5*`."""


class TimeoutsTable(Strict):
    """Seconds; see `models.endpoint.Timeouts`."""

    connect: float = Field(15.0, gt=0, le=3600)
    silence: float = Field(600.0, gt=0, le=86_400)


class RetriesTable(Strict):
    """See `models.endpoint.Retries`."""

    times: int = Field(2, ge=0, le=10)
    first_wait: float = Field(0.5, gt=0, le=60)
    longest_wait: float = Field(60.0, gt=0, le=3600)


class EndpointTable(Strict):
    """One of `[endpoints.NAME]`; see `models.endpoint.Endpoint`."""

    protocol: Protocol | None = None
    """How the provider is spoken to; required for a new endpoint."""
    base_url: Annotated[str, AfterValidator(_base_url)] | None = None
    key: Annotated[str, AfterValidator(_key)] = ""
    auth: Annotated[str, AfterValidator(_auth)] = ""
    api_version: str = Field("", pattern=r"^[A-Za-z0-9._-]*$", max_length=40)
    models: tuple[Annotated[str, AfterValidator(_one_line("a model's name"))], ...] = ()
    headers: Annotated[dict[str, str], AfterValidator(_no_secrets), AfterValidator(_sendable)] = (
        Field(default_factory=dict)
    )
    query: Annotated[dict[str, str], AfterValidator(_no_secrets)] = Field(default_factory=dict)
    proxy: Annotated[str, AfterValidator(_proxy)] = ""
    timeouts: TimeoutsTable | None = None
    """How long to wait."""
    retries: RetriesTable | None = None
    """How often to try again."""
    facts: _Facts = Field(default_factory=dict)
    """Facts about models here, by name or by how the name begins: `"gpt-5*"`."""
    system_fallback: Literal["hoist", "user"] = "hoist"
    max_tokens_key: Literal["max_completion_tokens", "max_tokens"] = "max_completion_tokens"
    max_tokens: int | None = Field(None, gt=0)
    """Reply limit where nobody set one and the protocol demands one (Anthropic); not set: the
    most that the model accepts."""
    provider_keeps: bool = False
    parameters: Annotated[Settings, PlainValidator(_parameters)] = NO_SETTINGS
    """Settings of requests where neither session nor preset nor role has them: docs/settings.md."""


def _schema(given: dict[str, Any] | str) -> dict[str, Any]:
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except (ValueError, RecursionError):
            raise ValueError("is not JSON") from None
    if not isinstance(given, dict) or given.get("type", "object") != "object":
        raise ValueError("must be a JSON Schema of type object")
    try:
        json.dumps(given, allow_nan=False)
    except (TypeError, ValueError):
        raise ValueError("has a value that JSON cannot represent, such as a date") from None
    return given


class ToolTable(Strict):
    """One of `[tools.NAME]`; see `models.tool.Tool`."""

    description: str = ""
    """What the model is told about the tool."""
    parameters: Annotated[dict[str, Any] | str, AfterValidator(_schema)] = Field(
        default_factory=dict
    )
    """The JSON Schema of the arguments, as a table or as JSON text."""
    command: tuple[str, ...] = ()
    consent: Literal["ask", "always"] = "ask"
    offered: bool = True
    timeout: float = Field(60.0, gt=0, le=86_400)
    most_output: int = Field(100_000, gt=0, le=10_000_000)


def _title_model(given: str) -> str:
    endpoint, _, model = given.partition("/")
    if given and not (endpoint and model):
        raise ValueError("must be ENDPOINT/MODEL")
    return given


class PluginsTable(Strict):
    """`[plugins]`."""

    enabled: tuple[str, ...] = ()
    """Installed plugins of other people that are loaded, by the names of their entry points."""


_ToolName = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_.-]*$", max_length=64)]
_EndpointName = Annotated[str, Field(pattern=r"^\S+$", max_length=80)]


class FileTable(Strict):
    """The whole file."""

    endpoint: str | None = None
    """The endpoint of new sessions; without it the offline provider."""
    model: str | None = None
    """The model of new sessions; without it the endpoint's first."""
    title_model: Annotated[str, AfterValidator(_title_model)] = ""
    """The model that writes titles of sessions, as `ENDPOINT/MODEL`; without it none does."""
    theme: str | None = None
    """The name of a color theme; the command palette lists them."""
    notify: Literal["osc9", "osc777", "bell", "off"] | None = None
    """How the end of a long reply is announced while another window has the focus."""
    keys: dict[str, str] = Field(default_factory=dict)
    """The keys of actions: `new = "Ctrl+N, F9"`; empty for none. F1 lists the actions."""
    endpoints: dict[_EndpointName, EndpointTable] = Field(default_factory=dict)
    """Providers by name. The name of a built-in one changes only what its table sets."""
    models: _Facts = Field(default_factory=dict)
    """Facts about models on all endpoints, by name or by how the name begins: `"gpt-5*"`."""
    tools: dict[_ToolName, ToolTable] = Field(default_factory=dict)
    """Tools that models may call, by name."""
    plugins: PluginsTable = PluginsTable()
    """Plugins beside those that come with the program."""


def known_keys() -> tuple[str, ...]:
    """Return all known keys, for suggestions on misspelled ones."""
    tables: tuple[type[Strict], ...] = (
        FileTable, EndpointTable, FactsTable, PricesTable, TimeoutsTable, RetriesTable,
        ToolTable, PluginsTable,
    )  # fmt: skip
    return tuple(key for table in tables for key in table.model_fields)
