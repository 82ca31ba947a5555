"""The changes of a request to the one before it, and their effect on the prompt cache."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from typing import Any, cast

from tui_chat.analysis.cache_forecast import Forecast, forecast_cache
from tui_chat.analysis.cache_loss import Idle, cache_seconds
from tui_chat.analysis.diff import Difference, diff_payloads
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.json_tree import Arr, Obj, Tree, plain
from tui_chat.models.payload import render
from tui_chat.models.prices import Prices
from tui_chat.models.request_edit import json_pointer
from tui_chat.models.usage import lost_cost
from tui_chat.plugins.tap.conversations import PlacedCall
from tui_chat.tokens import counter_for

_READING_ORDER = (
    *("tools", "response_format", "text", "output_config"),
    *("system", "instructions", "systemInstruction", "system_instruction"),
    *("messages", "input", "contents"),
)
_MARK = "cache_control"
_AROUND = 60
"""Characters shown from the first difference on."""


@dataclass(frozen=True, slots=True)
class FirstDifference:
    """The first place, in the order in which a model reads, where two requests differ."""

    path: str
    """A JSON pointer."""
    was: str
    """The text from there on; empty if there is none."""
    now: str


@dataclass(frozen=True, slots=True)
class CallComparison:
    """A request beside the one before it in its conversation."""

    previous: int
    """The number of that exchange."""
    difference: Difference
    """Line by line, without cache marks, which move each turn."""
    forecast: Forecast
    first: FirstDifference | None
    """None if this one begins with all of that one."""
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
    was, now = _unmarked(before.exact.tree), _unmarked(call.exact.tree)
    first = None
    if forecast.at.kind != "grown":
        first = next(_differences(plain(was), plain(now)), None)
    cost = lost_cost(forecast.lost, forecast.total, prices)
    return CallComparison(
        placed.previous.exchange if placed.previous else 0,
        diff_payloads(render(was), render(now)),
        forecast,
        first,
        cost,
        prices.source if prices is not None and cost is not None else "",
        Idle(placed.idle, cache_seconds(call.protocol, call.body)),
    )


def _unmarked(node: Tree) -> Tree:
    """Return a body without cache marks; parts that have none are the same objects."""
    match node:
        case Obj():
            items = [(key, _unmarked(value)) for key, value in node.items if key != _MARK]
            same = len(items) == len(node.items) and all(
                new[1] is old[1] for new, old in zip(items, node.items, strict=True)
            )
            return node if same else Obj(tuple(items), node.origin)
        case Arr():
            values = [_unmarked(value) for value in node.items]
            same = all(new is old for new, old in zip(values, node.items, strict=True))
            return node if same else Arr(tuple(values), node.origin)
        case _:
            return node


def _differences(was: Any, now: Any, path: str = "") -> Iterator[FirstDifference]:
    """Yield the differing places in reading order, without what `now` adds to a list's end."""
    if type(was) is not type(now):
        was, now = _lone_text(was), _lone_text(now)
    if isinstance(was, dict) and isinstance(now, dict):
        one, other = cast("dict[str, Any]", was), cast("dict[str, Any]", now)
        keys = [*one, *(key for key in other if key not in one)]
        if not path:  # only what a model reads
            keys = [key for key in _READING_ORDER if key in keys]
        for key in keys:
            yield from _differences(one.get(key), other.get(key), path + json_pointer((key,)))
    elif isinstance(was, list) and isinstance(now, list):
        one_list, other_list = cast("list[Any]", was), cast("list[Any]", now)
        for index, value in enumerate(one_list):
            there = other_list[index] if index < len(other_list) else None
            yield from _differences(value, there, f"{path}/{index}")
    elif was != now:
        yield _at_difference(path, was, now)


def _lone_text(content: Any) -> Any:
    """Return the text of a single text block, which a model reads as text; else the content."""
    blocks = cast("list[Any]", content) if isinstance(content, list) else []
    block = blocks[0] if len(blocks) == 1 else None
    if isinstance(block, dict) and block.keys() == {"type", "text"}:  # pyright: ignore[reportUnknownMemberType] JSON
        return cast("dict[str, Any]", block)["text"]
    return cast("Any", content)


def _at_difference(path: str, was: Any, now: Any) -> FirstDifference:
    one, other = _text(was), _text(now)
    end = min(len(one), len(other))
    index = next((n for n in range(end) if one[n] != other[n]), end)
    start = max(0, index - _AROUND // 3)
    return FirstDifference(path, one[start : index + _AROUND], other[start : index + _AROUND])


def _text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
