"""The layout of the preset editor: title, toolbar and filter over the list, and the forms."""

from __future__ import annotations

from typing import ClassVar, Self

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.content import Content as Styled
from textual.message import Message
from textual.widgets import Input, Static

from tui_chat.compose import Composed
from tui_chat.library.editing import EditHistory, OutlineRow, first_changed, outline_preset
from tui_chat.models.preset import PresetMessage
from tui_chat.models.sanitize import one_line
from tui_chat.models.text import Origin, OriginKind
from tui_chat.ui.areas.presets.form_fields import EditForm
from tui_chat.ui.areas.presets.message_form import MessageForm
from tui_chat.ui.areas.presets.request_facts import NO_FACTS, facts_of
from tui_chat.ui.areas.presets.row_drawing import display_name
from tui_chat.ui.areas.presets.row_edits import placement_sentence
from tui_chat.ui.areas.presets.rows import PresetRows
from tui_chat.ui.areas.presets.settings_form import SettingsForm
from tui_chat.ui.widgets.row_list import clipped

_TOOLBAR = (
    ("+ Add", "add"),
    ("Edit", "open"),
    ("Delete", "delete"),
    ("Undo", "undo"),
    ("Redo", "redo"),
    ("Save", "save"),
    ("Preset", "settings"),
    ("More …", "more"),
)


class PresetTitle(Static):
    """Name and cost of the preset, and a mark if it is not saved."""

    DEFAULT_CSS = "PresetTitle { height: 1; padding: 0 1; background: $panel; color: $foreground; }"

    def __init__(self) -> None:
        super().__init__()
        self._preset_name = ""
        self._rest = ""
        self._mark = ""

    def show(self, name: str, edits: EditHistory | None, tokens: int, *, ours: bool) -> None:
        """Show a preset; `ours` is True for one that comes with the program."""
        words: list[str] = []
        if edits is not None:
            count = len(edits.preset.messages)
            words.append(f"{count:,} message{'s' * (count != 1)}, {tokens:,} tokens")
            if edits.preset.system_placement == "in_place":
                words.append("system in place")
            if ours:
                words.append("built-in (saving creates your copy)")
        self._preset_name, self._rest = one_line(name, 60), "".join(f" · {word}" for word in words)
        self._mark = "● " if edits is not None and edits.is_changed else ""
        self._draw()

    def on_resize(self) -> None:
        """Fit the title to the width."""
        self._draw()

    def _draw(self) -> None:
        room = max(self.size.width - len(self._mark), 1)
        text = clipped(self._preset_name + self._rest, room)
        name, rest = text[: len(self._preset_name)], text[len(self._preset_name) :]
        self.update(
            Content.assemble(
                (self._mark, "bold $text-warning"),
                (name, "bold $text-primary"),
                (rest, "$foreground 75%"),
            )
        )


class PresetToolbar(Static):
    """The actions, to be clicked."""

    DEFAULT_CSS = """
    PresetToolbar {
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
        """Write the labels once."""
        words = (f"[@click=want('{what}')]{label}[/]" for label, what in _TOOLBAR)
        self.update("  ".join(words))

    def action_want(self, action: str) -> None:
        """Request what was clicked."""
        self.post_message(PresetRows.ActionRequested(action))


class PresetFilterInput(Input):
    """Filters the messages; Esc clears it and returns to the rows."""

    DEFAULT_CSS = """
    PresetFilterInput {
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

    class FilterClosed(Message):
        """The rows get the focus."""

    def action_leave(self, clear: bool) -> None:
        """Return to the rows."""
        if clear:
            self.value = ""
        self.post_message(self.FilterClosed())


_EMPTY = "Nothing in this preset yet.\na adds a message."


class PresetView(Vertical):
    """Shows a preset and the facts of its last request; changes nothing."""

    DEFAULT_CSS = """
    PresetView {
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
        &.-form #preset-status { display: none; }
        &.-form.-done #preset-status { display: block; }
        &.-form.-low PresetRows { max-height: 4; }
        &.-wide #preset-body { layout: horizontal; }
        &.-wide EditForm { border-top: none; border-left: solid $foreground 20%; }
        &.-wide.-form EditForm { height: 1fr; width: 1fr; }
        &.-wide.-form PresetRows { width: 1fr; max-height: 100%; }
        &.-filter PresetFilterInput { display: block; }
    }
    """

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.edits: EditHistory | None = None
        """What is shown; None if the preset cannot be read."""
        self.shown_name = ""
        self._ours: bool = False
        self._title = PresetTitle()
        self._status = Static(id="preset-status")
        self.filter = PresetFilterInput(placeholder="show what contains …", select_on_focus=False)
        self.rows = PresetRows()
        self.form = MessageForm()
        self.settings = SettingsForm()
        self._composed: Composed | None = None
        self._facts = NO_FACTS
        self._done = ""
        """What was undone or redone, shown until the cursor moves."""
        self._done_at: PresetMessage | None = None

    def compose(self) -> ComposeResult:
        """Put title, toolbar and filter over the list, and the forms below it."""
        yield self._title
        yield PresetToolbar()
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
            self.close_form()
            empty = fault or "This preset cannot be read.\nE opens its file."
            self.rows.show(None, frozenset(), None, empty)
        else:
            at = 0 if other else self.index
            if other:
                self._facts = NO_FACTS  # those at hand are another preset's
                self.close_form()
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
                self.close_form()

    def _update_title(self) -> None:
        self._title.show(self.shown_name, self.edits, self._facts.total, ours=self._ours)

    def describe_row(self, row: OutlineRow | None) -> None:
        """Describe a row in the status line, and fill the form with its message."""
        if row is None or row.message is None:
            self._status.update("")
            return
        if self._done_at is not None and self._done_at is not row.message:
            self.show_status("")
        if self._done:
            self._done_at = row.message
        words = " ".join(note.sentence for note in row.notes) or placement_sentence(
            row, self.rows.names
        )
        words = self._done or self._joined_words(row) or words
        self._status.update(Styled(one_line(words)))
        if self.has_class("-form") and row.message is not self.form.message:
            self._fill_form()

    def _joined_words(self, row: OutlineRow) -> str:
        """Return with which other messages a row is sent as one, or what its group is; else
        nothing.
        """
        group = self.rows.groups.get(row.index)
        if group is not None and not row.notes:
            count = len(group.members)
            title = one_line(group.title, 40)
            return f"“{title}”: Space switches its {count} messages together, z folds them."
        message, edits = row.message, self.edits
        if message is None or edits is None or row.disabled or row.notes:
            return ""
        ids = next((ids for ids in self._facts.joined if message.id in ids), ())
        names = {each.id: one_line(display_name(each), 30) for each in edits.preset.messages}
        others = [f"“{names.get(each, each)}”" for each in ids if each != message.id]
        if not others:
            return ""
        more = f" and {len(others) - 3} more" if len(others) > 3 else ""
        return f"It is sent as one message with {', '.join(others[:3])}{more}."

    def show_status(self, words: str) -> None:
        """Show what was done in the status line until the cursor moves; empty for nothing."""
        self._done, self._done_at = words, None
        self.set_class(bool(words), "-done")
        if words:
            self._status.update(Styled(one_line(words)))

    def reveal(self, origin: Origin) -> bool:
        """Highlight the row that an origin names or lies in; return False if there is none."""
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
        """Open the form of the message under the cursor, and focus its content or anchor name."""
        if self.index < 0:
            return
        self.set_class(False, "-of-preset").add_class("-form", "-of-message")
        self._fill_form()
        message = self.form.message
        fields = self.form.query(Input)
        target = fields.first() if message is not None and message.is_anchor else self.form.content
        target.focus()

    def open_settings(self) -> None:
        """Open the form of the preset's settings."""
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
        """Close the form, and return to the list from it."""
        if self.form.has_focus_within or self.settings.has_focus_within:
            self.screen.set_focus(self.rows)  # before the focused field is hidden
        self.remove_class("-form")
        self.form.message = None

    @on(EditForm.FormClosed)
    def _form_left(self, event: EditForm.FormClosed) -> None:
        event.stop()
        self.close_form()

    def open_filter(self) -> None:
        """Focus the filter."""
        self.add_class("-filter")
        self.filter.focus()

    @on(Input.Changed)
    def _filter_changed(self, event: Input.Changed) -> None:
        event.stop()
        self.rows.filter(event.value)

    @on(PresetFilterInput.FilterClosed)
    def _filter_left(self, event: PresetFilterInput.FilterClosed) -> None:
        event.stop()
        self.set_class(bool(self.filter.value), "-filter")
        self.rows.focus()
