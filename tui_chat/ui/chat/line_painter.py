"""Paints laid-out lines: `TextLine`s become Textual strips in the theme's colors.

The style sheet has a component class for each style name, in the theme's colors.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from tui_chat.ui.chat.text_lines import TextRun, width_of

if TYPE_CHECKING:
    from tui_chat.ui.chat.text_lines import TextLine
    from tui_chat.ui.widgets.component_styles import ComponentStyles

CSS = """
Transcript {
    height: 1fr;
    overflow-y: scroll;

    & .transcript--user { background: $primary 9%; }
    & .transcript--user-bar { color: $primary 60%; }
    & .transcript--cursor { background: $accent 5%; }
    & .transcript--cursor-bar { color: $accent; text-style: bold; }
    & .transcript--speaker-user { color: $text-primary; text-style: bold; }
    & .transcript--speaker-assistant { color: $text-accent; text-style: bold; }
    & .transcript--speaker-small { color: $foreground 67%; text-style: bold; }
    & .transcript--meta { color: $foreground 67%; }
    & .transcript--quiet { color: $foreground 72%; }
    & .transcript--live { color: $success; }
    & .transcript--reasoning { color: $foreground 72%; text-style: italic; }
    & .transcript--fold { color: $foreground 72%; }
    & .transcript--fold-mark { color: $text-accent; }
    & .transcript--strong { text-style: bold; }
    & .transcript--emphasis { text-style: italic; }
    & .transcript--strike { text-style: strike; }
    & .transcript--code { color: $text-warning; background: $foreground 8%; }
    & .transcript--link { color: $text-primary; text-style: underline; }
    & .transcript--citation { color: $text-accent; }
    & .transcript--url { color: $foreground 67%; }
    & .transcript--heading { color: $text-secondary; text-style: bold; }
    & .transcript--heading-first { color: $text-primary; text-style: bold underline; }
    & .transcript--heading-second { color: $text-primary; text-style: bold; }
    & .transcript--quote { color: $foreground 70%; }
    & .transcript--quote-bar { color: $foreground 30%; }
    & .transcript--rule { color: $foreground 20%; }
    & .transcript--list-mark { color: $text-accent; }
    & .transcript--table-head { text-style: bold; }
    & .transcript--table-line { color: $foreground 30%; }
    & .transcript--warning { color: $text-warning; }
    & .transcript--error { color: $text-error; }
    & .transcript--warning-box { background: $warning 10%; }
    & .transcript--error-box { background: $error 12%; }
    & .transcript--box-text { color: $foreground; }
    & .transcript--box-advice { color: $foreground 70%; }
    & .transcript--key { color: $foreground; background: $foreground 18%; text-style: bold; }
    & .transcript--button { color: $foreground; }
    & .transcript--hit { color: $background; background: $warning; }
    & .transcript--hit-here { color: $background; background: $accent; text-style: bold; }
    & .transcript--new-text {
        color: $button-color-foreground;
        background: $primary;
        text-style: bold;
    }
    & .transcript--code-block { background: $foreground 5%; }
    & .transcript--code-label { color: $foreground 67%; }
    & .transcript--code-copy { color: $foreground 67%; }
    & .transcript--added { color: $text-secondary; }
    & .transcript--tool { color: $foreground; text-style: bold; }
    & .transcript--answered { color: $text-success; }
    & .transcript--awaiting { color: $text-warning; }
    & .transcript--pinned { color: $text-warning; }
    & .transcript--muted { color: $foreground 55%; }
    & .transcript--muted-mark { color: $text-warning; }
    & .transcript--siblings { color: $foreground 72%; }
    & .transcript--arrow { color: $text-accent; text-style: bold; }
    & .transcript--code-text { color: $foreground; }
    & .transcript--code-comment { color: $foreground 67%; text-style: italic; }
    & .transcript--code-keyword { color: $text-accent; }
    & .transcript--code-string { color: $text-success; }
    & .transcript--code-number { color: $text-warning; }
    & .transcript--code-name { color: $text-primary; }
    & .transcript--code-class { color: $text-primary; text-style: bold; }
    & .transcript--code-builtin { color: $text-secondary; }
    & .transcript--code-inserted { color: $text-success; }
    & .transcript--code-deleted { color: $text-error; }
}
"""
"""The transcript's style sheet."""
GUTTER = 2
"""Cells to the left of the text, for the bar that marks user messages and the cursor."""
TEXT_WIDTH = 108
"""Maximum cells of text in a line; longer lines are hard to read."""
COLUMN_WIDTH = GUTTER + TEXT_WIDTH + GUTTER
"""Cells of the column that the text stands in, in a wide pane."""
_NEW_TEXT = " ↓ new text below "


COMPONENT_CLASSES: set[str] = set(re.findall(r"transcript--[a-z-]+", CSS))
"""Every style name that a run may have, prefixed."""


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
    at its right: the scroll bar, the strip of tokens.
    """
    left = max(pane_width - COLUMN_WIDTH, 0) // 2
    return ReadingColumn(left, min(COLUMN_WIDTH, view_width - left))


def paint_line(
    line: TextLine,
    column: ReadingColumn,
    width: int,
    fill: str,
    palette: ComponentStyles,
    *,
    is_current: bool,
    is_muted: bool = False,
) -> Strip:
    """Paint a line of a message in its column of a screen of this width; `fill` is the style of the
    message's background. A current message has the cursor's bar and background, a muted one is
    dimmed.
    """
    background = "" if line.bare else "cursor" if is_current else fill
    bar = "cursor-bar" if is_current else "user-bar" if fill else ""
    segments = [Segment(" " * column.left, palette())] if column.left else []
    segments.append(
        Segment("┃ " if is_current else "▌ ", palette(background, bar))
        if bar and not line.bare
        else Segment(" " * GUTTER, palette(background))
    )
    for run in line.runs:
        dims = is_muted and "muted-mark" not in run.styles
        styles = (*run.styles, "muted") if dims else run.styles
        segments.append(_segment(run, palette(background, line.fill, *styles)))
    strip = Strip(segments)
    if line.fill:
        filled = column.left + min(GUTTER + column.text_width, column.width)
        strip = strip.adjust_cell_length(filled, palette(background, line.fill))
    strip = strip.adjust_cell_length(column.left + column.width, palette(background))
    return strip.adjust_cell_length(width, palette())


def paint_new_text_mark(width: int, palette: ComponentStyles) -> Strip:
    """Paint the row that says that a reply goes on below the screen."""
    words = _NEW_TEXT if cell_len(_NEW_TEXT) <= width else "↓"
    left = (width - cell_len(words)) // 2
    style = palette("new-text") + Style.from_meta({"end": True})
    strip = Strip([Segment(" " * left, palette()), Segment(words, style)])
    return strip.adjust_cell_length(width, palette())


def paint_centered(
    lines: Sequence[TextLine], y: int, width: int, height: int, palette: ComponentStyles
) -> Strip:
    """Paint row `y` of a screen that shows only these lines, in its middle."""
    top = max((height - len(lines)) // 2 - 1, 0)
    if not top <= y < top + len(lines):
        return Strip.blank(width, palette())
    widest = max(width_of(line.runs) for line in lines)
    segments = [Segment(" " * max((width - widest) // 2, 0), palette())]
    segments += [_segment(run, palette(*run.styles)) for run in lines[y - top].runs]
    return Strip(segments).adjust_cell_length(width, palette())


def _segment(run: TextRun, style: Style) -> Segment:
    """Return a run as it is drawn, with what a click on it does."""
    if run.link:
        style += Style.from_meta({"link": run.link})
    elif run.action:
        style += Style.from_meta({"action": run.action})
    return Segment(run.text, style)
