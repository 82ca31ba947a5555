"""Plugins that listen to events of the workspace.

What a plugin does after an event runs by itself, one event after the other, and has ended before
the store is closed.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict

from tui_chat import hooks
from tui_chat.api import Part, Plugin
from tui_chat.hooks import PluginFailed, report
from tui_chat.workspace.core import WorkspaceCore
from tui_chat.workspace.events import WorkspaceEvent


class PluginListeners:
    """Calls the listeners of plugins."""

    def __init__(self, core: WorkspaceCore, workspace: object) -> None:
        """`workspace` is what listeners are given."""
        self.core = core
        self._workspace = workspace
        self._listeners: defaultdict[str, list[tuple[Plugin, Part]]] = defaultdict(list)
        for plugin, listener in hooks.parts_at("listener"):
            self._listeners[listener.name].append((plugin, listener))
        self._tasks: set[asyncio.Task[None]] = set()
        self._turn = asyncio.Lock()
        core.subscribe(self._follow)

    def _follow(self, event: WorkspaceEvent) -> None:
        if (listeners := self._listeners.get(type(event).__name__)) is not None:
            task = asyncio.create_task(self._call(listeners, event))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _call(self, listeners: list[tuple[Plugin, Part]], event: WorkspaceEvent) -> None:
        async with self._turn:
            for plugin, listener in listeners:
                with self.core.reporting():
                    try:
                        await hooks.load_part(plugin, listener.path)(self._workspace, event)
                    except PluginFailed as error:  # said once, not at each event
                        report(error.fault)

    async def finish(self) -> None:
        """Wait until all listeners have done what they do."""
        await asyncio.gather(*self._tasks, return_exceptions=True)
