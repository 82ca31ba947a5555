"""Checks of the texts of an endpoint. Each function returns the text, or raises ValueError with
what is wrong; no error repeats a value, since it may be a key.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable
from urllib.parse import SplitResult, parse_qsl, urlsplit

Pairs = tuple[tuple[str, str], ...]

_SECRET_NAMES = frozenset(
    (
        *("authorization", "proxy-authorization", "cookie", "token", "access_token"),
        *("key", "api-key", "api_key", "apikey", "x-api-key", "x-goog-api-key"),
    )
)
"""Headers and query parameters that contain keys, which would be visible there."""

_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_HOST = re.compile(r"[a-z0-9-]+(?:\.[a-z0-9-]+)*\.[a-z]{2,24}(?=[:/?]|$)")


def with_scheme(url: str) -> str:
    """Return a host's URL with its missing scheme, `http` if it is local; other texts unchanged."""
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


def base_url(url: str) -> str:
    """Return a base URL with its scheme. Its parts are read when the protocol is known."""
    url = with_scheme(url.strip())
    parts = _url(url, ("http", "https"))
    if parts.fragment:
        raise ValueError("must have no fragment")
    for name, _ in parse_qsl(parts.query, keep_blank_values=True):
        if name.lower() in _SECRET_NAMES:
            raise ValueError(f"has a key in its query ({name}); set a reference as `key` instead")
    return url


def proxy(text: str) -> str:
    """Return a proxy's URL, its reference, or `none`."""
    if text not in ("", "none") and not re.fullmatch(r"env:[^\s=]+", text):
        _url(text, ("http", "https", "socks5", "socks5h"))
    return text


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


def _matching(pattern: str, sentence: str) -> Callable[[str], str]:
    """Return the check of a text by a pattern."""

    def check(text: str) -> str:
        if not re.fullmatch(pattern, text, re.DOTALL):
            raise ValueError(sentence)
        return text

    return check


key_reference = _matching(
    r"|env:[^\s=]+|keyring:[^/]+/.+|(?:command|file):.*\S.*",
    "must be a reference: “env:NAME”, “keyring:SERVICE/NAME”, “file:PATH” or "
    "“command:PROGRAM ARGUMENTS”, never the key itself",
)
"""Checks a reference to a key."""
auth = _matching(
    rf"|bearer|x-api-key|x-goog-api-key|none|header:{_NAME.pattern}",
    "must be “bearer”, “x-api-key”, “x-goog-api-key”, “header:NAME” or “none”",
)
"""Checks how a key is sent."""
api_version = _matching("[A-Za-z0-9._-]{0,40}", "must be at most 40 letters, digits and “._-”")
"""Checks a version of an API."""


def without_secrets(pairs: Pairs) -> Pairs:
    """Return headers or query parameters of which none has a key in it."""
    for name, _ in pairs:
        if name.lower() in _SECRET_NAMES:
            raise ValueError(f"{name} contains a key; set a reference as `key`, and `auth`")
    return pairs


def sendable(headers: Pairs) -> Pairs:
    """Return headers that can be sent."""
    for name, value in headers:
        if not _NAME.fullmatch(name):
            raise ValueError("a header name has invalid characters")
        if not (value.isascii() and value.isprintable()):
            raise ValueError(f"{name} must be plain ASCII in one line")
        if value.startswith(("env:", "keyring:", "file:", "command:")):
            raise ValueError(
                f"{name} has a reference, which would be sent as it is; set it as `key`, and "
                f"`auth` to “header:{name}”"
            )
    return headers


def model_name(name: str) -> str:
    """Return the name of a model."""
    if not name.strip() or not name.isprintable():
        raise ValueError("a model's name must be text in one line")
    return name


def model_pattern(pattern: str) -> str:
    """Return the name of a model, or how names begin."""
    if "*" in model_name(pattern)[:-1]:
        raise ValueError("a model's name may have a “*” only at its end")
    return pattern
