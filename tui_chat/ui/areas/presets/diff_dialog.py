"""A dialog with the difference of two presets, as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import unified_diff
from typing import cast

from rich.text import Text
from textual.app import App, ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.widgets import Static

from tui_chat.models.sanitize import sanitize
from tui_chat.ui.dialogs.base import Dialog, set_title

_MOST_LINES = 2_000


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
        """Lay out the box."""
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
        variables = cast("App[None]", self.app).theme_variables  # pyright: ignore[reportUnknownMemberType] Textual types it App[Unknown]
        colours = {"+": variables.get("text-success", ""), "-": variables.get("text-error", "")}
        for line in self._found[:_MOST_LINES]:
            shown = sanitize(line)
            if line.startswith("@@"):
                text.append("⋯\n", style="dim")
            else:
                # Theme colours may carry an opacity, which is not a style's.
                style = colours.get(line[:1], "").split(" ")[0]
                text.append(shown + "\n", style=style if style.startswith("#") else "")
        if len(self._found) > _MOST_LINES:
            text.append(f"and {len(self._found) - _MOST_LINES:,} lines more\n", style="dim")
        return text if self._found else Text("They are the same.")
