"""Comparisons: pairs that differ, and the exact sign test."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.plugins.prompt_lab.conftest import make_variant
from tests.support.tables import each_row
from tui_chat.models.preset import Preset
from tui_chat.models.settings import Settings
from tui_chat.plugins.prompt_lab.report import PairCounts, compare, paired_variants
from tui_chat.plugins.prompt_lab.values import Variant


def test_pairs_that_both_have_count():
    old = {1: True, 2: False, 3: True, 4: False}
    new = {1: True, 2: True, 3: False, 5: True}
    assert compare(old, new) == PairCounts(1, 1, 3)


@each_row(
    ("better", "worse", "chance"),
    [(7, 3, 0.34375), (10, 0, 0.001953125), (0, 0, 1.0), (6, 0, 0.03125), (5, 5, 1.0)],
)
def test_the_chance_is_that_of_the_sign_test(better: int, worse: int, chance: float):
    assert PairCounts(better, worse, 20).chance == pytest.approx(chance)
    assert PairCounts(worse, better, 20).chance == pytest.approx(chance)


def test_the_sentences():
    assert PairCounts(7, 3, 20).sentence == (
        "better 7, worse 3 of 20: not distinguishable (chance 34%)"
    )
    assert PairCounts(9, 0, 20).sentence == "better 9, worse 0 of 20: better (chance 0.4%)"
    assert PairCounts(0, 9, 20).sentence == "better 0, worse 9 of 20: worse (chance 0.4%)"
    assert PairCounts(0, 0, 20).sentence.endswith("no difference")
    assert PairCounts(0, 0, 0).sentence == "nothing to compare"


def test_variants_of_other_names_are_paired_by_their_preset():
    edited, saved = make_variant("tutor", "new"), make_variant("tutor", "old")
    app = [replace(saved, name="saved"), replace(edited, name="edited")]
    later = replace(make_variant("tutor", "newer"), settings=Settings(temperature=0.5))
    other = make_variant("other", "new")
    assert paired_variants(app, [other, later], "edited") == {"tutor": "edited"}
    assert paired_variants(app, [saved], "edited") == {"tutor": "edited"}, "not what was rejected"
    assert paired_variants(app, [other]) == {}
    assert paired_variants([edited], [other]) == {"other": "tutor"}, "one of each"
    assert paired_variants([edited, other], [other, edited]) == {"other": "other", "tutor": "tutor"}


def test_the_accepted_role_of_the_app_stands_for_its_preset():
    def run(**presets: str) -> list[Variant]:
        return [replace(make_variant("tutor", text), name=name) for name, text in presets.items()]

    first, second = run(edited="b", saved="a"), run(saved="b")
    assert paired_variants(first, second, "edited") == {"saved": "edited"}
    other = [replace(each, preset=Preset("renamed")) for each in second]
    assert paired_variants(first, other, "edited") == {}
