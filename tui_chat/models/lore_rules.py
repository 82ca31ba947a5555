"""How a session searches its lorebooks, and the timers of entries that stay active or pause."""

from __future__ import annotations

from typing import Literal

from tui_chat.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class LoreRules:
    """How a session searches its lorebooks."""

    names: bool = False
    """True if each message is searched with the name of its speaker before it."""
    token_budget: int | None = None
    """The entries of all books together must cost fewer tokens than this; None for no limit."""
    budget_percent: int | None = None
    """The same, as a share of the context without the reply."""
    budget_cap: int = 0
    """The most that `budget_percent` may give; 0 for no limit."""
    min_activations: int = 0
    """The minimum of active entries: until it is reached, more messages are searched."""
    min_activations_depth: int = 0
    """The most messages that are searched for that; 0 for all."""
    group_scoring: bool = False
    tiers: tuple[int, ...] = ()
    """For each book: entries of a lower tier get their tokens first; empty for one tier."""


NO_LORE_RULES = LoreRules()
SILLYTAVERN_RULES = LoreRules(names=True, budget_percent=25)
"""What SillyTavern does unless its settings say otherwise."""


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
