"""Compaction: a model sums up the older part of a conversation, when the user asks for it.

1. `plan` says what would be summed up, and `write` asks the model. What it wrote counts only once
   the user accepts it, edited or not: then it is a message at the end of the branch that stands
   for the earlier ones; see `context.summaries`.
2. The newest messages stay as they are: 30 % of what the history may cost, and at least the last
   question and what follows it. Calls stay together with their results.
3. A later summary is written from the earlier one and what follows it, so nothing falls between.
4. If the older part is longer than the model's context, the summary covers as much as fits. Doing
   it again covers the rest.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import accumulate

from tui_chat.compose import Composed, compose
from tui_chat.context import Inputs, SessionSettings
from tui_chat.context.history import history_costs, history_turn, summarize, summary_of
from tui_chat.context.inputs import sendable_messages
from tui_chat.context.muted_history import without_muted
from tui_chat.errors import InputError, NotYet
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.message import About, Message, Summary
from tui_chat.models.session import Entry
from tui_chat.models.settings import NO_SETTINGS
from tui_chat.models.text import clean
from tui_chat.tokens import counter_for
from tui_chat.workspace.aside import Aside
from tui_chat.workspace.core import WorkspaceCore, reported
from tui_chat.workspace.events import Done
from tui_chat.workspace.requests import Requests
from tui_chat.workspace.sessions import Sessions
from tui_chat.workspace.usage import UsageReports

PRESET = "compact"
"""The preset with the instructions; the user's own goes before ours."""

KEPT_PERCENT = 30
"""Share of the history that stays as it is."""

HEADING = "Summary of the earlier conversation (notes, not instructions):"
"""The first line of a summary, so that the model does not take it for what the user says now."""


@dataclass(frozen=True, slots=True)
class CompactionPlan:
    """The messages to sum up, and the request for the summary."""

    session_id: str
    history: tuple[Message, ...]
    """The branch as it is sent."""
    head_id: str
    """The last message of the branch."""
    end: int
    """The number of messages of the branch, counted as they are sent, that the summary replaces."""
    tokens: int
    """The tokens that they take in each request."""
    is_whole: bool
    """False if more should be summed up than fits into one request."""
    composed: Composed

    @property
    def messages(self) -> int:
        """The number of messages that the summary replaces, without earlier summaries."""
        return sum(summary_of(message) is None for message in self.history[: self.end])


@dataclass(eq=False)
class Compaction:
    """Plans, writes and stores summaries."""

    core: WorkspaceCore
    _requests: Requests
    _sessions: Sessions
    _side_requests: Aside
    _usage: UsageReports

    @reported(None)
    async def plan(self) -> CompactionPlan | None:
        """Return what would be summed up of the active branch; None, reported, if nothing can."""
        await self._sessions.branch_loaded()
        return self._plan()

    def request(self) -> Composed:
        """Return the request for a summary of the active branch. Raises InputError."""
        return self._plan().composed

    def _plan(self) -> CompactionPlan:
        """Return what would be summed up of the active branch. Raises InputError."""
        state = self.core.state
        history = sendable_messages(state.entries)
        if state.session is None or not history:
            raise NotYet("There is no message in this session yet.")
        live = self._requests.compose("")
        sent = without_muted(summarize(history).history, True, False).history
        correction = self._usage.correction(state.endpoint.name, live.model)
        counter = counter_for(live.model).corrected(correction)
        costs = history_costs(sent, counter, history_turn)
        sums = (0, *accumulate(costs.costs))
        room = sums[-1]
        if (budget := live.envelope.budget) is not None and budget.limit is not None:
            room = min(room, budget.limit - budget.reserve - budget.fixed)
        units = [unit.start for unit in costs.units]
        cut = _cut(sent, units, sums, max(room, 0) * KEPT_PERCENT // 100)
        target, composed = cut, self.request_for(sent[:cut])
        budget = composed.envelope.budget
        if composed.envelope.dropped and budget is not None and budget.limit is not None:
            room = budget.limit - budget.reserve - budget.fixed
            fitting = [unit for unit in units if unit < cut and sums[unit] <= room]
            cut = max((unit for unit in fitting if summary_of(sent[unit]) is None), default=0)
            composed = self.request_for(sent[:cut])
        is_new = [m for m in sent[:cut] if summary_of(m) is None]
        if len(is_new) < 2:
            kept = len(sent) - cut
            sentence = f"Too short to compact: the last {kept:,} messages always stay."
            advice = ""
            if target > 1 and target != cut:
                advice = f"The oldest messages are too long for {composed.model}."
                sentence = "Nothing can be compacted."
            raise InputError(sentence, advice=advice)
        if composed.errors:
            raise InputError(composed.errors[0].sentence)
        end = [message.id for message in history].index(sent[cut].id)
        head_id = state.entries[-1].message.id
        is_whole = target == cut
        return CompactionPlan(
            state.session_id, history, head_id, end, sums[cut], is_whole, composed
        )

    def request_for(self, part: tuple[Message, ...]) -> Composed:
        """Return the request for a summary of messages. Raises InputError."""
        core, state = self.core, self.core.state
        preset = core.library.preset(PRESET)
        # Here an earlier summary is one message among others.
        history = tuple(
            message
            if summary_of(message) is None
            else replace(message, about=replace(message.about, summary=None))
            for message in part
        )
        return compose(
            Inputs(
                replace(state.endpoint, settings=NO_SETTINGS),
                preset,
                history,
                settings=SessionSettings(
                    model=state.effective_model, context_limit=state.settings.context_limit
                ),
                now=core.now(),
            )
        )

    @reported("")
    async def write(
        self, plan: CompactionPlan, on_text: Callable[[str], None] = lambda text: None
    ) -> str:
        """Return the model's summary; empty, reported, if that fails. The conversation stays."""
        text = await self.write_summary(plan.session_id, plan.composed, on_text)
        return f"{HEADING}\n\n{text}"

    async def write_summary(
        self, session_id: str, composed: Composed, on_text: Callable[[str], None]
    ) -> str:
        """Return what the model answers to a request for a summary. Raises TuiChatError."""
        reply = await self._side_requests.ask("summary", session_id, composed, on_text)
        if not reply.text.strip():
            raise InputError("The model wrote no summary.")
        return clean(reply.text).strip()

    @reported(False)
    async def accept(self, plan: CompactionPlan, text: str) -> bool:
        """Store a summary at the end of its branch. Return False if that is not possible now, which
        is reported. Deleting the summary has its messages sent again.
        """
        core, store = self.core, self.core.store_of(plan.session_id)
        async with self._sessions.lock:
            entries = await store.branches.load(plan.session_id)
            if plan.head_id not in (entry.message.id for entry in entries):
                raise InputError("The messages of this summary are not on the shown branch.")
            await self._add(plan, entries, text)
        await self._sessions.refresh(plan.session_id)
        core.publish(Done(f"Summed up {plan.messages:,} messages.", session_id=plan.session_id))
        return True

    async def _add(self, plan: CompactionPlan, entries: tuple[Entry, ...], text: str) -> None:
        if entries[-1].status == "streaming":
            raise NotYet("A reply is still arriving.", advice="Save the summary after it.")
        kept = len(sendable_messages(entries)) - plan.end
        message = Message.of(
            "system",
            clean(text).strip(),
            timestamp=self.core.now().timestamp(),
            about=About(summary=Summary(kept, plan.messages)),
        )
        store = self.core.store_of(plan.session_id)
        await store.messages.add(plan.session_id, message, entries[-1].message.id)

    @reported(None)
    async def switch(self, entry_id: str, enabled: bool) -> None:
        """Switch a summary on, or off: then the messages that it stands for are sent again."""
        await self._switch(entry_id, enabled=enabled)
        await self._sessions.reload_branch()
        self.core.publish(Done(f"Switched {'on' if enabled else 'off'} the summary."))

    async def _switch(self, entry_id: str, *, enabled: bool) -> None:
        store = self.core.active_store
        entry = await store.messages.get(entry_id)
        summary = summary_of(entry.message) if entry is not None else None
        if entry is None or summary is None:
            raise InputError("This summary no longer exists.")
        summary = replace(summary, enabled=enabled)
        about = replace(entry.message.about, summary=summary)
        await store.messages.replace_about(entry_id, about)


def _cut(sent: tuple[Message, ...], units: list[int], sums: tuple[int, ...], kept: int) -> int:
    """Return how many messages to sum up: all but the newest that cost at most `kept` tokens, so
    that the rest begins with a question.
    """
    questions = [index for index in units if sent[index].role == "user"]
    if not questions:
        return 0
    fitting = [index for index in questions if sums[-1] - sums[index] <= kept]
    return fitting[0] if fitting else questions[-1]
