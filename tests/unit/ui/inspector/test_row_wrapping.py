from itertools import pairwise
from json.encoder import encode_basestring as quoted

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from tests.support.strategies import any_text
from tests.support.tables import each_row
from tui_chat.models.sanitize import sanitize
from tui_chat.ui.inspector.row_wrapping import ESCAPE, LEAST, breaks


def rows(text: str, first: int, rest: int, head: int = 0) -> list[str]:
    cuts = [0, *breaks(text, first, rest, head), len(text)]
    return [text[a:b] for a, b in pairwise(cuts)]


def test_a_flood_of_combining_marks_does_not_make_an_endless_row() -> None:
    assert max(map(len, rows("a" + "\u0e31" * 5_000, 20, 20))) <= 8 * 20


def test_a_megabyte_in_one_line_breaks_into_equal_rows() -> None:
    found = rows("QUJD" * 250_000, 40, 50)
    assert len(found) == 20_001
    assert {len(row) for row in found[1:-1]} == {50}


widths = st.integers(LEAST, 60)


@given(st.lists(any_text, max_size=8), widths, widths)
def test_rows_make_up_the_line_and_fit(texts: list[str], first: int, rest: int) -> None:
    text = sanitize(quoted(" ".join(texts)), "exact")
    found = rows(text, first, rest)
    assert "".join(found) == text
    assert all(found[1:]) or text == ""
    assert cell_len(found[0]) <= first
    assert all(cell_len(row) <= rest for row in found[1:])


@given(st.lists(any_text, max_size=8), widths, widths)
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
