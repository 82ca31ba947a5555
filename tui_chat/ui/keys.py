"""Keys: how users write them, what they are called on the screen, and the keys of each verb.

1. A key is read as the screen shows it, and as Textual calls it: `Ctrl+N`, `ctrl+n`, `Esc`, `F9`.
2. A terminal sends some keys as others, so these cannot be told apart from them.
3. Some keys are needed to type and to move; a verb that had them would take them from there.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from string import punctuation
from typing import TYPE_CHECKING

from textual.app import App
from textual.keys import KEY_NAME_REPLACEMENTS, format_key, key_to_character

from tui_chat import hooks
from tui_chat.errors import InputError
from tui_chat.models.sanitize import one_line
from tui_chat.ui.themes import theme_error
from tui_chat.ui.verbs import BY_ID, REMOVED_IDS, RENAMED_IDS, VERBS

if TYPE_CHECKING:
    from tui_chat.config import Config

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
"""Keys of one verb that are shown."""


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
    return ", ".join(key_name(key) for key in split_keys(keys)[:MAX_KEYS])


def split_keys(keys: str) -> list[str]:
    """Return the keys of a list with commas."""
    return [key.strip() for key in keys.split(",") if key.strip()]


# --- as they are written ------------------------------------------------------------------

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
"""Keys that type, move or send; no verb can be given them."""
NO_KEY = "the palette"
"""Named instead of a key for a verb without one."""


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
    """Return the label of each verb's first key; `keys` has Textual's names, with commas."""
    return {
        verb: key_name(split_keys(named)[0]) if named else NO_KEY for verb, named in keys.items()
    }


DEFAULT_KEYS = first_keys({verb.id: verb.keys for verb in VERBS})
"""The labels of the verbs' default keys."""

_VERB = re.compile(r"\{([a-z-]+)\}")


def insert_keys(text: str, keys: Mapping[str, str]) -> str:
    """Replace each `{verb}` by its key; drop phrases (between ` · `) without a key."""
    phrases = text.split(" · ")
    kept = [
        phrase
        for phrase in phrases
        if len(phrases) == 1 or all(keys[match[1]] != NO_KEY for match in _VERB.finditer(phrase))
    ]
    return _VERB.sub(lambda match: keys[match[1]], " · ".join(kept))


# --- as they are configured ---------------------------------------------------------------


def screen_errors(config: Config) -> list[InputError]:
    """Return what is wrong in the keys, the editing mode and the theme of a configuration."""
    errors = (theme_error(config), editing_mode_error(config.editing_mode))
    return [*KeyBindings(config.keys).errors, *(error for error in errors if error is not None)]


def editing_mode_error(name: str) -> InputError | None:
    """Return the error of an editing mode that no plugin adds; None if one does, or for no name."""
    names = [mode.name for _, mode in hooks.parts("editing mode")]
    if not name or name in names:
        return None
    advice = f"There is {' and '.join(f'“{each}”' for each in names)}." if names else ""
    return InputError(f"editing_mode: there is no “{one_line(name, 40)}”.", advice=advice)


_YIELDING = ("next-session", "previous-session", "go-to-session", "zoom")
"""Verbs that give up a default key without an error where the config's `[keys]` has another use
for it: they came after configurations that use it.
"""


class KeyBindings:
    """The keys of each verb, and what is wrong with the configured ones."""

    def __init__(self, configured: Iterable[tuple[str, str]]) -> None:
        """`configured` has pairs of a verb's id and its keys, comma-separated as users write."""
        self.errors: list[InputError] = []
        self._keymap: dict[str, str] = {}
        """Configured keys by verb, in Textual's notation; empty if a verb has none."""
        for written_id, written_keys in configured:
            self._configure(RENAMED_IDS.get(written_id, written_id), written_keys)
        taken = self.configured
        for id in _YIELDING:
            if id not in self._keymap and taken.intersection(split_keys(BY_ID[id].keys)):
                left = (key for key in split_keys(BY_ID[id].keys) if key not in taken)
                self._keymap[id] = ",".join(left)
        self.by_verb = {verb.id: self._keymap.get(verb.id, verb.keys) for verb in VERBS}
        """Keys by verb, in Textual's notation and separated by commas."""
        self.labels = first_keys(self.by_verb)
        """The label of each verb's first key, to be named in a sentence."""
        self._check_conflicts()

    def _configure(self, id: str, written_keys: str) -> None:
        if id in REMOVED_IDS:
            return
        if id not in BY_ID:
            sentence = f"[keys] names “{id}”, which is not an action."
            self.errors.append(InputError(sentence, advice=f"Actions: {', '.join(sorted(BY_ID))}."))
            return
        usable = list(self._usable_keys(id, written_keys))
        if usable or not written_keys.strip():
            self._keymap[id] = ",".join(usable)

    def _usable_keys(self, id: str, written_keys: str) -> Iterator[str]:
        """Yield the keys that can be bound; add an error for each of the others."""
        for written in split_keys(written_keys):
            advice = ""
            try:
                key = parse_key(written)
            except ValueError as error:
                advice = "Keys are written as the screen shows them: Ctrl+N, F9, Alt+Enter, ?"
                reason = f"{error}."
            else:
                if key in INDISTINGUISHABLE:
                    reason = f"{key_name(key)} is {INDISTINGUISHABLE[key]} in a terminal."
                elif key in RESERVED:
                    reason = f"{key_name(key)} is needed to type, to move and to send."
                else:
                    yield key
                    continue
            self.errors.append(InputError(f"[keys] {id}: {reason}", advice=advice))

    def _check_conflicts(self) -> None:
        """Add an error for each key that two verbs of one place have."""
        ids_by_key: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
        for id, keys in self.by_verb.items():
            for key in split_keys(keys):
                ids_by_key[BY_ID[id].place, key].append(id)
        for (_, key), ids in ids_by_key.items():
            if len(ids) > 1:
                listed = " and ".join(f"“{id}”" for id in ids)
                sentence = f"[keys] gives {key_name(key)} to {listed}."
                self.errors.append(InputError(sentence, advice="Only one of them can have it."))

    @property
    def configured(self) -> set[str]:
        """The configured keys, which win over those of a text field."""
        return {key for keys in self._keymap.values() for key in split_keys(keys)}

    def bind(self, app: App[None]) -> None:
        """Bind the keys in the app."""
        for verb in VERBS:
            if not verb.keys and (keys := self._keymap.get(verb.id)):
                app.bind(keys, verb.run, description=verb.title, show=False)
        unbound = {id for id, keys in self._keymap.items() if not keys}
        bindings = app._bindings  # pyright: ignore[reportPrivateUsage]  Textual cannot unbind a key
        bindings.key_to_bindings = {
            key: [each for each in bound if each.id not in unbound]
            for key, bound in bindings.key_to_bindings.items()
        }
        # Dialogs bind some keys of the app again; Textual ignores an empty key there.
        app.set_keymap(self._keymap | {id: f"unbound-{id}" for id in unbound})
