"""The session list: find, open, begin, rename and delete conversations."""

from __future__ import annotations

from typing import ClassVar, Self

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Input

from tui_chat.model.session import SessionSummary
from tui_chat.ui.sidebar.rows import SessionRows

EMPTY = "No sessions yet.\nPress n to begin one."
NOTHING = "Nothing matches.\nEsc clears the filter."


class NewSession(Widget):
    """The row at the top that begins a session."""

    DEFAULT_CSS = """
    NewSession {
        height: 1;
        padding: 0 1;
        color: $text-primary;
        background: $panel;
        pointer: pointer;
        &:hover { background: $primary 30%; }
    }
    """

    class Pressed(Message):
        """It was clicked."""

    count = 0
    """Sessions there are, shown at the right."""

    def render(self) -> Content:
        """Draw the row."""
        width = self.content_size.width
        words, count = "+ New session", f"{self.count:,}" if self.count else ""
        gap = width - len(words) - len(count)
        if gap < 1:
            return Content.styled(words[: max(width, 1)], "bold")
        return Content.assemble((words, "bold"), " " * gap, (count, "$foreground 45%"))

    def on_click(self) -> None:
        """Tell the list."""
        self.post_message(self.Pressed())


class Filter(Input):
    """What sessions must contain; Esc clears it, then leaves it."""

    DEFAULT_CSS = """
    Filter {
        height: 1;
        border: none;
        padding: 0 1;
        background: $surface;
        &:focus { border: none; background: $foreground 8%; }
        & .input--placeholder { color: $foreground 40%; }
    }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "Clear", show=False),
        Binding("down", "rows", "Sessions", show=False),
        Binding("pagedown", "rows", "Sessions", show=False),
    ]

    class Left(Message):
        """The rows are to be focused."""

    def action_leave(self) -> None:
        """Clear the filter; leave it where there is nothing to clear."""
        if self.value:
            self.value = ""
        else:
            self.post_message(self.Left())

    def action_rows(self) -> None:
        """Go to the rows."""
        self.post_message(self.Left())


class SessionList(Vertical):
    """The sidebar. `show` it sessions; it posts what the user wants done with them."""

    DEFAULT_CSS = """
    SessionList { background: $surface; }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("n", "new", "New session"),
        Binding("slash", "filter", "Filter"),
        Binding("e", "rename", "Rename"),
        Binding("d,delete", "delete", "Delete"),
    ]

    class Opened(Message):
        """A session was chosen."""

        def __init__(self, session_id: str) -> None:
            super().__init__()
            self.session_id = session_id

    class NewRequested(Message):
        """A session is to be begun."""

    class DeleteRequested(Message):
        """A session is to be deleted; the app asks whether that is meant."""

        def __init__(self, session_id: str) -> None:
            super().__init__()
            self.session_id = session_id

    class RenameRequested(Message):
        """A session is to get another title; the app asks which."""

        def __init__(self, session_id: str) -> None:
            super().__init__()
            self.session_id = session_id

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self.new_session = NewSession()
        self.filter = Filter(placeholder="/ filter", select_on_focus=False)
        self.rows = SessionRows()
        self._summaries: tuple[SessionSummary, ...] = ()
        self._texts: list[str] = []
        self._current: str | None = None
        self._now: float | None = None

    def compose(self) -> ComposeResult:
        """Put the three over each other."""
        yield self.new_session
        yield self.filter
        yield self.rows

    def show(
        self,
        summaries: tuple[SessionSummary, ...],
        current: str | None,
        now: float | None = None,
    ) -> None:
        """Show sessions in this order; `now` is the time their ages are told by."""
        if summaries is not self._summaries:
            self._summaries = summaries
            self._texts = [f"{s.title}\n{s.role_name}\n{s.model}".casefold() for s in summaries]
            self.new_session.count = len(summaries)
            self.new_session.refresh()
        self._current, self._now = current, now
        self._show_rows()

    def focus(self, scroll_visible: bool = True) -> Self:
        """Focus the rows."""
        self.rows.focus(scroll_visible)
        return self

    def _show_rows(self) -> None:
        words = self.filter.value.casefold().split()
        shown = self._summaries
        if words:
            shown = tuple(
                summary
                for summary, text in zip(self._summaries, self._texts, strict=True)
                if all(word in text for word in words)
            )
        self.rows.show(shown, self._current, self._now, NOTHING if words else EMPTY)

    @on(Input.Changed)
    def _filter_changed(self, event: Input.Changed) -> None:
        event.stop()
        self._show_rows()
        if event.value:
            self.rows.put_cursor(0)

    @on(Input.Submitted)
    def _filter_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.rows.action_open()

    @on(Filter.Left)
    def _filter_left(self, event: Filter.Left) -> None:
        event.stop()
        self.rows.focus()

    @on(SessionRows.Opened)
    def _row_opened(self, event: SessionRows.Opened) -> None:
        event.stop()
        self.post_message(self.Opened(event.session_id))

    @on(NewSession.Pressed)
    def _new_pressed(self, event: NewSession.Pressed) -> None:
        event.stop()
        self.action_new()

    def on_key(self, event: events.Key) -> None:
        """Leave the filter's letters to the filter."""
        if self.filter.has_focus and event.is_printable:
            event.stop()

    def action_new(self) -> None:
        """Ask for a new session."""
        self.post_message(self.NewRequested())

    def action_filter(self) -> None:
        """Go to the filter."""
        self.filter.focus()

    def action_rename(self) -> None:
        """Ask for another title."""
        if self.rows.chosen:
            self.post_message(self.RenameRequested(self.rows.chosen.session_id))

    def action_delete(self) -> None:
        """Ask for the session under the cursor to be deleted."""
        if self.rows.chosen:
            self.post_message(self.DeleteRequested(self.rows.chosen.session_id))
