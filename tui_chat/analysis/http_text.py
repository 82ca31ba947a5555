"""A request as HTTP text and as a curl command, without its key."""

from __future__ import annotations

import shlex

from tui_chat.compose import Composed

MASK = "••••••••"
"""Stands for a key."""


def as_http(composed: Composed) -> str:
    """Return method, URL, headers (the key masked) and the exact body, one above the other."""
    headers = list(composed.headers)
    if composed.key_header is not None:
        name, prefix = composed.key_header
        headers.append((name, f"{prefix}{MASK}"))
    lines = [f"{composed.method} {composed.url}", *(f"{name}: {value}" for name, value in headers)]
    return "\n".join(lines) + "\n\n" + composed.payload.body.decode()


def as_curl(composed: Composed) -> str:
    """Return a command for a POSIX shell that sends the same bytes; the key is a variable."""
    parts = [f"curl --request {composed.method} {shlex.quote(composed.url)}"]
    if composed.streams:
        parts.append("--no-buffer")
    parts += [f"--header {shlex.quote(f'{name}: {value}')}" for name, value in composed.headers]
    if composed.key_header is not None:
        name, prefix = composed.key_header
        parts.append(f'--header "{name}: {prefix}${{{key_variable(composed.endpoint.key)}}}"')
    parts.append(f"--data-raw {shlex.quote(composed.payload.body.decode())}")
    return " \\\n  ".join(parts)


def key_variable(reference: str) -> str:
    """Return the shell variable that stands for a key: the one an `env:` reference names."""
    kind, _, name = reference.partition(":")
    return name if kind == "env" and name.isidentifier() else "API_KEY"
