"""The report of an import or an export of a preset, in which equal sentences are counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from tui_chat.models.envelope import Level
from tui_chat.models.sanitize import one_line
from tui_chat.ui.dialogs.base import Dialog, DialogBox, set_title
from tui_chat.ui.widgets.content_list import LABEL

_MOST_SENTENCES = 500
_SIGNS = {
    Level.ERROR: ("✗ ", "$text-error"),
    Level.WARNING: ("▲ ", "$text-warning"),
    Level.INFO: ("● ", "$text-accent"),
}
"""The signs of levels with their styles, the worst first."""


class TextDialog(Dialog[None]):
    """Shows a long text."""

    DEFAULT_CSS = """
    TextDialog > Vertical { width: 110; }
    """

    def __init__(self, title: str, text: Content) -> None:
        super().__init__()
        self._title, self._text = title, text

    def compose(self) -> ComposeResult:
        with DialogBox() as box:
            set_title(box, one_line(self._title, 100))
            with VerticalScroll():
                yield Static(self._text)
            yield Static("↑ ↓ scroll · Esc close", classes="hint")

    def on_mount(self) -> None:
        """Focus the lines, for keys to scroll."""
        self.query_one(VerticalScroll).focus()


def report(sentences: Sequence[tuple[Level, str]], nothing: str) -> Content:
    """Return sentences with the signs of their levels, the worst first; `nothing` if there are
    none.
    """
    order = [*_SIGNS]
    counts = sorted(Counter(sentences).items(), key=lambda each: order.index(each[0][0]))
    lines = [
        Content.assemble(_SIGNS[level], f"{count:,} × " * (count > 1), one_line(words, 400))
        for (level, words), count in counts[:_MOST_SENTENCES]
    ]
    if more := len(counts) - len(lines):
        lines.append(Content.styled(f"and {more:,} more", LABEL))
    return Content("\n").join(lines) if lines else Content(nothing)
