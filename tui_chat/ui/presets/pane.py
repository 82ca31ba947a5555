"""The preset editor: a title over the list, or over a form in its place; and the edits."""

from __future__ import annotations

from typing import ClassVar, Self

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import Input, Static

from tui_chat.compose import Composed
from tui_chat.lazy_dataclass import dataclass
from tui_chat.library.editing.edits import EditHistory, change_message
from tui_chat.library.editing.outline import outline_preset
from tui_chat.library.editing.places import display_name, place_sentence
from tui_chat.library.editing.slots import RECIPES, add_from_recipe, first_changed
from tui_chat.models.preset import Preset, PresetMessage
from tui_chat.models.sanitize import one_line
from tui_chat.models.text import Origin, OriginKind
from tui_chat.ui.presets.edits import (
    after_delete,
    edit_for,
    quoted,
)
from tui_chat.ui.presets.facts import NO_FACTS, facts_of
from tui_chat.ui.presets.form import FieldsChanged, MessageForm
from tui_chat.ui.presets.rows import PresetList
from tui_chat.ui.verbs import UNDO_KEYS
from tui_chat.ui.widgets.content_list import LABEL
from tui_chat.ui.widgets.safe_text import TextField
from tui_chat.ui.widgets.typed_app import app_of

UNREADABLE = "This preset cannot be read. Ctrl+G opens its file."
_EMPTY = "Nothing in this preset yet.\na adds a message."


class PresetTitle(Static):
    """Name of the preset, the message in the form, and whether it is saved."""

    DEFAULT_CSS = """
    PresetTitle {
        height: 1;
        padding: 0 1;
        color: $label;
        text-wrap: nowrap;
        text-overflow: ellipsis;
    }
    """

    def show(self, name: str, edits: EditHistory | None, within: str, *, ours: bool) -> None:
        """Show a preset and what of it is in a form; `ours` is True for one of the program."""
        state = " · not saved" if edits is not None and edits.is_changed else ""
        if not state and ours and not within:
            state = " · built-in, saving makes a copy"
        self.update(
            Content.assemble(
                "Preset ",
                one_line(name, 60),
                (f" › {one_line(within, 60)}" if within else "", LABEL),
                (state, LABEL),
            )
        )


class PresetFilter(TextField):
    """Filters the messages; Esc clears it and returns to the list."""

    DEFAULT_CSS = """
    PresetFilter {
        display: none;
        height: 1;
        border: none;
        padding: 0 1;
        background: $panel;
        &:focus { border: none; background: $panel; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "preset_editor.close_filter(True)", show=False),
        Binding("down,enter", "preset_editor.close_filter(False)", show=False),
    ]


class PresetPane(Vertical):
    """Shows a preset and the facts of its last request, and makes the edits that keys, mouse and
    forms ask for. What needs the workspace are actions of `PresetsArea`.
    """

    DEFAULT_CSS = """
    PresetPane {
        #preset-status { height: 2; padding: 0 1; color: $origin-preset; }
        &.-filter PresetFilter { display: block; }
        &.-form PresetFilter { display: none; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s", "presets.save", "Save", tooltip="Save the preset"),
        Binding(UNDO_KEYS, "undo", "Undo", show=False),
        Binding("ctrl+y", "redo", "Redo", show=False),
    ]

    @dataclass
    class Edited(Message):
        """The user edited the preset."""

        name: str
        edits: EditHistory

    @dataclass
    class OriginHighlighted(Message):
        """The cursor moved to a row; its text is to be highlighted in other panes."""

        origin: Origin

    def __init__(self) -> None:
        super().__init__()
        self.edits: EditHistory | None = None
        """The preset with its edits; None if it cannot be read."""
        self.shown_name = ""
        self._ours: bool = False
        self.title = PresetTitle()
        self._status = Static(id="preset-status")
        self.filter = PresetFilter(placeholder="show what contains …", select_on_focus=False)
        self.rows = PresetList()
        self.form = MessageForm()
        self._composed: Composed | None = None
        self._facts = NO_FACTS

    def compose(self) -> ComposeResult:
        yield self.title
        yield self.filter
        yield self.rows
        yield self.form
        yield self._status

    def focus(self, scroll_visible: bool = True) -> Self:
        """Focus the list, or the form if it is open."""
        if self.has_class("-form"):
            self.form.content.focus(scroll_visible)
        else:
            self.rows.focus(scroll_visible)
        return self

    @property
    def index(self) -> int:
        """List index of the message under the cursor; -1 for none."""
        return self.rows.row.index if self.rows.row is not None else -1

    @property
    def message(self) -> PresetMessage | None:
        """The message under the cursor; None, after saying so, without one."""
        if self.edits is None or self.index < 0:
            self.notify("There is no message under the cursor.")
            return None
        return self.edits.preset.messages[self.index]

    # --- showing -------------------------------------------------------------------------

    def show(self, name: str, edits: EditHistory | None, *, ours: bool = False) -> None:
        """Show a preset with its edits; None for one that cannot be read."""
        is_other = name != self.shown_name
        if edits is self.edits and not is_other and ours == self._ours:
            return
        before = self.edits.preset if self.edits and not is_other else None
        self.shown_name, self._ours, self.edits = name, ours, edits
        if is_other or edits is None:
            self.action_close_form()
        if edits is None:
            self.rows.show(None, frozenset(), None, UNREADABLE.replace(". ", ".\n"))
        else:
            index = 0 if is_other else self.index
            if is_other:
                self._facts = self.rows.facts = NO_FACTS  # those at hand are another preset's
            elif before is not None and before is not edits.preset:
                index = first_changed(before, edits.preset, index)
            self._draw(edits, index)
        self._show_title()

    def show_request(self, composed: Composed) -> None:
        """Take the facts of a request. While the editor is hidden this costs nothing."""
        self._composed = composed
        if self.is_on_screen:
            self._take_facts()

    def on_show(self) -> None:
        """Catch up with the requests composed while the editor was hidden."""
        self._take_facts()

    def _take_facts(self) -> None:
        if self._composed is None:
            return
        before, self._facts = self._facts, facts_of(self._composed)
        seen, now = ((f.notes, len(f.chat.history)) for f in (before, self._facts))
        self.rows.show_facts(self._facts)
        if self.edits is not None and seen != now:
            self._draw(self.edits, self.index)
        self._describe()
        if self.rows.has_focus or self.form.has_focus_within:
            self.rows.cursor_moved()  # another request: the inspector highlights the row in it too

    def _draw(self, edits: EditHistory, index: int) -> None:
        length = len(self._facts.chat.history)
        outline = outline_preset(edits.preset, self._facts.notes, length)
        self.rows.show(outline, edits.changed_messages(), index, _EMPTY)
        if self.has_class("-form") and not edits.preset.messages:
            self.action_close_form()
        self._fill_form()

    def _show_title(self) -> None:
        message = self.form.shown if self.has_class("-form") else None
        within = display_name(message) if message is not None else ""
        self.title.show(self.shown_name, self.edits, within, ours=self._ours)

    @on(PresetList.OutlineRowHighlighted)
    def _row_highlighted(self, event: PresetList.OutlineRowHighlighted) -> None:
        event.stop()
        message = event.row.message if event.row is not None else None
        if self.has_class("-form") and message is not self.form.shown:
            self._fill_form()
        self._describe()
        if message is not None and (self.rows.has_focus or self.form.has_focus_within):
            origin = Origin(OriginKind.PRESET, message.id, message.name)
            self.post_message(self.OriginHighlighted(origin))

    def _describe(self) -> None:
        """Say where the message under the cursor goes, and what is wrong with it."""
        outline, row = self.rows.outline, self.rows.row.row if self.rows.row is not None else None
        if outline is None or row is None or row.message is None:
            self._status.update("")
            return
        place = place_sentence(outline, row, self._facts.chat)
        self.form.show_place(place)
        notes = [note.sentence for note in row.notes if note.code != "depth-clamped"]
        self._status.update(Content(one_line(" ".join((place, *notes)))))

    def reveal(self, origin: Origin) -> bool:
        """Highlight the row that an origin names or lies in; return False if there is none."""
        written = origin.preset_message
        if written is None or self.edits is None:
            return False
        for index, message in enumerate(self.edits.preset.messages):
            if message.id == written.id:
                self.rows.light(index)
                self._describe()
                return True
        return False

    # --- the forms -----------------------------------------------------------------------

    def action_open(self) -> None:
        """Open the form of the message under the cursor."""
        if (message := self.message) is not None:
            self._show_form(is_open=True)
            self._fill_form()
            (self.form.name_field if message.is_anchor else self.form.content).focus()

    def action_settings(self) -> None:
        """Open the form of the preset itself."""
        from tui_chat.ui.presets.settings import preset_form

        edits = self.edits
        if edits is None:
            self.notify(UNREADABLE)
            return

        def keep(preset: Preset) -> None:
            self._take(edits.record(preset, "change the preset's settings"), self.index)

        app_of(self).push_screen(preset_form(edits.preset, keep))

    def _show_form(self, *, is_open: bool) -> None:
        """Show the form, or the list, at once, so that it can take the focus."""
        self.set_class(is_open, "-form")
        self.form.display = is_open
        self.rows.display = self._status.display = not is_open

    def _fill_form(self) -> None:
        if self.edits is not None and self.has_class("-form") and self.index >= 0:
            self.form.show(self.edits.preset, self.index, self.edits.saved)
        self._show_title()
        self._describe()

    def action_close_form(self) -> None:
        """Close the form, and return to the list from it."""
        had_focus = self.form.has_focus_within
        self.form.shown = None
        self.rows.display = True
        if had_focus:
            self.screen.set_focus(self.rows)  # before the focused field is hidden
        self._show_form(is_open=False)
        self._show_title()

    def action_step(self, step: int) -> None:
        """Go to the next message, or the one above, and stay in the form."""
        self.rows.action_move(step)

    # --- the filter ----------------------------------------------------------------------

    def action_filter(self) -> None:
        self.add_class("-filter")
        self.filter.focus()

    @on(Input.Changed, "PresetFilter")
    def _filter_changed(self, event: Input.Changed) -> None:
        event.stop()
        self.rows.filter(event.value)

    def action_close_filter(self, clears: bool) -> None:
        """Return to the list, with or without the filter."""
        if clears:
            self.filter.value = ""
        self.set_class(bool(self.filter.value), "-filter")
        self.rows.focus()

    async def action_back(self) -> None:
        """Clear the filter, else return to the composer."""
        if self.filter.value:
            self.action_close_filter(True)
        else:
            await self.run_action("chat.back")

    # --- edits ---------------------------------------------------------------------------

    def action_edit(self, action: str) -> None:
        """Make an edit of the message under the cursor: see `edits.edit_for`."""
        edits, outline, row = self.edits, self.rows.outline, self.rows.row
        message = self.message
        if message is None or edits is None or outline is None or row is None:
            return
        edit = edit_for(outline, row.index, action)
        if edit is None:
            way = {"up": " further up", "down": " further down"}.get(action, "")
            self.notify(f"It cannot go{way}.", markup=False)
            return
        index = after_delete(outline, row.index) if action == "delete" else None
        self._take(edits.record(edit.preset, edit.label), index)
        if action == "delete":
            self.notify(f"Deleted {quoted(message)}. u undoes it.", markup=False)

    def action_copy(self) -> None:
        """Copy the text of the message under the cursor."""
        if (message := self.message) is not None:
            app_of(self).copy_to_clipboard(message.content)
            self.notify(f"Copied {quoted(message)}.", markup=False)

    def action_undo(self) -> None:
        if (edits := self.edits) is None or not edits.past:
            self.notify("Nothing to undo.")
        else:
            self._take(edits.undo())
            self.notify(f"Undone: {edits.past[-1].label}.", markup=False)

    def action_redo(self) -> None:
        if (edits := self.edits) is None or not edits.future:
            self.notify("Nothing to redo.")
        else:
            self._take(edits.redo())
            self.notify(f"Redone: {edits.future[0].label}.", markup=False)

    def action_add(self) -> None:
        from tui_chat.ui.dialogs.choices import Choice, ChoiceDialog

        if self.edits is None:
            self.notify(UNREADABLE)
            return
        choices = [Choice(*recipe) for recipe in RECIPES]
        app_of(self).push_screen(ChoiceDialog("Add", choices, RECIPES[0][0]), self._add)

    async def _add(self, recipe: str | None) -> None:
        """Add what was chosen, the cursor in its text."""
        outline = self.rows.outline
        if recipe is not None and self.edits is not None and outline is not None:
            number = outline.row_of(self.index) if self.index >= 0 else 0
            after = add_from_recipe(outline, number, recipe)
            label = next(label for name, label, _ in RECIPES if name == recipe)
            self._take(self.edits.record(after, f"add “{label}”"))
            self.action_open()

    def rewrite(self, message: PresetMessage, content: str) -> bool:
        """Replace the content of a message, as one edit; return False if it is gone meanwhile."""
        index = _index_of(self.edits.preset, message) if self.edits is not None else None
        if index is None or self.edits is None:
            return False
        after = change_message(self.edits.preset, index, content=content)
        self._take(self.edits.record(after, f"edit {quoted(message)}"))
        return True

    @on(FieldsChanged)
    def _form_changed(self, event: FieldsChanged) -> None:
        event.stop()
        edits, shown = self.edits, event.shown
        index = _index_of(edits.preset, shown) if edits is not None else None
        if edits is None or index is None:
            return
        message = edits.preset.messages[index]
        after = change_message(edits.preset, index, **event.fields)
        key = f"{index} {event.key}" if event.key else ""
        is_here = self.form.shown is None or shown is self.form.shown
        self._take(edits.record(after, f"edit {quoted(message)}", key), index if is_here else None)

    def _take(self, edits: EditHistory, index: int | None = None) -> None:
        """Go on with other edits, the cursor on the message `index`, else on what they touched."""
        before = self.edits
        if before is None or edits is before:
            return
        if index is None:
            index = first_changed(before.preset, edits.preset, self.index)
        self.edits = edits
        self._draw(edits, index)
        self._show_title()
        self.post_message(self.Edited(self.shown_name, edits))


def _index_of(preset: Preset, message: PresetMessage) -> int | None:
    """Return the list index of a message that may be edited meanwhile; None if it is gone."""
    messages = preset.messages
    index = next((n for n, each in enumerate(messages) if each is message), None)
    if index is None:
        index = next((n for n, each in enumerate(messages) if each.id == message.id), None)
    return index
