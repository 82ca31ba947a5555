"""The rules for searching lorebooks: of a setting, else SillyTavern's defaults."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tui_chat.context.inputs import Inputs
from tui_chat.models.lorebook import Lorebook
from tui_chat.models.memo import recent_memo
from tui_chat.models.preset import Preset
from tui_chat.models.settings import NO_LORE_RULES, LoreRules
from tui_chat.plugins.sillytavern.policies import policies_of

LORE_RULES = LoreRules(names=True, budget_percent=25)
"""The rules where no setting says any."""
_MANY_STEPS = 1_000
"""Stands for no limit of searches."""


def search_rules(inputs: Inputs) -> LoreRules:
    """Return the rules of a search. The book of the role's card gets its tokens after those of the
    session, unless a setting says in which order.
    """
    rules: LoreRules = inputs.first("lore") or LORE_RULES
    count = len(inputs.lorebooks)
    if rules.tiers and len(rules.tiers) != count:  # books were added or taken away since
        last = rules.tiers[-1:]
        return replace(rules, tiers=(rules.tiers + last * count)[:count])
    role = inputs.active_role
    own = role.character.book if role is not None and role.character is not None else None
    if own is not None and not rules.tiers and count > 1:
        return replace(rules, tiers=tuple(int(book == own) for book in inputs.lorebooks))
    return rules


def searched_books(inputs: Inputs) -> tuple[Lorebook, ...]:
    """Return the lorebooks with what a setting says of their search."""
    return _with_rules(inputs.lorebooks, inputs.first("lore") or NO_LORE_RULES)


@recent_memo()
def _with_rules(books: tuple[Lorebook, ...], rules: LoreRules) -> tuple[Lorebook, ...]:
    """Return the books with the search rules; the same objects where these change nothing."""
    steps = rules.max_recursion_steps
    changes: dict[str, Any] = {
        "scan_depth": rules.scan_depth,
        "recursive": rules.recursive,
        "max_recursion": None if steps is None else steps - 1 if steps else _MANY_STEPS,
        "case_sensitive": rules.case_sensitive,
        "whole_words": rules.match_whole_words,
    }
    changes = {name: value for name, value in changes.items() if value is not None}
    return tuple(replace(book, **changes) for book in books) if changes else books


def goes_by_position(preset: Preset) -> bool:
    """True if a preset has the places with a name; else entries go where they say besides."""
    return policies_of(preset).depths == "joined"
