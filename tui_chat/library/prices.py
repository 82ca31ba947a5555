"""The prices of models: the user's own, else those that ship with the program.

1. Prices of `config.toml` go first. They are for the standard service tier.
2. Behind a host that is not known, such as a gateway's or a recording proxy's, a model that only
   its maker serves has the maker's prices; `source` says so. A model with open weights has none
   there: it may run on this machine.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache

from tui_chat.compose import Composed
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.endpoint import Endpoint
from tui_chat.models.model_facts import maker_of, spellings
from tui_chat.models.payload import Str
from tui_chat.models.prices import (
    PROVIDERS,
    STANDARD_TIERS,
    Prices,
    PriceTable,
    provider_at,
    shipped_prices,
)


@dataclass(frozen=True, slots=True)
class KnownPrices:
    """The user's prices, and the table that ships with the program."""

    table: PriceTable

    def prices_of(
        self,
        endpoint: Endpoint,
        model: str,
        moment: datetime,
        context: Mapping[str, str] | None = None,
    ) -> Prices | None:
        """Return the prices of a model at an endpoint and time; None if they are unknown.

        `context` is as in `PriceTable.prices_of`.
        """
        own = endpoint.facts_of(model).prices
        if own is not None and own.hold_on(moment.astimezone(UTC).date()):
            is_standard = STANDARD_TIERS.issuperset((context or {}).values())
            return replace(own, source="config.toml") if is_standard else None
        provider = provider_at(endpoint.base_url)
        if provider is None:
            return self._makers_prices(model, moment, context)
        return self.table.prices_of(endpoint.base_url, model, moment, context)

    def _makers_prices(
        self, model: str, moment: datetime, context: Mapping[str, str] | None
    ) -> Prices | None:
        """Return what a model's maker asks for it; None if anybody can serve the model."""
        maker = maker_of(model)
        for name in spellings(model)[1:] if maker else ():
            if self.table.model_of(maker, name) is not None:
                url = f"https://{PROVIDERS[maker][0]}"
                prices = self.table.prices_of(url, name, moment, context)
                return prices and replace(prices, source=f"{prices.source}, by the model's name")
        return None

    def prices_of_request(self, composed: Composed, at: datetime) -> Callable[[str], Prices | None]:
        """Return a function from a provider's service tier (or empty) to a request's prices."""
        parameters: dict[str, str] = {}
        for name, value in composed.encoded.tree.items:
            key = _ASKED.get(name)
            if key is not None and isinstance(value, Str) and value.text.plain != "global":
                parameters[key] = value.text.plain.lower()

        @cache
        def prices(tier: str) -> Prices | None:
            context = parameters | ({"service_tier": tier.lower()} if tier else {})
            return self.prices_of(composed.endpoint, composed.model, at, context)

        return prices


_ASKED = {
    "service_tier": "service_tier",
    "serviceTier": "service_tier",
    "speed": "speed",
    "inference_geo": "inference_geo",
}
"""Keys of a request that change its price."""


def load_prices() -> KnownPrices:
    """Return the prices that are in use. To be called at the first question: it takes 20 ms."""
    return KnownPrices(shipped_prices())
