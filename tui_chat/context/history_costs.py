"""The costs of a history: its turns, their tokens, and the units that truncation keeps or drops.

1. A history is a tuple and stays the same object from keystroke to keystroke, so its costs are
   found by its identity. Messages that the history before had too keep their turns, and with them
   everything derived from those: only what was added or edited is counted.
2. An assistant message with tool calls and the results that follow it are one unit, which is kept
   or dropped as a whole. A unit is always kept if one of its messages is pinned, or is a system
   message that begins the history.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import accumulate
from operator import attrgetter
from typing import TypeAlias

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.blocks import Block, OpaqueBlock, TextBlock
from tui_chat.models.memo import Memo, recent_memo
from tui_chat.models.message import Message, MessageOrigin
from tui_chat.models.turn import IN_HISTORY, Placement, Turn
from tui_chat.tokens import Counter

_SUMMARY = Placement("history", rule="It is a summary of earlier messages.")
_ANSWERED = Placement("draft", rule="It is the message to be answered, which ends the history.")

MakeTurn: TypeAlias = Callable[[Message], Turn]


def history_turn(message: Message) -> Turn:
    """Return the turn of a message of the history: a new object each time."""
    about = message.about
    return Turn(
        message.role,
        message.blocks,
        MessageOrigin(message),
        IN_HISTORY if about.summary is None else _SUMMARY,
        message.name,
        message.extras,
    )


@recent_memo()
def answered_turn(message: Message) -> Turn:
    """Return the turn of a stored message that takes the draft's place."""
    return replace(history_turn(message), placement=_ANSWERED)


@dataclass(frozen=True, slots=True)
class HistoryCosts:
    """The costs of one history, in tokens."""

    history: tuple[Message, ...]
    turns: tuple[Turn, ...]
    costs: tuple[int, ...]
    """Of each turn."""
    sums: tuple[int, ...]
    """Of the turns before each turn; the last item is the total."""
    units: tuple[int, ...]
    """Index of the first message of each unit."""
    always_kept: tuple[int, ...]
    """The units that are always kept, as indices into `units`."""
    blank: tuple[int, ...]
    """The indices of empty messages."""

    @property
    def total(self) -> int:
        """The cost of the whole history."""
        return self.sums[-1]

    def members(self, unit: int) -> range:
        """Return the messages of a unit."""
        following = self.units[unit + 1] if unit + 1 < len(self.units) else len(self.turns)
        return range(self.units[unit], following)

    def first_kept(self, allowance: int) -> int:
        """Return the first unit of the longest run of newest units that costs at most `allowance`
        tokens together with the units that are always kept.
        """
        kept = {unit: self._cost(unit) for unit in self.always_kept}
        left = allowance - sum(kept.values())
        for unit in range(len(self.units) - 1, -1, -1):
            left -= 0 if unit in kept else self._cost(unit)
            if left < 0:
                return unit + 1
        return 0

    def _cost(self, unit: int) -> int:
        members = self.members(unit)
        return self.sums[members.stop] - self.sums[members.start]


@recent_memo()
def _memo_of(counter: Counter, make_turn: MakeTurn) -> Memo[tuple[Message, ...], HistoryCosts]:
    @recent_memo()
    def cost_history(history: tuple[Message, ...]) -> HistoryCosts:
        if counter.uncorrected is not counter:
            first = history_costs(history, counter.uncorrected, make_turn)
            return with_costs(first, tuple(counter.times_ratio(first.costs)))
        known = {
            id(message): (turn, cost)
            for costs in cost_history.results()
            for message, turn, cost in zip(costs.history, costs.turns, costs.costs, strict=True)
        }
        fresh = [message for message in history if id(message) not in known]
        made = list(map(make_turn, fresh))
        for message, turn, cost in zip(fresh, made, counter.each(made), strict=True):
            known[id(message)] = turn, cost
        units = units_of(history)
        counted = HistoryCosts(
            history,
            tuple(known[id(message)][0] for message in history),
            costs=(),
            sums=(),
            units=units,
            always_kept=tuple(_always_kept(history, units)),
            blank=tuple(
                index
                for index, message in enumerate(history)
                if is_blank(message) and not known[id(message)][0].text.plain
            ),
        )
        return with_costs(counted, tuple(known[id(message)][1] for message in history))

    return cost_history


def history_costs(
    history: tuple[Message, ...], counter: Counter, make_turn: MakeTurn = history_turn
) -> HistoryCosts:
    """Return the costs of a history as `counter` counts them. `make_turn` makes the turns of its
    messages; equal functions make equal ones.
    """
    return _memo_of(counter, make_turn)(history)


def with_costs(known: HistoryCosts, costs: tuple[int, ...]) -> HistoryCosts:
    """Return a history with other tokens of its turns."""
    return replace(known, costs=costs, sums=tuple(accumulate(costs, initial=0)))


def units_of(history: Sequence[Message]) -> tuple[int, ...]:
    """Return where units begin."""
    starts: list[int] = []
    for index, message in enumerate(history):
        first = history[starts[-1]] if starts and message.role == "tool" else None
        if first is None or not (first.role == "tool" or first.tool_calls):
            starts.append(index)
    return tuple(starts)


def is_blank(message: Message) -> bool:
    """True if a message is empty. A tool result may be empty, and is not counted as such."""
    return message.role != "tool" and not any(map(_says_something, message.blocks))


def _says_something(block: Block) -> bool:
    if isinstance(block, TextBlock):
        return bool(block.text)
    return not isinstance(block, OpaqueBlock)


def _always_kept(history: Sequence[Message], units: Sequence[int]) -> Iterator[int]:
    """Yield the units that are always kept."""
    last = -1
    for index, pinned in enumerate(map(attrgetter("pinned"), history)):
        if pinned or (index == 0 and history[0].role == "system"):
            unit = bisect_right(units, index) - 1
            if unit != last:
                yield unit
                last = unit
