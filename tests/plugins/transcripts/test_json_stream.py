"""JSON in pieces of any size."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.strategies import any_text
from tests.support.tables import each_row
from tui_chat.plugins.transcripts.json_stream import BadText, BadValue, JsonStream

values = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**6), 10**6) | any_text,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(any_text, inner, max_size=4),
    max_leaves=12,
)


def cut(data: bytes, size: int) -> Iterator[bytes]:
    for start in range(0, len(data), size):
        yield data[start : start + size]


def every(reader: JsonStream) -> list[object]:
    return [reader.value() for _ in reader.elements()]


@given(st.lists(values, max_size=6), st.integers(1, 40), st.booleans(), st.sampled_from([None, 1]))
def test_an_array_is_read_alike_in_pieces_of_any_size(
    told: list[object], size: int, ascii_only: bool, indent: int | None
):
    data = json.dumps(told, ensure_ascii=ascii_only, indent=indent).encode()
    reader = JsonStream(cut(data, size))
    assert every(reader) == told
    assert reader.peek() == ""
    assert reader.line == data.count(b"\n") + 1


@given(st.binary(max_size=80), st.integers(1, 9))
def test_any_bytes_give_values_or_an_error(data: bytes, size: int):
    reader = JsonStream(cut(data, size))
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
    reader = JsonStream(cut(b'[1, {"a": tru}, [NaN], "x\\q", 1e999, {"b": 2}]', size))
    read: list[object] = []
    for _ in reader.elements():
        try:
            read.append(reader.value())
        except BadValue as error:
            read.append(str(error))
    assert [read[0], read[-1]] == [1, {"b": 2}]
    assert [str(each).partition(":")[0] for each in read[1:-1]] == ["is not JSON"] * 4


@each_row("size", [1, 7, 1_000])
def test_a_value_that_is_too_large_ends_the_reading(size: int):
    data = json.dumps([1, {"b": ["c" * 3_000] * 2}, "d"]).encode()
    reader = JsonStream(cut(data, size), largest=2_000)
    elements = reader.elements()
    next(elements)
    assert reader.value() == 1
    next(elements)
    with pytest.raises(BadText, match="has a value of more than 0 MiB in line 1"):
        reader.value()


def test_a_deeply_nested_value_is_an_error():
    reader = JsonStream([b"[" + b"[" * 200_000 + b"]" * 200_000 + b",1]"])
    read: list[object] = []
    for _ in reader.elements():
        try:
            read.append(reader.value())
        except BadValue as error:
            read.append(str(error))
    assert read == ["is nested too deeply in line 1", 1]
