"""Edits of a request body by hand: where they apply, what they leave of it, and how the list of
them follows what a person does to the body that is seen.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.tables import each_row
from tui_chat.errors import InputError
from tui_chat.models.endpoint import Protocol
from tui_chat.models.json_text import to_json
from tui_chat.models.payload import Obj, Str, body_of, plain, tree_of
from tui_chat.models.request_edit import (
    END,
    MOST_EDITS,
    BodyPath,
    EditedBody,
    Operation,
    RequestEdit,
    apply_edits,
    changed_edits,
    value_at,
)
from tui_chat.models.text import Origin, OriginKind, Text

CHAT = Protocol.OPENAI_CHAT
CONTENT: BodyPath = ("messages", 2, "content")
BODY = {
    "model": "m",
    "messages": [
        {"role": "system", "content": "Be brief."},
        {
            "role": "user",
            "content": [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}],
        },
        {"role": "assistant", "content": "yes"},
        {"role": "user", "content": "go on"},
    ],
    "stop": ["a", "b"],
    "temperature": 0.5,
}  # fmt: skip


def tree(body: Any) -> Obj:
    found = tree_of(body, Origin(OriginKind.PRESET, "main"))
    assert isinstance(found, Obj)
    return found


class Person:
    """Edits a body as a person does: each time at a place of what is seen by then."""

    def __init__(self, body: Any = BODY) -> None:
        self.tree = tree(body)
        self.edits: tuple[RequestEdit, ...] = ()

    @property
    def body(self) -> EditedBody:
        return apply_edits(self.tree, self.edits)

    @property
    def seen(self) -> Any:
        return plain(self.body.tree)

    def set(self, path: BodyPath, value: object) -> None:
        self.change("set", path, to_json(value))

    def remove(self, path: BodyPath) -> None:
        self.change("remove", path)

    def add(self, path: BodyPath, value: object) -> None:
        self.change("add", path, to_json(value))

    def change(self, operation: Operation, path: BodyPath, value: str = "") -> None:
        new = RequestEdit(CHAT, path, operation, value)
        self.edits = changed_edits(self.edits, self.body, new)


def test_values_are_set_added_and_removed():
    person = Person()
    person.set(("messages", 0, "content"), "Be kind.")
    person.set(("temperature",), 1)
    person.add(("top_p",), 0.9)
    person.add(("messages", 0), {"role": "user", "content": "first"})
    person.add(("messages", END), {"role": "user", "content": "last"})
    person.add(("messages", -1), {"role": "system", "content": "before all"})
    person.remove(("messages", 4))
    person.remove(("stop", 0))
    assert person.seen == {
        "model": "m",
        "messages": [
            {"role": "system", "content": "before all"},
            {"role": "system", "content": "Be kind."},
            {"role": "user", "content": "first"},
            BODY["messages"][1],
            {"role": "user", "content": "go on"},
            {"role": "user", "content": "last"},
        ],
        "stop": ["b"],
        "temperature": 1,
        "top_p": 0.9,
    }
    assert [result.pointer for result in person.body.results] == [
        "/messages/1/content", "/temperature", "/top_p", "/messages/2", "/messages/5",
        "/messages/0", "/messages", "/stop",
    ]  # fmt: skip


def test_two_edits_of_one_turn_hold_and_one_of_them_alone_does():
    person = Person()
    person.set(("messages", 1, "content", 0, "text"), "ONE")
    person.set(("messages", 1, "content", 1, "text"), "TWO")
    person.set(("messages", 1, "role"), "assistant")
    texts = [block["text"] for block in person.seen["messages"][1]["content"]]
    assert (person.seen["messages"][1]["role"], texts) == ("assistant", ["ONE", "TWO"])
    person.edits = person.edits[1:]
    texts = [block["text"] for block in person.seen["messages"][1]["content"]]
    assert (person.seen["messages"][1]["role"], texts) == ("assistant", ["one", "TWO"])


def moved(body: Any, messages: list[Any]) -> Any:
    return {**body, "messages": messages}


@each_row(
    ("messages", "index"),
    [
        (BODY["messages"], 2),
        ([*BODY["messages"], BODY["messages"][2]], 2),
        (BODY["messages"][1:], 1),
        ([BODY["messages"][3], *BODY["messages"]], 3),
        ([BODY["messages"][2], *BODY["messages"][3:], BODY["messages"][3]], 0),
        # as near on both sides: the lower index
        ([BODY["messages"][0], *BODY["messages"][2:], BODY["messages"][2]], 1),
    ],
    ids=["same", "twice", "truncated", "grown in front", "far", "both sides"],
)
def test_a_path_through_a_list_follows_its_element(messages: list[Any], index: int):
    person = Person()
    person.set(("messages", 2, "content"), "no")
    edited = apply_edits(tree(moved(BODY, messages)), person.edits)
    expected = json.loads(json.dumps(messages))
    expected[index]["content"] = "no"
    assert plain(edited.tree)["messages"] == expected
    assert edited.results[0].pointer == f"/messages/{index}/content"


def test_an_element_inside_a_moved_element_is_found():
    person = Person()
    person.set(("messages", 1, "content", 1, "text"), "TWO")
    edited = apply_edits(
        tree(moved(BODY, [BODY["messages"][3], BODY["messages"][1]])), person.edits
    )
    assert edited.results[0].pointer == "/messages/1/content/1/text"
    assert plain(edited.tree)["messages"][1]["content"][1]["text"] == "TWO"


@each_row(
    ("path", "body", "words"),
    [
        (CONTENT, moved(BODY, [*BODY["messages"][:2], BODY["messages"][3]]), "not in"),
        (CONTENT, moved(BODY, [{**m, "name": "x"} for m in BODY["messages"]]), "since"),
        (CONTENT, {"model": "m"}, "not in this request"),
        (CONTENT, {**BODY, "messages": "text"}, "not in this request"),
    ],
    ids=["gone", "changed", "no list", "no list any more"],
)  # fmt: skip
def test_an_edit_without_its_place_is_not_applied_and_says_why(
    path: BodyPath, body: Any, words: str
):
    person = Person()
    person.set(path, "no")
    edited = apply_edits(before := tree(body), person.edits)
    assert edited.tree is before
    assert words in edited.results[0].fault


def test_keys_are_reached_by_their_path_alone():
    person = Person({"a": {"b": 1, "c": 2}, "d": 3})
    person.set(("a", "b"), 9)
    person.remove(("d",))
    other = apply_edits(tree({"a": {"x": 0}}), person.edits)
    assert plain(other.tree) == {"a": {"x": 0, "b": 9}}
    assert [bool(result.fault) for result in other.results] == [False, True]
    assert apply_edits(tree({"a": 1}), person.edits[:1]).results[0].fault


def test_what_holds_a_place_goes_before_an_edit_inside_it():
    inner = RequestEdit(CHAT, ("a", "b"), "set", "1")
    for outer in (
        RequestEdit(CHAT, ("a",), "set", '{"b": 2}'),
        RequestEdit(CHAT, ("a",), "remove"),
    ):
        for edits in ((inner, outer), (outer, inner)):
            edited = apply_edits(tree({"a": {"b": 0}, "c": 0}), edits)
            faults = {result.edit: bool(result.fault) for result in edited.results}
            assert faults == {inner: True, outer: False}
    twice = replace(inner, value="2")
    edited = apply_edits(tree({"a": {"b": 0}}), (inner, twice))
    assert plain(edited.tree) == {"a": {"b": 2}}
    assert [bool(result.fault) for result in edited.results] == [True, False]


def test_only_the_changed_characters_are_edited_by_hand():
    person = Person()
    person.set(("messages", 0, "content"), "Be very brief!")
    leaf = value_at(person.body.tree, ("messages", 0, "content"))
    assert isinstance(leaf, Str)
    kinds = [(span.text, span.origin.kind, span.start) for span in leaf.text.spans]
    assert kinds == [("Be ", OriginKind.PRESET, 0), ("very brief!", OriginKind.EDIT, 0)]
    edited = leaf.text.spans[1].origin
    assert edited.within == Origin(OriginKind.PRESET, "main")
    assert edited.outermost == edited.within
    assert edited.label == "edited by hand"
    assert edited.id == "/messages/0/content"
    person.set(("messages", 0), {"role": "system", "content": "Be brief.", "name": "x"})
    turn = value_at(person.body.tree, ("messages", 0))
    assert isinstance(turn, Obj)
    assert value_at(turn, ("content",)) is value_at(person.tree, ("messages", 0, "content"))


def test_taking_an_edit_back_leaves_none_behind():
    person = Person()
    person.set(("messages", 0, "content"), "x")
    person.set(("messages", 0, "content"), "Be brief.")
    assert person.edits == ()
    person.add(("messages", 1), {"role": "user", "content": "x"})
    person.set(("messages", 2, "content"), "y")
    assert len(person.edits) == 1
    assert person.seen["messages"][2]["content"] == "y"
    person.remove(("messages", 2, "role"))
    assert person.seen["messages"][2] == {"content": "y"}
    person.add(("messages", 2, "n"), 1)
    assert person.seen["messages"][2] == {"content": "y", "n": 1}
    person.remove(("messages", 2))
    assert person.edits == ()
    person.set(("messages", 1, "content", 0, "text"), "x")
    person.remove(("messages", 1))
    assert [edit.operation for edit in person.edits] == ["remove"]


def test_a_session_has_a_limited_number_of_edits():
    person = Person()
    for number in range(MOST_EDITS):
        person.add((f"k{number}",), number)
    with pytest.raises(InputError, match="at most"):
        person.add(("one more",), 1)
    with pytest.raises(InputError, match="at most"):
        Person().set(("model",), "x" * 4_000_001)


def test_text_without_spans_and_lone_surrogates():
    empty = Obj((("a", Str(Text())), ("b", Str(Text()))))
    edits = (RequestEdit(CHAT, ("a",), "set", '"\\ud800x"'), RequestEdit(CHAT, ("b",), "set", '""'))
    edited = apply_edits(empty, edits)
    assert body_of(edited.tree) == '{"a":"\ufffdx","b":""}'.encode()


# Whatever a person does, the body is what a plain JSON value would be

names = st.sampled_from("abc")
leaves = st.one_of(st.none(), st.booleans(), st.integers(-3, 3), st.sampled_from(["x", "yy", ""]))
values = st.recursive(
    leaves, lambda v: st.lists(v, max_size=4) | st.dictionaries(names, v, max_size=3), max_leaves=12
)
bodies = st.dictionaries(names, values, min_size=1, max_size=3)


def places(value: Any, path: BodyPath = ()) -> list[BodyPath]:
    found = [path] if path else []
    steps = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    return found + [place for step, below in steps for place in places(below, (*path, step))]


def holders(value: Any, path: BodyPath = ()) -> list[tuple[BodyPath, Any]]:
    found = [(path, value)] if isinstance(value, dict | list) else []
    steps = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    return found + [place for step, below in steps for place in holders(below, (*path, step))]


def at(value: Any, path: BodyPath) -> Any:
    for step in path:
        value = value[step]
    return value


@given(
    bodies,
    st.lists(
        st.tuples(st.sampled_from(["set", "remove", "add"]), st.randoms(), values), max_size=8
    ),
)
def test_the_edited_body_is_what_was_done_to_it(body: Any, steps: list[Any]):
    person = Person(body)
    model = json.loads(json.dumps(body))
    for operation, chance, value in steps:
        seen = places(model)
        if operation == "add":
            path, holder = chance.choice(holders(model))
            if isinstance(holder, dict):
                last = chance.choice([key for key in "abcd" if key not in holder] or [""])
                if last in holder:
                    continue
                holder[last] = value
            else:
                last = chance.choice([-1, END, *range(len(holder))])
                holder.insert(len(holder) if last == END else last + 1, value)
            person.add((*path, last), value)
        elif seen:
            path = chance.choice(seen)
            holder, last = at(model, path[:-1]), path[-1]
            if operation == "set":
                holder[last] = value
                person.set(path, value)
            else:
                del holder[last]
                person.remove(path)
        model = json.loads(json.dumps(model))
        assert json.dumps(person.seen, sort_keys=True) == json.dumps(model, sort_keys=True)
        assert not any(result.fault for result in person.body.results)
    for result in person.body.results:
        edit = result.edit
        if edit.operation != "remove":
            parts = [
                part.replace("~1", "/").replace("~0", "~") for part in result.pointer.split("/")[1:]
            ]
            found: Any = person.seen
            for part in parts:
                found = found[int(part)] if isinstance(found, list) else found[part]
            assert json.dumps(found, sort_keys=True) == json.dumps(
                json.loads(edit.value), sort_keys=True
            )
