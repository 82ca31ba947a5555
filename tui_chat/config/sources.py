"""Sources of the configuration: defaults, then `config.toml`, then environment, then flags."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from tui_chat.config.values import Config


def load_config(
    config_dir: Path,
    data_dir: Path,
    environ: Mapping[str, str],
    flags: Mapping[str, str | None],
) -> Config:
    """Read the configuration: defaults, then `config.toml`, then `TUI_CHAT_*`, then flags.

    `flags` has the keys endpoint, model and theme, with None for a flag that is not set.
    Raises ConfigError naming the place and the fault.
    """
    config = Config(config_dir=config_dir, data_dir=data_dir)
    path = config_dir / "config.toml"
    if path.exists():
        from tui_chat.config.file import read_config_file  # most have no file

        config = read_config_file(path, config)
    for name in ("endpoint", "model", "theme"):
        value = flags.get(name) or environ.get(f"TUI_CHAT_{name.upper()}")
        if value:
            config = replace(config, **{name: value})
    config = replace(config, named=(flags.get("endpoint") or "", flags.get("model") or ""))
    config.endpoint_named(config.endpoint)
    return config
