"""What a plan costs before it is sent: its cells, and the judges of their replies."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from functools import cache

from tui_chat.config import Config
from tui_chat.lazy_dataclass import dataclass
from tui_chat.library.prices import KnownPrices
from tui_chat.models.endpoint import Endpoint
from tui_chat.models.usage import Usage, cost_of
from tui_chat.plugins.prompt_lab.budget import FREE, USUAL_OUTPUT, is_local, reserve_of
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
