"""The turns of a conversation, for its table of contents and the export of a part. A turn is what
the user said and all up to the next time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.sanitize import one_line
from tui_chat.models.usage import BYTES_PER_TOKEN, NO_USAGE

if TYPE_CHECKING:
    from tui_chat.models.session import Entry

_WORDS = 60
"""Characters of the words that a turn is listed by."""


@dataclass(slots=True)
class UserTurn:
    """One turn."""

    first: int
    """Index of its first message, which is the user's except for what precedes the first one."""
    count: int = 0
    """The number of its messages."""
    calls: int = 0
    """The number of tool calls."""
    reported: int = 0
    """Tokens that its replies read anew and wrote, as the provider reported them."""
    characters: int = 0
    """Characters of its texts and calls."""


def user_turns(entries: Sequence[Entry]) -> list[UserTurn]:
    """Return the turns of a branch, in order."""
    turns: list[UserTurn] = []
    for index, entry in enumerate(entries):
        message = entry.message
        if message.role == "user" or not turns:
            turns.append(UserTurn(index))
        turn = turns[-1]
        turn.count += 1
        turn.characters += len(message.content)
        if calls := message.tool_calls:
            turn.calls += len(calls)
            turn.characters += sum(len(call.arguments) for call in calls)
        if (usage := entry.usage) is not NO_USAGE:
            turn.reported += max((usage.input or 0) - (usage.cached or 0), 0) + (usage.output or 0)
    return turns


def tokens_of(turns: Sequence[UserTurn]) -> tuple[list[int], bool]:
    """Return each turn's tokens, and True if reported, else False: estimated from the texts."""
    if any(turn.reported for turn in turns):
        return [turn.reported for turn in turns], True
    return [turn.characters // BYTES_PER_TOKEN for turn in turns], False


def words_of(entry: Entry) -> str:
    """Return the words that a turn is listed by: how its first message begins."""
    message = entry.message
    words = one_line(message.content[: 4 * _WORDS], _WORDS)
    if message.about.summary is not None:
        return f"Summary: {words}"
    return words or (f"[{message.parts[0].media}]" if message.parts else f"[{message.role}]")


def facts_of(turn: UserTurn, tokens: int, *, is_reported: bool) -> str:
    """Return the facts about a turn in the table of contents."""
    about = "" if is_reported else "~"
    facts = [
        f"{about}{tokens:,} tokens" if tokens else "",
        f"{turn.calls:,} call{'s' * (turn.calls != 1)}" if turn.calls else "",
        f"{turn.count:,} message{'s' * (turn.count != 1)}",
    ]
    return " · ".join(filter(None, facts))


def turn_at(turns: Sequence[UserTurn], index: int) -> int:
    """Return the number of the turn that a message belongs to."""
    low, high = 0, len(turns)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if turns[middle].first <= index else (low, middle)
    return low
