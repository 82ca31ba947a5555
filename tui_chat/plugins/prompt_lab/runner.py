"""The runner: sends the cells of a stored plan and stores what comes of them.

1. Each cell is marked as `streaming` on the disk before its request leaves, and has its result when
   it has ended. No reply is kept here: memory does not grow with what has ended.
2. Cells of an endpoint leave in the order of the plan, four at once, or one for a server on this
   machine or a private network: a local model answers one request at a time. The offline provider
   is no such server. Endpoints do not wait for each other.
3. After a refusal for rate limits or overload (429, 529) no request leaves before the wait that the
   provider asks for is over.
4. A budget that does not suffice for the next cell ends the run, once no cell on its way can give
   some of its reserve back.
5. A cancelled run keeps what ended. What was on its way is `interrupted`, with its text.
6. The conversations of the app are not touched, and tool calls are not run.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import cast

from tui_chat.compose import Composed
from tui_chat.config import LOOPBACK_URL, Config
from tui_chat.errors import ConfigError, Refused, TuiChatError
from tui_chat.library.prices import KnownPrices
from tui_chat.models.endpoint import Endpoint
from tui_chat.models.prices import Prices
from tui_chat.models.reply import Reply
from tui_chat.models.usage import cost_of, source_of_cost
from tui_chat.plugins.prompt_lab.checks import Undecidable, undecided
from tui_chat.plugins.prompt_lab.costs import FREE, RunBudget, is_local, reserve_of
from tui_chat.plugins.prompt_lab.grades import (
    grade,
    judge_request,
    judged_checks,
    read_answer,
    request_verdicts,
)
from tui_chat.plugins.prompt_lab.plan import (
    endpoint_and_model,
    input_tokens,
    output_limit,
    request_of,
)
from tui_chat.plugins.prompt_lab.results import LabStore
from tui_chat.plugins.prompt_lab.values import (
    Case,
    Cell,
    CellReply,
    ReplyCheck,
    Run,
    RunStatus,
    Variant,
    Verdict,
)
from tui_chat.protocols.common.tools import restore_names
from tui_chat.providers.client import HttpClient
from tui_chat.providers.retry import RetryPause
from tui_chat.send import receive

USUAL = 4
LONGEST_WAIT = 300.0
"""Seconds that a refusal keeps other requests waiting, at most."""
OVERLOADED = (429, 529)


def usual_limit(endpoint: Endpoint) -> int:
    """Return how many requests an endpoint gets at once at first."""
    is_offline = endpoint.base_url.startswith(LOOPBACK_URL)
    return 1 if is_local(endpoint) and not is_offline else USUAL


class EndpointLimit:
    """The requests that may be on their way to an endpoint."""

    def __init__(self, most: int, clock: Callable[[], float]) -> None:
        self._free = asyncio.Semaphore(most)
        self._clock = clock
        self._blocked_until = 0.0

    async def enter(self) -> None:
        """Wait until a request may leave."""
        await self._free.acquire()
        while (wait := self._blocked_until - self._clock()) > 0:  # noqa: ASYNC110  no event
            await asyncio.sleep(wait)

    def leave(self) -> None:
        """Count a request that has ended."""
        self._free.release()

    def pause(self, seconds: float) -> None:
        """Let nothing leave for so many seconds, after a refusal."""
        until = self._clock() + min(seconds, LONGEST_WAIT)
        self._blocked_until = max(self._blocked_until, until)


MOST_TEXT = 1_000_000
"""Characters of a reply that are kept."""


class Runner:
    """Sends the cells of one run."""

    def __init__(
        self,
        lab: LabStore,
        run: Run,
        *,
        config: Config,
        client: HttpClient,
        prices: KnownPrices,
        budget: RunBudget,
        on_cell: Callable[[Cell], None] = lambda cell: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`on_cell` is called with each cell when its request leaves, and when it has ended."""
        self._lab = lab
        self._run = run
        self._config = config
        self._client = client
        self._prices = prices
        self._budget = budget
        self._on_cell = on_cell
        self._clock = clock
        self._cases: dict[str, Case] = {}
        self._variants: dict[str, Variant] = {}
        self._settled = asyncio.Event()
        """Set each time a cell has ended."""
        self.is_over_budget = False

    async def send(self) -> RunStatus:
        """Send the cells of the run that wait, and return how the run ended. Raises StoreError, and
        InputError if another program sends it.
        """
        lanes: dict[str, list[Cell]] = {}
        planned = await self._lab.plan(self._run, "waiting")
        self._cases = {case.key: case for case in planned.suite.cases}
        self._variants = {variant.name: variant for variant in planned.variants}
        for cell in planned.cells:
            lanes.setdefault(self._variants[cell.variant].endpoint.name, []).append(cell)
        async with self._lab.running(self._run):
            try:
                async with asyncio.TaskGroup() as tasks:
                    for name, cells in lanes.items():
                        tasks.create_task(self._send_lane(name, cells))
            except BaseExceptionGroup as errors:  # of the store: nothing else is left to raise
                raise _first_of(errors) from None
            status: RunStatus = "over_budget" if self.is_over_budget else "complete"
            await self._lab.end(self._run, status, time.time())
        return status

    async def _send_lane(self, name: str, cells: list[Cell]) -> None:
        """Send the cells of an endpoint."""
        known = next((each for each in self._config.endpoints if each.name == name), None)
        limit = EndpointLimit(usual_limit(known) if known is not None else 1, self._clock)
        async with asyncio.TaskGroup() as tasks:
            for cell in cells:
                await limit.enter()
                if self.is_over_budget:
                    limit.leave()
                    return
                tasks.create_task(self._send_cell(cell, limit))

    async def _send_cell(self, cell: Cell, limit: EndpointLimit) -> None:
        try:
            await self._send_and_store(cell, limit)
        finally:
            self._settled.set()
            limit.leave()

    async def _send_and_store(self, cell: Cell, limit: EndpointLimit) -> None:
        """Send a cell and store its result."""
        case, variant = self._cases[cell.case], self._variants[cell.variant]
        try:
            endpoint = self._config.endpoint_named(variant.endpoint.name)
        except ConfigError as error:
            await self._store(replace(cell, status="error", reply=CellReply(error=str(error))))
            return
        composed = request_of(case, replace(variant, endpoint=endpoint))
        cell = replace(cell, body_sha=composed.payload.sha256)
        async with self._reserved(composed, cell.input_tokens) as exchange:
            if exchange is None:
                return
            await self._lab.start(self._run, cell)
            self._on_cell(replace(cell, status="streaming"))
            try:
                error = await exchange.receive(self._client, limit)
            except asyncio.CancelledError:
                reply = exchange.reply_with(self._prices_of, "The run was stopped.")
                await self._store(replace(cell, status="interrupted", reply=reply))
                raise
            reply = exchange.reply_with(self._prices_of, error)
        cell = replace(cell, reply=reply)
        judged: Mapping[ReplyCheck, Verdict] = {}
        if not reply.error:
            judged = {check: await self._judge(check, cell, limit) for check in judged_checks(case)}
        await self._store(grade(case, cell, request_verdicts(case, composed), judged))

    @asynccontextmanager
    async def _reserved(self, composed: Composed, tokens: int) -> AsyncGenerator[_Exchange | None]:
        """Yield an exchange of a request with so many tokens once the budget has a reserve for it,
        whose place its cost takes; None if it never will.
        """
        prices = self._prices_of(composed, "")
        reserve = reserve_of(tokens, output_limit(composed), prices) if prices else None
        if not await self._reserve(reserve):
            yield None
            return
        exchange = _Exchange(composed, self._clock)
        try:
            yield exchange
        finally:
            self._budget.settle(reserve, exchange.cost)
            self._settled.set()

    async def _reserve(self, amount: Decimal | None) -> bool:
        """Reserve an amount when the budget allows it; return False if it never will."""
        while not self.is_over_budget:
            self._settled.clear()
            if self._budget.reserve(amount):
                return True
            if not self._budget.reserved:
                self.is_over_budget = True
                break
            await self._settled.wait()
        return False

    async def _judge(self, check: ReplyCheck, cell: Cell, limit: EndpointLimit) -> Verdict:
        """Ask the judge about a reply; what goes wrong leaves the check undecided."""
        name = check.judge or self._run.judge
        if not name:
            return undecided(check, "No judge is named: write “judge” into the suite.")
        assert cell.reply is not None
        try:
            endpoint, model = endpoint_and_model(name, self._config)
            composed = judge_request(check, cell.reply.text, endpoint, model)
        except TuiChatError as error:
            return undecided(check, str(error))
        async with self._reserved(composed, input_tokens(composed)) as exchange:
            if exchange is None:
                return undecided(check, "The budget was reached before the judge was asked.")
            error = await exchange.receive(self._client, limit)
            reply = exchange.reply_with(self._prices_of, error)
        try:
            if error:
                raise Undecidable(f"The judge failed: {error}")
            return replace(read_answer(check, reply.text), cost=reply.cost)
        except Undecidable as undecidable:
            return replace(undecided(check, str(undecidable)), cost=reply.cost)

    async def _store(self, cell: Cell) -> None:
        """Store what came of a cell, also if the run is stopped meanwhile."""
        storing = asyncio.ensure_future(self._lab.finish(self._run, cell))
        try:
            await asyncio.shield(storing)
        except asyncio.CancelledError:
            await storing
            self._on_cell(cell)
            raise
        self._on_cell(cell)

    def _prices_of(self, composed: Composed, tier: str) -> Prices | None:
        known = self._prices.prices_of_request(composed, datetime.now(UTC))(tier)
        return FREE if known is None and is_local(composed.endpoint) else known


def _first_of(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        [error, *_] = cast("BaseExceptionGroup[BaseException]", error).exceptions
    return error


class _Exchange:
    """One request on its way, and the reply so far."""

    def __init__(self, composed: Composed, clock: Callable[[], float]) -> None:
        self._composed = composed
        self._clock = clock
        self._began = clock()
        self._first: float | None = None
        self._reply = Reply()
        self.cost: Decimal | None = Decimal(0)
        """US dollars of what has arrived; None if unknown."""

    async def receive(self, client: HttpClient, limit: EndpointLimit) -> str:
        """Send the request and read its reply; return the sentence of the error that ended it,
        empty for none.
        """
        self._began = self._clock()

        def grow(reply: Reply, _: int) -> None:
            self._reply = reply
            if self._first is None and not reply.is_empty:
                self._first = self._clock() - self._began

        def pause(pause: RetryPause) -> None:
            if isinstance(pause.why, Refused) and pause.why.status in OVERLOADED:
                limit.pause(pause.seconds)
            self._began = self._clock() + pause.seconds

        try:
            await receive(self._composed, client, grow, pause)
        except Refused as error:
            if error.status in OVERLOADED:
                limit.pause(error.retry_after or 0)
            return str(error)
        except TuiChatError as error:
            return str(error)
        return ""

    def reply_with(
        self, prices_of: Callable[[Composed, str], Prices | None], error: str
    ) -> CellReply:
        """Return the reply as far as it has arrived, with the error that ended it."""
        reply, composed = self._reply, self._composed
        seconds = max(0.0, self._clock() - self._began)
        message = restore_names(reply.message(composed.protocol), composed.encoded.aliases)
        prices = prices_of(composed, reply.usage.tier)
        media = frozenset(part.media for turn in composed.envelope.turns for part in turn.parts)
        cost = cost_of(reply.usage, prices, media)
        if prices is FREE:
            cost = Decimal(0)
        self.cost = Decimal(0) if error else None
        if reply.usage.input is not None and cost is not None:
            self.cost = cost
        return CellReply(
            text=reply.text[:MOST_TEXT],
            reasoning=reply.thought[:MOST_TEXT],
            refusal=message.refusal,
            calls=message.tool_calls,
            finish=reply.finish.raw if reply.finish else "",
            reason=reply.finish.reason if reply.finish else "",
            model=reply.model,
            usage=reply.usage,
            cost=cost,
            priced=source_of_cost(reply.usage, prices, cost),
            first=self._first,
            seconds=seconds,
            error=error,
        )
