"""How many tokens of the request a prompt cache can serve, and where it ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.cells import cell_len
from textual.content import Content
from textual.message import Message
from textual.reactive import reactive

from tui_chat.models.sanitize import sanitize
from tui_chat.ui.areas.inspector.row_wrapping import breaks
from tui_chat.ui.areas.inspector.text_fitting import cut, short_number
from tui_chat.ui.widgets.one_pass import OnePassWidget

if TYPE_CHECKING:
    from tui_chat.analysis import Forecast

WHOLE = 64
"""Columns from which the line begins with whole figures."""


class ForecastLine(OnePassWidget):
    """One or two lines; a click goes to the first difference from the last request."""

    ALLOW_SELECT = False
    DEFAULT_CSS = """
    ForecastLine {
        height: 1;
        padding: 0 1;
        background: $surface;
        color: $foreground;
        display: none;
        &.-forecast { display: block; }
        &.-long { height: 2; }
    }
    """

    forecast: reactive[Forecast | None] = reactive["Forecast | None"](None)
    """The forecast; None for none."""

    class Pressed(Message):
        """The user wants to see the first difference."""

    def watch_forecast(self) -> None:
        """Show the line only if there is something to say."""
        forecast = self.forecast
        self.set_class(
            forecast is not None and forecast.at.kind not in ("first", "model"), "-forecast"
        )
        if forecast is not None:
            self.tooltip = Content(sanitize(forecast_sentences(forecast), "exact"))
        self._make_room()

    def on_resize(self) -> None:
        """Take a second line if the sentence needs one."""
        self._make_room()

    def _make_room(self) -> None:
        forecast, width = self.forecast, self.content_size.width
        if forecast is not None and width:
            self.set_class(
                cell_len(f"⛁ {_figures(forecast, width)} · {forecast.at.sentence}") > width, "-long"
            )

    def render(self) -> Content:
        """Draw the figures, then the sentence."""
        forecast = self.forecast
        if forecast is None:
            return Content("")
        width, height = self.content_size
        same = _figures(forecast, width)
        share = forecast.common / forecast.total if forecast.total else 0.0
        style = "$text-success" if share > 0.5 else "$text-warning"
        sentence = sanitize(f" · {forecast.at.sentence}", "exact")
        lines = breaks(f"⛁ {same}{sentence}", width, width)
        if len(lines) >= height > 0:  # more than fits
            begun = len(same) + 2
            over = lines[height - 2] if height > 1 else 0
            room = max(over + width - begun, 0) if height > 1 else max(width - begun, 0)
            sentence = cut(sentence, room)
        return Content.assemble(("⛁ ", style), (same, style), (sentence, "$foreground 72%"))

    def on_click(self) -> None:
        """Post the click."""
        self.post_message(self.Pressed())


def _figures(forecast: Forecast, width: int) -> str:
    """Return the figures, abbreviated in a narrow pane."""
    same = f"{forecast.common:,} of {forecast.total:,} tokens as last time"
    if width < WHOLE:
        same = f"{short_number(forecast.common)}/{short_number(forecast.total)} as last time"
    if forecast.served < forecast.common:
        same += f", {short_number(forecast.served)} kept"
    return same


def forecast_sentences(forecast: Forecast) -> str:
    """Return a forecast as sentences."""
    served = ""
    if forecast.served < forecast.common:
        served = f" The provider's cache can serve {forecast.served:,} of them."
    common = f"{forecast.common:,} of {forecast.total:,} tokens as last time."
    return f"{common}{served} {forecast.at.sentence}"


def forecast_versus_usage(forecast: Forecast, cached: int | None, reported: int | None) -> str:
    """Compare a forecast with the cache usage that the provider reported."""
    if cached is None:
        return f"Forecast: up to {forecast.served:,} tokens from the cache; none were reported."
    of = f" of {reported:,}" if reported is not None else ""
    return f"Forecast: up to {forecast.served:,} tokens from the cache; reported: {cached:,}{of}."
