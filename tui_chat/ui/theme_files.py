"""Theme files while the program runs: which was chosen, and what has changed on disk."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from tui_chat.files import make_private_folder

State = tuple[tuple[str, int, int], ...]
"""Path, time of change and size of each theme file."""


def files_now(folders: Iterable[Path]) -> State:
    """Return how the theme files are now; equal while none was touched."""
    found: list[tuple[str, int, int]] = []
    for folder in folders:
        try:
            for path in folder.glob("*.toml"):
                about = path.stat()
                found.append((str(path), about.st_mtime_ns, about.st_size))
        except OSError:  # a file that goes away meanwhile will be seen next time
            continue
    return tuple(sorted(found))


def chosen_theme(note: Path, configured: str) -> str:
    """Return the theme that was chosen on the screen, else the configured one.

    A choice holds until the configuration names another theme than it did then.
    """
    try:
        chosen, then = note.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError):  # UnicodeDecodeError is one
        return configured
    return chosen if then == configured and chosen else configured


def keep_choice(note: Path, chosen: str, configured: str) -> None:
    """Remember a choice; where that cannot be, the next start has the configured theme."""
    try:
        make_private_folder(note.parent)
        note.write_text(f"{chosen}\n{configured}\n", encoding="utf-8")
    except OSError:
        return
