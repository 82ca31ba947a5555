"""The form of a message: fields, placement, and its content with macro completion."""

from __future__ import annotations

import re
from typing import Any

from rich.text import Text
from textual import events, on
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.content import Content
from textual.message import Message
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

    class PresetUndoRequested(Message):
        """There is nothing left to undo in the text."""

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
        found = _BEGUN.search(self.document[row][:column])
        return found[1] if found else None

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
            self.post_message(self.PresetUndoRequested())


ROLES = (("system", "system"), ("user", "user"), ("assistant", "assistant"))
TYPES = (
    ("message", "message"),
    ("chat_history", "chat history"),
    ("user_profile", "user profile"),
    ("placeholder", "placeholder"),
    ("example_dialogues", "example dialogues"),
)
CACHES = (("", "no cache mark"), ("5m", "cache 5 min"), ("1h", "cache 1 h"))
"""How long the provider is asked to cache the prompt up to the message."""
PLACES = (("list", "in the list"), ("before", "before"), ("after", "after"), ("depth", "depth"))


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
        self._name_field = FormField(placeholder="name", id="form-name", select_on_focus=False)
        self._id_field = FormField(placeholder="id", id="form-id", select_on_focus=False)
        self._depth = FormField(id="form-depth", classes="-number", select_on_focus=False)
        self._order = FormField(id="form-order", classes="-number", select_on_focus=False)
        self._role = ChoiceField(ROLES, id="form-role")
        self._type = ChoiceField(TYPES, id="form-type", folded=True)
        self._enabled = ChoiceField((("on", "on"), ("off", "off")), id="form-enabled")
        self._cache = ChoiceField(CACHES, id="form-cache", folded=True)
        self._place = ChoiceField(PLACES, id="form-kind")
        self._at = ChoiceField((), id="form-at", folded=True)
        self._note = Static(id="form-note")
        self._notes = ""
        """The notes of the message shown."""

    def compose(self) -> ComposeResult:
        with Horizontal():
            yield Static("Name", classes="label")
            yield self._name_field
            yield Static("Id", classes="label")
            yield self._id_field
            yield self._cache
        with Horizontal():
            yield self._role
            yield Static("·", classes="label")
            yield self._type
            yield self._enabled
        with Horizontal(id="form-place"):
            yield self._place
            yield self._at
            yield self._depth
            yield Static("order", classes="label")
            yield self._order
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
        self.set_class(message.is_anchor, "-anchor")
        self.set_class(place in ("before", "after"), "-beside")
        self.set_class(place == "depth", "-deep")
        with self.prevent(Input.Changed, TextArea.Changed):
            self._name_field.fill(message.name)
            self._id_field.fill(message.id)
            self._order.fill(str(message.order))
            depth = message.insertion_point
            self._depth.fill("" if depth is None else str(depth))
            if self.content.text != message.content:
                self.content.load_text(message.content)
                self.content.move_cursor(self.content.document.end)
        self._role.choose(message.role)
        self._type.choose(message.type)
        self._cache.choose(message.cache_control or "")
        self._enabled.choose("on" if message.enabled else "off")
        self._place.choose(place)
        named = {key: one_line(name, 24) for key, name in anchors.items()}
        self._at.offer(tuple(named.items()), target)
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
        message = self.message
        if message is None:
            return ""
        if self._id_field.has_class("-invalid"):
            return f"An id cannot be empty; it stays “{one_line(message.id, 40)}”."
        for name, field, value in (
            ("depth", self._depth, message.insertion_point),
            ("order", self._order, message.order),
        ):
            if field.has_class("-invalid"):
                limit = f"from -{_LARGEST_NUMBER:,} to {_LARGEST_NUMBER:,}"
                return f"{name.title()}: a whole number {limit}; it stays {value}."
        return ""

    @on(TextArea.Changed)
    def _content_changed(self, event: TextArea.Changed) -> None:
        event.stop()
        self._post_field("content", clean(self.content.text))

    @on(Input.Changed)
    def _field_changed(self, event: Input.Changed) -> None:
        event.stop()
        text = clean(event.value)
        match event.input.id:
            case "form-name":
                self._post_field("name", text)
            case "form-id":
                event.input.set_class(not text.strip(), "-invalid")
                self._show_note(self._fault())
                if text.strip():
                    self._post_field("id", text.strip())
            case "form-depth":
                self._post_number("insertion_point", event.input, text)
            case _:
                self._post_number("order", event.input, text or "0")

    def _post_number(self, field: str, at: Input, text: str) -> None:
        try:
            number = int(text)
        except ValueError:
            number = None
        good = number is not None and abs(number) <= _LARGEST_NUMBER
        at.set_class(not good, "-invalid")
        self._show_note(self._fault())
        if good:
            self._post_field(field, number)

    def _post_field(self, field: str, value: object) -> None:
        if self.message is not None and getattr(self.message, field) != value:
            self.post_change({field: value}, field)

    @on(ChoiceField.ChoiceMade)
    def _chosen(self, event: ChoiceField.ChoiceMade) -> None:
        event.stop()
        message, value = self.message, event.value
        if message is None:
            return
        fields: dict[str, Any]
        match event.field.id:
            case "form-role":
                fields = {"role": value}
            case "form-type":
                fields = {"type": value}
            case "form-enabled":
                fields = {"enabled": value == "on"}
            case "form-cache":
                fields = {"cache_control": value or None}
            case "form-at":
                fields = {"anchor_target": value}
            case _:
                fields = placement_fields(message, value)
        self.post_change(fields)


_LARGEST_NUMBER = 1_000_000
"""Limit of depths and orders in both directions; more is a typing error."""


def placement_fields(message: PresetMessage, kind: str) -> dict[str, Any]:
    """Return the fields that give a message another kind of placement."""
    beside = kind in ("before", "after")
    depth = message.insertion_point
    return {
        "insertion_point": (-1 if depth is None else depth) if kind == "depth" else None,
        "anchor_point": kind if beside else None,
        "anchor_target": (message.anchor_target or CHAT_HISTORY) if beside else None,
    }
