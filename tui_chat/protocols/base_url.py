"""The base URL of an endpoint, from a URL as people paste it.

A request's URL is the base URL and the path. For OpenAI's protocols the base URL ends with the
version; for the other protocols it does not, since their paths begin with the version or have none.
Documentation, other programs and error messages show other forms:

    typed                                            read for
    https://api.openai.com                           Chat, Responses: .../v1
    https://api.openai.com/v1/chat/completions       Chat: https://api.openai.com/v1
    https://api.anthropic.com/v1/messages            Anthropic: https://api.anthropic.com
    https://HOST/v1beta/models/M:generateContent     Gemini: https://HOST, version v1beta
    localhost:11434/api/chat                         Chat: http://localhost:11434/v1

1. White space, a final slash and the path of a request are removed; a query is kept separately.
2. A path of another protocol is an error: requests would get the wrong path.
3. What a protocol adds to a bare host, or removes, is in its `UrlRules`.
"""

from __future__ import annotations

from functools import lru_cache
from urllib.parse import parse_qsl, urlencode, urlsplit

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.endpoint import Endpoint, Protocol
from tui_chat.models.endpoint_checks import with_scheme
from tui_chat.protocols.registry import PROTOCOLS, protocol_of


@dataclass(frozen=True, slots=True)
class BaseUrl:
    """A base URL, taken apart."""

    url: str
    """Scheme, host and the path up to what a request adds; no slash at its end."""
    api_version: str = ""
    """The version that was typed, for a protocol whose paths begin with one."""
    query: tuple[tuple[str, str], ...] = ()
    """The query of the typed URL, without the parameters that requests add themselves."""


_ADDED_BY_REQUESTS = frozenset({"alt"})


def read_base_url(typed: str, protocol: Protocol) -> BaseUrl:
    """Read a URL as it was typed for a protocol. Raises ValueError for one of another protocol."""
    parts = urlsplit(with_scheme(typed.strip()))
    path = parts.path.rstrip("/")
    for owner in PROTOCOLS.values():
        own_end = owner.urls.own_end
        if owner.protocol is not protocol and own_end is not None and own_end.search(path):
            raise ValueError(
                f"ends in a path of {owner.protocol.label}, but the protocol is {protocol}: "
                "check `protocol`"
            )
    urls = protocol_of(protocol).urls
    host = (parts.hostname or "").lower()
    path, version = urls.root(host, parts.port, urls.request_end.sub("", path))
    query = parse_qsl(parts.query, keep_blank_values=True)
    kept = tuple((key, value) for key, value in query if key not in _ADDED_BY_REQUESTS)
    return BaseUrl(f"{parts.scheme.lower()}://{parts.netloc}{path}", version, kept)


def request_url(endpoint: Endpoint, path: str) -> str:
    """Return a request's URL: the base URL, the path without what both have, and the query."""
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
    if not urlsplit(base_url).path.strip("/"):
        root = base_url.rstrip("/")  # a bare host is completed where the configuration is read
    version = "" if api_version else place.api_version
    path = protocol_of(protocol).urls.request_path(root, path, version)
    if place.query:
        path += ("&" if "?" in path else "?") + urlencode(place.query)
    return root + path
