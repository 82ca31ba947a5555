"""Edits of a preset, and their undo history.

1. An edit is a function from a preset to a new preset. Unknown keys of the preset and of its
   messages are kept.
2. `EditHistory` is immutable too: each of its methods returns another history.
"""

from __future__ import annotations

import re
from dataclasses import field, replace
from typing import Any

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.preset import Preset, PresetMessage


def change_message(preset: Preset, index: int, **fields: Any) -> Preset:
    """Change fields of one message. Messages that target an anchor follow its new id."""
    before = preset.messages[index]
    after = replace(before, **fields)
    messages = list(preset.messages)
    messages[index] = after
    if before.is_anchor and after.is_anchor:
        # The history has two names: the fixed one, and its own id unless another anchor has it.
        taken = {m.anchor_id for m in preset.messages if m.is_anchor and m is not before}
        for old, new in ((before.anchor_id, after.anchor_id), (before.id, after.id)):
            if old != new and (old == before.anchor_id or old not in taken):
                messages = [
                    replace(message, anchor_target=new) if message.anchor_target == old else message
                    for message in messages
                ]
    return replace(preset, messages=tuple(messages))


def add_message(preset: Preset, message: PresetMessage, index: int | None = None) -> Preset:
    """Insert a message at list index `at` (None: at the end), with a unique id."""
    message = replace(message, id=free_id(preset, message.id))
    place = len(preset.messages) if index is None else index
    return replace(preset, messages=(*preset.messages[:place], message, *preset.messages[place:]))


def free_id(preset: Preset, name: str, but: PresetMessage | None = None) -> str:
    """Return the wanted id, with a number appended if it is that of a message other than `but`."""
    taken = {message.id for message in preset.messages if message is not but}
    name = name or "message"
    number, free = 2, name
    while free in taken:
        free = f"{name}-{number}"
        number += 1
    return free


def follows_name(message: PresetMessage, saved: Preset) -> bool:
    """True if a message's id is the one that it was given, not one that somebody chose or that is
    in a file: it then follows the name.
    """
    if message.name and any(each.id == message.id for each in saved.messages):
        return False
    base = re.sub(r"-\d+$", "", message.id)
    return not {message.id, base}.isdisjoint((id_from_name(message.name), message.type))


def id_from_name(name: str) -> str:
    """Return the id that a message with a name is given."""
    return "-".join(name.casefold().split())


def remove_message(preset: Preset, index: int) -> Preset:
    """Remove a message. Messages that target a removed anchor keep their target."""
    return replace(preset, messages=(*preset.messages[:index], *preset.messages[index + 1 :]))


def duplicate_message(preset: Preset, index: int) -> Preset:
    """Insert a copy, with a unique id, directly behind a message."""
    return add_message(preset, preset.messages[index], index + 1)


def move_message(preset: Preset, index: int, to: int) -> Preset:
    """Move a message to list index `to`."""
    rest = [*preset.messages[:index], *preset.messages[index + 1 :]]
    rest.insert(to, preset.messages[index])
    return replace(preset, messages=tuple(rest))


@dataclass(frozen=True, slots=True)
class EditStep:
    """A preset and the edit that was made to it."""

    preset: Preset
    label: str
    """The edit as shown to the user: `move “Author's note”`."""


@dataclass(frozen=True, slots=True)
class EditHistory:
    """A preset with the edits that can be undone and redone, without limit.

    Consecutive edits with the same non-empty `key` are one step, so that all typing in one field
    is undone at once.
    """

    preset: Preset
    saved: Preset
    """The preset in its file; for a new preset, its first state."""
    past: tuple[EditStep, ...] = ()
    future: tuple[EditStep, ...] = ()
    key: str = field(default="", repr=False)

    @classmethod
    def of(cls, preset: Preset) -> EditHistory:
        """Return the empty history of a saved preset."""
        return cls(preset, preset)

    @property
    def is_changed(self) -> bool:
        """True if the preset differs from its file."""
        return self.preset is not self.saved and self.preset != self.saved

    def changed_messages(self) -> frozenset[str]:
        """Return the ids of the messages that are new or different from the file."""
        if self.preset is self.saved:
            return frozenset()
        saved = {message.id: message for message in self.saved.messages}
        return frozenset(
            message.id
            for message in self.preset.messages
            if message is not saved.get(message.id) and message != saved.get(message.id)
        )

    def record(self, preset: Preset, label: str, key: str = "") -> EditHistory:
        """Add one edit. An edit that changes nothing is ignored."""
        if preset == self.preset:
            return self
        if key and key == self.key and self.past:
            if preset == self.past[-1].preset:  # typed and deleted again: no step
                return EditHistory(self.past[-1].preset, self.saved, self.past[:-1])
            return EditHistory(preset, self.saved, self.past, (), key)
        return EditHistory(preset, self.saved, (*self.past, EditStep(self.preset, label)), (), key)

    def undo(self) -> EditHistory:
        """Undo the last edit, if there is one."""
        if not self.past:
            return self
        *past, last = self.past
        return EditHistory(
            last.preset, self.saved, tuple(past), (EditStep(self.preset, last.label), *self.future)
        )

    def redo(self) -> EditHistory:
        """Redo the edit that was undone last, if there is one."""
        if not self.future:
            return self
        step, *future = self.future
        return EditHistory(
            step.preset, self.saved, (*self.past, EditStep(self.preset, step.label)), tuple(future)
        )

    def mark_saved(self) -> EditHistory:
        """Note that the preset was written to its file."""
        return EditHistory(self.preset, self.preset, self.past, self.future)

    def follow_file(self, preset: Preset) -> EditHistory:
        """Note that another program wrote `preset` to the file.

        An unchanged preset follows the file; an edited one stays.
        """
        if self.is_changed:
            return EditHistory(self.preset, preset, self.past, self.future)
        step = EditStep(self.preset, "reload the file")
        return EditHistory(preset, preset, (*self.past, step), ())
