"""Dialogs of a lorebook: its entries and what would be active now, its settings, an entry."""

from __future__ import annotations

from asyncio import to_thread
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from rich.cells import set_cell_size
from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from tui_chat.errors import InputError
from tui_chat.models.lorebook import LorebookEntry
from tui_chat.models.sanitize import one_line
from tui_chat.plugins.sillytavern.lore.books import BookPlace, Lorebooks
from tui_chat.plugins.sillytavern.lore.edits import (
    LorebookFile,
    add_entry,
    change_book,
    merge_entry,
    remove_entry,
)
from tui_chat.plugins.sillytavern.lore.fields import (
    BOOK_FIELDS,
    book_values,
    entry_fields,
    entry_values,
    typed_book,
    typed_entry,
)
from tui_chat.plugins.sillytavern.lore.index import entry_name
from tui_chat.plugins.sillytavern.lore.outcomes import (
    MARKS,
    LoreOutcome,
    describe_conditions,
    describe_place,
    lore_outcomes,
    searched_words,
)
from tui_chat.ui.dialogs.base import Dialog, set_title
from tui_chat.ui.dialogs.forms import FieldsForm
from tui_chat.ui.notifications import show_error
from tui_chat.ui.widgets.safe_text import TextField
from tui_chat.ui.widgets.typed_app import app_of

if TYPE_CHECKING:
    from tui_chat.library.typed_fields import Values
    from tui_chat.workspace.workspace import Workspace


class EntriesDialog(Dialog[None]):
    """Lists the entries of a lorebook, with what would become of each in the next request."""

    DEFAULT_CSS = """
    EntriesDialog {
        & > Vertical { width: 116; height: 90%; }
        OptionList, OptionList:focus { height: 1fr; max-height: 100%; border: none; margin: 0; }
        #status { height: 3; margin-top: 1; color: $foreground; }
        Input { display: none; margin-bottom: 1; }
        &.-filter Input { display: block; }
        &.-short #status { height: 1; margin-top: 0; }
    }
    """
    AUTO_FOCUS = "OptionList"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("a", "add", show=False),
        Binding("d", "duplicate", show=False),
        Binding("space", "switch", show=False),
        Binding("delete,x", "delete", show=False),
        Binding("p", "settings", show=False),
        Binding("slash", "filter", show=False),
    ]

    def __init__(self, workspace: Workspace, place: BookPlace, *, is_adding: bool = False) -> None:
        """If `is_adding`, the form of a new entry is opened at once."""
        super().__init__()
        self._is_adding = is_adding
        self._workspace, self._books = workspace, Lorebooks(workspace)
        self._place = place
        self._file: LorebookFile | None = None
        self._outcomes: Mapping[str, LoreOutcome] = {}
        """By the ids of entries."""
        self._listed: list[LorebookEntry] = []

    def compose(self) -> ComposeResult:
        with Vertical():
            yield TextField(placeholder="Entries whose name, keys or content have these words")
            yield OptionList()
            yield Static(id="status")
            hint = "Enter edit · a add · d copy · Space on/off · x delete"
            yield Static(f"{hint} · p settings · / filter · Esc close", classes="hint")

    async def on_mount(self) -> None:
        await self.show_entries()
        if self._is_adding and self._file is not None:
            self.open_form(None)

    def on_resize(self) -> None:
        if self._file is not None:
            self._list()

    async def show_entries(self, entry_id: str = "") -> None:
        """Read the lorebook again; with the id of an entry, highlight it."""
        try:
            self._file = await self._books.read(self._place)
        except InputError as error:
            self._file = None
            self.query_one("#status", Static).update(Text(f"{error} {error.advice}".strip()))
        await self._explain()
        self._list(entry_id)

    async def _explain(self) -> None:
        """Search the lorebook for the next request, also if the session does not use it."""
        live, file = self._workspace.state.request.live, self._file
        if file is None or live is None or live.inputs is None:
            return
        inputs, book = live.inputs, file.book
        others = (other for other in inputs.lorebooks if other.name != book.name)
        inputs = replace(inputs, lorebooks=(*others, book))
        found = (await to_thread(lore_outcomes, inputs)).entries
        self._outcomes = {each.entry.id: each for each in found if each.book.name == book.name}

    def _list(self, entry_id: str = "") -> None:
        options, words = self.query_one(OptionList), self.query_one(Input).value.casefold()
        entry = self._entry
        entry_id = entry_id or (entry.id if entry is not None else "")
        highlighted_before = options.highlighted or 0
        entries = self._file.book.entries if self._file is not None else ()
        self._listed = [each for each in entries if words in searched_words(each)]
        options.clear_options()
        width = max(min(app_of(self).size.width * 92 // 100, 116) - 8, 20)
        options.add_options(Option(self._row(each, width)) for each in self._listed)
        if not self._listed:
            none = "No entry has these words." if words else "No entries yet: a adds one."
            options.add_option(Option(Text(none, style="dim"), disabled=True))
        numbers = [n for n, each in enumerate(self._listed) if each.id == entry_id]
        highlighted = numbers[0] if numbers else min(highlighted_before, len(self._listed) - 1)
        options.highlighted = highlighted if self._listed else None
        count = _counted(len(entries), "entry", "entries")
        name = self._file.book.name if self._file is not None else self._place.name
        title = f"Lorebook: {one_line(name, 40)} · {count}"
        set_title(self.query_one(Vertical), title)
        self._describe()

    def _row(self, entry: LorebookEntry, width: int) -> Text:
        outcome = self._outcomes.get(entry.id)
        mark = MARKS[outcome.state] if outcome is not None else " "
        name = max(width // 4, 12)
        place = max(width // 4, 12) if width >= 70 else 0
        keys = "always" if entry.constant else ", ".join(entry.keys) or "no keys"
        active = outcome is not None and outcome.tokens > 0
        tokens = f"{outcome.tokens:,} tokens" if active and outcome is not None else ""
        room = width - name - place - 16
        text = Text(f"{mark} ", no_wrap=True)
        text.append(_cell(entry_name(entry), name), style="bold")
        text.append(_cell(keys, room), style="dim" * (not active))
        text.append(_cell(describe_place(entry), place), style="dim")
        text.append(tokens.rjust(13), style="dim")
        return text

    @property
    def _entry(self) -> LorebookEntry | None:
        number = self.query_one(OptionList).highlighted
        return self._listed[number] if number is not None and number < len(self._listed) else None

    @on(OptionList.OptionHighlighted)
    def _describe(self) -> None:
        entry = self._entry
        if entry is None:
            if self._file is not None:  # else the status says what is wrong with it
                self.query_one("#status", Static).update("")
            return
        outcome = self._outcomes.get(entry.id)
        sentence = f"{outcome.sentence} " if outcome is not None else ""
        conditions = " · ".join(describe_conditions(entry))
        self.query_one("#status", Static).update(Text(one_line(f"{sentence}{conditions}", 600)))

    # --- edits ---------------------------------------------------------------------------

    @on(OptionList.OptionSelected)
    def action_open(self) -> None:
        if (entry := self._entry) is not None:
            self.open_form(entry)

    def open_form(self, entry: LorebookEntry | None) -> None:
        """Open the form of an entry; None for a new one."""
        if self._file is not None:
            form = entry_form(self._workspace, self._place, self._file, entry)
            app_of(self).push_screen(form, self._form_closed)

    async def _form_closed(self, is_changed: bool | None) -> None:
        if is_changed:
            before = {each.id for each in self._file.book.entries} if self._file else set[str]()
            await self.show_entries()
            entries = self._file.book.entries if self._file is not None else ()
            if new := [each.id for each in entries if each.id not in before]:
                self._list(new[-1])

    def action_add(self) -> None:
        self.open_form(None)

    async def action_duplicate(self) -> None:
        """Insert a copy of the highlighted entry behind it."""
        if (entry := self._entry) is not None:
            await self._edit(lambda file: add_entry(file, entry, file.number_of(entry)))

    async def action_switch(self) -> None:
        if (entry := self._entry) is not None:
            after = replace(entry, enabled=not entry.enabled)
            await self._edit(lambda file: merge_entry(file, entry, after))

    async def action_delete(self) -> None:
        if (entry := self._entry) is not None:
            await self._edit(lambda file: remove_entry(file, file.number_of(entry)))
            self.notify(f"Deleted {_quoted(entry)}.", markup=False)

    async def _edit(self, edit: Callable[[LorebookFile], LorebookFile]) -> None:
        try:
            await self._books.edit(self._place, edit)
        except InputError as error:
            show_error(self, error)
        await self.show_entries()

    def action_settings(self) -> None:
        file = self._file
        if file is None or self._place.role_id:
            self.notify("The settings of a card's lorebook can't be edited here.")
            return

        async def keep(values: Values, overwrite: bool) -> None:
            after = typed_book(values, file.book)
            names = [field.name for row in BOOK_FIELDS for field in row]
            changed = {
                name: getattr(after, name)
                for name in names
                if getattr(after, name) != getattr(file.book, name)
            }
            await self._books.edit(
                self._place,
                lambda file_now: change_book(file_now, replace(file_now.book, **changed)),
            )

        form = FieldsForm("Settings of the lorebook", BOOK_FIELDS, book_values(file.book), keep)
        app_of(self).push_screen(form, self._form_closed)

    # --- filter --------------------------------------------------------------------------

    def action_filter(self) -> None:
        self.add_class("-filter")
        self.query_one(Input).focus()

    @on(Input.Changed)
    def _typed(self) -> None:
        self._list()

    @on(Input.Submitted)
    def _filtered(self) -> None:
        self.query_one(OptionList).focus()

    def action_leave(self) -> None:
        """End the filter, else close."""
        if self.has_class("-filter"):
            self.query_one(Input).value = ""
            self.remove_class("-filter")
            self.query_one(OptionList).focus()
        else:
            super().action_leave()


def entry_form(
    workspace: Workspace, place: BookPlace, file: LorebookFile, entry: LorebookEntry | None
) -> FieldsForm:
    """Return the form of an entry of a lorebook; None for a new one."""
    before = entry or _new_entry(file)
    is_foreign = file.form is not None

    async def keep(values: Values, overwrite: bool) -> None:
        after = typed_entry(values, before, is_foreign=is_foreign)

        def edit(file_now: LorebookFile) -> LorebookFile:
            if entry is None:
                return add_entry(file_now, after)
            return merge_entry(file_now, entry, after, overwrite=overwrite)

        await Lorebooks(workspace).edit(place, edit)

    name = one_line(file.book.name, 40)
    title = f"Lore entry: {one_line(entry_name(entry), 40)}" if entry else "New lore entry"
    rows = entry_fields(is_foreign=is_foreign)
    return FieldsForm(f"{title} · {name}", rows, entry_values(before), keep)


def _new_entry(file: LorebookFile) -> LorebookEntry:
    position = "before_character" if file.form is not None else ""
    return LorebookEntry("", position=position)


def _quoted(entry: LorebookEntry) -> str:
    return f"“{one_line(entry_name(entry), 40) or 'entry'}”"


def _counted(count: int, one: str, many: str) -> str:
    return f"{count:,} {one if count == 1 else many}"


def _cell(text: str, width: int) -> str:
    """Return a text in a column of a width, with a space behind it."""
    cell = Text(one_line(text), no_wrap=True)
    cell.truncate(max(width - 1, 0), overflow="ellipsis")
    return set_cell_size(cell.plain, width)
