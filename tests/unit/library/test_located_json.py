"""Parsing JSON and locating values in its text."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.strategies import any_text
from tests.support.tables import each_row
from tui_chat.errors import InputError
from tui_chat.library.json_locations import LineIndex, Path, format_path, locate
from tui_chat.models.json_text import (
    MAX_DEPTH,
    JsonError,
    decode_repaired,
    line_and_column,
    parse_json,
)

values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), any_text).filter(
        lambda value: value not in (float("inf"), float("-inf"))
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(any_text, inner, max_size=4)
    ),
    max_leaves=12,
)


def paths_of(value: Any, path: Path = ()) -> dict[Path, Any]:
    found = {path: value}
    inner = value.items() if isinstance(value, dict) else ()
    for step, part in enumerate(value) if isinstance(value, list) else inner:
        found |= paths_of(part, (*path, step))
    return found


@given(values, st.sampled_from([None, 2, "\t"]), st.booleans())
def test_every_value_is_located(value: Any, indent: Any, escaped: bool):
    text = json.dumps(value, indent=indent, ensure_ascii=escaped)
    wanted = paths_of(value)
    found = locate(text, wanted)
    assert found.keys() == wanted.keys()
    for path, spot in found.items():
        assert json.loads(text[spot.start : spot.end]) == wanted[path]
        if path and isinstance(path[-1], str):
            assert json.loads(text[spot.key : spot.start].rstrip(" :\n\t")) == path[-1]


@given(values)
def test_any_json_is_parsed(value: Any):
    assert decode_repaired(json.dumps(value)) == (value, False)
    assert parse_json(json.dumps(value, ensure_ascii=False), "x") == value


@given(st.text("[]{}\",:\\ 1.-eNaIfinity\n/'", max_size=40))
def test_any_text_is_json_or_an_error_within_it(text: str):
    fault = None
    try:
        decode_repaired(text)
    except JsonError as error:
        fault = error
    if fault is None:
        locate(text, ())
    else:
        assert 0 <= fault.offset <= len(text)


@given(any_text, st.data())
def test_lines_and_columns_count_from_one(text: str, data: st.DataObject):
    offset = data.draw(st.integers(0, len(text)))
    line, column = line_and_column(text, offset)
    assert (line, column) == LineIndex(text).at(offset)
    assert (line + 6, column) == LineIndex(text, 7).at(offset)
    assert sum(len(part) + 1 for part in text.split("\n")[: line - 1]) + column - 1 == offset


@each_row(
    ("text", "line", "column", "words"),
    [
        ("", 1, 1, "empty"),
        (" \n ", 1, 1, "empty"),
        ("{", 1, 2, "ends too early"),
        ('{"a": 1', 1, 8, "ends too early"),
        ("[\n1,\n]", 2, 2, "a comma before “]”"),
        ('{"a": 1,}', 1, 8, "a comma before “}”"),
        ("[1 // one\n]", 1, 4, "comments"),
        ("name: P\nmessages: []\n", 1, 1, "it looks like YAML"),
        ("# mine\n---\nname: P\n", 1, 1, "it looks like YAML"),
        ("- role: user\n", 1, 1, "it looks like YAML"),
        ("hello there", 1, 1, "a value is expected"),
        ("[\n# one\n]", 2, 1, "comments"),
        ("{'a': 1}", 1, 2, "strings need double quotes"),
        ('{"a": “b”}', 1, 7, "strings need double quotes"),
        ('["a\nb"]', 1, 4, "a line break"),
        ('["a]', 1, 2, "no closing quote"),
        ('["\\x"]', 1, 3, "backslash"),
        ("[1 2]", 1, 4, "comma"),
        ('{"a" 1}', 1, 6, "colon"),
        ("[] []", 1, 4, "more text after its end"),
        ("[NaN]", 1, 2, "NaN"),
        ('{"NaN": "NaN", "b":\n -Infinity}', 2, 2, "-Infinity is not a JSON number"),
        ("[1, 1e999]", 1, 5, "1e999 is too large"),
        ("[" + "9" * 5000 + "]", 1, 2, "thousands of digits"),
        ("[" * 100_000, 1, MAX_DEPTH + 1, "nested too deeply"),
        ("[" * 201 + "]" * 201, 1, MAX_DEPTH + 1, "nested too deeply"),
        ('{"a":' * 100_000, 1, 5 * MAX_DEPTH + 1, "nested too deeply"),
    ],
)
def test_syntax_errors_have_a_place_and_a_sentence(text: str, line: int, column: int, words: str):
    with pytest.raises(InputError) as caught:
        parse_json(text, "file.json")
    said = str(caught.value)
    assert said.startswith(f"file.json: line {line}, column {column}: ")
    assert words in said
    assert "\n" not in said


def test_nesting_up_to_the_limit_is_read():
    text = "[" * MAX_DEPTH + "]" * MAX_DEPTH
    assert decode_repaired(text)[1] is False


def test_lone_surrogates_are_replaced():
    assert decode_repaired(r'["\ud800", {"\udc00": 1}, "\ud83d\ude00", "\\ud800"]') == (
        ["\ufffd", {"\ufffd": 1}, "😀", "\\ud800"],
        True,
    )
    assert decode_repaired(r'["\ud83d\ude00", "\\ud800"]')[1] is False


def test_odd_keys_are_quoted_in_a_path():
    assert format_path(("a", 0, "b c", "你")) == '$.a[0]["b c"].你'


@pytest.mark.slow
def test_a_huge_hostile_file_is_scanned_quickly():
    text = "[" + ",".join(["[]"] * 300_000) + "]"
    assert locate(text, {(299_999,)})[(299_999,)].start == len(text) - 3
