"""Which panes are open and how wide they are, as it is remembered between starts."""

from __future__ import annotations

import json
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, cast

from tui_chat.errors import InputError
from tui_chat.files import write_private
from tui_chat.lazy_dataclass import dataclass

SideArea = Literal["sessions", "presets", "inspector"]
SIDE_AREAS: tuple[SideArea, ...] = ("sessions", "presets", "inspector")

MAX_COLUMNS = 1_000
_MAX_SIZE = 10_000
"""Bytes of the file that are read."""


@dataclass(frozen=True, slots=True)
class PaneLayout:
    """Panes and their widths in columns; None for a width that depends on the terminal."""

    closed: frozenset[SideArea] = frozenset({"presets"})
    """Panes that the user closed."""
    requested: SideArea | None = None
    """The pane that was opened last where not all fit."""
    left: int | None = None
    """The width of the session list."""
    right: int | None = None
    """The width of preset editor and inspector."""


def read_layout(path: Path) -> PaneLayout:
    """Return the layout of a file; the default one as far as the file does not say."""
    try:
        with path.open(encoding="utf-8") as file:
            saved: Any = json.loads(file.read(_MAX_SIZE))
    except (OSError, ValueError, RecursionError):
        return PaneLayout()
    if not isinstance(saved, dict):
        return PaneLayout()
    values = cast("dict[str, Any]", saved)
    closed, requested = values.get("closed"), values.get("requested")
    return PaneLayout(
        closed=frozenset(name for name in SIDE_AREAS if name in cast("Collection[Any]", closed))
        if isinstance(closed, list)
        else PaneLayout().closed,
        requested=next((name for name in SIDE_AREAS if name == requested), None),
        left=_columns(values.get("left")),
        right=_columns(values.get("right")),
    )


def write_layout(path: Path, layout: PaneLayout) -> None:
    """Write a layout. If it cannot be written, the next start has the one before."""
    values = {
        "closed": sorted(layout.closed),
        "requested": layout.requested,
        "left": layout.left,
        "right": layout.right,
    }
    with suppress(InputError):
        write_private(json.dumps(values) + "\n", path)


def _columns(value: object) -> int | None:
    if isinstance(value, int) and not isinstance(value, bool) and 0 < value <= MAX_COLUMNS:
        return value
    return None
