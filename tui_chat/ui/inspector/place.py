"""Where something is in a payload: by the nodes around it, and what a row shows there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tui_chat.models.json_tree import Tree
from tui_chat.models.text import Origin

Part = Literal["open", "close", "leaf"]


@dataclass(frozen=True, slots=True)
class Step:
    """A way down from a container to one of its children."""

    index: int
    key: str | None
    child: Tree


@dataclass(frozen=True, slots=True)
class Place:
    """A character of the pretty text, by the nodes around it."""

    steps: tuple[Step, ...]
    part: Part = "leaf"
    offset: int = 0
    """In characters of the line as drawn."""

    @property
    def pointer(self) -> str:
        """The node it is in, as a JSON pointer."""
        names = (str(s.index) if s.key is None else _escaped(s.key) for s in self.steps)
        return "".join(f"/{name}" for name in names)


@dataclass(frozen=True, slots=True)
class Spot:
    """What a row shows."""

    place: Place
    """Its first character."""
    line: int
    """The number of the pretty line, from 0."""
    row: int
    """Which of the line's rows it is, from 0."""
    depth: int
    node: Tree
    """The child the line belongs to; for opening and closing rows the container."""
    owner: Origin
    """Of the innermost container around it that somebody made."""
    last: bool
    """Whether no comma follows the node."""
    folded: int = 0
    """How many lines are folded away behind it."""


def _escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")
