"""The cost of replies: prices, tokens and dollars by day or model; and
estimated token counts, corrected by what providers counted, for each endpoint and model.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import field
from datetime import UTC, datetime, tzinfo
from decimal import Decimal
from typing import Any, Literal

from tui_chat.compose import Composed
from tui_chat.config import LOOPBACK_URL, Config
from tui_chat.errors import InputError
from tui_chat.lazy_dataclass import dataclass
from tui_chat.library.prices import KnownPrices, load_prices
from tui_chat.models.boundary import pack, unpack
from tui_chat.models.prices import Prices
from tui_chat.models.session import Entry
from tui_chat.models.usage import cost_of
from tui_chat.store.usage import ReplyUsage
from tui_chat.tokens import NO_CORRECTION, Correction
from tui_chat.workspace.core import WorkspaceCore

_SETTING = "corrections"
"""The name of the stored setting that holds the corrections."""
_MAX_MODELS = 100
"""Models whose correction is stored, the latest ones."""

UsageGroup = Literal["day", "model"]


@dataclass(slots=True)
class UsageSum:
    """The tokens and the cost of some replies."""

    replies: int = 0
    input: int = 0
    cached: int = 0
    output: int = 0
    cost: Decimal = Decimal(0)
    unknown: int = 0
    """Replies without a known cost."""

    def add(self, reply: ReplyUsage, cost: Decimal | None) -> None:
        """Count a reply."""
        self.replies += 1
        self.input += reply.usage.input or 0
        self.cached += reply.usage.cached or 0
        self.output += reply.usage.output or 0
        self.cost += cost or 0
        self.unknown += cost is None

    @property
    def dollars(self) -> str:
        """The cost as shown: “—” if none is known."""
        return "—" if self.unknown == self.replies else f"${self.cost:.4f}"

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON; the cost is None if none is known."""
        return {
            "replies": self.replies,
            "input": self.input,
            "cached": self.cached,
            "output": self.output,
            "cost": None if self.unknown == self.replies else f"{self.cost.normalize():f}",
            "without_cost": self.unknown,
        }


@dataclass(slots=True)
class UsageSummary:
    """Sums of everything that is stored."""

    session: UsageSum = field(default_factory=UsageSum)
    """The usage of the active session, with all its branches and the messages it was forked
    from."""
    month: UsageSum = field(default_factory=UsageSum)
    """The usage of the current month."""
    models: dict[str, UsageSum] = field(default_factory=dict[str, UsageSum])
    """The usage of the current month, by endpoint and model."""


@dataclass(frozen=True, slots=True)
class _StoredCorrection:
    endpoint: str
    model: str
    correction: Correction


class UsageReports:
    """Knows the prices, sums what is stored, and corrects token estimates."""

    def __init__(self, core: WorkspaceCore) -> None:
        self.core = core
        self._prices: KnownPrices | None = None
        """None until the first question."""
        self._corrections: dict[tuple[str, str], Correction] = {}
        """By endpoint and model; the one learned last is last. Stored between runs."""

    async def prices(self) -> KnownPrices:
        """Return all prices; they are read at the first question."""
        if self._prices is None:
            self._prices = await asyncio.to_thread(load_prices)
        return self._prices

    def prices_of(self, entry: Entry) -> Prices | None:
        """Return the prices of a reply that was stored without its cost; None if unknown."""
        config = self.core.state.config
        try:
            endpoint = config.endpoint_named(entry.endpoint)
        except InputError:
            return None
        stamp = entry.message.timestamp
        time = self.core.now() if stamp is None else datetime.fromtimestamp(stamp, UTC)
        if self._prices is None:
            self._prices = load_prices()
        return self._prices.prices_of(endpoint, entry.model, time)

    async def report(self) -> UsageSummary:
        """Return the sums of everything. Raises StoreError."""
        core = self.core
        prices, now = await self.prices(), core.now()
        report = UsageSummary(await self.session(core.state.session_id))
        month = f"{now:%Y-%m}-"
        async for reply in core.store.usage.requests():
            if group_name(reply, "day", now.tzinfo).startswith(month):
                cost = known_cost(reply, core.state.config, prices)
                model = group_name(reply, "model")
                report.models.setdefault(model, UsageSum()).add(reply, cost)
                report.month.add(reply, cost)
        return report

    async def session(self, session_id: str) -> UsageSum:
        """Return the sum of a session, all its branches included. Raises StoreError."""
        core, total = self.core, UsageSum()
        prices = await self.prices()
        async for reply in core.store_of(session_id).usage.requests(session_id):
            total.add(reply, known_cost(reply, core.state.config, prices))
        return total

    def correction(self, endpoint: str, model: str) -> Correction:
        """Return the correction of estimates for a model at an endpoint."""
        return self._corrections.get((endpoint, model), NO_CORRECTION)

    def learn(self, composed: Composed, reported: int | None) -> Mapping[str, str]:
        """Learn from the number of input tokens that the provider reported for a request. The
        offline provider counts the tokens of no model, so nothing is learned from it, nor from a
        request whose earlier turns the provider keeps. Return the settings to store.
        """
        budget = composed.envelope.budget
        is_partial = composed.envelope.is_continuation
        is_offline = composed.endpoint.base_url.startswith(LOOPBACK_URL)
        if budget is not None and not is_partial and not is_offline:
            key = composed.endpoint.name, composed.model
            correction = self._corrections.pop(key, NO_CORRECTION)
            self._corrections[key] = correction.after(budget.uncorrected, reported)
            if self._corrections[key] != correction:
                return {_SETTING: dump_corrections(self._corrections)}
        return {}

    async def load_corrections(self) -> None:
        """Read the corrections that an earlier run stored. Raises StoreError."""
        text = await self.core.store.settings.get(_SETTING)
        self._corrections = read_corrections(text or "") | self._corrections


def dump_corrections(corrections: Mapping[tuple[str, str], Correction]) -> str:
    """Return the latest corrections as text."""
    latest = list(corrections.items())[-_MAX_MODELS:]
    return pack(tuple(_StoredCorrection(*key, correction) for key, correction in latest))


def read_corrections(text: str) -> dict[tuple[str, str], Correction]:
    """Return the corrections in a text; none if it cannot be read."""
    try:
        stored: tuple[_StoredCorrection, ...] = unpack(tuple[_StoredCorrection, ...], text)
    except (ValueError, TypeError, LookupError, AttributeError):
        return {}
    return {(correction.endpoint, correction.model): correction.correction for correction in stored}


def group_name(reply: ReplyUsage, group: UsageGroup, zone: tzinfo | None = None) -> str:
    """Return the name of a reply's group; days begin in `zone`, by default the local one."""
    if group == "model":
        return f"{reply.endpoint}/{reply.model}"
    return f"{datetime.fromtimestamp(reply.created, UTC).astimezone(zone):%Y-%m-%d}"


def known_cost(reply: ReplyUsage, config: Config, prices: KnownPrices) -> Decimal | None:
    """Return the stored cost, or that of the prices of its time for a reply stored without one."""
    if reply.priced or reply.status != "complete":
        return reply.cost
    try:
        endpoint = config.endpoint_named(reply.endpoint)
    except InputError:
        return None
    time = datetime.fromtimestamp(reply.created, UTC)
    return cost_of(reply.usage, prices.prices_of(endpoint, reply.model, time))
