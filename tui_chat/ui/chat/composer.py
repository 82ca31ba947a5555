"""Where one types: an editor that grows with its text and sends it on Enter."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar, cast

from rich.text import Text
from textual import events, on
from textual.actions import SkipAction
from textual.app import App
from textual.binding import Binding, BindingType
from textual.document._document import EditResult, Location
from textual.document._edit import Edit
from textual.geometry import Region
from textual.message import Message
from textual.strip import Strip
from textual.widgets import TextArea

from tui_chat.models.text import clean
from tui_chat.models.visible import masked
from tui_chat.ui.actions import UNDO_KEYS
from tui_chat.ui.chat.asking import Asked, Candidate, asked_at
from tui_chat.ui.chat.past import Past
from tui_chat.ui.chat.pastes import Pastes
from tui_chat.ui.chat.suggestions import Suggestions
from tui_chat.ui.commands import escape_command

PLACEHOLDER = "Message …   Enter sends · Ctrl+J new line"

# TextArea's own, less F6 and F7: function keys are the app's, and Ctrl+Z suspends it.
_EDITING = [
    binding
    for binding in TextArea.BINDINGS
    if not (
        isinstance(binding, Binding)
        and (binding.key in ("f6", "f7", "up", "down") or binding.action == "undo")
    )
]


_LEADING = ("submit", "stop", "up", "down")
"""What keys do that may lead elsewhere, or that candidates give another meaning."""


class Composer(TextArea, inherit_bindings=False):
    """The draft's editor."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"composer--chip"}
    DEFAULT_CSS = """
    Composer {
        height: auto;
        min-height: 3;
        max-height: 40%;
        padding: 0 1;
        background: $background;
        border: round $foreground 25%;
        scrollbar-size-vertical: 1;

        &.-lit { border: round $origin-draft; }
        &:focus { border: round $primary; background: $background; }
        & .text-area--placeholder { color: $foreground 67%; }
        & .composer--chip { color: $text-primary; background: $primary 20%; text-style: bold; }
    }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "submit", "Send", tooltip="Send"),
        Binding(
            "ctrl+j,shift+enter,alt+enter", "new_line", "New line", show=False, tooltip="New line"
        ),
        Binding("escape", "stop", "Stop", show=False, tooltip="Stop the reply"),
        Binding("up", "up", "Up", show=False, tooltip="From the first line: an earlier message"),
        Binding("down", "down", "Down", show=False, tooltip="From the last line: a later one"),
        Binding(UNDO_KEYS, "undo", "Undo", show=False, tooltip="Undo"),
        *_EDITING,
    ]

    class Submitted(Message):
        """The text is to be sent. The composer keeps it until it is told otherwise."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    class StopRequested(Message):
        """Esc was pressed."""

    class Asking(Message):
        """Something is being typed that can be completed; see `Composer.offer`."""

        def __init__(self, asked: Asked) -> None:
            super().__init__()
            self.asked = asked

    class AttachRequested(Message):
        """A file is to go with the text."""

        def __init__(self, path: str) -> None:
            super().__init__()
            self.path = path

    class DetachRequested(Message):
        """Backspace was pressed where nothing is before the cursor."""

    class Changed(TextArea.Changed):
        """The text is another."""

        @property
        def text(self) -> str:
            """All of it, large pastes included."""
            return self.text_area.text

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        self._pastes = Pastes()
        self.past = Past()
        self.has_files = False
        """Whether files go with the text: then it may be empty."""
        self._walked_to = ""
        """What the arrow keys brought last; once it is edited, it is the draft."""
        self.suggestions = Suggestions()
        """Shown by whoever lays the composer out."""
        super().__init__(
            id=id,
            classes=classes,
            soft_wrap=True,
            tab_behavior="focus",
            placeholder=PLACEHOLDER,
            highlight_cursor_line=False,
        )

    @property
    def text(self) -> str:
        """The whole text, large pastes included."""
        return self._pastes.expand(self.document.text)

    @text.setter
    def text(self, value: str) -> None:
        self._pastes.clear()
        self.load_text(self._pastes.hold(_tidy(value)))
        self.move_cursor(self.document.end)

    def insert_text(self, text: str) -> None:
        """Put text at the cursor, in place of what is selected, as a paste does."""
        made = self._pastes.hold(_tidy(text))
        if result := self._replace_via_keyboard(made, *self.selection):
            self.move_cursor(result.end_location)

    def begin_path(self) -> None:
        """Begin to name a file that is to go with the text."""
        self.focus()
        row, column = self.cursor_location
        before = self.document[row][:column]
        self.insert_text("@" if not before or before[-1].isspace() else " @")

    def clear_text(self) -> None:
        """Begin anew; undo does not bring a sent text back."""
        self._pastes.clear()
        self.load_text("")

    # Keys

    async def _on_key(self, event: events.Key) -> None:
        if event.key == "backspace" and self.selection == ((0, 0), (0, 0)):
            self.post_message(self.DetachRequested())
        if self._suggested(event.key) or await self._edits(event.key):
            event.stop()
            event.prevent_default()
        elif event.key == "enter":
            event.prevent_default()  # for an editor it is a new line; here it is bound

    def give_up(self, keys: Iterable[str]) -> None:
        """Do nothing at these keys, so that they are the app's: the user said so."""
        for key in keys:
            self._bindings.key_to_bindings.pop(key, None)

    def edits(self, key: str) -> bool:
        """Whether a key is done here, in its turn with the letters, and leads nowhere."""
        bound = self._bindings.key_to_bindings.get(key, ())
        return bool(bound) and bound[0].action not in _LEADING

    async def _edits(self, key: str) -> bool:
        """Do what an editing key is bound to here and now, as many as come as one: each would
        be drawn by itself if the app had to look it up.
        """
        if not self.edits(key):
            return False
        bound = self._bindings.key_to_bindings[key][0]
        return await self._shown_in.run_action(bound.action, self)

    async def _on_paste(self, event: events.Paste) -> None:
        event.prevent_default()
        event.stop()
        self.insert_text(event.text)

    def action_submit(self) -> None:
        """Ask for the text to be sent."""
        text = self.text
        if text.strip() or self.has_files:
            self.post_message(self.Submitted(text))

    def action_new_line(self) -> None:
        """Begin a new line."""
        self._replace_via_keyboard("\n", *self.selection)

    def action_stop(self) -> None:
        """Ask for the reply to be stopped, or whatever Esc means now."""
        self.post_message(self.StopRequested())

    def action_up(self) -> None:
        """Move up; from the first line, bring an earlier text back."""
        if self.navigator.is_first_wrapped_line(self.cursor_location):
            self._walk(-1)
        else:
            self.action_cursor_up()

    def action_down(self) -> None:
        """Move down; from the last line, go back towards the draft."""
        if self.navigator.is_last_wrapped_line(self.cursor_location) and self.past.is_walking:
            self._walk(1)
        else:
            self.action_cursor_down()

    def _walk(self, by: int) -> None:
        text = self.past.step(by, self.text)
        if text is None:
            return
        if self.past.is_walking:
            text = escape_command(text)
        self._walked_to = self._pastes.hold(_tidy(text))
        self.rewrite(text)

    @on(TextArea.Changed)
    def _edited(self) -> None:
        if self.past.is_walking and self.document.text != self._walked_to:
            self.past.leave()

    def rewrite(self, text: str) -> None:
        """Put another text in place of all of it; undo brings the former back."""
        self.replace(self._pastes.hold(_tidy(text)), (0, 0), self.document.end)
        self.move_cursor(self.document.end)

    # Completion

    @on(TextArea.SelectionChanged)
    def _ask(self) -> None:
        """Ask for candidates for what stands at the cursor, or take those away."""
        asked = self._asked() if self.has_focus else None
        if asked is None or self.selection.start != self.selection.end or self.past.is_walking:
            self.suggestions.close()
        elif asked != self.suggestions.asked or not self.suggestions.is_open:
            self.post_message(self.Asking(asked))

    def offer(self, asked: Asked, candidates: Sequence[Candidate]) -> None:
        """Show candidates for what was asked, unless it has been sent, or left, meanwhile."""
        now = self._asked() if self.has_focus else None
        if now is not None and (now.kind, now.command) == (asked.kind, asked.command):
            self.suggestions.offer(asked, candidates)

    def _asked(self) -> Asked | None:
        row, column = self.cursor_location
        return asked_at(row, self.document[row][:column])

    def on_blur(self) -> None:
        """Take the candidates away: the arrows mean something else now."""
        self.suggestions.close()

    def _suggested(self, key: str) -> bool:
        """Do what a key means while there are candidates; whether it meant anything."""
        if not self.suggestions.is_open:
            return key == "tab" and self._asked() is not None  # candidates are on their way
        match key:
            case "up" | "down":
                self.suggestions.move(1 if key == "down" else -1)
            case "escape":
                self.suggestions.close()
            case "tab" | "enter":
                asked = self._asked()
                if key == "tab" and asked and (alike := self.suggestions.in_common(asked)):
                    row, column = self.cursor_location
                    self.replace(alike, (row, asked.start), (row, column))
                    return True
                chosen = self.suggestions.chosen_for(asked)
                is_marked = self.suggestions.is_marked
                if key == "enter" and chosen and chosen.is_within and not is_marked:
                    return False
                self.suggestions.close()
                if asked is None or chosen is None:
                    return key == "tab"
                self._take(asked, chosen, may_submit=key == "enter")
            case _:
                return False
        return True

    def _take(self, asked: Asked, chosen: Candidate, may_submit: bool) -> None:
        row, column = self.cursor_location
        attaches = asked.kind == "path" and chosen.is_whole
        self.replace("" if attaches else chosen.text, (row, asked.start), (row, column))
        if attaches:
            self.post_message(self.AttachRequested(chosen.text))
        elif may_submit and chosen.is_whole:
            self.action_submit()

    def action_paste(self) -> None:
        """Paste what was last copied in this program."""
        self.insert_text(self._shown_in.clipboard)

    def action_copy(self) -> None:
        """Copy what is selected, large pastes included."""
        if self.selected_text:
            self._shown_in.copy_to_clipboard(self._pastes.expand(self.selected_text))
        else:
            raise SkipAction  # the app tells how to quit

    @property
    def _shown_in(self) -> App[object]:
        return cast("App[object]", super().app)  # pyright: ignore[reportUnknownMemberType] Textual types it App[Unknown]

    def action_cut(self) -> None:
        """Cut what is selected, large pastes included."""
        chosen = self._pastes.expand(self.selected_text)
        super().action_cut()
        if chosen:
            self._shown_in.copy_to_clipboard(chosen)

    # Chips

    def edit(self, edit: Edit) -> EditResult:
        """Edit the text; an edit that touches a chip's inside takes all of it."""
        # "Delete the line" reaches for the line after the last one.
        top, bottom = (
            min(place, self.document.end)
            for place in sorted((edit.from_location, edit.to_location))
        )
        edit = Edit(edit.text, top, bottom, edit.maintain_selection_offset)
        wide_top = self._outside(top, start=True)
        wide_bottom = self._outside(bottom, start=False)
        if (wide_top, wide_bottom) != (top, bottom):
            if top == bottom:
                # Typing into a chip types after it.
                wide_top = wide_bottom
            edit = Edit(edit.text, wide_top, wide_bottom, maintain_selection_offset=False)
        return super().edit(edit)

    def _outside(self, location: Location, *, start: bool) -> Location:
        row, column = location
        for low, high in self._pastes.chips(self.document[row]):
            if low < column < high:
                return row, low if start else high
        return location

    # Drawing

    def render_lines(self, crop: Region) -> list[Strip]:
        """Draw rows, and say where the terminal's cursor is to be.

        Input methods open their window there. Textual says it when the cursor moves in the
        text; but the editor itself moves, as it grows and as the screen changes.
        """
        if self.has_focus:
            self._shown_in.cursor_position = self.cursor_screen_offset
        return super().render_lines(crop)

    def get_line(self, line_index: int) -> Text:
        """Draw a line: chips stand out, and nothing in it is obeyed by the terminal."""
        line = super().get_line(line_index)
        plain = line.plain
        if (harmless := masked(plain)) != plain:
            line = Text(harmless, end="", no_wrap=True)
        for low, high in self._pastes.chips(plain):
            line.stylize(self.get_component_rich_style("composer--chip"), low, high)
        return line


def _tidy(text: str) -> str:
    return clean(text.replace("\r\n", "\n").replace("\r", "\n"))
