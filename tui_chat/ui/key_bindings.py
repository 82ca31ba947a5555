"""The keys of the app's actions: the defaults and what the config's `[keys]` changes in them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from textual.app import App

from tui_chat import hooks
from tui_chat.errors import InputError
from tui_chat.models.sanitize import one_line
from tui_chat.ui.actions import ACTIONS, RENAMED_IDS, YIELDING
from tui_chat.ui.key_names import INDISTINGUISHABLE, RESERVED, first_keys, key_name, parse_key
from tui_chat.ui.themes import theme_error

if TYPE_CHECKING:
    from tui_chat.config import Config
    from tui_chat.ui.chat.composer import Composer


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


class KeyBindings:
    """The keys of each action, and what is wrong with the configured ones."""

    def __init__(self, configured: Iterable[tuple[str, str]]) -> None:
        """`configured` has pairs of an action's id and its keys, comma-separated as users write."""
        self.errors: list[InputError] = []
        self._keymap: dict[str, str] = {}
        """Configured keys by action id, in Textual's notation; empty if an action has none."""
        for written_id, written_keys in configured:
            self._configure(RENAMED_IDS.get(written_id, written_id), written_keys)
        configured_keys = {key for keys in self._keymap.values() for key in _split(keys)}
        for action in ACTIONS:
            if action.id in YIELDING and action.id not in self._keymap:
                left = [key for key in _split(action.keys) if key not in configured_keys]
                if left != _split(action.keys):
                    self._keymap[action.id] = ",".join(left)
        self.by_action = {action.id: self._keymap.get(action.id, action.keys) for action in ACTIONS}
        """Keys by action id, in Textual's notation and separated by commas."""
        self.labels = first_keys(self.by_action)
        """The label of each action's first key, to be named in a sentence."""
        self._check_conflicts()

    def _configure(self, action: str, written_keys: str) -> None:
        known = {each.id for each in ACTIONS}
        if action not in known:
            sentence = f"[keys] names “{action}”, which is not an action."
            advice = f"Actions: {', '.join(sorted(known))}."
            self.errors.append(InputError(sentence, advice=advice))
            return
        usable = list(self._usable_keys(action, written_keys))
        if usable or not written_keys.strip():
            self._keymap[action] = ",".join(usable)

    def _usable_keys(self, action: str, written_keys: str) -> Iterator[str]:
        """Yield the keys that can be bound; add an error for each of the others."""
        for written in _split(written_keys):
            try:
                key = parse_key(written)
            except ValueError as error:
                advice = "Keys are written as help shows them: Ctrl+N, F9, Alt+Enter, ?"
                self.errors.append(InputError(f"[keys] {action}: {error}.", advice=advice))
                continue
            if key in INDISTINGUISHABLE:
                reason = f"{key_name(key)} is {INDISTINGUISHABLE[key]} in a terminal."
            elif key in RESERVED:
                reason = f"{key_name(key)} is needed to type, to move and to send."
            else:
                yield key
                continue
            self.errors.append(InputError(f"[keys] {action}: {reason}"))

    def _check_conflicts(self) -> None:
        actions_by_key: defaultdict[str, list[str]] = defaultdict(list)
        for action, keys in self.by_action.items():
            for key in _split(keys):
                actions_by_key[key].append(action)
        for key, actions in actions_by_key.items():
            if len(actions) > 1:
                listed = " and ".join(f"“{action}”" for action in actions)
                sentence = f"[keys] gives {key_name(key)} to {listed}."
                advice = "Only one of them can have it."
                self.errors.append(InputError(sentence, advice=advice))

    def bind(self, app: App[None], composer: Composer) -> None:
        """Bind the keys in the app. They win over the composer's own."""
        composer.release_keys(key for keys in self._keymap.values() for key in _split(keys))
        for action in ACTIONS:
            if not action.keys and (keys := self._keymap.get(action.id)):
                app.bind(keys, action.run, description=action.label, show=False)
        unbound = {action for action, keys in self._keymap.items() if not keys}
        bindings = app._bindings  # pyright: ignore[reportPrivateUsage]  Textual cannot unbind a key
        bindings.key_to_bindings = {
            key: [each for each in bound if each.id not in unbound]
            for key, bound in bindings.key_to_bindings.items()
        }
        # Dialogs bind some keys of the app again; Textual ignores an empty key there.
        app.set_keymap(self._keymap | {action: f"unbound-{action}" for action in unbound})


def _split(keys: str) -> list[str]:
    return [key.strip() for key in keys.split(",") if key.strip()]
