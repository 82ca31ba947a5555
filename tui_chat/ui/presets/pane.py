"""The preset editor: shows edits of a preset, makes further ones, and asks for the rest."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar, Self, cast

from textual import on
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content as Styled
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Input, Static

from tui_chat.compose import Composed
from tui_chat.editing import Edits, changed, put, sketch, touched
from tui_chat.model.preset import Preset
from tui_chat.model.text import Origin, OriginKind
from tui_chat.model.visible import one_line
from tui_chat.ui.presets import steps
from tui_chat.ui.presets.content import Content
from tui_chat.ui.presets.facts import NO_FACTS, facts_of
from tui_chat.ui.presets.form import MessageForm
from tui_chat.ui.presets.look import clipped
from tui_chat.ui.presets.rows import PresetRows

_BAR = (
    ("+ Add", "add"),
    ("Edit", "open"),
    ("Delete", "delete"),
    ("Undo", "undo"),
    ("Redo", "redo"),
    ("Save", "save"),
    ("More …", "more"),
)


def _app(pane: Widget) -> App[None]:
    return cast("App[None]", pane.app)  # pyright: ignore[reportUnknownMemberType] Textual types it App[Unknown]


class Bar(Static):
    """What can be done, to be clicked."""

    DEFAULT_CSS = """
    Bar {
        height: 1;
        padding: 0 1;
        background: $surface;
        color: $foreground 70%;
        link-style: none;
        link-color: $foreground 75%;
        link-background-hover: $primary 40%;
        link-style-hover: bold;
    }
    """

    def on_mount(self) -> None:
        """Write the words once."""
        words = (f"[@click=want('{what}')]{label}[/]" for label, what in _BAR)
        self.update("  ".join(words))

    def action_want(self, what: str) -> None:
        """Ask for what was clicked."""
        self.post_message(PresetRows.Wanted(what))


class Filter(Input):
    """What messages must contain; Esc clears it and leaves."""

    DEFAULT_CSS = """
    Filter {
        display: none;
        height: 1;
        border: none;
        padding: 0 1;
        background: $surface;
        &:focus { border: none; background: $foreground 8%; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave(True)", show=False),
        Binding("down,enter", "leave(False)", show=False),
    ]

    class Left(Message):
        """The rows are to be focused."""

    def action_leave(self, clear: bool) -> None:
        """Go to the rows."""
        if clear:
            self.value = ""
        self.post_message(self.Left())


class PresetPane(Vertical):
    """The editor. `show` it edits; it posts the edits that a person makes."""

    DEFAULT_CSS = """
    PresetPane {
        background: $background;
        #preset-title { height: 1; padding: 0 1; background: $panel; color: $foreground; }
        #preset-told { height: 1; padding: 0 1; background: $surface; color: $foreground 70%; }
        &.-form MessageForm { display: block; height: 2fr; }
        &.-form #preset-told { display: none; }
        &.-form.-low PresetRows { max-height: 4; }
        &.-wide #preset-body { layout: horizontal; }
        &.-wide MessageForm { border-top: none; border-left: solid $foreground 20%; height: 1fr; }
        &.-wide.-form MessageForm { height: 1fr; width: 1fr; }
        &.-wide.-form PresetRows { width: 1fr; max-height: 100%; }
        &.-filter Filter { display: block; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s", "want('save')", "Save", tooltip="Save the preset"),
        Binding("ctrl+z", "want('undo')", "Undo", show=False),
        Binding("ctrl+y", "want('redo')", "Redo", show=False),
    ]

    class Edited(Message):
        """The preset is to be this one from now on."""

        def __init__(self, name: str, edits: Edits) -> None:
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

        def __init__(self, index: int, content: str) -> None:
            super().__init__()
            self.index = index
            self.content = content

    class OriginLit(Message):
        """The cursor went to a row: what came from it is to be shown elsewhere too."""

        def __init__(self, origin: Origin) -> None:
            super().__init__()
            self.origin = origin

    class Left(Message):
        """Esc was pressed in the list."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.edits: Edits | None = None
        """What is shown; None where the preset cannot be read."""
        self._shown_name = ""
        self._ours: bool = False
        self._title = Static(id="preset-title")
        self._told = Static(id="preset-told")
        self.filter = Filter(placeholder="show what contains …", select_on_focus=False)
        self.rows = PresetRows()
        self.form = MessageForm()
        self._composed: Composed | None = None
        self._facts = NO_FACTS

    def compose(self) -> ComposeResult:
        """Put the title over the list, the form below or beside it."""
        yield self._title
        yield Bar()
        yield self.filter
        with Vertical(id="preset-body"):
            yield self.rows
            yield self.form
        yield self._told

    def focus(self, scroll_visible: bool = True) -> Self:
        """Focus the list, or the form where it is open."""
        (self.form.content if self.has_class("-form") else self.rows).focus(scroll_visible)
        return self

    # Showing

    @property
    def index(self) -> int:
        """The list index of the message under the cursor; -1 for none."""
        row = self.rows.chosen
        return row.index if row is not None else -1

    def show(self, name: str, edits: Edits | None, *, ours: bool = False, fault: str = "") -> None:
        """Show a preset as it is edited; `fault` is told where there is none."""
        other = name != self._shown_name
        if edits is self.edits and not other and ours == self._ours:
            return
        before = self.edits.preset if self.edits and not other else None
        self._shown_name, self._ours, self.edits = name, ours, edits
        if edits is None:
            self.rows.empty = fault or "This preset cannot be read.\nE opens its file."
            self._close_form()
            self.rows.show(None, frozenset(), None)
        else:
            self.rows.empty = "Nothing in this preset yet.\na adds a message."
            at = 0 if other else self.index
            if other:
                self._close_form()
            elif before is not None and before is not edits.preset:
                at = touched(before, edits.preset, at)
            self._draw(edits, at)
        self._tell_title()

    def tell(self, composed: Composed) -> None:
        """Take what the request tells. While the editor is out of sight this costs nothing."""
        self._composed = composed
        if self.is_on_screen:
            self._take_facts()

    def _take_facts(self) -> None:
        composed = self._composed
        if composed is None:
            return
        self._facts = facts_of(composed)
        self.rows.tell(self._facts)
        self._tell_title()

    def on_show(self) -> None:
        """Catch up with what was composed while nobody looked."""
        self._take_facts()

    def on_resize(self) -> None:
        """Put the form beside the list where there is room; let the list be low where not."""
        self.set_class(self.size.width >= 110, "-wide")
        self.set_class(self.size.height < 20, "-low")
        self._tell_title()

    def _draw(self, edits: Edits, at: int) -> None:
        drawn = sketch(edits.preset)
        self.rows.show(drawn, edits.changed_messages(), at)
        if self.has_class("-form"):
            if edits.preset.messages:
                self._fill_form()
            else:
                self._close_form()

    def _tell_title(self) -> None:
        edits = self.edits
        words = [one_line(self._shown_name, 60)]
        if edits is not None:
            count = len(edits.preset.messages)
            words.append(f"{count:,} message{'s' * (count != 1)}, {self._facts.total:,} tokens")
            if edits.preset.system_placement == "in_place":
                words.append("system in place")
            if self._ours:
                words.append("ours: a save makes your copy")
        mark = "● " if edits is not None and edits.is_changed else ""
        text = clipped(" · ".join(words), max(self.size.width - 2 - len(mark), 1))
        name, _, rest = text.partition(" · ")
        self._title.update(
            Styled.assemble(
                (mark, "bold $text-warning"),
                (name, "bold $text-primary"),
                (f" · {rest}" if rest else "", "$foreground 75%"),
            )
        )

    @on(PresetRows.Lit)
    def _lit(self, event: PresetRows.Lit) -> None:
        event.stop()
        row = event.row
        message = row.message if row is not None else None
        if row is None or message is None:
            self._told.update("")
            return
        words = " ".join(note.sentence for note in row.notes) or steps.where(row)
        self._told.update(Styled(clipped(one_line(words), max(self.size.width - 2, 1))))
        if self.has_class("-form") and message is not self.form.message:
            self._fill_form()
        if self.rows.has_focus:
            self.post_message(self.OriginLit(Origin(OriginKind.PRESET, message.id, message.name)))

    def reveal(self, origin: Origin) -> bool:
        """Light the row of what an origin names, or stands in; False where there is none."""
        around: Origin | None = origin
        while around is not None and around.kind is not OriginKind.PRESET:
            around = around.within
        if around is None or self.edits is None:
            return False
        for index, message in enumerate(self.edits.preset.messages):
            if message.id == around.id:
                self.rows.light(index)
                return True
        return False

    # Editing

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
            case "back":
                self.post_message(self.Left())
            case _ if edits is None:
                self._bell()
            case "undo":
                self._take(edits.undo())
            case "redo":
                self._take(edits.redo())
            case "filter":
                self.add_class("-filter")
                self.filter.focus()
            case "add":
                self._ask_what_to_add()
            case _ if index < 0:
                self._bell()
            case "open":
                self._open_form()
            case "outside":
                message = edits.preset.messages[index]
                self.post_message(self.ContentRequested(index, message.content))
            case _:
                self._step(edits, index, what)

    def _step(self, edits: Edits, index: int, what: str) -> None:
        drawn = self.rows.sketch
        assert drawn is not None
        step = steps.step(drawn, index, what)
        if step is None:
            self._bell()
            return
        self._take(edits.did(step.preset, step.label))

    def _bell(self) -> None:
        _app(self).bell()

    def _ask_what_to_add(self) -> None:
        from tui_chat.ui.dialogs import Choice, Choose

        choices = [Choice(kind, label, detail) for kind, label, detail in steps.KINDS]
        _app(self).push_screen(Choose("Add what?", choices, "message"), self._add)

    def _add(self, kind: str | None) -> None:
        if self.edits is not None and kind is not None:
            after = steps.with_new(self.edits.preset, self.rows.chosen, kind)
            self._take(self.edits.did(after, f"add a {kind}"))
            self._open_form()

    @on(PresetRows.Dropped)
    def _dropped(self, event: PresetRows.Dropped) -> None:
        event.stop()
        if self.edits is not None and event.index >= 0:
            name = steps.quoted(self.edits.preset.messages[event.index])
            after = put(self.edits.preset, event.index, event.slot)
            self._take(self.edits.did(after, f"move {name} {event.slot.words}"))

    def rewrite(self, index: int, content: str) -> None:
        """Give a message other content, as one edit."""
        if self.edits is not None and index < len(self.edits.preset.messages):
            label = f"edit {steps.quoted(self.edits.preset.messages[index])}"
            self._take(self.edits.did(changed(self.edits.preset, index, content=content), label))

    def place_system(self) -> None:
        """Put system messages first, or leave them in place: whichever it is not."""
        if self.edits is not None:
            preset = self.edits.preset
            other = "in_place" if preset.system_placement == "hoist" else "hoist"
            after: Preset = replace(preset, system_placement=other)
            self._take(self.edits.did(after, f"system messages: {other}"))

    def _take(self, edits: Edits) -> None:
        before = self.edits
        if before is None or edits is before:
            return
        self.edits = edits
        self._draw(edits, touched(before.preset, edits.preset, self.index))
        self._tell_title()
        self.post_message(self.Edited(self._shown_name, edits))

    # The form

    def _open_form(self) -> None:
        if self.index < 0:
            return
        self.add_class("-form")
        self._fill_form()
        message = self.form.message
        fields = self.form.query(Input)
        target = fields.first() if message is not None and message.is_anchor else self.form.content
        target.focus()

    def _fill_form(self) -> None:
        row = self.rows.chosen
        if self.edits is not None and row is not None and row.index >= 0:
            self.form.show(self.edits.preset, row.index, row.notes)

    def _close_form(self) -> None:
        if self.form.has_focus_within:
            self.screen.set_focus(self.rows)  # before what has it is hidden
        self.remove_class("-form")
        self.form.message = None

    @on(MessageForm.Changed)
    def _form_changed(self, event: MessageForm.Changed) -> None:
        event.stop()
        edits, index = self.edits, self.index
        if edits is None or index < 0 or self.form.message is None:
            return
        message = edits.preset.messages[index]
        if message is not self.form.message:
            return  # the cursor went on before this came
        after = changed(edits.preset, index, **event.fields)
        key = f"{index} {event.key}" if event.key else ""
        edits = edits.did(after, f"edit {steps.quoted(message)}", key)
        if edits is self.edits:
            return
        self.edits = edits
        self._draw(edits, index)
        self._tell_title()
        self.post_message(self.Edited(self._shown_name, edits))

    @on(Content.UndoRequested)
    def _undo_requested(self, event: Content.UndoRequested) -> None:
        event.stop()
        self.action_want("undo")

    @on(MessageForm.Left)
    def _form_left(self, event: MessageForm.Left) -> None:
        event.stop()
        self._close_form()

    # The filter

    @on(Input.Changed)
    def _filter_changed(self, event: Input.Changed) -> None:
        event.stop()
        self.rows.narrow(event.value)

    @on(Filter.Left)
    def _filter_left(self, event: Filter.Left) -> None:
        event.stop()
        self.set_class(bool(self.filter.value), "-filter")
        self.rows.focus()
