"""What a plan costs before it is sent, the money that a run may spend, and what costs nothing.

1. Before a cell leaves, its most is reserved: the exact input at the full price, and the output
   limit. When it has ended, its real cost takes the place of the reserve. So a budget is exceeded
   at most by what a provider charges beyond a reserve.
2. The offline provider and servers on this machine or a private network cost 0. Any other model
   without a known price is refused where a budget is set.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from functools import cache
from urllib.parse import urlsplit

from tui_chat.config import LOOPBACK_URL, Config
from tui_chat.lazy_dataclass import dataclass
from tui_chat.library.prices import KnownPrices
from tui_chat.models.endpoint import Endpoint
from tui_chat.models.prices import Prices
from tui_chat.models.usage import Usage, cost_of
from tui_chat.plugins.prompt_lab.grades import judge_request, judged_checks
from tui_chat.plugins.prompt_lab.plan import endpoint_and_model, input_tokens, output_limit
from tui_chat.plugins.prompt_lab.values import Cell, Plan, ReplyCheck

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


@dataclass(frozen=True, slots=True)
class Estimate:
    """The input of a plan, and the range of its price."""

    cells: int
    input_tokens: int
    """Of the cells, without judges."""
    low: Decimal = Decimal(0)
    """US dollars with empty replies."""
    high: Decimal = Decimal(0)
    """US dollars with the longest replies."""
    unknown: tuple[str, ...] = ()
    """`ENDPOINT/MODEL` of each model whose price is unknown; it is not in the range."""
    unlimited: int = 0
    """Replies without a known limit of output, for which `USUAL_OUTPUT` is assumed."""
    judgements: int = 0
    """Requests to judges, at most; they are in the range."""
    leaves: bool = False
    """True if a request leaves this machine and its network."""
    keys: tuple[str, ...] = ()
    """The references of the keys that the requests need."""


@dataclass(frozen=True, slots=True)
class _Asked:
    """A request as it counts in an estimate."""

    endpoint: Endpoint
    model: str
    tokens: int
    """Of the input, as far as it is known."""
    output_limit: int | None
    reply: int = 0
    """The most tokens of the reply that a judge reads, which is not there yet."""


def estimate(
    plan: Plan, cells: Iterable[Cell], config: Config, known: KnownPrices, now: datetime
) -> Estimate:
    """Return the estimate of cells of a plan. Raises InputError for a judge that does not exist."""
    variants = {variant.name: variant for variant in plan.variants}
    cases = {case.key: case for case in plan.suite.cases}
    endpoints = {endpoint.name: endpoint for endpoint in config.endpoints}

    @cache
    def judge(check: ReplyCheck) -> _Asked:
        endpoint, model = endpoint_and_model(check.judge or plan.suite.judge, config)
        composed = judge_request(check, "", endpoint, model)
        return _Asked(endpoint, model, input_tokens(composed), output_limit(composed))

    cells = tuple(cells)
    requests: list[_Asked] = []
    for cell in cells:
        variant, limit = variants[cell.variant], cell.output_limit
        endpoint = endpoints.get(variant.endpoint.name, variant.endpoint)
        requests.append(_Asked(endpoint, variant.model_name, cell.input_tokens, limit))
        reply = USUAL_OUTPUT if limit is None else limit
        requests += (
            replace(judge(check), reply=reply)
            for check in judged_checks(cases[cell.case])
            if check.judge or plan.suite.judge
        )
    low = high = Decimal(0)
    unlimited = 0
    unknown: dict[str, None] = {}
    for asked in requests:
        prices = known.prices_of(asked.endpoint, asked.model, now)
        if prices is None and is_local(asked.endpoint):
            prices = FREE
        most = prices and reserve_of(asked.tokens + asked.reply, asked.output_limit, prices)
        least = cost_of(Usage(asked.tokens, 0), prices)
        if most is None or least is None:
            unknown[f"{asked.endpoint.name}/{asked.model}"] = None
            continue
        high += most
        low += least
        unlimited += asked.output_limit is None and most > 0
    used = {asked.endpoint.name: asked.endpoint for asked in requests}.values()
    return Estimate(
        len(cells),
        sum(cell.input_tokens for cell in cells),
        *(low, high, tuple(unknown), unlimited),
        judgements=len(requests) - len(cells),
        leaves=not all(map(is_local, used)),
        keys=tuple(dict.fromkeys(endpoint.key for endpoint in used if endpoint.key)),
    )
