"""Presets that are being edited: what is composed is what is in the editor, saved or not.

1. A preset that was opened stays open under its name, with its edits: switching sessions or
   presets loses nothing. What nobody edited is read from its file each time it is taken.
2. Presets that came with the program are not written to: saving one makes the user's own of the
   same name, which hides it from then on.
3. A file that was changed outside is taken over where nothing was edited. Where something was,
   the edits stay and the change is told: whoever edits chooses.
4. A file with faults is told once; what is open stays, and it is read again when it changes.
   Whoever saves over it is asked first: somebody may be writing it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tui_chat.errors import InputError
from tui_chat.files import read_text
from tui_chat.library import dump_preset, file_name, load_preset, parse_preset
from tui_chat.library.editing import EditHistory
from tui_chat.models.preset import Preset, PresetMessage
from tui_chat.workspace.changes import PresetChanged, Trouble
from tui_chat.workspace.composing import Composing
from tui_chat.workspace.outside import Outside
from tui_chat.workspace.state import State

Stamp = tuple[str, int, int] | None
"""A file as it was: path, time of its last change, size. None where there is none."""

Look = Literal["same", "followed", "conflict"]


@dataclass(slots=True)
class _Open:
    """A preset that was opened."""

    edits: EditHistory
    stamp: Stamp


class Presets:
    """The presets that are open, and their files."""

    def __init__(self, state: State, outside: Outside, composing: Composing) -> None:
        self._state = state
        self._outside = outside
        self._shelf = outside.shelf
        self._composing = composing
        self._open: dict[str, _Open] = {}
        self._broken: Stamp = None
        """The file whose faults were told."""

    # --- reading -------------------------------------------------------------------------

    def take(self, name: str) -> Preset:
        """Return a preset as it is edited, else as it is in its file. Raises InputError."""
        known = self._open.get(name)
        if known is not None and known.edits.is_changed:
            return known.edits.preset
        stamp = self._stamp(name)
        if known is None or known.stamp != stamp:
            self._open.pop(name, None)
            try:
                preset = self._shelf.preset(name)
            except InputError:
                self._broken = stamp
                raise
            known = self._open[name] = _Open(EditHistory.of(preset), stamp)
        return known.edits.preset

    @property
    def edits(self) -> EditHistory | None:
        """The shown session's preset with its edits; None where its file has faults."""
        known = self._open.get(self._state.preset_name)
        return known.edits if known else None

    @property
    def unsaved(self) -> tuple[str, ...]:
        """Names of the presets with edits that are in no file."""
        return tuple(name for name, known in self._open.items() if known.edits.is_changed)

    def text(self) -> str:
        """Return the shown preset as JSON: as it is edited, or its file's text as it is."""
        edits = self.edits
        if edits is not None:
            return dump_preset(edits.preset)
        return read_text(self._shelf.preset_file(self._state.preset_name))

    # --- editing -------------------------------------------------------------------------

    def edit(self, name: str, edits: EditHistory) -> None:
        """Go on with these edits of a preset."""
        known = self._open.get(name)
        if known is None:
            return
        known.edits = edits
        if name == self._state.preset_name:
            self._show(edits.preset)

    def edit_text(self, text: str) -> None:
        """Take JSON text for the shown preset: one more edit. Raises InputError.

        Where the file had faults, and so nothing is open, the text is what is unsaved now.
        """
        name = self._state.preset_name
        preset = parse_preset(text, f"{name}.json", name)
        known = self._open.get(name)
        if known is None:
            known = self._open[name] = _Open(EditHistory.of(Preset(name)), self._stamp(name))
        self.edit(name, known.edits.record(preset, "edit as JSON"))

    def revert(self) -> None:
        """Go back to what the file has; undo brings the edits back."""
        edits = self.edits
        if edits is not None:
            self.edit(self._state.preset_name, edits.record(edits.saved, "back to the file"))

    # --- files ---------------------------------------------------------------------------

    def save(self, name: str = "") -> Path:
        """Save the shown preset, under its own name or another; return the file.

        With another name the session goes on with that one, and the first is as its file is.
        Raises InputError.
        """
        at = self._state.preset_name
        known = self._open.get(at)
        if known is None:
            raise InputError(
                f"The file of “{at}” has faults; it is not written over.", advice="Mend it first."
            )
        if name and name != at and file_name(name) in self._shelf.names("presets"):
            raise InputError(f"There is a preset “{name}” already.")
        path = self._shelf.save_preset(known.edits.preset, name or at, like=at)
        saved = self._open[path.stem] = _Open(known.edits.mark_saved(), self._stamp(path.stem))
        if path.stem != at:
            self._open.pop(at)
        self._state.preset_name = path.stem
        self._show(saved.edits.preset)
        return path

    def save_all(self) -> None:
        """Save every preset that has edits. Raises InputError at the first that cannot be, and at
        one whose file another program changed meanwhile: nobody was asked about that.
        """
        for name in self.unsaved:
            known = self._open[name]
            if self._is_changed_outside(name, known):
                raise InputError(
                    f"The file of “{name}” was changed by another program; it is not written over.",
                    advice="Save it in the preset editor, which asks first.",
                )
            self._shelf.save_preset(known.edits.preset, name, like=name)
            self._open[name] = _Open(known.edits.mark_saved(), self._stamp(name))
        self._outside.tell(PresetChanged())

    def new(self, name: str) -> str:
        """Write a preset that has the history and nothing else; return its name.

        Raises InputError where there is one of that name, or it cannot be written.
        """
        if file_name(name) in self._shelf.names("presets"):
            raise InputError(f"There is a preset “{name}” already.")
        history = PresetMessage("history", "user", type="chat_history")
        return self._shelf.save_preset(Preset(name, (history,)), name).stem

    def add(self, preset: Preset) -> str:
        """Write a preset that came from elsewhere, under a name that is free; return the name.

        Raises InputError where it cannot be written.
        """
        return self._shelf.add_preset(preset)

    def rename(self, to: str) -> str:
        """Give the shown preset's file another name; return it. Raises InputError."""
        at = self._state.preset_name
        name = self._shelf.rename_preset(at, to)
        if (known := self._open.pop(at, None)) is not None:
            self._open[name] = _Open(known.edits, self._stamp(name))
        self._state.preset_name = name
        self._outside.tell(PresetChanged())
        return name

    def delete(self, name: str) -> None:
        """Delete a preset's file and its edits. Raises InputError."""
        self._shelf.delete_preset(name)
        self._open.pop(name, None)

    def look(self) -> Look:
        """See whether the shown preset's file was changed outside, and follow it where nothing
        was edited.
        """
        name = self._state.preset_name
        stamp = self._stamp(name)
        known = self._open.get(name)
        if stamp is None or stamp == self._broken or (known is not None and known.stamp == stamp):
            return "same"
        try:
            preset = load_preset(Path(stamp[0]))
        except InputError as error:
            self._broken = stamp
            self._outside.tell(Trouble(error))
            return "same"
        self._broken = None
        if known is None:
            known = self._open[name] = _Open(EditHistory.of(preset), stamp)
        elif preset == known.edits.saved:
            known.stamp = stamp
            return "same"
        else:
            conflict = known.edits.is_changed and preset != known.edits.preset
            known.edits, known.stamp = known.edits.follow_file(preset), stamp
            if conflict:
                self._outside.tell(PresetChanged())
                return "conflict"
        self._show(known.edits.preset)
        return "followed"

    def loses(self) -> bool:
        """Tell whether a save now would write over what was changed outside just before, or over
        a changed file that has faults and so was not taken.
        """
        if self.look() == "conflict":
            return True
        name = self._state.preset_name
        known, stamp = self._open.get(name), self._stamp(name)
        return known is not None and stamp is not None and stamp == self._broken != known.stamp

    def _is_changed_outside(self, name: str, known: _Open) -> bool:
        """Tell whether a file says something else than what was last read or written of it."""
        stamp = self._stamp(name)
        if stamp is None or stamp == known.stamp:
            return False
        try:
            return load_preset(Path(stamp[0])) != known.edits.saved
        except InputError:
            return True

    def _show(self, preset: Preset) -> None:
        """Compose with it from now on."""
        self._state.preset = preset
        self._composing.forget()
        self._outside.tell(PresetChanged())

    def _stamp(self, name: str) -> Stamp:
        try:
            path = self._shelf.preset_file(name)
            found = path.stat()
        except (InputError, OSError):
            return None
        return str(path), found.st_mtime_ns, found.st_size
