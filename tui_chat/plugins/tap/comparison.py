"""The changes of a request to the one before it, and their effect on the prompt cache."""

from __future__ import annotations

from dataclasses import replace

from tui_chat.analysis.cache_forecast import Forecast, Idle, cache_seconds, forecast_cache
from tui_chat.lazy_dataclass import dataclass
from tui_chat.plugins.tap.conversations import PlacedCall
from tui_chat.tokens import counter_for


@dataclass(frozen=True, slots=True)
class CallComparison:
    """A request beside the one before it in its conversation."""

    previous: int
    """The number of that exchange."""
    forecast: Forecast
    idle: Idle
    """The time since the end of the previous response."""

    def calibrated(self, total: int) -> CallComparison:
        """Return the comparison with the figures of a forecast that fits another total."""
        return replace(self, forecast=self.forecast.calibrated(total))


def compare(placed: PlacedCall) -> CallComparison | None:
    """Return what a call changed; None if it is the first one, or either cannot be read."""
    before = placed.previous.call if placed.previous is not None else None
    call = placed.call
    if before is None or before.composed is None or before.exact is None:
        return None
    if call is None or call.composed is None or call.exact is None:
        return None
    counter = counter_for(call.composed.model)
    forecast = forecast_cache(before.composed, call.composed, counter)
    return CallComparison(
        placed.previous.exchange if placed.previous else 0,
        forecast,
        Idle(placed.idle, cache_seconds(call.protocol, call.body)),
    )
