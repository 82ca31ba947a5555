"""What holds an entry back besides its keys: filters, timing, chance and groups.

1. An entry may be limited to kinds of generation, to roles by name, and to roles by tag.
2. `delay`: not before there are so many messages. `sticky`: active for so many messages once it
   was; `cooldown`: paused for so many messages after that. The session keeps both as timers; one
   that began with as many messages as there are now does not hold, since messages were removed,
   unless it is protected. A cooldown follows when a sticky entry ends.
3. Of the entries of one group that a round finds, one remains: a sticky one, else none if the group
   is active already, else that with the highest `order` of those that override, else one drawn by
   weight. Before that, scoring leaves those with the most matching keys.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from tui_chat.context.inputs import Inputs
from tui_chat.context.macros.expansion import draw_number
from tui_chat.models.lorebook import LorebookEntry
from tui_chat.models.settings import LoreTimer
from tui_chat.plugins.sillytavern.lore.index import Candidate


def is_drawn(candidate: Candidate, seed: str) -> bool:
    """True if an entry's probability lets it be active: the same for a seed."""
    chance = candidate.entry.probability
    draw = draw_number(seed, "lore", *candidate.timer_key)
    return chance >= 100 or draw % 1_000_000 < chance * 10_000


class Conditions:
    """The filters and the timing of one request."""

    def __init__(self, inputs: Inputs, length: int) -> None:
        """`length`: messages of the conversation, the draft included."""
        self._kind = inputs.chat.kind
        self._length = length
        role = inputs.active_role
        self._name = "" if role is None else role.name
        card = None if role is None else role.character
        self._tags = set(() if card is None else card.tags)
        self._timers = {(t.kind, t.book, t.entry): t for t in inputs.chat.timers}
        self.timed = {(t.book, t.entry) for t in inputs.chat.timers}
        """The entries that have timers; see `Candidate.timer_key`."""

    def hold_back(self, candidate: Candidate) -> bool:
        """True if a filter or the timing holds an entry back."""
        entry = candidate.entry
        if entry.triggers and self._kind not in entry.triggers:
            return True
        if entry.characters and (self._name in entry.characters) is entry.characters_excluded:
            return True
        has_tag = not self._tags.isdisjoint(entry.character_tags)
        if entry.character_tags and has_tag is entry.characters_excluded:
            return True
        return self._length < entry.delay or self._is_in_cooldown(candidate)

    def _is_in_cooldown(self, candidate: Candidate) -> bool:
        entry = candidate.entry
        if not (entry.cooldown and self._timers):
            return False
        sticky = self._timers.get(("sticky", *candidate.timer_key))
        has_ended = (
            sticky is not None and sticky.start < self._length and self._length >= sticky.end
        )
        if entry.sticky and has_ended:
            return True
        timer = self._timers.get(("cooldown", *candidate.timer_key))
        return self._is_running(timer) and not self.is_sticky(candidate)

    def is_sticky(self, candidate: Candidate) -> bool:
        """True if an entry stays active from an earlier request."""
        if not (self._timers and candidate.entry.sticky):
            return False
        return self._is_running(self._timers.get(("sticky", *candidate.timer_key)))

    def end_of_sticky(self, candidate: Candidate) -> int:
        """Return the number of messages until which a sticky entry stays active."""
        return self._timers["sticky", *candidate.timer_key].end

    def _is_running(self, timer: LoreTimer | None) -> bool:
        return (
            timer is not None
            and self._length < timer.end
            and (timer.start < self._length or timer.protected)
        )


def remaining(
    found: Mapping[int, LorebookEntry],
    active: Sequence[LorebookEntry],
    sticky: set[int],
    scoring: bool,
    score: Callable[[int], int],
    seed: str,
) -> list[int]:
    """Return the ranks that remain of `found`, entries by rank in the order of their importance.

    `active` are the entries of earlier rounds, `sticky` the ranks that stay active; `score` counts
    the matching keys of a rank.
    """
    kept = list(found)

    def remove(ranks: Iterable[int]) -> None:
        for rank in ranks:
            if rank in kept:
                kept.remove(rank)
            elif kept:  # one that was removed already takes the last one with it
                kept.pop()

    groups: dict[str, list[int]] = {}
    for rank, entry in found.items():
        for group in entry.groups:
            groups.setdefault(group, []).append(rank)
    taken = {entry.groups[0] for entry in active if len(entry.groups) == 1}
    with_sticky = {name for name, ranks in groups.items() if not sticky.isdisjoint(ranks)}
    for name in with_sticky:
        remove(rank for rank in groups[name] if rank not in sticky)
    others = {name: ranks for name, ranks in groups.items() if name not in with_sticky}
    for name, ranks in others.items():
        if any(scoring or found[rank].group_scoring for rank in ranks):
            scores = {rank: score(rank) for rank in ranks}
            lower = [
                rank
                for rank in ranks
                if scores[rank] < max(scores.values())
                and (scoring if (own := found[rank].group_scoring) is None else own)
            ]
            remove(lower)
            others[name] = [rank for rank in ranks if rank not in lower]
    for name, ranks in others.items():
        winner = None if name in taken else _winner(name, ranks, found, seed)
        remove(rank for rank in ranks if rank != winner)
    return kept


def _winner(
    name: str, ranks: Sequence[int], found: Mapping[int, LorebookEntry], seed: str
) -> int | None:
    if overriding := [rank for rank in ranks if found[rank].group_override]:
        return max(overriding, key=lambda rank: found[rank].order)
    weights = [found[rank].group_weight for rank in ranks]
    place = draw_number(seed, "lore group", name) % max(sum(weights), 1)
    for rank, weight in zip(ranks, weights, strict=True):
        if place < weight:
            return rank
        place -= weight
    return next(reversed(ranks), None)
