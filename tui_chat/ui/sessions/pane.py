"""The pane of the sessions: title, filter and list, and what organizes the sessions in it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, Literal, Self

from textual import events, on, work
from textual.actions import SkipAction
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Input, Static

from tui_chat.errors import InputError, NotYet
from tui_chat.ui.area import AreaContext
from tui_chat.ui.keys import insert_keys
from tui_chat.ui.questions import ask_line
from tui_chat.ui.sessions.actions import NO_MESSAGE_YET, NO_TITLE_YET, SessionActions
from tui_chat.ui.sessions.rows import (
    NO_SESSION_HERE,
    SessionList,
    matches,
    session_rows,
    usual_facts,
)
from tui_chat.ui.verbs import bindings
from tui_chat.ui.widgets.pane_key import pane_key
from tui_chat.ui.widgets.safe_text import TextField
from tui_chat.ui.widgets.typed_app import app_of

if TYPE_CHECKING:
    from tui_chat.models.session import SessionSummary
    from tui_chat.workspace.events import WorkspaceEvent

EMPTY = "No sessions yet."
NOTHING = "No sessions match."
SEARCH = "\n{search} searches messages."
"""Follows it if a plugin adds the search of all conversations."""


class SessionTitle(Static):
    """The title row, with the number of selected sessions."""

    DEFAULT_CSS = """
    SessionTitle { height: 1; padding: 0 1; color: $label; text-wrap: nowrap; }
    """

    def show(self, selected: int) -> None:
        """Show the number of selected sessions."""
        self.update(f"Sessions · {selected:,} selected" if selected else "Sessions")


class SessionFilter(TextField):
    """Filters the sessions, and is shown while it does; Esc clears it and returns to the list."""

    DEFAULT_CSS = """
    SessionFilter {
        display: none;
        height: 1;
        border: none;
        padding: 0 1;
        background: $panel;
        &:focus { border: none; background: $panel; }
        & .input--placeholder { color: $label; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        pane_key("enter", "submit", "Open", "Open the session under the cursor", shown=True),
        pane_key("down,pagedown", "leave", "List", "From the filter to the sessions", shown=True),
        pane_key("escape", "clear", "Show all", "Show all sessions again", shown=True),
    ]

    class Left(Message):
        """The list gets the focus."""

    def on_blur(self) -> None:
        """Hide without words; not while the terminal loses the focus, which comes back here."""
        if app_of(self).app_focus:
            self.display = bool(self.value)

    def action_clear(self) -> None:
        self.value = ""
        self.action_leave()

    def action_leave(self) -> None:
        self.post_message(self.Left())


class SessionsPane(SessionActions):
    """The sessions. Organizing acts on the selected ones or the one under the cursor while the list
    has the focus, else on the active one.
    """

    WRITING_ACTIONS: ClassVar[frozenset[str]] = SessionActions.WRITING_ACTIONS | {
        *("rename", "delete", "undo", "mark", "tag", "move_to_folder")
    }
    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings("sessions"),
        Binding("escape", "clear_selection", "Clear selection", show=False),
    ]

    def __init__(self, context: AreaContext) -> None:
        super().__init__(context, "sessions")
        self._title = SessionTitle("Sessions")
        self.filter = SessionFilter(placeholder="words, #tag", select_on_focus=False)
        self.rows = SessionList()

    def compose(self) -> ComposeResult:
        yield self._title
        yield self.filter
        yield self.rows

    @property
    def title_row(self) -> Widget | None:
        return self._title

    def focus(self, scroll_visible: bool = True) -> Self:
        self.rows.focus(scroll_visible)
        return self

    def handle(self, event: WorkspaceEvent) -> None:
        """Show the sessions when they, or the active one, changed."""
        from tui_chat.workspace.events import BranchChanged, FilesProgress, SessionsChanged

        if isinstance(event, FilesProgress):
            self.host.panes.show_status(event.sentence)
        if isinstance(event, SessionsChanged | BranchChanged):
            self._show()

    def _show(self) -> None:
        """Show the sessions that the filter finds."""
        if self.host.workspace is None:
            return
        state, files = self.workspace.state, self.workspace.session_files
        sessions = files.subagents.nested(state.sessions) if files is not None else state.sessions
        words = self.filter.value.casefold().replace("# ", " ").split()
        typed = " ".join(words)
        usual = usual_facts(sessions)
        if typed:
            sessions = [session for session in sessions if matches(session, words)]
        now, keys = self.context.now(), self.context.key_labels
        nothing = NOTHING + SEARCH if "search" in keys else NOTHING
        self.rows.show(
            session_rows(sessions, now),
            state.session.session_id if state.session else None,
            now,
            running=state.streaming_sessions,
            empty=insert_keys(nothing if typed else EMPTY, keys),
            is_filtered=bool(typed),
            usual=usual,
        )
        self._show_title()

    @on(SessionList.SelectionChanged)
    def _show_title(self) -> None:
        self._title.show(len(self.rows.selected))

    def beside(self, session_id: str, step: int) -> str:
        """Return the id of the session `step` places below one in the list; empty at its ends.
        With a new chat, that is the first one. Folded groups and side conversations are skipped.
        """
        ids = list(dict.fromkeys(self.rows.own_ids))
        if session_id not in ids:
            return ids[0] if ids and step > 0 else ""
        index = ids.index(session_id) + step
        return ids[index] if 0 <= index < len(ids) else ""

    # --- filter and selection --------- -----------------------------------------------------

    def action_find(self, words: str = "") -> None:
        """Filter the list by words, and focus the filter."""
        self.host.panes.show_area(self)
        self.filter.value = words
        self.call_after_refresh(self.action_filter)

    def action_filter(self) -> None:
        """Show and focus the filter."""
        self.filter.display = True
        self.filter.focus()

    @on(Input.Changed)
    def _filter_changed(self, event: Input.Changed) -> None:
        event.stop()
        self.filter.display = bool(event.value) or self.filter.has_focus
        self._show()
        if event.value:
            self.rows.action_first()

    @on(Input.Submitted)
    async def _filter_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        await self.rows.open_session()

    @on(SessionFilter.Left)
    def _filter_left(self, event: SessionFilter.Left) -> None:
        event.stop()
        self.rows.focus()

    def on_key(self, event: events.Key) -> None:
        if self.filter.has_focus and event.is_printable:
            event.stop()

    def action_clear_selection(self) -> None:
        """Clear the selection, else the filter, else leave Esc to the app."""
        if self.rows.selected:
            self.rows.select(set())
        elif self.filter.value:
            self.filter.value = ""
        else:
            raise SkipAction

    # --- organizing ----------------------------------------------------------------------

    @property
    def _is_list_in_use(self) -> bool:
        """True if the list has the focus, or had it when a dialog was opened."""
        return self.screen.focused is self.rows

    async def _targets(self) -> Sequence[SessionSummary]:
        """Return the sessions that an action is about, and clear the selection. Raises InputError
        if there is none.
        """
        state = (await self.host.opened_workspace()).state
        if self._is_list_in_use:
            targets = self.rows.targets
            self.rows.select(set())
            if targets:
                return targets
            raise InputError(NO_SESSION_HERE)
        if state.session is None:
            raise NotYet(NO_MESSAGE_YET)
        if state.is_temporary:
            raise InputError("A temporary session is not stored.")
        return [each for each in state.sessions if each.session_id == state.session.session_id]

    @work(group="dialog", exclusive=True)
    async def action_rename(self, title: str = "") -> None:
        """Give a session another title."""
        workspace = await self.host.opened_workspace()
        active = workspace.state.session
        session = self.rows.under_cursor if self._is_list_in_use else active
        if session is None:
            raise InputError(NO_SESSION_HERE if self._is_list_in_use else NO_TITLE_YET)
        new = title or await ask_line(self.tui, "Rename session", session.title)
        if new:
            self._store_title(session.session_id, new)

    @work(group="organize")
    async def _store_title(self, session_id: str, title: str) -> None:
        await self.workspace.session_list.rename(session_id, title)

    @work(group="organize")
    async def action_delete(self) -> None:
        """Delete sessions; this can be undone."""
        ids = [session.session_id for session in await self._targets()]
        await self.host.switch_session(
            lambda workspace: workspace.sessions.delete(ids), leaves=False
        )

    @work(group="organize")
    async def action_undo(self) -> None:
        """Bring back what was deleted last."""
        await self.host.switch_session(lambda workspace: workspace.undo(), leaves=False)

    @work(group="organize", description="mark sessions")
    async def action_mark(self, mark: Literal["pinned", "archived"]) -> None:
        """Mark sessions; remove the mark if all have it."""
        targets = await self._targets()
        is_marked = not all(getattr(session, mark) for session in targets)
        ids = [session.session_id for session in targets]
        if mark == "pinned":
            await self.workspace.session_list.organize(ids, pinned=is_marked)
        else:
            await self.workspace.session_list.organize(ids, archived=is_marked)

    @work(group="dialog", exclusive=True)
    async def action_tag(self, typed: str = "") -> None:
        """Ask for the tags that all of the sessions have; what only some have stays."""
        sessions = await self._targets()
        shared = [tag for tag in sessions[0].tags if all(tag in s.tags for s in sessions)]
        title = "Tags (comma-separated)"
        answer = typed or await ask_line(self.tui, title, ", ".join(shared), may_be_empty=True)
        if answer is None:
            return
        parts = (part.strip().lstrip("#") for part in re.split(r",|\s+(?=#)", answer))
        tags = tuple(dict.fromkeys(filter(None, parts)))
        if tags != tuple(shared):
            ids = [session.session_id for session in sessions]
            drop = () if typed else shared
            await self.workspace.session_list.retag(ids, add=tags, drop=drop)

    @work(group="dialog", exclusive=True)
    async def action_move_to_folder(self, name: str = "") -> None:
        """Put sessions into a folder, which is asked for unless it is named."""
        sessions = await self._targets()
        folder: str | None = name
        if not name:
            title, current = "Move to folder (empty: none)", sessions[0].folder
            folder = await ask_line(self.tui, title, current, may_be_empty=True)
        if folder is not None:
            ids = [session.session_id for session in sessions]
            await self.workspace.session_list.organize(ids, folder=folder)
