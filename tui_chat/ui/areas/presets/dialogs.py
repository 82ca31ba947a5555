"""Dialogs of the preset editor: the difference of two presets, as JSON, and the report of an import
or an export, in which equal sentences are counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import unified_diff

from rich.text import Text
from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.widgets import Static

from tui_chat.models.envelope import Level
from tui_chat.models.sanitize import one_line, sanitize
from tui_chat.ui.dialogs.base import Dialog, set_title
from tui_chat.ui.widgets.typed_app import app_of

_MOST_SENTENCES = 500
_HEADINGS = {
    Level.ERROR: "Errors",
    Level.WARNING: "Changed or left out",
    Level.INFO: "For information",
}
_COLORS = {Level.ERROR: "text-error", Level.WARNING: "text-warning", Level.INFO: "text-primary"}
_MOST_LINES = 2_000


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
        with Vertical() as box:
            set_title(box, one_line(self._title, 100))
            with VerticalScroll():
                yield Static(self._text())
            yield Static("↑ ↓ scroll · Esc closes this", classes="hint")

    def on_mount(self) -> None:
        """Focus the lines, for keys to scroll."""
        self.query_one(VerticalScroll).focus()

    def _text(self) -> Text:
        variables = app_of(self).theme_variables
        text = Text()
        shown = 0
        for level, heading in _HEADINGS.items():
            counts = {words: n for (each, words), n in self._sentences.items() if each is level}
            if not counts:
                continue
            color = variables.get(_COLORS[level], "").split(" ")[0]
            text.append(f"{heading}\n", style=f"bold {color}" if color[:1] == "#" else "bold")
            for words, count in list(counts.items())[: _MOST_SENTENCES - shown]:
                times = f"{count:,} × " if count > 1 else ""
                text.append(f"· {times}{one_line(words, 400)}\n")
                shown += 1
        if more := len(self._sentences) - shown:
            text.append(f"and {more:,} more\n", style="dim")
        return text or Text(self._nothing)


def difference(before: str, after: str) -> list[str]:
    """Return the lines of a unified diff without its header; empty if the texts are equal."""
    return list(_lines(before.splitlines(), after.splitlines()))


def _lines(before: list[str], after: list[str]) -> Iterator[str]:
    for number, line in enumerate(unified_diff(before, after, lineterm="", n=2)):
        if number >= 2:  # skips the two file names
            yield line


class PresetDiff(Dialog[None]):
    """Shows the difference of two presets."""

    DEFAULT_CSS = """
    PresetDiff > Vertical { width: 110; height: 90%; }
    PresetDiff VerticalScroll { height: 1fr; max-height: 100%; }
    """

    def __init__(self, title: str, before: str, after: str) -> None:
        super().__init__()
        self._title = title
        self._found = difference(before, after)

    def compose(self) -> ComposeResult:
        with Vertical() as box:
            set_title(box, self._title)
            with VerticalScroll():
                yield Static(self._text())
            yield Static("Esc closes this", classes="hint")

    def on_mount(self) -> None:
        """Focus the lines, for keys to scroll."""
        self.query_one(VerticalScroll).focus()

    def _text(self) -> Text:
        text = Text()
        variables = app_of(self).theme_variables
        colors = {"+": variables.get("text-success", ""), "-": variables.get("text-error", "")}
        for line in self._found[:_MOST_LINES]:
            shown = sanitize(line)
            if line.startswith("@@"):
                text.append("⋯\n", style="dim")
            else:
                # Theme colors may carry an opacity, which is not a style's.
                style = colors.get(line[:1], "").split(" ")[0]
                text.append(shown + "\n", style=style if style.startswith("#") else "")
        if len(self._found) > _MOST_LINES:
            text.append(f"and {len(self._found) - _MOST_LINES:,} lines more\n", style="dim")
        return text if self._found else Text("They are the same.")
