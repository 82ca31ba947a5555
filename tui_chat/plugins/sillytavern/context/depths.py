"""The policy `joined` for messages at a depth: one message per depth, order and role.

1. A depth is the number of messages of the conversation, draft included, that follow.
2. At one depth the lower `order` comes first, and in an order assistant, user, system.
3. The preset's own messages come first, in the order of its list; then, in order 0, those of the
   session, sorted by their names, each stripped. Each of the two is stripped as a whole. They are
   joined with line breaks.

These are the rules of SillyTavern's in-chat injections.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache

from tui_chat.context.resolved_message import ExpandedTexts, ResolvedMessage, text_of, turn_of
from tui_chat.models.envelope import Placement, Turn, with_text
from tui_chat.models.memo import Memo
from tui_chat.models.message import MessageRole
from tui_chat.models.text import Text

DEPTH_ROLES: tuple[MessageRole, ...] = ("assistant", "user", "system", "tool")
"""The order of roles at one depth and order."""


def depth_from_end(line: ResolvedMessage, length: int) -> int:
    """Return how many of `length` messages, draft included, follow a message at a depth."""
    point = line.message.insertion_point
    if point is None:
        return 0
    return -point if point < 0 else max(length - point, 0)


def join_depths(
    lines: Iterable[ResolvedMessage], length: int, expanded: ExpandedTexts
) -> list[tuple[int, list[Turn]]]:
    """Return the turns at each depth from top to bottom, by ascending depth.

    `lines` are messages at depths in a conversation of `length` messages, in the preset's order.
    """
    groups: dict[tuple[int, int, int], list[ResolvedMessage]] = {}
    for line in lines:
        if text_of(line, expanded).plain:
            order = 0 if line.slot else line.order
            role = DEPTH_ROLES.index(line.message.role)
            groups.setdefault((depth_from_end(line, length), order, role), []).append(line)
    depths: dict[int, list[Turn]] = {}
    for depth, order, role in sorted(groups):
        turn = _joined(groups[depth, order, role], depth, expanded)
        if turn is not None:
            depths.setdefault(depth, []).append(turn)
    return sorted(depths.items())


def _joined(lines: list[ResolvedMessage], depth: int, expanded: ExpandedTexts) -> Turn | None:
    own = [line for line in lines if not line.slot]
    others = sorted((line for line in lines if line.slot), key=lambda line: line.slot)
    first = own[0] if own else others[0]
    kept = tuple(text_of(line, expanded) for line in own)
    added = tuple(text_of(line, expanded).stripped() for line in others)
    texts = tuple(filter(None, (kept, added)))
    text = _joined_text(first, texts)
    if not text.plain:
        return None
    placement = _placement(depth, len(lines))
    turn = turn_of(first, text, placement)
    pieces = tuple((line, text_of(line, expanded)) for line in (*own, *others))
    return _with_pieces(turn, pieces) if len(pieces) > 1 else turn


@Memo
def _with_pieces(turn: Turn, pieces: tuple[tuple[ResolvedMessage, Text], ...]) -> Turn:
    own = (replace(with_text(turn, text), origin=line.origin) for line, text in pieces)
    return replace(turn, pieces=tuple(own))


@Memo
def _joined_text(_: ResolvedMessage, texts: tuple[tuple[Text, ...], ...]) -> Text:
    """Join the texts of each part, and the parts; remembered with the first message."""
    parts = [Text.join("\n", part).stripped() for part in texts]
    return parts[0] if len(parts) == 1 else Text.join("\n", parts)


@lru_cache(maxsize=256)
def _placement(depth: int, count: int) -> Placement:
    messages = "message" if depth == 1 else "messages"
    where = f"before the {depth} newest {messages}" if depth else "after the newest message"
    rule = f"Its depth is {where} of the conversation."
    if count > 1:
        rule += f" The {count} messages of its order and role there are sent as one."
    return Placement("depth", depth=-1 - depth, rule=rule, asked=-depth or None)
