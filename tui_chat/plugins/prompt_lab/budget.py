"""What a run costs: an estimate before it, and a budget while it is sent.

1. Before a cell leaves, its most is reserved: the exact input at the full price, and the output
   limit. When it has ended, its real cost takes the place of the reserve. So a budget is exceeded
   at most by what a provider charges beyond a reserve.
2. The offline provider and servers on this machine or a private network cost 0. Any other model
   without a known price is refused where a budget is set.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterable
from decimal import Decimal
from urllib.parse import urlsplit

from tui_chat.config import LOOPBACK_URL
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.endpoint import Endpoint
from tui_chat.models.prices import Prices
from tui_chat.models.usage import Usage, cost_of
from tui_chat.plugins.prompt_lab.values import Cell

FREE = Prices(input=Decimal(0), output=Decimal(0), source="costs nothing here")
USUAL_OUTPUT = 4_096
"""Tokens that are reserved for a reply without a known limit."""

PricesOf = Callable[[Endpoint, str], Prices | None]
"""The prices of a model at an endpoint; None if they are unknown."""


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


def is_offline(endpoint: Endpoint) -> bool:
    """Return True for the offline provider."""
    return endpoint.base_url.startswith(LOOPBACK_URL)


def with_local_prices(prices_of: PricesOf) -> PricesOf:
    """Return prices where local servers without a price cost nothing."""

    def prices(endpoint: Endpoint, model: str) -> Prices | None:
        known = prices_of(endpoint, model)
        return FREE if known is None and is_local(endpoint) else known

    return prices


def reserve_of(input_tokens: int, output_limit: int | None, prices: Prices) -> Decimal | None:
    """Return the most that a request costs, in US dollars; None if a price is unknown."""
    output = USUAL_OUTPUT if output_limit is None else output_limit
    return cost_of(Usage(input_tokens, output), prices)


@dataclass(frozen=True, slots=True)
class Estimate:
    """The input of a plan, and the range of its price."""

    cells: int
    input_tokens: int
    shared_tokens: int
    """Input that prompt caches may serve."""
    low: Decimal = Decimal(0)
    """US dollars with all of that from caches, and empty replies."""
    high: Decimal = Decimal(0)
    """US dollars with nothing from caches, and the longest replies."""
    unknown: tuple[str, ...] = ()
    """`ENDPOINT/MODEL` of each model whose price is unknown; its cells are not in the range."""
    unlimited: int = 0
    """Cells without a known limit of output, for which `USUAL_OUTPUT` is assumed."""


def estimate(
    cells: Iterable[Cell], priced: Callable[[Cell], tuple[str, Prices | None]]
) -> Estimate:
    """Return the estimate of cells; `priced` returns `ENDPOINT/MODEL` and the prices of one."""
    count = tokens = shared = unlimited = 0
    low = high = Decimal(0)
    unknown: dict[str, None] = {}
    for cell in cells:
        count += 1
        tokens += cell.input_tokens
        shared += cell.shared_tokens
        model, prices = priced(cell)
        most = reserve_of(cell.input_tokens, cell.output_limit, prices) if prices else None
        least = cost_of(Usage(cell.input_tokens, 0, cached=cell.shared_tokens), prices)
        if most is None or least is None:
            unknown[model] = None
            continue
        high += most
        low += least
        unlimited += cell.output_limit is None and most > 0
    return Estimate(count, tokens, shared, low, high, tuple(unknown), unlimited)


class Budget:
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
