"""Phase 2: the history is counted and cut to the budget, and the deep messages are injected.

1. A history is a tuple and stays the same object from keystroke to keystroke, so its costs are
   found by its identity. A message keeps its turn from one history to the next, and with it its
   tokens and everything else derived from it: only what was added or edited is counted.
2. An assistant message with tool calls and the results that follow it are one unit, which is kept
   or dropped as a whole. A unit is always kept if one of its messages is pinned, or is a system
   message that begins the history.
3. The newest messages that fit are kept. Walking back from the newest, the first unit that does
   not fit ends the history, so it has no holes.
4. Depths refer to the truncated history before any injection: 0 is before the oldest message, n
   after the n-th, -1 after the newest, -2 before the newest. A depth beyond an end is clamped to
   that end, with a note. Messages clamped to the same end keep the sequence of the depths that
   they ask for; only then does `order` decide.
5. A cache mark on the `chat_history` anchor goes to the newest message before which nothing moves
   from one request to the next: depths counted from the end move with every message, and the draft
   changes. A message without content is not sent and cannot carry the mark.

A summary is a message of the history that stands for earlier ones.

1. Of the summaries that are on, the newest counts. It takes the place of the messages it stands
   for; the other summaries are not sent.
2. What truncation always keeps of those stays, before the summary.
3. If all summaries are off, the history is what it was before them, to the byte.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TypeAlias

from tui_chat.context.resolved_message import ResolvedMessage, mark_of
from tui_chat.context.scan import MessageGroups, Placed
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.blocks import OpaqueBlock, TextBlock
from tui_chat.models.envelope import IN_HISTORY, CacheMark, Dropped, Level, Note, Placement, Turn
from tui_chat.models.memo import Memo, recent_memo
from tui_chat.models.message import Message, Summary, message_origin
from tui_chat.models.preset import depth_words
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
        message_origin(message),
        IN_HISTORY if about.summary is None else _SUMMARY,
        message.name,
        message.extras,
    )


@recent_memo()
def answered_turn(message: Message) -> Turn:
    """Return the turn of a stored message that takes the draft's place."""
    return replace(history_turn(message), placement=_ANSWERED)


# --- costs -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class HistoryCosts:
    """The turns of one history, with their costs in tokens."""

    history: tuple[Message, ...]
    turns: tuple[Turn, ...]
    costs: tuple[int, ...]
    """Of each turn."""
    units: tuple[range, ...]
    """The indices of the messages of each unit."""
    always_kept: frozenset[int]
    """The indices of the messages that are always kept."""
    blank: tuple[int, ...]
    """The indices of empty messages."""


@Memo
def _turn_of(message: Message, make_turn: MakeTurn) -> Turn:
    return make_turn(message)


@recent_memo()
def history_costs(
    history: tuple[Message, ...], counter: Counter, make_turn: MakeTurn
) -> HistoryCosts:
    """Return the costs of a history as `counter` counts them. `make_turn` makes the turns of its
    messages, as `history_turn` does; equal functions make equal ones.
    """
    turns = [_turn_of(message, make_turn) for message in history]
    units = units_of(history)
    is_empty = (is_blank(m) and not t.text.plain for m, t in zip(history, turns, strict=True))
    return HistoryCosts(
        history,
        tuple(turns),
        tuple(map(counter.turn, turns)),
        units,
        always_kept(history, units),
        tuple(index for index, empty in enumerate(is_empty) if empty),
    )


def units_of(history: Sequence[Message]) -> tuple[range, ...]:
    """Return the indices of the messages of each unit."""
    starts: list[int] = []
    for index, message in enumerate(history):
        first = history[starts[-1]] if starts and message.role == "tool" else None
        if first is None or not (first.role == "tool" or first.tool_calls):
            starts.append(index)
    return tuple(range(*ends) for ends in pairwise((*starts, len(history))))


def always_kept(history: Sequence[Message], units: Sequence[range]) -> frozenset[int]:
    """Return the indices of the messages that are kept whatever they cost."""
    kept = {i for unit in units if any(history[i].pinned for i in unit) for i in unit}
    if history and history[0].role == "system":
        kept.update(units[0])
    return frozenset(kept)


def is_blank(message: Message) -> bool:
    """True if a message is empty. A tool result may be empty, and is not counted as such."""
    return message.role != "tool" and not any(
        block.text if isinstance(block, TextBlock) else not isinstance(block, OpaqueBlock)
        for block in message.blocks
    )


# --- summaries -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SummarizedHistory:
    """A history as it is sent."""

    history: tuple[Message, ...]
    """The given object if there are no summaries."""
    summary: Message | None = None
    """The summary that is sent."""
    replaced: int = 0
    """How many messages it takes the place of, earlier summaries aside."""


def summary_of(message: Message) -> Summary | None:
    """Return what a message is the summary of; None if it is none."""
    return message.about.summary


@recent_memo()
def summarize(history: tuple[Message, ...]) -> SummarizedHistory:
    """Return a history with the newest enabled summary in place of what it stands for."""
    summaries = {i: s for i, message in enumerate(history) if (s := summary_of(message))}
    if not summaries:
        return SummarizedHistory(history)
    others = [i for i in range(len(history)) if i not in summaries]
    newest = max((i for i, summary in summaries.items() if summary.enabled), default=None)
    if newest is None:
        return SummarizedHistory(tuple(history[i] for i in others))
    end = max(newest - max(summaries[newest].kept, 0), 0)
    before = history[:end]
    kept = always_kept(before, units_of(before))
    stay = [history[i] for i in others if i in kept]
    rest = [history[i] for i in others if i >= end]
    # Truncation never drops it: it would take all that it stands for with it.
    sent = replace(history[newest], pinned=True)
    gone = len(others) - len(stay) - len(rest)
    return SummarizedHistory((*stay, sent, *rest), sent, gone)


# --- truncation ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TruncatedHistory:
    """The history that is sent, and the messages that were dropped."""

    turns: tuple[Turn, ...]
    costs: tuple[int, ...]
    """Tokens of each turn."""
    dropped: tuple[Dropped, ...] = ()


def truncate(costs: HistoryCosts, allowance: int | None) -> TruncatedHistory:
    """Keep the newest messages that cost at most `allowance` tokens; None keeps all of them."""
    if allowance is None or sum(costs.costs) <= allowance:
        return TruncatedHistory(costs.turns, costs.costs)
    left = allowance - sum(costs.costs[index] for index in costs.always_kept)
    start = len(costs.turns)
    for unit in reversed(costs.units):
        if unit.start not in costs.always_kept:
            left -= sum(costs.costs[unit.start : unit.stop])
            if left < 0:
                break
        start = unit.start
    return _cut(costs, start)


@recent_memo()  # the cut rarely moves from one keystroke to the next
def _cut(costs: HistoryCosts, start: int) -> TruncatedHistory:
    """Keep the messages from `start` on, and the always kept ones before it."""
    dropped = [index for index in range(start) if index not in costs.always_kept]
    kept = [index for index in range(start) if index in costs.always_kept]
    kept += range(start, len(costs.turns))
    return TruncatedHistory(
        tuple(costs.turns[index] for index in kept),
        tuple(costs.costs[index] for index in kept),
        tuple(dropped_turn(costs.turns[index], costs.costs[index]) for index in dropped),
    )


def dropped_turn(turn: Turn, tokens: int) -> Dropped:
    """Return what is told of a turn that is dropped."""
    preview = " ".join(turn.text.plain[:200].split())[:80]
    return Dropped(turn.origin, turn.role, preview, tokens)


# --- depths ----------------------------------------------------------------------------------


def place_deep_messages(
    deep: Sequence[ResolvedMessage], length: int, notes: list[Note]
) -> list[Placed]:
    """Return where the deep messages go in a history of `length` messages, from top to bottom: the
    depth of a placement says how many messages of the history stand before it.

    `deep` is sorted by `order`, which decides among those that ask for one place.
    """
    placed: list[Placed] = []
    for line in deep:
        asked = line.message.insertion_point or 0
        wanted = requested_position(asked, length)
        place = min(max(wanted, 0), length)
        if place != wanted:
            end = "oldest" if wanted < 0 else "newest"
            words = depth_words(asked) if asked < 0 else f"a place {depth_words(asked)}"
            sentence = (
                f"{line.called} asks for {words}, but the sent history has {length} "
                f"message{'s' * (length != 1)}; it goes to the {end} end."
            )
            notes.append(Note(Level.INFO, "depth-clamped", sentence, line.origin))
        rule = _where(asked, place, length)
        placed.append((line, Placement("depth", depth=place, rule=rule, asked=asked)))
    return sorted(placed, key=lambda each: requested_position(each[1].asked or 0, length))


def requested_position(depth: int, length: int) -> int:
    """Return how many of `length` messages precede a point, which may lie beyond the ends."""
    return depth if depth >= 0 else length + 1 + depth


def _where(asked: int, place: int, length: int) -> str:
    if length == 0:
        where = "in the history, which is empty"
    elif place == 0:
        where = "before the oldest message of the history"
    elif place == length:
        where = "after the newest message of the history"
    elif asked == -2:
        where = "before the newest message of the history"
    elif asked < 0:
        where = f"before the {length - place} newest messages of the history"
    else:
        where = f"after message {place} of the history that is sent"
    return f"Its depth {-asked} is {where}." if asked < 0 else f"It goes {where}."


def mark_history(
    kept: TruncatedHistory, groups: MessageGroups, deep: Sequence[Placed]
) -> TruncatedHistory:
    """Return the history with the cache mark of its anchor, if the anchor has one."""
    anchor = next((s.message for s in groups.skeleton if s.message.type == "chat_history"), None)
    mark = None if anchor is None else mark_of(anchor)
    if mark is None:
        return kept
    moving = (place.depth or 0 for _, place in deep if (place.asked or 0) < 0)
    for at in range(min(moving, default=len(kept.turns)) - 1, -1, -1):
        turn = kept.turns[at]
        has_content = turn.text.plain.strip() or turn.tool_calls or turn.parts or turn.refusal
        if has_content or turn.role == "tool":
            turn = _marked(turn, mark)
            return replace(kept, turns=(*kept.turns[:at], turn, *kept.turns[at + 1 :]))
    return kept


@Memo
def _marked(turn: Turn, mark: CacheMark) -> Turn:
    """Return the turn with the mark: the same object each time, so that it is encoded once."""
    return replace(turn, cache_mark=mark)
