"""Config, and the endpoints that are there without any configuration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from tui_chat.errors import ConfigError
from tui_chat.model.endpoint import Endpoint, Protocol

LOOPBACK_URL = "http://loopback.invalid"
"""Where the offline provider answers. The top-level domain can exist nowhere (RFC 6761), so
a request that went astray would reach nobody."""

_OFFLINE_MODELS = (
    "mirror",
    "echo",
    "lorem",
    "thinker",
    "toolsmith",
    "flaky-429",
    "flaky-500",
    "flaky-cut",
    "flaky-stall",
)

BUILT_IN_ENDPOINTS = (
    Endpoint("loopback", Protocol.OPENAI_CHAT, f"{LOOPBACK_URL}/v1", models=_OFFLINE_MODELS),
    Endpoint(
        "loopback-responses",
        Protocol.OPENAI_RESPONSES,
        f"{LOOPBACK_URL}/v1",
        models=_OFFLINE_MODELS,
    ),
    Endpoint("loopback-anthropic", Protocol.ANTHROPIC, LOOPBACK_URL, models=_OFFLINE_MODELS),
    Endpoint("loopback-gemini", Protocol.GEMINI, LOOPBACK_URL, models=_OFFLINE_MODELS),
    Endpoint(
        "openai",
        Protocol.OPENAI_CHAT,
        "https://api.openai.com/v1",
        key="env:OPENAI_API_KEY",
        models=("gpt-5", "gpt-5-mini", "gpt-4.1"),
    ),
    Endpoint(
        "openai-responses",
        Protocol.OPENAI_RESPONSES,
        "https://api.openai.com/v1",
        key="env:OPENAI_API_KEY",
        models=("gpt-5", "gpt-5-mini", "gpt-4.1"),
    ),
    Endpoint(
        "anthropic",
        Protocol.ANTHROPIC,
        "https://api.anthropic.com",
        key="env:ANTHROPIC_API_KEY",
        models=("claude-sonnet-4-5", "claude-haiku-4-5", "claude-opus-4-8"),
    ),
    Endpoint(
        "google",
        Protocol.GEMINI,
        "https://generativelanguage.googleapis.com",
        key="env:GEMINI_API_KEY",
        models=("gemini-2.5-flash", "gemini-2.5-pro"),
    ),
)


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
    keys: tuple[tuple[str, str], ...] = ()
    """Rebound keys: an action's id, and the keys for it as Textual writes them."""
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
