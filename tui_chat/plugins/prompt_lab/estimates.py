"""What a plan costs before it is sent: its cells, and the judges of their replies."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime
from decimal import Decimal

from tui_chat.config import Config
from tui_chat.lazy_dataclass import dataclass
from tui_chat.library.prices import KnownPrices
from tui_chat.models.endpoint import Endpoint
from tui_chat.models.usage import Usage, cost_of
from tui_chat.plugins.prompt_lab.budget import (
    USUAL_OUTPUT,
    is_local,
    reserve_of,
    with_local_prices,
)
from tui_chat.plugins.prompt_lab.judge import judge_request
from tui_chat.plugins.prompt_lab.plan import input_tokens, output_limit
from tui_chat.plugins.prompt_lab.values import Cell, Plan, ReplyCheck
from tui_chat.plugins.prompt_lab.variants import endpoint_and_model
from tui_chat.plugins.prompt_lab.verdicts import judged_checks


@dataclass(frozen=True, slots=True)
class Estimate:
    """The input of a plan, and the range of its price."""

    cells: int
    input_tokens: int
    """Of the cells, without judges."""
    shared_tokens: int
    """Input that prompt caches may serve."""
    low: Decimal = Decimal(0)
    """US dollars with all of that from caches, and empty replies."""
    high: Decimal = Decimal(0)
    """US dollars with nothing from caches, and the longest replies."""
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
    least: int
    """Tokens of input."""
    most: int
    """The same: a judge reads a reply that is not there yet."""
    shared: int
    output_limit: int | None


def estimate(
    plan: Plan, cells: Iterable[Cell], config: Config, known: KnownPrices, now: datetime
) -> Estimate:
    """Return the estimate of cells of a plan. Raises InputError for a judge that does not exist."""
    prices_of = with_local_prices(lambda endpoint, model: known.prices_of(endpoint, model, now))
    requests = _Requests(plan, config)
    count = tokens = shared = unlimited = judgements = 0
    low = high = Decimal(0)
    unknown: dict[str, None] = {}
    keys: dict[str, None] = {}
    leaves = False
    for cell in cells:
        count += 1
        tokens += cell.input_tokens
        shared += cell.shared_tokens
        judges = requests.of_judges(cell)
        judgements += len(judges)
        for asked in (requests.of_cell(cell), *judges):
            leaves = leaves or not is_local(asked.endpoint)
            keys |= {key: None for key in (asked.endpoint.key,) if key}
            prices = prices_of(asked.endpoint, asked.model)
            most = reserve_of(asked.most, asked.output_limit, prices) if prices else None
            least = cost_of(Usage(asked.least, 0, cached=asked.shared), prices)
            if most is None or least is None:
                unknown[f"{asked.endpoint.name}/{asked.model}"] = None
                continue
            high += most
            low += least
            unlimited += asked.output_limit is None and most > 0
    return Estimate(
        *(count, tokens, shared, low, high, tuple(unknown), unlimited, judgements, leaves),
        tuple(keys),
    )


class _Requests:
    """The requests that cells of a plan make."""

    def __init__(self, plan: Plan, config: Config) -> None:
        self._config = config
        self._judge = plan.suite.judge
        self._variants = {variant.name: variant for variant in plan.variants}
        self._checks = {case.key: (*judged_checks(case),) for case in plan.suite.cases}
        self._endpoints = {endpoint.name: endpoint for endpoint in config.endpoints}
        self._judges: dict[ReplyCheck, _Asked] = {}

    def of_cell(self, cell: Cell) -> _Asked:
        """Return the request of a cell, to the endpoint as it is configured now."""
        variant = self._variants[cell.variant]
        endpoint = self._endpoints.get(variant.endpoint.name, variant.endpoint)
        tokens = cell.input_tokens
        return _Asked(
            *(endpoint, variant.model_name, tokens, tokens, cell.shared_tokens),
            cell.output_limit,
        )

    def of_judges(self, cell: Cell) -> tuple[_Asked, ...]:
        """Return the requests about the reply of a cell; a check without a judge has none."""
        return tuple(self._about(cell))

    def _about(self, cell: Cell) -> Iterator[_Asked]:
        for check in self._checks[cell.case]:
            name = check.judge or self._judge
            if not name:
                continue
            asked = self._judges.get(check)
            if asked is None:
                endpoint, model = endpoint_and_model(name, self._config)
                composed = judge_request(check, "", endpoint, model)
                tokens = input_tokens(composed)
                asked = _Asked(endpoint, model, tokens, tokens, 0, output_limit(composed))
                self._judges[check] = asked
            reply = USUAL_OUTPUT if cell.output_limit is None else cell.output_limit
            yield replace(asked, most=asked.least + reply)
