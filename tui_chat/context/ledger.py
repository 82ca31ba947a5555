"""What the history costs: its turns, their tokens, and the sums that truncation asks for.

1. A history is a tuple, and the same object from keystroke to keystroke: what is known of it
   is found by its identity.
2. A history that continues one that is known is worked out from there on.
3. An assistant message with tool calls and the results that follow it are one unit; units
   stay or go as a whole. A unit stays whatever it costs if one of its messages is pinned, or
   is a system message that begins the history.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from operator import is_

from tui_chat.model.envelope import Placement, Turn
from tui_chat.model.memo import Memo, Recent
from tui_chat.model.message import Message
from tui_chat.model.text import Origin, OriginKind, Text
from tui_chat.tokens import Counter

NAME_LENGTH = 32
"""A message has no name; a person knows it by its first words."""

_IN_HISTORY = Placement("history", rule="It is part of the conversation.")


def message_origin(message: Message) -> Origin:
    """Return the origin of a stored message."""
    content = message.content
    name = " ".join(content[: NAME_LENGTH + 8].split())
    if len(name) > NAME_LENGTH or (name and len(content) > NAME_LENGTH + 8):
        name = name[: NAME_LENGTH - 1].rstrip() + "…"
    return Origin(OriginKind.HISTORY, message.id, name or message.role)


def _turn_of(message: Message) -> Turn:
    origin = message_origin(message)
    return Turn(
        role=message.role,
        text=Text.of(message.content, origin),
        origin=origin,
        placement=_IN_HISTORY,
        tool_calls=message.tool_calls,
        tool_call_id=message.tool_call_id,
        name=message.name,
        semantics=message.semantics,
        parts=message.parts,
    )


history_turn: Memo[Message, Turn] = Memo(_turn_of)
"""`history_turn(message)`: the turn of a stored message, the same object each time."""


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


def _ledgers_of(counter: Counter) -> Recent[tuple[Message, ...], Ledger]:
    count = counter.turn

    def draw_up(history: tuple[Message, ...]) -> Ledger:
        before = next((led for led in ledgers.values() if _continues(history, led.history)), None)
        return _ledger(history, before, count)

    ledgers: Recent[tuple[Message, ...], Ledger] = Recent(draw_up)
    return ledgers


_ledgers: Recent[Counter, Recent[tuple[Message, ...], Ledger]] = Recent(_ledgers_of)


def _continues(history: tuple[Message, ...], known: tuple[Message, ...]) -> bool:
    """Whether the very messages of `known` begin `history`."""
    return 0 < len(known) <= len(history) and all(map(is_, known, history))


def _ledger(
    history: tuple[Message, ...], before: Ledger | None, count: Callable[[Turn], int]
) -> Ledger:
    done = len(before.turns) if before else 0
    turns = tuple(map(history_turn, history[done:]))
    costs = tuple(map(count, turns))
    has_parts = any(turn.parts for turn in turns) or (before is not None and before.has_parts)
    if before:
        turns, costs = before.turns + turns, before.costs + costs
    units = _units(history, before.units if before else ())
    sums = (0, *accumulate(costs))
    ends = (*units[1:], len(history)) if units else ()
    staying = tuple(
        number
        for number, (start, end) in enumerate(zip(units, ends, strict=True))
        if _stays(history, start, end)
    )
    fixed = set(staying)
    prices = (
        0 if number in fixed else sums[end] - sums[start]
        for number, (start, end) in enumerate(zip(units, ends, strict=True))
    )
    droppable = tuple(accumulate(prices, initial=0))
    return Ledger(history, turns, costs, units, staying, droppable, sums[-1], has_parts)


def _units(history: Sequence[Message], known: tuple[int, ...]) -> tuple[int, ...]:
    """Return where units begin; all but the last of the known ones hold."""
    starts = list(known[:-1])
    at = known[-1] if known else 0
    for index in range(at, len(history)):
        if not (history[index].role == "tool" and index > at and _takes_results(history[at])):
            starts.append(index)
            at = index
    return tuple(starts)


def _takes_results(first: Message) -> bool:
    return first.role == "tool" or bool(first.tool_calls)


def _stays(history: Sequence[Message], start: int, end: int) -> bool:
    if start == 0 and history[0].role == "system":
        return True
    return any(message.pinned for message in history[start:end])
