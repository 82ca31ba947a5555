"""The keys there are, read from where they are bound: for help, palette and key bar."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from string import punctuation

from textual.binding import Binding
from textual.keys import format_key
from textual.widget import Widget

_SPELLED = {
    "escape": "Esc",
    "up": "↑",
    "down": "↓",
    "left": "←",
    "right": "→",
    "pageup": "PgUp",
    "pagedown": "PgDn",
}
MOST_KEYS = 2
"""Keys of one action to tell at most."""


@dataclass(frozen=True, slots=True)
class PaneKey:
    """A key that works in a pane."""

    keys: str
    """As they are written on a keyboard."""
    words: str
    action: str
    node: Widget
    """Where the action is run."""


def key_name(key: str) -> str:
    """Return a key as it is written on a keyboard: `ctrl+n` is Ctrl+N, `escape` is Esc.

    A single letter stays as it is typed: `g` and `G` are two keys.
    """
    parts = key.split("+")
    if len(parts) == 1 and len(key) == 1:
        return key
    return "+".join(_SPELLED.get(part) or _character(part) or part.title() for part in parts)


def _character(part: str) -> str:
    """Return the character that a name such as `full_stop` stands for, if it is one."""
    character = format_key(part)
    return character if character in punctuation else ""


def key_names(keys: str) -> str:
    """Return several keys, parted by commas, as they are written: `Enter, Space`."""
    return ", ".join(key_name(key.strip()) for key in keys.split(",")[:MOST_KEYS] if key.strip())


def keys_of(pane: Widget) -> Iterator[PaneKey]:
    """Return the keys of a pane and what is in it, as their classes declare them.

    Where a class explains some of its keys (with a tooltip), the others go without saying.
    """
    told: set[str] = set()
    for node in (pane, *pane.walk_children(Widget)):
        for found in _told(type(node).__dict__.get("BINDINGS", ())):
            words = found.tooltip or found.description
            if words and words not in told and found.action != "":
                told.add(words)
                yield PaneKey(key_names(found.key), words, found.action, node)


def _told(declared: Iterable[object]) -> list[Binding]:
    bindings = [each for each in declared if isinstance(each, Binding)]
    explained = [each for each in bindings if each.tooltip]
    return explained or bindings
