"""Credentials of a request: recognized, and masked in everything that is kept of the exchange.

The bytes that pass are not touched. Of a credential the name and the scheme (`Bearer`) stay, and
the whole value is replaced, also where a body or an error repeats it, whole or in part.

1. A header or parameter is a credential by its name: `authorization`, `cookie`, and whatever ends
   like `-key`, `-token` or `-secret`; and whatever its name and its place, in the path too, by the
   shape of a well-known service's key. Names such as `prompt_cache_key` or `idempotency-key`, which
   identify something and open nothing, are none.
2. In a body the same names count wherever settings are (`api_key`, the authorization of an MCP
   server), but not within the conversation: it is shown as the model sees it.
3. A placeholder such as `ollama`, which clients send where a server wants no key, and a cookie that
   is a plain word (`lang=english`) are masked in their header and not looked for elsewhere.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias, cast
from urllib.parse import quote, unquote_plus

from tui_chat.models.key_shapes import keys_in
from tui_chat.models.reply import StreamEvent
from tui_chat.providers.key_mask import MASK, KeyMasks

Headers: TypeAlias = tuple[tuple[str, str], ...]
"""Names and values, in their order."""

_NAMES = frozenset(
    (
        *("authorization", "proxy-authorization", "cookie", "set-cookie", "set-cookie2"),
        *("api-key", "apikey", "x-api-key", "x-goog-api-key", "chatgpt-account-id"),
        *("x-amz-security-token", "x-auth", "authentication-info", "credential", "credentials"),
        *("secret", "jwt", "passwd", "dpop", "csrf", "bearer"),
    )
)
"""Headers whose values are credentials, or belong to them."""
_ENDS = (
    *("-key", "_key", "apikey", "-token", "_token", "-secret", "_secret", "password"),
    *("-authorization", "_authorization", "-authorization-data", "-jwt", "_jwt"),
    *("-credential", "_credential", "-pass", "-pwd", "_pwd", "-bearer", "-csrf"),
)
"""Ends of the names of other headers, parameters and body keys that hold credentials."""
_IDENTIFIERS = re.compile(
    r"(?:^|[-_])(?:cache|idempotency|routing|partition|sort|dedup(?:lication)?|websocket|page"
    r"|continuation|bos|eos|pad|sep|unk|mask|stop|start|end|first|last|next|special|image|audio"
    r"|think|no)[-_](?:key|token)$"
)
"""Names that end like a credential's, and hold none: a prompt's cache key, a model's end token."""
_CONVERSATION = frozenset(
    (
        *("messages", "input", "contents", "prompt", "system", "instructions"),
        *("system_instruction", "systemInstruction"),
    )
)
"""Keys of a body that hold what the model reads."""
_PARAMETERS = frozenset(("key", "auth", "token", "sig", "signature", "code"))
"""Parameters of a query or path that are credentials, beside those with one of `_ENDS`."""
_QUERY = re.compile(r"([?&])([^=&#\s]*)=([^&#\s]*)")
_PATH_PARAMETER = re.compile(r"(;)([^=;/?&#\s]*)=([^;/?&#\s]*)")
_URL_PASSWORD = re.compile(r"://[^/?#\s:@]*:([^/?#\s@]+)@")
_SHORTEST = 6
"""Characters of the shortest credential that is looked for in bodies."""
_SCHEME = re.compile(r"(?:bearer|basic|token|key|apikey|negotiate)\s+", re.IGNORECASE)
_SHOWN_PART = r"[\w.+/=-]{0,40}(?:\*{2,}|\.{3}|…|•{2,})[\w.+/=-]{0,12}"
"""The rest of a key of which an error shows only the ends: `sk-ab***yz`."""
_LONGEST_SHOWN_PART = 600
_PLACEHOLDERS = frozenset(
    (
        *("ollama", "lm-studio", "lmstudio", "dummy", "dummy-key", "no-key", "no-key-required"),
        *("sk-no-key-required", "not-needed", "not-required", "nothing", "placeholder", "unused"),
    )
)
"""Keys that clients send where a server wants none."""
_WORD = re.compile(r"[a-z]{1,11}|[A-Z][a-z]{1,10}")
_DEEPEST = 32
"""Levels of a body in which credentials are looked for."""


_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def _is_secret(name: str) -> bool:
    if name.strip().lower() in _NAMES:
        return True
    name = _CAMEL.sub("_", name.strip()).lower()
    return name in _NAMES or (name.endswith(_ENDS) and _IDENTIFIERS.search(name) is None)


class Credentials:
    """The credentials of one exchange. They are never part of a repr."""

    def __init__(self, headers: Headers = (), target: str = "") -> None:
        self._masks = KeyMasks()
        self._shown_parts: re.Pattern[bytes] | None = None
        self.add_headers(headers)
        self._add_parameters(target)

    def add_headers(self, headers: Headers) -> None:
        """Add what the headers of the request, or of the response, hold."""
        for name, value in headers:
            if _is_secret_header(name):
                for secret in _secrets(name.strip().lower(), value):
                    self._add(secret)
            else:
                self._add_parameters(value)

    def _add_parameters(self, url: str) -> None:
        """Add what the query and path of a URL hold, the password in it, and what looks like a
        key in it or in another text.
        """
        for found in keys_in(unquote_plus(url)):
            self._add(found[0])
            self._add(quote(found[0], safe=""))
        for _, name, value in (*_QUERY.findall(url), *_PATH_PARAMETER.findall(url)):
            if _is_secret_parameter(name):
                self._add(value)
                self._add(unquote_plus(value))
        for password in _URL_PASSWORD.findall(url):
            self._add(password)
            self._add(unquote_plus(password))

    def add_body(self, body: Any) -> None:
        """Add the credentials in a JSON body, such as a gateway's `api_key` or an MCP server's."""
        if not isinstance(body, dict):
            return
        for name, value in cast("dict[str, Any]", body).items():
            if name not in _CONVERSATION:
                self._add_value(name, value)
            elif isinstance(value, list):  # tools that are announced within the conversation
                for item in cast("list[Any]", value):
                    if isinstance(item, dict) and "tools" in item:
                        self._add_value("tools", cast("dict[str, Any]", item)["tools"])

    def _add_value(self, name: str, value: Any, depth: int = 0) -> None:
        if isinstance(value, str):
            if _is_secret(name):
                for secret in _secrets("", value):
                    self._add(secret)
            else:
                self._add_parameters(value)
        elif depth < _DEEPEST and isinstance(value, dict):
            for key, inner in cast("dict[str, Any]", value).items():
                self._add_value(key, inner, depth + 1)
        elif depth < _DEEPEST and isinstance(value, list):
            for inner in cast("list[Any]", value):
                self._add_value(name, inner, depth + 1)

    def _add(self, secret: str) -> None:
        if len(secret) < _SHORTEST or secret in self._masks or secret in _PLACEHOLDERS:
            return
        self._masks.add(secret)
        starts = "|".join(re.escape(mask[:4]) for mask in self._masks)
        self._shown_parts = re.compile(f"(?:{starts}){_SHOWN_PART}".encode())

    # --- what is kept -----------------------------------------------------------------------

    def mask_headers(self, headers: Headers) -> Headers:
        """Return the headers with whole values masked; a scheme such as `Bearer` stays."""
        return tuple(
            (name, _masked(value) if _is_secret_header(name) else self.mask_text(value))
            for name, value in headers
        )

    def mask_target(self, target: str) -> str:
        """Return a path and query with the values of key parameters masked."""

        def masked(match: re.Match[str]) -> str:
            start, name, value = match.groups()
            return f"{start}{name}={MASK if _is_secret_parameter(name) else value}"

        return self.mask_text(_QUERY.sub(masked, _PATH_PARAMETER.sub(masked, target)))

    def mask_text(self, text: str) -> str:
        """Return a text without the credentials."""
        return self._masks.mask_text(text)

    def mask_bytes(self, body: bytes) -> bytes:
        """Return a body without the credentials."""
        return self._masks.mask_bytes(body)

    def mask_response(self, body: bytes) -> bytes:
        """Return a response's body without credentials, and without ends of a key in an error."""
        body = self.mask_bytes(body)
        if self._shown_parts is not None and len(body) <= 64 * 1024:
            body = self._shown_parts.sub(_unless_long, body)
        return body

    def mask_events(self, events: Iterable[StreamEvent]) -> Iterator[StreamEvent]:
        """Return the events of a reply without the credentials; see `KeyMasks`."""
        return self._masks.mask_events(events)

    def are_spelled(self, pieces: Iterable[str]) -> bool:
        """Return True if a credential was repeated, or pieces of text spell one."""
        return self._masks.are_spelled(pieces)

    def close_events(self) -> Iterator[StreamEvent]:
        """Return what was held back, at the end of a reply."""
        return self._masks.close()

    @property
    def came_in_pieces(self) -> bool:
        """True if a reply repeated a credential in pieces, which are still in its raw body."""
        return self._masks.was_split


def _is_secret_header(name: str) -> bool:
    return name.strip().lower() in ("token", "key", "auth") or _is_secret(name)


def _is_secret_parameter(name: str) -> bool:
    name = unquote_plus(name).lower()
    return name in _PARAMETERS or name.endswith(("-signature", "_signature")) or _is_secret(name)


def _masked(value: str) -> str:
    scheme = _SCHEME.match(value.strip())
    return (scheme.group() if scheme else "") + MASK


def _secrets(name: str, value: str) -> Iterator[str]:
    """Yield what is secret of a header's value, in every form that may be repeated."""
    if name in ("cookie", "set-cookie", "set-cookie2"):
        for pair in value.split(";" if name == "cookie" else "\0"):
            cookie = pair.partition("=")[2].partition(";")[0].strip().strip('"')
            if not _WORD.fullmatch(cookie):
                yield cookie
        return
    value = value.strip()
    scheme = _SCHEME.match(value)
    secret = value[scheme.end() :].strip() if scheme else value
    yield secret
    if scheme and scheme.group().lower().startswith("basic"):
        try:
            login = base64.b64decode(secret, validate=True).decode()
        except ValueError:
            return
        yield login
        yield login.partition(":")[2]


def _unless_long(match: re.Match[bytes]) -> bytes:
    return match.group() if len(match.group()) > _LONGEST_SHOWN_PART else MASK.encode()
