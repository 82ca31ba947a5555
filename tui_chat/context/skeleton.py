"""Phase 3: walk the skeleton and fill the anchors.

System turns precede everything. Then the skeleton in its order; at an anchor: what stands
before it, what it stands for (the history block, the profile, or nothing), what stands after.
"""

from __future__ import annotations

from collections.abc import Iterator

from tui_chat.context.resolved_message import ResolvedMessage, resolve_profile
from tui_chat.context.scan import AnchorNeighbors, MessageGroups
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.role import Profile
from tui_chat.models.turn import Placement

Placed = tuple[ResolvedMessage, Placement]
"""A message and its placement."""

_FIRST = Placement("system", rule="System messages go first.")
_ROLE_FIRST = Placement("system", rule="The role's system prompt goes first.")
_IN_PLACE = Placement("skeleton", rule="This is its place in the preset.")
_NOTHING = AnchorNeighbors()


@dataclass(frozen=True, slots=True)
class Skeleton:
    """The messages around the history."""

    before: tuple[Placed, ...]
    after: tuple[Placed, ...]


def populate(
    groups: MessageGroups,
    role_prompt: ResolvedMessage | None,
    profile: Profile | None,
    *,
    with_neighbors: bool = True,
) -> Skeleton:
    """Place all messages but the history; `role_prompt` goes first.

    An anchor of example dialogues is placed itself: a plugin's builder fills it. `with_neighbors`:
    also place what stands before and after the history.
    """
    before: list[Placed] = [] if role_prompt is None else [(role_prompt, _ROLE_FIRST)]
    before += ((line, _FIRST) for line in groups.system)
    after: list[Placed] = []
    side = before
    for line in groups.skeleton:
        if not line.message.is_anchor:
            side.append((line, _placement(line)))
            continue
        if line.message.type == "chat_history" and not with_neighbors:
            side = after
            continue
        side += _beside(groups, line, "before")
        if line.message.type == "chat_history":
            side = after
        elif line.message.type == "example_dialogues":
            side.append((line, _IN_PLACE))
        else:
            side += _filling(groups, line, profile)
        side += _beside(groups, line, "after")
    return Skeleton(tuple(before), tuple(after))


def _placement(line: ResolvedMessage) -> Placement:
    if line.why:
        return Placement(
            "skeleton", rule="Without a position of its own, it goes before the history."
        )
    return _IN_PLACE


def _filling(
    groups: MessageGroups, anchor: ResolvedMessage, profile: Profile | None
) -> Iterator[Placed]:
    """Yield the profile if the anchor stands for it."""
    message = anchor.message
    if (
        anchor is groups.profile_anchor
        and profile is not None
        and profile.content
        and profile.placement == "anchor"
    ):
        rule = f"The anchor {anchor.called} is the place of the profile."
        place = Placement("skeleton", message.id, rule=rule, anchor_name=_name_of(anchor))
        yield resolve_profile(message, profile), place


def _name_of(anchor: ResolvedMessage) -> str:
    message = anchor.message
    return "history" if message.type == "chat_history" else message.name or message.id


def _beside(groups: MessageGroups, anchor: ResolvedMessage, side: str) -> Iterator[Placed]:
    message = anchor.message
    beside = groups.beside.get(message.anchor_id, _NOTHING)
    called = "the history" if message.type == "chat_history" else anchor.called
    placement = Placement(
        "before" if side == "before" else "after",
        message.anchor_id,
        rule=f"It is anchored {side} {called}.",
        anchor_name=_name_of(anchor),
    )
    for line in beside.before if side == "before" else beside.after:
        yield line, placement
