"""Generic dialogs: text, path and multi-line prompts, and confirmation."""

from __future__ import annotations

from asyncio import to_thread
from pathlib import Path
from typing import ClassVar, NamedTuple, TypeVar

from rich.text import Text
from textual import on
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.geometry import Size
from textual.screen import ModalScreen
from textual.suggester import Suggester
from textual.widget import Widget
from textual.widgets import Button, Input, Static, TextArea

from tui_chat.models.sanitize import one_line, sanitize
from tui_chat.paths import path_completions
from tui_chat.ui.widgets.safe_text import SafeTextArea, TextField
from tui_chat.ui.widgets.typed_app import app_of

T = TypeVar("T")


def set_title(box: Widget, title: str) -> None:
    """Set the title of a dialog's frame; control characters in it are escaped."""
    box.border_title = Content(one_line(title, 120))


class DialogBox(Vertical):
    """The frame of a dialog, as high as what is in it, and at most as high as the screen allows:
    then the part with a height of `1fr` scrolls in what is left.
    """

    # Textual would make an automatic height as large as it can where a child has a fraction of it.
    _has_relative_children_height = False  # pyright: ignore[reportAssignmentType, reportIncompatibleMethodOverride]

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        # Without rows to share out, a fraction of them is one row.
        height = super().get_content_height(Size(container.width, 0), viewport, width)
        for child in self.displayed_children:
            size = child.styles.height
            if size is not None and size.is_fraction:
                room = width - child.gutter.width - child.styles.margin.width
                rows = child.get_content_height(container, viewport, room) + child.gutter.height
                height += max(rows, 1) - 1  # that of nothing is one row
        return height


class Dialog(ModalScreen[T]):
    """A framed box in the middle of the screen; Esc dismisses it with None."""

    DEFAULT_CSS = """
    Dialog {
        align: center middle;
        background: $background 60%;
        & > Vertical {
            width: 72;
            max-width: 92%;
            height: auto;
            max-height: 90%;
            padding: 1 2;
            border: round $primary;
            border-title-color: $text-primary;
            border-title-style: bold;
            background: $surface;
        }
        Static { width: 1fr; height: auto; }
        Input, Input:focus { height: 1; border: none; padding: 0 1; background: $panel; }
        Input:focus { background: $primary 20%; }
        OptionList { height: auto; max-height: 50vh; margin-top: 1; }
        OptionList, OptionList:focus { border: none; background-tint: $surface 0%; }
        OptionList { background: $surface; text-wrap: nowrap; text-overflow: ellipsis; }
        VerticalScroll { height: auto; max-height: 60vh; }
        DialogBox > OptionList, DialogBox > VerticalScroll { height: 1fr; max-height: 100%; }
        OptionList, VerticalScroll, TextArea {
            scrollbar-size-vertical: 1;
            scrollbar-background: $surface;
            scrollbar-background-hover: $surface;
            scrollbar-background-active: $surface;
            scrollbar-color: $foreground 25%;
            scrollbar-color-hover: $foreground 40%;
            scrollbar-color-active: $primary;
        }
        .buttons { height: auto; margin-top: 1; align-horizontal: right; }
        .buttons Button { margin-left: 2; background: $panel; }
        .buttons Button.-error { background: $panel; color: $text-error; }
        .buttons Button:focus { background: $primary; color: $background; text-style: bold; }
        .hint { color: $label; margin-top: 1; }
        &.-short > Vertical { padding: 0 1; margin: 0; max-height: 100%; }
        &.-short OptionList, &.-short .hint { margin-top: 0; }
    }
    """
    VERTICAL_BREAKPOINTS = [(0, "-short"), (16, "-tall")]  # noqa: RUF012  as Textual declares it

    takes_keys_typed_ahead = True
    """False if a key typed before the question could be read must not answer it."""

    AUTO_FOCUS = "*"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "Close", show=False),
        Binding("ctrl+q", "leave_and_quit", show=False, id="quit"),
    ]

    def action_leave(self) -> None:
        """Close without an answer."""
        self.dismiss(None)

    def action_leave_and_quit(self) -> None:
        """Close without an answer and quit, unless closing asks something first."""
        self.action_leave()
        app = app_of(self)
        app.call_later(self._quit_if_left, app)

    async def _quit_if_left(self, app: App[object]) -> None:
        if self not in app.screen_stack:
            await app.run_action("quit")


class TextPrompt(Dialog[str | None]):
    """Prompts for one line of text, stripped; None if it is empty and may not be."""

    key_hints: ClassVar[str] = ""
    """Hints on further keys, ending in ` · `."""

    def __init__(
        self, title: str, value: str, *, may_be_empty: bool = False, enter: str = "save"
    ) -> None:
        """`enter` says in the hint what Enter does."""
        super().__init__()
        self._enter = enter
        self._may_be_empty = may_be_empty
        self._title = title
        self._value = value

    def compose(self) -> ComposeResult:
        with Vertical() as box:
            set_title(box, self._title)
            yield TextField(sanitize(self._value))
            yield Static(
                f"{self.key_hints}Enter {self._enter} · Esc cancel",
                classes="hint",
                markup=False,
            )

    @on(Input.Submitted)
    def _answer(self, event: Input.Submitted) -> None:
        answer = event.value.strip()
        self.dismiss(answer if answer or self._may_be_empty else None)


class ScrollDialog(Dialog[T]):
    """A dialog whose text scrolls with the arrow keys, whatever has the focus."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "scroll(-1)", show=False, priority=True),
        Binding("down", "scroll(1)", show=False, priority=True),
        Binding("pageup", "scroll(-10)", show=False, priority=True),
        Binding("pagedown", "scroll(10)", show=False, priority=True),
    ]

    def action_scroll(self, lines: int) -> None:
        self.query_one(VerticalScroll).scroll_relative(y=lines, animate=False)


class Confirm(ScrollDialog[bool | None]):
    """Asks a yes-or-no question; a long one scrolls. The focus starts on the safe button, or on the
    other where the user has just asked for it by name.
    """

    takes_keys_typed_ahead = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left,right", "app.focus_next", show=False),
        Binding("y", "answer(True)", show=False),
        Binding("n", "answer(False)", show=False),
    ]

    def __init__(
        self, title: str, question: str, *, yes: str, no: str = "Cancel", asked_for: bool = False
    ) -> None:
        """`yes` and `no` are the labels of the buttons; `asked_for` puts the focus on `yes`."""
        super().__init__()
        self._asked_for = asked_for
        self._title = title
        self._question = question
        self._yes = yes
        self._no = no

    def compose(self) -> ComposeResult:
        with DialogBox() as box:
            set_title(box, self._title)
            with VerticalScroll(can_focus=False):
                yield Static(Text(sanitize(self._question)))
            with Horizontal(classes="buttons"):
                yield Button(self._no, id="no", compact=True)
                yield Button(self._yes, id="yes", variant="error", compact=True)
            yield Static(f"y {self._yes} · n {self._no} · Esc cancel", classes="hint", markup=False)

    def on_mount(self) -> None:
        self.query_one("#yes" if self._asked_for else "#no", Button).focus()

    def action_answer(self, yes: bool) -> None:
        self.dismiss(yes)

    @on(Button.Pressed)
    def _answer(self, event: Button.Pressed) -> None:
        self.dismiss(event.button.id == "yes")


class PathSuggester(Suggester):
    """Suggests the first path that begins with what is typed."""

    async def get_suggestion(self, value: str) -> str | None:
        paths = await to_thread(path_completions, value, Path.cwd(), MOST_FILES) if value else []
        return next((path for path in paths if path.startswith(value)), None)


MOST_FILES = 10_000
"""Files of a folder that are considered."""


class PathPrompt(TextPrompt):
    """Prompts for a path; Tab takes the path that is suggested behind the text."""

    key_hints = "Tab complete · "
    BINDINGS: ClassVar[list[BindingType]] = [Binding("tab", "complete", "Complete", show=False)]

    def on_mount(self) -> None:
        """Suggest paths."""
        self.query_one(Input).suggester = PathSuggester(use_cache=False, case_sensitive=True)

    def action_complete(self) -> None:
        typed = self.query_one(Input)
        typed.cursor_position = len(typed.value)
        typed.action_cursor_right()


class TextAnswer(NamedTuple):
    """The text of a `TextAreaPrompt`, and how it was confirmed."""

    text: str
    send: bool
    """True if it is to be sent at once."""


class TextAreaPrompt(Dialog[TextAnswer | None]):
    """Prompts for text of several lines."""

    DEFAULT_CSS = """
    TextAreaPrompt > Vertical { width: 110; }
    TextAreaPrompt TextArea, TextAreaPrompt TextArea:focus {
        height: auto;
        min-height: 4;
        max-height: 40vh;
        padding: 0 1;
        border: none;
        background: $boost;
    }
    TextAreaPrompt VerticalScroll { max-height: 25vh; margin-bottom: 1; }
    """
    AUTO_FOCUS = "TextArea"  # at once: keys typed ahead go where the focus comes first
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "answer(True)", show=False, priority=True),
        Binding("ctrl+s", "answer(False)", show=False, priority=True),
        Binding("ctrl+j,shift+enter", "new_line", show=False, priority=True),
    ]

    def __init__(
        self,
        title: str,
        text: str,
        *,
        about: str = "",
        sends: bool = False,
        enter: str = "Enter save",
        reads: bool = False,
    ) -> None:
        """`about` is shown above the text; with `sends`, Enter sends and Ctrl+S only saves.
        `enter` says in the hint what Enter does otherwise; with `reads`, the cursor is at the
        beginning.
        """
        super().__init__()
        self._reads = reads
        self._enter = enter
        self._title = title
        self._text = text
        self._about = about
        self._sends = sends

    def compose(self) -> ComposeResult:
        enter = "Enter send · Ctrl+S save without sending" if self._sends else self._enter
        with Vertical() as box:
            set_title(box, self._title)
            if self._about:
                with VerticalScroll():
                    yield Static(self._about, markup=False)
            yield SafeTextArea(self._text)
            yield Static(f"{enter} · Ctrl+J new line · Esc cancel", classes="hint")

    def on_mount(self) -> None:
        editor = self.query_one(TextArea)
        if not self._reads:
            editor.move_cursor(editor.document.end)

    def action_new_line(self) -> None:
        self.query_one(TextArea).insert("\n")

    def action_answer(self, send: bool) -> None:
        """Answer with the text, unless it is blank."""
        text = self.query_one(TextArea).text
        if text.strip():
            self.dismiss(TextAnswer(text, send and self._sends))
