"""A key of a pane: in the list of its keys, and if it is one of the most used in its row."""

from __future__ import annotations

from textual.binding import Binding

MOVES = "↑↓"
"""The word of keys that only move."""


def pane_key(keys: str, action: str, word: str, title: str, *, shown: bool = False) -> Binding:
    """Return the binding: its word in the row of keys, if it is `shown` there, as at most six words
    of a pane are; its title in help and palette.
    """
    return Binding(keys, action, word, show=shown, tooltip=title)
