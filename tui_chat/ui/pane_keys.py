"""The row above the footer: at most six keys of the pane with the focus, and the one that lists all
of its keys. It is always one line, whatever has the focus, so that nothing moves with it.

It is made of the bindings that are active, so that a key that is shown works.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, cast

from textual import events
from textual.content import Content
from textual.geometry import Size
from textual.screen import Screen
from textual.signal import Signal
from textual.widget import Widget

from tui_chat.ui.chat.composer import Composer
from tui_chat.ui.key_names import key_name
from tui_chat.ui.widgets.typed_app import app_of

MOST = 6
"""Entries of a pane; with more, none is seen."""
_GAP = 2
"""Cells between two entries."""
_LOW = 10
"""Lines of a screen that has no row to spare."""


class RowEntry(NamedTuple):
    """Keys, and what they do."""

    keys: str
    """As they must be pressed, separated by spaces."""
    word: str
    key: str = ""
    """The one that a click presses, in Textual's notation; empty for none."""
    is_possible: bool = True
    """False if nothing can be done with them now."""

    @property
    def content(self) -> Content:
        """The entry as it is drawn."""
        key, word = ("bold $text-accent", "") if self.is_possible else ("$foreground 50%",) * 2
        return Content.assemble((self.keys, key), (f" {self.word}", word))


_TYPED = (
    RowEntry("/", "commands"),
    RowEntry("@", "file"),
    RowEntry("↑", "earlier message", "up"),
    RowEntry("Shift+Tab", "conversation", "shift+tab"),
)
"""What a draft may begin with, and ways to leave it; none can be bound to something else."""


class PaneKeys(Widget):
    """Shows the keys of the pane with the focus; a click does what the key does."""

    ALLOW_SELECT = False
    DEFAULT_CSS = """
    PaneKeys {
        height: auto;
        padding: 0 1;
        background: $background;
        color: $foreground 75%;
    }
    """

    def on_mount(self) -> None:
        signal = cast("Signal[object]", self.screen.bindings_updated_signal)  # pyright: ignore[reportUnknownMemberType]  Textual types it Screen[Unknown]
        signal.subscribe(self, lambda _: self.refresh())

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return int(self.screen.size.height >= _LOW)

    @property
    def entries(self) -> list[RowEntry]:
        """What fits, from left to right; the last one, which lists all keys, always does."""
        entries = list(row_entries(self.screen))
        has_all = bool(entries) and entries[-1].word == ALL
        while len(entries) > has_all and _width(entries) > self.content_size.width:
            del entries[-1 - has_all]
        return entries

    def render(self) -> Content:
        return Content(" " * _GAP).join(entry.content for entry in self.entries)

    def on_click(self, event: events.Click) -> None:
        column = self.gutter.left
        for entry in self.entries:
            column += entry.content.cell_length + _GAP
            if event.x < column:
                if entry.key:
                    app_of(self).simulate_key(entry.key)
                break


ALL = "all keys"
"""The word of the key that lists all."""


def row_entries(screen: Screen[object]) -> Iterator[RowEntry]:
    """Yield at most `MOST` entries of the pane with the focus, and the key that lists all, unless a
    field has the focus, which takes letters as text.
    """
    focused = screen.focused
    if focused is None:
        return
    is_field = focused.check_consume_key("a", "a")
    by_action: dict[str, None] = {}
    keys: dict[str, list[str]] = {}
    possible: set[str] = set()
    help_key = ""
    for key, (node, binding, is_enabled, _) in screen.active_bindings.items():
        if is_field and is_letter(key):
            continue
        if binding.id == "help":
            help_key = key if is_letter(key) or not help_key else help_key
        elif binding.show and node is not app_of(focused) and binding.action not in by_action:
            by_action[binding.action] = None
            word = binding.description[:1].lower() + binding.description[1:]
            keys.setdefault(word, []).append(key)
            possible |= {word} if is_enabled else set[str]()
    shown = [
        RowEntry(_joined([key_name(key) for key in bound]), word, bound[0], word in possible)
        for word, bound in keys.items()
    ]
    is_draft = isinstance(focused, Composer) and not focused.suggestions.is_open
    yield from (*shown, *(_TYPED if is_draft else ()))[:MOST]
    if help_key and not is_field:
        yield RowEntry(key_name(help_key), ALL, help_key)


def is_letter(key: str) -> bool:
    """Return True for a key that types a character when a field has the focus."""
    label = key_name(key)
    return key == "space" or (len(label) == 1 and label.isascii())


def _joined(labels: list[str]) -> str:
    """Join the labels of keys; digits in a row are a range."""
    digits = [label for label in labels if label.isdigit()]
    if len(digits) > 2:
        labels = [f"{digits[0]}-{digits[-1]}", *(each for each in labels if each not in digits)]
    return " ".join(labels)


def _width(entries: list[RowEntry]) -> int:
    return sum(entry.content.cell_length + _GAP for entry in entries) - _GAP
