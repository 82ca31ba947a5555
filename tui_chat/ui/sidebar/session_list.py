"""The session list: find, open, begin, put in order and delete conversations."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import ClassVar, Self

from textual import events, on
from textual.actions import SkipAction
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import Input

from tui_chat.models.session import SessionSummary
from tui_chat.ui.keys import DEFAULT_KEYS, insert_keys
from tui_chat.ui.sidebar import posted
from tui_chat.ui.sidebar.groups import GROUPINGS, Group, Grouping, day_of, grouped
from tui_chat.ui.sidebar.narrowing import Narrowing
from tui_chat.ui.sidebar.rows import SessionRows
from tui_chat.ui.sidebar.top import Filter, NewSession
from tui_chat.ui.widgets.one_pass import OnePassContainer

EMPTY = "No sessions yet.\nPress n to begin one."
NOTHING = "Nothing matches.\nEsc clears the filter.\n{search} searches what\nwas said."


class SessionList(Vertical, OnePassContainer):
    """The sidebar. `show` it sessions; it posts what the user wants done with them."""

    DEFAULT_CSS = """
    SessionList { background: $surface; }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("n", "new", "New session", tooltip="Begin a session"),
        Binding("slash", "filter", "Filter", tooltip="Narrow the list: words, #tag"),
        Binding("e", "rename", "Rename", tooltip="Rename"),
        Binding("p", "pin", "Pin", show=False, tooltip="Pin at the top, or no longer"),
        Binding("t", "tags", "Tags", show=False, tooltip="Tag"),
        Binding("f", "folder", "Folder", show=False, tooltip="Put into a folder"),
        Binding("a", "archive", "Archive", show=False, tooltip="Archive, or bring back"),
        Binding("r", "unread", "Unread", show=False, tooltip="Mark as read or unread"),
        Binding("d,delete", "delete", "Delete", tooltip="Delete"),
        Binding("u", "undo", "Undo", show=False, tooltip="Bring back what was deleted or archived"),
        Binding("g", "group", "Group", show=False, tooltip="Group by time, folder or tag"),
        Binding("escape", "let_go", "Choose none", show=False),
    ]

    Opened = posted.Opened
    Stayed = posted.Stayed
    NewRequested = posted.NewRequested
    RenameRequested = posted.RenameRequested
    MarkRequested = posted.MarkRequested
    TagsRequested = posted.TagsRequested
    FolderRequested = posted.FolderRequested
    DeleteRequested = posted.DeleteRequested
    UndoRequested = posted.UndoRequested

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self.new_session = NewSession()
        self.filter = Filter(placeholder="/ filter", select_on_focus=False)
        self.rows = SessionRows()
        self._summaries: Sequence[SessionSummary] = ()
        self._narrowing = Narrowing()
        self._by: Grouping = "time"
        self._groups: tuple[Group, ...] = ()
        self._grouped_for: tuple[object, ...] = ()
        self._current: str | None = None
        self._streaming: Collection[str] = ()
        self._now = 0.0
        self.keys: Mapping[str, str] = DEFAULT_KEYS
        """One key of each action, to be named."""
        self.begins = True
        """Whether a session can be begun from here."""

    def compose(self) -> ComposeResult:
        """Put the three over each other."""
        self.new_session.display = self.begins
        yield self.new_session
        yield self.filter
        yield self.rows

    def show(
        self,
        summaries: Sequence[SessionSummary],
        current: str | None,
        now: float,
        running: Collection[str] = (),
    ) -> None:
        """Show sessions in this order, `current` as the open one.

        `now` is the time their ages are told by; in `running` ones a reply is arriving.
        """
        if summaries is not self._summaries:
            self._summaries = summaries
            self._narrowing = Narrowing(summaries)
        self._current, self._now, self._streaming = current, now, running
        self._show_rows()

    def focus(self, scroll_visible: bool = True) -> Self:
        """Focus the rows."""
        self.rows.focus(scroll_visible)
        return self

    def _show_rows(self) -> None:
        typed = " ".join(self.filter.value.split())
        wanted = (self._narrowing, typed, self._by, day_of(self._now))
        if wanted != self._grouped_for:
            self._grouped_for = wanted
            self._groups = grouped(self._narrowing(typed), self._by, self._now)
        self.rows.show(
            self._groups,
            self._current,
            self._now,
            running=self._streaming,
            empty=insert_keys(NOTHING, self.keys) if typed else EMPTY,
            is_narrowed=bool(typed),
            shows_pins=self._by != "time",
        )
        self._show_count()

    @on(SessionRows.Chosen)
    def _show_count(self) -> None:
        count, chosen = len(self._summaries), len(self.rows.chosen)
        aside = f"{chosen:,} chosen" if chosen else f"{count:,}" if count else ""
        self.new_session.show(aside)

    @on(Input.Changed)
    def _filter_changed(self, event: Input.Changed) -> None:
        event.stop()
        self._show_rows()
        if event.value:
            self.rows.put_cursor(0)

    @on(Input.Submitted)
    def _filter_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        if self.rows.under_cursor is not None:
            self.post_message(self.Opened(self.rows.under_cursor.session_id))
        else:
            self.post_message(self.Stayed())

    @on(Filter.Left)
    def _filter_left(self, event: Filter.Left) -> None:
        event.stop()
        self.rows.focus()

    @on(NewSession.Pressed)
    def _new_pressed(self, event: NewSession.Pressed) -> None:
        event.stop()
        self.action_new()

    def on_key(self, event: events.Key) -> None:
        """Leave the filter's letters to the filter."""
        if self.filter.has_focus and event.is_printable:
            event.stop()

    # Keys

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Take the key away that begins a session, where none can be begun."""
        del parameters
        return action != "new" or self.begins

    def action_new(self) -> None:
        """Ask for a new session."""
        self.post_message(self.NewRequested())

    def action_filter(self) -> None:
        """Go to the filter, and have ready what the first letter needs."""
        self.filter.focus()
        self.call_after_refresh(self._narrowing.prepare)

    def action_group(self) -> None:
        """Group by something else."""
        self._by = GROUPINGS[(GROUPINGS.index(self._by) + 1) % len(GROUPINGS)]
        self._show_rows()

    def action_let_go(self) -> None:
        """Choose none; where none is chosen, clear the filter, else leave Esc to the app."""
        if self.rows.chosen:
            self.rows.choose(set())
        elif self.filter.value:
            self.filter.value = ""
        else:
            raise SkipAction

    def action_rename(self) -> None:
        """Ask for another title."""
        if self.rows.under_cursor is not None:
            self.post_message(self.RenameRequested(self.rows.under_cursor.session_id))

    def action_pin(self) -> None:
        """Pin the sessions; those that are all pinned no longer."""
        if targets := self.rows.targets:
            pinned = not all(session.pinned for session in targets)
            self.post_message(self.MarkRequested(self._take(), pinned=pinned))

    def action_archive(self) -> None:
        """Archive the sessions, or bring them back."""
        if targets := self.rows.targets:
            archived = not all(session.archived for session in targets)
            self.post_message(self.MarkRequested(self._take(), archived=archived))

    def action_unread(self) -> None:
        """Mark the sessions as unread, or as read."""
        if targets := self.rows.targets:
            unread = not any(session.unread for session in targets)
            self.post_message(self.MarkRequested(self._take(), unread=unread))

    def action_tags(self) -> None:
        """Ask for tags."""
        if self.rows.targets:
            self.post_message(self.TagsRequested(self._take()))

    def action_folder(self) -> None:
        """Ask for a folder."""
        if self.rows.targets:
            self.post_message(self.FolderRequested(self._take()))

    def action_delete(self) -> None:
        """Ask for the sessions to be deleted."""
        if self.rows.targets:
            self.post_message(self.DeleteRequested(self._take()))

    def action_undo(self) -> None:
        """Ask for what was deleted last."""
        self.post_message(self.UndoRequested())

    def _take(self) -> tuple[str, ...]:
        """Return the ids that a key acts on; they are chosen no longer."""
        ids = tuple(session.session_id for session in self.rows.targets)
        self.rows.choose(set())
        return ids
