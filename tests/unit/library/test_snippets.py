"""Snippet files: blanks, descriptions, macros, and what is wrong with a file."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.contexts import ENDPOINT
from tests.support.tables import each_row
from tui_chat.context import Inputs
from tui_chat.errors import InputError
from tui_chat.library.library import Library
from tui_chat.library.snippets import Blank, Snippet, expanded, read_snippet
from tui_chat.models.preset import Preset
from tui_chat.models.role import Profile


def test_text_blanks_and_description():
    text = (
        "---\ndescription: 'Review a change'\ntags:\n  - code\n---\n"
        "Review {{?lang::Python}} in a {{?tone::dry|warm}} tone: {{?lang}} {{?what}}\n"
    )
    lang = Blank("lang", ("Python",))
    assert read_snippet(text, "f") == Snippet(
        ("Review ", lang, " in a ", Blank("tone", ("dry", "warm")), " tone: ", lang, " ",
         Blank("what")),
        "Review a change",
    )  # fmt: skip
    assert Blank("what").text == "{{?what}}"
    assert lang.text == "Python"


@each_row(
    ("text", "fault"),
    [
        ("", "f is empty"),
        (" \n\n", "f is empty"),
        ("---\n---\n", "f is empty"),
        ("x" * 50_001, "longer than 50,000 characters"),
    ],
)
def test_a_fault_names_file_and_line(text: str, fault: str):
    with pytest.raises(InputError) as told:
        read_snippet(text, "f")
    assert fault in str(told.value)


@given(st.text(st.sampled_from("{}?|:-ab \n"), max_size=60))
def test_any_text_is_a_snippet_or_a_fault(text: str):
    with suppress(InputError):
        snippet = read_snippet(text, "f")
        whole = "".join(map(str, (getattr(piece, "text", piece) for piece in snippet.pieces)))
        assert whole.strip()


@each_row(
    "text", ["{{?}}", "{{?a/b}}", "a {{?b", "{{?b\n}}", "{{?" + "x" * 41 + "}}", "---\nno end"]
)
def test_what_is_no_blank_and_no_description_is_text(text: str):
    assert read_snippet(text, "f") == Snippet((text,))


def test_macros_are_expanded_between_the_blanks():
    snippet = read_snippet("{{user}} asks {{?what}} of {{char}} {{nonsense}}", "f")
    inputs = Inputs(ENDPOINT, Preset("p"))
    assert expanded(snippet, inputs) == (
        "User asks ", Blank("what"), " of Assistant {{nonsense}}"
    )  # fmt: skip


def test_an_inserted_value_makes_no_blank():
    snippet = read_snippet("I am {{user}}. {{?what}}", "f")
    inputs = Inputs(ENDPOINT, Preset("p"), profile=Profile("{{?evil}}", ""))
    assert expanded(snippet, inputs) == ("I am {{?evil}}. ", Blank("what"))


def test_snippets_are_files_of_the_library(tmp_path: Path):
    library = Library(tmp_path, tmp_path / "none")
    assert library.names("snippets") == ()
    path = library.save_snippet("Review {{?what}}\n\n", "code/review")
    assert (path.name, path.read_text()) == ("code review.md", "Review {{?what}}\n")
    assert library.names("snippets") == ("code review",)
    assert library.snippet("code review").pieces == ("Review ", Blank("what"))
    with pytest.raises(InputError, match="exists already"):
        library.save_snippet("x", "code review")
    assert library.save_snippet("x", "code review", overwrite=True) == path
    path.write_bytes(b"\xff")
    with pytest.raises(InputError, match=r"code review\.md: line 1 is not UTF-8"):
        library.snippet("code review")
    with pytest.raises(InputError, match="There is no snippet “other”"):
        library.snippet("other")
