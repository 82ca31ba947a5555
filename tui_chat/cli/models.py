"""`tui-chat models`: the models of the endpoints, with what is known of them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from decimal import Decimal

from tui_chat.cli import output
from tui_chat.cli.app import open_http_client
from tui_chat.cli.common_options import CommonOptions
from tui_chat.cli.output import write_json, write_line
from tui_chat.config import OFFLINE, repeats_offline_models
from tui_chat.errors import TuiChatError
from tui_chat.lazy_dataclass import dataclass
from tui_chat.library.prices import load_prices
from tui_chat.models.endpoint import Endpoint
from tui_chat.models.sanitize import one_line
from tui_chat.providers import list_models


@dataclass(frozen=True, slots=True)
class _Model:
    endpoint: str
    name: str
    context_limit: int | None
    max_output: int | None
    input_price: Decimal | None
    """US dollars per million tokens; None if unknown."""
    output_price: Decimal | None


def run_models(common: CommonOptions, text: str, name: str, *, online: bool, as_json: bool) -> bool:
    """Print models; with `online` those that the servers list instead of those that are configured.

    Only models whose name contains `text`, of the endpoint `name` or, if that is empty, of all.
    Return False if a server could not be asked. Raises ConfigError for an unknown endpoint.
    """
    config = common.config()
    endpoints = (config.endpoint_named(name),) if name else config.endpoints
    failures: tuple[str, ...] = ()
    listed = {each.name: each.models for each in endpoints}
    if online:
        listed, failures = asyncio.run(_ask_servers(endpoints))
    known, now = load_prices(config.data_dir), datetime.now(UTC)
    found: list[_Model] = []
    repeating = () if name else tuple(filter(repeats_offline_models, endpoints))
    for endpoint in endpoints:
        if endpoint in repeating and not as_json:
            continue
        for model in listed.get(endpoint.name, ()):
            if text.casefold() in model.casefold():
                facts, prices = endpoint.facts_of(model), known.prices_of(endpoint, model, now)
                own = (prices.input, prices.output) if prices else (None, None)
                limits = facts.context_limit, facts.max_output
                found.append(_Model(endpoint.name, model, *limits, *own))
    if as_json:
        write_json([_model_json(each) for each in found])
    elif found:
        write_line(_table(found))
        if repeating and any(each.endpoint == OFFLINE[0].name for each in found):
            others = ", ".join(each.name for each in repeating)
            write_line(f"The models of {OFFLINE[0].name} are also at {others}.", err=True)
    else:
        write_line("No models.", err=True)
    for sentence in failures:
        write_line(f"warning: {sentence}", err=True)
    return not failures


async def _ask_servers(
    endpoints: Sequence[Endpoint],
) -> tuple[dict[str, tuple[str, ...]], tuple[str, ...]]:
    """Return the models that servers list by endpoint, and why others could not be asked."""
    async with open_http_client() as client:
        answers = await asyncio.gather(
            *(list_models(each, client) for each in endpoints), return_exceptions=True
        )
    listed: dict[str, tuple[str, ...]] = {}
    failures: list[str] = []
    for endpoint, answer in zip(endpoints, answers, strict=True):
        if isinstance(answer, TuiChatError):
            failures.append(f"{endpoint.name}: {answer}")
        elif isinstance(answer, BaseException):
            raise answer
        else:
            listed[endpoint.name] = answer
    return listed, tuple(failures)


def _model_json(model: _Model) -> dict[str, object]:
    prices = (model.input_price, model.output_price)
    given, taken = (None if each is None else float(each) for each in prices)
    return {
        "endpoint": model.endpoint,
        "model": model.name,
        "context_limit": model.context_limit,
        "max_output": model.max_output,
        "input_price": given,
        "output_price": taken,
    }


def _table(models: Sequence[_Model]) -> str:
    rows = [("MODEL", "ENDPOINT", "CONTEXT", "OUTPUT", "$/M IN", "$/M OUT")]
    for each in models:
        numbers = (
            "—" if value is None else f"{value:,}"
            for value in (each.context_limit, each.max_output, each.input_price, each.output_price)
        )
        context, most, given, taken = numbers
        rows.append((one_line(each.name), one_line(each.endpoint), context, most, given, taken))
    return output.table(rows, (0, 20), (1, 10))
