"""The line at the bottom: the keys that act everywhere, as many as fit whole."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, cast

from rich.cells import cell_len
from textual import events
from textual.app import App
from textual.binding import Binding
from textual.content import Content
from textual.geometry import Size
from textual.signal import Signal

from tui_chat.ui.actions import ACTIONS
from tui_chat.ui.key_names import key_name
from tui_chat.ui.notifications import MOST_LINES, NotificationLine

NARROW = 100
"""Below these columns the entries stand closer."""
MOST = 7
"""Entries at most: with more, none is seen."""
KEPT = ("help", "palette", "zoom")
"""Ids of actions that are never left out: with them one finds the others, or gets them back."""
PANES = ("sessions", "preset", "inspector")
"""Ids of actions that a notification leaves in its row, unless the terminal is narrow."""

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
    """Shows the keys that act everywhere; a click does what the key does. A short notification
    stands in front of them; one that leaves no room for the important ones has lines of its own.
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

    def _all_entries(self) -> list[KeyEntry]:
        """Return the keys that act now, from left to right."""
        shown: dict[str, KeyEntry] = {}
        for node, binding, is_enabled, _ in self.screen.active_bindings.values():
            restores = binding.id == "zoom" and self._is_zoomed()
            if (binding.show or restores) and node is self._app and is_enabled:
                word = "Unzoom" if restores else binding.description
                rank = _RANKS.get(binding.id or "", 0)
                entry = KeyEntry(key_name(binding.key), word, binding, rank)
                shown.setdefault(binding.action, entry)
        return sorted(shown.values(), key=lambda entry: entry.rank)

    def _entries(self, indent: int) -> list[KeyEntry]:
        """Return what fits behind `indent` cells, from left to right."""
        entries, width = self._all_entries(), self.size.width
        room = width - indent + self._gap(width) - 1  # a margin behind the last one
        fitting: set[str] = set()
        for entry in sorted(entries, key=lambda entry: entry.binding.id not in KEPT):
            if entry.width + self._gap(width) <= room and len(fitting) < MOST:
                room -= entry.width + self._gap(width)
                fitting.add(entry.binding.action)
        return [entry for entry in entries if entry.binding.action in fitting]

    @property
    def _app(self) -> App[object]:
        return cast("App[object]", super().app)  # pyright: ignore[reportUnknownMemberType] Textual types it App[Unknown]

    @staticmethod
    def _gap(width: int) -> int:
        return 2 if width >= NARROW else 1

    def _indent(self, width: int) -> int | None:
        """Return the cells of a notification in front of the keys; None if it is above them."""
        if self.notice is None:
            return 0
        indent = self._notice_content(width).cell_length + 3
        kept = KEPT if width < NARROW else (*KEPT, *PANES)
        entries = (entry for entry in self._all_entries() if entry.binding.id in kept)
        needed = sum(entry.width + self._gap(width) for entry in entries) - self._gap(width) + 1
        return indent if indent + needed <= width else None

    @property
    def _most_lines(self) -> int:
        return MOST_LINES - 1

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """Return the lines of the notification and of the keys."""
        if self._indent(width) is not None:
            return 1
        return super().get_content_height(container, viewport, width) + 1

    def render(self) -> Content:
        width = self.size.width
        indent = self._indent(width)
        pieces: list[Content | tuple[str, str] | str] = []
        if self.notice is not None:
            pieces += [self._notice_content(width), "   " if indent is not None else "\n"]
        gap = ""
        for entry in self._entries(indent or 0):
            pieces += [gap, (f" {entry.key} ", _KEY_STYLE), (entry.word, _WORD_STYLE)]
            gap = " " * self._gap(width)
        return Content.assemble(*pieces)

    def on_click(self, event: events.Click) -> None:
        width = self.size.width
        column = self._indent(width) or 0
        if event.x < column or event.y < self.size.height - 1:
            super().on_click(event)
            return
        for entry in self._entries(column):
            column += entry.width + self._gap(width)
            if event.x < column:
                self._app.simulate_key(entry.binding.key)
                break
