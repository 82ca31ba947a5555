"""Facts of a composed request about the rows of a preset: their cost, and the turns between them.

It also says what fills the places of a preset: lore, the card, the profile, examples. A place is an
anchor, or a message that requires a variable.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import get_args

from tui_chat.compose import Composed
from tui_chat.context.turn_sources import preset_ids, split_turns, with_shares
from tui_chat.lazy_dataclass import dataclass
from tui_chat.library.editing.outline import OutlineRow
from tui_chat.models.envelope import Note, Turn
from tui_chat.models.generation import GenerationKind
from tui_chat.models.memo import Memo
from tui_chat.models.preset import CardField, Preset, PresetMessage
from tui_chat.models.role import Profile, Role
from tui_chat.models.sanitize import one_line
from tui_chat.models.text import Origin, OriginKind
from tui_chat.tokens import TURN_OVERHEAD, counter_for

_LORE = ("worldInfoBefore", "worldInfoAfter")
_CARD = ("description", "personality", "scenario")
_PREVIEW = 120
"""Characters shown of a message."""
_NOTHING = "empty now: "


@dataclass(frozen=True, slots=True)
class Fillings:
    """The sources of a request's texts."""

    is_known: bool = False
    """False without a request."""
    kind: GenerationKind = "normal"
    lore: Mapping[str, int] = field(default_factory=dict[str, int])
    """The number of lore entries in the text of a preset message, by its id."""
    has_lorebooks: bool = False
    role: Role | None = None
    """The active role."""
    has_prompt: bool = False
    """True if the role's prompt is the character's description."""
    profile: Profile | None = None
    profile_anchor: str = ""
    """The id of the anchor that stands for the profile; empty if none does."""
    examples: Mapping[str, int] = field(default_factory=dict[str, int])
    """The number of messages of examples at an anchor, by its id."""
    sent: frozenset[str] = frozenset()
    """The ids of the preset messages that are in the request."""

    @classmethod
    def of(cls, composed: Composed, lore: Mapping[str, int], sent: frozenset[str]) -> Fillings:
        """Return those of a request; `lore` and `sent` are the fields of these names."""
        inputs = composed.inputs
        if inputs is None:
            return NO_FILLINGS
        examples: dict[str, int] = {}
        for turn in split_turns(composed.envelope.turns):
            if turn.name.startswith("example_"):
                anchor = turn.placement.anchor
                examples[anchor] = examples.get(anchor, 0) + 1
        role, rules = inputs.active_role, inputs.rules
        return cls(
            True,
            inputs.chat.kind,
            lore,
            bool(inputs.lorebooks),
            role,
            role is not None
            and role.character is None
            and bool(role.system_prompt)
            and rules.role_prompt == "description",
            inputs.profile,
            _profile_anchor(inputs.preset, inputs.profile),
            examples,
            sent,
        )

    def words_for(self, message: PresetMessage, tokens: int | None) -> str:
        """Return what fills a place, in a few words; empty for a message that is none."""
        if not self.is_known or not message.enabled:
            return ""
        if message.triggers and self.kind not in message.triggers:
            return ""
        cost = f", {tokens:,} tokens" if tokens is not None else ""
        is_sent = message.id in self.sent
        match message.requires:
            case "" if message.card_field and self._card(message.card_field) and tokens is not None:
                return f"the {message.card_field.replace('_', ' ')} of “{self._name}”{cost}"
            case "" if message.type == "user_profile":
                return "" if self.profile_anchor else f"{_NOTHING}{self._why_no_profile}"
            case "" if message.type == "example_dialogues":
                return self._examples_at(message)
            case word if word in _LORE:
                if count := self.lore.get(message.id, 0):
                    return f"{_counted(count, 'entry')}{cost}"
                here = "no lore entry" if self.has_lorebooks else "no lorebook"
                return "" if is_sent else f"{_NOTHING}{here}"
            case word if word in _CARD:
                if not is_sent:
                    return self._why_no_card(word)
                if self.has_prompt and word == "description":
                    return f"the prompt of “{self._name}”{cost}"
                return f"of “{self._name}”{cost}" if self._card(word) else f"a variable{cost}"
            case "persona":
                if is_sent and self.profile is not None:
                    return f"“{one_line(self.profile.name, 30)}”{cost}"
                return "" if is_sent else f"{_NOTHING}{self._why_no_profile}"
            case "":
                return ""
            case word:
                return "" if is_sent else f"{_NOTHING}no {one_line(word, 30)}"

    @property
    def role_words(self) -> str:
        """Why the role's prompt is not at the place for it, in a few words."""
        if not self.is_known:
            return "the role's prompt"
        if self.role is None:
            return "no role"
        why = "its prompt is not added" if self.role.system_prompt else "it has no prompt"
        return f"role “{self._name}”: {why}"

    @property
    def _name(self) -> str:
        return one_line(self.role.name, 30) if self.role is not None else ""

    def _card(self, field: str) -> str:
        """Return a field of the role's character card; empty without one."""
        character = self.role.character if self.role is not None else None
        text: str = getattr(character, field) if character is not None else ""
        return text.strip()

    def _examples_at(self, anchor: PresetMessage) -> str:
        has_examples = bool(self._card("example_dialogues"))
        if count := self.examples.get(anchor.anchor_id, 0):
            is_only = has_examples and not self.has_lorebooks  # lore can add examples
            whose = f" of “{self._name}”" if is_only else ""
            return f"{_counted(count, 'message')}{whose}"
        if has_examples:  # left out for a reason of its own
            return ""
        return self._why_no_card("example dialogues")

    def _why_no_card(self, field: str) -> str:
        """Return why a field of the card fills nothing; empty if the card has it."""
        if self.role is None or self.role.character is None:
            return f"{_NOTHING}no character"
        if self._card(field.replace(" ", "_")):
            return ""
        return f"{_NOTHING}“{self._name}” has no {field}"

    @property
    def _why_no_profile(self) -> str:
        if self.profile is None:
            return "no profile"
        name = one_line(self.profile.name, 30)
        if not self.profile.content.strip():
            return f"the profile “{name}” is empty"
        return f"the profile “{name}” is placed elsewhere"


def _profile_anchor(preset: Preset, profile: Profile | None) -> str:
    """Return the id of the anchor that stands for a profile; empty if none does."""
    if profile is None or not profile.content or profile.placement != "anchor":
        return ""
    anchors = (each for each in preset.messages if each.type == "user_profile" and each.enabled)
    return next((anchor.id for anchor in anchors), "")


@Memo
def _lore_in(piece: Turn) -> int:
    """Return the number of lore entries in the text of a message."""
    entries = (span.origin.lore_entry for span in piece.text.spans)
    return len({entry.id for entry in entries if entry is not None})


def _counted(count: int, word: str) -> str:
    many = f"{word[:-1]}ies" if word.endswith("y") else f"{word}s"
    return f"{count:,} {word if count == 1 else many}"


NO_FILLINGS = Fillings()


@dataclass(frozen=True, slots=True)
class RequestFacts:
    """The facts of one request."""

    sent: dict[str, list[int]] = field(default_factory=dict[str, "list[int]"])
    """Tokens of the preset messages sent, by id; in order for an id that occurs twice."""
    card: dict[str, int] = field(default_factory=dict[str, int])
    """Tokens of the character card's prompts, by their field of the card."""
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
    muted: int = 0
    """History messages that are muted, and those that go with them."""
    shown: int = 2
    """History messages that have a row of their own."""
    count: Callable[[PresetMessage], int] | None = None
    """Returns the cost of a message that is not sent, its macros unexpanded."""
    joined: tuple[tuple[str, ...], ...] = ()
    """The ids of preset messages that are sent as one message, for each such message."""
    fillings: Fillings = NO_FILLINGS
    """The texts that fill the places of the request."""
    set_variables: Mapping[str, tuple[str, ...]] = field(
        default_factory=dict[str, "tuple[str, ...]"]
    )
    """The variables that messages without any other content set, by the message's id."""
    notes: tuple[Note, ...] | None = None
    """The notes, except those about single history messages."""

    @property
    def total(self) -> int:
        """Tokens of all preset messages sent, and of the card's prompts in place of some."""
        return sum(map(sum, self.sent.values())) + sum(self.card.values())

    def history_at(self, depth: int) -> Turn | None:
        """Return the history message that a negative depth lies before, or a positive one after."""
        index = depth - 1 if depth > 0 else len(self.history) + depth + 1
        return self.history[index] if 0 <= index < len(self.history) else None


NO_FACTS = RequestFacts()


def facts_of(composed: Composed) -> RequestFacts:
    """Return the facts of a request."""
    envelope = composed.envelope
    sent: dict[str, list[int]] = {}
    lore: dict[str, int] = {}
    lore_in: dict[str, int] = {}
    card: dict[str, int] = {}
    role, profile, draft = ("", 0), ("", 0), ("", 0)
    history: list[Turn] = []
    is_typed = True
    for turn, whole in zip(envelope.turns, envelope.tokens, strict=False):
        for piece, tokens in with_shares(turn, whole) if turn.pieces else ((turn, whole),):
            origin = piece.origin
            match origin.kind:
                case OriginKind.HISTORY if piece.placement.kind == "draft":
                    draft, is_typed = (one_line(piece.text.plain, _PREVIEW), tokens), False
                case OriginKind.HISTORY:
                    history.append(piece)
                case OriginKind.PRESET:
                    sent.setdefault(origin.id, []).append(tokens)
                    if count := _lore_in(piece):
                        lore_in[origin.id] = count
                case OriginKind.SYSTEM if card_field := _card_prompt(origin):
                    card[card_field] = card.get(card_field, 0) + tokens
                case OriginKind.SYSTEM if "/" not in origin.id:
                    role = origin.name or origin.id, tokens
                case OriginKind.PROFILE:
                    profile = origin.name or origin.id, tokens
                case OriginKind.DRAFT:
                    draft = one_line(piece.text.plain, _PREVIEW), tokens
                case OriginKind.LORE:
                    anchor = piece.placement.anchor
                    lore[anchor] = lore.get(anchor, 0) + 1
                case _:
                    pass
    budget = envelope.budget
    joined = (preset_ids(turn) for turn in envelope.turns if turn.origin.kind not in _TALK)
    return RequestFacts(
        sent,
        card,
        role,
        profile,
        tuple(history),
        budget.history if budget else 0,
        len(envelope.dropped),
        draft,
        is_typed,
        lore,
        muted=len(envelope.muted),
        joined=tuple(ids for ids in joined if len(ids) > 1),
        fillings=Fillings.of(composed, lore_in, frozenset(sent)),
        count=_count_for(composed),
        set_variables=envelope.set_variables,
        notes=tuple(filter(_is_not_about_history, composed.notes)),
    )


_TALK = (OriginKind.HISTORY, OriginKind.DRAFT)


def _card_prompt(origin: Origin) -> str:
    """Return the field of the character card if an origin is a prompt of it; else nothing."""
    field = origin.id.rpartition("/")[2].replace(" ", "_") if "/" in origin.id else ""
    return field if field in get_args(CardField) else ""


def _is_not_about_history(note: Note) -> bool:
    return note.origin is None or note.origin.kind is not OriginKind.HISTORY


_counts: dict[str, Memo[PresetMessage, int]] = {}
"""Tokens of messages, uncorrected, by who counted them."""


def _count_for(composed: Composed) -> Callable[[PresetMessage], int]:
    counter = counter_for(composed.model)
    memo = _counts.get(counter.name)
    if memo is None:
        count = counter.count
        memo = _counts[counter.name] = Memo(lambda message: count(message.content))
    counted = memo
    if composed.inputs is not None:
        counter = counter.corrected(composed.inputs.correction)

    def would_cost(message: PresetMessage) -> int:
        return counter.scaled(counted(message) + TURN_OVERHEAD) if message.content else 0

    return would_cost


def costs(rows: Sequence[OutlineRow], facts: RequestFacts) -> dict[int, int]:
    """Return messages' tokens by index, of disabled ones what they would cost; no anchors."""
    left = {name: iter(tokens) for name, tokens in facts.sent.items()}
    tokens_by_row: dict[int, int] = {}
    for row in rows:
        message = row.message
        if message is None or message.is_anchor:
            continue
        tokens = None if row.disabled else next(left.get(message.id, iter(())), None)
        if message.card_field in facts.card and not row.disabled:
            tokens = (tokens or 0) + facts.card[message.card_field]
        if tokens is not None:
            tokens_by_row[row.index] = tokens
        elif facts.count is not None and row.disabled:
            tokens_by_row[row.index] = facts.count(message)
    return tokens_by_row
