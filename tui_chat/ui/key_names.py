"""Keys as people write them, read; and sentences that name the keys of actions.

1. A key is read as help shows it, and as Textual calls it: `Ctrl+N`, `ctrl+n`, `Esc`, `F9`, `?`.
2. A terminal sends some keys as others, so these cannot be told apart from them.
3. Some keys are needed to type and to move; an action that had them would take them from there.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping

from textual.keys import KEY_NAME_REPLACEMENTS, key_to_character

from tui_chat.ui.actions import ACTIONS
from tui_chat.ui.key_table import key_name

_MODIFIERS = {
    **{each: each for each in ("alt", "ctrl", "hyper", "meta", "shift", "super")},
    "control": "ctrl",
    "option": "alt",
    "cmd": "super",
}
_SPELLED = {
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

NOT_TO_BIND = {"ctrl+i": "Tab", "ctrl+m": "Enter", "ctrl+left_square_bracket": "Esc"}
"""Keys that a terminal sends as others."""
NEEDED = _MOVES | {"enter", "ctrl+j", "tab", "shift+tab", "space", "backspace", "delete"}
"""Keys that type, move or send."""

NO_KEY = "the palette"
"""What is named where an action has no key."""


def key_read(written: str) -> str:
    """Return a key as Textual calls it. Raises ValueError where there is none of that name."""
    *before, last = [part.strip() for part in written.split("+")]
    modifiers = {_MODIFIERS.get(part.lower(), "") for part in before}
    name = _SPELLED.get(last.lower(), last.lower() if len(last) > 1 else last)
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
    """Return one key of each action, as it is written on a keyboard; `keys` as Textual has them."""
    return {
        action: key_name(named.split(",")[0].strip()) if named else NO_KEY
        for action, named in keys.items()
    }


USUAL_KEYS = first_keys({action.id: action.keys for action in ACTIONS})
"""The keys where the config names no others."""

_ACTION = re.compile(r"\{([a-z-]+)\}")


def with_keys(words: str, keys: Mapping[str, str]) -> str:
    """Put a key for each `{action}` in a text; of phrases between ` · `, those go whose action has
    none.
    """
    phrases = words.split(" · ")
    kept = [
        phrase
        for phrase in phrases
        if len(phrases) == 1 or all(keys[found[1]] != NO_KEY for found in _ACTION.finditer(phrase))
    ]
    return _ACTION.sub(lambda found: keys[found[1]], " · ".join(kept))
