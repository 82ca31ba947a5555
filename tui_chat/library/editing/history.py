"""What was edited, step by step, without limit."""

from __future__ import annotations

from dataclasses import dataclass, field

from tui_chat.models.preset import Preset


@dataclass(frozen=True, slots=True)
class Step:
    """A state and how it came about."""

    preset: Preset
    label: str
    """What was done, for a person: `move “Author's note”`."""


@dataclass(frozen=True, slots=True)
class Edits:
    """A preset with its past and its future. Each method returns another; this one stays.

    Steps in a row with the same non-empty `key` are one step: what is typed into one field is
    undone at once.
    """

    preset: Preset
    saved: Preset
    """As it is in the file; for a new preset, as it was made."""
    past: tuple[Step, ...] = ()
    future: tuple[Step, ...] = ()
    key: str = field(default="", repr=False)

    @classmethod
    def of(cls, preset: Preset) -> Edits:
        """Begin with a preset as it is in its file."""
        return cls(preset, preset)

    @property
    def is_changed(self) -> bool:
        """Whether it is not what the file has."""
        return self.preset is not self.saved and self.preset != self.saved

    def changed_messages(self) -> frozenset[str]:
        """Return the ids of the messages that the file has not, or has otherwise."""
        if self.preset is self.saved:
            return frozenset()
        saved = {message.id: message for message in self.saved.messages}
        return frozenset(
            message.id
            for message in self.preset.messages
            if message is not saved.get(message.id) and message != saved.get(message.id)
        )

    def did(self, preset: Preset, label: str, key: str = "") -> Edits:
        """Take one step. One that changes nothing is none."""
        if preset == self.preset:
            return self
        if key and key == self.key and self.past:
            if preset == self.past[-1].preset:  # typed and taken back: no step
                return Edits(self.past[-1].preset, self.saved, self.past[:-1])
            return Edits(preset, self.saved, self.past, (), key)
        return Edits(preset, self.saved, (*self.past, Step(self.preset, label)), (), key)

    def undo(self) -> Edits:
        """Go a step back; the same where there is none."""
        if not self.past:
            return self
        *past, last = self.past
        return Edits(
            last.preset, self.saved, tuple(past), (Step(self.preset, last.label), *self.future)
        )

    def redo(self) -> Edits:
        """Take again the step that was undone last; the same where there is none."""
        if not self.future:
            return self
        step, *future = self.future
        return Edits(
            step.preset, self.saved, (*self.past, Step(self.preset, step.label)), tuple(future)
        )

    def was_saved(self) -> Edits:
        """The file has it now as it is."""
        return Edits(self.preset, self.preset, self.past, self.future)

    def was_changed_outside(self, preset: Preset) -> Edits:
        """The file has something else now: an edited preset stays, an unchanged one follows."""
        if self.is_changed:
            return Edits(self.preset, preset, self.past, self.future)
        step = Step(self.preset, "reload the file")
        return Edits(preset, preset, (*self.past, step), ())
