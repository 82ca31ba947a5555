"""Helping: keys as the config has them, the help and the palette."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import partial

from textual.app import SystemCommand
from textual.markup import escape
from textual.screen import Screen
from textual.widget import Widget

from tui_chat.errors import InputError
from tui_chat.ui.acting.shell import Shell
from tui_chat.ui.actions import ACTIONS, RENAMED_IDS
from tui_chat.ui.commands import COMMANDS
from tui_chat.ui.keys import (
    INDISTINGUISHABLE,
    NO_KEY,
    RESERVED,
    PaneKey,
    first_keys,
    key_name,
    key_names,
    keys_of,
    parse_key,
)


class Helping(Shell):
    """Tells what can be done, and with which key."""

    # --- keys ----------------------------------------------------------------------------

    def bind_keys(self) -> None:
        """Bind the keys that the config names; tell what is wrong with them."""
        actions = {action.id: action for action in ACTIONS}
        keymap: dict[str, str] = {}
        for written, keys in self._config.keys:
            name = RENAMED_IDS.get(written, written)
            if name not in actions:
                self.show_error(
                    InputError(
                        f"[keys] names “{name}”, which is not an action.",
                        advice=f"Actions: {', '.join(sorted(actions))}.",
                    )
                )
                continue
            usable = [key for key in map(partial(self._usable, name), _split(keys)) if key]
            if usable or not keys.strip():
                keymap[name] = ",".join(usable)
            self._composer.release_keys(usable)
        self._keys_now = {action.id: keymap.get(action.id, action.keys) for action in ACTIONS}
        for key, names in self._shared_keys():
            listed = " and ".join(f"“{name}”" for name in names)
            self.show_error(
                InputError(
                    f"[keys] gives {key_name(key)} to {listed}.",
                    advice="Only one of them can have it.",
                )
            )
        for action in ACTIONS:
            if not action.keys and keymap.get(action.id):
                self.bind(keymap[action.id], action.run, description=action.label, show=False)
        gone = {name for name, keys in keymap.items() if not keys}  # "" takes its keys away
        self._bindings.key_to_bindings = {
            key: [each for each in bound if each.id not in gone]
            for key, bound in self._bindings.key_to_bindings.items()
        }
        self.set_keymap(keymap)
        self.key_of = first_keys(self._keys_now)
        self._chat.set_hint_keys(self.key_of)
        self._sessions.keys = self.key_of

    def _usable(self, action: str, written: str) -> str:
        """Return a key of the config as Textual calls it; empty, and told why, where none is."""
        try:
            key = parse_key(written)
        except ValueError as fault:
            advice = "Keys are written as help shows them: Ctrl+N, F9, Alt+Enter, ?"
            self.show_error(InputError(f"[keys] {action}: {fault}.", advice=advice))
            return ""
        if key in INDISTINGUISHABLE:
            why = f"{key_name(key)} is {INDISTINGUISHABLE[key]} in a terminal."
        elif key in RESERVED:
            why = f"{key_name(key)} is needed to type, to move and to send."
        else:
            return key
        self.show_error(InputError(f"[keys] {action}: {why}"))
        return ""

    def _shared_keys(self) -> Iterator[tuple[str, list[str]]]:
        at: defaultdict[str, list[str]] = defaultdict(list)
        for name, keys in self._keys_now.items():
            for key in _split(keys):
                at[key].append(name)
        return ((key, names) for key, names in at.items() if len(names) > 1)

    def action_help_quit(self) -> None:
        """Tell whoever presses Ctrl+C what quits."""
        key, palette = self.key_of["quit"], self.key_of["palette"]
        words = f"{key} quits" if key != NO_KEY else f"“Quit” is in the palette ({palette})"
        self.notify(f"{words}; the draft is kept.", markup=False)

    # --- help ----------------------------------------------------------------------------

    def _panes_told(self) -> list[tuple[str, Widget]]:
        """Return the panes there are, the one with the focus first."""
        panes: list[tuple[str, Widget | None]] = [
            ("Composer", None if self._composer.disabled else self._composer),
            ("Conversation", self._chat.transcript),
            ("Sessions", self._sessions),
            ("Preset editor", self._panes.presets),
            ("Inspector", self._panes.inspector),
        ]
        there = [(title, pane) for title, pane in panes if pane is not None]
        return sorted(there, key=lambda pane: not pane[1].has_focus_within)

    def action_keys(self) -> None:
        """Show all keys and commands, those of the focused pane first."""
        from tui_chat.ui.dialogs.base import HelpDialog

        everywhere = [
            (key_names(self._keys_now[action.id]), action.title)
            for action in ACTIONS
            if self._keys_now[action.id] and self._can(action.run)
        ]
        panes = [
            (title, [(key.keys, key.title) for key in keys_of(pane) if self._can(key.action)])
            for title, pane in self._panes_told()
        ]
        commands = [
            (f"/{command.name} {command.argument}".rstrip(), command.title) for command in COMMANDS
        ]
        commands.append(("@", "Attach a file"))
        commands.append(("//", "Start a message with /"))
        typed = [("Typed at the start of a message", commands)]
        if self._composer.disabled:
            typed = []
        self.push_screen(HelpDialog((panes[0], ("Everywhere", everywhere), *typed, *panes[1:])))

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """Offer every action in the palette, with its key: the app's, then each pane's."""
        for action in ACTIONS:
            if not self._can(action.run):
                continue
            key = key_names(self._keys_now[action.id]) or "no key"
            run = lambda action=action: self.run_action(action.run)  # noqa: E731
            has_label = action.label.lower() in action.title.lower()
            title = action.title if has_label else f"{action.label}: {action.title}"
            yield SystemCommand(title, escape(key), run)
        for title, pane in self._panes_told():
            for key in keys_of(pane):
                if not self._can(key.action):
                    continue
                yield SystemCommand(
                    f"{title}: {key.title}",
                    escape(key.keys),
                    lambda pane=pane, key=key: self._run_in(pane, key),
                )

    def _can(self, action: str) -> bool:
        """Whether an action, the app's or a pane's, is one that can be done here."""
        return self.check_action(action.partition("(")[0], ()) is not False

    def _run_in(self, pane: Widget, key: PaneKey) -> None:
        """Do what a pane's key does, there, where it can be seen."""
        self._panes.bring(pane)

        async def run() -> None:
            key.node.focus()
            await self.run_action(key.action, key.node)

        self.call_after_refresh(run)


def _split(keys: str) -> list[str]:
    return [key.strip() for key in keys.split(",") if key.strip()]
