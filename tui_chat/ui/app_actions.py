"""Actions of the app that have a namespace of their own: `configuration.NAME`, `plugins.NAME`."""

from __future__ import annotations

import os
from functools import partial
from inspect import iscoroutinefunction
from typing import TYPE_CHECKING

from textual import work
from textual.app import App
from textual.dom import DOMNode

from tui_chat import hooks
from tui_chat.api import Action, Plugin
from tui_chat.errors import InputError
from tui_chat.hooks import failed
from tui_chat.ui.keys import screen_errors
from tui_chat.ui.notifications import show_error
from tui_chat.ui.questions import ask

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from tui_chat.workspace.workspace import Workspace


class ConfigurationActions(DOMNode):
    """Opens the dialog of keys, the list of plugins and the file."""

    def __init__(
        self, app: App[None], opened_workspace: Callable[[], Awaitable[Workspace]]
    ) -> None:
        """`opened_workspace` returns the workspace once it is open."""
        super().__init__()
        self._app = app
        self._opened_workspace = opened_workspace

    @work(group="dialog", exclusive=True)
    async def action_enter_key(self, endpoint: str = "") -> None:
        """Enter the API key of a provider."""
        from tui_chat.ui.dialogs.api_key import enter_key

        workspace = await self._opened_workspace()
        await enter_key(self._app, workspace, endpoint)

    def action_edit_endpoints(self, name: str = "") -> None:
        """Add or edit an endpoint."""
        self._open("edit_endpoints", name)

    def action_edit_tools(self, name: str = "") -> None:
        """Add or edit a tool."""
        self._open("edit_tools", name)

    def action_choose_title_model(self, name: str = "") -> None:
        """Choose the model that writes titles."""
        self._open("choose_title_model", name)

    def _open(self, dialog: str, name: str) -> None:
        run = hooks.load(f"tui_chat.ui.dialogs.configuration:{dialog}")
        self._app.run_worker(partial(run, self._app, name), group="dialog", exclusive=True)

    @work(group="dialog", exclusive=True)
    async def action_list_plugins(self) -> None:
        """List the plugins that are loaded, and what is wrong with the others."""
        faults = [(f"{each.plugin}: not loaded", each.error) for each in hooks.faults()]
        plugins = [(each.name, each.summary) for each in hooks.plugins()]
        lines = enumerate((*faults, *plugins))  # a plugin of which a part is missing is in both
        choices = [(str(number), *line) for number, line in lines]
        await ask(self._app, "Plugins", choices, hint="Esc close")

    @work(group="dialog", exclusive=True)
    async def action_edit_file(self) -> None:
        """Open config.toml in the user's editor, and use it afterwards."""
        from tui_chat.config.file import create_config_file
        from tui_chat.ui.terminal.external_programs import editor_command, run_in_terminal

        workspace = await self._opened_workspace()
        path = workspace.settings.config_path
        create_config_file(path)
        await run_in_terminal(self._app, (*editor_command(os.environ), str(path)))
        if await workspace.settings.reload_config() and not screen_errors(workspace.state.config):
            self._app.notify("config.toml is valid and in use.", markup=False)


class PluginActions(DOMNode):
    """Has a method for each action of a plugin, which imports it when it is first run."""

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
