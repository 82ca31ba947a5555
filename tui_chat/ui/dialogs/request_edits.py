"""The dialogs about edits of the request by hand: one value, and the list of all edits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal, NamedTuple

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.widgets import Input, OptionList, Static, TextArea
from textual.widgets.option_list import Option

from tui_chat.models.edited_body import EditResult
from tui_chat.models.json_text import JsonError, decode_repaired
from tui_chat.models.json_tree import body_of
from tui_chat.models.request_edit import json_pointer
from tui_chat.models.sanitize import one_line, sanitize
from tui_chat.ui.dialogs.base import Dialog, set_title
from tui_chat.ui.dialogs.forms import Form
from tui_chat.ui.inspector.edit_place import EditPlace
from tui_chat.ui.widgets.check_field import CheckField
from tui_chat.ui.widgets.safe_text import SafeTextArea, TextField

LONGEST_SIDE = 20_000
"""Characters of a value that are shown in the list."""

_ABOUT = (
    "This changes the request, not the preset. In the request, Enter on the text opens its origin."
)

_JSON_HINT = 'Such as 0.5, true or "text"'


class EditAnswer(NamedTuple):
    """A value that was written by hand."""

    key: str
    """The key of what is added to an object; empty otherwise."""
    value: object
    kept: bool
    """True if it holds for every request of the session."""


class RequestEditForm(Form[EditAnswer | None]):
    """Edits a value of the request, or writes one that is added."""

    DEFAULT_CSS = """
    RequestEditForm {
        & > Vertical { width: 110; height: auto; }
        #fields { height: auto; }
        TextArea, TextArea:focus { height: auto; min-height: 4; max-height: 40vh; }
    }
    """
    AUTO_FOCUS = "Input, TextArea"

    def __init__(
        self, place: EditPlace, text: str, *, adds: bool = False, is_kept: bool = False
    ) -> None:
        """`text` is the value to begin with."""
        super().__init__()
        self._place = place
        self._text = text
        self._adds = adds
        self._is_kept = is_kept
        self._has_key = adds and place.new_path[-1] == ""
        self._is_text = place.is_text and not adds

    def compose(self) -> ComposeResult:
        with Vertical() as box:
            pointer = self._place.pointer
            holder = json_pointer(self._place.new_path[:-1]) or "the request"
            set_title(box, f"Add to {holder}" if self._adds else f"Edit {pointer}")
            with Vertical(id="fields"):
                if self._has_key:
                    yield Static("Key", classes="label -first")
                    yield TextField(id="key")
                kind = "Text" if self._is_text else "Value, as JSON: a text in double quotes"
                yield Static(kind, classes="label" if self._has_key else "label -first")
                hint = "" if self._is_text else _JSON_HINT
                yield SafeTextArea(self._text, id="value", tab_behavior="focus", placeholder=hint)
                label = "In every request of this session, until it is removed"
                yield CheckField(label, self._is_kept, id="kept")
                yield Static(_ABOUT, classes="label")
            yield from self.buttons()

    def on_mount(self) -> None:
        editor = self.query_one(TextArea)
        blank = self._text.find('""') if self._adds else -1
        if blank >= 0:  # between the quotes of the text that is still to be written
            lines = self._text[: blank + 1].split("\n")
            editor.move_cursor((len(lines) - 1, len(lines[-1])))
        else:
            editor.move_cursor(editor.document.end)

    def action_save(self) -> None:
        """Answer with the value, unless it is not JSON where JSON is wanted."""
        text = self.query_one(TextArea).text
        key = self.query_one("#key", Input).value.strip() if self._has_key else ""
        if self._has_key and not key:
            self.show_fault("A key is missing.", "key")
            return
        if not (self._is_text or text.strip()):
            self.show_fault("A value is missing.", "value")
            return
        value: object = text
        if not self._is_text:
            try:
                value, _ = decode_repaired(text)
            except JsonError as error:
                self.show_fault(f"{error.place}: this {error.sentence}.", "value")
                return
        self.dismiss(EditAnswer(key, value, self.query_one(CheckField).value))


class ListAnswer(NamedTuple):
    """What is to be done with an edit of the list."""

    act: Literal["show", "remove", "keep"]
    number: int
    """Its place in the list, from 0."""


class EditListDialog(Dialog[ListAnswer | None]):
    """Lists edits by hand with the old and the new value of the marked one."""

    DEFAULT_CSS = """
    EditListDialog > Vertical { width: 120; }
    EditListDialog OptionList, EditListDialog OptionList:focus {
        max-height: 9;
        margin-top: 0;
        border: none;
    }
    EditListDialog #sides { height: auto; max-height: 16; margin-top: 1; }
    EditListDialog .side {
        width: 1fr;
        height: auto;
        min-height: 4;
        max-height: 16;
        border-top: solid $primary;
        padding: 0 1;
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("delete,d", "answer('remove')", "Remove", show=False, priority=True),
        Binding("space", "answer('keep')", "Keep", show=False, priority=True),
        Binding("pagedown,right", "scroll(1)", "Read on", show=False, priority=True),
        Binding("pageup,left", "scroll(-1)", "Read back", show=False, priority=True),
    ]

    def __init__(self, results: Sequence[EditResult], index: int, *, may_change: bool) -> None:
        super().__init__()
        self._results = results
        self._index = min(index, len(results) - 1)
        self._may_change = may_change

    def compose(self) -> ComposeResult:
        with Vertical() as box:
            count = len(self._results)
            box.border_title = f"{count:,} edit{'s' * (count != 1)} by hand"
            yield OptionList(*map(_line, self._results))
            with Horizontal(id="sides"):
                for name, title in (("old", "Before"), ("new", "Edited")):
                    with VerticalScroll(id=name, classes="side") as side:
                        side.can_focus = False
                        side.border_title = title
                        yield Static(markup=False)
            change = "Delete remove · Space one request or all · " * self._may_change
            yield Static(f"{change}Enter go there · Esc close", classes="hint", markup=False)

    def on_mount(self) -> None:
        self.query_one(OptionList).highlighted = self._index

    @on(OptionList.OptionHighlighted)
    def _marked(self, event: OptionList.OptionHighlighted) -> None:
        self._index = event.option_index
        result = self._results[event.option_index]
        before = "" if result.before is None else body_of(result.before).decode()
        old, new = before or "It was not there.", result.edit.value or "Removed."
        if result.fault:
            old = f"Not applied: {result.fault}."
        for name, text in (("old", old), ("new", new)):
            side = self.query_one(f"#{name}", VerticalScroll)
            side.query_one(Static).update(Text(sanitize(text[:LONGEST_SIDE])))
            side.scroll_home(animate=False)

    @on(OptionList.OptionSelected)
    def _chosen(self) -> None:
        self.dismiss(ListAnswer("show", self._index))

    def action_answer(self, act: Literal["remove", "keep"]) -> None:
        if self._may_change:
            self.dismiss(ListAnswer(act, self._index))

    def action_scroll(self, direction: int) -> None:
        """Read both sides on, or back."""
        for side in self.query(".side"):
            side.scroll_relative(y=direction * max(side.size.height - 1, 1), animate=False)


_VERBS = {"set": "edited", "add": "added", "remove": "removed"}


def _line(result: EditResult) -> Option:
    edit = result.edit
    text = Text(no_wrap=True, overflow="ellipsis")
    text.append("▲ " if result.fault else "  ", style="yellow" if result.fault else "")
    place = edit.pointer if edit.operation == "remove" or result.fault else result.pointer
    text.append(one_line(place, 70))
    scope = "every request of this session" if edit.kept else "this request"
    words = "not applied" if result.fault else _VERBS[edit.operation]
    text.append(f"  {words} · {scope}", style="dim")
    return Option(text)
