"""The actions that change the configuration, as a namespace of the app: `configuration.NAME`."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from textual.app import App
from textual.dom import DOMNode

from tui_chat.errors import TuiChatError
from tui_chat.ui.notifications import show_error

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from tui_chat.workspace.workspace import Workspace


class ConfigurationActions(DOMNode):
    """Runs the functions of `dialogs.configuration`, which is imported when the first one runs."""

    def __init__(
        self, app: App[None], opened_workspace: Callable[[], Awaitable[Workspace]]
    ) -> None:
        """`opened_workspace` returns the workspace once it is open."""
        super().__init__()
        self._app = app
        self._opened_workspace = opened_workspace

    def action_enter_key(self, endpoint: str = "") -> None:
        """Enter the API key of a provider."""
        self._run("enter_key", endpoint)

    def action_edit_endpoints(self, name: str = "") -> None:
        """Add an endpoint, or edit one."""
        self._run("edit_endpoints", name)

    def action_edit_tools(self, name: str = "") -> None:
        """Add a tool, or edit one."""
        self._run("edit_tools", name)

    def action_choose_title_model(self, name: str = "") -> None:
        """Choose the model that writes titles."""
        self._run("choose_title_model", name)

    def action_list_plugins(self) -> None:
        """List the plugins that are loaded, and what is wrong with the others."""
        self._run("list_plugins", "")

    def action_edit_file(self) -> None:
        """Open config.toml in the user's editor, and use it afterwards."""
        self._run("edit_file", "")

    def _run(self, function: str, argument: str) -> None:
        async def run() -> None:
            dialogs = import_module("tui_chat.ui.dialogs.configuration")
            try:
                workspace = await self._opened_workspace()
                await getattr(dialogs, function)(self._app, workspace, argument)
            except TuiChatError as error:
                show_error(self._app, error)

        self._app.run_worker(run, group="dialog", exclusive=True, description=function)
