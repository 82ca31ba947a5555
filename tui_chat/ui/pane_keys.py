"""The letters that act in the pane with the focus, in rows above the footer.

They take the width of the screen, so that one row is enough for most panes, narrow or not. The rows
are there whatever has the focus, so that nothing moves with it, on a low screen by a row at most;
for the composer, they show what its draft may begin with, and the way to the conversation.

A letter that does something stands here, unless the pane marks it where it acts; any other is text,
and goes to the composer. The rows are made of the bindings that are active, so that none can be
missing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import cast

from textual.content import Content
from textual.geometry import Size
from textual.screen import Screen
from textual.signal import Signal

from tui_chat.ui.areas.area import Area
from tui_chat.ui.areas.chat.composer import Composer
from tui_chat.ui.areas.chat.tool_question import ToolQuestion
from tui_chat.ui.key_names import key_name
from tui_chat.ui.widgets.one_pass import OnePassWidget

_GAP = 2
"""Cells between two entries."""
_HELP = "keys"
"""The word of the key that lists all; it is left out where that saves a row."""
_LINES_PER_ROW = 6
"""Lines of the screen for each row of keys."""
_ENOUGH_FOR_ONE = 150
"""Columns in which the letters of every pane have room in one row."""
_ENOUGH_FOR_TWO = 30
"""Lines of a screen that has a second row to spare for those panes whose letters need it."""
_LOW = 20
"""Lines of a screen that has no row to spare while letters are text."""
_COMPOSER_KEYS = (
    *(("Ctrl+J", "new line"), ("/", "commands"), ("@", "file"), ("↑", "earlier message")),
    ("Shift+Tab", "conversation"),
)
"""What the footer does not say of the composer; none of these can be bound to something else."""


class PaneKeys(OnePassWidget):
    """Shows the letters that act, each with a word or in it."""

    ALLOW_SELECT = False
    DEFAULT_CSS = """
    PaneKeys {
        height: auto;
        max-height: 50%;
        padding: 0 1;
        background: $background;
        color: $foreground 75%;
    }
    """

    def __init__(self, areas: Collection[Area], is_clicking: Callable[[], bool]) -> None:
        """`areas` are the parts of the screen whose keys are shown. While `is_clicking`, nothing
        changes: the rows would move what is below the mouse.
        """
        super().__init__()
        self._areas = areas
        self._is_clicking = is_clicking
        self.entries: tuple[tuple[str, str], ...] = ()
        """The keys, separated by spaces, and the word of each action."""

    def on_mount(self) -> None:
        signal = cast("Signal[object]", self.screen.bindings_updated_signal)  # pyright: ignore[reportUnknownMemberType]  Textual types it Screen[Unknown]
        signal.subscribe(self, self._follow)
        self._follow(None)

    def _follow(self, _: object) -> None:
        if self._is_clicking():
            return
        area = next((area for area in self._areas if area.has_focus_within), None)
        entries = () if area is None else tuple(letter_entries(self.screen, area.letters_in_sight))
        if isinstance(self.screen.focused, Composer) and self.screen.size.height >= _LOW:
            entries = _COMPOSER_KEYS
        if entries != self.entries:
            self.entries = entries
            self.refresh(layout=self._height(self.content_size.width) != self.size.height)

    def on_resize(self) -> None:
        self._follow(None)  # what the pane marks depends on its width

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return self._height(width)

    def _height(self, width: int) -> int:
        columns, lines = self.screen.size
        reserved = 2 if columns < _ENOUGH_FOR_ONE and lines >= _ENOUGH_FOR_TWO else 1
        return max(len(self._rows(width)), reserved * (lines >= _LOW))

    def _rows(self, width: int) -> list[list[Content]]:
        """Return the entries of each row; on a low screen the first ones and the last, help."""
        entries = [entry_content(keys, word) for keys, word in self.entries]
        if self.entries and self.entries[-1][1] == _HELP:
            bare = [*entries[:-1], entry_content(self.entries[-1][0], "")]
            if len(_packed(bare, width)) < len(_packed(entries, width)):
                entries = bare
        most = max(self.screen.size.height // _LINES_PER_ROW, 1)
        while len(rows := _packed(entries, width)) > most and len(entries) > 1:
            del entries[-2]
        lengths = [entry.cell_length + _GAP for entry in entries]
        even = sum(lengths) // max(len(rows), 1) + max(lengths, default=0)
        return min(_packed(entries, min(even, width)), rows, key=len)

    def render(self) -> Content:
        """Return the rows, above them what is empty."""
        gap = Content(" " * _GAP)
        rows = [gap.join(row) for row in self._rows(self.content_size.width)]
        return Content("\n").join([Content()] * (self.size.height - len(rows)) + rows)


def _packed(entries: Iterable[Content], width: int) -> list[list[Content]]:
    """Return the entries of each row: an entry is in the first row that has room for it."""
    rows: list[list[Content]] = []
    rooms: list[int] = []
    for entry in entries:
        used = entry.cell_length
        row = next((row for row, room in enumerate(rooms) if used <= room), len(rows))
        if row == len(rows):
            rows.append([])
            rooms.append(width)
        rows[row].append(entry)
        rooms[row] -= used + _GAP
    return rows


def entry_content(keys: str, word: str) -> Content:
    """Return an entry: keys in front of their word, or the word with its letter underlined, which
    is a capital if the key is.
    """
    if len(keys) == 1 and word.startswith(keys.lower()):
        word = keys + word[1:]
    before, letter, after = word.partition(keys)
    if len(keys) == 1 and letter:
        return Content.assemble(before, (letter, "bold underline $text-accent"), after)
    return Content.assemble((keys, "bold $text-accent"), f" {word}" if word else "")


def letter_entries(
    screen: Screen[object], in_sight: Collection[str] = ()
) -> Iterator[tuple[str, str]]:
    """Yield the letters that act where the focus is, with a word for each action, except those
    `in_sight`; none if the focus is in a field, which takes letters as text, or in a question,
    which shows its own.
    """
    focused = screen.focused
    if focused is None or focused.check_consume_key("a", "a") or isinstance(focused, ToolQuestion):
        return
    keys: dict[str, list[str]] = {}
    for key, active in screen.active_bindings.items():
        if active.enabled and is_letter(key) and key not in in_sight:
            binding = active.binding
            word = binding.description or binding.tooltip
            keys.setdefault(word[:1].lower() + word[1:], []).append(key_name(key))
    help_keys = keys.pop("help", [])
    for word, labels in keys.items():
        yield _joined(labels), word
    if help_keys:
        yield _joined(help_keys), _HELP


def is_letter(key: str) -> bool:
    """Return True for a key that types a character when a field has the focus."""
    label = key_name(key)
    return key == "space" or (len(label) == 1 and label.isascii())


def _joined(labels: list[str]) -> str:
    """Join the labels of keys; digits in a row are a range."""
    digits = [label for label in labels if label.isdigit()]
    if len(digits) > 2:
        labels = [f"{min(digits)}-{max(digits)}", *(each for each in labels if each not in digits)]
    return " ".join(labels)
