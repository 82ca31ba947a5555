"""Phase 3: walk the list, and fill the anchors.

System turns precede everything. Then the skeleton in its order; at an anchor: what stands
before it, what it stands for (the history block, the profile, or nothing), what stands after.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from tui_chat.context.scan import Beside, Groups, origin_of
from tui_chat.model.envelope import Placement, Turn
from tui_chat.model.memo import Memo
from tui_chat.model.preset import PresetMessage
from tui_chat.model.profile import Profile
from tui_chat.model.text import Origin, OriginKind, Text

_NOTHING = Beside()


def populate(
    groups: Groups, history_block: Sequence[Turn], profile: Profile | None
) -> Iterator[Turn]:
    """Yield the turns that follow the system turns, in the order in which they are sent."""
    for message in groups.skeleton:
        if not message.is_anchor:
            yield _turn(groups, message, _IN_PLACE)
            continue
        beside = groups.beside.get(message.anchor_id, _NOTHING)
        called = "the history" if message.type == "chat_history" else f"“{message.anchor_id}”"
        for side, messages in (("before", beside.before), ("after", beside.after)):
            if side == "after":
                yield from _filling(message, history_block, profile)
            for neighbour in messages:
                rule = f"It is anchored {side} {called}."
                kind = "before" if side == "before" else "after"
                yield _turn(groups, neighbour, Placement(kind, message.anchor_id, rule=rule))


def _filling(
    anchor: PresetMessage, history_block: Sequence[Turn], profile: Profile | None
) -> Iterable[Turn]:
    """Return what an anchor stands for."""
    match anchor.type:
        case "chat_history":
            return history_block
        case "user_profile" if profile is not None and profile.content:
            return (_profile_turn(anchor)(profile),)
        case _:
            return ()


def _made_by_anchor(anchor: PresetMessage) -> Memo[Profile, Turn]:
    def turn(profile: Profile) -> Turn:
        origin = Origin(OriginKind.PROFILE, profile.name, profile.name)
        rule = f"The anchor “{anchor.id}” stands for the profile."
        placement = Placement("skeleton", anchor.id, rule=rule)
        return Turn(anchor.role, Text.of(profile.content, origin), origin, placement)

    return Memo(turn)


_profile_turn: Memo[PresetMessage, Memo[Profile, Turn]] = Memo(_made_by_anchor)


def system_turns(groups: Groups) -> Iterator[Turn]:
    """Yield the preset's system messages that go first."""
    for message in groups.system:
        yield _turn(groups, message, _FIRST)


_FIRST = Placement("system", rule="System messages go first.")
_IN_PLACE = Placement("skeleton", rule="It stands here in the preset.")


def _turn(groups: Groups, message: PresetMessage, placement: Placement) -> Turn:
    """Return the message's turn, the same object for as long as the preset is the same."""
    turn = groups.turns.get(id(message))
    if turn is None:
        origin = origin_of(message)
        turn = Turn(message.role, Text.of(message.content, origin), origin, placement)
        groups.turns[id(message)] = turn
    return turn
