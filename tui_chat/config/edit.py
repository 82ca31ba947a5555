"""Changes of `config.toml` by the program. Comments, order and layout of the file stay."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping, Sequence
from pathlib import Path
from typing import Any, cast

from tui_chat.config.file import parse_config
from tui_chat.config.values import Config
from tui_chat.errors import ConfigError, InputError
from tui_chat.files import input_name, make_private_folder, read_toml_text, write_text

Changes = Mapping[Sequence[str], object]
"""Values by their path of keys: `{("endpoints", "work", "key"): "env:KEY"}`; None removes one."""


def change_config(path: Path, changes: Changes, defaults: Config) -> None:
    """Change values of a configuration file, which need not exist.

    Raises ConfigError and InputError, and leaves the file as it was, if it has a fault before or
    after the changes.
    """
    name = input_name(path)
    text = read_toml_text(path) if path.exists() else ""
    parse_config(text, name, defaults)  # says where a fault is
    new_text = changed_toml(text, changes)
    parse_config(new_text, name, defaults)
    try:
        make_private_folder(path.parent)
    except OSError as error:
        raise InputError(f"{path.parent} cannot be created: {error.strerror}") from error
    write_text(new_text, path)


def changed_toml(text: str, changes: Changes) -> str:
    """Return a TOML text with changed values. Raises ConfigError for a value in a table's place."""
    import tomlkit  # few starts change the file

    document = tomlkit.parse(text)
    for steps, value in changes.items():
        _change(cast("MutableMapping[str, Any]", document), steps, value)
    return tomlkit.dumps(document)


def _change(table: MutableMapping[str, Any], steps: Sequence[str], value: object) -> None:
    import tomlkit

    for depth, step in enumerate(steps[:-1]):
        if step not in table:
            if value is None:
                return
            # Only the last table gets a header: [endpoints.work], not [endpoints] before it.
            table[step] = tomlkit.table(is_super_table=depth < len(steps) - 2)
        inner = table[step]
        if not isinstance(inner, MutableMapping):
            raise ConfigError(f"{'.'.join(steps[: depth + 1])} must be a table.")
        table = cast("MutableMapping[str, Any]", inner)
    if value is None:
        table.pop(steps[-1], None)
    else:
        table[steps[-1]] = value
