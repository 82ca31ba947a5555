"""The wired HTTP client: the network, and the offline provider at its own address."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tui_chat.offline import LoopbackTransport
    from tui_chat.providers import HttpClient


def open_http_client() -> HttpClient:
    """Return the HTTP client; nothing is loaded or connected before the first request."""
    from tui_chat.providers import HttpClient

    return HttpClient({"loopback.invalid": _loopback}, os.environ)


def _loopback() -> LoopbackTransport:
    from tui_chat.offline import LoopbackTransport

    return LoopbackTransport()
