"""The timer of a lore entry that stays active or pauses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class LoreTimer:
    """An entry that is active, or pauses, for some messages."""

    book: str
    entry: str
    kind: Literal["sticky", "cooldown"]
    start: int
    """The number of messages when it began."""
    end: int
    """The number of messages with which it ends."""
    protected: bool = False
    """True if it holds although no message was added since."""
