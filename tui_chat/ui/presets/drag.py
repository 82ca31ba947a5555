"""Dragging a row with the mouse: from where it was pressed to the slot it would be put in."""

from __future__ import annotations

from dataclasses import dataclass

from tui_chat.library.editing import Outline, OutlineRow, Slot, slots_for
from tui_chat.ui.presets.lines import Lines


@dataclass(slots=True)
class Drag:
    """A row under the pressed mouse button. It is dragged once the mouse left it."""

    pressed: int
    """The row's number in the outline."""
    row: OutlineRow
    free: tuple[Slot, ...] | None = None
    """Where it may go; None while it is not dragged."""
    drop: tuple[int, Slot] | None = None
    """The line in front of which the slot is told, and the slot."""

    def begin(self, drawn: Outline) -> None:
        """Find out where the row may go."""
        if self.row.message is not None:
            self.free = slots_for(drawn, self.row.message)

    def to(self, line: int, share: float, lines: Lines) -> None:
        """Take the slot nearest to a line; at one border, the further left (`share` from 0 to
        1), the more outward.
        """
        near: dict[int, list[Slot]] = {}
        for slot in self.free or ():
            near.setdefault(lines.in_front_of(slot.row), []).append(slot)
        if near:
            at = min(near, key=lambda border: abs(border - line))
            here = near[at]
            self.drop = at, here[min(max(int(share * len(here)), 0), len(here) - 1)]
