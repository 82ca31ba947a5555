from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tui_chat.analysis.diff import Difference, changed_part, diff_payloads
from tui_chat.models.payload import Payload, render, tree_of


def payload(value: Any) -> Payload:
    return render(tree_of(value))


def shown(found: Difference) -> list[str]:
    """The rows as a person reads them."""
    was, now = found.was.lines, found.now.lines
    told: list[str] = []
    for run in found.folded():
        if run.is_folded:
            told.append(f"  ... {len(run.now)}")
        elif run.same:
            told += ["  " + now[line].text.strip() for line in run.now]
        else:
            told += ["- " + was[line].text.strip() for line in run.was]
            told += ["+ " + now[line].text.strip() for line in run.now]
    return told


def test_an_inserted_message_is_one_change() -> None:
    before = {"model": "m", "messages": [{"role": "user", "content": c} for c in "ab"]}
    after = {"model": "m", "messages": [{"role": "user", "content": c} for c in "axb"]}
    found = diff_payloads(payload(before), payload(after))
    assert [line for line in shown(found) if line[0] in "+-"] == [
        "+ {",
        '+ "role": "user",',
        '+ "content": "x"',
        "+ },",
    ]
    assert (found.gone, found.new) == (0, 4)


def test_a_changed_word_changes_only_its_line() -> None:
    before = {"model": "m", "messages": [{"role": "user", "content": "one two"}]}
    after = {"model": "m", "messages": [{"role": "user", "content": "one three"}]}
    lines = shown(diff_payloads(payload(before), payload(after)))
    assert [line for line in lines if line[0] in "+-"] == [
        '- "content": "one two"',
        '+ "content": "one three"',
    ]
    assert changed_part("one two", "one three") == (range(5, 7), range(5, 9))


def test_equal_bodies_have_no_difference_and_one_folded_row() -> None:
    found = diff_payloads(payload({"a": [1, 2]}), payload({"a": [1, 2]}))
    assert found.is_none
    assert shown(found) == ["  ... 6"]


def test_a_trailing_comma_is_no_change() -> None:
    found = diff_payloads(payload([[1], [2]]), payload([[1], [2], [3]]))
    assert shown(found) == ["  ... 5", "  2", "  ],", "+ [", "+ 3", "+ ]", "  ]"]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(0, 3) | st.sampled_from(["", "a", "1", "b\n", "ä"]),
    lambda inner: (
        st.lists(inner, max_size=5)
        | st.dictionaries(st.sampled_from(["a", "b", "c"]), inner, max_size=3)
    ),
    max_leaves=20,
)


@given(json_values, json_values)
def test_runs_reproduce_both_bodies(was: Any, now: Any) -> None:
    found = diff_payloads(payload(was), payload(now))
    assert [n for run in found.runs for n in run.was] == list(range(len(found.was.lines)))
    assert [n for run in found.runs for n in run.now] == list(range(len(found.now.lines)))
    for run in found.runs:
        if run.same:
            for one, other in zip(run.was, run.now, strict=True):
                ours, theirs = found.was.lines[one].text, found.now.lines[other].text
                assert ours.strip().removesuffix(",") == theirs.strip().removesuffix(",")
    # Equal bodies, and only they, have no difference (objects in another order are not equal).
    assert found.is_none == (json.dumps(was) == json.dumps(now))


@given(json_values, json_values)
def test_folding_hides_equal_lines_only(was: Any, now: Any) -> None:
    found = diff_payloads(payload(was), payload(now))
    rows = list(found.folded())
    assert [run for run in rows if not run.same] == [run for run in found.runs if not run.same]
    assert [line for run in rows for line in run.was] == list(range(len(found.was.lines)))
    assert [line for run in rows for line in run.now] == list(range(len(found.now.lines)))
    assert all(run.same for run in rows if run.is_folded)
