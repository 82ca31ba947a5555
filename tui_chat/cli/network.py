"""The way out, wired: the network, and the offline provider where its address is asked for."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tui_chat.offline import LoopbackTransport
    from tui_chat.providers import Transport


def open_transport() -> Transport:
    """Return a transport; nothing is loaded or connected before the first request."""
    from tui_chat.providers import Transport

    return Transport({"loopback.invalid": _loopback}, os.environ)


def _loopback() -> LoopbackTransport:
    from tui_chat.offline import LoopbackTransport

    return LoopbackTransport()
