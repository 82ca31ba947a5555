"""The line at the bottom: the keys that matter here, as many as fit whole."""

from __future__ import annotations

from typing import cast

from rich.cells import cell_len
from textual import events
from textual.app import App
from textual.binding import Binding
from textual.content import Content
from textual.signal import Signal

from tui_chat.ui.key_names import key_name
from tui_chat.ui.notifications import NotificationLine
from tui_chat.ui.pane_keys import is_letter

FIRST = ("help", "palette")
"""Ids of actions that are never left out: with them one finds the others."""


class KeyBar(NotificationLine):
    """Shows the keys that are bound where the focus is; a click does what the key does. While there
    is a notification it stands in front, and the keys that fit behind it.
    """

    def on_mount(self) -> None:
        signal = cast("Signal[object]", self.screen.bindings_updated_signal)  # pyright: ignore[reportUnknownMemberType] Textual types it Screen[Unknown]
        signal.subscribe(self, self._follow)

    def _follow(self, _: object) -> None:
        self.refresh()

    def _items(self) -> list[tuple[str, str, Binding]]:
        """Return key, word and binding of what fits, from left to right."""
        shown: dict[str, Binding] = {}
        for key, active in self.screen.active_bindings.items():
            if active.binding.show and not is_letter(key):  # letters are in `PaneKeys`
                # An area's action and the one of its pane with the same name are one.
                shown.setdefault(active.binding.action.rpartition(".")[2], active.binding)
        room = self.size.width - self._indent
        fitting: list[tuple[str, str, Binding]] = []
        for binding in sorted(shown.values(), key=lambda binding: binding.id not in FIRST):
            key = key_name(binding.key)
            width = cell_len(key) + cell_len(binding.description) + 4
            if width <= room:
                room -= width
                fitting.append((key, binding.description, binding))
        return fitting

    @property
    def _app(self) -> App[object]:
        return cast("App[object]", super().app)  # pyright: ignore[reportUnknownMemberType] Textual types it App[Unknown]

    @property
    def _indent(self) -> int:
        notice = self._notice_content(self.size.width)
        return notice.cell_length + 3 if self.notice is not None else 0

    def render(self) -> Content:
        pieces: list[Content | tuple[str, str] | str] = []
        if self.notice is not None:
            pieces += [self._notice_content(self.size.width), "   "]
            if self._indent > self.size.width:
                return Content.assemble(*pieces[:1])
        for key, word, _ in self._items():
            pieces += [(f" {key} ", "bold $text-accent"), (f"{word}  ", "$foreground 80%")]
        return Content.assemble(*pieces)

    def on_click(self, event: events.Click) -> None:
        column = self._indent
        if event.x < column:
            super().on_click(event)
            return
        for key, word, binding in self._items():
            column += cell_len(key) + cell_len(word) + 4
            if event.x < column:
                self._app.simulate_key(binding.key)
                break
