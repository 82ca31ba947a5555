"""Phase 2: the history is cut to the budget, and the deep messages are injected into it.

1. The newest messages that fit are kept. Walking back from the newest, the first unit that does
   not fit ends the history, so it has no holes. Pinned messages, and a system message that begins
   the history, are kept whatever they cost; see `history_costs`.
2. Depths refer to the truncated history before any injection: 0 is before the oldest message, n
   after the n-th, -1 after the newest, -2 before the newest. A depth beyond an end is clamped to
   that end, with a note. Messages clamped to the same end keep the sequence of the depths that
   they ask for; only then does `order` decide.
3. A cache mark on the `chat_history` anchor goes to the newest message before which nothing moves
   from one request to the next: depths counted from the end move with every message, and the draft
   changes. A message without content is not sent and cannot carry the mark.

A summary is a message of the history that stands for earlier ones.

1. Of the summaries that are on, the newest counts. It takes the place of the messages it stands
   for; the other summaries are not sent.
2. Pinned messages among those, calls with their results, and a system message that begins the
   history stay, before the summary.
3. If all summaries are off, the history is what it was before them, to the byte.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from tui_chat.context.history_costs import HistoryCosts, units_of
from tui_chat.context.resolved_message import ResolvedMessage, mark_of
from tui_chat.context.scan import MessageGroups
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.about import Summary
from tui_chat.models.envelope import Dropped, Level, Note
from tui_chat.models.memo import Memo, recent_memo
from tui_chat.models.message import Message
from tui_chat.models.preset import depth_words
from tui_chat.models.turn import CacheMark, Placement, Turn


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
    found = [index for index, message in enumerate(history) if summary_of(message) is not None]
    if not found:
        return SummarizedHistory(history)
    enabled = [index for index in found if (s := summary_of(history[index])) and s.enabled]
    if not enabled:
        return SummarizedHistory(tuple(m for m in history if summary_of(m) is None))
    newest = enabled[-1]
    summary = history[newest]
    stands_for = summary.about.summary
    assert stands_for is not None
    end = max(newest - max(stands_for.kept, 0), 0)
    before, after = history[:end], history[end:]
    kept = set[int]()
    units = (*units_of(before), len(before))
    for start, stop in pairwise(units):
        is_opening = start == 0 and before[0].role == "system"
        if is_opening or any(message.pinned for message in before[start:stop]):
            kept.update(range(start, stop))
    stay = [m for index, m in enumerate(before) if index in kept and summary_of(m) is None]
    rest = [m for m in after if summary_of(m) is None]
    gone = sum(summary_of(m) is None for m in before) - len(stay)
    # Truncation never drops it: it would take all that it stands for with it.
    sent = replace(summary, pinned=True)
    return SummarizedHistory((*stay, sent, *rest), sent, gone)


@dataclass(frozen=True, slots=True)
class TruncatedHistory:
    """The history that is sent, and the messages that were dropped."""

    turns: tuple[Turn, ...]
    costs: tuple[int, ...]
    """Tokens of each turn."""
    dropped: tuple[Dropped, ...]
    tokens: int
    dropped_tokens: int


def truncate(costs: HistoryCosts, allowance: int | None) -> TruncatedHistory:
    """Keep the newest messages that cost at most `allowance` tokens; None keeps all of them."""
    if allowance is None or costs.total <= allowance:
        return TruncatedHistory(costs.turns, costs.costs, (), costs.total, 0)
    return _cut(costs, costs.first_kept(allowance))


@recent_memo()  # the cut rarely moves from one keystroke to the next
def _cut(costs: HistoryCosts, cut: int) -> TruncatedHistory:
    """Keep the units from `cut` on, and the always kept ones before it."""
    always_kept = [
        index for unit in costs.always_kept if unit < cut for index in costs.members(unit)
    ]
    start = costs.units[cut] if cut < len(costs.units) else len(costs.turns)
    kept = set(always_kept)
    dropped = [index for index in range(start) if index not in kept]
    dropped_tokens = sum(costs.costs[index] for index in dropped)
    return TruncatedHistory(
        (*(costs.turns[index] for index in always_kept), *costs.turns[start:]),
        (*(costs.costs[index] for index in always_kept), *costs.costs[start:]),
        tuple(dropped_turn(costs.turns[index], costs.costs[index]) for index in dropped),
        costs.total - dropped_tokens,
        dropped_tokens,
    )


def dropped_turn(turn: Turn, tokens: int) -> Dropped:
    """Return what is told of a turn that is dropped."""
    preview = " ".join(turn.text.plain[:200].split())[:80]
    return Dropped(turn.origin, turn.role, preview, tokens)


@dataclass(frozen=True, slots=True)
class DepthPlacement:
    """Where one deep message goes."""

    line: ResolvedMessage
    place: int
    """Messages of the truncated history that stand before it."""
    wanted: int
    """The requested place, before it was clamped to `place`."""
    placement: Placement


def place_deep_messages(
    deep: Sequence[ResolvedMessage], length: int, notes: list[Note]
) -> list[DepthPlacement]:
    """Return where the deep messages go in a history of `length` messages, from top to bottom.

    `deep` is sorted by `order`, which decides among those that ask for one place.
    """
    placed = [_depth(line, length, notes) for line in deep]
    return sorted(placed, key=lambda depth: depth.wanted)


def requested_position(depth: int, length: int) -> int:
    """Return how many of `length` messages precede a point, which may lie beyond the ends."""
    return depth if depth >= 0 else length + 1 + depth


def _depth(line: ResolvedMessage, length: int, notes: list[Note]) -> DepthPlacement:
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
    return DepthPlacement(
        line, place, wanted, Placement("depth", depth=place, rule=rule, asked=asked)
    )


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
    kept: TruncatedHistory, groups: MessageGroups, deep: Sequence[DepthPlacement]
) -> TruncatedHistory:
    """Return the history with the cache mark of its anchor, if the anchor has one."""
    anchor = next((s.message for s in groups.skeleton if s.message.type == "chat_history"), None)
    mark = None if anchor is None else mark_of(anchor)
    if mark is None:
        return kept
    moving = (depth.place for depth in deep if (depth.line.message.insertion_point or 0) < 0)
    for at in range(min(moving, default=len(kept.turns)) - 1, -1, -1):
        if _is_sent(kept.turns[at]):
            turn = _marked(kept.turns[at], mark)
            return replace(kept, turns=(*kept.turns[:at], turn, *kept.turns[at + 1 :]))
    return kept


def _is_sent(turn: Turn) -> bool:
    said = turn.text.plain.strip() or turn.tool_calls or turn.parts or turn.refusal
    return bool(said) or turn.role == "tool"


@Memo
def _marked(turn: Turn, mark: CacheMark) -> Turn:
    """Return the turn with the mark: the same object each time, so that it is encoded once."""
    return replace(turn, cache_mark=mark)
