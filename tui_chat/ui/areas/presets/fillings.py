"""What fills the places of a preset in a request: lore, the card, the profile, examples.

A place is an anchor, or a message that requires a variable, as imports from SillyTavern have them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from tui_chat.compose import Composed
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.envelope import Turn
from tui_chat.models.memo import Memo
from tui_chat.models.preset import PresetMessage
from tui_chat.models.sanitize import one_line
from tui_chat.models.text import OriginKind

_LORE = ("worldInfoBefore", "worldInfoAfter")
_CARD = ("description", "personality", "scenario")


@dataclass(frozen=True, slots=True)
class Fillings:
    """The sources of a request's texts."""

    is_known: bool = False
    """False without a request."""
    lore: Mapping[str, int] = field(default_factory=dict[str, int])
    """The number of lore entries in the text of a preset message, by its id."""
    has_lorebooks: bool = False
    is_merged: bool = False
    """True if messages are merged, so that lore is known for the first of them only."""
    character: str = ""
    """The name of the role; empty without one."""
    has_card: bool = False
    profile: str = ""
    examples: Mapping[str, int] = field(default_factory=dict[str, int])
    """The number of messages of examples at an anchor, by its id."""
    sent: frozenset[str] = frozenset()
    """The ids of the preset messages that are in the request."""

    @classmethod
    def of(cls, composed: Composed) -> Fillings:
        """Return those of a request."""
        inputs = composed.inputs
        if inputs is None:
            return NO_FILLINGS
        lore: dict[str, int] = {}
        examples: dict[str, int] = {}
        sent: set[str] = set()
        for turn in composed.envelope.turns:
            if turn.name.startswith("example_"):
                anchor = turn.placement.anchor
                examples[anchor] = examples.get(anchor, 0) + 1
            elif turn.origin.kind is OriginKind.PRESET:
                count, ids = _contents(turn)
                sent |= ids
                if count:
                    lore[turn.origin.id] = count
        role, profile = inputs.active_role, inputs.profile
        return cls(
            True,
            lore,
            bool(inputs.lorebooks),
            inputs.preset.policies.squash_system or bool(inputs.preset.policies.post_processing),
            role.name if role is not None else "",
            role is not None and role.character is not None,
            profile.name if profile is not None else "",
            examples,
            frozenset(sent),
        )

    def words_for(self, message: PresetMessage, tokens: int | None) -> str:
        """Return what fills a place, in a few words; empty for a message that is none."""
        if not self.is_known or not message.enabled:
            return ""
        cost = f", {tokens:,} tokens" if tokens is not None else ""
        name = one_line(self.character, 30)
        match message.requires:
            case "" if message.type == "user_profile":
                return "" if self.profile else "empty now: no profile"
            case "" if message.type == "example_dialogues":
                if count := self.examples.get(message.anchor_id, 0):
                    return f"{_counted(count, 'message')} of “{name}”"
                return f"empty now: {self._why_no_card('no example dialogues')}"
            case word if word in _LORE:
                if count := self.lore.get(message.id, 0):
                    return f"{_counted(count, 'entry')}{cost}"
                if self.is_merged and self.has_lorebooks:
                    return ""
                return f"empty now: no {'active entry' if self.has_lorebooks else 'lorebook'}"
            case word if word in _CARD:
                if message.id in self.sent:
                    return f"of “{name}”{cost}" if self.has_card else f"the preset's variable{cost}"
                return f"empty now: {self._why_no_card(f'no {word}')}"
            case "persona":
                profile = one_line(self.profile, 30)
                return f"“{profile}”{cost}" if message.id in self.sent else "empty now: no profile"
            case "":
                return ""
            case word:
                is_sent = message.id in self.sent
                return "" if is_sent else f"empty now: no {one_line(word, 30)}"

    def _why_no_card(self, what: str) -> str:
        return f"“{one_line(self.character, 30)}” has {what}" if self.has_card else "no character"


@Memo
def _contents(turn: Turn) -> tuple[int, frozenset[str]]:
    """Return the number of lore entries in a turn, and the ids of its preset messages."""
    entries: set[str] = set()
    ids: set[str] = {turn.origin.id}
    for span in turn.text.spans:
        outermost = span.origin.outermost
        if outermost.kind is OriginKind.PRESET:
            ids.add(outermost.id)
        origin = span.origin
        while origin.within is not None:
            if origin.kind is OriginKind.LORE:
                entries.add(origin.id)
            origin = origin.within
    return len(entries), frozenset(ids)


def _counted(count: int, word: str) -> str:
    many = f"{word[:-1]}ies" if word.endswith("y") else f"{word}s"
    return f"{count:,} {word if count == 1 else many}"


NO_FILLINGS = Fillings()
