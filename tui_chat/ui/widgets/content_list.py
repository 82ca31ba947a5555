"""A list whose rows are one line of styled text with a fact at the right end."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import ClassVar, Protocol, TypeVar

from textual.content import Content
from textual.strip import Strip
from textual.visual import RenderOptions

from tui_chat.ui.widgets.row_list import RowList

LABEL = "$label"
"""The style of what is not content: facts, roles, headings."""
_GROUNDS = {
    "cursor": "on $foreground 8%",
    "cursor with focus": "on $primary 30%",
    "hover": "on $foreground 5%",
    "selected": "on $accent 20%",
    "lit": "on $origin-preset 25%",
}


class ContentList(RowList):
    """Draws the rows that are in sight; the cursor's row has a ground, and a bar with the focus."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"content-list--empty"}
    DEFAULT_CSS = """
    ContentList {
        height: 1fr;
        & .content-list--empty { color: $label; }
    }
    """

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__("content-list", id=id)

    def row_content(self, row: int) -> tuple[Content, Content]:
        """Return a row's text, which is cut if need be, and its fact, which never is."""
        raise NotImplementedError

    def room_beside(self, fact: Content) -> int:
        """Return the cells for the text of a row with a fact."""
        return max(self.scrollable_content_region.width - fact.cell_length - 3, 1)

    def draw_line(self, line: int, width: int) -> Strip:
        if width < 1 or not 0 <= line < self.row_count:
            return Strip.blank(max(width, 0), self.palette())
        text, fact = self.row_content(line)
        ground = self.emphasis(line)
        # `has_focus` changes only after `on_blur`, and `screen.focused` before it.
        if ground == "cursor" and self.screen.focused is self:
            ground = "cursor with focus"
        shown = (text.plain, *text.spans, fact.plain, *fact.spans, width, ground)
        return self.strip(shown, lambda: self._painted(text, fact, width, ground))

    def _painted(self, text: Content, fact: Content, width: int, ground: str) -> Strip:
        room = max(width - fact.cell_length - 3, 1)
        bar = "▌" if ground == "cursor with focus" else " "
        if ground in ("cursor with focus", "lit"):  # there only content is read well
            text, fact = text.stylize("$foreground"), fact.stylize("$foreground")
        left = text.truncate(room, ellipsis=True, pad=True)
        row = Content.assemble((bar, "$primary"), left, " ", fact, " ")
        if ground:
            row = row.stylize_before(_GROUNDS[ground])
        options = RenderOptions(self._get_style, {"text_wrap": "nowrap"})
        [strip] = row.truncate(width).render_strips(width, 1, self.visual_style, options)
        return strip.adjust_cell_length(width, self.palette())

    def on_focus(self) -> None:
        self.refresh_changed()

    def on_blur(self) -> None:
        self.refresh_changed()


class Leveled(Protocol):
    """A row with what is below it."""

    @property
    def level(self) -> int:
        """0 for a heading; what is below a row has a higher level."""
        ...


LeveledT = TypeVar("LeveledT", bound=Leveled)


def unfolded(rows: Iterable[LeveledT], is_folded: Callable[[LeveledT], bool]) -> Iterator[LeveledT]:
    """Yield the rows that are not below a folded one."""
    folded_level: int | None = None
    for row in rows:
        if folded_level is None or row.level <= folded_level:
            folded_level = row.level if is_folded(row) else None
            yield row
