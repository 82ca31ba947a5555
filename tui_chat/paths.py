"""Where things live: the user's files by the rules of the system, ours beside the code.

Only names are made here; nothing is read and no directory is created, so asking is free of
effects. Who writes a file makes its directory.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Literal

_APP = "tui-chat"
_PACKAGE = Path(__file__).parent


def config_dir() -> Path:
    """Return where the user writes: `config.toml`, own themes, own presets."""
    return _system()[0]


def data_dir() -> Path:
    """Return where the program writes what it must not lose: the database and its backups."""
    return _system()[1]


def cache_dir() -> Path:
    """Return where things are that can be made again."""
    return _system()[2]


def config_file() -> Path:
    """Return the configuration that is read where no flag names another."""
    return config_dir() / "config.toml"


def database_file(folder: Path | None = None) -> Path:
    """Return the database in a data folder, the user's own where none is named."""
    return (folder or data_dir()) / "chat.db"


def user_themes() -> Path:
    """Return the folder of the user's own themes."""
    return config_dir() / "themes"


def user_presets() -> Path:
    """Return the folder of the user's own presets."""
    return config_dir() / "presets"


def bundled(folder: Literal["themes", "sample_presets"]) -> Path:
    """Return a folder that ships with the program.

    A wheel carries it inside the package (`force-include` in pyproject.toml); a source
    checkout has it at its top. The folder is missing only where an installation is damaged.
    """
    inside = _PACKAGE / "_bundled" / folder
    return inside if inside.is_dir() else _PACKAGE.parent / folder


def typed_path(typed: str) -> Path:
    """Return the path that somebody typed, or dropped in quotes, from the root on."""
    return expanded(Path(typed.strip().strip("'\""))).absolute()


def expanded(path: Path) -> Path:
    """Return a path with the home folder for `~`. `~name` stays as it is where that is nobody."""
    try:
        return path.expanduser()
    except RuntimeError:
        return path


@cache
def _system() -> tuple[Path, Path, Path]:
    """Ask the system once. The import waits until then: `--version` needs no directories."""
    from platformdirs import PlatformDirs

    dirs = PlatformDirs(_APP, appauthor=False)
    return dirs.user_config_path, dirs.user_data_path, dirs.user_cache_path
