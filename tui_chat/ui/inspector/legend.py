"""Which colour means what: the kinds of origin that occur, in one line."""

from __future__ import annotations

from textual import events
from textual.content import Content
from textual.message import Message
from textual.reactive import reactive
from textual.widget import Widget

from tui_chat.model.text import OriginKind

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


class Legend(Widget):
    """One line. A click on a kind asks for the next place it has in the payload."""

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
        """The user wants to see where this kind is."""

        def __init__(self, kind: OriginKind) -> None:
            super().__init__()
            self.kind = kind

    def render(self) -> Content:
        """Draw the kinds in the order of `OriginKind`, as long as they fit."""
        parts: list[tuple[str, str]] = []
        for kind, text in self._labels():
            weight = "bold underline " if kind is self.current else ""
            mark, name = text[:-1].split(" ", 1) if " " in text[:-1] else (text[:1], text[1:-1])
            parts.append((f"{mark} " if " " in text[:-1] else mark, f"$origin-{kind}"))
            parts.append((name, f"{weight}$origin-{kind}"))
            parts.append((" ", ""))
        return Content.assemble(*parts)

    def _labels(self) -> list[tuple[OriginKind, str]]:
        shown = [kind for kind in OriginKind if kind in self.kinds]
        labels: list[tuple[OriginKind, str]] = []
        for form, mark in ((0, "■ "), (1, "■ "), (2, "■ "), (2, "■"), (2, "")):
            labels = [(kind, f"{mark}{_NAMES[kind][form]} ") for kind in shown]
            if sum(len(text) for _, text in labels) - 1 <= self.size.width:
                break
        return labels

    def on_click(self, event: events.Click) -> None:
        """Ask for the kind under the mouse."""
        offset = event.get_content_offset(self)
        if offset is None:
            return
        x = offset.x
        for kind, text in self._labels():
            if 0 <= x < len(text):
                self.post_message(self.Picked(kind))
            x -= len(text)
