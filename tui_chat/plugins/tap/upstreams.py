"""Upstreams: the servers that requests go on to, and which protocol a request is in.

A request's path stays as the client wrote it. If the upstream's URL has a path, it comes in front,
and what both have in common appears once: with `https://openrouter.ai/api/v1`,
`/v1/chat/completions` becomes `/api/v1/chat/completions`, and `/api/v1/models` stays.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

from tui_chat.errors import InputError
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.endpoint import Protocol
from tui_chat.plugins.tap.exchange import Request
from tui_chat.protocols.registry import detect_request, protocol_of_path

BASE_URL_VARIABLES: Mapping[Protocol, str] = {
    Protocol.OPENAI_CHAT: "OPENAI_BASE_URL",
    Protocol.OPENAI_RESPONSES: "OPENAI_BASE_URL",
    Protocol.ANTHROPIC: "ANTHROPIC_BASE_URL",
    Protocol.GEMINI: "GOOGLE_GEMINI_BASE_URL",
    Protocol.OLLAMA: "OLLAMA_HOST",
}
"""The variables in which clients look for the server of a protocol."""
_OWN_SERVERS: Mapping[Protocol, str] = {
    Protocol.OPENAI_CHAT: "https://api.openai.com",
    Protocol.OPENAI_RESPONSES: "https://api.openai.com",
    Protocol.ANTHROPIC: "https://api.anthropic.com",
    Protocol.GEMINI: "https://generativelanguage.googleapis.com",
    Protocol.OLLAMA: "http://127.0.0.1:11434",
}
"""The servers of protocols if no upstream was named."""


@dataclass(frozen=True, slots=True)
class Upstream:
    """A server."""

    origin: str
    """Scheme, host and port."""
    path: str = ""
    """Put in front of the paths of requests; without a slash at its end."""
    proxy: str = ""
    """As `Endpoint.proxy`."""

    @property
    def authority(self) -> str:
        """The value of the `host` header."""
        return self.origin.partition("://")[2]

    @property
    def url(self) -> str:
        """The base URL."""
        return self.origin + self.path

    def target(self, target: str) -> str:
        """Return the target of a request here."""
        if not self.path or not target.startswith("/"):
            return target
        own = self.path.split("/")[1:]
        path, mark, query = target.partition("?")
        segments = path.split("/")[1:]
        lengths = range(min(len(own), len(segments)), 0, -1)
        common = next((n for n in lengths if own[-n:] == segments[:n]), 0)
        return "/" + "/".join((*own, *segments[common:])) + mark + query


def read_upstream(url: str, source: str = "--upstream", proxy: str = "") -> Upstream:
    """Return the upstream of a URL; `source` is where it is from. Raises InputError."""
    try:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        port = parts.port
    except ValueError as error:
        raise InputError(f"{source}: “{url}” is not a URL: {error}") from error
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InputError(
            f"{source}: “{url}” is not a URL of a server.",
            advice="Write it as https://api.openai.com, or name an endpoint, or “offline”.",
        )
    if parts.username or parts.password:
        raise InputError(f"{source}: a URL with a password cannot be used.")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    usual = {"http": 80, "https": 443}[parts.scheme]
    authority = host if port in (None, usual) else f"{host}:{port}"
    return Upstream(f"{parts.scheme}://{authority}", parts.path.rstrip("/"), proxy)


Route = Callable[[Request], Upstream]


def route_to(upstream: Upstream | None, environ: Mapping[str, str] | None = None) -> Route:
    """Return the route to one upstream. Without one it is each protocol's own provider, or the
    server that the variables for clients name already. Raises InputError if one of these is not a
    URL.
    """
    if upstream is not None:
        return lambda request: upstream
    servers = {
        protocol: read_upstream((environ or {}).get(name) or _OWN_SERVERS[protocol], name)
        for protocol, name in BASE_URL_VARIABLES.items()
    }
    return lambda request: servers[_provider_of(request)]


def client_variables(base_url: str, upstream: Upstream | None) -> dict[str, str]:
    """Return the variables that let clients send their requests to a proxy.

    OpenAI's programs expect the version in the base URL, the others do not. An upstream's own path
    is part of what they are told.
    """
    path = upstream.path if upstream is not None else ""
    openai = base_url + (path or "/v1")
    other = base_url + path.removesuffix("/v1")
    variables = {
        "OPENAI_BASE_URL": openai,
        "OPENAI_API_BASE": openai,
        "ANTHROPIC_BASE_URL": other,
        "GOOGLE_GEMINI_BASE_URL": other.removesuffix("/v1beta"),
    }
    if upstream is not None:  # without one, requests would go to another provider than theirs
        names = ("DEEPSEEK_BASE_URL", "KIMI_BASE_URL", "OPENROUTER_BASE_URL")
        variables |= dict.fromkeys(names, openai) | {"OLLAMA_HOST": base_url}
    return variables


def read_address(text: str, port: int) -> tuple[str, int]:
    """Return host and port of `HOST:PORT`, `HOST`, `:PORT` or `PORT`. Raises InputError."""
    host, separator, number = text.rpartition(":")
    if not separator:
        host, number = ("", text) if text.isdigit() else (text, "")
    elif text.count(":") > 1 and not text.startswith("["):
        host, number = text, ""
    if number and not (number.isascii() and number.isdigit() and int(number) < 65536):
        raise InputError(f"--listen: “{text}” is not HOST:PORT")
    return host.strip("[]") or "127.0.0.1", int(number) if number else port


def _provider_of(request: Request) -> Protocol:
    """Return a protocol of the provider that any request is meant for, by its path and headers."""
    path = request.target.partition("?")[0]
    if (protocol := protocol_of_path(path)) is not None:
        return protocol
    if request.header("anthropic-version") or request.header("x-api-key") or "/messages" in path:
        return Protocol.ANTHROPIC
    if request.header("x-goog-api-key") or path.startswith("/v1beta") or "key=" in request.target:
        return Protocol.GEMINI
    return Protocol.OLLAMA if path.startswith("/api/") else Protocol.OPENAI_CHAT


_OTHER_CALLS = re.compile(
    r"(?i)tokens?$|token-count$|tokenize$|embed|batch|moderation|/files|/models/?$|/compact$"
)
"""Paths of calls whose bodies may look like those of model calls."""
_PATH_MODEL = re.compile(r"/models/([^/:]+):")


def protocol_of_call(
    method: str, target: str, body: Mapping[str, Any], wanted: Protocol | None = None
) -> Protocol | None:
    """Return the protocol of a model call; None for another call. `wanted` is the protocol of
    calls whose paths say nothing; without one their bodies decide.
    """
    if method != "POST":
        return None
    path = target.partition("?")[0]
    if (protocol := protocol_of_path(path)) is not None:
        return protocol
    conversation = body.get("messages") or body.get("contents") or body.get("input")
    if _OTHER_CALLS.search(path) or not isinstance(conversation, list):
        return None
    return wanted or (detect_request(body) if "input" not in body else None)


def model_in_path(target: str) -> str:
    """Return the model that a path names, as Gemini's do; empty for none."""
    match = _PATH_MODEL.search(target.partition("?")[0])
    return match.group(1) if match else ""
