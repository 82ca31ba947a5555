"""Paints rows: the names of styles become colors of the theme, and the row a strip."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from rich.segment import Segment
from textual.content import Content
from textual.strip import Strip
from textual.style import Style

if TYPE_CHECKING:
    from tui_chat.ui.chat.rows import Row

STYLES = {
    "user-bar": "$primary",
    "bar": "$origin-history 70%",
    "cursor": "on $primary 12%",
    "speaker-user": "bold $text-primary",
    "speaker-assistant": "bold $text-accent",
    "speaker-small": "bold $label",
    "meta": "$label",
    "quiet": "$label",
    "live": "$success",
    "reasoning": "italic $label",
    "fold": "$label",
    "fold-mark": "$text-accent",
    "strong": "bold",
    "emphasis": "italic",
    "strike": "strike",
    "code": "$text-warning on $foreground 8%",
    "link": "underline $text-primary",
    "citation": "$text-accent",
    "url": "$label",
    "heading": "bold $text-secondary",
    "heading-first": "bold underline $text-primary",
    "heading-second": "bold $text-primary",
    "quote": "$label",
    "quote-bar": "$foreground 30%",
    "rule": "$foreground 20%",
    "list-mark": "$text-accent",
    "table-head": "bold",
    "table-line": "$foreground 30%",
    "warning": "$text-warning",
    "error": "$text-error",
    "key": "bold $text-primary",
    "button": "$foreground",
    "hit": "$background on $warning",
    "hit-here": "bold $background on $accent",
    "code-block": "on $foreground 5%",
    "code-label": "$label",
    "code-copy": "$label",
    "added": "$text-secondary",
    "tool": "bold $foreground",
    "answered": "$text-success",
    "awaiting": "$text-warning",
    "pinned": "$text-warning",
    "muted": "$label",
    "muted-mark": "$text-warning",
    "siblings": "$label",
    "arrow": "bold $text-accent",
    "code-text": "$foreground",
    "code-comment": "italic $label",
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
GUTTER = 3
"""Cells to the left of the text: a blank, the mark in the color of the author, a blank."""
TEXT_WIDTH = 108
"""Maximum cells of text in a row; longer rows are hard to read."""


def text_width(view_width: int) -> int:
    """Return the width in cells at which text is laid out; a blank stays at its right."""
    return max(min(view_width - GUTTER - 1, TEXT_WIDTH), 8)


class MessageLook(NamedTuple):
    """The look of a message besides its rows."""

    bar: str
    """The style of the mark at its left."""
    is_current: bool
    """True under the cursor of a conversation with the focus."""
    is_highlighted: bool
    """True if another pane's cursor is on what came from it."""
    is_muted: bool


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
        self, row: Row, width: int, hits: Sequence[tuple[int, int, bool]], look: MessageLook
    ) -> Strip:
        """Paint a row of a message on a screen of this width; `hits` are the words found."""
        is_lit = look.is_current or look.is_highlighted
        ground = "cursor" if look.is_current and not row.is_bare else ""
        sign = "   " if row.is_bare else " ▌ " if is_lit else " ▎ "
        content = row.content
        if look.is_muted:
            marks = [span for span in content.spans if span.style == "muted-mark"]
            content = content.stylize("muted").add_spans(marks)
        for start, end, is_here in hits:
            content = content.stylize("hit-here" if is_here else "hit", start, end)
        room = text_width(width)
        if row.ground:
            free = max(room - content.cell_length, 0)
            content = content.pad_right(free).stylize_before(row.ground)
        strip = Strip(
            [
                *self.segments(Content.styled(sign[:2], look.bar)),
                *self.segments(Content(sign[2:]), ground),
                *self.segments(content, ground),
            ]
        )
        edge = self.segments(Content(" "), ground)[0].style
        strip = strip.adjust_cell_length(min(GUTTER + room, width), edge)
        return strip.adjust_cell_length(width, self._base.rich_style)

    def plain(self, content: Content, width: int) -> Strip:
        """Paint a row that belongs to no message."""
        segments = self.segments(content.pad_left(GUTTER))
        return Strip(segments).adjust_cell_length(width, self._base.rich_style)
