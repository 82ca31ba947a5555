"""What may stand in `config.toml`. Unknown keys are faults; a fault never repeats the value.

Everything is optional, so that an entry can be laid over a ready-made one; what a new endpoint
needs is checked where the two are put together.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Annotated, Any, Literal
from urllib.parse import SplitResult, parse_qsl, urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from tui_chat.models.base_url import with_scheme
from tui_chat.models.endpoint import Protocol

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
"""Headers and query parameters that carry keys: what stands there would be shown."""

_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")


def _base_url(url: str) -> str:
    """Return a base URL with its scheme; what it is put together of is read when the protocol is
    known.
    """
    url = with_scheme(url.strip())
    parts = _url(url, ("http", "https"))
    if parts.fragment:
        raise ValueError("must have no fragment")
    for name, _ in parse_qsl(parts.query, keep_blank_values=True):
        if name.lower() in _SECRET_NAMES:
            raise ValueError(f"has a key in its query ({name}); say where it is with `key`")
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
        raise ValueError("is no URL: host and port cannot be read") from None
    if not readable or not url.isprintable() or " " in url:
        raise ValueError("is no URL: host and port cannot be read")
    if "@" in parts.netloc:
        raise ValueError("must not hold a user or a password; keys are references")
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
            raise ValueError(f"{name} carries a key; say where it is with `key` and `auth`")
    return given


def _sendable(headers: dict[str, str]) -> dict[str, str]:
    for name, value in headers.items():
        if not _NAME.fullmatch(name):
            raise ValueError("a header's name has characters that no header may have")
        if not (value.isascii() and value.isprintable()):
            raise ValueError(f"{name} must be plain ASCII in one line")
    return headers


def _one_line(what: str) -> Callable[[str], str]:
    def check(text: str) -> str:
        if not text.strip() or not text.isprintable():
            raise ValueError(f"{what} must be text in one line")
        return text

    return check


class Strict(BaseModel):
    """A table whose keys are all known."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


class PricesTable(Strict):
    """US dollars for a million tokens."""

    input: float | None = Field(None, ge=0)
    output: float | None = Field(None, ge=0)
    cached: float | None = Field(None, ge=0)
    cache_write: float | None = Field(None, ge=0)


class FactsTable(Strict):
    """See `model.model_facts.ModelFacts`, whose fields these are but for one that no file sets."""

    context_limit: int | None = Field(None, gt=0)
    sampling: bool | None = None
    developer_role: bool | None = None
    mid_history_system: bool | None = None
    prefill: bool | None = None
    max_output: int | None = Field(None, gt=0)
    strict_keys: bool | None = None
    stream_usage: bool | None = None
    max_tokens_key: Literal["max_completion_tokens", "max_tokens"] | None = None
    prices: PricesTable | None = None


class TimeoutsTable(Strict):
    """Seconds; see `model.endpoint.Timeouts`."""

    connect: float = Field(15.0, gt=0, le=3600)
    silence: float = Field(600.0, gt=0, le=86_400)


class RetriesTable(Strict):
    """See `model.endpoint.Retries`."""

    times: int = Field(2, ge=0, le=10)
    first_wait: float = Field(0.5, gt=0, le=60)
    longest_wait: float = Field(60.0, gt=0, le=3600)


class EndpointTable(Strict):
    """One of `[endpoints.NAME]`; see `model.endpoint.Endpoint`."""

    protocol: Protocol | None = None
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
    retries: RetriesTable | None = None
    facts: dict[str, FactsTable] = Field(default_factory=dict)
    system_fallback: Literal["hoist", "user"] = "hoist"
    max_tokens_key: Literal["max_completion_tokens", "max_tokens"] = "max_completion_tokens"
    max_tokens: int | None = Field(None, gt=0)
    provider_keeps: bool = False


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
        raise ValueError("holds a value that JSON does not know, such as a date") from None
    return given


class ToolTable(Strict):
    """One of `[tools.NAME]`; see `model.tool.Tool`."""

    description: str = ""
    parameters: Annotated[dict[str, Any] | str, AfterValidator(_schema)] = Field(
        default_factory=dict
    )
    command: tuple[str, ...] = ()
    consent: Literal["ask", "always"] = "ask"
    offered: bool = True
    timeout: float = Field(60.0, gt=0, le=86_400)
    most_output: int = Field(100_000, gt=0, le=10_000_000)


_ToolName = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_.-]*$", max_length=64)]
_EndpointName = Annotated[str, Field(pattern=r"^\S+$", max_length=80)]


class FileTable(Strict):
    """The whole file."""

    endpoint: str | None = None
    model: str | None = None
    theme: str | None = None
    notify: Literal["osc9", "osc777", "bell", "off"] | None = None
    keys: dict[str, str] = Field(default_factory=dict)
    endpoints: dict[_EndpointName, EndpointTable] = Field(default_factory=dict)
    tools: dict[_ToolName, ToolTable] = Field(default_factory=dict)


def known_keys() -> tuple[str, ...]:
    """Return every key there is, to guess what a misspelled one was meant to be."""
    tables: tuple[type[Strict], ...] = (
        FileTable, EndpointTable, FactsTable, PricesTable, TimeoutsTable, RetriesTable,
        ToolTable,
    )  # fmt: skip
    return tuple(key for table in tables for key in table.model_fields)
