"""The form of a message: fields, placement, and its content with macro completion."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Any, NamedTuple

from rich.text import Text
from textual import events, on
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Input, OptionList, Static, TextArea
from textual.widgets.option_list import Option

from tui_chat.context.macros.completion import MacroHelp, complete_macro
from tui_chat.models.envelope import Note
from tui_chat.models.preset import (
    CHAT_HISTORY,
    Preset,
    PresetMessage,
)
from tui_chat.models.sanitize import one_line
from tui_chat.models.text import clean
from tui_chat.ui.areas.presets.form_fields import EditForm, FormField
from tui_chat.ui.areas.presets.row_drawing import display_name
from tui_chat.ui.areas.presets.row_edits import placement_kind
from tui_chat.ui.widgets.choice_field import ChoiceField
from tui_chat.ui.widgets.safe_text import SafeTextArea

_BEGUN = re.compile(r"\{\{([\w/]*)\Z")


class MacroList(OptionList, can_focus=False):
    """The macros that complete the text; hidden if there are none."""

    DEFAULT_CSS = """
    MacroList {
        display: none;
        height: auto;
        max-height: 7;
        border: none;
        padding: 0;
        background: $surface;
        color: $foreground;
        scrollbar-size-vertical: 1;
    }
    """

    def __init__(self) -> None:
        super().__init__()
        self._offered: tuple[MacroHelp, ...] = ()

    @property
    def chosen(self) -> MacroHelp | None:
        """The highlighted macro; None if nothing is offered."""
        at = self.highlighted
        return self._offered[at] if self.display and at is not None else None

    def offer(self, macros: tuple[MacroHelp, ...]) -> None:
        """Offer exactly these macros; hide the list if there are none."""
        if macros != self._offered:
            self._offered = macros
            self.clear_options()
            wide = max((len(macro.written) for macro in macros), default=0)
            for macro in macros:
                line = Text(macro.written.ljust(wide + 2), no_wrap=True)
                line.append(macro.words, style="dim")
                self.add_option(Option(line))
            self.highlighted = 0 if macros else None
        self.display = bool(macros)


class ContentEditor(SafeTextArea):
    """The text area of a message's content."""

    DEFAULT_CSS = """
    ContentEditor {
        height: 1fr;
        min-height: 3;
        padding: 0 1;
        border: none;
        background: $surface;
        scrollbar-size-vertical: 1;
        &:focus { border: none; background: $foreground 7%; }
    }
    """

    def __init__(self) -> None:
        super().__init__(
            soft_wrap=True, tab_behavior="focus", highlight_cursor_line=False,
            placeholder="What the model reads; {{ offers macros",
        )  # fmt: skip
        self.macros = MacroList()
        """Mounted by the form, below the text."""
        self.variables: tuple[str, ...] = ()
        """The preset's variables, offered as macros."""

    @on(TextArea.SelectionChanged)
    def _ask(self) -> None:
        begun = self._begun() if self.has_focus else None
        self.macros.offer(() if begun is None else complete_macro(begun, self.variables))

    def _begun(self) -> str | None:
        row, column = self.cursor_location
        match = _BEGUN.search(self.document[row][:column])
        return match[1] if match else None

    def on_blur(self) -> None:
        self.macros.offer(())

    async def _on_key(self, event: events.Key) -> None:
        if self.macros.display and self._choose(event.key):
            event.prevent_default()
            event.stop()

    def _choose(self, key: str) -> bool:
        """Handle a key while macros are offered; return False if it means nothing here."""
        match key:
            case "down":
                self.macros.action_cursor_down()
            case "up":
                self.macros.action_cursor_up()
            case "escape":
                self.macros.offer(())
            case "tab" | "enter":
                begun, chosen = self._begun(), self.macros.chosen
                if begun is None or chosen is None:
                    return False
                row, column = self.cursor_location
                line = self.document[row]
                end = column + 2 * line.startswith("}}", column)
                self.replace(chosen.written, (row, column - len(begun) - 2), (row, end))
                self.macros.offer(())
            case _:
                return False
        return True

    async def _on_paste(self, event: events.Paste) -> None:
        event.prevent_default()
        event.stop()
        text = clean(event.text.replace("\r\n", "\n").replace("\r", "\n"))
        if result := self._replace_via_keyboard(text, *self.selection):
            self.move_cursor(result.end_location)

    def action_undo(self) -> None:
        """Undo in the text, or in the preset if nothing is left to undo."""
        if self.history.undo_stack:
            super().action_undo()
        else:
            self.call_later(self.run_action, "preset_editor.undo")


_LARGEST_NUMBER = 1_000_000
"""Limit of depths and orders in both directions; more is a typing error."""


class MessageField(NamedTuple):
    """A field of the form: what it shows of a message, and what a typed or chosen value changes."""

    id: str
    attribute: str
    """The name of a message's attribute; `placement` stands for several of them."""
    choices: tuple[tuple[str, str], ...] | None = None
    """The values that can be chosen, with their labels; None for a text."""
    is_folded: bool = False
    """True if only the chosen label is shown."""
    is_number: bool = False

    def widget(self) -> FormField | ChoiceField:
        """Return its widget."""
        id = f"form-{self.id}"
        if self.choices is not None:
            return ChoiceField(self.choices, id=id, folded=self.is_folded)
        placeholder, classes = ("", "-number") if self.is_number else (self.id, "")
        return FormField(placeholder=placeholder, id=id, classes=classes, select_on_focus=False)

    def shown(self, message: PresetMessage) -> str:
        """Return the value of a message."""
        match self.attribute:
            case "placement":
                return placement_kind(message)
            case "enabled":
                return "on" if message.enabled else "off"
            case attribute:
                value = getattr(message, attribute)
                return "" if value is None else str(value)

    def changes(self, message: PresetMessage, value: str) -> dict[str, Any]:
        """Return the attributes of a message that a value gives. Raises ValueError with a sentence
        about a text that is not accepted.
        """
        match self.attribute:
            case "placement":
                return placement_fields(message, value)
            case "enabled":
                return {"enabled": value == "on"}
            case "cache_control":
                return {"cache_control": value or None}
            case "id" if not value.strip():
                raise ValueError(f"An id cannot be empty; it stays “{one_line(message.id, 40)}”.")
            case "id":
                return {"id": value.strip()}
            case attribute if self.is_number:
                with suppress(ValueError):
                    if abs(number := int(value or "0" * (attribute == "order"))) <= _LARGEST_NUMBER:
                        return {attribute: number}
                limit = f"from -{_LARGEST_NUMBER:,} to {_LARGEST_NUMBER:,}"
                stays = f"it stays {getattr(message, attribute)}."
                raise ValueError(f"{self.id.title()}: a whole number {limit}; {stays}")
            case attribute:
                return {attribute: value}


def placement_fields(message: PresetMessage, kind: str) -> dict[str, Any]:
    """Return the fields that give a message another kind of placement."""
    beside = kind in ("before", "after")
    depth = message.insertion_point
    return {
        "insertion_point": (-1 if depth is None else depth) if kind == "depth" else None,
        "anchor_point": kind if beside else None,
        "anchor_target": (message.anchor_target or CHAT_HISTORY) if beside else None,
    }


_ROLES = (("system", "system"), ("user", "user"), ("assistant", "assistant"))
_TYPES = (
    ("message", "message"),
    ("chat_history", "chat history"),
    ("user_profile", "user profile"),
    ("placeholder", "placeholder"),
    ("example_dialogues", "example dialogues"),
)
_PLACES = (("list", "in the list"), ("before", "before"), ("after", "after"), ("depth", "depth"))
_CACHES = (("", "no cache mark"), ("5m", "cache 5 min"), ("1h", "cache 1 h"))

FIELDS = (
    MessageField("name", "name"),
    MessageField("id", "id"),
    MessageField("cache", "cache_control", _CACHES, is_folded=True),
    MessageField("role", "role", _ROLES),
    MessageField("type", "type", _TYPES, is_folded=True),
    MessageField("enabled", "enabled", (("on", "on"), ("off", "off"))),
    MessageField("kind", "placement", _PLACES),
    MessageField("at", "anchor_target", (), is_folded=True),
    MessageField("depth", "insertion_point", is_number=True),
    MessageField("order", "order", is_number=True),
)


class MessageForm(EditForm):
    """Shows a message of a preset; posts every change."""

    DEFAULT_CSS = """
    MessageForm {
        #form-note { height: auto; max-height: 2; color: $foreground 70%; padding: 0 1; }
        #form-note.-fault { color: $text-error; }
        &.-anchor #form-place, &.-anchor ContentEditor { display: none; }
        #form-at, #form-depth, #form-depth-label { display: none; }
        &.-beside #form-at { display: block; }
        &.-deep #form-depth { display: block; }
    }
    """

    def __init__(self) -> None:
        super().__init__()
        self.message: PresetMessage | None = None
        """The message shown."""
        self.content = ContentEditor()
        self._widgets = {field.id: field.widget() for field in FIELDS}
        self._note = Static(id="form-note")
        self._notes = ""
        """The notes of the message shown."""

    def compose(self) -> ComposeResult:
        with Horizontal():
            yield Static("Name", classes="label")
            yield self._widgets["name"]
            yield Static("Id", classes="label")
            yield self._widgets["id"]
            yield self._widgets["cache"]
        with Horizontal():
            yield self._widgets["role"]
            yield Static("·", classes="label")
            yield self._widgets["type"]
            yield self._widgets["enabled"]
        with Horizontal(id="form-place"):
            yield self._widgets["kind"]
            yield self._widgets["at"]
            yield self._widgets["depth"]
            yield Static("order", classes="label")
            yield self._widgets["order"]
        yield self._note
        yield self.content
        yield self.content.macros

    def show(self, preset: Preset, index: int, notes: tuple[Note, ...]) -> None:
        """Show a message; text being typed is left alone."""
        self.message = message = preset.messages[index]
        anchors = {CHAT_HISTORY: "the history"}
        anchors |= {m.anchor_id: display_name(m) for m in preset.messages if m.is_anchor}
        target = message.anchor_target or CHAT_HISTORY
        if any(m.type == "chat_history" and m.id == target for m in preset.messages):
            anchors.setdefault(target, anchors[CHAT_HISTORY])  # the history by its own id
        anchors.setdefault(target, f"{target} (no anchor)")
        place = placement_kind(message)
        named = tuple((key, one_line(name, 24)) for key, name in anchors.items())
        self.set_class(message.is_anchor, "-anchor")
        self.set_class(place in ("before", "after"), "-beside")
        self.set_class(place == "depth", "-deep")
        with self.prevent(Input.Changed, TextArea.Changed):
            for field in FIELDS:
                match self._widgets[field.id]:
                    case FormField() as widget:
                        widget.fill(field.shown(message))
                    case ChoiceField() as widget if field.id == "at":
                        widget.offer(named, target)
                    case ChoiceField() as widget:
                        widget.choose(field.shown(message))
            if self.content.text != message.content:
                self.content.load_text(message.content)
                self.content.move_cursor(self.content.document.end)
        self.content.variables = tuple(preset.variables)
        self._notes = "\n".join(one_line(note.sentence) for note in notes[:2])
        self._show_note(self._fault())

    def _show_note(self, fault: str) -> None:
        """Show what is wrong with a field, else the notes of the message."""
        self._note.set_class(bool(fault), "-fault")
        self._note.display = bool(fault or self._notes)
        self._note.update(Content(fault or self._notes))

    def _fault(self) -> str:
        """Return a sentence about a field whose value is not taken; empty if all are."""
        for field in FIELDS:
            widget = self._widgets[field.id]
            if self.message is not None and widget.has_class("-invalid"):
                try:
                    field.changes(self.message, clean(widget.value))
                except ValueError as fault:
                    return str(fault)
        return ""

    @on(TextArea.Changed)
    def _content_changed(self, event: TextArea.Changed) -> None:
        event.stop()
        self._post({"content": clean(self.content.text)}, "content")

    @on(Input.Changed)
    def _field_changed(self, event: Input.Changed) -> None:
        event.stop()
        field, message = self._field_of(event.input), self.message
        if message is None:
            return
        try:
            changes = field.changes(message, clean(event.value))
        except ValueError:
            changes = {}
        event.input.set_class(not changes, "-invalid")
        self._show_note(self._fault())
        self._post(changes, next(iter(changes), ""))

    @on(ChoiceField.ChoiceMade)
    def _chosen(self, event: ChoiceField.ChoiceMade) -> None:
        event.stop()
        if self.message is not None:
            self._post(self._field_of(event.field).changes(self.message, event.value))

    def _field_of(self, widget: Widget) -> MessageField:
        return next(field for field in FIELDS if self._widgets[field.id] is widget)

    def _post(self, changes: dict[str, Any], key: str = "") -> None:
        if any(getattr(self.message, name) != value for name, value in changes.items()):
            self.post_change(changes, key)
