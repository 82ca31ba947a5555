"""Searching: everything that was said."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import work

from tui_chat.errors import TuiChatError
from tui_chat.ui.acting.drafting import Drafting

if TYPE_CHECKING:
    from tui_chat.models.search import Hit
    from tui_chat.ui.search import SearchScreen


class Searching(Drafting):
    """Answers the search screen, and goes where it leads."""

    _search_screen: SearchScreen | None = None
    _searched = ""
    """What was searched for last."""

    def action_find(self) -> None:
        """Show the session list and focus its filter."""
        self.find_session("")

    def find_session(self, words: str) -> None:
        """Filter the session list by these words, and focus the filter."""
        self.panes.open("sessions")
        self._sessions.filter.value = words
        self.call_after_refresh(self._sessions.action_filter)

    @work(group="dialog", exclusive=True)
    async def action_search(self) -> None:
        """Search everything that was said, and open what was found."""
        await self.search_for(self._searched)

    async def search_for(self, typed: str) -> None:
        """Search for these words first."""
        from tui_chat.ui.search import KnownNames, SearchScreen

        await self._workspace_opened.wait()
        workspace = self.workspace
        if workspace is None:
            return
        sessions, endpoints = workspace.state.sessions, workspace.state.config.endpoints
        try:
            replied = await workspace.store.search.writers()
        except TuiChatError:
            replied = ()  # the search itself will tell
        models = {each.model for each in sessions} | {model for _, model in replied}
        named = dict.fromkeys((*(each.name for each in endpoints), *(name for name, _ in replied)))
        known = KnownNames(
            role=tuple(sorted({each.role_name for each in sessions if each.role_name})),
            model=tuple(sorted(models - {""})),
            endpoint=tuple(name for name in named if name),
            tag=tuple(sorted({tag for each in sessions for tag in each.tags})),
        )
        screen = self._search_screen = SearchScreen(known, self._now(), typed)
        hit = await self.push_screen_wait(screen)
        self._search_screen = None
        self._searched = screen.typed
        if hit is not None:
            await self._go_to(hit)

    async def _go_to(self, hit: Hit) -> None:
        from tui_chat.ui.search.hit_list import found_words

        message_id = hit.message_id
        if message_id is None:
            await self.show_session(lambda workspace: workspace.sessions.open(hit.session_id))
        else:
            await self.show_session(
                lambda workspace: workspace.sessions.open_at(hit.session_id, message_id)
            )
        if self.panes.is_narrow:
            self.panes.close_overlay()
        if hit.message_id is None:
            self._composer.focus()
        elif self._chat.transcript.show_message(hit.message_id, found_words(hit)):
            self._chat.transcript.focus()

    @work(group="search")
    async def on_search_screen_query_requested(self, event: SearchScreen.QueryRequested) -> None:
        """Answer a query."""
        from tui_chat.ui.search import SearchAnswer

        screen, workspace = self._search_screen, self.workspace
        if screen is None or workspace is None:
            return
        try:
            answer = SearchAnswer(event.query, await workspace.store.search.find(event.query))
        except TuiChatError as error:
            answer = SearchAnswer(event.query, fault=f"{error}\n{error.advice}".strip())
        if screen.is_attached:
            screen.show(answer)

    @work(group="search-preview", exclusive=True)
    async def on_search_screen_preview_requested(
        self, event: SearchScreen.PreviewRequested
    ) -> None:
        """Show what was said around a hit."""
        screen, workspace = self._search_screen, self.workspace
        if screen is None or workspace is None:
            return
        try:
            message_id = event.hit.message_id
            entries = (
                await workspace.store.branches.around(message_id) if message_id is not None else ()
            )
        except TuiChatError:
            entries = ()  # what was found was deleted meanwhile
        if screen.is_attached:
            screen.show_around(event.hit, entries)
