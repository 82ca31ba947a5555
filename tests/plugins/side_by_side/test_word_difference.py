"""The words by which replies differ, as a reader sees them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.support.tables import each_row
from tui_chat.plugins.side_by_side.word_difference import UNLIKE, word_difference

MARKS = {"": "{}", "new-part": "[{}]", "gone-part": "<{}>", "muted": "{}"}


def drawn(text: str, other: str) -> str:
    """Return the difference with `[new]` and `<gone>` words, neighbors of one kind joined."""
    words = "".join(MARKS[change].format(word) for word, change in word_difference(text, other))
    return words.replace("][", "").replace("><", "")


@each_row(
    ("text", "other", "difference"),
    [
        ("same", "same", "same"),
        ("It is a red fox.", "It is a gray fox.", "It is a <gray> [red] fox."),
        ("It is an old red fox.", "It is a gray fox.", "It is <a gray> [an old red] fox."),
        ("one two three four", "one two", "one two[ three four]"),
        ("one two", "one two three four", "one two< three four>"),
        ("one\ntwo three", "one two three", "one< >[\n]two three"),
        ("new words here", "old text there", f"{UNLIKE}\n\nnew words here"),
        ("", "old text", f"{UNLIKE}\n\n"),
        ("", "", ""),
    ],
)
def test_words_of_one_change_stay_together(text: str, other: str, difference: str) -> None:
    assert drawn(text, other) == difference


@given(st.text("ab .\n", max_size=40), st.text("ab .\n", max_size=40))
def test_the_words_of_the_text_are_all_there(text: str, other: str) -> None:
    words = list(word_difference(text, other))
    if words and words[0][1] == "muted":
        assert "".join(word for word, _ in words[3:]) == text
        return
    shown = list(words)
    for index in range(len(words) - 2, 0, -1):  # the blanks between removed and added words
        if words[index] == (" ", "") and [words[index + d][1] for d in (-1, 1)] == [
            "gone-part",
            "new-part",
        ]:
            del shown[index]
    assert "".join(word for word, change in shown if change != "gone-part") == text
