"""Sources of the configuration: defaults, then `config.toml`, then environment, then flags."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from tui_chat.config.values import OFFLINE_ENDPOINT, Config
from tui_chat.errors import ConfigError
from tui_chat.models.endpoint import Endpoint


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
