"""What became of each lore entry in a request, and an entry in words."""

from __future__ import annotations

from collections.abc import Mapping
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
        entry = self.entry
        texts = (entry.name, *entry.keys, *entry.secondary_keys, entry.content)
        return any(words in text.casefold() for text in texts)


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
