"""The costs of a history: its turns, their tokens, and the sums that truncation needs.

1. A history is a tuple and stays the same object from keystroke to keystroke, so its costs are
   found by its identity. Without that a keystroke in 10,000 messages takes 435 ms instead of 1.
2. Messages that a known history has too keep their turns, and with them everything derived from
   those: only what was added or edited is counted.
3. An assistant message with tool calls and the results that follow it are one unit, which is kept
   or dropped as a whole. A unit is always kept if one of its messages is pinned, or is a system
   message that begins the history.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import accumulate
from operator import attrgetter, sub

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.envelope import IN_HISTORY, Placement, Turn
from tui_chat.models.memo import Memo, recent_memo
from tui_chat.models.message import Message, MessageOrigin
from tui_chat.models.text import GLUE, Span, Text
from tui_chat.tokens import Counter

_SUMMARY = Placement("history", rule="It is a summary of earlier messages.")
_ANSWERED = Placement("draft", rule="It is the message to be answered, which ends the history.")


class Speakers:
    """How the names of speakers are sent: as the names of the messages that have one."""

    def field(self, message: Message) -> str:
        """Return the name that is sent with a message."""
        return message.name

    def prefix(self, message: Message) -> str:
        """Return what goes before the text of a message."""
        return ""


FIELD = Speakers()


def history_turn(message: Message, speakers: Speakers = FIELD) -> Turn:
    """Return the turn of a message of the history: a new object each time."""
    origin = MessageOrigin(message)
    text = Text.of(message.content, origin)
    if prefix := speakers.prefix(message):
        text = Text((Span(prefix, GLUE), *text.spans))
    return Turn(
        message.role,
        text,
        origin,
        IN_HISTORY if message.semantics.summary is None else _SUMMARY,
        message.tool_calls,
        message.tool_call_id,
        speakers.field(message),
        message.semantics,
        message.parts,
    )


@recent_memo()
def answered_turn(message: Message, speakers: Speakers = FIELD) -> Turn:
    """Return the turn of a stored message that takes the draft's place."""
    return replace(history_turn(message, speakers), placement=_ANSWERED)


@dataclass(frozen=True, slots=True)
class HistoryCosts:
    """The costs of one history, in tokens."""

    history: tuple[Message, ...]
    turns: tuple[Turn, ...]
    costs: tuple[int, ...]
    """Of each turn."""
    units: tuple[int, ...]
    """Index of the first message of each unit."""
    always_kept: tuple[int, ...]
    """The units that are always kept, as indices into `units`."""
    droppable: tuple[int, ...]
    """For each unit, the cost of the droppable units before it; the last item is for the end."""
    total: int
    blank: tuple[int, ...]
    """The indices of empty messages."""
    has_parts: bool
    """True if there are images, audio or files, whose cost is an estimate."""

    def members(self, unit: int) -> range:
        """Return the messages of a unit."""
        following = self.units[unit + 1] if unit + 1 < len(self.units) else len(self.turns)
        return range(self.units[unit], following)

    def first_kept(self, allowance: int) -> int:
        """Return the first unit of the longest run of newest units that costs at most `allowance`
        tokens together with the units that are always kept.
        """
        everything = self.droppable[-1]
        left = allowance - (self.total - everything)
        return len(self.units) if left < 0 else bisect_left(self.droppable, everything - left)


def history_costs(
    history: tuple[Message, ...], counter: Counter, speakers: Speakers = FIELD
) -> HistoryCosts:
    """Return the costs of a history as `counter` counts them, with the names of its speakers."""
    return _memo_of(counter, speakers)(history)


@recent_memo()
def _memo_of(counter: Counter, speakers: Speakers) -> Memo[tuple[Message, ...], HistoryCosts]:
    @recent_memo()
    def cost_history(history: tuple[Message, ...]) -> HistoryCosts:
        if counter.uncorrected is not counter:
            first = history_costs(history, counter.uncorrected, speakers)
            return _sum_up(first, tuple(counter.times_ratio(first.costs)))
        return _count_history(history, cost_history.results(), counter, speakers)

    return cost_history


def _count_history(
    history: tuple[Message, ...],
    known: Sequence[HistoryCosts],
    counter: Counter,
    speakers: Speakers,
) -> HistoryCosts:
    """Count a history; messages of `known` ones keep their turns."""
    counted = {
        id(message): (turn, cost)
        for costs in known
        for message, turn, cost in zip(costs.history, costs.turns, costs.costs, strict=True)
    }
    fresh = [message for message in history if id(message) not in counted]
    made = [history_turn(message, speakers) for message in fresh]
    for message, turn, cost in zip(fresh, made, counter.each(made), strict=True):
        counted[id(message)] = turn, cost
    turns = tuple(counted[id(message)][0] for message in history)
    units = units_of(history)
    uncounted = HistoryCosts(
        history,
        turns,
        costs=(),
        units=units,
        always_kept=tuple(_always_kept(history, units)),
        droppable=(),
        total=0,
        blank=tuple(
            index
            for index, message in enumerate(history)
            if not message.content and is_blank(message) and not turns[index].text.plain
        ),
        has_parts=any(map(attrgetter("parts"), history)),
    )
    return _sum_up(uncounted, tuple(counted[id(message)][1] for message in history))


@recent_memo()
def with_changed(
    known: HistoryCosts, changed: tuple[tuple[int, Turn], ...], counter: Counter
) -> HistoryCosts:
    """Return the costs with other turns at some indices."""
    turns, costs = list(known.turns), list(known.costs)
    for index, turn in changed:
        turns[index] = turn
        costs[index] = counter.turn(turn)
    blank = {index for index, turn in changed if not turn.text.plain}
    replaced = replace(known, turns=tuple(turns), blank=tuple(sorted({*known.blank, *blank})))
    return _sum_up(replaced, tuple(costs))


def _sum_up(known: HistoryCosts, costs: tuple[int, ...]) -> HistoryCosts:
    """Return the costs with new figures for the turns, and their sums."""
    sums = (0, *accumulate(costs))
    if len(known.units) == len(costs) and not known.always_kept:
        return replace(known, costs=costs, droppable=sums, total=sums[-1])
    ends = [sums[end] for end in (*known.units, len(costs))]
    droppable_costs = list(map(sub, ends[1:], ends))
    for unit in known.always_kept:
        droppable_costs[unit] = 0
    droppable = tuple(accumulate(droppable_costs, initial=0))
    return replace(known, costs=costs, droppable=droppable, total=sums[-1])


def units_of(history: Sequence[Message]) -> tuple[int, ...]:
    """Return where units begin."""
    starts: list[int] = []
    for index, message in enumerate(history):
        if not (message.role == "tool" and starts and _takes_results(history[starts[-1]])):
            starts.append(index)
    return tuple(starts)


def is_blank(message: Message) -> bool:
    """True if a message is empty. A tool result may be empty, and is not counted as such."""
    return not (
        message.role == "tool"
        or message.content
        or message.tool_calls
        or message.parts
        or message.semantics.reasoning
        or message.semantics.refusal
    )


def _takes_results(first: Message) -> bool:
    return first.role == "tool" or bool(first.tool_calls)


def _always_kept(history: Sequence[Message], units: Sequence[int]) -> Iterator[int]:
    """Yield the units that are always kept."""
    last = -1
    for index, pinned in enumerate(map(attrgetter("pinned"), history)):
        if pinned or (index == 0 and history[0].role == "system"):
            unit = bisect_right(units, index) - 1
            if unit != last:
                yield unit
                last = unit
