"""Marks of citations in Markdown, and citations when the text is another."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.support.strategies import any_text
from tests.support.tables import each_row
from tui_chat.models.citations import (
    Citation,
    edited_citations,
    found_source,
    web_address,
    with_marks,
)


def marked(text: str) -> str:
    """Mark a text where it has `|` as ends of citations of the sources 1, 2, 1 …"""
    plain, ends = "", list[int]()
    for piece in text.split("¦"):
        plain += piece
        ends.append(len(plain))
    citations = tuple(Citation(i % 2, 0, end) for i, end in enumerate(ends[:-1]))
    return with_marks(plain, citations, lambda number: f"[{number}]")


@each_row(
    ("text", "expected"),
    [
        ("Paris is nice.¦ Yes.¦", "Paris is nice.[1] Yes.[2]"),
        ("one ¦two", "one[1] two"),
        ("one\n\n¦two", "one[1]\n\ntwo"),
        ("¦one", "one"),
        ("one¦\n¦", "one[1][2]\n"),
        ("**bold¦** x", "**bold[1]** x"),
        ("see `co¦de` on", "see `code`[1] on"),
        ("a [li¦nk](http://x.y/(z¦)) b", "a [link](http://x.y/(z))[1][2] b"),
        ("at https://x.y/¦z?a on", "at https://x.y/z?a[1] on"),
        ("so $a_1¦ b$ is", "so $a_1 b$[1] is"),
        ("| a |¦ b |¦\n|-¦-|---|\n| c¦ | d |", "| a[1] | b[2] |\n|--|---|\n| c[2] | d |"),
        ("```\nco¦de¦\n```¦\nafter¦", "```\ncode\n```\nafter[2]"),
        ("- a\n    - nes¦ted\n\n      more¦", "- a\n    - nes[1]ted\n\n      more[2]"),
        ("text\n\n    co¦de\n\ntext¦", "text\n\n    code\n\ntext[2]"),
        ("- a\n  ```\n  co¦de\n  ```\n- b¦", "- a\n  ```\n  code\n  ```\n- b[2]"),
        ("$$\na¦\n$$\nb¦", "$$\na\n$$\nb[2]"),
        ("Title\n===¦\n", "Title\n===\n"),
        ("- ¦x", "- x"),
    ],
)
def test_marks_do_not_break_markdown(text: str, expected: str) -> None:
    assert marked(text) == expected


def test_one_place_has_a_mark_for_each_source_once() -> None:
    citations = tuple(Citation(source, start, 3) for source in (1, 0, 1) for start in (0, 1))
    assert with_marks("Yes", citations, lambda number: f"[{number}]") == "Yes[1][2]"


def test_an_edited_text_has_no_marks() -> None:
    citations = (Citation(0, 0, 3),)
    edited = edited_citations(citations, "Yes", "Yet.")
    assert edited == (Citation(0, 0, 0),)
    assert with_marks("Yet.", edited, lambda _: "!") == "Yet."
    shifted = [each.shifted(2) for each in citations]
    assert with_marks("> Yes", shifted, lambda _: "!") == "> Yes!"


@each_row(
    ("after", "cited"),
    [
        ("One two three", ["One", "two", "three", ""]),
        ("One, well, two three", ["One", "two", "three", ""]),
        ("One 222 three", ["One", None, "three", ""]),
        ("One two thr33", ["One", "two", None, ""]),
        ("two three", [None, "two", "three", ""]),
        ("", [None, None, None, None]),
    ],
)
def test_citations_move_with_their_words_when_the_text_is_edited(
    after: str, cited: list[str | None]
) -> None:
    before = "One two three"
    places = [(0, 3), (4, 7), (8, 13), (13, 13)]
    citations = tuple(Citation(0, *place) for place in places)
    edited = edited_citations(citations, before, after)
    found = [after[each.start : each.end] if each.end else None for each in edited]
    assert found == cited


@given(any_text, st.lists(st.integers(0, 60), max_size=5))
def test_without_its_marks_the_text_is_the_same(text: str, ends: list[int]) -> None:
    citations = tuple(Citation(0, 0, end) for end in ends)
    mark = "\ue000\ue001"
    assert with_marks(text, citations, lambda _: mark).replace(mark, "") == text


@each_row("char", ["`", "[", "$", "a`", "```\n", "![](", "\\", "| "])
def test_absurd_lines_are_marked_in_no_time(char: str) -> None:
    text = (char * 4000)[:3990] * 20
    citations = tuple(Citation(0, 0, end) for end in range(1, 70_000, 70))
    with_marks(text, citations, lambda _: "!")


def test_what_a_source_is_called() -> None:
    assert found_source("", "https://www.a.example:8080/x").label == "a.example"
    assert found_source("", "https://google.com@evil.example/").host == "evil.example"
    assert found_source("T\n x", "").label == "T x"
    assert found_source("", "gs://bucket/file").label == "gs://bucket/file"
    assert web_address(" HTTPS://a.example/ ") == "HTTPS://a.example/"


def test_a_place_beyond_the_text_gets_no_mark():
    citations = (Citation(0, 0, 3), Citation(0, 0, 9))
    assert with_marks("Yes", citations, lambda number: f"[{number}]") == "Yes[1]"
