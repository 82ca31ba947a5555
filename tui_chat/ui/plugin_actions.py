"""The actions of plugins, as a namespace of the app: `plugins.NAME`."""

from __future__ import annotations

from functools import partial

from textual.app import App
from textual.dom import DOMNode

from tui_chat import extensions
from tui_chat.errors import InputError
from tui_chat.extensions import ActionPath, Plugin
from tui_chat.ui.notifications import show_error


class PluginActions(DOMNode):
    """Has a method for each action, which imports it when it is first run."""

    def __init__(self, app: App[None]) -> None:
        super().__init__()
        self._app = app
        for plugin in extensions.plugins():
            for added in plugin.actions:
                name = f"action_{added.name.replace('-', '_')}"
                setattr(self, name, partial(self._run, plugin, added))

    def _run(self, plugin: Plugin, added: ActionPath, argument: str = "") -> None:
        try:
            run = extensions.load_part(plugin, added.path)
        except InputError as error:
            show_error(self._app, error)
            return
        self._app.run_worker(
            run(self._app, argument), group="dialog", exclusive=True, description=added.name
        )
