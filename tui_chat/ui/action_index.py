"""The actions that are possible now, with their keys: what the help and the palette list."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from textual.actions import parse
from textual.app import SystemCommand
from textual.dom import DOMNode
from textual.markup import escape
from textual.widget import Widget

from tui_chat.ui.actions import ACTIONS
from tui_chat.ui.commands import COMMANDS
from tui_chat.ui.keys import PaneKey, key_names, keys_of
from tui_chat.ui.main_screen import Panes

if TYPE_CHECKING:
    from tui_chat.ui.app import TuiChat


class ActionIndex:
    """Lists the actions of the app and of its panes, those of the focused pane first."""

    def __init__(self, app: TuiChat, panes: Panes) -> None:
        self._app = app
        self._panes = panes

    def help_sections(self) -> tuple[tuple[str, list[tuple[str, str]]], ...]:
        """Return titled lists of keys, or commands, and what they do."""
        keys = self._app.key_bindings.by_action
        everywhere = [
            (key_names(keys[action.id]), action.title)
            for action in ACTIONS
            if keys[action.id] and self._is_possible(action.run)
        ]
        focused, *others = [
            (title, [(key.keys, key.title) for key in self._pane_keys(pane)])
            for title, pane in self._titled_panes()
        ]
        commands = [
            *((f"/{each.name} {each.argument}".rstrip(), each.title) for each in COMMANDS),
            ("@", "Attach a file"),
            ("//", "Start a message with /"),
        ]
        typed = [("Typed at the start of a message", commands)]
        if self._panes.chat.composer.disabled:
            typed = []
        return (focused, ("Everywhere", everywhere), *typed, *others)

    def system_commands(self) -> Iterator[SystemCommand]:
        """Yield every action for the palette: the app's, then each pane's."""
        app = self._app
        for action in ACTIONS:
            if not self._is_possible(action.run):
                continue
            key = key_names(app.key_bindings.by_action[action.id]) or "no key"
            run = lambda action=action: app.run_action(action.run)  # noqa: E731
            has_label = action.label.lower() in action.title.lower()
            title = action.title if has_label else f"{action.label}: {action.title}"
            yield SystemCommand(title, escape(key), run)
        for title, pane in self._titled_panes():
            for key in self._pane_keys(pane):
                yield SystemCommand(
                    f"{title}: {key.title}",
                    escape(key.keys),
                    lambda pane=pane, key=key: self._run_in_pane(pane, key),
                )

    def _titled_panes(self) -> list[tuple[str, Widget]]:
        """Return the existing panes with their titles, the one with the focus first."""
        chat = self._panes.chat
        panes: list[tuple[str, Widget | None]] = [
            ("Composer", None if chat.composer.disabled else chat.composer),
            ("Conversation", chat.transcript),
            ("Sessions", self._panes.sessions),
            ("Preset editor", self._panes.presets),
            ("Inspector", self._panes.inspector),
        ]
        existing = [(title, pane) for title, pane in panes if pane is not None]
        return sorted(existing, key=lambda titled: not titled[1].has_focus_within)

    def _pane_keys(self, pane: Widget) -> Iterator[PaneKey]:
        return (key for key in keys_of(pane) if self._is_possible(key.action))

    def _is_possible(self, action: str) -> bool:
        area, name, parameters = parse(action)
        node: DOMNode = getattr(self._app, area) if area else self._app
        return node.check_action(name, parameters) is not False

    def _run_in_pane(self, pane: Widget, key: PaneKey) -> None:
        """Run the action of a pane's key there, with the pane visible."""
        self._panes.reveal(pane)

        async def run() -> None:
            key.node.focus()
            await self._app.run_action(key.action, key.node)

        self._app.call_after_refresh(run)
