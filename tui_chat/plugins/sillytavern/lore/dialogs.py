"""Dialogs of lorebooks: the list of them, the list of one's entries, and the form of an entry."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from textual import on
from textual.app import ComposeResult
from textual.widgets import Button

from tui_chat.errors import InputError
from tui_chat.models.lorebook import LorebookEntry
from tui_chat.models.sanitize import one_line
from tui_chat.plugins.sillytavern.lore.books import Lorebooks
from tui_chat.plugins.sillytavern.lore.edits import (
    LorebookFile,
    add_entry,
    merge_entry,
    remove_entry,
)
from tui_chat.plugins.sillytavern.lore.fields import entry_fields, entry_values, typed_entry
from tui_chat.plugins.sillytavern.lore.index import entry_name
from tui_chat.plugins.sillytavern.lore.outcomes import describe_place
from tui_chat.ui.dialogs.forms import FieldsForm
from tui_chat.ui.notifications import show_error
from tui_chat.ui.questions import EDITS, ask, ask_line, ask_with_keys, confirm

if TYPE_CHECKING:
    from tui_chat.library.typed_fields import Values
    from tui_chat.ui.app import TuiChat
    from tui_chat.workspace.workspace import Workspace

_NEW = "+"
_KEYS = {"enter": "search it or not", "ctrl+e": "entries", "delete": "delete"}


async def choose_lorebooks(app: TuiChat, workspace: Workspace) -> None:
    """Let the user choose the lorebooks of the session, and create, edit and delete them."""
    books, current = Lorebooks(workspace), ""
    while True:
        choices = _books(workspace)
        chosen = await ask_with_keys(app, "Lorebooks", choices, current, _KEYS, marks_current=False)
        if chosen is None:
            return
        current = chosen.id
        with workspace.reporting():
            if chosen.id == _NEW:
                if name := await ask_line(app, "Name of the new lorebook", enter="create"):
                    current = await books.create(name)
                    await edit_entries(app, workspace, current)
            elif chosen.key == "enter":
                is_used = chosen.id in workspace.state.lorebook_names
                await books.use(chosen.id, is_used=not is_used)
            elif chosen.key == "ctrl+e":
                await edit_entries(app, workspace, chosen.id)
            else:
                title = f"Delete the lorebook “{one_line(chosen.id, 40)}”?"
                if await confirm(app, title, "This deletes its file for good.", yes="Delete"):
                    await books.delete(chosen.id)


def _books(workspace: Workspace) -> list[tuple[str, str, str]]:
    """Return the lorebooks as choices; those that are searched are marked and numbered."""
    library, used = workspace.library, workspace.state.lorebook_names
    names = library.names("lorebooks")
    folder = workspace.state.config.config_dir / "lorebooks"

    def about(name: str) -> str:
        try:
            count = len(library.lorebook(name).entries)
        except InputError as error:
            return one_line(str(error).replace(f"{folder}/", ""))
        entries = f"{count:,} {'entry' if count == 1 else 'entries'}"
        return f"number {used.index(name) + 1} · {entries}" if name in used else entries

    new = (_NEW, "  New lorebook…", "" if names else f"or put JSON files into {folder}")
    marks = (("☑ " if name in used else "☐ ") + one_line(name, 30) for name in names)
    return [*zip(names, marks, map(about, names), strict=True), new]


async def edit_entries(app: TuiChat, workspace: Workspace, name: str) -> None:
    """List the entries of a lorebook, each with its form."""
    chosen: str | None = ""
    while True:
        try:
            file = Lorebooks(workspace).read(name)
        except InputError as error:
            show_error(app, error)
            return
        entries = {str(number): entry for number, entry in enumerate(file.book.entries)}
        lines = [(number, entry_name(entry), _facts(entry)) for number, entry in entries.items()]
        count = f"{len(lines):,} {'entry' if len(lines) == 1 else 'entries'}"
        title = f"Lorebook: {one_line(file.book.name, 40)} · {count}"
        chosen = await ask(app, title, [*lines, (_NEW, "New entry")], chosen, hint=EDITS)
        if chosen is None:
            return
        await app.push_screen_wait(entry_form(workspace, name, file, entries.get(chosen)))


def _facts(entry: LorebookEntry) -> str:
    keys = "always" if entry.constant else one_line(", ".join(entry.keys), 60) or "no keys"
    return f"{'' if entry.enabled else 'off · '}{keys} · {describe_place(entry)}"


class EntryForm(FieldsForm):
    """The form of an entry, which can be deleted there."""

    delete: Callable[[], None] | None = None
    """Deletes the entry; None for a new one."""

    def more_buttons(self) -> ComposeResult:
        if self.delete is not None:
            yield Button("Delete", id="delete", compact=True)

    @on(Button.Pressed, "#delete")
    def _delete(self) -> None:
        assert self.delete is not None  # else there is no button
        try:
            self.delete()
        except InputError as error:
            self.show_fault(str(error), "name")
        else:
            self.dismiss(True)


def entry_form(
    workspace: Workspace, book: str, file: LorebookFile, entry: LorebookEntry | None
) -> EntryForm:
    """Return the form of an entry of a lorebook; None for a new one."""
    is_foreign, books = file.is_world_info, Lorebooks(workspace)
    before = entry or LorebookEntry("", position="before_character" if is_foreign else "")

    async def keep(values: Values, overwrite: bool) -> None:
        after = typed_entry(values, before, is_foreign=is_foreign)

        def edit(file_now: LorebookFile) -> LorebookFile:
            if entry is None:
                return add_entry(file_now, after)
            return merge_entry(file_now, entry, after, overwrite=overwrite)

        books.edit(book, edit)

    title = f"Lore entry: {one_line(entry_name(entry), 40)}" if entry else "New lore entry"
    title = f"{title} · {one_line(file.book.name, 40)}"
    form = EntryForm(title, entry_fields(is_foreign=is_foreign), entry_values(before), keep)
    if entry is not None:
        form.delete = partial(books.edit, book, lambda file_now: remove_entry(file_now, entry))
    return form
