"""The colours of the list, and how they are put on its pieces."""

from __future__ import annotations

from typing import ClassVar

from rich.segment import Segment
from textual.strip import Strip

from tui_chat.ui.presets.look import Piece
from tui_chat.ui.widgets.palette import Palette
from tui_chat.ui.widgets.thin_scroll import ThinScrollView

STYLES = (
    "unsaved", "box", "off", "system", "user", "assistant", "tool", "info", "warning", "error",
    "place", "tokens", "name", "preview", "anchor", "line", "ghost", "cursor", "hover", "lit",
    "drop", "empty",
)  # fmt: skip


class Coloured(ThinScrollView):
    """A list whose lines are pieces of text with the names of their styles."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {f"preset-rows--{name}" for name in STYLES}
    DEFAULT_CSS = """
    Coloured {
        height: 1fr;
        min-height: 3;
        & .preset-rows--unsaved { color: $text-warning; text-style: bold; }
        & .preset-rows--box { color: $foreground 72%; }
        & .preset-rows--off { color: $foreground 72%; }
        & .preset-rows--system { color: $origin-system; }
        & .preset-rows--user { color: $origin-draft; }
        & .preset-rows--assistant { color: $origin-profile; }
        & .preset-rows--tool { color: $foreground 72%; }
        & .preset-rows--info { color: $foreground 72%; }
        & .preset-rows--warning { color: $text-warning; }
        & .preset-rows--error { color: $text-error; text-style: bold; }
        & .preset-rows--place { color: $origin-preset; }
        & .preset-rows--tokens { color: $foreground 72%; }
        & .preset-rows--name { color: $foreground; }
        & .preset-rows--preview { color: $foreground 72%; }
        & .preset-rows--anchor { color: $text-primary; text-style: bold; }
        & .preset-rows--line { color: $foreground 25%; }
        & .preset-rows--ghost { color: $foreground 67%; text-style: italic; }
        & .preset-rows--hover { background: $foreground 5%; }
        & .preset-rows--cursor { background: $foreground 9%; }
        &:focus .preset-rows--cursor { background: $primary 20%; }
        & .preset-rows--lit { background: $origin-preset 25%; }
        & .preset-rows--drop { color: $text-accent; text-style: bold; }
        & .preset-rows--empty { color: $foreground 72%; }
    }
    """

    def __init__(self) -> None:
        super().__init__()
        self.palette = Palette(self, "preset-rows")

    def notify_style_update(self) -> None:
        """Forget the colours of the old theme, or of the other focus."""
        self.palette.clear()
        super().notify_style_update()

    def strip(self, pieces: list[Piece], width: int, lit: str) -> Strip:
        """Return a line as wide as `width`; `lit` names the style of its ground, if any."""
        strip = Strip([Segment(text, self.palette(lit, name)) for text, name in pieces if text])
        return strip.adjust_cell_length(width, self.palette(lit))
