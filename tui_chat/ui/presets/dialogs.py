"""Dialogs of the preset editor: the difference of two presets, as JSON, and the report of an import
or an export, in which equal sentences are counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from difflib import unified_diff

from rich.text import Text
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.widgets import Static

from tui_chat.models.envelope import Level
from tui_chat.models.sanitize import one_line, sanitize
from tui_chat.ui.dialogs.base import Dialog, DialogBox, set_title
from tui_chat.ui.widgets.typed_app import app_of

_MOST_SENTENCES = 500
_HEADINGS = {
    Level.ERROR: "Errors",
    Level.WARNING: "Changed or left out",
    Level.INFO: "For information",
}
_COLORS = {Level.ERROR: "text-error", Level.WARNING: "text-warning", Level.INFO: "text-primary"}
_MOST_LINES = 2_000


class _TextDialog(Dialog[None]):
    """Shows a long text."""

    DEFAULT_CSS = """
    _TextDialog > Vertical { width: 110; }
    """

    def __init__(self, title: str) -> None:
        super().__init__()
        self._title = title

    def compose(self) -> ComposeResult:
        with DialogBox() as box:
            set_title(box, one_line(self._title, 100))
            with VerticalScroll():
                yield Static(self.text())
            yield Static("↑ ↓ scroll · Esc close", classes="hint")

    def on_mount(self) -> None:
        """Focus the lines, for keys to scroll."""
        self.query_one(VerticalScroll).focus()

    def text(self) -> Text:
        raise NotImplementedError

    def style(self, variable: str) -> str:
        """Return the style of a color of the theme, without its opacity, which is not a style's."""
        color = app_of(self).theme_variables.get(variable, "").split(" ")[0]
        return color if color.startswith("#") else ""


class ReportDialog(_TextDialog):
    """Shows sentences, the worst first."""

    def __init__(self, title: str, sentences: Sequence[tuple[Level, str]], nothing: str) -> None:
        super().__init__(title)
        self._sentences = Counter(sentences)
        self._nothing = nothing

    def text(self) -> Text:
        """Return the sentences under the headings of their levels."""
        text = Text()
        shown = 0
        for level, heading in _HEADINGS.items():
            counts = {words: n for (each, words), n in self._sentences.items() if each is level}
            if not counts:
                continue
            text.append(f"{heading}\n", style=f"bold {self.style(_COLORS[level])}".strip())
            for words, count in list(counts.items())[: _MOST_SENTENCES - shown]:
                times = f"{count:,} × " if count > 1 else ""
                text.append(f"· {times}{one_line(words, 400)}\n")
                shown += 1
        if more := len(self._sentences) - shown:
            text.append(f"and {more:,} more\n", style="dim")
        return text or Text(self._nothing)


class PresetDiff(_TextDialog):
    """Shows the difference of two presets."""

    def __init__(self, title: str, before: str, after: str) -> None:
        super().__init__(title)
        self._lines = difference(before, after)

    def text(self) -> Text:
        """Return the lines that differ, with a few around them."""
        text = Text()
        colors = {"+": "text-success", "-": "text-error"}
        for line in self._lines[:_MOST_LINES]:
            if line.startswith("@@"):
                text.append("⋯\n", style="dim")
            else:
                text.append(sanitize(line) + "\n", style=self.style(colors.get(line[:1], "")))
        if len(self._lines) > _MOST_LINES:
            text.append(f"and {len(self._lines) - _MOST_LINES:,} lines more\n", style="dim")
        return text if self._lines else Text("They are the same.")


def difference(before: str, after: str) -> list[str]:
    """Return the lines of a unified diff without its header; empty if the texts are equal."""
    lines = unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=2)
    return list(lines)[2:]  # without the two file names
