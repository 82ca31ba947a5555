"""The configuration while the program runs: `config.toml` is read again when it changes, the screen
changes it, and keys of endpoints are checked and kept.

1. A file with a fault changes nothing: the fault is published, and the configuration stays.
2. A key is never in the state, in the database or in `config.toml`, which get its reference.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Literal

from tui_chat.config import Config
from tui_chat.config.edit import Changes, change_config
from tui_chat.models.endpoint import Endpoint
from tui_chat.providers.discovery import check_key, list_models
from tui_chat.providers.keys import SERVICE, Secret, store_key, write_key_file
from tui_chat.workspace.core import WorkspaceCore, reported
from tui_chat.workspace.events import Done
from tui_chat.workspace.settings import SessionSetup

KeyPlace = Literal["keyring", "file", "run"]
"""Where a key is kept: the system's keyring, a file that only the user can read, or the memory of
this program until it ends."""


class Configuration:
    """Reads `config.toml` again, changes it, and keeps keys."""

    def __init__(
        self, core: WorkspaceCore, settings: SessionSetup, read: Callable[[], Config] | None
    ) -> None:
        """`read` reads the configuration from all its sources; without it nothing is read again."""
        self.core = core
        self._settings = settings
        self._read = read
        self._version = self._file_version()

    @property
    def path(self) -> Path:
        """The file, which need not exist."""
        return self.core.state.config.config_dir / "config.toml"

    async def check(self) -> None:
        """Read the file again if it changed on disk since the last time."""
        is_changed = self._read is not None and self._file_version() != self._version
        if is_changed and await self.reload():
            self.core.publish(Done("config.toml was reloaded."))

    @reported(False)
    async def reload(self) -> bool:
        """Use what the sources of the configuration say now; False if one has a fault."""
        self._version = self._file_version()
        if self._read is not None:
            await self._apply(await asyncio.to_thread(self._read))
        return True

    async def change(self, changes: Changes) -> None:
        """Change values of the file and use them, or nothing. Raises ConfigError and InputError."""
        await asyncio.to_thread(change_config, self.path, changes, Config())
        await self.reload()

    async def _apply(self, config: Config) -> None:
        endpoints = tuple(map(self._with_run_key, config.endpoints))
        await self._settings.apply_config(replace(config, endpoints=endpoints))

    def _file_version(self) -> tuple[int, ...]:
        """Return what differs after each change of the file."""
        with suppress(OSError):
            status = self.path.stat()
            return status.st_mtime_ns, status.st_size, status.st_ino
        return ()

    # --- keys ----------------------------------------------------------------------------

    async def check_key(self, endpoint: Endpoint, key: Secret) -> None:
        """Ask the provider whether it accepts a key; nothing is generated, so it costs nothing.
        Raises ProviderError and InputError.
        """
        keys, name = self.core.client.run_keys, f"check of {endpoint.name}"
        keys[name] = key
        try:
            await check_key(replace(endpoint, key=f"run:{name}"), self.core.client)
        finally:
            del keys[name]

    async def list_models(self, endpoint: Endpoint) -> tuple[str, ...]:
        """Return the models that a server lists. Raises ProviderError and InputError."""
        return await list_models(endpoint, self.core.client)

    async def keep_key(self, endpoint: Endpoint, key: Secret, place: KeyPlace) -> None:
        """Keep a key, and use it for an endpoint from now on. Raises InputError."""
        config, name = self.core.state.config, endpoint.name
        if place == "run":
            self.core.client.run_keys[name] = key
            await self._apply(config)
            return
        if place == "keyring":
            await asyncio.to_thread(store_key, SERVICE, name, key)
            reference = f"keyring:{SERVICE}/{name}"
        else:
            reference = await asyncio.to_thread(write_key_file, config.data_dir, name, key)
        await self.change({("endpoints", name, "key"): reference})
        self.core.client.run_keys.pop(name, None)
        await self._apply(self.core.state.config)

    def _with_run_key(self, endpoint: Endpoint) -> Endpoint:
        if endpoint.name not in self.core.client.run_keys:
            return endpoint
        return replace(endpoint, key=f"run:{endpoint.name}")
