"""Lists of the user's files of a kind, with keys to use, create, edit and delete them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from os import sep
from typing import TYPE_CHECKING, ClassVar

from rich.cells import set_cell_size
from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from tui_chat.errors import InputError
from tui_chat.models.role import Profile
from tui_chat.models.sanitize import one_line
from tui_chat.ui.dialogs.base import Confirm, Dialog, DialogBox, T
from tui_chat.ui.dialogs.forms import FieldsForm
from tui_chat.ui.notifications import show_error
from tui_chat.ui.widgets.typed_app import app_of

if TYPE_CHECKING:
    from pathlib import Path

    from tui_chat.library.library import Kind
    from tui_chat.library.typed_fields import Values
    from tui_chat.workspace.workspace import Workspace

_NEW = "+"


class LibraryList(Dialog[T]):
    """Lists the user's files of a kind, and last a line for a new one."""

    DEFAULT_CSS = """
    LibraryList {
        & > Vertical { width: 92; }
        OptionList, OptionList:focus { border: none; margin-top: 0; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "use", show=False),
        Binding("n", "create", show=False),
        Binding("delete,x", "delete", show=False),
    ]
    kind: ClassVar[Kind]
    word: ClassVar[str]
    """The word for one of them."""
    hint: ClassVar[str]
    """The keys, in the last line."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__()
        self.workspace = workspace

    def compose(self) -> ComposeResult:
        with DialogBox() as box:
            box.border_title = self.kind.capitalize()
            yield OptionList()
            keys = f"{self.hint} · n new · x delete · Esc close"
            yield Static(keys, classes="hint", markup=False)

    def on_mount(self) -> None:
        self.show_lines()

    def lines(self) -> list[tuple[str, str, str]]:
        """Return the mark, name and facts of each line."""
        raise NotImplementedError

    def show_lines(self, number: int | None = None) -> None:
        """Read the files again; `at` is the line to highlight."""
        options = self.query_one(OptionList)
        number = number if number is not None else options.highlighted or 0
        lines = self.lines()
        options.clear_options()
        for mark, name, facts in lines:
            options.add_option(Option(_line(f"{mark:>2} ", name, facts)))
        is_empty = not self.workspace.library.names(self.kind)
        where = f"or put JSON files into {self._folder}" if is_empty else ""
        options.add_option(Option(_line(" + ", f"New {self.word}", where), id=_NEW))
        options.highlighted = min(number, len(lines))

    @property
    def _folder(self) -> Path:
        return self.workspace.state.config.config_dir / self.kind

    def fault(self, error: InputError) -> str:
        """Return what is wrong with a file, without the folder's path, which takes the room."""
        return one_line(str(error).replace(f"{self._folder}{sep}", ""))

    @property
    def number(self) -> int | None:
        """The number of the highlighted line; None for that of a new one."""
        options = self.query_one(OptionList)
        number = options.highlighted
        return None if number is None or number == options.option_count - 1 else number

    @on(OptionList.OptionSelected)
    def _chosen(self, event: OptionList.OptionSelected) -> None:
        if event.option.id == _NEW:
            self.action_create()
        else:
            self.open()

    def open(self) -> None:
        """Show or edit the highlighted one."""
        raise NotImplementedError

    def action_create(self) -> None:
        raise NotImplementedError

    def confirm_delete(self, name: str, delete: Callable[[str], Awaitable[None]]) -> None:
        """Ask whether to delete a file, and do so."""

        async def answered(is_sure: bool | None) -> None:
            if not is_sure:
                return
            try:
                await delete(name)
            except InputError as error:
                show_error(self, error)
            self.show_lines()

        question = "This deletes its file for good."
        title = f"Delete the {self.word} “{one_line(name, 40)}”?"
        app_of(self).push_screen(Confirm(title, question, yes="Delete"), answered)


class ProfilesDialog(LibraryList[None]):
    """Lists the profiles, and none; one of them is used in the session."""

    kind = "profiles"
    word = "profile"
    hint = "Enter use · Space use or not · e edit"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("e", "edit", show=False)]

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace)
        self._names: tuple[str, ...] = ()
        """The names of the files; last, empty for none."""

    def on_mount(self) -> None:
        """Show the profiles, the one in use highlighted."""
        self._show_used()

    def _show_used(self) -> None:
        self.show_lines()
        self.show_lines(self._names.index(self.workspace.state.profile_name))

    def lines(self) -> list[tuple[str, str, str]]:
        names, used = self.workspace.library.names("profiles"), self.workspace.state.profile_name
        gone = () if used in names else (used,) * bool(used)
        self._names = (*names, *gone, "")
        facts = map(self._facts, self._names)
        marks = ("●" if name == used else "·" for name in self._names)
        return list(zip(marks, (name or "No profile" for name in self._names), facts, strict=True))

    def _facts(self, name: str) -> str:
        if not name:
            return "The model learns nothing about you"
        try:
            profile = self.workspace.library.profile(name)
        except InputError as error:
            return self.fault(error)
        called = "" if profile.name.casefold() == name.casefold() else f"{profile.name}: "
        return one_line(f"{called}{profile.content or 'empty'}", 200)

    @property
    def _chosen_name(self) -> str | None:
        """The highlighted profile; empty for none, None for the line of a new one."""
        return None if self.number is None else self._names[self.number]

    async def action_use(self) -> None:
        """Use the highlighted profile from the next message on, or none if it is used."""
        if (name := self._chosen_name) is not None:
            is_used = name == self.workspace.state.profile_name
            await self.workspace.settings.set_profile("" if is_used else name)
            self.show_lines()

    def open(self) -> None:
        """Use the highlighted profile, and close the list."""
        self.call_later(self._use_and_close)

    async def _use_and_close(self) -> None:
        name = self._chosen_name or ""
        await self.workspace.settings.set_profile(name)
        if self.workspace.state.profile_name == name:  # else it has a fault, which is reported
            self.dismiss(None)

    def action_edit(self) -> None:
        if self._chosen_name:
            self._open_form(self._chosen_name)

    def action_create(self) -> None:
        self._open_form("")

    def _open_form(self, name: str) -> None:
        """Open the form of a profile; empty for a new one."""
        from tui_chat.library.roles_and_profiles import (
            PROFILE_FIELDS,
            profile_values,
            typed_profile,
        )

        try:
            before = self.workspace.library.profile(name) if name else Profile("", "")
        except InputError as error:
            show_error(self, error)
            return

        async def keep(values: Values, overwrite: bool) -> None:
            await self.workspace.settings.save_profile(
                typed_profile(values, before),
                name,
                before=before if name else None,
                overwrite=overwrite,
            )

        def closed(is_changed: bool | None) -> None:
            if is_changed and not name:
                self._show_used()
            else:
                self.show_lines()

        title = f"Profile: {one_line(name, 40)}" if name else "New profile"
        form = FieldsForm(title, PROFILE_FIELDS, profile_values(before), keep)
        app_of(self).push_screen(form, closed)

    def action_delete(self) -> None:
        if name := self._chosen_name:
            self.confirm_delete(name, self.workspace.settings.delete_profile)


def _line(mark: str, name: str, facts: str) -> Text:
    line = Text(mark + set_cell_size(one_line(name, 30), 32), no_wrap=True)
    line.append(one_line(facts), style="dim")
    return line
