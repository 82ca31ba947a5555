"""The legend: the kinds of origin in the body, each in its colour, or by letter without colours."""

from __future__ import annotations

from typing import cast

from textual import events
from textual.app import App
from textual.color import Color
from textual.content import Content
from textual.message import Message
from textual.reactive import reactive
from textual.widget import Widget

from tui_chat.models.text import OriginKind
from tui_chat.ui.widgets.one_pass import OnePassWidget

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
"""Lower case; a highlighted row has the capital."""


def is_colourless(widget: Widget) -> bool:
    """Return True if `NO_COLOR` is set, or all origins are grey in the theme."""
    app = cast("App[object]", widget.app)  # pyright: ignore[reportUnknownMemberType] Textual types it App[Unknown]
    if app.no_color:
        return True
    given = [app.current_theme.variables.get(f"origin-{kind}") for kind in OriginKind]
    colours = [Color.parse(colour) for colour in given if colour]
    return bool(colours) and all(len(set(colour.rgb)) == 1 for colour in colours)


_NAMES: dict[OriginKind, tuple[str, str, str]] = {
    OriginKind.SYSTEM: ("system prompt", "system", "sys"),
    OriginKind.PRESET: ("preset", "preset", "pre"),
    OriginKind.PROFILE: ("profile", "profile", "prof"),
    OriginKind.LORE: ("lore", "lore", "lore"),
    OriginKind.HISTORY: ("history", "history", "hist"),
    OriginKind.DRAFT: ("draft", "draft", "draft"),
    OriginKind.MACRO: ("macro", "macro", "mac"),
    OriginKind.SETTING: ("setting", "setting", "set"),
    OriginKind.GLUE: ("protocol", "protocol", "prot"),
}

_FORMS = ((0, " "), (1, " "), (2, " "), (2, ""))
"""Index of the name, and the gap after its square, the widest form first."""


class Legend(OnePassWidget):
    """One line; a click on a kind goes to its next place in the payload."""

    ALLOW_SELECT = False
    DEFAULT_CSS = """
    Legend {
        height: 1;
        padding: 0 1;
        background: $surface;
        color: $foreground;
    }
    """

    kinds: reactive[frozenset[OriginKind]] = reactive(frozenset[OriginKind]())
    """The kinds that occur."""
    current: reactive[OriginKind | None] = reactive[OriginKind | None](None)
    """The kind under the cursor."""

    class Picked(Message):
        """The user wants the next place of a kind."""

        def __init__(self, kind: OriginKind) -> None:
            super().__init__()
            self.kind = kind

    def render(self) -> Content:
        """Draw the kinds in the order of `OriginKind`, as long as they fit."""
        parts: list[tuple[str, str]] = []
        for kind, mark, name in self._labels():
            weight = "bold underline " if kind is self.current else ""
            parts += [(mark, f"$origin-{kind}"), (name, f"{weight}$origin-{kind}"), (" ", "")]
        return Content.assemble(*parts)

    def _labels(self) -> list[tuple[OriginKind, str, str]]:
        """Return each kind with its square or letter and its name, in the longest form to fit."""
        kinds = [kind for kind in OriginKind if kind in self.kinds]
        marks = LETTERS if is_colourless(self) else dict.fromkeys(OriginKind, "■")
        for form, gap in _FORMS if marks is not LETTERS else _FORMS[:-1]:
            labels = [(kind, marks[kind] + gap, _NAMES[kind][form]) for kind in kinds]
            if sum(len(mark + name) + 1 for _, mark, name in labels) - 1 <= self.size.width:
                return labels
        return [
            (kind, marks[kind], " " + _NAMES[kind][2] if kind is self.current else "")
            for kind in kinds
        ]

    def on_click(self, event: events.Click) -> None:
        """Request the kind under the mouse."""
        offset = event.get_content_offset(self)
        if offset is None:
            return
        x = offset.x
        for kind, mark, name in self._labels():
            width = len(mark + name) + 1
            if 0 <= x < width:
                self.post_message(self.Picked(kind))
            x -= width
