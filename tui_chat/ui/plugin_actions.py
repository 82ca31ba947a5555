"""The actions of plugins, as a namespace of the app: `plugins.NAME`."""

from __future__ import annotations

from functools import partial
from inspect import iscoroutinefunction

from textual.app import App
from textual.dom import DOMNode

from tui_chat import hooks
from tui_chat.api import Action, Plugin
from tui_chat.errors import InputError
from tui_chat.hooks import failed
from tui_chat.ui.notifications import show_error


class PluginActions(DOMNode):
    """Has a method for each action, which imports it when it is first run."""

    def __init__(self, app: App[None], *, is_read_only: bool) -> None:
        super().__init__()
        self._app = app
        self._removed: set[str] = set()
        for plugin, added in hooks.parts("actions"):
            name = added.name.replace("-", "_")
            setattr(self, f"action_{name}", partial(self._run, plugin, added))
            if is_read_only and added.writes:
                self._removed.add(name)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Disable actions that change something in a read-only app."""
        return None if action in self._removed else super().check_action(action, parameters)

    def _run(self, plugin: Plugin, added: Action, argument: str = "") -> None:
        try:
            run = hooks.load_part(plugin, added.path)
            if not iscoroutinefunction(run):
                fault = TypeError(f"{added.path} is no coroutine function")
                raise failed(plugin.name, f"action {added.name}", fault)
        except InputError as error:
            show_error(self._app, error)
            return
        self._app.run_worker(
            partial(run, self._app, argument),
            group="dialog",
            exclusive=True,
            description=added.name,
        )
