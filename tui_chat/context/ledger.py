"""What the history costs: its turns, their tokens, and the sums that truncation asks for.

1. A history is a tuple, and the same object from keystroke to keystroke: what is known of it
   is found by its identity.
2. A history that begins like one that is known (a reply was added, a message edited, another
   branch chosen) is worked out from where they part; messages beyond that which both have keep
   their turns, and with them all that was derived from those.
3. An assistant message with tool calls and the results that follow it are one unit; units
   stay or go as a whole. A unit stays whatever it costs if one of its messages is pinned, or
   is a system message that begins the history.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from operator import attrgetter, is_, sub

from tui_chat.models.envelope import Placement, Turn
from tui_chat.models.memo import Memo, recent_memo
from tui_chat.models.message import Message, MessageOrigin
from tui_chat.models.text import Text
from tui_chat.tokens import Counter

_IN_HISTORY = Placement("history", rule="It is part of the conversation.")
_ANSWERED = Placement("draft", rule="It is the message to be answered, which ends the history.")


def _turn_of(message: Message) -> Turn:
    origin = MessageOrigin(message)
    return Turn(
        message.role,
        Text.of(message.content, origin),
        origin,
        _IN_HISTORY,
        message.tool_calls,
        message.tool_call_id,
        message.name,
        message.semantics,
        message.parts,
    )


@recent_memo()
def answered_turn(message: Message) -> Turn:
    """Return the turn of a stored message that stands in the draft's place."""
    return replace(_turn_of(message), placement=_ANSWERED)


@dataclass(frozen=True, slots=True)
class Ledger:
    """The accounts of one history. All figures in tokens."""

    history: tuple[Message, ...]
    turns: tuple[Turn, ...]
    costs: tuple[int, ...]
    """Of each turn."""
    units: tuple[int, ...]
    """Index of the first message of each unit."""
    staying: tuple[int, ...]
    """The units that every truncation keeps, as indices into `units`."""
    droppable: tuple[int, ...]
    """For each unit, what those before it cost that may be dropped; a last one for the end."""
    total: int
    blank: tuple[int, ...]
    """The messages that say nothing at all."""
    has_parts: bool
    """Whether there are pictures, sounds or files, whose cost is an estimate."""

    def members(self, unit: int) -> range:
        """Return the messages of a unit."""
        following = self.units[unit + 1] if unit + 1 < len(self.units) else len(self.turns)
        return range(self.units[unit], following)

    def first_kept(self, allowance: int) -> int:
        """Return the first unit of the newest run of units that cost at most `allowance`
        together with those that stay anyhow.
        """
        everything = self.droppable[-1]
        left = allowance - (self.total - everything)
        return len(self.units) if left < 0 else bisect_left(self.droppable, everything - left)


def ledger_of(history: tuple[Message, ...], counter: Counter) -> Ledger:
    """Return a history's accounts, kept with the counter that drew them up."""
    return _ledgers(counter)(history)


@recent_memo()
def _ledgers(counter: Counter) -> Memo[tuple[Message, ...], Ledger]:
    @recent_memo()
    def draw_up(history: tuple[Message, ...]) -> Ledger:
        if counter.uncorrected is not counter:
            first = ledger_of(history, counter.uncorrected)
            return _sum_up(first, tuple(counter.times_ratio(first.costs)))
        return _ledger(history, *_nearest(history, draw_up.results()), counter)

    return draw_up


_NOTHING = Ledger((), (), (), (), (), (0,), 0, (), has_parts=False)


def _nearest(history: tuple[Message, ...], known: Sequence[Ledger]) -> tuple[Ledger, int]:
    """Return the ledger whose history begins most like this one, and how many messages agree."""
    nearest, most = _NOTHING, 0
    for ledger in known:
        agree = _agreeing(history, ledger.history)
        if agree > most:
            nearest, most = ledger, agree
    return nearest, most


def _agreeing(one: Sequence[Message], other: Sequence[Message]) -> int:
    """Return with how many of the very same messages both begin."""
    same = map(is_, one, other)
    return next((i for i, is_same in enumerate(same) if not is_same), min(len(one), len(other)))


def _ledger(history: tuple[Message, ...], known: Ledger, agree: int, counter: Counter) -> Ledger:
    """Draw up the accounts of a history that agrees with a known one that far."""
    turns, costs = list(known.turns[:agree]), list(known.costs[:agree])
    elsewhere = {id(m): index for index, m in enumerate(known.history[agree:], agree)}
    fresh: Sequence[Message] = history[agree:]
    if elsewhere:
        fresh = [m for m in fresh if id(m) not in elsewhere]
    made = list(map(_turn_of, fresh))
    counted = counter.each(made)
    if len(fresh) == len(history) - agree:
        turns += made
        costs += counted
    else:
        new = zip(made, counted, strict=True)
        for message in history[agree:]:
            index = elsewhere.get(id(message))
            turn, cost = next(new) if index is None else (known.turns[index], known.costs[index])
            turns.append(turn)
            costs.append(cost)
    units = _units(history, known.units[: bisect_left(known.units, agree)], agree)
    has_parts = any(map(attrgetter("parts"), history))
    staying = tuple(_staying(history, units))
    blank = tuple(i for i, message in enumerate(history) if not message.content)
    blank = tuple(index for index in blank if is_blank(history[index]))
    ledger = Ledger(history, tuple(turns), (), units, staying, (), 0, blank, has_parts)
    return _sum_up(ledger, tuple(costs))


def _sum_up(ledger: Ledger, costs: tuple[int, ...]) -> Ledger:
    """Return a ledger with these costs of its turns."""
    sums = (0, *accumulate(costs))
    if len(ledger.units) == len(costs) and not ledger.staying:
        return replace(ledger, costs=costs, droppable=sums, total=sums[-1])
    ends = [sums[end] for end in (*ledger.units, len(costs))]
    prices = list(map(sub, ends[1:], ends))
    for unit in ledger.staying:
        prices[unit] = 0
    droppable = tuple(accumulate(prices, initial=0))
    return replace(ledger, costs=costs, droppable=droppable, total=sums[-1])


def _units(history: Sequence[Message], known: tuple[int, ...], done: int) -> tuple[int, ...]:
    """Return where units begin; `known` are those that begin among the first `done` messages."""
    starts = list(known)
    at = known[-1] if known else 0
    for index in range(done, len(history)):
        if not (history[index].role == "tool" and index > at and _takes_results(history[at])):
            starts.append(index)
            at = index
    return tuple(starts)


def is_blank(message: Message) -> bool:
    """Whether a message says nothing; a tool may have nothing to say."""
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


def _staying(history: Sequence[Message], units: Sequence[int]) -> Iterator[int]:
    """Yield the units that stay."""
    last = -1
    for index, pinned in enumerate(map(attrgetter("pinned"), history)):
        if pinned or (index == 0 and history[0].role == "system"):
            unit = bisect_right(units, index) - 1
            if unit != last:
                yield unit
                last = unit
