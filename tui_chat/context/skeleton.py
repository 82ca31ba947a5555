"""Phase 3: walk the list, and fill the anchors.

System turns precede everything. Then the skeleton in its order; at an anchor: what stands
before it, what it stands for (the history block, the profile, or nothing), what stands after.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tui_chat.context.listed import Listed, profile_line
from tui_chat.context.scan import Beside, Groups
from tui_chat.models.envelope import Placement
from tui_chat.models.profile import Profile

Placed = tuple[Listed, Placement]
"""A line and where it stands."""

_FIRST = Placement("system", rule="System messages go first.")
_ROLE_FIRST = Placement("system", rule="The role's system prompt goes first.")
_IN_PLACE = Placement("skeleton", rule="It stands here in the preset.")
_NOTHING = Beside()


@dataclass(frozen=True, slots=True)
class Skeleton:
    """What stands around the history block."""

    before: tuple[Placed, ...]
    after: tuple[Placed, ...]


def populate(groups: Groups, opening: Listed | None, profile: Profile | None) -> Skeleton:
    """Place everything but the history block; `opening` is the role's prompt."""
    before: list[Placed] = [] if opening is None else [(opening, _ROLE_FIRST)]
    before += ((line, _FIRST) for line in groups.system)
    after: list[Placed] = []
    side = before
    for line in groups.skeleton:
        if not line.message.is_anchor:
            side.append((line, _placement(line)))
            continue
        side += _beside(groups, line, "before")
        if line.message.type == "chat_history":
            side = after
        else:
            side += _filling(groups, line, profile)
        side += _beside(groups, line, "after")
    return Skeleton(tuple(before), tuple(after))


def _placement(line: Listed) -> Placement:
    if line.why:
        return Placement("skeleton", rule="It stands before the history, having no other place.")
    return _IN_PLACE


def _filling(groups: Groups, anchor: Listed, profile: Profile | None) -> Iterator[Placed]:
    """Yield what an anchor stands for, other than the history."""
    message = anchor.message
    if anchor is groups.profile_anchor and profile is not None and profile.content:
        rule = f"The anchor “{message.id}” stands for the profile."
        yield profile_line(message, profile), Placement("skeleton", message.id, rule=rule)


def _beside(groups: Groups, anchor: Listed, side: str) -> Iterator[Placed]:
    message = anchor.message
    beside = groups.beside.get(message.anchor_id, _NOTHING)
    called = "the history" if message.type == "chat_history" else anchor.called
    placement = Placement(
        "before" if side == "before" else "after",
        message.anchor_id,
        rule=f"It is anchored {side} {called}.",
    )
    for line in beside.before if side == "before" else beside.after:
        yield line, placement
