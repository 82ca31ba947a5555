"""Places of the body that are edited by hand: what is edited, as what, and where more is added."""

from __future__ import annotations

import json

import pytest
from textual.widgets import TextArea

from tests.support.tables import each_row
from tui_chat.errors import InputError
from tui_chat.models.payload import Obj, render, tree_of
from tui_chat.models.request_edit import END, BodyPath
from tui_chat.ui.inspector.edit_place import EditPlace, place_of
from tui_chat.ui.inspector.payload_layout import PayloadLayout

BODY = {
    "model": "m",
    "messages": [{"role": "user", "content": "one\ntwo"}, {"role": "user", "content": "\r\u2028x"}],
    "stop": [],
    "temperature": 0.5,
}


def place(pointer: str, body: object = BODY, *, closes: bool = False) -> EditPlace:
    tree = tree_of(body)  # type: ignore[arg-type]
    assert isinstance(tree, Obj)
    layout = PayloadLayout(render(tree), 80)
    layout.unfold_to(pointer)
    spots = [layout.spot(row) for row in range(layout.rows)]
    part = ("close",) if closes else ("open", "leaf")
    return place_of(next(s for s in spots if s.place.pointer == pointer and s.place.part in part))


@each_row(
    ("pointer", "is_text", "written"),
    [
        ("/messages/0/content", True, "one\ntwo"),
        ("/messages/1/content", False, '"\\r\\u2028x"'),
        ("/temperature", False, "0.5"),
        ("/messages/0", False, '{\n  "role": "user",\n  "content": "one\\ntwo"\n}'),
    ],
)
def test_a_value_is_edited_as_text_or_as_json(pointer: str, is_text: bool, written: str):
    here = place(pointer)
    assert (here.is_text, here.written, here.pointer) == (is_text, written, pointer)
    area = TextArea(here.written)
    assert area.text == here.written, "a text field that is only opened changes nothing"


@each_row(
    ("pointer", "closes", "path"),
    [
        ("/model", False, ("",)),
        ("/messages/0", False, ("messages", 0)),
        ("/messages/0", True, ("messages", 0, "")),
        ("/messages/0/role", False, ("messages", 0, "")),
        ("/messages", True, ("messages", END)),
        ("/stop", False, ("stop", END)),
        ("", False, ("",)),
        ("", True, ("",)),
    ],
)
def test_more_is_added_behind_or_inside(pointer: str, closes: bool, path: BodyPath):
    assert place(pointer, closes=closes).new_path == path


def test_what_is_no_message_begins_empty():
    assert place("/stop", {"stop": [1]}, closes=True).new_value() == ""


@each_row("key", ["messages", "input", "contents"])
def test_a_new_message_has_its_form(key: str):
    value = json.loads(place(f"/{key}", {key: [1]}, closes=True).new_value())
    assert value == (
        {"role": "user", "parts": [{"text": ""}]}
        if key == "contents"
        else {"role": "user", "content": ""}
    )


def test_a_very_long_value_is_not_opened():
    with pytest.raises(InputError, match="300,000 characters"):
        _ = place("/a", {"a": "x" * 300_000}).written
