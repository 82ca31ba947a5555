"""The places of files: the user's in the system's standard folders, bundled ones beside the code.
Also the completion of typed paths.

No file is read and no folder is created here. Whoever writes a file creates its folder.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from platformdirs import PlatformDirs

CRASH_LOG = "crash.log"
"""The file in the data folder with the traceback of the last crash, or of the faults of plugins."""
PACKAGE = Path(__file__).parent


def config_dir() -> Path:
    """Return the folder of `config.toml` and of the user's themes, presets and profiles."""
    return platform_dirs().user_config_path


def data_dir() -> Path:
    """Return the folder of the database and its backups."""
    return platform_dirs().user_data_path


def database_file(folder: Path | None = None) -> Path:
    """Return the database in a data folder, by default in the user's own."""
    return (folder or data_dir()) / "chat.db"


def bundled(folder: Literal["themes", "sample_presets", "docs"]) -> Path:
    """Return a folder that ships with the program.

    A wheel has it inside the package (`force-include` in pyproject.toml); a source checkout has it
    at its top. The folder is missing only from a damaged installation.
    """
    inside = PACKAGE / "_bundled" / folder
    return inside if inside.is_dir() else PACKAGE.parent / folder


def typed_path(typed: str) -> Path:
    """Return the absolute path that somebody typed, or dropped in quotes."""
    return expanded(Path(typed.strip().strip("'\""))).absolute()


_LONGEST_PATH = 4_096


def expanded(path: Path) -> Path:
    """Return a path with `~` expanded. `~name` stays as it is if there is no such user."""
    try:
        return path.expanduser()
    except RuntimeError:
        return path


def path_completions(typed: str, here: Path, limit: int = 50) -> list[str]:
    """Return the paths that `typed` can be completed to, relative to the folder `here`.

    Folders end in `/`. Hidden files are listed only if the last part of `typed` begins with a dot.
    Names that begin with that part come before names that contain it.
    """
    folder, _, name = typed.rpartition("/")
    typed_folder = typed[: len(typed) - len(name)]
    start = expanded(Path(folder + "/" if typed_folder else ""))
    found = sorted(
        _matching_names(here / start, name), key=lambda path: (path[0], path[1].casefold())
    )
    return [typed_folder + path for _, path in found[:limit]]


def _matching_names(folder: Path, name: str) -> Iterator[tuple[bool, str]]:
    wanted = name.casefold()
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                own = entry.name.casefold()
                if entry.name.startswith(".") and not name.startswith("."):
                    continue
                if wanted in own and entry.name.isprintable():
                    try:
                        slash = "/" if entry.is_dir() else ""
                    except OSError:
                        slash = ""
                    yield not own.startswith(wanted), entry.name + slash
    except (OSError, ValueError):  # ValueError: a NUL in the path
        return


@cache
def platform_dirs() -> PlatformDirs:
    """Return the system's folders. Imported on first use: `--version` does not need them."""
    from platformdirs import PlatformDirs

    return PlatformDirs("tui-chat", appauthor=False)
