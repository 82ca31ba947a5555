"""Reading a TOML file that anybody may have written: settings, or a theme from elsewhere."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any, cast

from tui_chat.errors import ConfigError, InputError
from tui_chat.files import read_file

_LARGEST = 2**20
"""Bytes of a TOML file; no settings need more."""
_MOST_DOTS = 500
"""Dots in one line. `tomllib` takes a minute for a key with 50,000 (`a.a.a = 1`)."""
_DEEPEST = 50
"""Levels of tables and arrays in a TOML file."""


def read_toml(path: Path) -> dict[str, Any]:
    """Return the tables of a TOML file.

    Raises ConfigError, which names file and fault: a file that cannot be read, is no regular file,
    is larger than 1 MiB, is not TOML, or is nested so deeply that Python gives up on it.
    """
    try:
        text = read_file(path, _LARGEST).decode("utf-8")
        if any(line.count(".") > _MOST_DOTS for line in text.split("\n")):
            raise ConfigError(f"{path}: {_TOO_DEEP}")
        table = tomllib.loads(text)
    except InputError as error:
        raise ConfigError(str(error), advice=error.advice) from None
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: is not TOML, which is UTF-8 text: {error}") from None
    except RecursionError:
        raise ConfigError(f"{path}: {_TOO_DEEP}") from None
    except ValueError as error:  # TOMLDecodeError, and a number of too many digits
        raise ConfigError(f"{path}: is not TOML: {error}") from None
    level: list[Any] = [table]
    for _ in range(_DEEPEST):
        level = [child for value in level for child in _children(value)]
    if level:
        raise ConfigError(f"{path}: {_TOO_DEEP}")
    return table


_TOO_DEEP = f"is nested too deeply; {_DEEPEST} levels are the most"


def _children(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(cast("dict[str, Any]", value).values())
    return cast("list[Any]", value) if isinstance(value, list) else []
