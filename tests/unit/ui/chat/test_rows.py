"""Rows of the chat: turns, messages and sources."""

from __future__ import annotations

import base64
from typing import Any

from rich.cells import cell_len

from tests.support.messages import make_message
from tests.support.tables import each_row
from tui_chat.models.blocks import MediaBlock
from tui_chat.models.message import Message, References, Source
from tui_chat.models.session import Entry
from tui_chat.ui.chat.conversation import user_turns, words_of
from tui_chat.ui.chat.header_footer import footer_rows
from tui_chat.ui.chat.message import MessageLayout

PNG = b"\x89PNG\r\n\x1a\n" + bytes(2_000)
IMAGE = MediaBlock("image", "image/png", data=base64.b64encode(PNG).decode())


def footer(*parts: MediaBlock, width: int = 60) -> list[str]:
    of = Entry(Message.of("assistant", "Hi"))
    return [line.text for line in footer_rows(of, parts, "", width)]


def test_a_line_says_what_a_part_is():
    assert footer(
        IMAGE,
        MediaBlock("image", "image/png"),
        MediaBlock("file", "text/plain", text="words", name="notes.txt"),
        MediaBlock("image", url="https://files.example/a.png"),
        MediaBlock("file", "image/svg+xml", data="AAAA", name="a\x1b[2J\nb"),
    ) == [
        "▣ image  image/png · 2 kB · ~765 tokens",
        "▣ image  image/png · damaged",
        "▣ file  notes.txt · 5 B",
        "▣ image  https://files.example/a.png · ~765 tokens",
        "▣ file  a␛[2J b · 3 B · ~2,000 tokens",
    ]
    assert footer(*[IMAGE] * 5_000)[-1] == "▣ … 4,900 more attachments"
    assert all(len(line) <= 20 for line in footer(IMAGE, width=20))


# --- The turns of a long conversation -----------------------------------------------------


def entry(role: Any, text: str) -> Entry:
    return Entry(make_message(role, text, text))


def test_turns_begin_with_the_user():
    entries = [
        entry("system", "Be kind"),
        entry("user", "One"),
        entry("assistant", "I look."),
        entry("tool", "x" * 40),
        entry("assistant", "Done"),
        entry("user", "Two"),
    ]
    turns = user_turns(entries)
    assert turns == [range(1), range(1, 5), range(5, 6)]
    assert user_turns([]) == []
    assert words_of(entries[1]) == "One"


# --- The sources of a reply below it. No screen -------------------------------------------


PAGE = Source("The Eiffel Tower, its height and its history", "https://www.tower.example/height")
FILE = Source("", "", "notes.txt")
TEXT = "It is **330 m.** tall.\n\n- `so` it is\n\nEnd."


def entry_with_sources(text: str, *sources: Source) -> Entry:
    return Entry(make_message("assistant", text, "a", references=References(sources)))


def layout(of: Entry, width: int = 60, *unfolded: str) -> MessageLayout:
    return MessageLayout(of, width, unfolded={f"a/{key}" for key in unfolded})


def texts(laid_out: MessageLayout) -> list[str]:
    return [line.text.rstrip() for line in laid_out.rows]


def test_sources_are_listed_below_the_text() -> None:
    found = layout(entry_with_sources(TEXT, PAGE, FILE))
    assert texts(found)[-3:] == [
        "",
        "[1] The Eiffel Tower, its height and its his…  tower.example",
        "[2] notes.txt",
    ]


def test_many_sources_are_folded_to_a_line() -> None:
    sources = [Source(f"Title {i}", f"https://{i}.example/x") for i in range(12)]
    of = entry_with_sources(TEXT, *sources)
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
    found = layout(entry_with_sources(TEXT, *sources), width, "sources")
    for line in found.rows:
        assert cell_len(line.text) <= width
        assert "\x1b" not in line.text
        assert "\u202e" not in line.text
