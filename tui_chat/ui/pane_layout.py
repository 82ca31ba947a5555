"""Which panes are open and how wide they are, as it is remembered between starts."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
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

    opened: tuple[SideArea, ...] = ("inspector",)
    """The panes beside the conversation that are open, the one that was opened last at the end."""
    left: int | None = None
    """The width of the session list."""
    right: int | None = None
    """The width of preset editor and inspector."""
    is_first: bool = True
    """True until the app is started with a session: then the session list opens."""

    def opening(self, name: SideArea) -> PaneLayout:
        """Return the layout after a pane was opened."""
        return replace(self, opened=(*self.closing(name).opened, name))

    def closing(self, name: SideArea) -> PaneLayout:
        """Return the layout after a pane was closed."""
        return replace(self, opened=tuple(each for each in self.opened if each != name))

    def with_sessions(self) -> PaneLayout:
        """Return the layout at the first start that has a session."""
        return replace(self, opened=("sessions", *self.closing("sessions").opened), is_first=False)


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
    opened, default = values.get("open"), PaneLayout()
    if isinstance(opened, list):
        names = dict.fromkeys(name for name in cast("list[Any]", opened) if isinstance(name, str))
        default = PaneLayout(tuple(name for name in names if name in SIDE_AREAS))
    return replace(
        default,
        left=_columns(values.get("left")),
        right=_columns(values.get("right")),
        is_first=values.get("first") is not False,
    )


def write_layout(path: Path, layout: PaneLayout) -> None:
    """Write a layout. If it cannot be written, the next start has the one before."""
    values = {
        "open": layout.opened,
        "left": layout.left,
        "right": layout.right,
        "first": layout.is_first,
    }
    with suppress(InputError):
        write_private(json.dumps(values) + "\n", path)


def _columns(value: object) -> int | None:
    if isinstance(value, int) and not isinstance(value, bool) and 0 < value <= MAX_COLUMNS:
        return value
    return None
