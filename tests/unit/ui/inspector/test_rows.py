"""Rows of the inspector: the layout of a payload, and their wrapping."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from json.encoder import encode_basestring as quoted

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from tests.support.inspector_app import chat_tree, history, long_chat, said
from tests.support.strategies import any_text, sources, trees
from tests.support.tables import each_row
from tui_chat.models.envelope import Level, Note
from tui_chat.models.payload import Arr, Obj, Payload, Tree, render
from tui_chat.models.sanitize import sanitize
from tui_chat.models.text import Origin, OriginKind
from tui_chat.ui.inspector.payload_layout import PayloadLayout
from tui_chat.ui.inspector.payload_places import NotePlaces, find_rows, origin_rows
from tui_chat.ui.inspector.row_wrapping import ESCAPE, LEAST, breaks


def rows_of(layout: PayloadLayout) -> list[tuple[int, str]]:
    """Every row: the number of its line, and its text without the indent."""
    found: list[tuple[int, str]] = []
    for row in range(layout.rows):
        spot = layout.spot(row)
        line = layout.line(spot)
        start, end = line.slice(spot.row)
        found.append((spot.line, line.text[start:end]))
    return found


def drawn_lines(payload: Payload) -> list[str]:
    return [
        "".join(sanitize(piece.text, "exact") for piece in line.pieces) for line in payload.lines
    ]


random_trees = sources.flatmap(lambda source: trees(source))
widths = st.integers(14, 80)


@given(random_trees, widths)
def test_the_rows_are_the_lines(tree: Tree, width: int) -> None:
    payload = render(tree)
    layout = PayloadLayout(payload, width)
    lines = [""] * len(payload.lines)
    order: list[int] = []
    for number, text in rows_of(layout):
        lines[number] += text
        order.append(number)
    assert lines == drawn_lines(payload)
    assert order == sorted(order)


@given(random_trees, random_trees, widths)
def test_reused_rows_equal_measured_rows(a: Tree, b: Tree, width: int) -> None:
    shared = said("user", history(1, "shared"), Origin(OriginKind.HISTORY, "m1"))
    before = PayloadLayout(render(Obj((("x", Arr((shared, a))), ("y", b)))), width)
    after = Obj((("x", Arr((shared, b, a))), ("y", b), ("z", shared)))
    assert rows_of(PayloadLayout(render(after), width, before)) == rows_of(
        PayloadLayout(render(after), width)
    )
    shorter = Obj((("x", Arr((a,))), ("y", b)))
    taken = PayloadLayout(render(shorter), width, before)
    assert rows_of(taken) == rows_of(PayloadLayout(render(shorter), width))
    assert taken.payload.body == render(shorter).body


def test_the_key_of_a_container_is_found() -> None:
    layout = PayloadLayout(render(chat_tree(long_chat(3))), 60)
    (row,) = find_rows(layout, "messages")
    assert layout.line(layout.spot(row)).text.strip() == '"messages": ['
    layout.fold(row)
    assert find_rows(layout, "messages") == [row]


@given(st.lists(st.integers(0, 200), max_size=12))
def test_rows_and_places_stay_correct_under_any_folding(folds: list[int]) -> None:
    layout = PayloadLayout(render(chat_tree(long_chat(8))), 40)
    for row in folds:
        layout.fold(row % layout.rows)
    for row in range(layout.rows):
        spot = layout.spot(row)
        if not spot.folded and spot.place.part == "leaf" and spot.row == 0:
            assert layout.row_at(spot.place.pointer) == row
            assert layout.row_of(spot.place) == row
    origin = Origin(OriginKind.HISTORY, "m3", "#4")
    assert len(origin_rows(layout, origin)) == 1
    assert find_rows(layout, "no such words") == []


def test_a_note_is_marked_where_all_messages_are_folded() -> None:
    about = Origin(OriginKind.HISTORY, "m3")
    note = Note(Level.WARNING, "odd", "It is odd.", about)
    layout = PayloadLayout(render(chat_tree(long_chat(8))), 60)
    row = layout.row_at("/messages")
    assert row is not None
    assert NotePlaces((note,)).at(layout, layout.spot(row)) is None
    layout.fold(row)
    assert NotePlaces((note,)).at(layout, layout.spot(row)) is note
    other = replace(note, origin=replace(about, id="m9"))
    assert NotePlaces((other,)).at(layout, layout.spot(row)) is None


# ---  -------------------------------------------------------------------------------------


def rows(text: str, first: int, rest: int, head: int = 0) -> list[str]:
    cuts = [0, *breaks(text, first, rest, head), len(text)]
    return [text[a:b] for a, b in pairwise(cuts)]


def test_a_flood_of_combining_marks_does_not_make_an_endless_row() -> None:
    assert max(map(len, rows("a" + "\u0e31" * 5_000, 20, 20))) <= 8 * 20


def test_a_megabyte_in_one_line_breaks_into_equal_rows() -> None:
    found = rows("QUJD" * 250_000, 40, 50)
    assert len(found) == 20_001
    assert {len(row) for row in found[1:-1]} == {50}


widths_of_rows = st.integers(LEAST, 60)


@given(st.lists(any_text, max_size=8), widths_of_rows, widths_of_rows)
def test_rows_make_up_the_line_and_fit(texts: list[str], first: int, rest: int) -> None:
    text = sanitize(quoted(" ".join(texts)), "exact")
    found = rows(text, first, rest)
    assert "".join(found) == text
    assert all(found[1:]) or text == ""
    assert cell_len(found[0]) <= first
    assert all(cell_len(row) <= rest for row in found[1:])


@given(st.lists(any_text, max_size=8), widths_of_rows, widths_of_rows)
def test_escapes_stay_whole(texts: list[str], first: int, rest: int) -> None:
    text = sanitize(quoted("".join(texts)), "exact")
    inside = {
        position
        for escape in ESCAPE.finditer(text)
        for position in range(escape.start() + 1, escape.end())
    }
    assert inside.isdisjoint(breaks(text, first, rest))


@each_row(
    "emoji",
    [
        "❤\ufe0f",
        "1\ufe0f\u20e3",
        "©\ufe0f",
        "👩\u200d💻",
        "🧑\U0001f3fd\u200d🚀",
        "👁\ufe0f\u200d🗨\ufe0f",
    ],
)
@each_row("before", range(LEAST + 1))
def test_an_emoji_of_several_characters_stays_whole(emoji: str, before: int) -> None:
    found = rows("x" * before + emoji * 30, LEAST, LEAST)
    assert all(row.replace(emoji, "").strip("x") == "" for row in found)
    assert all(cell_len(row) <= LEAST for row in found)
