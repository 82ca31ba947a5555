"""JSON in pieces of any size."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.strategies import any_text
from tests.support.tables import each_row
from tui_chat.plugins.transcripts.json_text import BadText, BadValue, JsonText

values = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**6), 10**6) | any_text,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(any_text, inner, max_size=4),
    max_leaves=12,
)


def cut(data: bytes, size: int) -> Iterator[bytes]:
    for start in range(0, len(data), size):
        yield data[start : start + size]


def every(reader: JsonText) -> list[object]:
    return [value for _, value in reader.elements("$")]


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
    reader = JsonText(cut(data, size))
    try:
        while reader.peek():
            try:
                reader.value()
            except BadValue:
                continue
    except BadText:
        pass


@each_row("size", [1, 3, 1000])
def test_after_a_broken_value_the_rest_is_read(size: int):
    reader = JsonText(cut(b'[1, {"a": tru}, [NaN], "x\\q", 1e999, {"b": 2}]', size))
    read = [str(each) if isinstance(each, BadValue) else each for each in every(reader)]
    assert [read[0], read[-1]] == [1, {"b": 2}]
    assert [str(each).partition(":")[0] for each in read[1:-1]] == ["is not JSON"] * 4


def test_what_precedes_damaged_bytes_is_read():
    elements = JsonText([b'[{"a": 1}, {"b": "\xe4"}, 2]']).elements("$")
    assert next(elements) == ("$[0]", {"a": 1})
    with pytest.raises(BadText, match="is not UTF-8 text"):
        next(elements)


def test_a_text_of_damage_alone_is_not_read_to_its_end():
    with pytest.raises(BadText, match="has too many values that are no JSON"):
        every(JsonText([b"[" + b"x," * 5_000 + b"1]"]))


def test_a_text_that_is_too_large_is_not_read():
    with pytest.raises(BadText, match="is larger than 0 MiB"):
        JsonText(cut(b"[" + b"1," * 3_000, 100), largest=2_000)


def test_a_deeply_nested_value_is_an_error():
    reader = JsonText([b"[" + b"[" * 200_000 + b"]" * 200_000 + b",1]"])
    read = [str(each) if isinstance(each, BadValue) else each for each in every(reader)]
    assert read == ["is nested too deeply in line 1", 1]
