"""What became of each lore entry in a request, and an entry in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tui_chat.compose import Composed
from tui_chat.context.inputs import Inputs
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.lorebook import Lorebook, LorebookEntry, LorePosition, SecondaryLogic
from tui_chat.models.message import Message
from tui_chat.models.preset import CHAT_HISTORY, depth_words
from tui_chat.models.text import Origin
from tui_chat.plugins.sillytavern.lore.budget import entry_tokens
from tui_chat.plugins.sillytavern.lore.index import entry_name, entry_origin
from tui_chat.plugins.sillytavern.lore.rules import searched_books
from tui_chat.plugins.sillytavern.lore.search import EntryState, LoreSearch, occurrence
from tui_chat.plugins.sillytavern.lore.timers import lore_counter

MARKS: Mapping[EntryState, str] = {
    EntryState.ACTIVE: "●",
    EntryState.HELD_BACK: "○",
    EntryState.ABSENT: "·",
    EntryState.DISABLED: "-",
}
LOGIC_WORDS: Mapping[SecondaryLogic, str] = {
    "and_any": "any of",
    "and_all": "all of",
    "not_any": "none of",
    "not_all": "not all of",
}
POSITION_WORDS: Mapping[LorePosition, str] = {
    "before_character": "before the character",
    "after_character": "after the character",
    "note_top": "top of the author's note",
    "note_bottom": "bottom of the author's note",
    "examples_top": "before the example dialogues",
    "examples_bottom": "after the example dialogues",
    "outlet": "outlet",
}
"""The places with a name, but for a depth."""


@dataclass(frozen=True, slots=True)
class LoreOutcome:
    """What became of an entry."""

    book: Lorebook
    entry: LorebookEntry
    state: EntryState
    sentence: str = ""
    """The key that was found and where; empty for none."""
    message_id: str = ""
    """The message in which a key was found; empty for none or the typed draft."""
    tokens: int = 0
    """What an active entry costs."""

    @property
    def origin(self) -> Origin:
        """The origin of its content."""
        return entry_origin(self.book.name, self.entry)

    def contains(self, words: str) -> bool:
        """True if its name, a key or its content has these words, in lower case."""
        return words in searched_words(self.entry)


@dataclass(frozen=True, slots=True)
class LoreOutcomes:
    """What became of all entries of a request, in the order of the books."""

    entries: tuple[LoreOutcome, ...]
    limit: int | None
    """The budget of all; None for none."""

    @property
    def used(self) -> int:
        """The tokens of the active ones."""
        return sum(each.tokens for each in self.entries)

    def of(self, state: EntryState) -> list[LoreOutcome]:
        """Return those in a state."""
        return [each for each in self.entries if each.state is state]


def lore_outcomes(inputs: Inputs) -> LoreOutcomes:
    """Search the lorebooks of a request. May take seconds for large ones."""
    count = lore_counter(inputs)
    search = LoreSearch(inputs, count)
    ranks = {id(each.entry): rank for rank, each in enumerate(search.index.candidates)}

    def outcome(book: Lorebook, entry: LorebookEntry) -> LoreOutcome:
        rank = ranks.get(id(entry))
        if rank is None:
            return LoreOutcome(book, entry, EntryState.DISABLED)
        state, cause = search.outcome(rank)
        where = cause.where if cause is not None else None
        message_id = where.id if isinstance(where, Message) else ""
        sentence, tokens = "", 0
        if cause is not None and state is EntryState.ACTIVE:
            sentence, tokens = search.why(rank, cause), entry_tokens(count, entry.content)
        elif cause is not None:
            what = "but a condition, its group or a budget holds it back"
            sentence = f"{occurrence(cause)}, {what}."
        return LoreOutcome(book, entry, state, sentence, message_id, tokens)

    books = searched_books(inputs)
    return LoreOutcomes(
        tuple(outcome(book, entry) for book in books for entry in book.entries), search.limit
    )


def lore_json(composed: Composed) -> dict[str, Any]:
    """Return `{"entries"}`: the outcome of each lore entry."""
    inputs = composed.inputs
    found = () if inputs is None else lore_outcomes(inputs).entries
    return {
        "entries": [
            {
                "book": each.book.name,
                "entry": each.entry.id,
                "name": entry_name(each.entry),
                "state": each.state.value,
                "sentence": each.sentence,
                "message": each.message_id or None,
            }
            for each in found
        ]
    }


def searched_words(entry: LorebookEntry) -> str:
    """Return the texts of an entry in which words are found, in lower case."""
    return "\n".join((entry.name, *entry.keys, *entry.secondary_keys, entry.content)).casefold()


def describe_place(entry: LorebookEntry) -> str:
    """Return the place that an entry asks for."""
    if entry.position == "outlet":
        return f"outlet “{entry.outlet}”"
    if entry.position in POSITION_WORDS:
        return POSITION_WORDS[entry.position]
    if entry.insertion_point is not None:
        return depth_words(entry.insertion_point)
    if entry.anchor_point is None and entry.anchor_target is None:
        return "before the history"
    is_history = entry.anchor_target in (None, CHAT_HISTORY)
    target = "the history" if is_history else f"“{entry.anchor_target}”"
    return f"{entry.anchor_point or 'after'} {target}"


def describe_conditions(entry: LorebookEntry) -> Iterator[str]:
    """Yield what decides, besides its keys, whether an entry is active, and what it activates."""
    if entry.secondary_keys:
        keys = ", ".join(f"“{key}”" for key in entry.secondary_keys)
        yield f"and {LOGIC_WORDS[entry.secondary_logic]} {keys}"
    if entry.probability < 100:
        yield f"probability {entry.probability:g} %"
    for name in ("sticky", "cooldown", "delay"):
        if count := getattr(entry, name):
            yield f"{name} {count:,} message{'s' * (count != 1)}"
    if entry.groups:
        groups = ", ".join(f"“{group}”" for group in entry.groups)
        how = "the highest order wins" if entry.group_override else f"weight {entry.group_weight:,}"
        yield f"group{'s' * (len(entry.groups) > 1)} {groups} ({how})"
    if entry.delay_until_recursion:
        yield f"activated by other entries only (level {int(entry.delay_until_recursion)})"
    if entry.triggers:
        yield f"only with {', '.join(entry.triggers)}"
    if entry.characters or entry.character_tags:
        tags = (f"tag {tag}" for tag in entry.character_tags)
        only = "not with" if entry.characters_excluded else "only with"
        yield f"{only} {', '.join((*entry.characters, *tags))}"
    if entry.sources:
        yield f"also searched: {', '.join(each.replace('_', ' ') for each in entry.sources)}"
    flags = {
        "scan_depth": f"scan depth {entry.scan_depth}",
        "case_sensitive": "case-sensitive" if entry.case_sensitive else "not case-sensitive",
        "whole_words": "whole words" if entry.whole_words else "not whole words",
        "exclude_recursion": "not activated by other entries",
        "prevent_recursion": "activates no others",
        "ignore_budget": "ignores the budget",
    }
    usual = LorebookEntry("")
    yield from (
        words for name, words in flags.items() if getattr(entry, name) != getattr(usual, name)
    )
