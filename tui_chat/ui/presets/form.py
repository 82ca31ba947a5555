"""The form of a message: its fields, where it goes in words, and its text."""

from __future__ import annotations

from typing import Any, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Grid, Horizontal, Vertical
from textual.content import Content
from textual.message import Message
from textual.validation import Integer
from textual.widgets import Checkbox, Input, Select, Static, TextArea

from tui_chat.lazy_dataclass import dataclass
from tui_chat.library.editing.edits import follows_name, free_id, id_from_name
from tui_chat.library.editing.places import display_name
from tui_chat.library.editing.slots import depth_fields, depth_of
from tui_chat.models.preset import CHAT_HISTORY, Preset, PresetMessage
from tui_chat.models.sanitize import one_line
from tui_chat.models.text import clean
from tui_chat.ui.presets.content_editor import ContentEditor
from tui_chat.ui.presets.edits import placement_kind
from tui_chat.ui.widgets.form_fields import CheckField, ChoiceSelect
from tui_chat.ui.widgets.safe_text import TextField

_MOST = 9_999
"""Limit of depths and orders; more is a typing error."""
_ROLES = (("system", "system"), ("user", "user"), ("assistant", "assistant"))
_POSITIONS = (
    ("In list order", "list"),
    ("Before an anchor", "before"),
    ("After an anchor", "after"),
    ("At a depth, from the newest", "depth"),
    ("After N messages, from the start", "start"),
)
_CACHES = (("none", ""), ("5 minutes", "5m"), ("1 hour", "1h"))
_DETAILS = {"before": "Target", "after": "Target", "depth": "Depth", "start": "After"}
"""The label of the field beside a position."""


@dataclass
class FieldsChanged(Message):
    """The user changed fields of the message that the form shows."""

    fields: dict[str, Any]
    key: str
    """The field being typed into, whose edits merge; empty for a choice."""
    shown: PresetMessage
    """The message that the form showed."""


class FormField(TextField):
    """A line of text in a form; with validators, a whole number."""

    DEFAULT_CSS = """
    FormField, FormField:focus { height: 1; width: 1fr; border: none; }
    FormField.-textual-compact { padding: 0 1; background: $panel; }
    FormField.-textual-compact:focus { background: $primary 20%; }
    FormField.-textual-compact.-invalid { border: none; background: $error 30%; }
    FormField.-textual-compact.-invalid:focus { border: none; background: $error 30%; }
    """

    def __init__(self, *, id: str, numbers: tuple[int, int] | None = None) -> None:
        """`numbers` are the least and the most that a whole number may be."""
        validators = [Integer(*numbers)] if numbers is not None else []
        super().__init__(id=id, validators=validators, select_on_focus=False, compact=True)

    def fill(self, value: str) -> None:
        """Set the value, unless the text means the same or is being typed and wrong."""
        is_typed = self.has_focus and self.has_class("-invalid")
        if self.value.strip() != value and not is_typed:
            self.value = value
            self.remove_class("-invalid")
            if not self.has_focus:
                self.cursor_position = len(value)


class MessageForm(Vertical):
    """Shows a message of a preset; posts every change."""

    DEFAULT_CSS = """
    MessageForm {
        display: none;
        height: 1fr;
        padding: 0 1;
        #form-fields { grid-size: 2; grid-columns: 11 1fr; grid-rows: 1; height: auto; }
        #form-fields { margin-top: 1; }
        #form-place { height: 2; margin: 1 0; color: $origin-preset; }
        #form-place.-warning { color: $text-warning; }
        #form-place.-fault { color: $text-error; }
        #form-more { height: 1; margin-top: 1; }
        #form-more > .label { width: auto; margin: 0 1 0 2; }
        #form-more CheckField { width: auto; }
        #form-more FormField { width: 8; }
        #form-more ChoiceSelect { width: 16; }
        .label { color: $label; }
        &.-anchor .-of-message, &.-without-role .-of-role { display: none; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "preset_editor.close_form", "List", tooltip="Back to the list"),
        Binding("ctrl+down", "preset_editor.step(1)", "Next", tooltip="The next message"),
        Binding("ctrl+up", "preset_editor.step(-1)", show=False, tooltip="The message above"),
        Binding("ctrl+g", "presets.edit_content", show=False, tooltip="The text in $EDITOR"),
    ]

    def __init__(self) -> None:
        super().__init__()
        self.shown: PresetMessage | None = None
        """The message whose fields are shown; None for none."""
        self._preset = self._saved = Preset("")
        self._place = ""
        self.name_field = FormField(id="form-name")
        self._role = ChoiceSelect(_ROLES, id="form-role")
        self._position = ChoiceSelect(_POSITIONS, id="form-position")
        self._number = FormField(id="form-number", numbers=(0, _MOST))
        self._target = ChoiceSelect([("Chat history", CHAT_HISTORY)], id="form-target")
        self._detail = Static(classes="label -of-message")
        self._result = Static(id="form-place", classes="-of-message")
        self.content = ContentEditor()
        self._sent = CheckField("Sent", id="form-enabled")
        self._order = FormField(id="form-order", numbers=(-_MOST, _MOST))
        self._cache = ChoiceSelect(_CACHES, id="form-cache_control")

    def compose(self) -> ComposeResult:
        for field in (self._position, self._number, self._target, self.content, self._order):
            field.add_class("-of-message")
        with Grid(id="form-fields"):
            yield Static("Name", classes="label")
            yield self.name_field
            yield Static("Role", classes="label -of-role")
            yield self._role.add_class("-of-role")
            yield Static("Position", classes="label -of-message")
            yield self._position
            yield self._detail
            yield self._number
            yield self._target
        yield self._result
        yield self.content
        yield self.content.macros
        with Horizontal(id="form-more"):
            yield self._sent
            yield Static("Order", classes="label -of-message")
            yield self._order
            yield Static("Cache mark", classes="label")
            yield self._cache

    def show(self, preset: Preset, index: int, saved: Preset) -> None:
        """Show a message; text being typed is left alone."""
        self._preset, self._saved, message = preset, saved, preset.messages[index]
        if self.shown is None or self.shown.id != message.id:
            for field in (self._number, self._order):
                field.remove_class("-invalid")
        self.shown = message
        self.set_class(message.is_anchor, "-anchor")
        has_role = message.type in ("message", "user_profile")
        self.set_class(not has_role, "-without-role")
        kind = placement_kind(message)
        number = message.insertion_point if kind == "start" else depth_of(message)
        with self.prevent(Input.Changed, TextArea.Changed, Select.Changed, Checkbox.Changed):
            self.name_field.fill(message.name)
            self._role.choose(message.role)
            targets = self._targets(message, kind)
            has_target = any(target != CHAT_HISTORY for _, target in targets)
            positions = [each for each in _POSITIONS if has_target or each[1] != "after"]
            self._position.choose(kind, positions)
            self._target.choose(message.anchor_target or CHAT_HISTORY, targets)
            self._number.fill("" if number is None else str(number))
            self._order.fill(str(message.order))
            self._cache.choose(message.cache_control or "")
            self._sent.value = message.enabled
            if self.content.text != message.content:
                self.content.load_text(message.content)
                self.content.move_cursor(self.content.document.end)
        self._detail.update(_DETAILS.get(kind, ""))
        self._number.display = kind in ("depth", "start")
        self._target.display = kind in ("before", "after")
        self._detail.display = kind != "list"
        self.content.variables = tuple(preset.variables)
        self.show_place(self._place)

    def _targets(self, message: PresetMessage, kind: str) -> list[tuple[str, str]]:
        """Return the names and ids of the anchors that the message may be beside."""
        anchors = [m for m in self._preset.messages if m.is_anchor and m is not message]
        names = {m.anchor_id: display_name(m) + ("" if m.enabled else " (off)") for m in anchors}
        names = {CHAT_HISTORY: "Chat history"} | names
        if kind == "after":  # after the history is depth 0
            del names[CHAT_HISTORY]
        target = message.anchor_target
        if target and target not in {CHAT_HISTORY, *(m.id for m in anchors)}:
            names.setdefault(target, f"{one_line(target, 40)} (no anchor)")
        return [(name, anchor) for anchor, name in names.items()]

    def show_place(self, sentence: str) -> None:
        """Show where the message goes, or what is wrong with a number that is not taken."""
        self._place = sentence
        fault = ""
        if self.shown is not None and self._number.display and self._number.has_class("-invalid"):
            word = _DETAILS[placement_kind(self.shown)]
            stays = self.shown.insertion_point if word == "After" else depth_of(self.shown)
            fault = f"✗ {word} must be a whole number from 0 to {_MOST:,}. It stays {stays}."
        elif self.shown is not None and self._order.has_class("-invalid"):
            limits = f"from {-_MOST:,} to {_MOST:,}"
            fault = f"✗ Order must be a whole number {limits}. It stays {self.shown.order}."
        self._result.set_class(bool(fault), "-fault")
        self._result.set_class(sentence.startswith("▲"), "-warning")
        self._result.update(Content(fault or sentence))

    @on(Input.Changed)
    @on(TextArea.Changed)
    @on(Select.Changed)
    @on(Checkbox.Changed)
    def _changed(self, event: Message) -> None:
        event.stop()
        message, field = self.shown, event.control
        if message is None or field is None:
            return
        if field is self.content:
            self._post({"content": clean(self.content.text)}, "content")
            return
        key = (field.id or "").removeprefix("form-")
        value: str | bool = getattr(field, "value")  # noqa: B009  a field has one
        if isinstance(field, Input) and not field.is_valid:
            self.show_place(self._place)
            return
        self._post(self._fields(message, key, value), key if isinstance(field, Input) else "")
        self.show_place(self._place)

    def _post(self, fields: dict[str, Any], key: str) -> None:
        """Post fields if one of them changed; `key` names the field being typed into."""
        shown = self.shown
        changed = any(getattr(shown, name) != value for name, value in fields.items())
        if shown is not None and changed:
            self.post_message(FieldsChanged(fields, key, shown))

    def _fields(self, message: PresetMessage, key: str, value: str | bool) -> dict[str, Any]:
        """Return the attributes that a field's value gives."""
        text = clean(str(value))
        match key:
            case "position":
                return self._place_fields(message, text)
            case "target":
                return {"anchor_target": text} if self._target.display else {}
            case "number" if placement_kind(message) == "start":
                return {"insertion_point": int(float(text))}
            case "number" if placement_kind(message) == "depth":
                return depth_fields(int(float(text)))
            case "order":
                return {"order": int(float(text))}
            case "cache_control":
                return {"cache_control": text or None}
            case "name" if follows_name(message, self._saved):
                wanted = id_from_name(text) or message.type
                return {"name": text, "id": free_id(self._preset, wanted, message)}
            case "name" | "role":
                return {key: text}
            case "enabled":
                return {"enabled": value}
            case _:
                return {}

    def _place_fields(self, message: PresetMessage, kind: str) -> dict[str, Any]:
        """Return the fields that give a message another kind of place."""
        if kind == placement_kind(message):
            return {}
        if kind == "depth":
            return depth_fields(1)
        target = message.anchor_target
        if kind in ("before", "after") and (target is None or kind == "after"):
            target = next((each for _, each in self._targets(message, kind)), CHAT_HISTORY)
        beside = kind in ("before", "after")
        return {
            "insertion_point": 0 if kind == "start" else None,
            "anchor_point": kind if beside else None,
            "anchor_target": target if beside else None,
        }
