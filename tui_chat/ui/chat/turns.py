"""The turns of a conversation, for its table of contents and the export of a part. A turn is what
the user said and all up to the next time.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from tui_chat.models.sanitize import one_line

if TYPE_CHECKING:
    from tui_chat.models.session import Entry

_WORDS = 60
"""Characters of the words that a turn is listed by."""


class UserTurn(NamedTuple):
    """One turn."""

    first: int
    """Index of its first message, which is the user's except for what precedes the first one."""
    size: int
    """The number of its messages."""


def user_turns(entries: Sequence[Entry]) -> list[UserTurn]:
    """Return the turns of a branch, in order."""
    firsts = [
        index for index, entry in enumerate(entries) if not index or entry.message.role == "user"
    ]
    ends = [*firsts[1:], len(entries)]
    return [UserTurn(first, end - first) for first, end in zip(firsts, ends, strict=False)]


def words_of(entry: Entry) -> str:
    """Return the words that a turn is listed by: how its first message begins."""
    message = entry.message
    words = one_line(message.content[: 4 * _WORDS], _WORDS)
    if message.about.summary is not None:
        return f"Summary: {words}"
    return words or (f"[{message.parts[0].media}]" if message.parts else f"[{message.role}]")


def turn_at(turns: Sequence[UserTurn], index: int) -> int:
    """Return the number of the turn that a message belongs to."""
    return max(bisect_right([turn.first for turn in turns], index) - 1, 0)
