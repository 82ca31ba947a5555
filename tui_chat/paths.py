"""Where files are: the user's in the folders that the system prescribes, bundled ones by the code.

Only names are made here; nothing is read and no folder is created. Whoever writes a file creates
its folder.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from platformdirs import PlatformDirs

_PACKAGE = Path(__file__).parent


def config_dir() -> Path:
    """Return the folder of `config.toml` and of the user's themes, presets and profiles."""
    return _platform_dirs().user_config_path


def data_dir() -> Path:
    """Return the folder of the database and its backups."""
    return _platform_dirs().user_data_path


def database_file(folder: Path | None = None) -> Path:
    """Return the database in a data folder, by default in the user's own."""
    return (folder or data_dir()) / "chat.db"


def bundled(folder: Literal["themes", "sample_presets"]) -> Path:
    """Return a folder that ships with the program.

    A wheel has it inside the package (`force-include` in pyproject.toml); a source checkout has it
    at its top. The folder is missing only from a damaged installation.
    """
    inside = _PACKAGE / "_bundled" / folder
    return inside if inside.is_dir() else _PACKAGE.parent / folder


def typed_path(typed: str) -> Path:
    """Return the absolute path that somebody typed, or dropped in quotes."""
    return expanded(Path(typed.strip().strip("'\""))).absolute()


def expanded(path: Path) -> Path:
    """Return a path with `~` expanded. `~name` stays as it is if there is no such user."""
    try:
        return path.expanduser()
    except RuntimeError:
        return path


@cache
def _platform_dirs() -> PlatformDirs:
    """Return the system's folders. Imported on first use: `--version` does not need them."""
    from platformdirs import PlatformDirs

    return PlatformDirs("tui-chat", appauthor=False)
