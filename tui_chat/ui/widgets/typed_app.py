"""The app of a widget with a type: Textual's own property is of `App[Unknown]`."""

from __future__ import annotations

from typing import cast

from textual.app import App
from textual.dom import DOMNode


def app_of(node: DOMNode) -> App[None]:
    """Return the app of a widget or screen."""
    return cast("App[None]", node.app)  # pyright: ignore[reportUnknownMemberType]
