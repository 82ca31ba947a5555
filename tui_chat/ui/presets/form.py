"""One message's form: its fields, its place and its content, each change told at once."""

from __future__ import annotations

from typing import Any

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.content import Content as Styled
from textual.widgets import Input, Static, TextArea

from tui_chat.models.envelope import Note
from tui_chat.models.preset import CHAT_HISTORY, Preset, PresetMessage
from tui_chat.models.text import clean
from tui_chat.models.visible import one_line
from tui_chat.ui.presets.content import Content
from tui_chat.ui.presets.edit_form import EditForm
from tui_chat.ui.presets.field import Field
from tui_chat.ui.presets.look import called
from tui_chat.ui.presets.options import Options

ROLES = (("system", "system"), ("user", "user"), ("assistant", "assistant"))
TYPES = (
    ("message", "message"),
    ("chat_history", "chat history"),
    ("user_profile", "user profile"),
    ("placeholder", "placeholder"),
)
CACHES = (("", "no cache mark"), ("5m", "cache 5 min"), ("1h", "cache 1 h"))
"""Up to where a provider is asked to keep the prompt, and for how long."""
PLACES = (("list", "in the list"), ("before", "before"), ("after", "after"), ("depth", "depth"))


class MessageForm(EditForm):
    """Shows a message of a preset; posts every change."""

    DEFAULT_CSS = """
    MessageForm {
        #form-note { height: auto; max-height: 2; color: $foreground 70%; padding: 0 1; }
        &.-anchor #form-place, &.-anchor Content { display: none; }
        #form-at, #form-depth, #form-depth-label { display: none; }
        &.-beside #form-at { display: block; }
        &.-deep #form-depth { display: block; }
    }
    """

    def __init__(self) -> None:
        super().__init__()
        self.message: PresetMessage | None = None
        """What is shown."""
        self.content = Content()
        self._name_field = Field(placeholder="name", id="form-name", select_on_focus=False)
        self._id_field = Field(placeholder="id", id="form-id", select_on_focus=False)
        self._depth = Field(id="form-depth", classes="-number", select_on_focus=False)
        self._order = Field(id="form-order", classes="-number", select_on_focus=False)
        self._role = Options(ROLES, id="form-role")
        self._type = Options(TYPES, id="form-type", folded=True)
        self._enabled = Options((("on", "on"), ("off", "off")), id="form-enabled")
        self._cache = Options(CACHES, id="form-cache", folded=True)
        self._place = Options(PLACES, id="form-kind")
        self._at = Options((), id="form-at", folded=True)
        self._note = Static(id="form-note")

    def compose(self) -> ComposeResult:
        """Lay the fields out in three lines over the content."""
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
            yield Static("·", classes="label")
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
        """Show a message; what is typed already is left alone."""
        self.message = message = preset.messages[index]
        anchors = {CHAT_HISTORY: "the history"}
        anchors |= {m.anchor_id: called(m) for m in preset.messages if m.is_anchor}
        target = message.anchor_target or CHAT_HISTORY
        if any(m.type == "chat_history" and m.id == target for m in preset.messages):
            anchors.setdefault(target, anchors[CHAT_HISTORY])  # the history by its own id
        anchors.setdefault(target, f"{target} (no anchor)")
        place = _place(message)
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
        self._note.display = bool(notes)
        self._note.update(Styled("\n".join(one_line(note.sentence) for note in notes[:2])))

    @on(TextArea.Changed)
    def _content_changed(self, event: TextArea.Changed) -> None:
        event.stop()
        self._tell("content", clean(self.content.text))

    @on(Input.Changed)
    def _field_changed(self, event: Input.Changed) -> None:
        event.stop()
        text = clean(event.value)
        match event.input.id:
            case "form-name":
                self._tell("name", text)
            case "form-id":
                event.input.set_class(not text.strip(), "-invalid")
                if text.strip():
                    self._tell("id", text.strip())
            case "form-depth":
                self._tell_number("insertion_point", event.input, text)
            case _:
                self._tell_number("order", event.input, text or "0")

    def _tell_number(self, field: str, at: Input, text: str) -> None:
        try:
            number = int(text)
        except ValueError:
            number = None
        good = number is not None and abs(number) <= MOST
        at.set_class(not good, "-invalid")
        if good:
            self._tell(field, number)

    def _tell(self, field: str, value: object) -> None:
        if self.message is not None and getattr(self.message, field) != value:
            self.tell({field: value}, field)

    @on(Options.Chosen)
    def _chosen(self, event: Options.Chosen) -> None:
        event.stop()
        message, value = self.message, event.value
        if message is None:
            return
        fields: dict[str, Any]
        match event.options.id:
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
                fields = placed(message, value)
        self.tell(fields)


MOST = 1_000_000
"""Of depths and orders, either way; beyond that it is a slip of the hand."""


def _place(message: PresetMessage) -> str:
    if message.insertion_point is not None:
        return "depth"
    if message.anchor_point is None and message.anchor_target is None:
        return "list"
    return message.anchor_point or "after"


def placed(message: PresetMessage, kind: str) -> dict[str, Any]:
    """Return the fields that bring a message to another kind of place."""
    beside = kind in ("before", "after")
    depth = message.insertion_point
    return {
        "insertion_point": (-1 if depth is None else depth) if kind == "depth" else None,
        "anchor_point": kind if beside else None,
        "anchor_target": (message.anchor_target or CHAT_HISTORY) if beside else None,
    }
