"""What a composed request says about the rows of a preset: their cost, and what is between them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
from tui_chat.ui.areas.presets.fillings import NO_FILLINGS, Fillings

_PREVIEW = 120
"""Characters shown of a message."""


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
