"""The list of lorebooks, in which the session's are chosen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui_chat.errors import InputError
from tui_chat.plugins.sillytavern.lore.books import BookPlace, Lorebooks
from tui_chat.ui.dialogs.base import TextPrompt
from tui_chat.ui.dialogs.library_lists import LibraryList
from tui_chat.ui.notifications import show_error
from tui_chat.ui.widgets.typed_app import app_of

if TYPE_CHECKING:
    from tui_chat.workspace.workspace import Workspace


class LorebooksDialog(LibraryList[BookPlace | None]):
    """Lists the lorebooks. The result is the one whose entries are to be shown."""

    kind = "lorebooks"
    word = "lorebook"
    hint = "Space search it or not · Enter entries"

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace)
        self._books = Lorebooks(workspace)
        self._places: tuple[BookPlace, ...] = ()

    def lines(self) -> list[tuple[str, str, str]]:
        """Return the lorebooks, those that are searched with their number."""
        self._places = self._books.places()
        used = self.workspace.state.lorebook_names
        lines: list[tuple[str, str, str]] = []
        for place in self._places:
            number = str(used.index(place.name) + 1) if place.name in used else "·"
            if place.role_id:
                lines.append(("●", place.name, f"in the card of {place.name}"))
            else:
                lines.append((number, place.name, self._facts(place)))
        return lines

    def _facts(self, place: BookPlace) -> str:
        try:
            count = len(self.workspace.library.lorebook(place.name).entries)
        except InputError as error:
            return self.fault(error)
        return f"{count:,} {'entry' if count == 1 else 'entries'}"

    @property
    def _place(self) -> BookPlace | None:
        return None if self.number is None else self._places[self.number]

    def open(self) -> None:
        """Answer with the highlighted lorebook."""
        self.dismiss(self._place)

    async def action_use(self) -> None:
        place = self._place
        if place is None:
            return
        if place.role_id:
            self.notify("The lorebook in the card of the session's role is always searched.")
            return
        is_used = place.name in self.workspace.state.lorebook_names
        await self._books.use(place.name, is_used=not is_used)
        self.show_lines()

    def action_create(self) -> None:
        async def create(name: str | None) -> None:
            if name is None:
                return
            try:
                self.dismiss(await self._books.create(name))
            except InputError as error:
                show_error(self, error)

        prompt = TextPrompt("Name of the new lorebook", "", enter="create")
        app_of(self).push_screen(prompt, create)

    def action_delete(self) -> None:
        place = self._place
        if place is not None and not place.role_id:
            self.confirm_delete(place.name, self._books.delete)
