"""The row of keys at the bottom, and the panel of all keys above it.

Both are made of the bindings that are active, so that a key that is shown works. The row has at
most six keys of the pane with the focus, the one that lists all, and those of the app that fit.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple, cast

from rich.cells import cell_len
from textual.content import Content
from textual.screen import Screen
from textual.style import Style
from textual.widget import Widget
from textual.widgets import Static

from tui_chat.ui.chat.composer import Composer
from tui_chat.ui.keys import MAX_KEYS, key_name
from tui_chat.ui.panes import Panes
from tui_chat.ui.verbs import VERBS
from tui_chat.ui.widgets.pane_key import MOVES
from tui_chat.ui.widgets.plain_links import PlainLinks
from tui_chat.ui.widgets.typed_app import app_of

if TYPE_CHECKING:
    from textual.signal import Signal

MOST = 6
"""Entries of a pane; with more, none is seen."""
ALL = "all keys"
"""The word of the key that lists all."""
APP = ("help", "palette", "inspector", "sessions", "preset")
"""The verbs of the app in the row, those first that get room first."""
GAP = 2
"""Cells between two entries."""


class Entry(NamedTuple):
    """Keys, and what they do."""

    keys: list[str]
    """In Textual's notation."""
    word: str
    title: str = ""
    """What they do, in full."""
    is_possible: bool = True
    """False if nothing can be done with them now."""

    @property
    def content(self) -> Content:
        """The entry as the row has it; a click presses the first key."""
        key, word = ("bold $text-accent", "") if self.is_possible else ("$foreground 50%",) * 2
        content = Content.assemble((labels(self.keys), key), (f" {self.word}", word))
        press = f"app.simulate_key({self.keys[0]!r})" if self.keys else ""
        return content.stylize(Style.from_meta({"@click": press})) if press else content


def labels(keys: Sequence[str]) -> str:
    """Return the labels of keys, separated by blanks; digits in a row are a range."""
    names = [key_name(key) for key in keys]
    digits = [name for name in names if name.isdigit()]
    if len(digits) > 2:
        names = [f"{digits[0]}-{digits[-1]}", *(name for name in names if name not in digits)]
    return " ".join(names)


def is_letter(key: str) -> bool:
    """Return True for a key that types a character when a field has the focus."""
    label = key_name(key)
    return key == "space" or (len(label) == 1 and label.isascii())


def entries(screen: Screen[object], *, of_app: bool) -> dict[str, Entry]:
    """Return the entries of the app, or of the pane with the focus, by verb or title; the letters
    of a pane are text in a field.
    """
    focused, found = screen.focused, dict[str, Entry]()
    is_field = focused is not None and focused.check_consume_key("a", "a")
    for key, (node, binding, is_enabled, tip) in screen.active_bindings.items():
        if (node is app_of(screen)) is not of_app or not tip or (is_field and is_letter(key)):
            continue
        word = binding.description[:1].lower() + binding.description[1:]
        name = (binding.id or tip) if of_app else (tip if word != MOVES else MOVES)
        is_word_used = binding.show or word == MOVES
        known = found.get(name, Entry([], word if is_word_used else "", tip, False))
        found[name] = known._replace(
            keys=[*known.keys, key], is_possible=known.is_possible or is_enabled
        )
    return found


def pane_entries(screen: Screen[object]) -> Iterator[Entry]:
    """Yield at most `MOST` entries for the pane with the focus, those of one word together."""
    by_word: dict[str, Entry] = {}
    for entry in entries(screen, of_app=False).values():
        if entry.word not in ("", MOVES):
            first = by_word.get(entry.word, entry._replace(keys=[]))
            is_possible = first.is_possible or entry.is_possible
            by_word[entry.word] = first._replace(
                keys=[*first.keys, entry.keys[0]], is_possible=is_possible
            )
    focused = screen.focused
    if isinstance(focused, Composer) and not focused.suggestions.is_open:
        by_word["conversation"] = Entry(["shift+tab"], "conversation")
    yield from list(by_word.values())[:MOST]


def app_entries(screen: Screen[object]) -> Iterator[Entry]:
    """Yield the entries of the app, the one that lists all first."""
    shown, focused = entries(screen, of_app=True), screen.focused
    is_field = focused is not None and focused.check_consume_key("a", "a")
    zoomed = next((panes.zoomed for panes in screen.query(Panes)), None)
    if "zoom" in shown and zoomed is not None:
        yield shown["zoom"]._replace(word="unzoom")
    for id in APP:
        if (entry := shown.get(id)) is not None:
            keys = [key for key in entry.keys if id != "help" or is_letter(key) is not is_field]
            word = ALL if id == "help" else entry.word.capitalize()
            yield entry._replace(keys=(keys or entry.keys)[:1], word=word)


class KeyRow(PlainLinks):
    """Shows the keys of the pane with the focus, and those of the app; a click presses one."""

    ALLOW_SELECT = False
    DEFAULT_CSS = """
    KeyRow {
        dock: bottom;
        height: 1;
        padding: 0 1;
        background: $panel;
        color: $foreground 75%;
    }
    """

    def on_mount(self) -> None:
        signal = cast("Signal[object]", self.screen.bindings_updated_signal)  # pyright: ignore[reportUnknownMemberType]  Textual types it Screen[Unknown]
        signal.subscribe(self, lambda _: self.refresh())

    def render(self) -> Content:
        screen: Screen[object] = self.screen
        room = self.content_size.width
        app = [entry.content for entry in app_entries(screen)]
        pane = [entry.content for entry in pane_entries(screen)]
        first = app[:1]
        while pane and _width((*pane, *first)) > room:
            pane.pop()
        left = Content(" " * GAP).join((*pane, *first))
        right: list[Content] = []
        for entry in app[1:]:
            if left.cell_length + GAP + _width((*right, entry)) <= room:
                right.append(entry)
        right.sort(key=lambda entry: (not entry.plain.startswith("F"), entry.plain))
        shared = Content(" " * GAP).join(right)
        return Content.assemble(
            left, " " * max(room - left.cell_length - shared.cell_length, 0), shared
        )


def _width(contents: Sequence[Content]) -> int:
    return sum(content.cell_length + GAP for content in contents) - GAP


class KeyPanel(Static):
    """Lists all keys that work now, over the panes; it takes no focus."""

    DEFAULT_CSS = """
    KeyPanel {
        display: none;
        layer: above;
        dock: bottom;
        height: auto;
        max-height: 90%;
        margin-bottom: 1;
        padding: 1 2;
        background: $panel;
        border-top: solid $primary;
    }
    """

    _palette_key = ""
    """The label of the key that opens the palette, as it was shown last."""

    def on_resize(self) -> None:
        """Lay the keys out for the terminal's new width."""
        if self.display:
            self.show_keys(self._palette_key)

    def show_keys(self, palette_key: str) -> None:
        """Show the keys of the pane with the focus and of the app; `palette_key` finds the rest."""
        screen: Screen[object] = self.screen
        width, self._palette_key = app_of(self).size.width - 4, palette_key
        of_pane = entries(screen, of_app=False).values()
        own = [each for each in of_pane if each.is_possible and each.word != MOVES]
        own += [each for each in of_pane if each.is_possible and each.word == MOVES]
        of_app = entries(screen, of_app=True)
        app = [of_app[verb.id] for verb in VERBS if verb.id in of_app]
        half = (len(own) + 1) // 2
        if width >= 92:
            of_own = [own] if len(own) <= len(app) else [own[:half], own[half:]]
            rows = _in_columns([*of_own, app], width)
        else:
            rows = [*_in_columns([own[:half], own[half:]], width), Content("")]
            rows.append(Content("  ").join(entry.content for entry in app_entries(screen)))
        rows += [Content(""), Content.styled(f"{palette_key} finds everything else.", "dim")]
        inspector = next(iter(screen.query("Inspector")), None)
        if inspector is not None and inspector.has_focus_within:
            rows.append(_legend(inspector))
        self.update(Content("\n").join(rows))
        self.display = True


def _line(entry: Entry, room: int) -> Content:
    """Return the line of an entry. Its title is said shorter where it would be cut."""
    if entry.word == MOVES:
        keys = labels([key for key in entry.keys if "+" not in key])
        return Content.assemble((keys, "bold $text-accent"), "  Move")
    keys = f"{labels(entry.keys[:MAX_KEYS]):>9}  "
    forms = (entry.title, *_shorter(entry.title), entry.word.capitalize())
    fitting = (form for form in forms if form and cell_len(keys + form) <= room)
    return Content.assemble((keys, "bold $text-accent"), next(fitting, entry.title))


def _shorter(title: str) -> Iterator[str]:
    """Yield a title without what it says in parentheses, and without its last clauses."""
    title = re.sub(r" \([^)]*\)", "", title)
    yield title
    for mark in ("; ", ", "):
        title = title.partition(mark)[0]
        yield title


def _in_columns(columns: Sequence[Sequence[Entry]], width: int) -> list[Content]:
    """Return rows in which columns of entries stand beside each other. Where they do not fit, the
    widest ones say less.
    """
    rooms = [max((_line(entry, width).cell_length for entry in col), default=0) for col in columns]
    while sum(rooms) + 2 * (len(rooms) - 1) > width:
        rooms[rooms.index(max(rooms))] -= 1
    height = max(map(len, columns))
    cells = [
        [_line(entry, room).truncate(room, ellipsis=True, pad=True) for entry in column]
        + [Content(" " * room)] * (height - len(column))
        for column, room in zip(columns, rooms, strict=True)
    ]
    return [Content("  ").join(row) for row in zip(*cells, strict=True)]


def _legend(inspector: Widget) -> Content:
    """Return the kinds of origin, each in its color, or with its letter without colors."""
    from tui_chat.ui.inspector.origins import LETTERS, is_colorless

    has_letters = is_colorless(inspector)
    return Content("  ").join(
        Content.styled(f"{letter if has_letters else '▎'}{kind}", f"$origin-{kind}")
        for kind, letter in LETTERS.items()
    )
