"""The line at the bottom: the keys that act everywhere, as many as fit whole."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, cast

from rich.cells import cell_len
from textual import events
from textual.app import App
from textual.binding import Binding
from textual.content import Content
from textual.signal import Signal

from tui_chat.ui.actions import ACTIONS
from tui_chat.ui.key_names import key_name
from tui_chat.ui.notifications import NotificationLine

NARROW = 100
"""Below these columns the entries stand closer."""
MOST = 7
"""Entries at most: with more, none is seen."""
KEPT = ("help", "palette", "zoom")
"""Ids of actions that are never left out: with them one finds the others, or gets them back."""

_RANKS = {action.id: number for number, action in enumerate(ACTIONS, 1)}
_KEY_STYLE, _WORD_STYLE = "$text-accent 85%", "$foreground 67%"


class KeyEntry(NamedTuple):
    """A key of the footer, and what it does."""

    key: str
    word: str
    binding: Binding
    rank: int
    """Its place among them."""

    @property
    def width(self) -> int:
        """Its cells, with the one before it."""
        return cell_len(self.key) + cell_len(self.word) + 2


class KeyBar(NotificationLine):
    """Shows the keys that act everywhere; a click does what the key does. While there is a
    notification it stands in front, and the keys that fit behind it.
    """

    def __init__(self, is_zoomed: Callable[[], bool]) -> None:
        """While `is_zoomed`, the key that restores the panes is shown."""
        super().__init__()
        self._is_zoomed = is_zoomed

    def on_mount(self) -> None:
        signal = cast("Signal[object]", self.screen.bindings_updated_signal)  # pyright: ignore[reportUnknownMemberType] Textual types it Screen[Unknown]
        signal.subscribe(self, self._follow)

    def _follow(self, _: object) -> None:
        self.refresh()

    def _entries(self) -> list[KeyEntry]:
        """Return what fits, from left to right."""
        shown: dict[str, KeyEntry] = {}
        for node, binding, is_enabled, _ in self.screen.active_bindings.values():
            restores = binding.id == "zoom" and self._is_zoomed()
            if (binding.show or restores) and node is self._app and is_enabled:
                word = "Unzoom" if restores else binding.description
                rank = _RANKS.get(binding.id or "", 0)
                entry = KeyEntry(key_name(binding.key), word, binding, rank)
                shown.setdefault(binding.action, entry)
        entries = sorted(shown.values(), key=lambda entry: entry.rank)
        room = self.size.width - self._indent + self._gap - 1  # a margin behind the last one
        fitting: set[str] = set()
        for entry in sorted(entries, key=lambda entry: entry.binding.id not in KEPT):
            if entry.width + self._gap <= room and len(fitting) < MOST:
                room -= entry.width + self._gap
                fitting.add(entry.binding.action)
        return [entry for entry in entries if entry.binding.action in fitting]

    @property
    def _app(self) -> App[object]:
        return cast("App[object]", super().app)  # pyright: ignore[reportUnknownMemberType] Textual types it App[Unknown]

    @property
    def _gap(self) -> int:
        return 2 if self.size.width >= NARROW else 1

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
        gap = ""
        for entry in self._entries():
            pieces += [gap, (f" {entry.key} ", _KEY_STYLE), (entry.word, _WORD_STYLE)]
            gap = " " * self._gap
        return Content.assemble(*pieces)

    def on_click(self, event: events.Click) -> None:
        column = self._indent
        if event.x < column:
            super().on_click(event)
            return
        for entry in self._entries():
            column += entry.width + self._gap
            if event.x < column:
                self._app.simulate_key(entry.binding.key)
                break
