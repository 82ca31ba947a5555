"""What widgets ask of their app and screen. Textual's own property `app` is of `App[Unknown]`."""

from __future__ import annotations

from typing import cast

from textual.app import App
from textual.dom import DOMNode
from textual.widget import Widget
from textual.widgets import TextArea


def app_of(node: DOMNode) -> App[None]:
    """Return the app of a widget or screen."""
    return cast("App[None]", node.app)  # pyright: ignore[reportUnknownMemberType]


def is_text_edited(widget: Widget) -> bool:
    """Return True if a text area has the focus. A click to read leaves it there, so that what is
    typed next is text and not the keys of another pane.
    """
    return isinstance(widget.screen.focused, TextArea)
