"""Config: everything that can be configured, and how it is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from tui_chat.config.ready_made import BUILT_IN_ENDPOINTS
from tui_chat.errors import ConfigError
from tui_chat.models.endpoint import Endpoint

if TYPE_CHECKING:
    from tui_chat.models.tool import Tool


@dataclass(frozen=True, slots=True)
class Config:
    """Everything that can be configured."""

    endpoints: tuple[Endpoint, ...] = BUILT_IN_ENDPOINTS
    """Built-in ones, and those of the file, which may replace built-in ones by name."""
    endpoint: str = "loopback"
    """Name of the one that new sessions use."""
    model: str = ""
    """The model that new sessions use; empty for the endpoint's first."""
    theme: str = "tui-chat-dark"
    notify: Literal["osc9", "osc777", "bell", "off"] = "osc9"
    """How the end of a long reply is told while another window has the focus."""
    keys: tuple[tuple[str, str], ...] = ()
    """Rebound keys: an action's id, and the keys for it, as they were written; empty for none."""
    tools: tuple[Tool, ...] = ()
    """What models may call."""
    data_dir: Path = Path()
    """Where the database is."""
    config_dir: Path = Path()
    """Where the configuration, presets, themes and profiles are."""

    def endpoint_named(self, name: str) -> Endpoint:
        """Return an endpoint. Raises ConfigError, listing the names there are."""
        for endpoint in self.endpoints:
            if endpoint.name == name:
                return endpoint
        known = ", ".join(endpoint.name for endpoint in self.endpoints)
        raise ConfigError(f"There is no endpoint “{name}”.", advice=f"There are: {known}.")

    def tool_named(self, name: str) -> Tool | None:
        """Return a tool, None if there is none of this name."""
        return next((tool for tool in self.tools if tool.name == name), None)


def load_config(
    config_dir: Path,
    data_dir: Path,
    environ: Mapping[str, str],
    flags: Mapping[str, str | None],
) -> Config:
    """Read the configuration: defaults, then `config.toml`, then `TUI_CHAT_*`, then flags.

    `flags` has the keys endpoint, model, theme, with None where the flag was not given.
    Raises ConfigError naming the place and the fault.
    """
    config = Config(config_dir=config_dir, data_dir=data_dir)
    path = config_dir / "config.toml"
    if path.exists():
        from tui_chat.config.file import read_config_file  # pydantic, where there is a file

        config = read_config_file(path, config)
    for name in ("endpoint", "model", "theme"):
        value = flags.get(name) or environ.get(f"TUI_CHAT_{name.upper()}")
        if value:
            config = replace(config, **{name: value})
    config.endpoint_named(config.endpoint)
    return config
