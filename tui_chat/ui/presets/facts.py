"""Facts of a composed request about the rows of a preset: their cost, why they are not sent, the
turns between them; and the rows of the list, in the order of the request.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field

from tui_chat.analysis.unsent_messages import unsent_messages
from tui_chat.compose import Composed
from tui_chat.context.sent_texts import with_shares
from tui_chat.lazy_dataclass import dataclass
from tui_chat.library.editing.outline import Outline, OutlineRow
from tui_chat.library.editing.places import SentChat
from tui_chat.models.envelope import Note, Turn
from tui_chat.models.preset import CHAT_HISTORY, PresetMessage
from tui_chat.models.text import OriginKind

HISTORY = "history"
PARTS = {"system": "System", "before": "Before the chat", "after": "After the chat"}
"""The headings of the list, less the history's, which is its anchor."""


@dataclass(frozen=True, slots=True)
class RequestFacts:
    """The facts of one request."""

    sent: dict[str, list[int]] = field(default_factory=dict[str, "list[int]"])
    """Tokens of the preset messages sent, by id; in order for an id that occurs twice."""
    role: tuple[str, int] = ("", 0)
    """Name and tokens of the role's prompt; an empty name for no role."""
    profile: tuple[str, int] = ("", 0)
    chat: SentChat = SentChat()
    """The messages of the conversation that are sent."""
    turn_tokens: tuple[int, ...] = ()
    """Tokens of each message of the history."""
    history_tokens: int = 0
    answered_tokens: int = 0
    dropped: int = 0
    """History messages that did not fit."""
    muted: int = 0
    """History messages that are muted, and those that go with them."""
    why: Mapping[str, str] = field(default_factory=dict[str, str])
    """Why messages are not sent, by id, in a few words."""
    notes: tuple[Note, ...] | None = None
    """The notes, except those about single history messages."""


NO_FACTS = RequestFacts()


def facts_of(composed: Composed) -> RequestFacts:
    """Return the facts of a request."""
    envelope = composed.envelope
    sent: dict[str, list[int]] = {}
    role, profile = ("", 0), ("", 0)
    answered: Turn | None = None
    answered_tokens = 0
    history: list[Turn] = []
    turn_tokens: list[int] = []
    for turn, whole in zip(envelope.turns, envelope.tokens, strict=False):
        for piece, tokens in with_shares(turn, whole) if turn.pieces else ((turn, whole),):
            origin = piece.origin
            match origin.kind:
                case OriginKind.HISTORY if piece.placement.kind != "draft":
                    history.append(piece)
                    turn_tokens.append(tokens)
                case OriginKind.HISTORY | OriginKind.DRAFT:
                    answered, answered_tokens = piece, tokens
                case OriginKind.PRESET:
                    sent.setdefault(origin.id, []).append(tokens)
                case OriginKind.SYSTEM if "/" not in origin.id:
                    role = origin.name or origin.id, tokens
                case OriginKind.PROFILE:
                    profile = origin.name or origin.id, tokens
                case _:
                    pass
    return RequestFacts(
        *(sent, role, profile),
        SentChat(tuple(history), answered, bool(role[0])),
        tuple(turn_tokens),
        envelope.budget.history if envelope.budget else 0,
        answered_tokens,
        len(envelope.dropped),
        len(envelope.muted),
        {message.id: why for message, why in unsent_messages(composed) if message.enabled},
        tuple(filter(_is_not_about_history, composed.notes)),
    )


def _is_not_about_history(note: Note) -> bool:
    return note.origin is None or note.origin.kind is not OriginKind.HISTORY


def costs(rows: Sequence[OutlineRow], facts: RequestFacts) -> dict[int, int]:
    """Return the tokens of the messages that are sent, by index; no anchors."""
    left = {name: iter(tokens) for name, tokens in facts.sent.items()}
    tokens_by_row: dict[int, int] = {}
    for row in rows:
        message = row.message
        if message is not None and not message.is_anchor and not row.disabled:
            tokens = next(left.get(message.id, iter(())), None)
            if tokens is not None:
                tokens_by_row[row.index] = tokens
    return tokens_by_row


@dataclass(frozen=True, slots=True)
class ListRow:
    """A row of the list."""

    part: str
    """The part that the row heads; empty for none."""
    tokens: int | None = None
    row: OutlineRow | None = None
    """None for the heading of a part."""

    @property
    def message(self) -> PresetMessage | None:
        """The preset message of the row; None for a heading, or a message that is not its own."""
        return self.row.message if self.row is not None else None

    @property
    def index(self) -> int:
        """The message's index in the preset; -1 for none."""
        return self.row.index if self.row is not None else -1


def list_rows(outline: Outline, facts: RequestFacts) -> list[ListRow]:
    """Return the rows of the list under their headings."""
    tokens = costs(outline.rows, facts)
    rows: list[ListRow] = []
    for part, own in _parts(outline, facts):
        if part in PARTS:
            cost = sum(tokens.get(row.index, 0) for row in own)
            is_role = own[0].ghost == "role"
            rows.append(ListRow(part, cost + (facts.role[1] if is_role else 0)))
        for row in own:
            if part == HISTORY and row is own[0]:
                rows.append(ListRow(HISTORY, facts.history_tokens or None, row))
            else:
                rows.append(ListRow("", _cost_of(row, tokens.get(row.index), facts), row))
    return rows


def _parts(outline: Outline, facts: RequestFacts) -> Iterator[tuple[str, list[OutlineRow]]]:
    """Yield the parts of an outline with their rows; the history's begins with its anchor."""
    parts: list[tuple[str, list[OutlineRow]]] = []
    part = "before"
    for row in outline.rows:
        if row.ghost == "role" and not (facts.role[0] or row.notes):
            continue
        is_anchor = row.placement == "anchor" and row.anchor == CHAT_HISTORY and not row.disabled
        if row.placement == "system" or row.ghost == "role":
            own = "system"
        elif is_anchor or row.placement == "depth" or row.ghost is not None:
            own = part = HISTORY
        else:
            own = part = "after" if part in (HISTORY, "after") else "before"
        if not parts or parts[-1][0] != own:
            parts.append((own, []))
        parts[-1][1].append(row)
    return iter(parts)


def _cost_of(row: OutlineRow, tokens: int | None, facts: RequestFacts) -> int | None:
    """Return the tokens of a row: of what stands for other messages, that of those."""
    message = row.message
    if message is not None and message.type == "user_profile" and not row.disabled:
        return facts.profile[1] or None
    history = facts.chat.history
    match row.ghost:
        case "role":
            return facts.role[1] if facts.role[0] else None
        case "draft":
            return facts.answered_tokens if facts.chat.answered is not None else None
        case "oldest" | "newest" | "message":
            at = turn_index(row, len(history))
            return facts.turn_tokens[at] if at is not None else None
        case _:
            return tokens


def turn_index(row: OutlineRow, count: int) -> int | None:
    """Return which of `count` history messages a ghost row stands for; None for none."""
    match row.ghost:
        case "oldest":
            at = 0
        case "newest":
            at = count - 1 if count > 1 else -1
        case _:  # the one that a negative depth lies before, or a positive one after
            depth = row.depth or 0
            at = depth - 1 if depth > 0 else count + depth + 1
    return at if 0 <= at < count else None
