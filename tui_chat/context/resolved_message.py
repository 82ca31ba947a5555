"""Resolved messages: the messages around the conversation, each with its origin.

1. Everything that is sent around the conversation is a `ResolvedMessage`: the role's prompt, the
   preset's messages, the profile at its anchor, what lorebooks add.
2. The turn of a message is the same object as long as its text and its placement are the same, so
   that its tokens and its encoding are found again.
3. No remembered value refers to its key, or neither would ever be freed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from weakref import WeakValueDictionary

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.envelope import CacheMark, Placement, Turn, text_turn
from tui_chat.models.memo import Memo
from tui_chat.models.message import MessageRole
from tui_chat.models.preset import CacheLifetime, PresetMessage
from tui_chat.models.role import Profile, Role
from tui_chat.models.text import Origin, OriginKind, Text


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
class ResolvedMessage:
    """A preset message or one that was added to the preset. Compared by identity."""

    message: PresetMessage
    origin: Origin
    why: str = ""
    """Why it was added, as a sentence; empty for the preset's own messages."""
    stays: bool = False
    """True if it keeps its place also as a system message that the preset would put first."""
    slot: str = ""
    """Its name among the messages that are not the preset's own: those at one depth and role are
    joined in the order of their names. Empty for the preset's own."""
    pieces: tuple[ResolvedMessage, ...] = ()
    """The messages that it is put together from; empty if it has a text of its own."""
    separator: str = "\n"
    """Stands between the pieces."""
    is_card: bool = False
    """True if its text is a field of a character card."""
    replaced: ResolvedMessage | None = None
    """The preset's message that it replaces: the value of `{{original}}`."""

    @property
    def called(self) -> str:
        """Its quoted name, as notes cite it."""
        return f"“{self.message.name or self.message.id}”"

    @property
    def order(self) -> int:
        """Sorts the messages at one point."""
        return self.message.order


def mark_of(message: PresetMessage) -> CacheMark | None:
    """Return the cache mark of a preset message, or None."""
    lifetime = message.cache_control
    return None if lifetime is None else CacheMark(lifetime, origin_of(message))


ExpandedTexts = Mapping[int, Text]
"""By the identity of a `ResolvedMessage`: its text after macro expansion, if it has macros."""


def origin_of(message: PresetMessage) -> Origin:
    """Return the origin of a preset message's text."""
    return Origin(OriginKind.PRESET, message.id, message.name)


_resolved: WeakValueDictionary[int, ResolvedMessage] = WeakValueDictionary()
"""By the identity of the preset message, which lives as long as its resolved message."""


def resolve_preset_message(message: PresetMessage) -> ResolvedMessage:
    """Resolve a message, to the same object each time: an edit keeps the turns of the others."""
    line = _resolved.get(id(message))
    if line is None or line.message is not message:
        line = _resolved[id(message)] = ResolvedMessage(message, origin_of(message))
    return line


def card_origin(role: Role, field: str) -> Origin:
    """Return the origin of a field of a role's character card."""
    return Origin(OriginKind.SYSTEM, f"{role.role_id}/{field}", role.name)


@Memo
def resolve_role_prompt(role: Role) -> ResolvedMessage:
    """Resolve the system prompt of a role."""
    message = PresetMessage(role.role_id, "system", role.system_prompt, name=role.name)
    return ResolvedMessage(message, Origin(OriginKind.SYSTEM, role.role_id, role.name))


def resolve_profile(anchor: PresetMessage, profile: Profile) -> ResolvedMessage:
    """Resolve the profile that an anchor stands for."""
    return _profile_message(profile, anchor.id, anchor.role, anchor.cache_control)


@Memo
def _profile_message(
    profile: Profile, anchor: str, role: MessageRole, cache: CacheLifetime | None
) -> ResolvedMessage:
    message = PresetMessage(anchor, role, profile.content, name=profile.name, cache_control=cache)
    return ResolvedMessage(message, Origin(OriginKind.PROFILE, profile.name, profile.name))


@Memo
def _plain_text(line: ResolvedMessage) -> Text:
    return Text.of(line.message.content, line.origin)


def text_of(line: ResolvedMessage, expanded: ExpandedTexts) -> Text:
    """Return the text of a message, its macros expanded."""
    text = expanded.get(id(line))
    return _plain_text(line) if text is None else text


@Memo
def turn_of(line: ResolvedMessage, text: Text, placement: Placement) -> Turn:
    """Return the turn of a message at its place."""
    if line.why:
        placement = replace(placement, rule=f"{line.why} {placement.rule}")
    mark = mark_of(line.message)
    return text_turn(line.message.role, text, line.origin, placement, mark)


def turns_of(
    lines: Iterable[tuple[ResolvedMessage, Placement]], expanded: ExpandedTexts
) -> tuple[Turn, ...]:
    """Return the turns of messages at their places; a message without text has none."""
    turns: list[Turn] = []
    for line, placement in lines:
        text = text_of(line, expanded)
        if text.plain and not line.message.is_anchor:
            turns.append(turn_of(line, text, placement))
    return tuple(turns)
