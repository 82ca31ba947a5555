"""All settings, and their sources: defaults, then `config.toml`, then environment, then flags."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from tui_chat.config.built_in_endpoints import (
    LOOPBACK_URL,
    default_endpoints,
    standard_endpoint,
)
from tui_chat.errors import ConfigError
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.endpoint import Endpoint

if TYPE_CHECKING:
    from tui_chat.models.tool import CommandTool


OFFLINE_ENDPOINT = "loopback"
"""The endpoint of new sessions where none is set and no key is found."""


@dataclass(frozen=True, slots=True)
class Config:
    """All settings."""

    endpoints: tuple[Endpoint, ...] = field(default_factory=default_endpoints)
    """Built-in ones, and those of the file, which override built-in ones by name."""
    endpoint: str = OFFLINE_ENDPOINT
    """The name of the endpoint that new sessions use."""
    model: str = ""
    """The model that new sessions use; empty for the endpoint's first."""
    named: tuple[str, str] = ("", "")
    """The command line's endpoint and model of new sessions, or empty; also in the other fields."""
    is_endpoint_found: bool = False
    """True if no setting names the endpoint, and it is the first one whose key is set."""
    title_model: str = ""
    """The endpoint and model that is asked for titles after first replies, as `ENDPOINT/MODEL`;
    empty for none."""
    daily_backups: bool = True
    """True if the app copies the database each day."""
    editing_mode: str = ""
    """The name of the composer's editing mode, which a plugin adds; empty for the ordinary keys."""
    theme: str = "tui-chat-dark"
    notify: Literal["osc9", "osc777", "bell", "off"] = "osc9"
    """The announcement of the end of a long reply while another window has the focus."""
    keys: tuple[tuple[str, str], ...] = ()
    """Rebound keys: the id of an action, and its keys as written; empty for none."""
    tools: tuple[CommandTool, ...] = ()
    """The commands that models may call."""
    plugins: tuple[str, ...] = ()
    """The plugins of other people that are enabled, by name."""
    sections: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """The tables of plugins, by plugin, as values of their types."""
    data_dir: Path = Path()
    """The folder of the database."""
    config_dir: Path = Path()
    """The folder of the configuration, presets, themes and profiles."""

    def endpoint_named(self, name: str) -> Endpoint:
        """Return an endpoint. Raises ConfigError, which lists the names, if it does not exist."""
        for endpoint in self.endpoints:
            if endpoint.name == name:
                return endpoint
        names = ", ".join(endpoint.name for endpoint in self.endpoints)
        raise ConfigError(f"There is no endpoint “{name}”.", advice=f"Available: {names}.")

    @property
    def chosen_endpoint(self) -> str:
        """The name of the endpoint that a setting names; the offline provider's if none does."""
        return OFFLINE_ENDPOINT if self.is_endpoint_found else self.endpoint

    def endpoint_offering(self, model: str, preferred: Endpoint) -> Endpoint:
        """Return an endpoint that lists a model: the preferred one if it does or if none does."""
        if model in preferred.models:
            return preferred
        return next((each for each in self.endpoints if model in each.models), preferred)

    def endpoint_for(self, model: str, current: Endpoint) -> Endpoint:
        """Return the endpoint for a model that is named without one: the current one if it lists
        the model, else the first that does. If none does, it is the current one, or if that is the
        offline provider, the provider that the model's name tells.
        """
        endpoint = self.endpoint_offering(model, current)
        if model not in endpoint.models and current.base_url.startswith(LOOPBACK_URL):
            from tui_chat.protocols.registry import detect_protocol

            protocol = detect_protocol(model)
            return self.endpoint_named(standard_endpoint(protocol)) if protocol else endpoint
        return endpoint

    def endpoint_and_model(self, words: str, current: Endpoint) -> tuple[Endpoint, str]:
        """Return the endpoint and the model of `ENDPOINT/MODEL`, or of a model without one. A name
        with a slash that an endpoint lists as it is names a model.
        """
        endpoint = self.endpoint_for(words, current)
        name, _, model = words.partition("/")
        if model and words not in endpoint.models:
            named = next((each for each in self.endpoints if each.name == name), None)
            return (endpoint, words) if named is None else (named, model)
        return endpoint, words

    def tool_named(self, name: str) -> CommandTool | None:
        """Return a tool; None if it does not exist."""
        return next((tool for tool in self.tools if tool.name == name), None)


def load_config(
    config_dir: Path,
    data_dir: Path,
    environ: Mapping[str, str],
    flags: Mapping[str, str | None],
) -> Config:
    """Read the configuration: defaults, then `config.toml`, then `TUI_CHAT_*`, then flags. If none
    of them names an endpoint, it is the first one whose key is set.

    `flags` has the keys endpoint, model and theme, with None for a flag that is not set.
    Raises ConfigError naming the place and the fault.
    """
    config = Config(config_dir=config_dir, data_dir=data_dir, endpoint="")
    path = config_dir / "config.toml"
    try:
        is_there = path.exists()
    except OSError as error:  # the folder may not be read
        raise ConfigError(f"{path} cannot be read: {error.strerror}") from error
    if is_there:
        from tui_chat.config.file import read_config_file  # most have no file

        config = read_config_file(path, config)
    for name in ("endpoint", "model", "theme"):
        value = flags.get(name) or environ.get(f"TUI_CHAT_{name.upper()}")
        if value:
            config = replace(config, **{name: value})
    config = replace(config, named=(flags.get("endpoint") or "", flags.get("model") or ""))
    if not config.endpoint:
        keyed = () if config.model else endpoints_with_key(config.endpoints, environ)
        name = keyed[0].name if keyed else OFFLINE_ENDPOINT
        config = replace(config, endpoint=name, is_endpoint_found=bool(keyed))
    config.endpoint_named(config.endpoint)
    return config


def endpoints_with_key(
    endpoints: Sequence[Endpoint], environ: Mapping[str, str]
) -> tuple[Endpoint, ...]:
    """Return the first endpoint with models for each key that is set. A key in a keyring or a file,
    or behind a command, counts without being looked up.
    """
    by_key: dict[str, Endpoint] = {}
    for endpoint in endpoints:
        if endpoint.key and endpoint.models and not lacks_key(endpoint, environ):
            by_key.setdefault(endpoint.key, endpoint)
    return tuple(by_key.values())


def lacks_key(endpoint: Endpoint, environ: Mapping[str, str]) -> bool:
    """Return True if an endpoint's key should be in an environment variable and is not."""
    kind, _, name = endpoint.key.partition(":")
    return kind == "env" and not environ.get(name, "").strip()
