"""The preset editor: title, toolbar and filter over the list, the forms, and the edits."""

from __future__ import annotations

from dataclasses import replace
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
from tui_chat.library.editing.outline import Outline, OutlineRow, outline_preset
from tui_chat.library.editing.recipes import RECIPES, add_from_recipe
from tui_chat.library.editing.slots import first_changed
from tui_chat.models.preset import Preset, PresetMessage
from tui_chat.models.sanitize import one_line
from tui_chat.models.text import Origin, OriginKind
from tui_chat.ui.actions import UNDO_KEYS
from tui_chat.ui.presets.form_fields import EditForm
from tui_chat.ui.presets.header import PresetFilterInput, PresetTitle, PresetToolbar
from tui_chat.ui.presets.message_form import MessageForm
from tui_chat.ui.presets.request_facts import NO_FACTS, facts_of
from tui_chat.ui.presets.row_edits import (
    after_delete,
    edit_for,
    keep_shown_order,
    quoted,
    switch_heading,
)
from tui_chat.ui.presets.row_sentences import row_sentence, why_moved, why_not_moved
from tui_chat.ui.presets.rows import PresetRows
from tui_chat.ui.presets.settings import SettingsForm
from tui_chat.ui.widgets.typed_app import app_of

UNREADABLE = "This preset cannot be read. E opens its file."
_EMPTY = "Nothing in this preset yet.\na adds a message."


class PresetPane(Vertical):
    """Shows a preset and the facts of its last request, and makes the edits that keys, toolbar,
    mouse and forms ask for. What needs the workspace are actions of `PresetsArea`.
    """

    DEFAULT_CSS = """
    PresetPane {
        background: $background;
        #preset-status {
            height: auto;
            min-height: 1;
            max-height: 3;
            padding: 0 1;
            background: $surface;
            color: $foreground 70%;
        }
        &.-form.-of-message MessageForm, &.-form.-of-preset SettingsForm { display: block; }
        &.-form EditForm { height: 2fr; }
        &.-form.-tall EditForm { height: 1fr; }
        &.-form.-low PresetRows { max-height: 4; }
        &.-form.-of-preset #preset-status { display: none; }
        &.-done #preset-status { display: block; }
        &.-wide #preset-body { layout: horizontal; }
        &.-wide EditForm { border-top: none; border-left: solid $foreground 20%; }
        &.-wide.-form EditForm { height: 1fr; width: 1fr; }
        &.-wide.-form PresetRows { width: 1fr; max-height: 100%; }
        &.-filter PresetFilterInput { display: block; }
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

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.edits: EditHistory | None = None
        """The preset with its edits; None if it cannot be read."""
        self.shown_name = ""
        self._ours: bool = False
        self._title = PresetTitle()
        self.toolbar = PresetToolbar()
        self._status = Static(id="preset-status")
        self.filter = PresetFilterInput(placeholder="show what contains …", select_on_focus=False)
        self.rows = PresetRows()
        self.form = MessageForm()
        self.settings = SettingsForm()
        self._composed: Composed | None = None
        self._facts = NO_FACTS
        self._done = ""
        """A sentence on the last undo or redo, shown until the cursor moves."""
        self._done_at: PresetMessage | None = None
        self._switched_off: dict[tuple[str, str], frozenset[str]] = {}
        """The ids of the messages that were on when a group was switched off, by preset and
        heading."""

    def compose(self) -> ComposeResult:
        yield self._title
        yield self.toolbar
        yield self.filter
        with Vertical(id="preset-body"):
            yield self.rows
            yield self.form
            yield self.settings
        yield self._status

    def focus(self, scroll_visible: bool = True) -> Self:
        """Focus the list, or the message form if it is open."""
        of_message = self.has_class("-form") and self.has_class("-of-message")
        (self.form.content if of_message else self.rows).focus(scroll_visible)
        return self

    @property
    def index(self) -> int:
        """List index of the message under the cursor; -1 for none."""
        row = self.rows.chosen
        return row.index if row is not None else -1

    def show(
        self, name: str, edits: EditHistory | None, *, ours: bool = False, fault: str = ""
    ) -> None:
        """Show a preset with its edits; if `edits` is None, `fault` says why."""
        other = name != self.shown_name
        if edits is self.edits and not other and ours == self._ours:
            return
        before = self.edits.preset if self.edits and not other else None
        self.shown_name, self._ours, self.edits = name, ours, edits
        if edits is None:
            self.action_close_form()
            empty = fault or "This preset cannot be read.\nE opens its file."
            self.rows.show(None, frozenset(), None, empty)
        else:
            at = 0 if other else self.index
            if other:
                self._facts = NO_FACTS  # those at hand are another preset's
                self.action_close_form()
            elif before is not None and before is not edits.preset:
                at = first_changed(before, edits.preset, at)
            self._draw(edits, at)
        self._update_title()

    def show_request(self, composed: Composed) -> None:
        """Take the facts of a request. While the editor is hidden this costs nothing."""
        self._composed = composed
        if self.is_on_screen:
            self._take_facts()

    def _take_facts(self) -> None:
        composed = self._composed
        if composed is None:
            return
        before, self._facts = self._facts, facts_of(composed)
        shown_facts = before.notes, len(before.history)
        if self.edits is not None and shown_facts != (self._facts.notes, len(self._facts.history)):
            self._draw(self.edits, self.index)
        self.rows.show_facts(self._facts)
        if self.rows.has_focus or self.form.has_focus_within:
            self.rows.cursor_moved()  # another request: the inspector highlights the row in it too
        self._update_title()

    def on_show(self) -> None:
        """Catch up with the requests composed while the editor was hidden."""
        self._take_facts()

    def on_resize(self) -> None:
        """Put the form beside the list if there is room; make the list low if not."""
        self.set_class(self.size.width >= 110, "-wide")
        self.set_class(self.size.height < 20, "-low")
        self.set_class(self.size.height >= 30, "-tall")

    def show_step(self, edits: EditHistory, at: int) -> None:
        """Show the preset after an edit, the cursor on the message with list index `at`."""
        self.edits = edits
        self._draw(edits, at)
        self._update_title()

    def _draw(self, edits: EditHistory, at: int) -> None:
        outline = outline_preset(edits.preset, self._facts.notes, len(self._facts.history))
        self.rows.show(outline, edits.changed_messages(), at, _EMPTY)
        if self.has_class("-form"):
            if edits.preset.messages or self.has_class("-of-preset"):
                self._fill_form()
            else:
                self.action_close_form()

    def _update_title(self) -> None:
        tokens = None if self._facts is NO_FACTS else self._facts.total
        self._title.show(self.shown_name, self.edits, tokens, ours=self._ours)

    @on(PresetRows.OutlineRowHighlighted)
    def _row_highlighted(self, event: PresetRows.OutlineRowHighlighted) -> None:
        event.stop()
        self._describe_row(event.row)
        message = event.row.message if event.row is not None else None
        if message is not None and (self.rows.has_focus or self.form.has_focus_within):
            origin = Origin(OriginKind.PRESET, message.id, message.name)
            self.post_message(self.OriginHighlighted(origin))

    def _describe_row(self, row: OutlineRow | None) -> None:
        """Describe a row in the status line, and fill the form with its message."""
        if row is None or row.message is None or self.edits is None:
            self._status.update("")
            return
        if self._done_at is not None and self._done_at is not row.message:
            self.show_status("")
        if self._done:
            self._done_at = row.message
        preset, groups = self.edits.preset, self.rows.folding.groups
        words = self._done or row_sentence(row, preset, self._facts, groups)
        self._status.update(Content(one_line(words)))
        if self.has_class("-form") and row.message is not self.form.message:
            self._fill_form()

    def show_status(self, words: str) -> None:
        """Show what was done in the status line until the cursor moves; empty for nothing."""
        self._done, self._done_at = words, None
        self.set_class(bool(words), "-done")
        if words:
            self._status.update(Content(one_line(words)))

    def reveal(self, origin: Origin) -> bool:
        """Highlight the row that an origin names or lies in; return False if there is none."""
        written = origin.preset_message
        if written is None or self.edits is None:
            return False
        for index, message in enumerate(self.edits.preset.messages):
            if message.id == written.id:
                self.rows.light(index)
                return True
        return False

    def action_open(self) -> None:
        """Open the form of the message under the cursor, or unfold what is folded there."""
        if self.rows.is_on_fold:
            self.rows.action_fold(False)
            return
        if self.message is None:
            return
        self.set_class(False, "-of-preset").add_class("-form", "-of-message")
        self._fill_form()
        message = self.form.message
        fields = self.form.query(Input)
        target = fields.first() if message is not None and message.is_anchor else self.form.content
        target.focus()

    def action_settings(self) -> None:
        if self.edits is None:
            self.notify(UNREADABLE)
        else:
            self.set_class(False, "-of-message").add_class("-form", "-of-preset")
            self._fill_form()
            self.settings.rows["name"].field.focus()

    def _fill_form(self) -> None:
        row = self.rows.chosen
        if self.edits is not None and self.has_class("-of-preset"):
            self.settings.show(self.edits.preset, self.edits.saved)
            return
        if self.edits is not None and row is not None and row.index >= 0:
            self.form.show(self.edits.preset, row.index, self.edits.saved)

    def action_close_form(self) -> None:
        """Close the form, and return to the list from it."""
        if self.form.has_focus_within or self.settings.has_focus_within:
            self.screen.set_focus(self.rows)  # before the focused field is hidden
        self.remove_class("-form")
        self.form.shown = None

    def action_step(self, step: int) -> None:
        """Go to the next message, or the one above, and stay in the form."""
        self.rows.action_move(step)

    def action_filter(self) -> None:
        self.add_class("-filter")
        self.filter.focus()

    @on(Input.Changed)
    def _filter_changed(self, event: Input.Changed) -> None:
        event.stop()
        self.rows.filter(event.value)

    def action_close_filter(self, clears: bool) -> None:
        """Return to the list, with or without the filter."""
        if clears:
            self.filter.value = ""
        self.set_class(bool(self.filter.value), "-filter")
        self.rows.focus()

    # --- actions -------------------------------------------------------------------------

    @property
    def message(self) -> PresetMessage | None:
        """The message under the cursor; None, after saying so, without one."""
        if self.edits is None or self.index < 0:
            self.notify("There is no message under the cursor.")
            return None
        return self.edits.preset.messages[self.index]

    def action_edit(self, action: str, depth: int = 0) -> None:
        """Make an edit of the message under the cursor: see `row_edits.edit_for`."""
        edits, index, outline = self.edits, self.index, self.rows.outline
        if self.message is None or edits is None or outline is None:
            return
        if action == "enable" and (group := self.rows.folding.groups.get(index)):
            heading = self.shown_name, edits.preset.messages[index].id
            edit, on = switch_heading(
                edits.preset, group, self._switched_off.get(heading, frozenset())
            )
            if on:
                self._switched_off[heading] = on
            self._take(edits.record(edit.preset, edit.label), index)
            return
        edit = edit_for(outline, index, action, depth)
        if edit is None:
            self.show_status(why_not_moved(outline, index, action))
            app_of(self).bell()
            return
        at = after_delete(outline, index) if action == "delete" else None
        self._take(edits.record(edit.preset, edit.label), at)
        if action == "role":
            self._say_if_moved(outline, index)

    def _say_if_moved(self, before: Outline | None, index: int) -> None:
        """Say why a row is elsewhere after an edit that is no move."""
        after = self.rows.outline
        if before is not None and after is not None and (words := why_moved(before, after, index)):
            self.show_status(words)

    def action_undo(self) -> None:
        if (edits := self.edits) is None or not edits.past:
            self.notify("Nothing to undo.")
        else:
            self._take(edits.undo(), words=f"Undone: {edits.past[-1].label}.")

    def action_redo(self) -> None:
        if (edits := self.edits) is None or not edits.future:
            self.notify("Nothing to redo.")
        else:
            self._take(edits.redo(), words=f"Redone: {edits.future[0].label}.")

    def action_add(self) -> None:
        from tui_chat.ui.dialogs.choices import Choice, ChoiceDialog

        if self.edits is None:
            self.notify(UNREADABLE)
            return
        choices = [Choice(recipe.id, recipe.label, recipe.detail) for recipe in RECIPES]
        app_of(self).push_screen(ChoiceDialog("Add", choices, RECIPES[0].id), self._add)

    async def _add(self, recipe: str | None) -> None:
        """Add what was chosen, the cursor in its text."""
        outline = self.rows.outline
        if recipe is not None and self.edits is not None and outline is not None:
            after = add_from_recipe(outline, self.rows.cursor, recipe)
            label = next(each.label for each in RECIPES if each.id == recipe)
            self._take(self.edits.record(after, f"add “{label}”"))
            self.action_open()

    async def action_back(self) -> None:
        """Clear the filter, else return to the composer."""
        if self.filter.value:
            self.filter.value = ""
            self.remove_class("-filter")
        else:
            await self.run_action("chat.back")

    def rewrite(self, message: PresetMessage, content: str) -> bool:
        """Replace the content of a message, as one edit; return False if it is gone meanwhile."""
        if self.edits is None:
            return False
        index = _index_of(self.edits.preset, message)
        if index is None:
            return False
        after = change_message(self.edits.preset, index, content=content)
        self._take(self.edits.record(after, f"edit {quoted(message)}"))
        return True

    @on(EditForm.FieldsChanged)
    def _form_changed(self, event: EditForm.FieldsChanged) -> None:
        event.stop()
        if self.edits is not None and event.form is self.settings:
            self._change_settings(self.edits, event)
        elif self.edits is not None:
            self._change_message(self.edits, event)

    def _change_message(self, edits: EditHistory, event: EditForm.FieldsChanged) -> None:
        index = _index_of(edits.preset, event.shown)
        if index is None:
            return
        message = edits.preset.messages[index]
        after = change_message(edits.preset, index, **event.fields)
        key = f"{index} {event.key}" if event.key else ""
        before = self.rows.outline
        is_here = self.form.message is None or event.shown is self.form.message
        self._take(edits.record(after, f"edit {quoted(message)}", key), index if is_here else None)
        self._say_if_moved(before, index)

    def _change_settings(self, edits: EditHistory, event: EditForm.FieldsChanged) -> None:
        after, words = replace(edits.preset, **event.fields), ""
        if placement := event.fields.get("system_placement"):
            after, moved = keep_shown_order(edits.preset, placement)
            if moved:
                words = (
                    "System messages keep their place in front; J can move them now, u undoes it."
                )
        key = f"settings {event.key}" if event.key else ""
        what = ", ".join(event.fields).replace("_", " ")
        step = edits.record(after, f"change the preset's {what}", key)
        self._take(step, self.index, words)

    def _take(self, edits: EditHistory, at: int | None = None, words: str = "") -> None:
        """Go on with other edits, the cursor on the message `at`, else on what they touched;
        `words` tell what was done where it is not plain.
        """
        before = self.edits
        self.show_status(words)
        if before is None or edits is before:
            return
        index = first_changed(before.preset, edits.preset, self.index) if at is None else at
        self.show_step(edits, index)
        self.post_message(self.Edited(self.shown_name, edits))


def _index_of(preset: Preset, message: PresetMessage) -> int | None:
    """Return the list index of a message that may be edited meanwhile; None if it is gone."""
    messages = preset.messages
    same = (n for n, each in enumerate(messages) if each is message)
    index = next(same, None)
    if index is None:
        index = next((n for n, each in enumerate(messages) if each.id == message.id), None)
    return index
