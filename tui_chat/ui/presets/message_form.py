"""The form of a message: its content, and below it its fields in two columns."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Grid, Horizontal
from textual.content import Content
from textual.widgets import Input, Static, TextArea

from tui_chat.library.editing.edits import follows_name, free_id, id_from_name
from tui_chat.library.editing.slots import depth_fields, depth_of
from tui_chat.models.preset import CHAT_HISTORY, Preset, PresetMessage
from tui_chat.models.sanitize import one_line
from tui_chat.models.text import clean
from tui_chat.ui.presets.content_editor import ContentEditor
from tui_chat.ui.presets.form_fields import EditForm, FormRow
from tui_chat.ui.presets.row_drawing import display_name
from tui_chat.ui.presets.row_edits import placement_kind
from tui_chat.ui.widgets.choice_field import ChoiceField

_LARGEST_NUMBER = 1_000_000
"""Limit of depths and orders; more is a typing error."""
_ROLES = (("system", "system"), ("user", "user"), ("assistant", "assistant"))
_TYPES = (
    ("message", "message"),
    ("chat_history", "chat history"),
    ("user_profile", "user profile"),
    ("placeholder", "placeholder"),
    ("example_dialogues", "examples"),
)
_PLACES = (
    ("list", "in the list"),
    ("depth", "at a depth"),
    ("start", "from the start"),
    ("before", "before …"),
    ("after", "after …"),
)
_CACHES = (("", "no mark"), ("5m", "5 minutes"), ("1h", "1 hour"))
_DETAILS = {"before": "target", "after": "target", "start": "start", "depth": "depth"}
"""The field that says more, by the kind of place."""


class MessageForm(EditForm):
    """Shows a message of a preset; posts every change."""

    DEFAULT_CSS = """
    MessageForm {
        #form-fields { grid-size: 2; grid-rows: 1; height: auto; }
        #form-position {
            column-span: 2;
            height: 1;
            #row-place, #row-place ChoiceField { width: auto; }
            #row-target .label { width: 6; }
        }
        &.-anchor .-of-message { display: none; }
        &.-anchor ContentEditor { display: none; }
    }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+down", "preset_editor.step(1)", "Next", tooltip="The next message"),
        Binding("ctrl+up", "preset_editor.step(-1)", show=False, tooltip="The message above"),
    ]

    def __init__(self) -> None:
        super().__init__(
            FormRow("name", "Name"),
            FormRow("role", "Role", _ROLES),
            FormRow("place", "Position", _PLACES),
            FormRow("target", "At", ()),
            FormRow("depth", "Depth", is_number=True, hint="from the end"),
            FormRow("start", "after", is_number=True, hint="messages"),
            FormRow("enabled", "Sent", (("on", "yes"), ("off", "no"))),
            FormRow("order", "Order", is_number=True),
            FormRow("cache_control", "Cache", _CACHES),
            FormRow("type", "Type", _TYPES),
            FormRow("id", "Id"),
        )
        self._preset = self._saved = Preset("")
        self._left: dict[str, dict[str, Any]] = {}
        """By message id, the target, depth and start that it had, for when its place has them
        again."""
        self._stand_in: tuple[str, str] | None = None
        """A message and the target that it was given because its own one was not possible."""
        self.content = ContentEditor()
        self._position = Horizontal(id="form-position", classes="-of-message")
        self._fault_line = Static(classes="fault", id="form-note")

    @property
    def message(self) -> PresetMessage | None:
        """The message shown; None for none."""
        return self.shown

    def compose(self) -> ComposeResult:
        yield self.content
        yield self.content.macros
        yield self._fault_line
        details = set(_DETAILS.values())
        self.rows["order"].add_class("-of-message")
        with Grid(id="form-fields"):
            for key, row in self.rows.items():
                if key == "place":
                    with self._position:
                        yield row
                        yield from (self.rows[detail] for detail in details)
                elif key not in details:
                    yield row

    def show(self, preset: Preset, index: int, saved: Preset) -> None:
        """Show a message; text being typed is left alone, fields that are not saved are marked."""
        self._preset, self._saved, message = preset, saved, preset.messages[index]
        self.shown = message
        self._remember_place(message)
        self.border_title = Content(f" {one_line(display_name(message), 60)} ")
        in_file = next((each for each in saved.messages if each.id == message.id), message)
        self.set_class(message.is_anchor, "-anchor")
        self._offer_places(preset, message, in_file)
        with self.prevent(Input.Changed, TextArea.Changed):
            for key, row in self.rows.items():
                value = _shown(message, key)
                row.show(value, is_changed=value != _shown(in_file, key))
            if self.content.text != message.content:
                self.content.load_text(message.content)
                self.content.move_cursor(self.content.document.end)
        self.content.variables = tuple(preset.variables)
        self._show_faults()

    def _offer_places(self, preset: Preset, message: PresetMessage, in_file: PresetMessage) -> None:
        """Offer the anchors that the message may be beside, and show the field for its place."""
        kind = placement_kind(message)
        anchors = {CHAT_HISTORY: "the history"}
        anchors |= {m.anchor_id: display_name(m) for m in preset.messages if m.is_anchor}
        target = message.anchor_target or CHAT_HISTORY
        own_ids = {m.id for m in preset.messages if m.type == "chat_history"}
        if target in own_ids:  # the history by its own id
            anchors.setdefault(target, anchors[CHAT_HISTORY])
        for each in {target, in_file.anchor_target or target} - own_ids:
            anchors.setdefault(each, f"{each} (no anchor)")
        if kind != "before":  # after the history is depth 0
            del anchors[CHAT_HISTORY]
        for key, choices in (
            ("target", tuple((key, one_line(name, 24)) for key, name in anchors.items())),
            ("place", _PLACES if anchors else tuple(p for p in _PLACES if p[0] != "after")),
        ):
            field = self.rows[key].field
            if isinstance(field, ChoiceField):
                field.offer(choices, _shown(message, key))
        for key in set(_DETAILS.values()):
            self.rows[key].display = key == _DETAILS.get(kind)

    def _remember_place(self, message: PresetMessage) -> None:
        """Remember the target, depth or start of a message, which other places do not have."""
        left = self._left.setdefault(message.id, {})
        match placement_kind(message):
            case "depth":
                left["depth"] = depth_of(message)
            case "start":
                left["start"] = message.insertion_point
            case "after" if (message.id, message.anchor_target) == self._stand_in:
                pass
            case "before" | "after":
                left["target"] = message.anchor_target
            case _:
                pass

    def _show_faults(self) -> None:
        """Show what is wrong with a field whose value is not taken."""
        fault = ""
        for row in self.rows.values():
            if self.shown is not None and row.field.has_class("-invalid"):
                try:
                    self._changes(self.shown, row)
                except ValueError as error:
                    fault = str(error)
        self._fault_line.update(Content(fault))
        self._fault_line.display = bool(fault)

    def field_changed(self, row: FormRow, key: str) -> None:
        """Take the value of a row, or show what is wrong with it."""
        if self.shown is None:
            return
        try:
            changes = self._changes(self.shown, row)
        except ValueError:
            changes = {}
        if row.key == "target":
            self._stand_in = None
        row.field.set_class(not changes, "-invalid")
        self._show_faults()
        self._post(changes, key)

    @on(TextArea.Changed)
    def _content_changed(self, event: TextArea.Changed) -> None:
        event.stop()
        if self.shown is not None:
            self._post({"content": clean(self.content.text)}, "content")

    def _post(self, changes: dict[str, Any], key: str) -> None:
        if any(getattr(self.shown, name) != value for name, value in changes.items()):
            self.post_change(changes, key)

    def _changes(self, message: PresetMessage, row: FormRow) -> dict[str, Any]:
        """Return the attributes that a row's value gives. Raises ValueError with a sentence."""
        value = clean(row.value)
        match row.key:
            case "place":
                return self._place_fields(message, value)
            case "target":
                return {"anchor_target": value}
            case "depth":
                return depth_fields(_number(message, row.key, value, least=0))
            case "start":
                return {"insertion_point": _number(message, row.key, value, least=0)}
            case "order":
                return {"order": _number(message, row.key, value or "0", least=-_LARGEST_NUMBER)}
            case "enabled":
                return {"enabled": value == "on"}
            case "cache_control":
                return {"cache_control": value or None}
            case "id" if not value.strip():
                raise ValueError(f"An id cannot be empty; it stays “{one_line(message.id, 40)}”.")
            case "id":
                return {"id": value.strip()}
            case "name" if follows_name(message, self._saved):
                wanted = id_from_name(value) or message.type
                return {"name": value, "id": free_id(self._preset, wanted, message)}
            case key:
                return {key: value}

    def _place_fields(self, message: PresetMessage, kind: str) -> dict[str, Any]:
        """Return the fields that give a message another kind of place."""
        others = [m.id for m in self._preset.messages if m.is_anchor and m.type != "chat_history"]
        left = self._left.get(message.id, {})
        target = left.get("target") or CHAT_HISTORY
        if kind == "after" and target == CHAT_HISTORY and others:
            target = others[0]
            self._stand_in = message.id, target
        if kind == "depth":
            return depth_fields(left.get("depth", 1))
        beside = kind in ("before", "after")
        return {
            "insertion_point": left.get("start", 0) if kind == "start" else None,
            "anchor_point": kind if beside else None,
            "anchor_target": target if beside else None,
        }


def _shown(message: PresetMessage, key: str) -> str:
    """Return the text or the chosen value of a field."""
    value: object
    match key:
        case "place":
            value = placement_kind(message)
        case "target":
            value = message.anchor_target or CHAT_HISTORY
        case "depth":
            value = depth_of(message)
        case "start":
            value = message.insertion_point if placement_kind(message) == "start" else None
        case "enabled":
            value = "on" if message.enabled else "off"
        case _:
            value = getattr(message, key)
    return "" if value is None else str(value)


def _number(message: PresetMessage, key: str, typed: str, least: int) -> int:
    with suppress(ValueError):
        if least <= (number := int(typed)) <= _LARGEST_NUMBER:
            return number
    limits = f"a whole number from {least:,} to {_LARGEST_NUMBER:,}"
    raise ValueError(f"{key.title()}: {limits}; it stays {_shown(message, key)}.")
