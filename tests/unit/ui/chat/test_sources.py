"""The sources of a reply below it. No screen."""

from __future__ import annotations

from rich.cells import cell_len

from tests.support.messages import make_message
from tests.support.tables import each_row
from tui_chat.models.message import References, Source
from tui_chat.models.session import Entry
from tui_chat.ui.chat.message import MessageLayout

PAGE = Source("The Eiffel Tower, its height and its history", "https://www.tower.example/height")
FILE = Source("", "", "notes.txt")
TEXT = "It is **330 m.** tall.\n\n- `so` it is\n\nEnd."


def entry(text: str, *sources: Source) -> Entry:
    return Entry(make_message("assistant", text, "a", references=References(sources)))


def layout(of: Entry, width: int = 60, *unfolded: str) -> MessageLayout:
    return MessageLayout(of, width, unfolded={f"a/{key}" for key in unfolded})


def texts(laid_out: MessageLayout) -> list[str]:
    return [line.text.rstrip() for line in laid_out.rows]


def test_sources_are_listed_below_the_text() -> None:
    found = layout(entry(TEXT, PAGE, FILE))
    assert texts(found)[-3:] == [
        "",
        "[1] The Eiffel Tower, its height and its his…  tower.example",
        "[2] notes.txt",
    ]


def test_many_sources_are_folded_to_a_line() -> None:
    sources = [Source(f"Title {i}", f"https://{i}.example/x") for i in range(12)]
    of = entry(TEXT, *sources)
    folded = layout(of)
    assert texts(folded)[-1].startswith("▸ 12 sources: 0.example, 1.example, ")
    assert [*folded.folds.values()] == ["a/sources"]
    opened = layout(of, 60, "sources")
    assert [*opened.folds.values()] == ["a/sources"]
    lines = texts(opened)
    at = next(i for i, line in enumerate(lines) if line.startswith("▾ 12 sources"))
    assert lines[at + 1] == "[1]  Title 0  0.example"
    assert lines[at + 12 :] == ["[12] Title 11  11.example"]


@each_row("width", [10, 24, 80])
def test_lines_fit_and_hostile_titles_are_shown(width: int) -> None:
    hostile = Source("\x1b[31m\u202e" + "x" * 300, "https://" + "a" * 200 + ".example/")
    sources = [hostile, Source("中文" * 100, "https://b.example/")] * 5
    found = layout(entry(TEXT, *sources), width, "sources")
    for line in found.rows:
        assert cell_len(line.text) <= width
        assert "\x1b" not in line.text
        assert "\u202e" not in line.text
