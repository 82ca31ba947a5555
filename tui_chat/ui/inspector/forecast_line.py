"""How much of the request a prompt cache can serve, and what breaks it off, in one line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.cells import cell_len
from textual.content import Content
from textual.message import Message
from textual.reactive import reactive

from tui_chat.ui.inspector.hostile import shown
from tui_chat.ui.inspector.row_wrapping import breaks
from tui_chat.ui.inspector.text_fitting import cut, short_number
from tui_chat.ui.widgets.one_pass import OnePassWidget

if TYPE_CHECKING:
    from tui_chat.analysis import Forecast

WHOLE = 64
"""Columns from which the line begins with whole figures."""


class ForecastLine(OnePassWidget):
    """A line or two; a click asks for the place where the request ceases to be as it was."""

    ALLOW_SELECT = False
    DEFAULT_CSS = """
    ForecastLine {
        height: 1;
        padding: 0 1;
        background: $surface;
        color: $foreground;
        display: none;
        &.-told { display: block; }
        &.-long { height: 2; }
    }
    """

    forecast: reactive[Forecast | None] = reactive["Forecast | None"](None)
    """What is to be told; None for nothing."""

    class Pressed(Message):
        """The user wants to see the first difference."""

    def watch_forecast(self) -> None:
        """Take the line's room only where there is something to tell."""
        told = self.forecast
        self.set_class(told is not None and told.at.kind not in ("first", "model"), "-told")
        if told is not None:
            self.tooltip = Content(shown(in_words(told)))
        self._make_room()

    def on_resize(self) -> None:
        """Take a second line where the sentence needs one."""
        self._make_room()

    def _make_room(self) -> None:
        told, width = self.forecast, self.content_size.width
        if told is not None and width:
            self.set_class(
                cell_len(f"⛁ {_same(told, width)} · {told.at.sentence}") > width, "-long"
            )

    def render(self) -> Content:
        """Draw the figures, then the sentence."""
        told = self.forecast
        if told is None:
            return Content("")
        width, height = self.content_size
        same = _same(told, width)
        share = told.common / told.total if told.total else 0.0
        style = "$text-success" if share > 0.5 else "$text-warning"
        sentence = shown(f" · {told.at.sentence}")
        lines = breaks(f"⛁ {same}{sentence}", width, width)
        if len(lines) >= height > 0:  # more than there is room for
            begun = len(same) + 2
            over = lines[height - 2] if height > 1 else 0
            room = max(over + width - begun, 0) if height > 1 else max(width - begun, 0)
            sentence = cut(sentence, room)
        return Content.assemble(("⛁ ", style), (same, style), (sentence, "$foreground 72%"))

    def on_click(self) -> None:
        """Say so."""
        self.post_message(self.Pressed())


def _same(told: Forecast, width: int) -> str:
    """Return the figures, shortened where there is little room."""
    same = f"{told.common:,} of {told.total:,} tokens as last time"
    if width < WHOLE:
        same = f"{short_number(told.common)}/{short_number(told.total)} as last time"
    if told.served < told.common:
        same += f", {short_number(told.served)} kept"
    return same


def in_words(told: Forecast) -> str:
    """Return all of a forecast as sentences."""
    served = ""
    if told.served < told.common:
        served = f" The provider's cache can serve {told.served:,} of them."
    return f"{told.common:,} of {told.total:,} tokens as last time.{served} {told.at.sentence}"


def against_usage(told: Forecast, cached: int | None, reported: int | None) -> str:
    """Hold a forecast against what the provider reported of its cache."""
    if cached is None:
        return f"Forecast: up to {told.served:,} tokens from the cache; none were reported."
    of = f" of {reported:,}" if reported is not None else ""
    return f"Forecast: up to {told.served:,} tokens from the cache; reported: {cached:,}{of}."
