"""A field of a form that is on or off."""

from __future__ import annotations

from textual.content import Content
from textual.widgets import Checkbox


class CheckField(Checkbox):
    """A checkbox of one row, `[x]` or `[ ]`, whose size is the same with the focus.

    That of Textual tells on from off by its color alone, and its focus draws a frame.
    """

    DEFAULT_CSS = """
    CheckField {
        height: 1;
        border: none;
        padding: 0;
        background: transparent;
        &:focus { border: none; background: $primary 20%; background-tint: transparent; }
        &:focus > .toggle--label { color: $foreground; background: transparent; text-style: none; }
    }
    """

    def render(self) -> Content:
        return Content.assemble(f"[{'x' if self.value else ' '}] ", self.label)
