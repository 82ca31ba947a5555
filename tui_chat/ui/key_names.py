"""Keys: how users write them, what they are called on the screen, and which ones a pane has.

1. A key is read as the help shows it, and as Textual calls it: `Ctrl+N`, `ctrl+n`, `Esc`, `F9`.
2. A terminal sends some keys as others, so these cannot be told apart from them.
3. Some keys are needed to type and to move; an action that had them would take them from there.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from string import punctuation

from textual.binding import Binding
from textual.keys import KEY_NAME_REPLACEMENTS, format_key, key_to_character
from textual.widget import Widget

from tui_chat.lazy_dataclass import dataclass
from tui_chat.ui.actions import ACTIONS

_KEY_LABELS = {
    "escape": "Esc",
    "up": "↑",
    "down": "↓",
    "left": "←",
    "right": "→",
    "pageup": "PgUp",
    "pagedown": "PgDn",
}
MAX_KEYS = 2
"""Keys of one action that are shown."""


@dataclass(frozen=True, slots=True)
class PaneKey:
    """A key binding of a pane."""

    keys: str
    """As the screen shows them: `Ctrl+N`."""
    title: str
    action: str
    node: Widget
    """The widget whose action it runs."""


def key_name(key: str) -> str:
    """Return the label of a key: `ctrl+n` is Ctrl+N, `escape` is Esc, and `g` and `G` stay."""
    parts = key.split("+")
    if len(parts) == 1 and len(key) == 1:
        return key
    return "+".join(_KEY_LABELS.get(part) or _character(part) or part.title() for part in parts)


def _character(part: str) -> str:
    """Return the character of a name such as `full_stop`; empty if it has none."""
    character = format_key(part)
    return character if character in punctuation else ""


def key_names(keys: str) -> str:
    """Return the labels of several keys separated by commas: `Enter, Space`."""
    return ", ".join(key_name(key.strip()) for key in keys.split(",")[:MAX_KEYS] if key.strip())


def keys_of(pane: Widget) -> Iterator[PaneKey]:
    """Yield the keys of a pane and its descendants, as their classes declare them.

    If a class gives some bindings a tooltip, only those are yielded; Textual's own classes, such as
    fields for text, have none of their own here.
    """
    seen: set[str] = set()
    for node in (pane, *pane.walk_children(Widget)):
        if type(node).__module__.startswith("textual."):
            continue
        for binding in _documented(type(node).__dict__.get("BINDINGS", ())):
            title = binding.tooltip or binding.description
            if title and title not in seen and binding.action != "":
                seen.add(title)
                yield PaneKey(key_names(binding.key), title, binding.action, node)


def _documented(declared: Iterable[object]) -> list[Binding]:
    bindings = [binding for binding in declared if isinstance(binding, Binding)]
    explained = [binding for binding in bindings if binding.tooltip]
    return explained or bindings


# --- keys in the config -----------------------------------------------------------------

_MODIFIERS = {
    **{each: each for each in ("alt", "ctrl", "hyper", "meta", "shift", "super")},
    "control": "ctrl",
    "option": "alt",
    "cmd": "super",
}
_KEY_SYNONYMS = {
    "esc": "escape",
    "return": "enter",
    "pgup": "pageup",
    "pgdn": "pagedown",
    "del": "delete",
    "ins": "insert",
    "↑": "up",
    "↓": "down",
    "←": "left",
    "→": "right",
}
_MOVES = {"up", "down", "left", "right", "home", "end", "pageup", "pagedown"}
_NAMED = (
    _MOVES
    | {"escape", "enter", "tab", "space", "backspace", "delete", "insert"}
    | {f"f{number}" for number in range(1, 25)}
    | {*KEY_NAME_REPLACEMENTS.values()}
)

INDISTINGUISHABLE = {"ctrl+i": "Tab", "ctrl+m": "Enter", "ctrl+left_square_bracket": "Esc"}
"""Keys that a terminal sends as others, and those others."""
RESERVED = _MOVES | {"enter", "ctrl+j", "tab", "shift+tab", "space", "backspace", "delete"}
"""Keys that type, move or send; no action can have them."""

NO_KEY = "the palette"
"""Named instead of a key for an action without one."""


def parse_key(written: str) -> str:
    """Return a key in Textual's notation. Raises ValueError for an unknown key."""
    *before, last = [part.strip() for part in written.split("+")]
    modifiers = {_MODIFIERS.get(part.lower(), "") for part in before}
    name = _KEY_SYNONYMS.get(last.lower(), last.lower() if len(last) > 1 else last)
    if len(name) == 1 and name.isalpha() and modifiers:
        name = name.upper() if modifiers == {"shift"} else name.lower()
        modifiers -= {"shift"} if modifiers == {"shift"} else set()
    elif len(name) == 1 and not name.isalnum():
        called = unicodedata.name(name, "").lower().replace("-", "_").replace(" ", "_")
        name = KEY_NAME_REPLACEMENTS.get(called, called)
    is_one = len(name) == 1 or name in _NAMED or key_to_character(name) is not None
    if "" in modifiers or not name or not is_one:
        raise ValueError(f"there is no key “{written}”")
    return "+".join((*sorted(modifiers), name))


def first_keys(keys: Mapping[str, str]) -> dict[str, str]:
    """Return the label of each action's first key; `keys` has Textual's names, with commas."""
    return {
        action: key_name(named.split(",")[0].strip()) if named else NO_KEY
        for action, named in keys.items()
    }


DEFAULT_KEYS = first_keys({action.id: action.keys for action in ACTIONS})
"""The labels of the actions' default keys."""

_ACTION = re.compile(r"\{([a-z-]+)\}")


def insert_keys(text: str, keys: Mapping[str, str]) -> str:
    """Replace each `{action}` by its key; drop phrases (between ` · `) without a key."""
    phrases = text.split(" · ")
    kept = [
        phrase
        for phrase in phrases
        if len(phrases) == 1 or all(keys[match[1]] != NO_KEY for match in _ACTION.finditer(phrase))
    ]
    return _ACTION.sub(lambda match: keys[match[1]], " · ".join(kept))
