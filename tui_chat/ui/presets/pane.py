"""The preset editor: makes edits of the preset it shows, and asks for the rest."""

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
from tui_chat.ui.presets import steps
from tui_chat.ui.presets.content import Content
from tui_chat.ui.presets.edit_form import EditForm
from tui_chat.ui.presets.rows import PresetRows
from tui_chat.ui.presets.view import PresetView


def _app(pane: Widget) -> App[None]:
    return cast("App[None]", pane.app)  # pyright: ignore[reportUnknownMemberType] Textual types it App[Unknown]


class PresetPane(PresetView):
    """The editor. `show` it edits; it posts the edits that a person makes."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s", "want('save')", "Save", tooltip="Save the preset"),
        Binding(UNDO_KEYS, "want('undo')", "Undo", show=False),
        Binding("ctrl+y", "want('redo')", "Redo", show=False),
    ]

    class Edited(Message):
        """The preset is to be this one from now on."""

        def __init__(self, name: str, edits: EditHistory) -> None:
            super().__init__()
            self.name = name
            self.edits = edits

    class SaveRequested(Message):
        """The preset is to be saved."""

    class MoreRequested(Message):
        """Something is to be done with preset files; the app asks what."""

    class FileRequested(Message):
        """The whole preset is to be edited in the user's own editor."""

    class ContentRequested(Message):
        """A message's content is to be edited in the user's own editor; see `rewrite`."""

        def __init__(self, message: PresetMessage) -> None:
            super().__init__()
            self.message = message

    class OriginLit(Message):
        """The cursor went to a row: what came from it is to be shown elsewhere too."""

        def __init__(self, origin: Origin) -> None:
            super().__init__()
            self.origin = origin

    class RevealRequested(Message):
        """The places of a row in the request are to be gone to."""

        def __init__(self, origin: Origin) -> None:
            super().__init__()
            self.origin = origin

    class Left(Message):
        """Esc was pressed in the list."""

    @on(PresetRows.Lit)
    def _lit(self, event: PresetRows.Lit) -> None:
        event.stop()
        self.tell_of(event.row)
        message = event.row.message if event.row is not None else None
        if message is not None and (self.rows.has_focus or self.form.has_focus_within):
            self.post_message(self.OriginLit(Origin(OriginKind.PRESET, message.id, message.name)))

    @on(PresetRows.Wanted)
    def _wanted(self, event: PresetRows.Wanted) -> None:
        event.stop()
        self.action_want(event.what)

    def action_want(self, what: str) -> None:
        """Do what was asked for, or ask the app."""
        edits, index = self.edits, self.index
        match what:
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
                self.post_message(self.Left())
            case _ if edits is None:
                self._bell()
            case "undo":
                words = f"Undone: {edits.past[-1].label}." if edits.past else "Nothing to undo."
                self._take(edits.undo(), words=words)
            case "redo":
                words = f"Done again: {edits.future[0].label}." if edits.future else ""
                self._take(edits.redo(), words=words or "Nothing to do again.")
            case "filter":
                self.open_filter()
            case "add":
                self._ask_what_to_add()
            case "settings":
                self.open_settings()
            case _ if index < 0:
                self._bell()
            case "open":
                self.open_form()
            case "where":
                message = edits.preset.messages[index]
                origin = Origin(OriginKind.PRESET, message.id, message.name)
                self.post_message(self.RevealRequested(origin))
            case "outside":
                self.post_message(self.ContentRequested(edits.preset.messages[index]))
            case _:
                self._step(edits, index, what)

    def _step(self, edits: EditHistory, index: int, what: str) -> None:
        drawn = self.rows.outline
        assert drawn is not None
        step = steps.step(drawn, index, what)
        if step is None:
            self._bell()
            return
        at = steps.after_delete(drawn, index) if what == "delete" else None
        self._take(edits.record(step.preset, step.label), at)

    def _bell(self) -> None:
        _app(self).bell()

    def _ask_what_to_add(self) -> None:
        from tui_chat.ui.dialogs.choices import Choice, ChoiceDialog

        choices = [Choice(kind, label, detail) for kind, label, detail in steps.KINDS]
        _app(self).push_screen(ChoiceDialog("Add what?", choices, "message"), self._add)

    def _add(self, kind: str | None) -> None:
        if self.edits is not None and kind is not None:
            after = steps.with_new(self.edits.preset, self.rows.chosen, kind)
            self._take(self.edits.record(after, f"add a {kind}"))
            self.open_form()

    @on(PresetRows.Dropped)
    def _dropped(self, event: PresetRows.Dropped) -> None:
        event.stop()
        if self.edits is not None and event.index >= 0:
            name = steps.quoted(self.edits.preset.messages[event.index])
            after = put_in_slot(self.edits.preset, event.index, event.slot)
            self._take(self.edits.record(after, f"move {name} {event.slot.description}"))

    def rewrite(self, message: PresetMessage, content: str) -> bool:
        """Give a message other content, as one edit; False where it has gone meanwhile."""
        if self.edits is None:
            return False
        messages = self.edits.preset.messages
        there = (n for n, each in enumerate(messages) if each is message)
        index = next(there, None)
        if index is None:  # changed meanwhile: it is known by its id
            index = next((n for n, each in enumerate(messages) if each.id == message.id), None)
        if index is None:
            return False
        after = change_message(self.edits.preset, index, content=content)
        self._take(self.edits.record(after, f"edit {steps.quoted(message)}"))
        return True

    @on(EditForm.Changed)
    def _form_changed(self, event: EditForm.Changed) -> None:
        event.stop()
        if self.edits is not None and event.form is self.settings:
            self._change_settings(self.edits, event)
        elif self.edits is not None:
            self._change_message(self.edits, event)

    def _change_message(self, edits: EditHistory, event: EditForm.Changed) -> None:
        index = self.index
        if index < 0 or self.form.message is None:
            return
        message = edits.preset.messages[index]
        if message is not self.form.message:
            return  # the cursor went on before this came
        after = change_message(edits.preset, index, **event.fields)
        key = f"{index} {event.key}" if event.key else ""
        self._take(edits.record(after, f"edit {steps.quoted(message)}", key), index)

    def _change_settings(self, edits: EditHistory, event: EditForm.Changed) -> None:
        after = replace(edits.preset, **event.fields)
        key = f"settings {event.key}" if event.key else ""
        what = ", ".join(event.fields).replace("_", " ")
        self._take(edits.record(after, f"change the preset's {what}", key), self.index)

    @on(Content.UndoRequested)
    def _undo_requested(self, event: Content.UndoRequested) -> None:
        event.stop()
        self.action_want("undo")

    def _take(self, edits: EditHistory, at: int | None = None, words: str = "") -> None:
        """Go on with other edits, the cursor on the message `at`, else on what they touched;
        `words` tell what was done where it is not plain.
        """
        before = self.edits
        self.say(words)
        if before is None or edits is before:
            return
        index = first_changed(before.preset, edits.preset, self.index) if at is None else at
        self.show_step(edits, index)
        self.post_message(self.Edited(self.shown_name, edits))
