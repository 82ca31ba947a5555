"""The composer: an editor of the draft that grows with its text and submits it on Enter.

An edit that touches the inside of the chip of a large paste touches all of it: see `large_pastes`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import ClassVar

from rich.text import Text
from textual import events, on
from textual.actions import SkipAction
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.document._document import EditResult
from textual.document._edit import Edit
from textual.geometry import Region
from textual.message import Message
from textual.strip import Strip
from textual.widgets import TextArea
from textual.widgets.text_area import Selection

from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.text import clean
from tui_chat.ui.chat.completion import (
    CompletionQuery,
    Suggestion,
    SuggestionList,
    completion_query_at,
)
from tui_chat.ui.chat.editing_mode import ModalEditing
from tui_chat.ui.chat.large_pastes import LargePastes
from tui_chat.ui.chat.prompt_history import PromptHistory
from tui_chat.ui.commands import escape_command
from tui_chat.ui.keys import key_name
from tui_chat.ui.verbs import UNDO_KEYS
from tui_chat.ui.widgets.pane_key import pane_key
from tui_chat.ui.widgets.safe_text import SafeTextArea
from tui_chat.ui.widgets.typed_app import app_of

_BLANK = re.compile(r"\{\{\?[^{}\n]*\}\}")
"""A blank of a snippet; Tab selects the next one, to be typed over."""
_OWN = ("f6", "f7", "up", "down", "pageup", "pagedown", "ctrl+k")

# TextArea's own, without F6 and F7, free for `[keys]`, Ctrl+K, which goes to a session, and Ctrl+Z,
# which suspends the app.
_EDITING = [
    binding
    for binding in TextArea.BINDINGS
    if not (isinstance(binding, Binding) and (binding.key in _OWN or binding.action == "undo"))
]

_NOT_EDITING = (
    *("submit", "chat.back", "up", "down", "conversation.page(-1)", "conversation.page(1)"),
)
"""Actions that may leave the editor, or that have another meaning while suggestions are shown."""


FIRST_PLACEHOLDER, PLACEHOLDER = "Type a message: the request follows every key.", "Message"
"""What an empty composer says before there is any session, and later."""


class Composer(SafeTextArea, inherit_bindings=False):
    """The draft's editor."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"composer--chip", "composer--blank"}
    DEFAULT_CSS = """
    Composer {
        height: auto;
        min-height: 3;
        max-height: 40vh;
        margin: 0 1;
        padding: 0 1;
        background: $background;
        border: round $foreground 25%;
        border-subtitle-color: $label;
        border-subtitle-background: $background;
        scrollbar-size-vertical: 1;

        &.-lit { border: round $origin-draft; }
        &:focus { border: round $primary; background: $background; }
        & .text-area--placeholder { color: $label; }
        & .composer--blank { color: $text-accent; text-style: underline; }
        & .composer--chip { color: $text-primary; background: $primary 20%; text-style: bold; }
    }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "submit", "Send", tooltip="Send"),
        pane_key("ctrl+j,shift+enter,alt+enter", "new_line", "New line", "New line", shown=True),
        pane_key("escape", "chat.back", "Stop", "Stop the reply"),
        pane_key("up", "up", "Up", "From the first line: an earlier message"),
        pane_key("down", "down", "Down", "From the last line: a later one"),
        Binding(
            "pageup", "conversation.page(-1)", show=False, tooltip="Scroll the conversation up"
        ),
        Binding(
            "pagedown", "conversation.page(1)", show=False, tooltip="Scroll the conversation down"
        ),
        pane_key(UNDO_KEYS, "undo", "Undo", "Undo"),
        *_EDITING,
    ]

    @dataclass
    class Submitted(Message):
        """Enter was pressed. The composer keeps the text until `clear_text` is called."""

        text: str

    class Changed(TextArea.Changed):
        """The text changed. The class has TextArea's name for it, so that TextArea posts it."""

        @property
        def text(self) -> str:
            """The whole text, large pastes included."""
            return self.text_area.text

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        self._pastes = LargePastes()
        self.prompt_history = PromptHistory()
        self.has_attachments = False
        """True if the draft has attachments: then its text may be empty."""
        self.modal_editing = ModalEditing(self, self.recall)
        self._recalled = ""
        """The text that the arrow keys brought last; once edited, it is the draft."""
        self._facts: Callable[[int], Content] | None = None
        """Returns the words on the lower border that fit a width."""
        self.suggestions = SuggestionList(self._name_enter)
        """Mounted by the pane, above the composer."""
        super().__init__(
            id=id,
            classes=classes,
            soft_wrap=True,
            tab_behavior="focus",
            placeholder=PLACEHOLDER,
            highlight_cursor_line=False,
        )
        self.cursor_blink = False  # it would send bytes for ever

    def show_facts(self, facts: Callable[[int], Content]) -> None:
        """Show facts on the lower border: as many as fit, which `facts` returns for a width."""
        self._facts = facts
        self._fit_facts()

    def _fit_facts(self) -> None:
        if self._facts is not None and self.size.width:
            self.border_subtitle = self._facts(self.outer_size.width - 6)

    def on_resize(self) -> None:
        self._fit_facts()

    @property
    def text(self) -> str:
        """The whole text, large pastes included."""
        return self._pastes.expand(self.document.text)

    @text.setter
    def text(self, value: str) -> None:
        self._pastes.clear()
        self.load_text(self._pastes.hold(_normalized(value)))
        self.modal_editing.reset()
        self.move_cursor(self.document.end)

    def insert_text(self, text: str) -> None:
        """Replace the selection by a text, as a paste does."""
        self.modal_editing.insert()
        held = self._pastes.hold(_normalized(text))
        # TextArea's own way to insert what was typed: it keeps read-only and the undo history.
        if result := self._replace_via_keyboard(held, *self.selection):
            self.move_cursor(result.end_location)

    def select_blank(self) -> bool:
        """Select the next blank of a snippet after the cursor, round the end; False for none."""
        cursor, place = self.indices.get_index_from_location, self.indices.get_location_from_index
        behind = cursor(max(self.selection))
        blanks = [blank.span() for blank in _BLANK.finditer(self.document.text)]
        if blanks:
            start, end = min(blanks, key=lambda span: (span[0] < behind, span))
            self.selection = Selection(place(start), place(end))
        return bool(blanks)

    def start_path(self) -> None:
        """Start to type the path of a file to attach."""
        self.focus()
        row, column = self.cursor_location
        before = self.document[row][:column]
        self.insert_text("@" if not before or before[-1].isspace() else " @")

    def clear_text(self) -> None:
        """Start an empty draft; undo does not bring the old one back."""
        self._pastes.clear()
        self.load_text("")
        self.modal_editing.reset()

    # Keys

    # TextArea handles keys and pastes in private handlers of these names, before bindings; there
    # is no public way to decide earlier.

    async def _on_key(self, event: events.Key) -> None:
        is_at_start = self.selection == ((0, 0), (0, 0))
        if event.key == "backspace" and is_at_start and self.has_attachments:
            await self.run_action("attachments.remove_last")
        is_taken = (
            self._suggestion_key(event.key)
            or (event.key == "tab" and self.select_blank())
            or self.modal_editing.press(event)
        )
        if is_taken or await self._edit_now(event.key):
            event.stop()
            event.prevent_default()
        elif event.key == "enter":
            event.prevent_default()  # TextArea would start a new line; here Enter is bound

    def release_keys(self, keys: Iterable[str]) -> None:
        """Leave these keys to the app, because the user bound them to its actions."""
        for key in keys:
            self._bindings.key_to_bindings.pop(key, None)

    def edits(self, key: str) -> bool:
        """Return True if a key only edits, so that it is handled in its turn with the letters."""
        bound = self._bindings.key_to_bindings.get(key, ())
        return bool(bound) and bound[0].action not in _NOT_EDITING

    async def _edit_now(self, key: str) -> bool:
        """Run the action of an editing key at once. If the app looked it up, keys that come
        together would each be drawn on their own.
        """
        if not self.edits(key):
            return False
        bound = self._bindings.key_to_bindings[key][0]
        return await app_of(self).run_action(bound.action, self)

    async def _on_paste(self, event: events.Paste) -> None:
        event.prevent_default()
        event.stop()
        self.insert_text(event.text)

    def action_submit(self) -> None:
        self.post_message(self.Submitted(self.text))

    def action_new_line(self) -> None:
        self._replace_via_keyboard("\n", *self.selection)

    def action_up(self) -> None:
        """Move up; from the first line, bring back an earlier text."""
        if self.navigator.is_first_wrapped_line(self.cursor_location):
            self.recall(-1)
        else:
            self.action_cursor_up()

    def action_down(self) -> None:
        """Move down; from the last line, go back towards the draft."""
        if (
            self.navigator.is_last_wrapped_line(self.cursor_location)
            and self.prompt_history.is_browsing
        ):
            self.recall(1)
        else:
            self.action_cursor_down()

    def recall(self, step: int) -> None:
        """Bring back an earlier prompt (-1) or a later one (1)."""
        text = self.prompt_history.step(step, self.text)
        if text is None:
            return
        if self.prompt_history.is_browsing:
            text = escape_command(text)
        self._recalled = self._pastes.hold(_normalized(text))
        self.rewrite(text)

    @on(TextArea.Changed)
    def _edited(self) -> None:
        if self.prompt_history.is_browsing and self.document.text != self._recalled:
            self.prompt_history.leave()

    def rewrite(self, text: str) -> None:
        """Replace the whole text; undo brings the old one back."""
        self.modal_editing.take()
        self.replace(self._pastes.hold(_normalized(text)), (0, 0), self.document.end)
        self.move_cursor(self.document.end)

    # Completion

    @on(TextArea.SelectionChanged)
    def _request_suggestions(self) -> None:
        """Request suggestions for the text at the cursor, or close the list."""
        query = self._query() if self.has_focus else None
        if (
            query is None
            or self.selection.start != self.selection.end
            or self.prompt_history.is_browsing
        ):
            self.suggestions.close()
        elif query != self.suggestions.completion or not self.suggestions.is_open:
            self.complete(query)

    def complete(self, query: CompletionQuery) -> None:
        """Called when something is typed that can be completed; `offer_suggestions` answers."""

    def offer_suggestions(self, query: CompletionQuery, suggestions: Sequence[Suggestion]) -> None:
        """Show suggestions for a query, unless its text was sent or left meanwhile."""
        current = self._query() if self.has_focus else None
        if current is not None and (current.kind, current.command) == (query.kind, query.command):
            self.suggestions.offer(query, suggestions)

    def _query(self) -> CompletionQuery | None:
        row, column = self.cursor_location
        return completion_query_at(row, self.document[row][:column])

    def on_blur(self) -> None:
        self.suggestions.close()

    def _name_enter(self) -> None:
        """Name what Enter does in the footer: it chooses a suggestion while there are some."""
        word = "Choose" if self.suggestions.is_open else "Send"
        bound = self._bindings.key_to_bindings
        if "enter" in bound:
            bound["enter"] = [replace(binding, description=word) for binding in bound["enter"]]
            self.refresh_bindings()

    def _suggestion_key(self, key: str) -> bool:
        """Do what a key means for the suggestions. Return False if it means nothing there."""
        if not self.suggestions.is_open:
            return key == "tab" and self._query() is not None  # suggestions are on their way
        match key:
            case "up" | "down":
                self.suggestions.move(1 if key == "down" else -1)
            case "escape":
                self.suggestions.close()
            case "tab" | "enter":
                query = self._query()
                chosen = self.suggestions.chosen_for(query)
                is_marked = self.suggestions.is_marked
                if key == "enter" and chosen and chosen.typed_is_complete and not is_marked:
                    return False
                self.suggestions.close()
                if query is None or chosen is None:
                    return key == "tab"
                self._insert(query, chosen, may_submit=key == "enter")
            case _:
                return False
        return True

    def _insert(self, query: CompletionQuery, chosen: Suggestion, *, may_submit: bool) -> None:
        row, column = self.cursor_location
        attaches = query.kind == "path" and chosen.is_complete
        self.replace("" if attaches else chosen.text, (row, query.start), (row, column))
        if attaches:
            self.call_later(app_of(self).run_action, ("attachments", "attach", (chosen.text,)))
        elif may_submit and chosen.is_complete:
            self.action_submit()

    def action_paste(self) -> None:
        """Insert what was copied in the app."""
        self.insert_text(app_of(self).clipboard)

    def action_copy(self) -> None:
        """Copy the selection, large pastes included, or what is selected in another pane; without
        any, clear the text.
        """
        if self.selected_text:
            app_of(self).copy_to_clipboard(self._pastes.expand(self.selected_text))
        elif self.screen.get_selected_text():
            raise SkipAction  # the screen copies it
        elif self.document.text:
            self.rewrite("")
            key = key_name(UNDO_KEYS.partition(",")[0])
            self.notify(f"The text is cleared. {key} brings it back.", markup=False)
        else:
            raise SkipAction  # the app says how to quit

    def action_cut(self) -> None:
        """Cut the selection, large pastes included."""
        selected = self._pastes.expand(self.selected_text)
        super().action_cut()
        if selected:
            app_of(self).copy_to_clipboard(selected)

    # Chips

    def edit(self, edit: Edit) -> EditResult:
        """Edit the text. An edit that touches the inside of a chip is extended to all of it."""
        return super().edit(self._pastes.widened(edit, self.document))

    # Drawing

    def render_lines(self, crop: Region) -> list[Strip]:
        """Draw rows, and place the terminal's cursor, at which input methods open their window.

        Textual places it when the cursor moves in the text; but the editor moves too, when it
        grows or the screen changes.
        """
        if self.has_focus:
            app_of(self).cursor_position = self.cursor_screen_offset
        return super().render_lines(crop)

    def get_line(self, line_index: int) -> Text:
        """Return a line as it is drawn, with chips highlighted and control characters masked."""
        line = super().get_line(line_index)
        for blank in _BLANK.finditer(line.plain):
            line.stylize(self.get_component_rich_style("composer--blank"), *blank.span())
        for low, high in self._pastes.chips(line.plain):
            line.stylize(self.get_component_rich_style("composer--chip"), low, high)
        return line


def _normalized(text: str) -> str:
    return clean(text.replace("\r\n", "\n").replace("\r", "\n"))
