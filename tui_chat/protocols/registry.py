"""Protocol -> its definition. A new protocol adds its package and one line here.

Detecting a protocol by a model's name, or by a captured request.

The base URL of an endpoint, from a URL as people paste it.

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

from collections.abc import Mapping
from functools import lru_cache
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.endpoint import Endpoint, Protocol
from tui_chat.models.endpoint_checks import with_scheme
from tui_chat.models.json_text import objects_in
from tui_chat.protocols.anthropic import ANTHROPIC
from tui_chat.protocols.base import ProtocolDefinition, RequestSigns
from tui_chat.protocols.gemini import GEMINI
from tui_chat.protocols.ollama import OLLAMA
from tui_chat.protocols.openai_chat import OPENAI_CHAT
from tui_chat.protocols.openai_responses import OPENAI_RESPONSES

PROTOCOLS: dict[Protocol, ProtocolDefinition] = {
    OPENAI_CHAT.protocol: OPENAI_CHAT,
    OPENAI_RESPONSES.protocol: OPENAI_RESPONSES,
    ANTHROPIC.protocol: ANTHROPIC,
    GEMINI.protocol: GEMINI,
    OLLAMA.protocol: OLLAMA,
}
"""In the order in which they are listed on the screen."""


def protocol_of(protocol: Protocol) -> ProtocolDefinition:
    """Return the definition of a protocol."""
    return PROTOCOLS[protocol]


def detect_protocol(model: str) -> Protocol | None:
    """Guess a model's native protocol by its name; a router's prefix (`openai/`) is ignored.

    Returns None if the name says nothing.
    """
    name = model.rpartition("/")[2].lower()
    for protocol, definition in PROTOCOLS.items():
        if definition.model_pattern is not None and definition.model_pattern.match(name):
            return protocol
    return None


def protocol_of_path(path: str) -> Protocol | None:
    """Return the protocol of a request for a reply by the path of its URL; None for any other."""
    owners = (p for p, definition in PROTOCOLS.items() if definition.urls.reply_end.search(path))
    return next(owners, None)


def detect_request(body: Mapping[str, Any]) -> Protocol | None:
    """Return the protocol of a request body; None if it is not a request.

    If the body fits several protocols equally well, the model's name decides, then the order
    of the registry.
    """
    for protocol, definition in PROTOCOLS.items():
        if definition.signs.unique_keys & body.keys():
            return protocol
    if not isinstance(body.get("messages"), list):
        return None
    scores = {
        protocol: _score(definition.signs, body)
        for protocol, definition in PROTOCOLS.items()
        if not definition.signs.unique_keys
    }
    best = [protocol for protocol, score in scores.items() if score == max(scores.values())]
    by_model = detect_protocol(str(body.get("model", "")))
    return by_model if by_model in best else best[0]


def _score(signs: RequestSigns, body: Mapping[str, Any]) -> int:
    """Return how many signs of a protocol a body with `messages` has."""
    messages = list(objects_in(body["messages"]))
    blocks = [block for message in messages for block in objects_in(message.get("content"))]
    roles = {str(message.get("role")) for message in messages}
    types = {str(block.get("type")) for block in blocks}
    is_peculiar = (
        bool(roles & signs.roles)
        or any(signs.message_keys & message.keys() for message in messages)
        or bool(types & signs.block_types)
    )
    tools = sum(bool(signs.tool_keys & tool.keys()) for tool in objects_in(body.get("tools")))
    own = 3 * any(map(signs.is_own_message, messages))
    return len(body.keys() & signs.settings) + 2 * is_peculiar + tools + own


# --- base URLs ---------------------------------------------------------------------------


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
