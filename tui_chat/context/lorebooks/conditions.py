"""What holds an entry back besides its keys: filters and timing; and what it is searched for in.

1. An entry may be limited to kinds of generation, to roles by name, and to roles by tag.
2. `delay`: not before there are so many messages. `sticky`: active for so many messages once it
   was; `cooldown`: paused for so many messages after that. The session keeps both as timers; one
   that began with as many messages as there are now does not hold, since messages were removed,
   unless it is protected. A cooldown follows when a sticky entry ends.
3. Sources are texts besides the conversation that are searched for an entry's keys.
"""

from __future__ import annotations

from collections.abc import Iterator

from tui_chat.context.inputs import Inputs
from tui_chat.context.lorebooks.book_index import BookIndex, RankedEntry
from tui_chat.context.macros.environment import draw_number
from tui_chat.models.lore_rules import LoreTimer
from tui_chat.models.lorebook import LorebookEntry, MatchSource


def is_drawn(candidate: RankedEntry, seed: str) -> bool:
    """True if an entry's probability lets it be active: the same for a seed."""
    chance, entry = candidate.keyed.entry.probability, candidate.keyed.entry
    if chance >= 100:
        return True
    draw = draw_number(seed, "lore", candidate.book.name, entry.id)
    return draw % 1_000_000 < chance * 10_000


class Conditions:
    """What holds the entries of one request back."""

    def __init__(self, inputs: Inputs, length: int) -> None:
        self._inputs = inputs
        self._kind = inputs.chat.kind
        self._length = length
        """Messages of the conversation, the draft included."""
        role = inputs.active_role
        self._name = "" if role is None else role.name
        self._card = None if role is None else role.character
        self._tags = self._card.tags if self._card is not None else ()
        self._timers: dict[tuple[str, str, str], LoreTimer] = {
            (timer.kind, timer.book, timer.entry): timer for timer in inputs.chat.timers
        }

    def held_back(self, candidate: RankedEntry) -> str:
        """Return the rule that holds an entry back, as a sentence; empty if none does."""
        entry = candidate.keyed.entry
        if entry.triggers and self._kind not in entry.triggers:
            return f"It is only active with {', '.join(entry.triggers)}."
        if entry.characters and (self._name in entry.characters) is entry.characters_excluded:
            return f"It is not active with the role {self._name}."
        if entry.character_tags:
            has_tag = not set(self._tags).isdisjoint(entry.character_tags)
            if has_tag is entry.characters_excluded:
                return f"It is not active with the tags of the role {self._name}."
        if self._length < entry.delay:
            return f"It is not active before there are {entry.delay} messages."
        if self._is_running("cooldown", candidate) and not self.is_sticky(candidate):
            timer = self._timer("cooldown", candidate)
            end = self._length if timer is None else timer.end
            return f"It was active and is in its cooldown until there are {end:,} messages."
        if entry.cooldown and self._has_ended("sticky", candidate):
            end = self._length + entry.cooldown
            return f"It was active and is in its cooldown until there are {end:,} messages."
        return ""

    def is_sticky(self, candidate: RankedEntry) -> bool:
        """True if an entry stays active from an earlier request."""
        return bool(self._timers) and self._is_running("sticky", candidate)

    def sticky_words(self, candidate: RankedEntry) -> str:
        """Say how long an entry stays active."""
        timer = self._timer("sticky", candidate)
        assert timer is not None  # it is sticky
        return f"stays active until there are {timer.end:,} messages"

    def sticky_ranks(self, index: BookIndex) -> Iterator[int]:
        """Yield the ranks of the entries that stay active."""
        if self._timers:
            for rank, candidate in enumerate(index.candidates):
                if self.is_sticky(candidate):
                    yield rank

    def _timer(self, kind: str, candidate: RankedEntry) -> LoreTimer | None:
        return self._timers.get((kind, candidate.book.name, candidate.keyed.entry.id))

    def _is_running(self, kind: str, candidate: RankedEntry) -> bool:
        timer = self._timer(kind, candidate)
        if timer is None or (self._length <= timer.start and not timer.protected):
            return False
        return self._length < timer.end

    def _has_ended(self, kind: str, candidate: RankedEntry) -> bool:
        timer = self._timer(kind, candidate)
        return timer is not None and timer.start < self._length and self._length >= timer.end

    def source_texts(self, entry: LorebookEntry) -> Iterator[tuple[str, str]]:
        """Yield the texts in which an entry's keys are searched for: their names, their content."""
        for source in entry.sources:
            yield source.replace("_", " "), self._source(source)

    def _source(self, source: MatchSource) -> str:
        card = self._card
        if source == "persona":
            return self._inputs.profile.content if self._inputs.profile is not None else ""
        if card is None:
            return ""
        match source:
            case "depth_prompt":
                return card.depth_prompt.content if card.depth_prompt is not None else ""
            case _:
                return getattr(card, source)
