"""What the editor shows: the list under its title, and a form below or beside it."""

from __future__ import annotations

from typing import Self

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content as Styled
from textual.widgets import Input, Static

from tui_chat.compose import Composed
from tui_chat.library.editing import EditHistory, OutlineRow, first_changed, outline_preset
from tui_chat.models.preset import PresetMessage
from tui_chat.models.text import Origin, OriginKind
from tui_chat.models.visible import one_line
from tui_chat.ui.presets import steps
from tui_chat.ui.presets.bar import Bar, Filter, Title
from tui_chat.ui.presets.edit_form import EditForm
from tui_chat.ui.presets.facts import NO_FACTS, facts_of
from tui_chat.ui.presets.form import MessageForm
from tui_chat.ui.presets.look import clipped
from tui_chat.ui.presets.rows import PresetRows
from tui_chat.ui.presets.settings import SettingsForm


class PresetView(Vertical):
    """Shows edits of a preset and what a request tells of them; changes nothing."""

    DEFAULT_CSS = """
    PresetView {
        background: $background;
        #preset-told { height: 1; padding: 0 1; background: $surface; color: $foreground 70%; }
        &.-form.-of-message MessageForm, &.-form.-of-preset SettingsForm { display: block; }
        &.-form EditForm { height: 2fr; }
        &.-form #preset-told { display: none; }
        &.-form.-done #preset-told { display: block; }
        &.-form.-low PresetRows { max-height: 4; }
        &.-wide #preset-body { layout: horizontal; }
        &.-wide EditForm { border-top: none; border-left: solid $foreground 20%; }
        &.-wide.-form EditForm { height: 1fr; width: 1fr; }
        &.-wide.-form PresetRows { width: 1fr; max-height: 100%; }
        &.-filter Filter { display: block; }
    }
    """

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.edits: EditHistory | None = None
        """What is shown; None where the preset cannot be read."""
        self.shown_name = ""
        self._ours: bool = False
        self._title = Title()
        self._told = Static(id="preset-told")
        self.filter = Filter(placeholder="show what contains …", select_on_focus=False)
        self.rows = PresetRows()
        self.form = MessageForm()
        self.settings = SettingsForm()
        self._composed: Composed | None = None
        self._facts = NO_FACTS
        self._done = ""
        """What was undone or done again, told until the cursor goes on."""
        self._done_at: PresetMessage | None = None

    def compose(self) -> ComposeResult:
        """Put the title over the list, the form below or beside it."""
        yield self._title
        yield Bar()
        yield self.filter
        with Vertical(id="preset-body"):
            yield self.rows
            yield self.form
            yield self.settings
        yield self._told

    def focus(self, scroll_visible: bool = True) -> Self:
        """Focus the list, or the form where it is open."""
        of_message = self.has_class("-form") and self.has_class("-of-message")
        (self.form.content if of_message else self.rows).focus(scroll_visible)
        return self

    @property
    def index(self) -> int:
        """The list index of the message under the cursor; -1 for none."""
        row = self.rows.chosen
        return row.index if row is not None else -1

    def show(
        self, name: str, edits: EditHistory | None, *, ours: bool = False, fault: str = ""
    ) -> None:
        """Show a preset as it is edited; `fault` is told where there is none."""
        other = name != self.shown_name
        if edits is self.edits and not other and ours == self._ours:
            return
        before = self.edits.preset if self.edits and not other else None
        self.shown_name, self._ours, self.edits = name, ours, edits
        if edits is None:
            self.rows.empty = fault or "This preset cannot be read.\nE opens its file."
            self.close_form()
            self.rows.show(None, frozenset(), None)
        else:
            self.rows.empty = "Nothing in this preset yet.\na adds a message."
            at = 0 if other else self.index
            if other:
                self._facts = NO_FACTS  # until they are told: those are another preset's
                self.close_form()
            elif before is not None and before is not edits.preset:
                at = first_changed(before, edits.preset, at)
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
        before, self._facts = self._facts, facts_of(composed)
        drawn_as = before.notes, len(before.history)
        if self.edits is not None and drawn_as != (self._facts.notes, len(self._facts.history)):
            self._draw(self.edits, self.index)
        self.rows.tell(self._facts)
        if self.rows.has_focus or self.form.has_focus_within:
            self.rows.tell_lit()  # the request is another: there too it is to be shown
        self._tell_title()

    def on_show(self) -> None:
        """Catch up with what was composed while nobody looked."""
        self._take_facts()

    def on_resize(self) -> None:
        """Put the form beside the list where there is room; let the list be low where not."""
        self.set_class(self.size.width >= 110, "-wide")
        self.set_class(self.size.height < 20, "-low")

    def show_step(self, edits: EditHistory, at: int) -> None:
        """Show the preset after an edit, the cursor on the message of list index `at`."""
        self.edits = edits
        self._draw(edits, at)
        self._tell_title()

    def _draw(self, edits: EditHistory, at: int) -> None:
        drawn = outline_preset(edits.preset, self._facts.notes, len(self._facts.history))
        self.rows.show(drawn, edits.changed_messages(), at)
        if self.has_class("-form"):
            if edits.preset.messages or self.has_class("-of-preset"):
                self._fill_form()
            else:
                self.close_form()

    def _tell_title(self) -> None:
        self._title.show(self.shown_name, self.edits, self._facts.total, ours=self._ours)

    def tell_of(self, row: OutlineRow | None) -> None:
        """Tell of the row under the cursor, and fill the form with its message."""
        if row is None or row.message is None:
            self._told.update("")
            return
        if self._done_at is not None and self._done_at is not row.message:
            self.say("")
        if self._done:
            self._done_at = row.message
        words = " ".join(note.sentence for note in row.notes) or steps.where(row, self.rows.names)
        words = self._done or words
        self._told.update(Styled(clipped(one_line(words), max(self.size.width - 2, 1))))
        if self.has_class("-form") and row.message is not self.form.message:
            self._fill_form()

    def say(self, words: str) -> None:
        """Tell what was done, in the line below, until the cursor goes on; empty for nothing."""
        self._done, self._done_at = words, None
        self.set_class(bool(words), "-done")
        if words:
            self._told.update(Styled(clipped(one_line(words), max(self.size.width - 2, 1))))

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

    def open_form(self) -> None:
        """Open the form of the message under the cursor, at what is most likely to be typed."""
        if self.index < 0:
            return
        self.set_class(False, "-of-preset").add_class("-form", "-of-message")
        self._fill_form()
        message = self.form.message
        fields = self.form.query(Input)
        target = fields.first() if message is not None and message.is_anchor else self.form.content
        target.focus()

    def open_settings(self) -> None:
        """Open the form of the preset itself."""
        if self.edits is not None:
            self.set_class(False, "-of-message").add_class("-form", "-of-preset")
            self._fill_form()
            self.settings.name_field.focus()

    def _fill_form(self) -> None:
        row = self.rows.chosen
        if self.edits is not None and self.has_class("-of-preset"):
            self.settings.show(self.edits.preset, self.edits.saved)
            return
        if self.edits is not None and row is not None and row.index >= 0:
            self.form.show(self.edits.preset, row.index, row.notes)

    def close_form(self) -> None:
        """Close the form, and go back to the list from it."""
        if self.form.has_focus_within or self.settings.has_focus_within:
            self.screen.set_focus(self.rows)  # before what has it is hidden
        self.remove_class("-form")
        self.form.message = None

    @on(EditForm.Left)
    def _form_left(self, event: EditForm.Left) -> None:
        event.stop()
        self.close_form()

    def open_filter(self) -> None:
        """Go to the line that says what the messages must contain."""
        self.add_class("-filter")
        self.filter.focus()

    @on(Input.Changed)
    def _filter_changed(self, event: Input.Changed) -> None:
        event.stop()
        self.rows.narrow(event.value)

    @on(Filter.Left)
    def _filter_left(self, event: Filter.Left) -> None:
        event.stop()
        self.set_class(bool(self.filter.value), "-filter")
        self.rows.focus()
