"""Paints rows: the names of styles become colors of the theme, and the row a strip."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from rich.segment import Segment
from textual.content import Content
from textual.strip import Strip
from textual.style import Style

from tui_chat.ui.chat.rows import clipped

if TYPE_CHECKING:
    from tui_chat.ui.chat.rows import Row

STYLES = {
    "user": "on $primary 9%",
    "user-bar": "$primary 60%",
    "cursor": "on $accent 5%",
    "cursor-bar": "bold $accent",
    "speaker-user": "bold $text-primary",
    "speaker-assistant": "bold $text-accent",
    "speaker-small": "bold $foreground 67%",
    "meta": "$foreground 67%",
    "quiet": "$foreground 72%",
    "live": "$success",
    "reasoning": "italic $foreground 72%",
    "fold": "$foreground 72%",
    "fold-mark": "$text-accent",
    "strong": "bold",
    "emphasis": "italic",
    "strike": "strike",
    "code": "$text-warning on $foreground 8%",
    "link": "underline $text-primary",
    "citation": "$text-accent",
    "url": "$foreground 67%",
    "heading": "bold $text-secondary",
    "heading-first": "bold underline $text-primary",
    "heading-second": "bold $text-primary",
    "quote": "$foreground 70%",
    "quote-bar": "$foreground 30%",
    "rule": "$foreground 20%",
    "list-mark": "$text-accent",
    "table-head": "bold",
    "table-line": "$foreground 30%",
    "warning": "$text-warning",
    "error": "$text-error",
    "warning-box": "on $warning 10%",
    "error-box": "on $error 12%",
    "box-text": "$foreground",
    "box-advice": "$foreground 70%",
    "key": "bold $foreground on $foreground 18%",
    "button": "$foreground",
    "hit": "$background on $warning",
    "hit-here": "bold $background on $accent",
    "new-text": "bold $button-color-foreground on $primary",
    "code-block": "on $foreground 5%",
    "code-label": "$foreground 67%",
    "code-copy": "$foreground 67%",
    "added": "$text-secondary",
    "tool": "bold $foreground",
    "answered": "$text-success",
    "awaiting": "$text-warning",
    "pinned": "$text-warning",
    "muted": "$foreground 55%",
    "muted-mark": "$text-warning",
    "siblings": "$foreground 72%",
    "arrow": "bold $text-accent",
    "code-text": "$foreground",
    "code-comment": "italic $foreground 67%",
    "code-keyword": "$text-accent",
    "code-string": "$text-success",
    "code-number": "$text-warning",
    "code-name": "$text-primary",
    "code-class": "bold $text-primary",
    "code-builtin": "$text-secondary",
    "code-inserted": "$text-success",
    "code-deleted": "$text-error",
}
"""The style of each name, as in Textual's markup."""
GUTTER = 2
"""Cells to the left of the text, for the bar that marks user messages and the cursor."""
TEXT_WIDTH = 108
"""Maximum cells of text in a row; longer rows are hard to read."""
COLUMN_WIDTH = GUTTER + TEXT_WIDTH + GUTTER
"""Cells of the column that the text stands in, in a wide pane."""


class ReadingColumn(NamedTuple):
    """The column that the text stands in: all of a narrow pane, the middle of a wide one."""

    left: int
    """Cells to its left."""
    width: int
    """Its cells, with the gutter."""

    @property
    def text_width(self) -> int:
        """The width in cells at which text is laid out."""
        return max(min(self.width - GUTTER - 1, TEXT_WIDTH), 8)


def reading_column(pane_width: int, view_width: int) -> ReadingColumn:
    """Return the column in the middle of a pane. The view is narrower than the pane by what stands
    at its right, such as the scroll bar.
    """
    left = max(pane_width - COLUMN_WIDTH, 0) // 2
    return ReadingColumn(left, min(COLUMN_WIDTH, view_width - left))


class Painter:
    """Paints rows on a ground, whose style is `base`, with the styles that `parse` returns."""

    def __init__(self, base: Style, parse: Callable[[str], Style]) -> None:
        self._base, self._parse = base, parse
        self._styles: dict[str, Style] = {}

    def style(self, name: str | Style) -> Style:
        """Return the style of a name; a style is one already."""
        if isinstance(name, Style):
            return name
        if name not in self._styles:
            self._styles[name] = self._parse(STYLES[name]) if STYLES.get(name) else Style()
        return self._styles[name]

    def blank(self, width: int) -> Strip:
        """Return an empty row."""
        return Strip.blank(width, self._base.rich_style)

    def segments(self, content: Content, *grounds: str) -> list[Segment]:
        """Return text on grounds over each other."""
        base = Style.combine([self._base, *(self.style(ground) for ground in grounds if ground)])
        return [
            Segment(text, style.rich_style)
            for text, style in content.render(base, end="", parse_style=self.style)
        ]

    def row(
        self,
        row: Row,
        column: ReadingColumn,
        width: int,
        ground: str,
        hits: Sequence[tuple[int, int, bool]],
        *,
        is_current: bool,
        is_muted: bool,
    ) -> Strip:
        """Paint a row of a message in its column of a screen of this width; `ground` is that of the
        message, `hits` are the words found. A current message has the cursor's bar and ground, a
        muted one is dimmed.
        """
        below = "" if row.is_bare else "cursor" if is_current else ground
        bar = "cursor-bar" if is_current else "user-bar" if ground else ""
        sign = ("┃ " if is_current else "▌ ") if bar and not row.is_bare else " " * GUTTER
        content = row.content
        if is_muted:
            marks = [span for span in content.spans if span.style == "muted-mark"]
            content = content.stylize("muted").add_spans(marks)
        for start, end, is_here in hits:
            content = content.stylize("hit-here" if is_here else "hit", start, end)
        if row.ground:
            free = min(column.text_width, column.width - GUTTER) - content.cell_length
            content = content.pad_right(max(free, 0)).stylize_before(row.ground)
        strip = Strip(
            [
                *self.segments(Content(" " * column.left)),
                *self.segments(Content.styled(sign, bar), below),
                *self.segments(content, below),
            ]
        )
        edge = self.segments(Content(" "), below)[0].style
        strip = strip.adjust_cell_length(column.left + column.width, edge)
        return strip.adjust_cell_length(width, self._base.rich_style)

    def new_text_mark(self, width: int) -> Strip:
        """Paint the row that says that a reply goes on below the screen."""
        words = clipped(" ↓ new text below ", width)
        style = self.style("new-text") + Style.from_meta({"end": True})
        text = Content.styled(words, style).center(width)
        return Strip(self.segments(text)).adjust_cell_length(width, self._base.rich_style)

    def centered(self, rows: Sequence[Row], y: int, width: int, height: int) -> Strip:
        """Paint row `y` of a screen that shows only these rows, in its middle."""
        top = max((height - len(rows)) // 2 - 1, 0)
        if not top <= y < top + len(rows):
            return self.blank(width)
        widest = max(row.content.cell_length for row in rows)
        text = rows[y - top].content.pad_left(max((width - widest) // 2, 0))
        return Strip(self.segments(text)).adjust_cell_length(width, self._base.rich_style)
