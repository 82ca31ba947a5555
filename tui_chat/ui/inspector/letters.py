"""What tells the kinds of origin apart where there is no colour: a letter for each."""

from __future__ import annotations

from typing import cast

from textual.app import App
from textual.color import Color
from textual.widget import Widget

from tui_chat.models.text import OriginKind

LETTERS: dict[OriginKind, str] = {
    OriginKind.SYSTEM: "s",
    OriginKind.PRESET: "p",
    OriginKind.PROFILE: "f",
    OriginKind.LORE: "l",
    OriginKind.HISTORY: "h",
    OriginKind.DRAFT: "d",
    OriginKind.MACRO: "m",
    OriginKind.SETTING: "t",
    OriginKind.GLUE: "·",
}
"""Small ones; what is lit has the capital."""


def without_colour(widget: Widget) -> bool:
    """Whether `NO_COLOR` is set, or the theme gives all origins a grey."""
    app = cast("App[object]", widget.app)  # pyright: ignore[reportUnknownMemberType] Textual types it App[Unknown]
    if app.no_color:
        return True
    given = [app.current_theme.variables.get(f"origin-{kind}") for kind in OriginKind]
    colours = [Color.parse(colour) for colour in given if colour]
    return bool(colours) and all(len(set(colour.rgb)) == 1 for colour in colours)
