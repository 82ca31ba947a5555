"""JSON in pieces of any size."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.strategies import any_text
from tests.support.tables import each_row
from tui_chat.plugins.transcripts.json_text import BadText, JsonText

values = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**6), 10**6) | any_text,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(any_text, inner, max_size=4),
    max_leaves=12,
)


def cut(data: bytes, size: int) -> Iterator[bytes]:
    for start in range(0, len(data), size):
        yield data[start : start + size]


def every(reader: JsonText) -> list[object]:
    assert reader.peek() == "["
    return list(reader.elements())


@given(st.lists(values, max_size=6), st.integers(1, 40), st.booleans(), st.sampled_from([None, 1]))
def test_an_array_is_read_alike_in_pieces_of_any_size(
    told: list[object], size: int, ascii_only: bool, indent: int | None
):
    data = json.dumps(told, ensure_ascii=ascii_only, indent=indent).encode()
    reader = JsonText(cut(data, size))
    assert every(reader) == told
    assert reader.peek() == ""
    assert reader.line == data.count(b"\n") + 1


@given(st.binary(max_size=80), st.integers(1, 9))
def test_any_bytes_give_values_or_an_error(data: bytes, size: int):
    try:
        reader = JsonText(cut(data, size))
        while reader.peek():
            reader.value()
    except BadText:
        pass


@each_row(
    ("text", "told"),
    [
        (b'[{"a": 1}, {"a": tru}, 2]', "in line 1"),
        (b'[{"a": 1},\n[NaN]]', "NaN"),
        (b'[{"a": 1}, 1e999]', "in line 1"),
        (b'[{"a": 1}, {"b": ', "ends within the value that begins in line 1"),
        (b'[{"a": 1}, ' + b"[" * 200_000, "is nested too deeply"),
    ],
)
def test_what_precedes_damage_is_read(text: bytes, told: str):
    elements = JsonText([text]).elements()
    assert next(elements) == {"a": 1}
    with pytest.raises(BadText, match=told):
        next(elements)


def test_a_text_that_is_not_utf_8_is_not_read():
    with pytest.raises(BadText, match="is not UTF-8 text"):
        JsonText([b'[{"a": 1},\n{"b": "\xe4"}, 2]'])


def test_a_text_that_is_too_large_is_not_read():
    with pytest.raises(BadText, match="is larger than 0 MiB"):
        JsonText(cut(b"[" + b"1," * 3_000, 100), largest=2_000)
