"""A key that a pane's own row of keys names, and not the bar at the foot of the screen."""

from __future__ import annotations

from textual.binding import Binding


def pane_key(keys: str, action: str, word: str, title: str) -> Binding:
    """Return the binding: its word in the row of keys, its title in help and palette."""
    return Binding(keys, action, word, show=False, tooltip=title)
