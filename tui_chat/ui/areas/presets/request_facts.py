"""What a composed request says about the rows of a preset: their cost, and what is between them.

It also says what fills the places of a preset: lore, the card, the profile, examples. A place is an
anchor, or a message that requires a variable, as imports from SillyTavern have them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field

from tui_chat.compose import Composed
from tui_chat.lazy_dataclass import dataclass
from tui_chat.library.editing import OutlineRow
from tui_chat.models.envelope import Note, Turn
from tui_chat.models.memo import Memo
from tui_chat.models.preset import PresetMessage
from tui_chat.models.sanitize import one_line
from tui_chat.models.text import OriginKind
from tui_chat.tokens import TURN_OVERHEAD, counter_for

_LORE = ("worldInfoBefore", "worldInfoAfter")
_CARD = ("description", "personality", "scenario")
_PREVIEW = 120
"""Characters shown of a message."""


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
    has_prompt: bool = False
    """True if the role's prompt is the character's description."""
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
            role is not None
            and role.character is None
            and bool(role.system_prompt)
            and inputs.preset.policies.role_prompt == "description",
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
                if message.id in self.sent and self.has_prompt and word == "description":
                    return f"the prompt of “{name}”{cost}"
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


@dataclass(frozen=True, slots=True)
class RequestFacts:
    """The facts of one request."""

    sent: dict[str, list[int]] = field(default_factory=dict[str, "list[int]"])
    """Tokens of the preset messages sent, by id; in order for an id that occurs twice."""
    role: tuple[str, int] = ("", 0)
    """Name and tokens of the role's prompt; an empty name for no role."""
    profile: tuple[str, int] = ("", 0)
    history: tuple[Turn, ...] = ()
    """The history messages sent, oldest first."""
    history_tokens: int = 0
    dropped: int = 0
    """History messages that did not fit."""
    draft: tuple[str, int] = ("", 0)
    """First words and tokens of the draft, or of the message to be answered."""
    is_typed: bool = True
    """False if a stored message takes the draft's place."""
    lore: dict[str, int] = field(default_factory=dict[str, int])
    """Number of lore entries at each anchor, by its id."""
    shown: int = 2
    """History messages that have a row of their own."""
    count: Callable[[PresetMessage], int] | None = None
    """Returns the cost of a message that is not sent, its macros unexpanded."""
    joined: tuple[tuple[str, ...], ...] = ()
    """The ids of preset messages that are sent as one message, for each such message."""
    fillings: Fillings = NO_FILLINGS
    """What the places of the request are filled with."""
    notes: tuple[Note, ...] | None = None
    """The notes, except those about single history messages."""

    @property
    def total(self) -> int:
        """Tokens of all preset messages sent."""
        return sum(map(sum, self.sent.values()))

    def history_at(self, depth: int) -> Turn | None:
        """Return the history message before which a negative depth lies, or after which a
        positive one does.
        """
        index = depth - 1 if depth > 0 else len(self.history) + depth + 1
        return self.history[index] if 0 <= index < len(self.history) else None


NO_FACTS = RequestFacts()


def facts_of(composed: Composed) -> RequestFacts:
    """Return the facts of a request."""
    envelope = composed.envelope
    sent: dict[str, list[int]] = {}
    lore: dict[str, int] = {}
    role, profile, draft = ("", 0), ("", 0), ("", 0)
    history: list[Turn] = []
    is_typed = True
    for turn, tokens in zip(envelope.turns, envelope.tokens, strict=False):
        origin = turn.origin
        match origin.kind:
            case OriginKind.HISTORY if turn.placement.kind == "draft":
                draft, is_typed = (one_line(turn.text.plain, _PREVIEW), tokens), False
            case OriginKind.HISTORY:
                history.append(turn)
            case OriginKind.PRESET:
                sent.setdefault(origin.id, []).append(tokens)
            case OriginKind.SYSTEM:
                role = origin.name or origin.id, tokens
            case OriginKind.PROFILE:
                profile = origin.name or origin.id, tokens
            case OriginKind.DRAFT:
                draft = one_line(turn.text.plain, _PREVIEW), tokens
            case OriginKind.LORE:
                anchor = turn.placement.anchor
                lore[anchor] = lore.get(anchor, 0) + 1
            case _:
                pass
    budget = envelope.budget
    talk = (OriginKind.HISTORY, OriginKind.DRAFT)
    joined = (joined_ids(turn) for turn in envelope.turns if turn.origin.kind not in talk)
    return RequestFacts(
        sent,
        role,
        profile,
        tuple(history),
        budget.history if budget else 0,
        len(envelope.dropped),
        draft,
        is_typed,
        lore,
        joined=tuple(ids for ids in joined if len(ids) > 1),
        fillings=Fillings.of(composed),
        count=_count_for(composed),
        notes=tuple(filter(_is_not_about_history, composed.notes)),
    )


@Memo
def joined_ids(turn: Turn) -> tuple[str, ...]:
    """Return the ids of the preset messages that a turn is made of."""
    origins = (span.origin.outermost for span in turn.text.spans)
    return tuple(dict.fromkeys(each.id for each in origins if each.kind is OriginKind.PRESET))


def _is_not_about_history(note: Note) -> bool:
    return note.origin is None or note.origin.kind is not OriginKind.HISTORY


_counts: dict[str, Memo[PresetMessage, int]] = {}
"""Tokens of messages, uncorrected, by who counted them."""


def _count_for(composed: Composed) -> Callable[[PresetMessage], int]:
    counter = counter_for(composed.model)
    found = _counts.get(counter.name)
    if found is None:
        count = counter.count
        found = _counts[counter.name] = Memo(lambda message: count(message.content))
    counted = found
    if composed.inputs is not None:
        counter = counter.corrected(composed.inputs.correction)

    def would_cost(message: PresetMessage) -> int:
        return counter.scaled(counted(message) + TURN_OVERHEAD) if message.content else 0

    return would_cost


def costs(rows: Sequence[OutlineRow], facts: RequestFacts) -> dict[int, int]:
    """Return the tokens of messages by list index: the cost as sent, or of a disabled message
    what it would cost; nothing for an anchor.
    """
    left = {name: iter(tokens) for name, tokens in facts.sent.items()}
    found: dict[int, int] = {}
    for row in rows:
        message = row.message
        if message is None or message.is_anchor:
            continue
        tokens = None if row.disabled else next(left.get(message.id, iter(())), None)
        if tokens is not None:
            found[row.index] = tokens
        elif facts.count is not None and row.disabled:
            found[row.index] = facts.count(message)
    return found
