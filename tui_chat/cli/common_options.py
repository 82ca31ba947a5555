"""The options that precede a command: folders, endpoint, model and theme."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tui_chat import hooks, paths
from tui_chat.errors import ConfigError, InputError
from tui_chat.hooks import keep_traces
from tui_chat.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from tui_chat.config import Config


@dataclass(frozen=True, slots=True)
class CommonOptions:
    """The options of every command; None for one that is not given."""

    data_dir: Path | None = None
    config_dir: Path | None = None
    endpoint: str | None = None
    model: str | None = None
    theme: str | None = None

    @property
    def flags(self) -> dict[str, str | None]:
        """The options that take precedence over the configuration file, by the names there."""
        return {"endpoint": self.endpoint, "model": self.model, "theme": self.theme}

    @property
    def data_folder(self) -> Path:
        """The folder of the database."""
        return self.data_dir or paths.data_dir()

    @property
    def config_folder(self) -> Path:
        """The folder of `config.toml`."""
        return self.config_dir or paths.config_dir()

    @property
    def config_file(self) -> Path:
        """The configuration file, which need not exist."""
        return self.config_folder / "config.toml"

    @property
    def database(self) -> Path:
        """The database file, which need not exist."""
        return paths.database_file(self.data_folder)

    def config(self) -> Config:
        """Return the configuration, with its plugins enabled. Raises ConfigError."""
        from tui_chat.config import load_config

        log = self.data_folder / paths.CRASH_LOG
        keep_traces(lambda text: _write_traces(text, log))
        config = load_config(self.config_folder, self.data_folder, os.environ, self.flags)
        hooks.enable(config.plugins)
        return config

    def enable_plugins(self) -> None:
        """Enable the plugins that the configuration names, for what works without the rest of it. A
        faulty configuration is reported by the commands that need it.
        """
        with suppress(ConfigError):  # not the user's interruption of an import
            self.config()


def _write_traces(text: str, log: Path) -> None:
    from tui_chat.files import write_private
    from tui_chat.models.sanitize import sanitize

    with suppress(InputError):  # the fault itself is shown
        write_private(sanitize(text), log)


def enable_plugins(context: click.Context) -> None:
    """Enable the plugins that the configuration names, before the command has its options."""
    folders = context.find_root().params
    CommonOptions(folders.get("data_dir"), folders.get("config_dir")).enable_plugins()
