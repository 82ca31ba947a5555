"""The list of lorebooks, in which the session's are chosen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui_chat.errors import InputError
from tui_chat.plugins.sillytavern.lore.books import Lorebooks
from tui_chat.ui.dialogs.base import TextPrompt
from tui_chat.ui.dialogs.library_lists import LibraryList
from tui_chat.ui.notifications import show_error
from tui_chat.ui.widgets.typed_app import app_of

if TYPE_CHECKING:
    from tui_chat.workspace.workspace import Workspace


class LorebooksDialog(LibraryList[str | None]):
    """Lists the lorebooks. The result is the one whose entries are to be shown."""

    kind = "lorebooks"
    word = "lorebook"
    hint = "Space search it or not · Enter entries"

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace)
        self._books = Lorebooks(workspace)
        self._names: tuple[str, ...] = ()

    def lines(self) -> list[tuple[str, str, str]]:
        """Return the lorebooks, those that are searched with their number."""
        self._names = tuple(self.workspace.library.names("lorebooks"))
        used = self.workspace.state.lorebook_names
        return [
            (str(used.index(name) + 1) if name in used else "·", name, self._facts(name))
            for name in self._names
        ]

    def _facts(self, name: str) -> str:
        try:
            count = len(self.workspace.library.lorebook(name).entries)
        except InputError as error:
            return self.fault(error)
        return f"{count:,} {'entry' if count == 1 else 'entries'}"

    @property
    def _chosen_name(self) -> str | None:
        return None if self.number is None else self._names[self.number]

    def open(self) -> None:
        """Answer with the highlighted lorebook."""
        self.dismiss(self._chosen_name)

    async def action_use(self) -> None:
        if (name := self._chosen_name) is not None:
            is_used = name in self.workspace.state.lorebook_names
            await self._books.use(name, is_used=not is_used)
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
        if (name := self._chosen_name) is not None:
            self.confirm_delete(name, self._books.delete)
