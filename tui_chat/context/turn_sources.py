"""The messages that a turn is made of: several can be squashed, joined at a depth, or merged."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tui_chat.models.memo import Memo
from tui_chat.models.text import OriginKind
from tui_chat.models.turn import Turn


def split_turn(turn: Turn) -> tuple[Turn, ...]:
    """Return the messages that a turn is made of; the turn itself if it is one message."""
    return turn.pieces or (turn,)


def split_turns(turns: Iterable[Turn]) -> Iterator[Turn]:
    """Yield the messages that turns are made of."""
    for turn in turns:
        yield from turn.pieces or (turn,)


def with_shares(turn: Turn, tokens: int) -> Iterator[tuple[Turn, int]]:
    """Yield a turn's messages with their shares of its tokens, by length. The shares add up."""
    pieces = split_turn(turn)
    length = sum(len(piece.text.plain) for piece in pieces)
    end = done = 0
    for piece in pieces:
        end += len(piece.text.plain)
        share = tokens * end // length - done if length else tokens // len(pieces)
        done += share
        yield piece, share


@Memo
def preset_ids(turn: Turn) -> tuple[str, ...]:
    """Return the ids of a turn's preset messages, also of those that a card's prompt cites."""
    origins = [piece.origin for piece in split_turn(turn)]
    origins += (span.origin.outermost for span in turn.text.spans)
    return tuple(dict.fromkeys(each.id for each in origins if each.kind is OriginKind.PRESET))
