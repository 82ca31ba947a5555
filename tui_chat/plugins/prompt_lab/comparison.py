"""Comparisons: whether one set of results is better than another, or only different by chance.

The same cells of both are paired, and only the pairs that differ count. If neither were better, a
pair would be better or worse with equal chance: the sign test, which for results that pass or fail
is McNemar's exact test. No distribution is assumed, and few cells are no obstacle.
https://en.wikipedia.org/wiki/McNemar%27s_test
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import comb
from typing import TypeVar

from tui_chat.lazy_dataclass import dataclass
from tui_chat.plugins.prompt_lab.values import Preference

K = TypeVar("K")

LEVEL = 0.05
"""The chance of a difference as large as this, if there is none, below which it counts."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """How many pairs became better and worse."""

    better: int
    worse: int
    total: int
    """All pairs, those that are equal included."""

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


def compare(old: Mapping[K, bool], new: Mapping[K, bool]) -> Comparison:
    """Compare two sets of results, True for passed, by the cells that both have."""
    common = old.keys() & new.keys()
    better = sum(new[key] and not old[key] for key in common)
    worse = sum(old[key] and not new[key] for key in common)
    return Comparison(better, worse, len(common))


def compare_preferences(preferences: Iterable[Preference], old: str, new: str) -> Comparison:
    """Compare two variants by what a person preferred."""
    chosen = [each.preferred for each in preferences if {each.first, each.second} == {old, new}]
    return Comparison(chosen.count(new), chosen.count(old), len(chosen))
