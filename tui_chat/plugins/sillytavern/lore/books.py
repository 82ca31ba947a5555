"""The lorebooks that the user edits.

A file is the source of truth: an edit is made to its present text and written at once. What another
program wrote meanwhile stays.
"""

from __future__ import annotations

from collections.abc import Callable

from tui_chat.errors import InputError
from tui_chat.models.text import Origin, OriginKind
from tui_chat.plugins.sillytavern.lore.edits import LorebookFile, new_lorebook
from tui_chat.workspace.events import Done
from tui_chat.workspace.workspace import Workspace


class Lorebooks:
    """Reads and edits the files of lorebooks, by their names."""

    def __init__(self, workspace: Workspace) -> None:
        self.core = workspace.core
        self._settings = workspace.settings

    def find(self, origin: Origin) -> tuple[str, str] | None:
        """Return the file of a lore entry of the session, and the entry's id."""
        if origin.kind is not OriginKind.LORE:
            return None
        for name in self.core.state.lorebook_names:
            try:
                book = self.core.library.lorebook(name)
            except InputError:
                continue
            entry = origin.id.removeprefix(f"{book.name}/")
            if entry != origin.id and any(lore_entry.id == entry for lore_entry in book.entries):
                return name, entry
        return None

    def read(self, name: str) -> LorebookFile:
        """Return a lorebook. Raises InputError if it is gone or has faults."""
        source = str(self.core.library.files("lorebooks").get(name, name))
        return LorebookFile.read(self.core.library.text("lorebooks", name), source, name)

    def edit(self, name: str, edit: Callable[[LorebookFile], LorebookFile]) -> None:
        """Edit a lorebook as it is now, and keep it. Raises InputError, also those of `edit`."""
        before = self.read(name)
        edited = edit(before)
        if edited.text != before.text:
            self.core.library.save_text("lorebooks", edited.text, name)
            if name in self.core.state.lorebook_names:
                self._settings.reload_lorebooks()

    async def create(self, name: str) -> str:
        """Create a lorebook without entries, and use it in the session. Raises InputError."""
        core = self.core
        name = core.library.save_text("lorebooks", new_lorebook(name), name, is_new=True)
        await self._settings.set_lorebooks((*core.state.lorebook_names, name))
        return name

    async def use(self, name: str, *, is_used: bool) -> None:
        """Search a lorebook in the session, after the others, or no longer."""
        names = tuple(used for used in self.core.state.lorebook_names if used != name)
        await self._settings.set_lorebooks((*names, name) if is_used else names)

    async def delete(self, name: str) -> None:
        """Delete the file of a lorebook, which nothing brings back. Raises InputError."""
        core = self.core
        core.library.delete("lorebooks", name)
        if name in core.state.lorebook_names:
            await self.use(name, is_used=False)
        core.publish(Done(f"Deleted the lorebook “{name}”."))
