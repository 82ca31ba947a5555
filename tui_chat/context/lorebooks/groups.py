"""Inclusion groups: of the entries of one group that a round activates, one remains.

1. Entries that stay active from before win, all of them.
2. With scoring, only the entries with the most matching keys may win.
3. A group with an active entry admits no other.
4. Among entries that override, the one of the highest `order` wins; without any, one is drawn by
   weight: the same for a seed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tui_chat.context.macros.environment import draw_number
from tui_chat.models.lorebook import LorebookEntry


def remaining(
    found: Mapping[int, LorebookEntry],
    active: Sequence[LorebookEntry],
    sticky: set[int],
    scoring: bool,
    score: Callable[[int], int],
    seed: str,
) -> set[int]:
    """Return the ranks that remain of `found`, entries by rank in the order of their importance.

    `active` are the entries of earlier rounds, `sticky` the ranks that stay active; `score` counts
    the matching keys of a rank.
    """
    kept = set(found)
    groups: dict[str, list[int]] = {}
    for rank, entry in found.items():
        for group in entry.groups:
            groups.setdefault(group, []).append(rank)
    taken = {group for entry in active for group in entry.groups}
    for name, ranks in groups.items():
        if stays := [rank for rank in ranks if rank in sticky]:
            kept.difference_update(set(ranks).difference(stays))
            continue
        ranks = _with_highest_score(ranks, found, scoring, score, kept)
        if name in taken:
            kept.difference_update(ranks)
            continue
        winner = _winner(name, ranks, found, seed)
        kept.difference_update(rank for rank in ranks if rank != winner)
    return kept


def _with_highest_score(
    ranks: list[int],
    found: Mapping[int, LorebookEntry],
    scoring: bool,
    score: Callable[[int], int],
    kept: set[int],
) -> list[int]:
    def is_scored(rank: int) -> bool:
        own = found[rank].group_scoring
        return scoring if own is None else own

    if not any(scoring or found[rank].group_scoring for rank in ranks):
        return ranks
    scores = {rank: score(rank) for rank in ranks}
    most = max(scores.values())
    lower = {rank for rank in ranks if is_scored(rank) and scores[rank] < most}
    kept.difference_update(lower)
    return [rank for rank in ranks if rank not in lower]


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
