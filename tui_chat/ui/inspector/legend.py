"""Which colour means what: the kinds of origin that occur, in one line."""

from __future__ import annotations

from textual import events
from textual.content import Content
from textual.message import Message
from textual.reactive import reactive

from tui_chat.models.text import OriginKind
from tui_chat.ui.inspector.letters import LETTERS, without_colour
from tui_chat.ui.widgets.one_pass import OnePassWidget

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
"""Length of the name and what parts it from its square, the most generous first."""


class Legend(OnePassWidget):
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
        for kind, mark, name in self._labels():
            weight = "bold underline " if kind is self.current else ""
            parts += [(mark, f"$origin-{kind}"), (name, f"{weight}$origin-{kind}"), (" ", "")]
        return Content.assemble(*parts)

    def _labels(self) -> list[tuple[OriginKind, str, str]]:
        """Each kind with its square (or letter) and its name, in the longest form that fits."""
        kinds = [kind for kind in OriginKind if kind in self.kinds]
        marks = LETTERS if without_colour(self) else dict.fromkeys(OriginKind, "■")
        for form, gap in _FORMS if marks is not LETTERS else _FORMS[:-1]:
            labels = [(kind, marks[kind] + gap, _NAMES[kind][form]) for kind in kinds]
            if sum(len(mark + name) + 1 for _, mark, name in labels) - 1 <= self.size.width:
                return labels
        return [
            (kind, marks[kind], " " + _NAMES[kind][2] if kind is self.current else "")
            for kind in kinds
        ]

    def on_click(self, event: events.Click) -> None:
        """Ask for the kind under the mouse."""
        offset = event.get_content_offset(self)
        if offset is None:
            return
        x = offset.x
        for kind, mark, name in self._labels():
            width = len(mark + name) + 1
            if 0 <= x < width:
                self.post_message(self.Picked(kind))
            x -= width
