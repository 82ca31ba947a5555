"""The preset editor: edits the preset it shows, and requests what needs the workspace."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar, cast

from textual import on
from textual.app import App
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widget import Widget

from tui_chat.library.editing import EditHistory, change_message, first_changed, put_in_slot
from tui_chat.models.preset import PresetMessage
from tui_chat.models.text import Origin, OriginKind
from tui_chat.ui.actions import UNDO_KEYS
from tui_chat.ui.areas.presets.form_fields import EditForm
from tui_chat.ui.areas.presets.message_form import ContentEditor
from tui_chat.ui.areas.presets.row_edits import (
    KINDS,
    after_delete,
    edit_for,
    keep_shown_order,
    quoted,
    switch_heading,
    why_not_moved,
    with_new,
)
from tui_chat.ui.areas.presets.rows import PresetRows
from tui_chat.ui.areas.presets.view import PresetView


def _app(pane: Widget) -> App[None]:
    return cast("App[None]", pane.app)  # pyright: ignore[reportUnknownMemberType] Textual types it App[Unknown]


class PresetPane(PresetView):
    """The editor. It posts the edits the user makes, and requests the rest."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s", "want('save')", "Save", tooltip="Save the preset"),
        Binding(UNDO_KEYS, "want('undo')", "Undo", show=False),
        Binding("ctrl+y", "want('redo')", "Redo", show=False),
    ]

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._switched_off: dict[tuple[str, str], frozenset[str]] = {}
        """The ids of the messages that were on when a group was switched off, by preset and
        heading."""

    class Edited(Message):
        """The user edited the preset."""

        def __init__(self, name: str, edits: EditHistory) -> None:
            super().__init__()
            self.name = name
            self.edits = edits

    class SaveRequested(Message):
        """Requests that the preset is saved."""

    class MoreRequested(Message):
        """Requests the menu for preset files."""

    class FileRequested(Message):
        """Requests the whole preset in the user's own editor."""

    class ContentRequested(Message):
        """Requests a message's content in the user's own editor; the answer goes to `rewrite`."""

        def __init__(self, message: PresetMessage) -> None:
            super().__init__()
            self.message = message

    class OriginLit(Message):
        """The cursor moved to a row; its text is to be highlighted in other panes."""

        def __init__(self, origin: Origin) -> None:
            super().__init__()
            self.origin = origin

    class PlacesRequested(Message):
        """Requests the inspector to go to the places of a row."""

        def __init__(self, origin: Origin) -> None:
            super().__init__()
            self.origin = origin

    class EditorLeft(Message):
        """Esc was pressed in the list."""

    @on(PresetRows.OutlineRowHighlighted)
    def _row_highlighted(self, event: PresetRows.OutlineRowHighlighted) -> None:
        event.stop()
        self.describe_row(event.row)
        message = event.row.message if event.row is not None else None
        if message is not None and (self.rows.has_focus or self.form.has_focus_within):
            self.post_message(self.OriginLit(Origin(OriginKind.PRESET, message.id, message.name)))

    @on(PresetRows.ActionRequested)
    def _action_requested(self, event: PresetRows.ActionRequested) -> None:
        event.stop()
        self.action_want(event.action)

    def action_want(self, action: str) -> None:
        """Do an action of the list, or request it from the area."""
        edits, index = self.edits, self.index
        match action:
            case "save":
                self.post_message(self.SaveRequested())
            case "more":
                self.post_message(self.MoreRequested())
            case "file":
                self.post_message(self.FileRequested())
            case "back" if self.filter.value:
                self.filter.value = ""
                self.remove_class("-filter")
            case "back":
                self.post_message(self.EditorLeft())
            case _ if edits is None:
                _app(self).bell()
            case "undo":
                words = f"Undone: {edits.past[-1].label}." if edits.past else "Nothing to undo."
                self._take(edits.undo(), words=words)
            case "redo":
                words = f"Redone: {edits.future[0].label}." if edits.future else ""
                self._take(edits.redo(), words=words or "Nothing to redo.")
            case "filter":
                self.open_filter()
            case "add":
                self._ask_what_to_add()
            case "settings":
                self.open_settings()
            case _ if index < 0:
                _app(self).bell()
            case "open":
                self.open_form()
            case "where":
                message = edits.preset.messages[index]
                origin = Origin(OriginKind.PRESET, message.id, message.name)
                self.post_message(self.PlacesRequested(origin))
            case "outside":
                self.post_message(self.ContentRequested(edits.preset.messages[index]))
            case _:
                self._edit_message(edits, index, action)

    def _edit_message(self, edits: EditHistory, index: int, action: str) -> None:
        outline = self.rows.outline
        assert outline is not None
        if action == "enable" and (group := self.rows.groups.get(index)):
            heading = self.shown_name, edits.preset.messages[index].id
            edit, on = switch_heading(
                edits.preset, group, self._switched_off.get(heading, frozenset())
            )
            if on:
                self._switched_off[heading] = on
            self._take(edits.record(edit.preset, edit.label), index)
            return
        edit = edit_for(outline, index, action)
        if edit is None:
            self.show_status(why_not_moved(outline, index, action))
            _app(self).bell()
            return
        at = after_delete(outline, index) if action == "delete" else None
        self._take(edits.record(edit.preset, edit.label), at)

    def _ask_what_to_add(self) -> None:
        from tui_chat.ui.dialogs.choices import Choice, ChoiceDialog

        choices = [Choice(kind, label, detail) for kind, label, detail in KINDS]
        _app(self).push_screen(ChoiceDialog("Add what?", choices, "message"), self._add)

    def _add(self, kind: str | None) -> None:
        if self.edits is not None and kind is not None:
            after = with_new(self.edits.preset, self.rows.chosen, kind)
            self._take(self.edits.record(after, f"add a {kind}"))
            self.open_form()

    @on(PresetRows.MessageDropped)
    def _dropped(self, event: PresetRows.MessageDropped) -> None:
        event.stop()
        if self.edits is not None and event.index >= 0:
            name = quoted(self.edits.preset.messages[event.index])
            after = put_in_slot(self.edits.preset, event.index, event.slot)
            self._take(self.edits.record(after, f"move {name} {event.slot.description}"))

    def rewrite(self, message: PresetMessage, content: str) -> bool:
        """Replace the content of a message, as one edit; return False if it is gone meanwhile."""
        if self.edits is None:
            return False
        messages = self.edits.preset.messages
        there = (n for n, each in enumerate(messages) if each is message)
        index = next(there, None)
        if index is None:  # edited meanwhile: find it by its id
            index = next((n for n, each in enumerate(messages) if each.id == message.id), None)
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
        index = self.index
        if index < 0 or self.form.message is None:
            return
        message = edits.preset.messages[index]
        if message is not self.form.message:
            return  # the cursor moved on before this arrived
        after = change_message(edits.preset, index, **event.fields)
        key = f"{index} {event.key}" if event.key else ""
        self._take(edits.record(after, f"edit {quoted(message)}", key), index)

    def _change_settings(self, edits: EditHistory, event: EditForm.FieldsChanged) -> None:
        after, words = replace(edits.preset, **event.fields), ""
        if placement := event.fields.get("system_placement"):
            after, moved = keep_shown_order(edits.preset, placement)
            if moved:
                words = "The system messages stay in front: J moves them now, u undoes it."
        key = f"settings {event.key}" if event.key else ""
        what = ", ".join(event.fields).replace("_", " ")
        step = edits.record(after, f"change the preset's {what}", key)
        self._take(step, self.index, words)

    @on(ContentEditor.PresetUndoRequested)
    def _undo_requested(self, event: ContentEditor.PresetUndoRequested) -> None:
        event.stop()
        self.action_want("undo")

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
