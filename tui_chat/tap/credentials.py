"""Credentials of a request: recognised, and masked in everything that is kept of the exchange.

The bytes that pass are not touched. Of a credential the name stays, and the whole value is
replaced, also where a body or an error repeats it, whole or in part.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import unquote_plus

from tui_chat.models.stream_events import StreamEvent
from tui_chat.providers.key_mask import MASK, KeyMask
from tui_chat.tap.http_messages import Headers

_NAMES = frozenset(
    (
        *("authorization", "proxy-authorization", "cookie", "set-cookie", "set-cookie2"),
        *("api-key", "apikey", "x-api-key", "x-goog-api-key", "chatgpt-account-id"),
        *("x-amz-security-token", "x-auth", "www-authenticate", "authentication-info"),
    )
)
"""Headers whose values are credentials, or belong to them."""
_ENDS = ("-key", "_key", "apikey", "-token", "_token", "-secret", "_secret", "password")
"""Ends of the names of other headers, parameters and body keys that hold credentials."""
_PARAMETERS = frozenset(("key", "auth", "token", "sig", "signature", "code"))
"""Parameters of a query that are credentials, beside those with one of `_ENDS`."""
_QUERY = re.compile(r"([?&])([^=&#]*)=([^&#]*)")
_SHORTEST = 6
"""Characters of the shortest credential that is looked for in bodies."""
_SCHEME = re.compile(r"(?:bearer|basic|token|key|apikey|negotiate)\s+", re.IGNORECASE)
_SHOWN_PART = r"[\w.+/=-]{0,40}(?:\*{2,}|\.{3}|…|•{2,})[\w.+/=-]{0,12}"
"""The rest of a key of which an error shows only the ends: `sk-ab***yz`."""
_LONGEST_SHOWN_PART = 600


def _is_secret(name: str) -> bool:
    name = name.strip().lower()
    return name in _NAMES or name.endswith(_ENDS)


class Credentials:
    """The credentials of one exchange. They are never part of a repr."""

    def __init__(self, headers: Headers = (), target: str = "") -> None:
        self._masks: dict[str, KeyMask] = {}
        self._shown_parts: re.Pattern[bytes] | None = None
        self.add_headers(headers)
        for _, name, value in _QUERY.findall(target):
            if _is_secret_parameter(name):
                self._add(value)
                self._add(unquote_plus(value))

    def add_headers(self, headers: Headers) -> None:
        """Add what the headers of the request, or of the response, hold."""
        for name, value in headers:
            if _is_secret(name):
                for secret in _secrets(name.strip().lower(), value):
                    self._add(secret)

    def add_body(self, body: Any) -> None:
        """Add what a JSON body holds at its top, as some gateways have it: `api_key`."""
        if isinstance(body, dict):
            for name, value in body.items():  # pyright: ignore[reportUnknownVariableType]
                if isinstance(name, str) and isinstance(value, str) and _is_secret(name):
                    self._add(value)

    def _add(self, secret: str) -> None:
        if len(secret) < _SHORTEST or secret in self._masks:
            return
        self._masks[secret] = KeyMask(secret)
        starts = "|".join(re.escape(each[:4]) for each in self._masks)
        self._shown_parts = re.compile(f"(?:{starts}){_SHOWN_PART}".encode())

    # --- what is kept -----------------------------------------------------------------------

    def mask_headers(self, headers: Headers) -> Headers:
        """Return the headers with whole values masked."""
        return tuple(
            (name, MASK if _is_secret(name) else self.mask_text(value)) for name, value in headers
        )

    def mask_target(self, target: str) -> str:
        """Return a path and query with the values of key parameters masked."""

        def masked(found: re.Match[str]) -> str:
            start, name, value = found.groups()
            return f"{start}{name}={MASK if _is_secret_parameter(name) else value}"

        return self.mask_text(_QUERY.sub(masked, target))

    def mask_text(self, text: str) -> str:
        """Return a text without the credentials."""
        for mask in self._masks.values():
            text = mask.mask_text(text)
        return text

    def mask_bytes(self, body: bytes) -> bytes:
        """Return a body without the credentials."""
        for mask in self._masks.values():
            body = mask.mask_bytes(body)
        if self._shown_parts is not None and len(body) <= 64 * 1024:
            body = self._shown_parts.sub(_unless_long, body)
        return body

    def mask_events(self, events: Iterable[StreamEvent]) -> Iterator[StreamEvent]:
        """Yield the events of a reply without the credentials; see `KeyMask.mask_events`."""
        for mask in self._masks.values():
            events = mask.mask_events(events)
        yield from events

    def close_events(self) -> Iterator[StreamEvent]:
        """Yield what was held back, at the end of a reply."""
        held: list[StreamEvent] = []
        for mask in self._masks.values():
            held = [*mask.mask_events(held), *mask.close()]
        yield from held

    @property
    def came_in_pieces(self) -> bool:
        """True if a reply repeated a credential in pieces, which are still in its raw body."""
        return any(mask.was_split for mask in self._masks.values())


def _is_secret_parameter(name: str) -> bool:
    name = unquote_plus(name).lower()
    return name in _PARAMETERS or _is_secret(name)


def _secrets(name: str, value: str) -> Iterator[str]:
    """Yield what is secret of a header's value, in every form that may be repeated."""
    if name in ("cookie", "set-cookie", "set-cookie2"):
        for pair in value.split(";" if name == "cookie" else "\0"):
            yield pair.partition("=")[2].partition(";")[0].strip().strip('"')
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


def _unless_long(found: re.Match[bytes]) -> bytes:
    return found.group() if len(found.group()) > _LONGEST_SHOWN_PART else MASK.encode()
