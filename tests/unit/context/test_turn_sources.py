"""The messages that a turn is made of, and their shares of its tokens."""

from __future__ import annotations

from dataclasses import replace

from tests.support.tables import each_row
from tui_chat.context.turn_sources import split_turn, split_turns, with_shares
from tui_chat.models.envelope import Placement, Turn
from tui_chat.models.text import GLUE, Text


def turn(text: str) -> Turn:
    return Turn("user", Text.glue(text), GLUE, Placement("history"))


def made_of(*texts: str) -> Turn:
    """Return a turn of several messages."""
    return replace(turn("".join(texts)), pieces=tuple(map(turn, texts)))


def test_a_turn_of_several_messages_is_split():
    whole, one = made_of("a", "b"), turn("c")
    assert split_turn(whole) == whole.pieces
    assert split_turn(one) == (one,)
    assert list(split_turns([whole, one])) == [*whole.pieces, one]


@each_row(
    ("texts", "tokens", "shares"),
    [
        (("abc", "", "def"), 10, [5, 0, 5]),
        (("a", "bcd", "", "efghij"), 7, [0, 2, 0, 5]),
        (("a", "b", "c"), 2, [0, 1, 1]),
        (("", "", ""), 6, [2, 2, 2]),
    ],
)
def test_tokens_are_shared_by_length_and_add_up(
    texts: tuple[str, ...], tokens: int, shares: list[int]
):
    whole = made_of(*texts)
    assert list(with_shares(whole, tokens)) == list(zip(whole.pieces, shares, strict=True))


def test_a_turn_of_one_message_has_all_its_tokens():
    one = turn("alone")
    assert list(with_shares(one, 7)) == [(one, 7)]
