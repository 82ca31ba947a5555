"""Where an endpoint is, from a URL as people paste it.

A base URL is what a request's path is put behind: with the version for OpenAI's protocols, without
it for Anthropic and Gemini, whose paths begin with it. Documentation, other programs and error
messages show it in other forms:

    typed                                            read for
    https://api.openai.com                           Chat, Responses: .../v1
    https://api.openai.com/v1/chat/completions       Chat: https://api.openai.com/v1
    https://api.anthropic.com/v1/messages            Anthropic: https://api.anthropic.com
    https://HOST/v1beta/models/M:generateContent     Gemini: https://HOST, version v1beta
    localhost:11434/api/chat                         Chat: http://localhost:11434/v1

1. White space, a final slash and the path of a request are taken away; a query is kept apart.
2. A path of another protocol is a fault: requests would go astray.
3. A bare host gets `/v1` for OpenAI's protocols, except where the provider has none.
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import parse_qsl, urlencode, urlsplit

from tui_chat.models.endpoint import Endpoint, Protocol


@dataclass(frozen=True, slots=True)
class BaseUrl:
    """A base URL, taken apart."""

    url: str
    """Scheme, host and the path up to what a request adds; no slash at its end."""
    api_version: str = ""
    """Gemini's version, where one was typed."""
    query: tuple[tuple[str, str], ...] = ()
    """What stood behind a question mark, but for what requests add themselves."""


_ENDS = {
    Protocol.OPENAI_CHAT: re.compile(r"/(?:chat/completions|models)$"),
    Protocol.OPENAI_RESPONSES: re.compile(r"/(?:responses|models)$"),
    Protocol.ANTHROPIC: re.compile(r"/(?:messages(?:/count_tokens)?|models)$"),
    Protocol.GEMINI: re.compile(r"/models(?:/[^/]+)?$"),
}
"""How the path of a request ends, by protocol."""
_FOREIGN_ENDS = (
    (Protocol.OPENAI_CHAT, re.compile(r"/chat/completions$")),
    (Protocol.OPENAI_RESPONSES, re.compile(r"/responses$")),
    (Protocol.ANTHROPIC, re.compile(r"/messages(?:/count_tokens)?$")),
    (Protocol.GEMINI, re.compile(r":(?:stream)?generateContent$", re.IGNORECASE)),
)
_VERSION = re.compile(r"/(v\d+[a-z0-9]*)$")
_OPENAI = (Protocol.OPENAI_CHAT, Protocol.OPENAI_RESPONSES)
_UNVERSIONED = frozenset({"api.deepseek.com", "api.perplexity.ai"})
"""Hosts whose OpenAI-like API has no version in its path."""
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_HOST = re.compile(r"[a-z0-9-]+(?:\.[a-z0-9-]+)*\.[a-z]{2,24}(?=[:/?]|$)")
_ADDED_BY_REQUESTS = frozenset({"alt"})


def read_base_url(typed: str, protocol: Protocol) -> BaseUrl:
    """Read a URL as it was typed for a protocol. Raises ValueError for one of another protocol."""
    url = with_scheme(typed.strip())
    parts = urlsplit(url)
    host = (parts.hostname or "").lower()
    path = parts.path.rstrip("/")
    for owner, end in _FOREIGN_ENDS:
        if owner is not protocol and end.search(path):
            raise ValueError(
                f"ends in a path of {owner.label}, but the protocol is {protocol}: check `protocol`"
            )
    path = _ENDS[protocol].sub("", path)
    version = ""
    if protocol in _OPENAI:
        path = _openai_path(host, path, parts.port)
    elif protocol is Protocol.ANTHROPIC:
        path = path.removesuffix("/v1")
    elif (found := _VERSION.search(path)) is not None:
        path, version = path[: found.start()], found[1]
    query = parse_qsl(parts.query, keep_blank_values=True)
    kept = tuple((key, value) for key, value in query if key not in _ADDED_BY_REQUESTS)
    return BaseUrl(f"{parts.scheme.lower()}://{parts.netloc}{path}", version, kept)


def _openai_path(host: str, path: str, port: int | None) -> str:
    """Return a path up to and with the version, which a bare host lacks."""
    if host == "openrouter.ai" and path in ("", "/api"):
        return "/api/v1"
    if host.endswith(".openai.azure.com") and path in ("", "/openai"):
        return "/openai/v1"
    if port == 11434 and path.split("/")[1:2] == ["api"]:  # Ollama's own API beside OpenAI's
        return "/v1"
    return path or ("" if host in _UNVERSIONED else "/v1")


def with_scheme(url: str) -> str:
    """Return a URL with the scheme that it lacks: `http` on this machine and in private networks.
    What does not look like a host stays as it is.
    """
    if _SCHEME.match(url):
        return url
    host = urlsplit(f"//{url}").hostname or ""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        if host == "localhost" or host.endswith(".localhost"):
            return f"http://{url}"
        # Nobody writes a host in capitals; what looks like a key is left to be refused.
        return f"https://{url}" if _HOST.match(url) else url
    return f"{'http' if address.is_private else 'https'}://{url}"


def request_url(endpoint: Endpoint, path: str) -> str:
    """Return the URL of a request to an endpoint: its base URL, the path without what both have,
    and the endpoint's query.
    """
    url = _joined(endpoint.base_url, endpoint.protocol, path, endpoint.api_version)
    if not endpoint.query:
        return url
    return url + ("&" if "?" in url else "?") + urlencode(endpoint.query)


@lru_cache(maxsize=64)
def _joined(base_url: str, protocol: Protocol, path: str, api_version: str) -> str:
    try:
        place = read_base_url(base_url, protocol)
    except ValueError:
        place = BaseUrl(base_url.rstrip("/"))
    root = place.url
    if protocol in _OPENAI and not urlsplit(base_url).path.strip("/"):
        root = base_url.rstrip("/")  # a bare host is completed where the configuration is read
    if protocol is Protocol.GEMINI:
        _, _, rest = path.removeprefix("/").partition("/")
        if "/publishers/" in root:  # Vertex has its version in front of the project
            path = f"/{rest}"
        elif place.api_version and not api_version:
            path = f"/{place.api_version}/{rest}"
    if place.query:
        path += ("&" if "?" in path else "?") + urlencode(place.query)
    return root + path
