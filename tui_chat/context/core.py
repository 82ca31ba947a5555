"""Phase 2: the history, cut to the budget, with the deep messages in it.

1. The newest messages that fit are kept: walking back from the newest, the first unit that
   does not fit ends it, so that the kept history has no holes.
2. What stays anyhow (pinned messages, a system message that begins the history) is set aside
   first; see `ledger`.
3. Depths refer to the truncated history before anything is put in: 0 is before the oldest
   message, n after the n-th, -1 after the newest, -2 before the newest. A depth beyond an
   end is clamped to it, with a note; those that are clamped to one end keep the sequence of
   the depths they ask for, before `order` decides.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from tui_chat.context.ledger import Ledger
from tui_chat.context.listed import Listed
from tui_chat.models.envelope import Dropped, Level, Note, Placement, Turn
from tui_chat.models.memo import recent_memo


@dataclass(frozen=True, slots=True)
class Kept:
    """What is left of the history, and what is not."""

    turns: tuple[Turn, ...]
    costs: tuple[int, ...]
    """Tokens of each turn."""
    dropped: tuple[Dropped, ...]
    tokens: int
    dropped_tokens: int


def truncate(ledger: Ledger, allowance: int | None) -> Kept:
    """Keep the newest messages that cost at most `allowance` tokens; None keeps all."""
    if allowance is None or ledger.total <= allowance:
        return Kept(ledger.turns, ledger.costs, (), ledger.total, 0)
    return _cut(ledger, ledger.first_kept(allowance))


@recent_memo()  # a cut moves by a message now and then: at most keystrokes it stays the same
def _cut(ledger: Ledger, cut: int) -> Kept:
    """Keep the units from `cut` on, and those before it that stay."""
    staying = [index for unit in ledger.staying if unit < cut for index in ledger.members(unit)]
    start = ledger.units[cut] if cut < len(ledger.units) else len(ledger.turns)
    kept = set(staying)
    gone = [index for index in range(start) if index not in kept]
    dropped_tokens = sum(ledger.costs[index] for index in gone)
    return Kept(
        (*(ledger.turns[index] for index in staying), *ledger.turns[start:]),
        (*(ledger.costs[index] for index in staying), *ledger.costs[start:]),
        tuple(_dropped(ledger.turns[index], ledger.costs[index]) for index in gone),
        ledger.total - dropped_tokens,
        dropped_tokens,
    )


def _dropped(turn: Turn, tokens: int) -> Dropped:
    preview = " ".join(turn.text.plain[:200].split())[:80]
    return Dropped(turn.origin, turn.role, preview, tokens)


@dataclass(frozen=True, slots=True)
class Depth:
    """Where one deep line goes."""

    line: Listed
    place: int
    """Messages of the truncated history that stand before it."""
    wanted: int
    """The place it asks for: `place` before it was clamped."""
    placement: Placement


def depths(deep: Sequence[Listed], length: int, notes: list[Note]) -> list[Depth]:
    """Return where the deep lines go in a history of `length` messages, from top to bottom.

    `deep` is sorted by `order`, which decides among those that ask for one place.
    """
    placed = [_depth(line, length, notes) for line in deep]
    return sorted(placed, key=lambda depth: depth.wanted)


def wanted_place(depth: int, length: int) -> int:
    """Return how many of `length` messages an insertion point asks to stand behind: below 0 or
    above `length` where it lies beyond an end.
    """
    return depth if depth >= 0 else length + 1 + depth


def _depth(line: Listed, length: int, notes: list[Note]) -> Depth:
    asked = line.message.insertion_point or 0
    wanted = wanted_place(asked, length)
    place = min(max(wanted, 0), length)
    if place != wanted:
        end = "oldest" if wanted < 0 else "newest"
        sentence = (
            f"{line.called} asks for depth {asked}, but the history sent "
            f"has {length} messages; it goes to its {end} end."
        )
        notes.append(Note(Level.INFO, "depth-clamped", sentence, line.origin))
    rule = _where(asked, place, length)
    return Depth(line, place, wanted, Placement("depth", depth=place, rule=rule, asked=asked))


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
    return f"Its depth {asked} is {where}."


def inject(
    kept: Kept, deep: Iterable[tuple[int, Turn, int]]
) -> Iterator[tuple[Sequence[Turn], Sequence[int]]]:
    """Yield the history's turns and their tokens in runs, the deep ones (place, turn, tokens;
    sorted by place) at their places.
    """
    done = 0
    for place, turn, tokens in deep:
        if place > done:
            yield kept.turns[done:place], kept.costs[done:place]
            done = place
        yield (turn,), (tokens,)
    yield kept.turns[done:], kept.costs[done:]
