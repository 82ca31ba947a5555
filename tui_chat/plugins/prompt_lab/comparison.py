"""Comparisons: whether one set of results is better than another, or only different by chance.

The same cells of both are paired, and only the pairs that differ count. If neither were better, a
pair would be better or worse with equal chance: the sign test, which for results that pass or fail
is McNemar's exact test. No distribution is assumed, and few cells are no obstacle.
https://en.wikipedia.org/wiki/McNemar%27s_test
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from math import comb
from typing import TypeVar

from tui_chat.lazy_dataclass import dataclass
from tui_chat.plugins.prompt_lab.values import BEFORE, EDITED, SAVED, Preference, Variant

K = TypeVar("K")

_LIKENESSES: tuple[Callable[[Variant], object], ...] = (
    lambda variant: replace(variant, name="", own=None),
    lambda variant: (variant.preset.name, variant.endpoint.name, variant.model_name),
    lambda variant: variant.preset.name,
    lambda variant: variant.name,
)
"""What variants have in common whose names do not say what they are, the most first."""
_PARTS: Mapping[str, Callable[[Variant], object]] = {
    "preset": lambda variant: variant.preset,
    "model": lambda variant: (variant.endpoint.name, variant.model_name),
    "settings": lambda variant: variant.settings,
}
LEVEL = 0.05
"""The chance of a difference as large as this, if there is none, below which it counts."""


@dataclass(frozen=True, slots=True)
class PairCounts:
    """How many pairs became better and worse."""

    better: int
    worse: int
    total: int
    """All pairs, those that are equal included."""

    def __add__(self, other: PairCounts) -> PairCounts:
        better, worse = self.better + other.better, self.worse + other.worse
        return PairCounts(better, worse, self.total + other.total)

    @property
    def chance(self) -> float:
        """The chance of a difference at least as large, if neither is better."""
        count = self.better + self.worse
        tail = sum(comb(count, number) for number in range(min(self.better, self.worse) + 1))
        return min(1.0, 2 * tail / 2**count)

    @property
    def sentence(self) -> str:
        """The counts, and what they say."""
        if not self.total:
            return "nothing to compare"
        counts = f"better {self.better}, worse {self.worse} of {self.total}"
        if not self.better and not self.worse:
            return f"{counts}: no difference"
        if self.chance >= LEVEL:
            return f"{counts}: not distinguishable (chance {self.chance:.0%})"
        word = "better" if self.better > self.worse else "worse"
        return f"{counts}: {word} (chance {self.chance:.1%})"


def compare(old: Mapping[K, bool], new: Mapping[K, bool]) -> PairCounts:
    """Compare two sets of results, True for passed, by the cells that both have."""
    common = old.keys() & new.keys()
    better = sum(new[key] and not old[key] for key in common)
    worse = sum(old[key] and not new[key] for key in common)
    return PairCounts(better, worse, len(common))


def compare_preferences(preferences: Iterable[Preference], old: str, new: str) -> PairCounts:
    """Compare two variants by what a person preferred."""
    chosen = [each.preferred for each in preferences if {each.first, each.second} == {old, new}]
    return PairCounts(chosen.count(new), chosen.count(old), len(chosen))


def paired_variants(
    old: Sequence[Variant], new: Sequence[Variant], accepted: str = ""
) -> dict[str, str]:
    """Return the names of the variants of a run by those of a later one that are compared with
    them: the same name, unless it is a role in the app; else the same content, model or preset.
    `accepted` is the variant that stands for its preset, empty for none.
    """
    names = {variant.name for variant in old if not _is_role(variant)}
    pairs = {variant.name: variant.name for variant in new if variant.name in names}
    chosen = {variant.preset.name for variant in old if variant.name == accepted}
    candidates = [each for each in old if each.name == accepted or each.preset.name not in chosen]
    if not pairs and len(candidates) == len(new) == 1:
        return {new[0].name: candidates[0].name}
    for likeness in _LIKENESSES:
        for variant in new:
            for candidate in candidates:
                is_free = variant.name not in pairs and candidate.name not in pairs.values()
                if is_free and likeness(candidate) == likeness(variant):
                    pairs[variant.name] = candidate.name
    return pairs


def _is_role(variant: Variant) -> bool:
    return variant.name.partition(" without ")[0] in (EDITED, SAVED, BEFORE)


def pair_words(old: Variant, new: Variant) -> str:
    """Name two variants that are compared, and say how they differ."""
    parts = [part for part, of in _PARTS.items() if of(old) != of(new)]
    words = f"{'other' if parts else 'the same'} {', '.join(parts or _PARTS)}"
    return f"{new.name}{f' against “{old.name}”' if old.name != new.name else ''} ({words})"
