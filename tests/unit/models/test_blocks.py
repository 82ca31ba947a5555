"""What a reader did not understand comes back, and an edit wins over what came."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.tables import each_row
from tui_chat.models.blocks import (
    Change,
    Extras,
    ReasoningBlock,
    TextBlock,
    difference,
    extras_of,
    own,
    patched,
    same_json,
)
from tui_chat.models.endpoint import Protocol

CHAT = Protocol.OPENAI_CHAT
KEYS = st.sampled_from("abc")
VALUES = st.recursive(
    st.sampled_from([None, True, False, 0, 1, 1.0, "", "x", "1"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(KEYS, VALUES, max_size=3)


@settings(max_examples=1_000)
@given(OBJECTS, OBJECTS)
def test_what_was_read_is_what_we_write_and_the_difference(
    read: dict[str, Any], written: dict[str, Any]
) -> None:
    before = repr((read, written))
    assert same_json(patched(written, extras_of(CHAT, read, written)), read)
    assert repr((read, written)) == before


@given(OBJECTS)
def test_equal_objects_have_no_difference(value: dict[str, Any]) -> None:
    assert difference(value, value) == ({}, ())


def test_json_tells_numbers_and_booleans_apart() -> None:
    assert not same_json(1, 1.0)
    assert not same_json(1, True)
    assert not same_json({"a": [0]}, {"a": [False]})
    assert same_json({"a": [None, "x"]}, {"a": (None, "x")})


def test_keys_are_added_only_where_we_write_none() -> None:
    extras = extras_of(CHAT, {"a": {"b": 1, "c": 2}}, {"a": {"b": 1}})
    assert patched({"a": {"b": 3}}, extras) == {"a": {"b": 3, "c": 2}}
    assert patched({"a": {"b": 1, "c": 4}}, extras) == {"a": {"b": 1, "c": 4}}


def test_an_edit_wins_over_a_captured_value() -> None:
    extras = extras_of(CHAT, {"stop": "END"}, {"stop": ["END"], "type": "x"})
    assert patched({"stop": ["END"], "type": "x"}, extras) == {"stop": "END"}
    assert patched({"stop": ["NO"], "type": "y"}, extras) == {"stop": ["NO"], "type": "y"}


def test_extras_are_read_by_their_own_protocol_alone() -> None:
    block = replace(TextBlock("x"), extras=extras_of(CHAT, {"a": 1}, {}))
    assert own(block, CHAT) is block.extras
    assert own(block, Protocol.GEMINI) is None


@each_row("key", ["data", "encrypted_content", "reasoning_opaque"])
def test_reasoning_that_only_its_provider_can_read(key: str) -> None:
    assert ReasoningBlock("", Extras(CHAT, "", {key: "RU5D", "id": "r"})).encrypted == "RU5D"
    assert ReasoningBlock("", Extras(CHAT, "", {key: 1})).encrypted == ""
    assert ReasoningBlock("Hm.", Extras(CHAT, "", {"signature": "U0lH"})).encrypted == ""
    assert ReasoningBlock("Hm.").encrypted == ""


def test_an_object_in_place_of_another_value_is_a_change() -> None:
    for read, written in (({"a": {"b": 1}}, {"a": "b"}), ({"a": "b"}, {"a": {"b": 1}})):
        keys, changes = difference(read, written)
        assert keys == {}
        assert changes == (Change(("a",), (written["a"],), (read["a"],)),)


def test_a_change_within_an_object_that_is_gone_is_left_out() -> None:
    extras = extras_of(CHAT, {"a": {"b": 1}}, {"a": {"b": 2}})
    assert patched({"a": {"b": 2}}, extras) == {"a": {"b": 1}}
    assert patched({"a": "x"}, extras) == {"a": "x"}
    assert patched({}, extras) == {}
