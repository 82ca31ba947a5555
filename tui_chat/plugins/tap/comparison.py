"""The changes of a request to the one before it, and their effect on the prompt cache."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

from tui_chat.analysis.cache_forecast import Forecast, forecast_cache
from tui_chat.analysis.cache_loss import Idle, cache_seconds
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.prices import Prices
from tui_chat.models.usage import lost_cost
from tui_chat.plugins.tap.conversations import PlacedCall
from tui_chat.tokens import counter_for


@dataclass(frozen=True, slots=True)
class CallComparison:
    """A request beside the one before it in its conversation."""

    previous: int
    """The number of that exchange."""
    forecast: Forecast
    lost_cost: Decimal | None
    """The cost of the tokens of the previous prompt that the cache cannot serve again, above that
    of cached ones, in US dollars; None without prices."""
    priced: str
    """The source of those prices."""
    idle: Idle
    """The time since the end of the previous response."""

    def calibrated(self, total: int) -> CallComparison:
        """Return the comparison with the figures of a forecast that fits another total."""
        forecast = self.forecast.calibrated(total)
        cost, lost = self.lost_cost, self.forecast.lost
        if cost is not None and lost:
            cost = cost * forecast.lost / lost
        return replace(self, forecast=forecast, lost_cost=cost)

    @property
    def lost(self) -> int:
        """The tokens of the previous prompt that the cache cannot serve again."""
        return self.forecast.lost


def compare(placed: PlacedCall, prices: Prices | None = None) -> CallComparison | None:
    """Return what a call changed; None if it is the first one, or either cannot be read."""
    before = placed.previous.call if placed.previous is not None else None
    call = placed.call
    if before is None or before.composed is None or before.exact is None:
        return None
    if call is None or call.composed is None or call.exact is None:
        return None
    counter = counter_for(call.composed.model)
    forecast = forecast_cache(before.composed, call.composed, counter)
    cost = lost_cost(forecast.lost, forecast.total, prices)
    return CallComparison(
        placed.previous.exchange if placed.previous else 0,
        forecast,
        cost,
        prices.source if prices is not None and cost is not None else "",
        Idle(placed.idle, cache_seconds(call.protocol, call.body)),
    )
