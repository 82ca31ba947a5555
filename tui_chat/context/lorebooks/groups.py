"""Inclusion groups: of the entries of one group that a round activates, one remains.

1. Entries that stay active from before win, all of them.
2. With scoring, only the entries with the most matching keys may win.
3. A group with an active entry admits no other, unless that entry is in several groups.
4. Among entries that override, the one of the highest `order` wins; without any, one is drawn by
   weight: the same for a seed.
5. An entry that two groups remove takes the least important one with it, as in SillyTavern.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from tui_chat.context.macros.environment import draw_number
from tui_chat.models.lorebook import LorebookEntry


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
            elif kept:  # SillyTavern then removes the last one
                kept.pop()

    groups: dict[str, list[int]] = {}
    for rank, entry in found.items():
        for group in entry.groups:
            groups.setdefault(group, []).append(rank)
    taken = {entry.groups[0] for entry in active if len(entry.groups) == 1}
    with_sticky = {name for name, ranks in groups.items() if not sticky.isdisjoint(ranks)}
    for name, ranks in groups.items():
        if name in with_sticky:
            remove(rank for rank in ranks if rank not in sticky)
    for name, ranks in groups.items():
        if name not in with_sticky and any(scoring or found[rank].group_scoring for rank in ranks):
            lower = _with_lower_score(ranks, found, scoring, score)
            remove(lower)
            groups[name] = [rank for rank in ranks if rank not in lower]
    for name, ranks in groups.items():
        if name in with_sticky:
            continue
        winner = None if name in taken else _winner(name, ranks, found, seed)
        remove(rank for rank in ranks if rank != winner)
    return kept


def _with_lower_score(
    ranks: Sequence[int],
    found: Mapping[int, LorebookEntry],
    scoring: bool,
    score: Callable[[int], int],
) -> list[int]:
    """Return the ranks that do not have the highest score, of those that are scored."""
    scores = {rank: score(rank) for rank in ranks}
    most = max(scores.values())
    return [
        rank
        for rank in ranks
        if scores[rank] < most and (scoring if (own := found[rank].group_scoring) is None else own)
    ]


def _winner(
    name: str, ranks: Sequence[int], found: Mapping[int, LorebookEntry], seed: str
) -> int | None:
    if len(ranks) < 2:
        return next(iter(ranks), None)
    overriding = [rank for rank in ranks if found[rank].group_override]
    if overriding:
        return max(overriding, key=lambda rank: found[rank].order)
    weights = [found[rank].group_weight for rank in ranks]
    place = draw_number(seed, "lore group", name) % max(sum(weights), 1)
    for rank, weight in zip(ranks, weights, strict=True):
        if place < weight:
            return rank
        place -= weight
    return ranks[-1]
