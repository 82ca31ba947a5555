"""Calls after a refresh that come in any case."""

from __future__ import annotations

from collections.abc import Callable

from textual.app import App
from textual.widget import Widget

LATEST = 0.5
"""Seconds after which it is called without a refresh."""


def call_after_refresh(node: App[None] | Widget, callback: Callable[[], object]) -> None:
    """Call back once, after the next refresh or soon.

    Textual hands such a callback to the screen on top. A dialog that is closed before it refreshes
    takes it along.
    """
    is_called = False

    def call() -> None:
        nonlocal is_called
        if not is_called:
            is_called = True
            callback()

    node.call_after_refresh(call)
    node.set_timer(LATEST, call)
