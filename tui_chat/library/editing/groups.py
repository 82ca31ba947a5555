"""Groups of preset messages that are switched together, as authors for SillyTavern name them.

A message whose name is a divider (`--- STYLE ---`, `━━ Style ━━`) is the heading of those after it
in the list, up to the next divider or the chat history. Anchors, what stands before one, and the
places of a character card are in no group: without them something else than the author's text would
be missing. A divider without a name ends a group.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.preset import Preset, PresetMessage

_RULE = r"[-–—―=_~*#+|\\:.•·◆◇■□●○★☆═─━│┃┄┅┈┉▬▰▱►▶◄◀➖➤✦✧⟡]"
_DIVIDER = re.compile(rf"{_RULE}\s*{_RULE}.*|{_RULE}\s.*\s{_RULE}", re.DOTALL)
_EDGES = re.compile(rf"^(?:{_RULE}|\s)+|(?:{_RULE}|\s)+$")


@dataclass(frozen=True, slots=True)
class MessageGroup:
    """A heading and the messages that it stands for."""

    title: str
    heading: int
    """List index of the heading."""
    members: tuple[int, ...]
    """List indices of the messages."""

    def enabled(self, preset: Preset) -> tuple[int, ...]:
        """Return the members that are enabled."""
        return tuple(index for index in self.members if preset.messages[index].enabled)


def heading_title(message: PresetMessage) -> str | None:
    """Return the title of a divider, empty if it has none; None for any other message."""
    name = message.name.strip()
    if message.is_anchor or not _DIVIDER.fullmatch(name):
        return None
    return _EDGES.sub("", name)


def groups_of(preset: Preset) -> Mapping[int, MessageGroup]:
    """Return the groups of a preset by the list index of their headings."""
    titles = [heading_title(message) for message in preset.messages]
    found: dict[int, MessageGroup] = {}
    heading: int | None = None
    members: list[int] = []

    def close() -> None:
        if heading is not None and members:
            found[heading] = MessageGroup(titles[heading] or "", heading, tuple(members))

    for index, message in enumerate(preset.messages):
        title = titles[index]
        if title is not None:
            close()
            heading, members = (index if title else None), []
        elif message.type == "chat_history":
            close()
            heading, members = None, []
        elif heading is not None and not (
            message.is_anchor or message.requires or message.anchor_point == "before"
        ):
            members.append(index)
    close()
    return found


def switch_group(preset: Preset, group: MessageGroup, before: frozenset[str]) -> Preset:
    """Return the preset with the group off if one of its messages is on, else with those on whose
    ids are in `before`; with all of them if none is.
    """
    turn_off = bool(group.enabled(preset))
    messages = list(preset.messages)
    ids = {messages[index].id for index in group.members}
    wanted = before & ids or ids
    for index in group.members:
        message = messages[index]
        enabled = not turn_off and message.id in wanted
        if message.enabled != enabled:
            messages[index] = replace(message, enabled=enabled)
    heading = messages[group.heading]
    if heading.content and heading.enabled == turn_off:
        messages[group.heading] = replace(heading, enabled=not turn_off)
    return replace(preset, messages=tuple(messages))
