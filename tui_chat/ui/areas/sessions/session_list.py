"""The session list: find, open, start, organize and delete sessions."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, Self

from rich.cells import cell_len
from textual import events, on
from textual.actions import SkipAction
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Input

from tui_chat.ui.areas.sessions.session_groups import (
    GROUPINGS,
    Grouping,
    SessionFilter,
    SessionGroup,
    Usual,
    day_of,
    grouped,
    usual_facts,
)
from tui_chat.ui.areas.sessions.session_rows import SessionRows
from tui_chat.ui.key_names import DEFAULT_KEYS, insert_keys
from tui_chat.ui.widgets.pane_key import pane_key
from tui_chat.ui.widgets.safe_text import TextField
from tui_chat.ui.widgets.typed_app import app_of

if TYPE_CHECKING:
    from tui_chat.models.session import SessionSummary


_NEW, _FILTER = "+ New session", "  / filter"


class NewSessionRow(Widget):
    """The row above the list that starts a session, or filters them."""

    DEFAULT_CSS = """
    NewSessionRow {
        height: 1;
        padding: 0 1;
        color: $text-primary;
        background: $panel;
        pointer: pointer;
        &:hover { background: $primary 30%; }
    }
    """

    class FilterRequested(Message):
        """The list is to be filtered."""

    def __init__(self) -> None:
        super().__init__()
        self._count_text = ""

    def show(self, count_text: str) -> None:
        """Show a count at the right end."""
        if count_text != self._count_text:
            self._count_text = count_text
            self.refresh()

    def render(self) -> Content:
        width = self.content_size.width
        gap = width - len(_NEW) - cell_len(self._count_text)
        if gap < 1:
            return Content.styled(_NEW[: max(width, 1)], "bold")
        filter_words = _FILTER if self.shows_filter else ""
        return Content.assemble(
            (_NEW, "bold"),
            (filter_words[:3], "$text-accent"),
            (filter_words[3:], "$foreground 72%"),
            " " * (gap - len(filter_words)),
            (self._count_text, "$foreground 72%"),
        )

    @property
    def shows_filter(self) -> bool:
        """True if there is room for the words that open the filter."""
        used = len(_NEW) + len(_FILTER) + cell_len(self._count_text)
        return bool(self._count_text) and used < self.content_size.width

    async def on_click(self, event: events.Click) -> None:
        offset = event.get_content_offset(self)
        column = -1 if offset is None else offset.x - len(_NEW)
        if self.shows_filter and 0 < column < len(_FILTER):
            self.post_message(self.FilterRequested())
        else:
            await self.run_action("sessions.new")


class SessionFilterInput(TextField):
    """Filters the sessions, and is shown while it does; Esc clears it and returns to the rows."""

    DEFAULT_CSS = """
    SessionFilterInput {
        display: none;
        height: 1;
        border: none;
        padding: 0 1;
        background: $surface;
        &:focus { border: none; background: $foreground 8%; }
        & .input--placeholder { color: $foreground 67%; }
    }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        pane_key("enter", "submit", "Open", "Open the session under the cursor", shown=True),
        pane_key("down,pagedown", "rows", "List", "From the filter to the sessions", shown=True),
        pane_key("escape", "leave", "Show all", "Show all sessions again", shown=True),
    ]

    class SessionFilterClosed(Message):
        """The rows get the focus."""

    def on_blur(self) -> None:
        """Hide without words; not while the terminal loses the focus, which comes back here."""
        if app_of(self).app_focus:
            self.display = bool(self.value)

    def action_leave(self) -> None:
        self.value = ""
        self.action_rows()

    def action_rows(self) -> None:
        self.post_message(self.SessionFilterClosed())


EMPTY = "No sessions yet.\nType below, or press {new}."
NOTHING = "Nothing matches.\nEsc clears the filter."
SEARCH = "\n{search} searches\nall messages."
"""Follows it if a plugin adds the search of all conversations."""


class SessionList(Vertical):
    """The sidebar. Its keys run actions of `SessionsArea`, which asks for the chosen sessions."""

    DEFAULT_CSS = """
    SessionList { background: $background; }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        pane_key("r", "sessions.rename_listed", "Rename", "Rename", shown=True),
        pane_key("p", "sessions.mark('pinned')", "Pin", "Pin at the top, or unpin", shown=True),
        pane_key("d,delete", "sessions.delete", "Delete", "Delete", shown=True),
        pane_key("slash", "filter", "Filter", "Filter the list: words, #tag", shown=True),
        pane_key("n", "sessions.new", "New", "New session"),
        pane_key("a", "sessions.mark('archived')", "Archive", "Archive, or restore"),
        pane_key("f", "sessions.move_to_folder", "Folder", "Put into a folder"),
        pane_key("e", "sessions.mark('unread')", "Unread", "Mark as read or unread"),
        pane_key("t", "sessions.tag", "Tag", "Tag"),
        pane_key("g", "group", "Group", "Group by time, folder or tag"),
        Binding("escape", "clear_selection", "Clear selection", show=False),
    ]

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self.new_session = NewSessionRow()
        self.filter = SessionFilterInput(placeholder="words, #tag", select_on_focus=False)
        self.rows = SessionRows()
        self._summaries: Sequence[SessionSummary] = ()
        self._find = SessionFilter()
        self._usual: Usual | None = None
        self.grouping: Grouping = "time"
        """The grouping of sessions from the next `show` on."""
        self._groups: tuple[SessionGroup, ...] = ()
        self._grouped_for: tuple[object, ...] = ()
        self._typed = ""
        self._found: Sequence[SessionSummary] = ()
        """The words of the filter, and the sessions that it showed for them."""
        self._current: str | None = None
        self._streaming: Collection[str] = ()
        self._now = 0.0
        self.keys: Mapping[str, str] = DEFAULT_KEYS
        """ One key of each action, for texts that name keys."""
        self.can_create_session = True
        """False if no session can be started here."""

    def compose(self) -> ComposeResult:
        self.new_session.display = self.can_create_session
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

        Ages are relative to `now`, in seconds since the epoch; the sessions in `running` receive a
        reply.
        """
        if summaries is not self._summaries:
            self._summaries = summaries
            self._find = SessionFilter(summaries)
            self._usual = usual_facts(summaries, self._usual)
        self._current, self._now, self._streaming = current, now, running
        self._show_rows()

    def focus(self, scroll_visible: bool = True) -> Self:
        self.rows.focus(scroll_visible)
        return self

    def _show_rows(self) -> None:
        typed = " ".join(self.filter.value.split())
        basis = (self._find, typed, self.grouping, day_of(self._now))
        if basis != self._grouped_for:
            matches = self._matching(typed)
            if matches != self._found or basis[2:] != self._grouped_for[2:]:
                self._groups = grouped(matches, self.grouping, self._now)
            self._found, self._typed, self._grouped_for = matches, typed, basis
        nothing = NOTHING + SEARCH if "search" in self.keys else NOTHING
        self.rows.show(
            self._groups,
            self._current,
            self._now,
            running=self._streaming,
            empty=insert_keys(nothing if typed else EMPTY, self.keys),
            is_filtered=bool(typed),
            shows_pins=self.grouping != "time",
            usual=None if typed else self._usual,
        )
        self._show_count()

    def _matching(self, typed: str) -> Sequence[SessionSummary]:
        """Return the sessions that the filter finds. Those that were found by their words stay
        while the words stay: one that is opened may get its real title only then.
        """
        matches = self._find(typed)
        if typed and typed == self._typed and "#" not in typed:
            found_ids = {summary.session_id for summary in (*matches, *self._found)}
            matches = [each for each in self._summaries if each.session_id in found_ids]
        return matches

    @on(SessionRows.SelectionChanged)
    def _show_count(self) -> None:
        count, chosen = len(self._summaries), len(self.rows.chosen)
        count_text = f"{chosen:,} chosen" if chosen else f"{count:,}" if count else ""
        self.new_session.show(count_text)

    @on(Input.Changed)
    def _filter_changed(self, event: Input.Changed) -> None:
        event.stop()
        self.filter.display = bool(event.value) or self.filter.has_focus
        self._show_rows()
        if event.value:
            self.rows.set_cursor(0)

    @on(Input.Submitted)
    async def _filter_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        await self.rows.open_session()

    @on(SessionFilterInput.SessionFilterClosed)
    def _filter_left(self, event: SessionFilterInput.SessionFilterClosed) -> None:
        event.stop()
        self.rows.focus()

    def on_key(self, event: events.Key) -> None:
        if self.filter.has_focus and event.is_printable:
            event.stop()

    def beside(self, session_id: str, step: int) -> str:
        """Return the id of the session `step` places below one in the list; empty at its ends.
        With a new chat, that is the first one. Folded groups and side conversations are skipped.
        """
        own = dict.fromkeys(
            session.session_id
            for group in self._groups
            if group.key not in self.rows.folded
            for session in group.sessions
            if session.parent_id not in group.parents
        )
        ids = list(own)
        if session_id not in own:
            return ids[0] if ids and step > 0 else ""
        index = ids.index(session_id) + step
        return ids[index] if 0 <= index < len(ids) else ""

    # Keys

    @on(NewSessionRow.FilterRequested)
    def action_filter(self) -> None:
        """Show and focus the filter, and prepare the texts that its first letter searches."""
        self.filter.display = True
        self.filter.focus()
        self.call_after_refresh(self._find.prepare)

    def action_group(self) -> None:
        self.grouping = GROUPINGS[(GROUPINGS.index(self.grouping) + 1) % len(GROUPINGS)]
        self._show_rows()

    def action_clear_selection(self) -> None:
        """Clear the selection, else the filter, else leave Esc to the app."""
        if self.rows.chosen:
            self.rows.choose(set())
        elif self.filter.value:
            self.filter.value = ""
        else:
            raise SkipAction

    def take_targets(self) -> Sequence[SessionSummary]:
        """Return the sessions that a key acts on, and clear the selection."""
        targets = self.rows.targets
        self.rows.choose(set())
        return targets
