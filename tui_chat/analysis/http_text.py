"""A request as HTTP text and as a curl command, without its key; and read from such a text."""

from __future__ import annotations

import re
import shlex

from tui_chat.compose import Composed
from tui_chat.models.endpoint import CREDENTIAL_MASK
from tui_chat.models.key_shapes import keys_in
from tui_chat.models.session import RecordedRequest

MASK = "••••••••"
"""Stands for a key."""
_MAX_ARGUMENT = 100_000
"""Bytes of a body from which it is piped into curl: Linux takes 128 KiB in one argument."""
_OF_THE_CONNECTION = frozenset(
    (
        *("host", "content-length", "transfer-encoding", "connection", "keep-alive", "expect"),
        *("content-encoding", "te", "trailer", "upgrade", "proxy-connection"),
    )
)
"""Recorded headers that curl writes itself, or that belong to the bytes as they passed."""
_CURLS_OWN = ("User-Agent", "Accept", "Content-Type")
"""Headers that curl adds unless it is told not to."""


def as_http(composed: Composed) -> str:
    """Return method, URL, headers (the key masked) and the exact body, one above the other."""
    headers = list(composed.shown_headers)
    if composed.key_header is not None:
        name, prefix = composed.key_header
        headers.append((name, f"{prefix}{MASK}"))
    lines = [
        f"{composed.method} {composed.shown_url}",
        *(f"{name}: {value}" for name, value in headers),
    ]
    return "\n".join(lines) + "\n\n" + _text(composed.body)


def as_curl(composed: Composed) -> str:
    """Return a command for a POSIX shell that sends the same bytes; the key is a variable, and so
    is every other value that is not shown.
    """
    variable = "" if not composed.has_recorded_headers else key_variable(composed.endpoint.key)
    url = _quoted(composed.shown_url, variable)
    parts = [f"curl --request {composed.method} {url}"]
    if "[" in composed.url or "{" in composed.url:
        parts.append("--globoff")
    if composed.streams:
        parts.append("--no-buffer")
    headers = composed.shown_headers
    if composed.has_recorded_headers:
        names = {name.lower() for name, _ in headers}
        if "accept-encoding" in names:
            parts.append("--compressed")
        headers = tuple(pair for pair in headers if pair[0].lower() not in _OF_THE_CONNECTION)
        parts += [f"--header '{name}:'" for name in _CURLS_OWN if name.lower() not in names]
    for name, value in headers:
        header = f"{name}: {value}" if value else f"{name};"
        parts.append(f"--header {_quoted(header, variable)}")
    if composed.key_header is not None:
        name, prefix = composed.key_header
        key = key_variable(composed.endpoint.key)
        parts.append(f'--header "{name}: {prefix}${{{key}}}"')
    body = shlex.quote(_text(composed.body))
    if len(composed.body) <= _MAX_ARGUMENT:
        return " \\\n  ".join((*parts, f"--data-raw {body}"))
    # `printf` is part of the shell, so that no limit of the system holds for its argument.
    return f"printf %s {body} | " + " \\\n  ".join((*parts, "--data-binary @-"))


def _text(body: bytes) -> str:
    return body.decode("utf-8", "surrogateescape")


def _quoted(text: str, variable: str) -> str:
    """Return a text for a shell, with a variable where a credential is masked: this one, or if it
    is empty one that is called like the header or parameter.
    """
    first, *rest = text.split(CREDENTIAL_MASK)
    words, before = shlex.quote(first) if first else "", first
    for piece in rest:
        name = variable or re.sub(r"\W", "_", re.split(r"[?&]", before)[-1].rstrip(": =")).upper()
        words += f'"${{{name}}}"' + (shlex.quote(piece) if piece else "")
        before = piece
    return words


def key_variable(reference: str) -> str:
    """Return the shell variable that stands for a key: the one an `env:` reference names."""
    kind, _, name = reference.partition(":")
    return name if kind == "env" and name.isidentifier() else "API_KEY"


_REQUEST_LINE = re.compile(r"(?P<method>[A-Z]+) (?P<url>https?://\S+)(?: HTTP/[\d.]+)?")
_PARAMETER = re.compile(r"[?&]([^=&#\s]*)=([^&#\s]*)")
_OF_KEYS = re.compile(
    r"(?:.*[-_])?(?:key|apikey|authorization|auth|token|secret|password|cookie|sig|signature)",
    re.IGNORECASE,
)
"""Names of headers and parameters that hold keys."""
_LONG = re.compile(r".{8,}")
_HEADER = re.compile(r"(?P<name>[!#-'*+.^-z|~\w-]+):[ \t]*(?P<value>.*)")


def read_http(text: str) -> RecordedRequest | None:
    """Return the request of a text as the inspector copies one: method and URL, headers and body.
    Keys are masked: what looks like one, and what a header or parameter with such a name holds.
    None for any other text.
    """
    from tui_chat.providers.key_mask import KeyMasks

    head, blank, body = text.lstrip().replace("\r\n", "\n").partition("\n\n")
    first, *lines = head.split("\n")
    request, fields = _REQUEST_LINE.fullmatch(first.strip()), list(map(_HEADER.fullmatch, lines))
    if request is None or not blank or not all(fields):
        return None
    headers = [(match["name"], match["value"].strip()) for match in fields if match is not None]
    named = (*headers, *_PARAMETER.findall(request["url"]))
    values = (value for name, value in named if _OF_KEYS.fullmatch(name))
    words = (word for value in values for word in re.split(r"[\s;]+|=(?!=*$)", value))
    # A short word may occur in any text.
    secrets = [*filter(_LONG.fullmatch, words), *(match[0] for match in keys_in(text))]
    masks = KeyMasks(sorted(secrets, key=len, reverse=True))
    kept = masks.mask_text(body.strip())
    return RecordedRequest(
        request["method"],
        masks.mask_text(request["url"]),
        tuple((name, masks.mask_text(value)) for name, value in headers),
        kept.encode("utf-8", "replace"),
        kept != body.strip(),
    )
