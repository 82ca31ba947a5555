"""The money that a run may spend, and what costs nothing.

1. Before a cell leaves, its most is reserved: the exact input at the full price, and the output
   limit. When it has ended, its real cost takes the place of the reserve. So a budget is exceeded
   at most by what a provider charges beyond a reserve.
2. The offline provider and servers on this machine or a private network cost 0. Any other model
   without a known price is refused where a budget is set.
"""

from __future__ import annotations

import ipaddress
from decimal import Decimal
from urllib.parse import urlsplit

from tui_chat.config import LOOPBACK_URL
from tui_chat.models.endpoint import Endpoint
from tui_chat.models.prices import Prices
from tui_chat.models.usage import Usage, cost_of

FREE = Prices(input=Decimal(0), output=Decimal(0), source="costs nothing here")
USUAL_OUTPUT = 4_096
"""Tokens that are reserved for a reply without a known limit."""


def is_local(endpoint: Endpoint) -> bool:
    """Return True for a server on this machine or a private network, and the offline provider."""
    if endpoint.base_url.startswith(LOOPBACK_URL):
        return True
    host = urlsplit(endpoint.base_url).hostname or ""
    if host == "localhost" or host.endswith((".localhost", ".local")):
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    return address.is_loopback or address.is_private


def reserve_of(input_tokens: int, output_limit: int | None, prices: Prices) -> Decimal | None:
    """Return the most that a request costs, in US dollars; None if a price is unknown."""
    output = USUAL_OUTPUT if output_limit is None else output_limit
    return cost_of(Usage(input_tokens, output), prices)


class RunBudget:
    """The money that a run may spend, and what it has spent and reserved."""

    def __init__(self, limit: Decimal | None, spent: Decimal = Decimal(0)) -> None:
        self.limit = limit
        """US dollars; None for no limit."""
        self.spent = spent
        self.reserved = Decimal(0)

    def reserve(self, amount: Decimal | None) -> bool:
        """Reserve an amount; return False if that would exceed the budget. None is unknown, and
        allowed only without a limit.
        """
        if self.limit is not None and (
            amount is None or self.spent + self.reserved + amount > self.limit
        ):
            return False
        self.reserved += amount or Decimal(0)
        return True

    def settle(self, reserved: Decimal | None, cost: Decimal | None) -> None:
        """Put the cost of what was reserved in its place; an unknown cost counts as the reserve."""
        self.reserved -= reserved or Decimal(0)
        self.spent += (reserved or Decimal(0)) if cost is None else cost
