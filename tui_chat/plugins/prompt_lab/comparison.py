"""Comparisons: whether one set of results is better than another, or only different by chance.

The same cells of both are paired, and only the pairs that differ count. If neither were better, a
pair would be better or worse with equal chance: the sign test, which for results that pass or fail
is McNemar's exact test. No distribution is assumed, and few cells are no obstacle.
https://en.wikipedia.org/wiki/McNemar%27s_test
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import comb
from typing import TypeVar

from tui_chat.lazy_dataclass import dataclass
from tui_chat.plugins.prompt_lab.values import BEFORE, EDITED, SAVED, Variant

K = TypeVar("K")

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


def paired_variants(
    old: Sequence[Variant], new: Sequence[Variant], accepted: str = ""
) -> dict[str, str]:
    """Return the names of the variants of a run by those of a later one that are compared with
    them: the same name, unless it is a role in the app; else one of the same preset, the `accepted`
    one before others (empty for none). One of each is compared whatever it is.
    """
    names = {variant.name for variant in old} - {EDITED, SAVED, BEFORE}
    pairs = {variant.name: variant.name for variant in new if variant.name in names}
    if not pairs and len(old) == len(new) == 1:
        return {new[0].name: old[0].name}
    first = sorted(old, key=lambda variant: variant.name != accepted)
    for variant in new:
        alike = [each.name for each in first if each.preset.name == variant.preset.name]
        if variant.name not in pairs and alike and alike[0] not in pairs.values():
            pairs[variant.name] = alike[0]
    return pairs
