"""The keys of a lorebook that occur in the newest messages of a history."""

from __future__ import annotations

from itertools import islice

from tui_chat.context.lorebooks.keys import (
    KeyIndex,
)
from tui_chat.context.lorebooks.searched import (
    named_text,
    scripted,
)
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.chat_settings import TextScript
from tui_chat.models.memo import recent_memo
from tui_chat.models.message import Message


@dataclass(frozen=True, slots=True)
class HistoryKeys:
    """The keys of a book that occur in the newest messages of a history."""

    texts: tuple[Message, ...]
    """The messages that were searched, the newest first."""
    first: dict[int, int]
    """By key: the index of the first message in which it occurs."""
    undecided: tuple[tuple[int, Message], ...]
    """Places and messages in which patterns with back-references may occur."""


@recent_memo(64)  # books that are active at once
def history_keys(
    index: KeyIndex,
    history: tuple[Message, ...],
    depth: int,
    names: tuple[str, str] | None,
    every_role: bool,
    scripts: tuple[TextScript, ...],
    follow: int,
) -> HistoryKeys:
    """Search the newest messages; remembered, so that a keystroke searches the draft only."""
    spoken = (m for m in reversed(history) if every_role or m.role in ("user", "assistant"))
    texts = tuple(islice(spoken, max(depth, 0)))
    first: dict[int, int] = {}
    undecided: list[tuple[int, Message]] = []
    for place, message in enumerate(texts):
        if names is None and not scripts:
            occurrences = index.in_message(message)
        else:
            text = scripted(message.content, message.role, scripts, follow + place)
            text = named_text(text, message.role, message.name, names)
            occurrences = index.in_named(message, text)
        for key in occurrences.found:
            first.setdefault(key, place)
        if occurrences.undecided:
            undecided.append((place, message))
    return HistoryKeys(texts, first, tuple(undecided))
