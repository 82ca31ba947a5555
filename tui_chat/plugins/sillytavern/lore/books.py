"""The lorebooks that the user edits: files, and the one in a role's character card.

A file is the source of truth: an edit is made to its present text and written at once. What another
program wrote meanwhile stays.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from tui_chat.errors import InputError
from tui_chat.lazy_dataclass import dataclass
from tui_chat.library.foreign_files import card_files, first_lore_form
from tui_chat.models.lorebook import Lorebook
from tui_chat.models.text import Origin, OriginKind
from tui_chat.plugins.sillytavern.lore.edits import LorebookFile, new_lorebook, require_same_entries
from tui_chat.workspace.events import Done
from tui_chat.workspace.workspace import Workspace


@dataclass(frozen=True, slots=True)
class BookPlace:
    """The place where a lorebook is kept."""

    name: str
    """The name of its file, or of the role."""
    role_id: str = ""
    """The role whose card has it; empty for a file."""


class Lorebooks:
    """Reads and edits lorebooks."""

    def __init__(self, workspace: Workspace) -> None:
        self.core = workspace.core
        self._settings = workspace.settings
        self._roles = workspace.roles

    def places(self) -> tuple[BookPlace, ...]:
        """Return the files, and the card of the session's role if it has a lorebook."""
        files = map(BookPlace, self.core.library.names("lorebooks"))
        role = self.core.state.role
        if role is None or role.character is None or role.character.book is None:
            return tuple(files)
        return (*files, BookPlace(role.name, role.role_id))

    def find(self, origin: Origin) -> tuple[BookPlace, str] | None:
        """Return where the lorebook of a lore entry of the session is kept, and the entry's id."""
        if origin.kind is not OriginKind.LORE:
            return None
        for place in self.places():
            book = self._in_session(place)
            if book is not None and origin.id.startswith(f"{book.name}/"):
                entry = origin.id.removeprefix(f"{book.name}/")
                if any(lore_entry.id == entry for lore_entry in book.entries):
                    return place, entry
        return None

    def _in_session(self, place: BookPlace) -> Lorebook | None:
        """Return a lorebook as the session uses it."""
        state = self.core.state
        if place.role_id:
            return state.role.character.book if state.role and state.role.character else None
        try:
            used = place.name in state.lorebook_names
            return self.core.library.lorebook(place.name) if used else None
        except InputError:
            return None

    async def read(self, place: BookPlace) -> LorebookFile:
        """Return a lorebook. Raises InputError if it is gone or has faults."""
        return self._file(place, await self._kept(place))

    async def edit(
        self, place: BookPlace, edit: Callable[[LorebookFile], LorebookFile]
    ) -> LorebookFile:
        """Edit a lorebook as it is now, and keep it. Raises InputError, also those of `edit`."""
        before = await self._kept(place)
        edited = edit(self._file(place, before))
        after = _with_file(place, before, edited)
        if place.role_id:  # a card cannot express all that world info can
            require_same_entries(self._file(place, after), edited)
        if after != before:
            await self._keep(place, after)
        return edited

    async def create(self, name: str) -> BookPlace:
        """Create a lorebook without entries, and use it in the session. Raises InputError."""
        core = self.core
        name = core.library.save_text("lorebooks", new_lorebook(name), name, is_new=True)
        await self._settings.set_lorebooks((*core.state.lorebook_names, name))
        return BookPlace(name)

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

    # --- what is kept --------------------------------------------------------------------

    async def _kept(self, place: BookPlace) -> str:
        """Return the text of a file, or the JSON of a card. Raises InputError."""
        if not place.role_id:
            return self.core.library.text("lorebooks", place.name)
        role = await self.core.store.roles.get(place.role_id)
        if role is None or role.character is None:
            raise InputError(f"The role “{place.name}” is no longer there.")
        return json.dumps(dict(role.character.card))

    def _file(self, place: BookPlace, kept: str) -> LorebookFile:
        if not place.role_id:
            source = str(self.core.library.files("lorebooks").get(place.name, place.name))
            return LorebookFile.read(kept, source, place.name)
        text = card_files().book_text(json.loads(kept)) or new_lorebook(f"{place.name}'s lorebook")
        source = f"the card of {place.name}"
        return LorebookFile.read(text, source, place.name, first_lore_form())

    async def _keep(self, place: BookPlace, kept: str) -> None:
        if place.role_id:
            await self._roles.save_card(place.role_id, json.loads(kept))
            return
        self.core.library.save_text("lorebooks", kept, place.name)
        if place.name in self.core.state.lorebook_names:
            self._settings.reload_lorebooks()


def _with_file(place: BookPlace, kept: str, file: LorebookFile) -> str:
    """Return what is to be kept for an edited lorebook."""
    if not place.role_id:
        return file.text
    card: dict[str, Any] = json.loads(kept)
    return json.dumps(card_files().with_book_text(card, file.text))
