"""A dialog with what an import or an export changed or left out; equal sentences are counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import cast

from rich.text import Text
from textual.app import App, ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.widgets import Static

from tui_chat.models.envelope import Level
from tui_chat.models.sanitize import one_line
from tui_chat.ui.dialogs.base import Dialog, set_title

_MOST_SENTENCES = 500
_HEADINGS = {
    Level.ERROR: "Errors",
    Level.WARNING: "Changed or left out",
    Level.INFO: "For information",
}
_COLOURS = {Level.ERROR: "text-error", Level.WARNING: "text-warning", Level.INFO: "text-primary"}


class ReportDialog(Dialog[None]):
    """Shows sentences, the worst first."""

    DEFAULT_CSS = """
    ReportDialog > Vertical { width: 110; max-height: 90%; }
    ReportDialog VerticalScroll { height: auto; max-height: 100%; }
    """

    def __init__(self, title: str, sentences: Sequence[tuple[Level, str]], nothing: str) -> None:
        super().__init__()
        self._title = title
        self._sentences = Counter(sentences)
        self._nothing = nothing

    def compose(self) -> ComposeResult:
        """Lay out the box."""
        with Vertical() as box:
            set_title(box, one_line(self._title, 100))
            with VerticalScroll():
                yield Static(self._text())
            yield Static("↑ ↓ scroll · Esc closes this", classes="hint")

    def on_mount(self) -> None:
        """Focus the lines, for keys to scroll."""
        self.query_one(VerticalScroll).focus()

    def _text(self) -> Text:
        variables = cast("App[None]", self.app).theme_variables  # pyright: ignore[reportUnknownMemberType] Textual types it App[Unknown]
        text = Text()
        shown = 0
        for level, heading in _HEADINGS.items():
            found = {words: n for (each, words), n in self._sentences.items() if each is level}
            if not found:
                continue
            colour = variables.get(_COLOURS[level], "").split(" ")[0]
            text.append(f"{heading}\n", style=f"bold {colour}" if colour[:1] == "#" else "bold")
            for words, count in list(found.items())[: _MOST_SENTENCES - shown]:
                times = f"{count:,} × " if count > 1 else ""
                text.append(f"· {times}{one_line(words, 400)}\n")
                shown += 1
        if more := len(self._sentences) - shown:
            text.append(f"and {more:,} more\n", style="dim")
        return text or Text(self._nothing)
