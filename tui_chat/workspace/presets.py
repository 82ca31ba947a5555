"""Presets that are being edited: the request is composed from the edits, saved or not.

1. A preset that was opened stays open under its name with its edits: switching sessions or presets
   loses nothing. A preset without edits is read from its file whenever it changed.
2. Bundled presets are never written: saving one makes the user's own of the same name, which hides
   the bundled one from then on.
3. A file that another program changed is reloaded if there are no edits. If there are, the edits
   stay and the conflict is reported: the user chooses.
4. A file with faults is reported once. What is open stays open, and the file is read again when it
   changes. Saving over it asks first: somebody may be writing it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from tui_chat.errors import InputError
from tui_chat.files import read_text
from tui_chat.library.editing.edits import EditHistory
from tui_chat.library.library import FileStamp, file_name
from tui_chat.library.presets import dump_preset, load_preset, parse_preset
from tui_chat.models.preset import Preset, PresetMessage
from tui_chat.workspace.core import WorkspaceCore, reported
from tui_chat.workspace.events import Failed, PresetChanged, PresetRenamed, PresetSaved
from tui_chat.workspace.state import DEFAULT_PRESET, OpenPreset


class Presets:
    """The presets that are open, and their files."""

    def __init__(self, core: WorkspaceCore) -> None:
        self.core = core
        self._broken: FileStamp = None
        """The file whose faults were reported."""

    # --- reading and choosing --------------------------------------------------------------

    def read(self, name: str) -> Preset:
        """Return a preset with its edits, else as it is in its file. Raises InputError."""
        opened = self._opened(name)
        if opened is not None and opened.edits.is_changed:
            return opened.edits.preset
        stamp = self._stamp(name)
        if opened is None or opened.stamp != stamp:
            self._close(name)
            try:
                preset = self.core.library.preset(name)
            except InputError:
                self._broken = stamp
                raise
            opened = OpenPreset(EditHistory.of(preset), stamp)
            self._open(name, opened)
        return opened.edits.preset

    def text(self) -> str:
        """Return the active preset as JSON: as edited, else its file's text. Raises InputError."""
        state = self.core.state
        if state.preset_edits is not None:
            return dump_preset(state.preset_edits.preset)
        return read_text(self.core.library.preset_file(state.preset_name))

    @reported(None)
    async def choose(self, name: str) -> None:
        """Use a preset in the active session."""
        await self._use(name)

    async def _use(self, name: str) -> None:
        self.core.update(preset=self.read(name), preset_name=name)
        await self.core.change_session(preset=name)

    # --- editing -------------------------------------------------------------------------

    def edit(self, name: str, edits: EditHistory) -> None:
        """Replace the edits of an open preset."""
        opened = self._opened(name)
        if opened is None:
            return
        self._open(name, OpenPreset(edits, opened.stamp))
        if name == self.core.state.preset_name:
            self._show(edits.preset)

    def edit_text(self, text: str) -> None:
        """Replace the active preset by JSON text, as one edit. Raises InputError.

        If the file had faults, so that nothing is open, the text becomes the unsaved edit.
        """
        name = self.core.state.preset_name
        preset = parse_preset(text, f"{name}.json", name)
        opened = self._opened(name)
        if opened is None:
            opened = OpenPreset(EditHistory.of(Preset(name)), self._stamp(name))
            self._open(name, opened)
        self.edit(name, opened.edits.record(preset, "edit as JSON"))

    def revert(self) -> None:
        """Go back to the saved preset, as one edit that can be undone."""
        edits = self.core.state.preset_edits
        if edits is not None:
            name = self.core.state.preset_name
            self.edit(name, edits.record(edits.saved, "back to the file"))

    # --- files ---------------------------------------------------------------------------

    @reported(None)
    async def save(self, name: str = "") -> Path | None:
        """Save the active preset, or a copy under another name that the session then uses.

        Return the file; None if it could not be written, which is reported.
        """
        core = self.core
        current = core.state.preset_name
        opened = self._opened(current)
        if opened is None:
            raise InputError(
                f"The file of “{current}” has faults; it was not overwritten.",
                advice="Fix it first.",
            )
        if name and name != current and file_name(name) in core.library.names("presets"):
            raise InputError(f"A preset “{name}” already exists.")
        path = self._save(opened, name or current, current)
        if path.stem != current:
            self._close(current)
            core.update(preset_name=path.stem)
        self._show(opened.edits.preset)
        if path.stem != current:
            await self._use(path.stem)
        return path

    def _save(self, opened: OpenPreset, name: str, like: str) -> Path:
        """Write an open preset to the file of a name. Raises InputError."""
        path = self.core.library.save_preset(opened.edits.preset, name, like=like)
        before = opened if path.stem == like else None
        self.core.publish(PresetSaved(path.stem, opened.edits.preset, before))
        self._open(path.stem, OpenPreset(opened.edits.mark_saved(), self._stamp(path.stem)))
        return path

    def save_all(self) -> bool:
        """Save every preset with edits. Return False if one could not be saved, which is reported;
        among these is one whose file another program changed, since nobody was asked about that.
        """
        with self.core.reporting():
            for name in self.core.state.unsaved_presets:
                opened = self.core.state.open_presets[name]
                if self._is_changed_externally(name, opened):
                    raise InputError(
                        f"The file of “{name}” was changed by another program; it is not written "
                        "over.",
                        advice="Save it in the preset editor, which asks first.",
                    )
                self._save(opened, name, name)
            self.core.publish(PresetChanged())
            return True
        return False

    @reported(None)
    async def create(self, name: str) -> None:
        """Create a preset that contains the history and nothing else, and use it. Its system
        messages stay where they are put, so that a reminder is where it looks to be.
        """
        library = self.core.library
        if file_name(name) in library.names("presets"):
            raise InputError(f"A preset “{name}” already exists.")
        history = PresetMessage("history", "user", type="chat_history")
        preset = Preset(name, (history,), system_placement="in_place")
        await self._use(library.save_preset(preset, name).stem)

    @reported(None)
    async def add(self, preset: Preset) -> None:
        """Save an imported preset under a free name, and use it."""
        await self._use(self.core.library.add_preset(preset))

    @reported(None)
    async def rename(self, to: str) -> None:
        """Rename the active preset and its file."""
        core = self.core
        current = core.state.preset_name
        name = core.library.rename_preset(current, to)
        if (opened := self._opened(current)) is not None:
            self._close(current)
            self._open(name, OpenPreset(opened.edits, self._stamp(name)))
        core.update(PresetRenamed(name, current), PresetChanged(), preset_name=name)
        await self._use(name)

    @reported(None)
    async def delete(self) -> None:
        """Delete the active preset's file and edits. The session goes on with the bundled preset
        that the file was hiding, else with the default preset.
        """
        core = self.core
        name = core.state.preset_name
        core.library.delete_preset(name)
        self._close(name)
        remains = name in core.library.names("presets")
        await self._use(name if remains else DEFAULT_PRESET)

    def check_file(self) -> Literal["same", "reloaded", "conflict"]:
        """Reload the preset if its file changed elsewhere; return `conflict` if it is edited."""
        core = self.core
        name = core.state.preset_name
        stamp, opened = self._stamp(name), self._opened(name)
        if stamp is None or stamp == self._broken or (opened is not None and opened.stamp == stamp):
            return "same"
        try:
            preset = load_preset(Path(stamp[0]))
        except InputError as error:
            self._broken = stamp
            core.publish(Failed(error))
            return "same"
        self._broken = None
        if opened is None or preset != opened.edits.saved:
            core.publish(PresetSaved(name, preset, opened))
        if opened is None:
            opened = OpenPreset(EditHistory.of(preset), stamp)
        elif preset == opened.edits.saved:
            self._open(name, OpenPreset(opened.edits, stamp))
            return "same"
        else:
            conflict = opened.edits.is_changed and preset != opened.edits.preset
            opened = OpenPreset(opened.edits.follow_file(preset), stamp)
            if conflict:
                self._open(name, opened)
                core.publish(PresetChanged())
                return "conflict"
        self._open(name, opened)
        self._show(opened.edits.preset)
        return "reloaded"

    def would_overwrite(self) -> bool:
        """Return True if saving now would overwrite what another program just wrote, or a changed
        file that was not reloaded because it has faults.
        """
        if self.check_file() == "conflict":
            return True
        name = self.core.state.preset_name
        opened, stamp = self._opened(name), self._stamp(name)
        return opened is not None and stamp is not None and stamp == self._broken != opened.stamp

    def _is_changed_externally(self, name: str, opened: OpenPreset) -> bool:
        """Return True if a preset's file differs from what was last read or written."""
        stamp = self._stamp(name)
        if stamp is None or stamp == opened.stamp:
            return False
        try:
            return load_preset(Path(stamp[0])) != opened.edits.saved
        except InputError:
            return True

    def _show(self, preset: Preset) -> None:
        self.core.update(PresetChanged(), preset=preset)

    def _opened(self, name: str) -> OpenPreset | None:
        return self.core.state.open_presets.get(name)

    def _open(self, name: str, opened: OpenPreset) -> None:
        self.core.update(open_presets={**self.core.state.open_presets, name: opened})

    def _close(self, name: str) -> None:
        opened = self.core.state.open_presets
        self.core.update(open_presets={n: preset for n, preset in opened.items() if n != name})

    def _stamp(self, name: str) -> FileStamp:
        return self.core.library.stamp("presets", name)
