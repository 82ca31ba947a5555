"""The form of a message: fields, placement, and its content with macro completion.

The edits that keys make of the message under the cursor, each with a label for the undo list.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from rich.text import Text
from textual import events, on
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.content import Content
from textual.message import Message
from textual.widgets import Input, OptionList, Static, TextArea
from textual.widgets.option_list import Option

from tui_chat.analysis.unsent_messages import only_on
from tui_chat.context.macros.completion import MacroHelp, complete_macro
from tui_chat.lazy_dataclass import dataclass
from tui_chat.library.editing import (
    MessageGroup,
    Outline,
    OutlineRow,
    add_message,
    change_message,
    duplicate_message,
    next_slot,
    place_like,
    put_in_slot,
    remove_message,
    switch_group,
)
from tui_chat.models.envelope import Note
from tui_chat.models.message import MessageRole
from tui_chat.models.preset import (
    CHAT_HISTORY,
    CacheLifetime,
    Preset,
    PresetMessage,
    PresetMessageType,
)
from tui_chat.models.sanitize import one_line
from tui_chat.models.text import clean
from tui_chat.ui.areas.presets.form_fields import EditForm, FormField
from tui_chat.ui.areas.presets.row_drawing import display_name
from tui_chat.ui.widgets.choice_field import ChoiceField
from tui_chat.ui.widgets.safe_text import SafeTextArea

KINDS: tuple[tuple[PresetMessageType, str, str], ...] = (
    ("message", "Message", "something to send"),
    ("chat_history", "Chat history", "anchor: where the conversation goes"),
    ("user_profile", "User profile", "anchor: where the profile goes"),
    ("placeholder", "Placeholder", "anchor: a place for others to stand at"),
    ("example_dialogues", "Example dialogues", "anchor: where the character's examples go"),
)
_NEXT_MARK: dict[CacheLifetime | None, CacheLifetime | None] = {None: "5m", "5m": "1h", "1h": None}
_ROLES: tuple[MessageRole, ...] = ("system", "user", "assistant")
_BEGUN = re.compile(r"\{\{([\w/]*)\Z")


@dataclass(frozen=True, slots=True)
class LabelledEdit:
    """The preset after an edit."""

    preset: Preset
    label: str


def switch_heading(
    preset: Preset, group: MessageGroup, before: frozenset[str]
) -> tuple[LabelledEdit, frozenset[str]]:
    """Return the edit that switches a group, and the ids of its messages that were on; `before` are
    those that were on when it was switched off last.
    """
    on = frozenset(preset.messages[index].id for index in group.enabled(preset))
    word = "disable" if on else "enable"
    name = one_line(group.title, 40)
    return LabelledEdit(switch_group(preset, group, before), f"{word} the group “{name}”"), on


def edit_for(outline: Outline, index: int, action: str) -> LabelledEdit | None:
    """Return the edit that an action makes; None if it changes nothing here."""
    preset = outline.preset
    message = preset.messages[index]
    name = quoted(message)
    match action:
        case "enable":
            word = "disable" if message.enabled else "enable"
            return LabelledEdit(
                change_message(preset, index, enabled=not message.enabled), f"{word} {name}"
            )
        case "duplicate":
            return LabelledEdit(duplicate_message(preset, index), f"duplicate {name}")
        case "delete":
            return LabelledEdit(remove_message(preset, index), f"delete {name}")
        case "up" | "down":
            slot = next_slot(outline, index, -1 if action == "up" else 1)
            if slot is None:
                return None
            return LabelledEdit(put_in_slot(preset, index, slot), f"move {name} {slot.description}")
        case "role":
            at = _ROLES.index(message.role) + 1 if message.role in _ROLES else 0
            role = _ROLES[at % len(_ROLES)]
            return LabelledEdit(change_message(preset, index, role=role), f"let {role} say {name}")
        case "mark" if message.type != "placeholder":
            lifetime = _NEXT_MARK[message.cache_control]
            words = f"mark {name} for {lifetime}" if lifetime else f"take the mark off {name}"
            return LabelledEdit(change_message(preset, index, cache_control=lifetime), words)
        case "higher" | "lower":
            return _change_depth(preset, index, -1 if action == "higher" else 1)
        case _:
            return None


def _change_depth(preset: Preset, index: int, by: int) -> LabelledEdit | None:
    """Change the depth of a message by a step; it keeps the end that it counts from.

    A message without a depth gets -1.
    """
    message = preset.messages[index]
    depth = message.insertion_point
    if message.is_anchor:
        return None
    if depth is None:
        fields = {"insertion_point": -1, "anchor_point": None, "anchor_target": None}
    elif (depth < 0) != (depth + by < 0):
        return None
    else:
        fields = {"insertion_point": depth + by}
    after = change_message(preset, index, **fields)
    return LabelledEdit(after, f"move {quoted(message)} to depth {fields['insertion_point']}")


def after_delete(outline: Outline, index: int) -> int:
    """Return the list index, after a deletion, of the message next to the deleted one."""
    rows, at = outline.rows, outline.row_of(index)
    near = (*rows[at + 1 :], *reversed(rows[:at]))
    found = next((row.index for row in near if row.message is not None), -1)
    return found - (found > index)


def with_new(preset: Preset, row: OutlineRow | None, kind: str) -> Preset:
    """Return the preset with a new message or anchor after the one under the cursor."""
    at = row.index + 1 if row is not None and row.index >= 0 else None
    found: PresetMessageType = next(each for each, _, _ in KINDS if each == kind)
    if found == "message":
        return add_message(preset, place_like(PresetMessage("message", "user"), row), at)
    return add_message(preset, PresetMessage(found, "user", type=found), at)


def placement_sentence(row: OutlineRow, names: Mapping[str, str]) -> str:
    """Return a sentence about where a row is placed; `names` are those of the anchors, by id."""
    message = row.message
    assert message is not None
    called = names.get(row.anchor, row.anchor)
    at = "the history" if row.anchor == CHAT_HISTORY else f"“{one_line(called, 40)}”"
    match row.placement:
        case "system":
            words = "It goes first, with the other system messages."
        case "before" | "after":
            words = f"It is anchored {row.placement} {at}."
        case "depth":
            words = f"It is in the history at depth {row.depth}."
        case "anchor":
            words = f"Others can stand before and after it, as “{message.anchor_id}”."
        case "unplaced" if message.triggers:
            words = f"It is sent {only_on(message.triggers)}."
        case "unplaced":
            words = "It has no place in the context."
        case _:
            words = "It is in the list."
    return f"Off. {words}" if row.disabled else words


def quoted(message: PresetMessage) -> str:
    """Return the name of a message in the undo list."""
    return f"“{one_line(message.name or message.id, 40)}”"


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
        """Hide the macros."""
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

    def compose(self) -> ComposeResult:
        """Put three lines of fields over the content."""
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
        place = _placement_kind(message)
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
        self._note.update(Content("\n".join(one_line(note.sentence) for note in notes[:2])))

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


def _placement_kind(message: PresetMessage) -> str:
    if message.insertion_point is not None:
        return "depth"
    if message.anchor_point is None and message.anchor_target is None:
        return "list"
    return message.anchor_point or "after"


def placement_fields(message: PresetMessage, kind: str) -> dict[str, Any]:
    """Return the fields that give a message another kind of placement."""
    beside = kind in ("before", "after")
    depth = message.insertion_point
    return {
        "insertion_point": (-1 if depth is None else depth) if kind == "depth" else None,
        "anchor_point": kind if beside else None,
        "anchor_target": (message.anchor_target or CHAT_HISTORY) if beside else None,
    }
