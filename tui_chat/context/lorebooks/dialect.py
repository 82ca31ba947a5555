"""How the lorebooks of a preset's builder differ from those of the core: a value that it supplies.

The core's rules are the default of every field.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.settings import NO_LORE_RULES, LoreRules


class TextChanges(Protocol):
    """What a builder changes in messages before they are sent. Equal values change them equally."""

    @property
    def is_by_depth(self) -> bool:
        """True if a change depends on how many messages follow."""
        ...

    def changed(self, text: str, role: str, depth: int) -> str:
        """Return the text of a message that `depth` messages follow as it is sent."""
        ...


def _no_changes(_: object) -> TextChanges | None:
    return None


@dataclass(frozen=True, slots=True)
class LoreDialect:
    """Where lore goes, what is searched for its keys, and how entries activate others."""

    defaults: LoreRules = NO_LORE_RULES
    """How lorebooks are searched where no setting says so."""
    card_book_last: bool = False
    """True if the lorebook of the role's card gets its tokens after those of the session, unless a
    setting says in which order."""
    has_positions: bool = False
    """True if entries go to the `position` that they name."""
    searches_sent_texts: bool = False
    """True if texts are searched with their macros expanded."""
    changes: Callable[[Any], TextChanges | None] = _no_changes
    """Returns the changes of `Inputs` with which messages are searched; None for none."""
    searches_every_role: bool = False
    """True if the messages of all roles are searched; else those of user and assistant."""
    joins_texts: bool = False
    """True if keys may span texts, each of which begins with the sign U+0001."""
    max_depth: int | None = None
    """The most messages that are searched for an entry; None for no limit."""
    takes_blank_keys: bool = False
    """True if a key that is only white space occurs in every text."""
    searches_sources: bool = False
    """True if the texts that an entry names as its `sources` activate it by themselves."""
    has_recursion_levels: bool = False
    """True if the search goes on level by level, `delay_until_recursion` being the level from which
    an entry is active. Entries that lost in their group, or did not fit into the budget, take part
    in later rounds, and the content of all active ones is searched while any book is recursive."""
    is_latest_first: bool = False
    """True if of entries of the same `order` the one that was activated last is sent first."""


CORE_LORE = LoreDialect()
"""The lorebooks of the core."""
