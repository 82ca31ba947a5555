"""What stands in the list: preset messages and what is added to them, each with its origin.

1. Everything that is sent around the conversation is a `Listed`: the role's prompt, the
   preset's messages, the profile at its anchor, what contributors add.
2. A line's turn is the same object for as long as what it says and where it stands is the
   same, so that its tokens and its encoding are found again.
3. Nothing remembered here refers to what it is remembered for, or it would never be let go.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from weakref import WeakValueDictionary

from tui_chat.models.envelope import CacheMark, Placement, Turn
from tui_chat.models.memo import Memo
from tui_chat.models.preset import PresetMessage
from tui_chat.models.profile import Profile
from tui_chat.models.role import Role
from tui_chat.models.text import Origin, OriginKind, Text


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
class Listed:
    """A line of the list. Compared by identity."""

    message: PresetMessage
    origin: Origin
    why: str = ""
    """Why it is in the list at all, as a sentence; empty for the preset's own messages."""

    @property
    def called(self) -> str:
        """What a note calls it."""
        return f"“{self.message.name or self.message.id}”"

    @property
    def order(self) -> int:
        """What sorts it among those at the same point."""
        return self.message.order


def mark_of(message: PresetMessage) -> CacheMark | None:
    """Return the cache mark that a preset message places."""
    lifetime = message.cache_control
    return None if lifetime is None else CacheMark(lifetime, origin_of(message))


Said = Mapping[int, Text]
"""What lines say, by the identity of the `Listed`, where that is not simply their content."""

NO_TEXTS: Said = {}


def origin_of(message: PresetMessage) -> Origin:
    """Return the origin of what a preset message says."""
    return Origin(OriginKind.PRESET, message.id, message.name)


_preset_lines: WeakValueDictionary[int, Listed] = WeakValueDictionary()
"""By the identity of their messages, which live as long as their lines do."""


def preset_line(message: PresetMessage) -> Listed:
    """Return a preset's message as a line of the list: the same for the same message, so that an
    edit of one message leaves the other turns of the preset as they are.
    """
    line = _preset_lines.get(id(message))
    if line is None or line.message is not message:
        line = _preset_lines[id(message)] = Listed(message, origin_of(message))
    return line


def _role_line(role: Role) -> Listed:
    message = PresetMessage(role.role_id, "system", role.system_prompt, name=role.name)
    return Listed(message, Origin(OriginKind.SYSTEM, role.role_id, role.name))


role_line: Memo[Role, Listed] = Memo(_role_line)
"""`role_line(role)`: the role's system prompt as a line of the list."""


def _no_lines(_: Profile) -> dict[tuple[str, str, str | None], Listed]:
    return {}


_profile_lines: Memo[Profile, dict[tuple[str, str, str | None], Listed]] = Memo(_no_lines)


def profile_line(anchor: PresetMessage, profile: Profile) -> Listed:
    """Return the profile as the line that an anchor stands for."""
    lines = _profile_lines(profile)
    key = anchor.id, anchor.role, anchor.cache_control
    line = lines.get(key)
    if line is None:
        origin = Origin(OriginKind.PROFILE, profile.name, profile.name)
        message = PresetMessage(
            anchor.id,
            anchor.role,
            profile.content,
            name=profile.name,
            cache_control=anchor.cache_control,
        )
        line = lines[key] = Listed(message, origin)
    return line


def _plain(line: Listed) -> Text:
    return Text.of(line.message.content, line.origin)


_plain_text: Memo[Listed, Text] = Memo(_plain)


def text_of(line: Listed, said: Said) -> Text:
    """Return what a line says."""
    text = said.get(id(line))
    return _plain_text(line) if text is None else text


def _no_turn(_: Listed) -> list[Turn]:
    return []


_last_turn: Memo[Listed, list[Turn]] = Memo(_no_turn)


def turns_of(lines: Iterable[tuple[Listed, Placement]], said: Said) -> tuple[Turn, ...]:
    """Return the turns of lines at their places; a line that says nothing has none."""
    turns: list[Turn] = []
    for line, placement in lines:
        text = text_of(line, said)
        if not text.plain:
            continue
        told = replace(placement, rule=f"{line.why} {placement.rule}") if line.why else placement
        kept = _last_turn(line)
        if not kept or kept[0].text is not text or kept[0].placement != told:
            mark = mark_of(line.message)
            kept[:] = [Turn(line.message.role, text, line.origin, told, cache_mark=mark)]
        turns.append(kept[0])
    return tuple(turns)
