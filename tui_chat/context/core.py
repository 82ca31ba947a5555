"""Phase 2: the history, cut to the budget, with the deep messages in it.

1. The newest messages that fit are kept: walking back from the newest, the first one that
   does not fit ends it, so that the kept history has no holes.
2. An assistant message with tool calls and the results that follow it are one unit.
3. Pinned messages, and a system message that begins the history, stay; their cost is set
   aside first.
4. Depths refer to the truncated history before anything is put in: 0 is before the oldest
   message, n after the n-th, -1 after the newest, -2 before the newest. A depth beyond an
   end is clamped to it, with a note.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tui_chat.context.scan import origin_of
from tui_chat.model.envelope import Dropped, Level, Note, Placement, Turn
from tui_chat.model.memo import Memo
from tui_chat.model.message import Message
from tui_chat.model.preset import PresetMessage
from tui_chat.model.text import Origin, OriginKind, Text
from tui_chat.tokens import Counter

NAME_LENGTH = 32
"""A message has no name; a person knows it by its first words."""

_IN_HISTORY = Placement("history", rule="It is part of the conversation.")


def _turn_of(message: Message) -> Turn:
    words = " ".join(message.content[: 4 * NAME_LENGTH].split())
    name = words if len(words) <= NAME_LENGTH else words[: NAME_LENGTH - 1].rstrip() + "…"
    origin = Origin(OriginKind.HISTORY, message.id, name or message.role)
    return Turn(
        role=message.role,
        text=Text.of(message.content, origin),
        origin=origin,
        placement=_IN_HISTORY,
        tool_calls=message.tool_calls,
        tool_call_id=message.tool_call_id,
        name=message.name,
        semantics=message.semantics,
        parts=message.parts,
    )


history_turn: Memo[Message, Turn] = Memo(_turn_of)
"""`history_turn(message)`: the turn of a stored message, the same object each time."""


@dataclass(frozen=True, slots=True)
class Kept:
    """What is left of the history, and what is not."""

    turns: tuple[Turn, ...]
    dropped: tuple[Dropped, ...]
    kept_tokens: int
    dropped_tokens: int


def truncate(history: Sequence[Message], allowance: int | None, counter: Counter) -> Kept:
    """Keep the newest messages that cost at most `allowance` tokens; None keeps all."""
    turns = tuple(map(history_turn, history))
    costs = list(map(counter.turn, turns))
    total = sum(costs)
    if allowance is None or total <= allowance:
        return Kept(turns, (), total, 0)
    units = list(_units(history))
    staying = [unit for unit in units if any(_stays(history, index) for index in unit)]
    left = allowance - sum(costs[index] for unit in staying for index in unit)
    keep = {index for unit in staying for index in unit}
    for unit in reversed(units):
        if unit[0] in keep:
            continue
        left -= sum(costs[index] for index in unit)
        if left < 0:
            break
        keep.update(unit)
    gone = [index for index in range(len(turns)) if index not in keep]
    dropped_tokens = sum(costs[index] for index in gone)
    return Kept(
        tuple(turns[index] for index in sorted(keep)),
        tuple(_dropped(turns[index], costs[index]) for index in gone),
        total - dropped_tokens,
        dropped_tokens,
    )


def _units(history: Sequence[Message]) -> Iterator[range]:
    """Yield the runs of messages that stay or go together."""
    start = 0
    for index, message in enumerate(history):
        follows = (
            message.role == "tool"
            and index > start
            and (history[start].role == "tool" or bool(history[start].tool_calls))
        )
        if index > start and not follows:
            yield range(start, index)
            start = index
    if history:
        yield range(start, len(history))


def _stays(history: Sequence[Message], index: int) -> bool:
    message = history[index]
    return message.pinned or (index == 0 and message.role == "system")


def _dropped(turn: Turn, tokens: int) -> Dropped:
    preview = " ".join(turn.text.plain[:200].split())[:80]
    return Dropped(turn.origin, turn.role, preview, tokens)


def inject(
    turns: tuple[Turn, ...], deep: Sequence[PresetMessage], notes: list[Note]
) -> tuple[Turn, ...]:
    """Put the deep messages (already in order) into the history at their depths."""
    if not deep:
        return turns
    at: dict[int, list[Turn]] = {}
    for message in deep:
        asked = message.insertion_point or 0
        place = asked if asked >= 0 else len(turns) + 1 + asked
        depth = min(max(place, 0), len(turns))
        if depth != place:
            end = "oldest" if place < 0 else "newest"
            sentence = (
                f"“{message.name or message.id}” asks for depth {asked}, but the history sent "
                f"has {len(turns)} messages; it goes to its {end} end."
            )
            notes.append(Note(Level.INFO, "depth-clamped", sentence, origin_of(message)))
        at.setdefault(depth, []).append(_deep_turn(message, asked, depth, len(turns)))
    result: list[Turn] = []
    done = 0
    for depth in sorted(at):
        result += turns[done:depth]
        result += at[depth]
        done = depth
    return (*result, *turns[done:])


def _deep_turn(message: PresetMessage, asked: int, depth: int, length: int) -> Turn:
    if depth == 0:
        where = "before the oldest message of the history"
    elif depth == length:
        where = "after the newest message of the history"
    else:
        where = f"after message {depth} of the {length} that are sent"
    origin = origin_of(message)
    return Turn(
        role=message.role,
        text=Text.of(message.content, origin),
        origin=origin,
        placement=Placement("depth", depth=depth, rule=f"Its depth {asked} is {where}."),
    )
