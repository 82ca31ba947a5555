"""The dialogs of the inspector: which request it shows, what it is compared with, and edits."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from textual.app import App, ComposeResult
from textual.containers import Vertical
from textual.widgets import Input, Static, TextArea

from tui_chat.models.endpoint import Protocol
from tui_chat.models.json_text import JsonError, decode_repaired
from tui_chat.models.request_edit import json_pointer
from tui_chat.ui.dialogs.base import set_title
from tui_chat.ui.dialogs.forms import Form
from tui_chat.ui.inspector.edit_place import EditPlace
from tui_chat.ui.questions import ask, ask_text
from tui_chat.ui.widgets.form_fields import CheckField
from tui_chat.ui.widgets.safe_text import SafeTextArea, TextField

if TYPE_CHECKING:
    from tui_chat.workspace.workspace import Workspace

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


async def ask_diff_base(app: App[Any], workspace: Workspace, current: str) -> str | None:
    """Ask for the diff base: `last`, `protocol P`, `preset NAME` or `request ID`."""
    choices = [("last", "Last request sent to this endpoint", workspace.state.endpoint.name)]
    if edits := workspace.state.preset_edits:
        words = "this request without the unsaved edits" if edits.is_changed else "no unsaved edits"
        name = workspace.state.preset_name
        choices.append((f"preset {name}", f"{name}, as saved", words))
    choices += [
        (f"protocol {other}", other.label, "this request in another protocol")
        for other in Protocol
        if other is not workspace.state.endpoint.protocol
    ]
    for sent in reversed(await workspace.sent.of_session()):
        time = datetime.fromtimestamp(sent.request.created).astimezone().strftime("%d %b %H:%M:%S")
        what = f"{sent.request.endpoint}, {sent.request.protocol.label}"
        choices.append((f"request {sent.message_id}", f"Sent {time}", what))
    return await ask(app, "Compare with", choices, current)


async def ask_captured(app: App[Any]) -> str | None:
    """Ask for a captured request: a body, a curl command, a log line or a file's path."""
    about = (
        "Paste a request body of any protocol, a curl command, a log line, an exported turn, or "
        "the path of a file with one."
    )
    return await ask_text(app, "Open a captured request", about=about, enter="Enter open")
