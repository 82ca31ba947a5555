"""Values read from JSON by their types: what is accepted, and the sentences of what is not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from datetime import date
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Literal

import pytest

from tests.support.tables import each_row
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.boundary import (
    Accepts,
    AsTable,
    Check,
    FieldsOf,
    Forms,
    InvalidValue,
    Range,
    accepts,
    pack,
    plain,
    read,
    read_fields,
    read_own,
    unpack,
)
from tui_chat.models.preset import Preset, PresetMessage


class Color(Enum):
    RED = "red"
    BLUE = "blue"


@dataclass(frozen=True, slots=True)
class Inner:
    number: Annotated[int, Range(0, 10)] = 1
    words: tuple[str, ...] = ()


def _even(number: int) -> int:
    if number % 2:
        raise ValueError("must be even")
    return number


def _form(value: object) -> object:
    return {"number": value} if isinstance(value, int) else value


@dataclass(frozen=True, slots=True)
class Outer:
    name: str
    inner: Annotated[Inner | None, Forms(_form)] = None
    many: tuple[Inner, ...] = ()
    texts: Mapping[str, str] = field(default_factory=dict[str, str])
    kind: Literal["", "a", "b"] = ""
    color: Color = Color.RED
    even: Annotated[int | None, Check(_even)] = None
    price: Decimal | None = None
    starts: date | None = None
    pair: tuple[str, int] = ("", 0)
    share: Annotated[float, Range(above=0)] = 0.5
    either: bool | int = False
    free: Any = None
    switch: bool = True


def faults(value: object, reader: Any = read) -> list[tuple[str, str]]:
    with pytest.raises(InvalidValue) as error:
        reader(Outer, value)
    return [
        (".".join(map(str, each.path)), each.sentence.partition(";")[0])
        for each in error.value.faults
    ]


def test_a_value_is_made_of_all_its_types():
    value = read(
        Outer,
        {
            "name": "n", "inner": 3, "many": [{"words": ["x"]}], "texts": {"a": "b"}, "kind": "a",
            "color": "blue", "even": 4, "price": 1.5, "from": "2026-01-02", "pair": ["p", 1],
            "share": 1, "either": 2, "free": [None],
        },
    )  # fmt: skip
    assert value == Outer(
        "n", Inner(3), (Inner(words=("x",)),), {"a": "b"}, "a", Color.BLUE, 4, Decimal("1.5"),
        date(2026, 1, 2), ("p", 1), 1, 2, [None],
    )  # fmt: skip


@each_row(
    ("given", "place", "sentence"),
    [
        ({"name": 1}, "name", "must be text"),
        ({"switch": 2}, "switch", "must be true or false"),
        ({"switch": None}, "switch", "must be true or false"),
        ({"share": True}, "share", "must be a number above 0"),
        ({"share": 0}, "share", "must be a number above 0"),
        ({"inner": 11}, "inner.number", "must be a whole number from 0 to 10"),
        ({"inner": {"number": 1.5}}, "inner.number", "must be a whole number from 0 to 10"),
        ({"inner": "x"}, "inner", "must be an object"),
        ({"many": {}}, "many", "must be a list of objects"),
        ({"many": [{}, {"words": ["a", 2]}]}, "many.1.words.1", "must be text"),
        ({"texts": {"a": None}}, "texts.a", "must be text"),
        ({"texts": []}, "texts", "must be an object"),
        ({"kind": "c"}, "kind", "must be one of a, b"),
        ({"kind": ["a"]}, "kind", "must be one of a, b"),
        ({"color": "green"}, "color", "must be one of red, blue"),
        ({"even": 3}, "even", "must be even"),
        ({"price": "NaN"}, "price", "must be a number"),
        ({"from": "tomorrow"}, "from", "must be a day (YYYY-MM-DD)"),
        ({"pair": ["p"]}, "pair.1", "is missing"),
        ({"either": "x"}, "either", "must be true or false or a whole number"),
        ({"began": "2026-01-02"}, "began", "is unknown"),
        ({"inner": {"odd": 1}}, "inner.odd", "is unknown"),
    ],
)
def test_a_fault_has_its_place(given: Mapping[str, object], place: str, sentence: str):
    assert faults({"name": "n", **given}) == [(place, sentence)]


def test_all_faults_are_named_at_once():
    found = faults({"kind": 1, "inner": {"number": -1, "words": 2}, "x": 1})
    assert {place for place, _ in found} == {"name", "kind", "inner.number", "inner.words", "x"}
    assert faults({}) == [("name", "is missing")]
    assert faults([]) == [("", "must be an object")]


def test_what_pack_wrote_has_no_limits_and_may_have_unknown_keys():
    value = Outer("n", Inner(99), starts=date(2026, 1, 2), price=Decimal("0.10"), even=3)
    assert read_own(Outer, {**plain(value), "later": 1}) == value
    assert faults({"name": "n", "even": "x"}, read_own) == [("even", "must be a whole number")]


def test_some_fields_of_a_value():
    assert read_fields(Outer, {"kind": "a", "even": 2}) == {"kind": "a", "even": 2}
    with pytest.raises(InvalidValue, match="is unknown"):
        read_fields(Outer, {"odd": "a"})
    part = Annotated[dict[str, Any], FieldsOf(Inner, Outer)]
    assert read(part, {"number": 2, "kind": "b"}) == {"number": 2, "kind": "b"}


def test_texts_of_numbers_where_people_may_write_them():
    given = {"name": "n", "inner": {"number": "3"}, "switch": "no", "share": "1.5", "even": 2.0}
    value = read(Outer, given)
    assert (value.inner, value.switch, value.share, value.even) == (Inner(3), False, 1.5, 2)
    with pytest.raises(InvalidValue, match="whole number"):
        read(Outer, {"name": "n", "even": "x"})


def test_pairs_may_be_an_object():
    pairs = Annotated[tuple[tuple[str, Inner], ...], AsTable()]
    assert read(pairs, {"a": {"number": 2}}) == (("a", Inner(2)),) == read(pairs, [["a", Inner(2)]])
    with pytest.raises(InvalidValue) as error:
        read(pairs, {"a": {"number": 20}})
    assert error.value.faults[0].path == ("a", "number")


def test_what_a_type_accepts_in_words():
    assert accepts(Annotated[int | None, Accepts("tokens, a whole number"), Range(1, 1_000)]) == (
        "tokens, a whole number from 1 to 1,000"
    )
    assert accepts(Annotated[float, Range(0, 2)]) == "a number from 0 to 2"
    assert accepts(tuple[str, ...]) == "a list of texts"


def test_a_row_with_the_usual_form_of_a_value_is_read_again():
    preset = Preset("p", (PresetMessage("a", content="x", cache_control="1h"),))
    assert unpack(Preset, pack(preset)) == preset
