"""The summary of a request: a rule below the tabs of the views with tokens and size, and as details
model and address, more figures, the budget bar, and how many tokens a prompt cache can serve.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from rich.cells import cell_len
from textual.content import Content
from textual.geometry import Size
from textual.reactive import reactive
from textual.widget import Widget

from tui_chat.models.endpoint import Protocol
from tui_chat.models.envelope import Budget
from tui_chat.models.sanitize import sanitize
from tui_chat.models.usage import short_number
from tui_chat.ui.inspector.row_wrapping import (
    counted,
    cut,
    fitting,
    shares,
    short_url,
    size_in_words,
)

if TYPE_CHECKING:
    from tui_chat.analysis.cache_forecast import Forecast
    from tui_chat.compose import Composed

WHOLE = 64
"""Columns from which the line begins with whole figures."""
_RULE = "$foreground-disabled"


class ForecastLine(Widget):
    """The forecast among the details."""

    ALLOW_SELECT = False
    DEFAULT_CSS = """
    ForecastLine {
        height: auto;
        max-height: 4;
        padding: 0 1;
        background: $surface;
        color: $foreground;
    }
    """

    forecast: reactive[Forecast | None] = reactive["Forecast | None"](None)
    """The forecast; None for none."""

    def watch_forecast(self) -> None:
        """Show the line only if there is something to say."""
        forecast = self.forecast
        self.set_class(compares(forecast), "-forecast")
        if forecast is not None:
            self.tooltip = Content(sanitize(forecast_sentences(forecast), "exact"))
        if self.display:
            self.refresh(layout=True)

    def render(self) -> Content:
        forecast = self.forecast
        if forecast is None:
            return Content("")
        sentence = sanitize(f" · {forecast.sentence}", "exact")
        figures = _figures(forecast, self.content_size.width)
        return Content.assemble((figures, forecast_style(forecast)), (sentence, "$foreground 72%"))


def compares(forecast: Forecast | None) -> bool:
    """Return True if a forecast compares with an earlier request."""
    return forecast is not None and forecast.compares


def forecast_style(forecast: Forecast) -> str:
    """Return the style of a forecast's figures."""
    is_most = forecast.total and forecast.common / forecast.total > 0.5
    return "$text-success" if is_most else "$text-warning"


def forecast_figures(forecast: Forecast, width: int) -> str:
    """Return a forecast in the longest form that fits into a width; empty if none does."""
    least = f"Cache: {short_number(forecast.served)}/{short_number(forecast.total)}"
    texts = (_figures(forecast, WHOLE), _figures(forecast, 0), least)
    return next((text for text in texts if len(text) <= width), "")


def _figures(forecast: Forecast, width: int) -> str:
    """Return the figures, abbreviated in a narrow pane."""
    figures = f"{forecast.common:,} of {forecast.total:,} tokens"
    if width < WHOLE:
        figures = f"{short_number(forecast.common)}/{short_number(forecast.total)}"
    if forecast.served < forecast.common:
        return f"Cache: {figures} unchanged, {short_number(forecast.served)} reusable"
    return f"Cache: {figures} reusable"


def forecast_sentences(forecast: Forecast) -> str:
    """Return a forecast as sentences."""
    if not forecast.compares:
        return forecast.sentence
    served = ""
    if forecast.served < forecast.common:
        served = f" The provider's cache can serve {forecast.served:,} of them."
    common = f"{forecast.common:,} of {forecast.total:,} tokens match the last request."
    return f"{common}{served} {forecast.sentence}"


def forecast_versus_usage(forecast: Forecast, cached: int | None, reported: int | None) -> str:
    """Compare a forecast with the cache usage that the provider reported."""
    words = f"Forecast: up to {forecast.served:,} tokens from the cache; "
    if cached is None:
        return f"{words}the reply reports no figure."
    of = f" of {reported:,}" if reported is not None else ""
    return f"{words}reported: {cached:,}{of}."


_LEAST_GAP = 14
"""Cells right of the active tab's mark that take the figures; with fewer they stand left of it."""


class RequestSummary(Widget):
    """The rule below the tabs of the views, with figures; as details up to three lines more, which
    have the figures then.
    """

    ALLOW_SELECT = False
    DEFAULT_CSS = """
    RequestSummary {
        height: auto;
        background: $background;
        color: $foreground;
    }
    """

    is_whole: reactive[bool] = reactive(False, layout=True)
    """True if the details are shown."""

    def __init__(self, active_tab: Callable[[], tuple[int, int]]) -> None:
        super().__init__()
        self._active_tab = active_tab
        """Returns the first column of the active tab and the one behind it."""
        self._composed: Composed | None = None
        self._bytes: int | None = None
        self._own: Protocol | None = None
        self.own_words = "Enter sends"
        """Words before the session's own protocol if another one is shown."""

    def show(self, composed: Composed | None, size: int | None, own: Protocol | None) -> None:
        """Show a request whose body has `size` bytes; None if not known yet."""
        had = self._height()
        self._composed, self._bytes, self._own = composed, size, own
        self.refresh(layout=had != self._height())
        if composed is not None:
            self.tooltip = Content(f"{composed.method} {composed.shown_url}")

    def _height(self) -> int:
        if self._composed is None or not self.is_whole:
            return 1
        budget = self._composed.envelope.budget
        return 4 if budget is not None and budget.limit else 3

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return self._height()

    def render(self) -> Content:
        composed, width = self._composed, self.size.width
        lines = [self._rule(composed, width)]
        if composed is not None and self.is_whole:
            details = [
                self._request(composed, width - 2),
                self._figures(composed, width - 2),
            ]
            budget = composed.envelope.budget
            if budget is not None and budget.limit:
                details.append(_bar(budget, budget.limit, width - 2))
            lines += [Content(" ") + detail for detail in details]
        return Content("\n").join(lines)

    def _rule(self, composed: Composed | None, width: int) -> Content:
        """Draw the rule: a mark below the active tab, and the figures where there is room, unless
        the details have them.
        """
        start, end = self._active_tab()
        parts = [("─" * start, _RULE), ("━" * (end - start), "$primary")]
        rest = max(width - end, 0)
        if composed is None or self.is_whole:
            return Content.assemble(*parts, ("─" * rest, _RULE))
        is_right = rest >= max(min(_LEAST_GAP, start), 1)
        text, style = self._short(composed, (rest if is_right else start) - 3)
        facts = [(f" {text} ", style), ("─", _RULE)] if text else []
        used = len(text) + 3 if text else 0
        if is_right:
            return Content.assemble(*parts, ("─" * (rest - used), _RULE), *facts)
        left = [*facts, ("─" * (start - used), _RULE)]
        return Content.assemble(*left, parts[1], ("─" * rest, _RULE))

    def _short(self, composed: Composed, room: int) -> tuple[str, str]:
        """Return the most important figures in so many cells, and their style."""
        budget = composed.envelope.budget
        if sends := self._preview():
            text = next((t for t in (f"preview, {sends}", sends, "preview") if len(t) <= room), "")
            return text, "$text-warning"
        size = "" if self._bytes is None else size_in_words(self._bytes)
        if budget is None:
            return (size if len(size) <= room else ""), "$foreground 72%"
        dropped = len(composed.envelope.dropped)
        rest = [f"{dropped:,} left out"] if dropped else []
        rest += [size] if size else []
        tokens, style = _tokens(budget, WHOLE)
        if len(tokens) > room:
            tokens, style = _tokens(budget, 0)
        if len(tokens) > room:
            about = "" if budget.exact else "~"
            tokens = f"{about}{short_number(budget.total)}"
        over = "error" in style
        text = fitting([tokens, *rest], room)
        return text, "bold $text-error" if over else "$foreground 72%"

    def _preview(self) -> str:
        """Return what Enter sends if another protocol is shown; empty if it is the same."""
        composed, own = self._composed, self._own
        if composed is None or own is None or own is composed.protocol:
            return ""
        return f"{self.own_words} {own.label}"

    def _request(self, composed: Composed, width: int) -> Content:
        model = cut(composed.model, max(width // 2, 10))
        room = width - cell_len(model) - 1
        if sends := self._preview():
            text = next((t for t in (f"preview, {sends}", sends, "preview") if len(t) <= room), "")
            style = "$text-warning"
        else:
            url = short_url(composed.shown_url, room - 5)
            text, style = (f"{composed.method} {url}" if room > 12 else ""), "$foreground 72%"
        gap = " " * (width - cell_len(model) - cell_len(text))
        return Content.assemble((model, "bold"), gap, (text, style))

    def _figures(self, composed: Composed, width: int) -> Content:
        budget = composed.envelope.budget
        messages = counted(len(composed.envelope.turns), "message")
        rest = [messages, "… bytes" if self._bytes is None else size_in_words(self._bytes)]
        if budget is None:
            return Content(fitting(rest, width))
        if budget.counter:
            rest.append(budget.counter)
        tokens, style = _tokens(budget, width)
        dropped = len(composed.envelope.dropped)
        if dropped:
            rest.insert(0, f"{dropped:,} left out")
        others = fitting(["", *rest], width - cell_len(tokens))
        return Content.assemble((tokens, style), (others, "$foreground 72%"))


def _tokens(budget: Budget, width: int) -> tuple[str, str]:
    """Return the token count, exact or estimated, and its style."""
    about = "" if budget.exact else "~"
    over = budget.free is not None and budget.free < 0
    style = "bold $text-error" if over else "bold"
    if not budget.limit:
        return f"{about}{counted(budget.total, 'token')}", style
    if over:
        allowed = budget.limit - budget.reserve
        excess = f"{about}{budget.total - allowed:,} over"
        return (f"{excess} the budget of {max(allowed, 0):,}" if width >= 28 else excess), style
    if width < 56:
        return f"{about}{short_number(budget.total)} of {short_number(budget.limit)} tokens", style
    return f"{about}{budget.total:,} of {budget.limit:,} tokens", style


def _bar(budget: Budget, limit: int, width: int) -> Content:
    """Draw the fixed tokens, the history, the free tokens and the reply reserve."""
    free = limit - budget.reserve - budget.total
    text = f" {short_number(free)} free" if free >= 0 else f" {short_number(-free)} over"
    fixed, history, open_, reserve = shares(
        (max(budget.fixed + budget.edits, 0), budget.history, max(free, 0), budget.reserve),
        width - len(text),
    )
    used = "$text-error" if free < 0 else "$origin-system"
    return Content.assemble(
        ("━" * fixed, used),
        ("━" * history, "$text-error" if free < 0 else "$origin-history"),
        ("─" * open_, "$foreground-disabled"),
        ("╌" * reserve, "$origin-setting"),
        (text, "$text-error" if free < 0 else "$foreground 72%"),
    )
