"""New databases without their migrations: copies of one that was migrated once."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from tui_chat.store.schema import prepare


def provide_database(path: Path) -> Path:
    """Put an empty database of the present version at `path` unless there is a file; return it."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(0o600)
        path.write_bytes(_migrated())
    return path


@cache
def _migrated() -> bytes:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "chat.db"
        prepare(path, now=0.0, busy_timeout=1.0)
        return path.read_bytes()
