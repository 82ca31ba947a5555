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
from tui_chat.models.message import MessageRole
from tui_chat.models.preset import CacheLifetime, PresetMessage
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


@Memo
def role_line(role: Role) -> Listed:
    """Return the role's system prompt as a line of the list."""
    message = PresetMessage(role.role_id, "system", role.system_prompt, name=role.name)
    return Listed(message, Origin(OriginKind.SYSTEM, role.role_id, role.name))


def profile_line(anchor: PresetMessage, profile: Profile) -> Listed:
    """Return the profile as the line that an anchor stands for."""
    return _profile_line(profile, anchor.id, anchor.role, anchor.cache_control)


@Memo
def _profile_line(
    profile: Profile, anchor: str, role: MessageRole, cache: CacheLifetime | None
) -> Listed:
    message = PresetMessage(anchor, role, profile.content, name=profile.name, cache_control=cache)
    return Listed(message, Origin(OriginKind.PROFILE, profile.name, profile.name))


@Memo
def _plain_text(line: Listed) -> Text:
    return Text.of(line.message.content, line.origin)


def text_of(line: Listed, said: Said) -> Text:
    """Return what a line says."""
    text = said.get(id(line))
    return _plain_text(line) if text is None else text


@Memo
def _turn(line: Listed, text: Text, placement: Placement) -> Turn:
    if line.why:
        placement = replace(placement, rule=f"{line.why} {placement.rule}")
    mark = mark_of(line.message)
    return Turn(line.message.role, text, line.origin, placement, cache_mark=mark)


def turns_of(lines: Iterable[tuple[Listed, Placement]], said: Said) -> tuple[Turn, ...]:
    """Return the turns of lines at their places; a line that says nothing has none."""
    turns: list[Turn] = []
    for line, placement in lines:
        text = text_of(line, said)
        if text.plain:
            turns.append(_turn(line, text, placement))
    return tuple(turns)
