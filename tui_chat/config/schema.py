"""The keys of `config.toml`. What each accepts is in the types of the values that they become:
`Endpoint`, `ModelFacts`, `CommandTool`. An error never repeats a value.

Everything is optional, so that an entry can override a built-in endpoint; `file` checks that a new
endpoint is complete.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field
from typing import Annotated, Any, Literal

from tui_chat import hooks
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.boundary import AsTable, Check, FieldsOf, keys_of
from tui_chat.models.endpoint import Endpoint, Retries, Timeouts
from tui_chat.models.endpoint_checks import model_pattern
from tui_chat.models.envelope import ToolDefinition
from tui_chat.models.model_facts import ModelFacts
from tui_chat.models.prices import Prices
from tui_chat.models.tool import CommandTool


def _title_model(given: str) -> str:
    endpoint, _, model = given.partition("/")
    if given and not (endpoint and model):
        raise ValueError("must be ENDPOINT/MODEL")
    return given


def _tool_name(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_.-]{0,63}", name):
        raise ValueError("must have a name of at most 64 letters, digits and “_.-”")
    return name


def _endpoint_name(name: str) -> str:
    if not re.fullmatch(r"\S{1,80}", name):
        raise ValueError("must have a name of at most 80 characters without white space")
    return name


@dataclass(frozen=True, slots=True)
class PluginsTable:
    """`[plugins]`."""

    enabled: tuple[str, ...] = ()
    """The installed plugins that are loaded."""


@dataclass(frozen=True, slots=True)
class ConfigFile:
    """The whole file."""

    endpoint: str | None = None
    """The endpoint of new sessions; without it the offline provider."""
    model: str | None = None
    """The model of new sessions; without it the endpoint's first."""
    title_model: Annotated[str, Check(_title_model)] = ""
    """`ENDPOINT/MODEL`, which is asked for the title of each session; without it none is."""
    editing_mode: str = ""
    """`vim` for Vim's keys in the composer."""
    theme: str | None = None
    """A color theme, such as `dark` or `light`; `/theme` lists them."""
    notify: Literal["osc9", "osc777", "bell", "off"] | None = None
    """How the end of a long reply is announced while another window has the focus."""
    daily_backups: bool = True
    """Whether the database is copied once a day."""
    keys: Mapping[str, str] = field(default_factory=dict[str, str])
    """The keys of actions: docs/keys.md."""
    endpoints: Mapping[
        Annotated[str, Check(_endpoint_name)],
        Annotated[dict[str, Any], FieldsOf(Endpoint, keys=(("settings", "parameters"),))],
    ] = field(default_factory=dict[str, dict[str, Any]])
    """Providers by name; one that is built in keeps what is not set."""
    models: Annotated[
        tuple[tuple[Annotated[str, Check(model_pattern)], ModelFacts], ...], AsTable()
    ] = ()
    """Facts about models at all endpoints."""
    tools: Mapping[
        Annotated[str, Check(_tool_name)],
        Annotated[dict[str, Any], FieldsOf(ToolDefinition, CommandTool)],
    ] = field(default_factory=dict[str, dict[str, Any]])
    """Tools that models may call, by name."""
    plugins: PluginsTable = PluginsTable()
    """Plugins of other people."""


def known_keys() -> tuple[str, ...]:
    """Return all known keys, for suggestions on misspelled ones."""
    tables = (
        *(ConfigFile, Endpoint, ModelFacts, Prices, Timeouts, Retries),
        *(ToolDefinition, CommandTool, PluginsTable),
    )
    plugins = (plugin.name for plugin in hooks.plugins() if plugin.config)
    return (*(key for table in tables for key in keys_of(table)), *plugins)
