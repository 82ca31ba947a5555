"""Dialogs of the preset editor: the difference of two presets, as JSON, and the report of an import
or an export, in which equal sentences are counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from difflib import unified_diff

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from tui_chat.models.envelope import Level
from tui_chat.models.sanitize import one_line, sanitize
from tui_chat.ui.dialogs.base import Dialog, DialogBox, set_title
from tui_chat.ui.widgets.content_list import LABEL

_MOST_SENTENCES = 500
_HEADINGS = {
    Level.ERROR: ("Errors", "bold $text-error"),
    Level.WARNING: ("Changed or left out", "bold $text-warning"),
    Level.INFO: ("For information", "bold $text-primary"),
}
_MOST_LINES = 2_000


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
    """Return sentences under the headings of their levels, the worst first; `nothing` if there are
    none.
    """
    counts = Counter(sentences)
    pieces: list[tuple[str, str]] = []
    shown = 0
    for level, (heading, style) in _HEADINGS.items():
        own = [(words, count) for (each, words), count in counts.items() if each is level]
        if own:
            pieces.append((f"{heading}\n", style))
        for words, count in own[: _MOST_SENTENCES - shown]:
            times = f"{count:,} × " if count > 1 else ""
            pieces.append((f"· {times}{one_line(words, 400)}\n", ""))
            shown += 1
    if more := len(counts) - shown:
        pieces.append((f"and {more:,} more\n", LABEL))
    return Content.assemble(*pieces) if pieces else Content(nothing)


def difference(before: str, after: str) -> Content:
    """Return the lines that differ between two texts, with a few around them."""
    lines = list(unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=2))[2:]
    styles = {"+": "$text-success", "-": "$text-error"}
    pieces = [
        ("⋯\n", LABEL) if line[:2] == "@@" else (f"{sanitize(line)}\n", styles.get(line[:1], ""))
        for line in lines[:_MOST_LINES]
    ]
    if len(lines) > _MOST_LINES:
        pieces.append((f"and {len(lines) - _MOST_LINES:,} lines more\n", LABEL))
    return Content.assemble(*pieces) if pieces else Content("They are the same.")
