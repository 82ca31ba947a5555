"""Timestamps in the notations of other programs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.tables import each_row
from tui_chat.interop.transcript_builder import parse_timestamp

AT = 1720747897.0  # 2024-07-12 01:31:37 UTC


@each_row(
    ("said", "seconds"),
    [
        (AT, AT),
        (int(AT) * 1000, AT),
        (str(int(AT) * 1000), AT),
        ("2024-07-12T01:31:37Z", AT),
        ("2024-07-12T03:31:37+02:00", AT),
        ("2024-07-12T01:31:37", AT),
        ("2024-07-12T01:31:37.123456Z", AT + 0.123456),
        ("2024-7-12@01h31m37s", AT),
        ("2024-07-12@01h31m37s123ms", AT + 0.123),
        ("2024-7-12 @1h 31m 37s 5ms", AT + 0.005),
        ("July 12, 2024 1:31am", AT - 37),
        ("July 12, 2024 01:31", AT - 37),
        ("Jul 12, 2024 12:05 am", AT - 37 - 86 * 60),
        ("July 12, 2024 12:31pm", AT - 37 + 11 * 3600),
    ],
)
def test_known_notations_are_parsed(said: object, seconds: float):
    assert parse_timestamp(said) == pytest.approx(seconds)


@each_row(
    "said",
    [None, True, "", "soon", "2024-13-40@99h99m99s", 0, -5, 1e30, 10**400, "Foo 1, 2024 1:00pm"],
)
def test_other_values_are_not_times(said: object):
    assert parse_timestamp(said) is None


@given(st.one_of(st.text(max_size=70), st.floats(), st.integers()))
def test_no_value_raises(said: object):
    at = parse_timestamp(said)
    assert at is None or 0 < at < 253_402_300_800
