"""“Search all conversations”: opens the search screen, and goes to the chosen hit."""

from __future__ import annotations

from collections.abc import Coroutine, Iterable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from tui_chat.errors import TuiChatError
from tui_chat.models.search import Hit, Query
from tui_chat.plugins.search.hit_list import found_words
from tui_chat.plugins.search.query_text import KnownNames
from tui_chat.plugins.search.screen import SearchAnswer, SearchScreen

if TYPE_CHECKING:
    from tui_chat.models.session import Entry
    from tui_chat.ui.app import TuiChat
    from tui_chat.workspace.workspace import Workspace


_LAST: WeakKeyDictionary[TuiChat, str] = WeakKeyDictionary()
"""The query that was typed last in each app."""


async def search(app: TuiChat, words: str) -> None:
    """Search all conversations, and go to what was found. No words: the last query."""
    workspace = await app.main.opened_workspace()
    try:
        writers = await workspace.store.search.writers()
    except TuiChatError:
        writers = ()  # the search itself will report it
    now, typed = workspace.now().timestamp(), words or _LAST.get(app, "")
    screen = WorkspaceSearch(workspace, writers, now, typed).screen
    hit = await app.push_screen_wait(screen)
    _LAST[app] = screen.typed
    if hit is None:
        return
    message_id = hit.message_id
    if message_id is None:
        await app.main.switch_session(lambda opened: opened.sessions.open(hit.session_id))
        app.panes.show_conversation()
        return
    await app.main.switch_session(
        lambda opened: opened.sessions.open_at(hit.session_id, message_id)
    )
    app.panes.show_message(message_id, found_words(hit))
    if hit.place == "attachment":
        app.notify("It is in an attached file of this message: v opens the file.")


class WorkspaceSearch:
    """Answers a search screen from a workspace."""

    def __init__(
        self, workspace: Workspace, writers: Iterable[tuple[str, str]], now: float, typed: str
    ) -> None:
        """`writers` are the endpoints and models that replied to stored messages. `now` is the time
        in seconds since the epoch, `typed` the text to begin with.
        """
        self._workspace = workspace
        names = _known_names(workspace, list(writers))
        self.screen = SearchScreen(names, now, self._request_answer, self._request_preview, typed)

    def _request_answer(self, query: Query) -> None:
        self._run(partial(self._search, query), "search")

    def _request_preview(self, hit: Hit) -> None:
        self._run(partial(self._preview, hit), "search-preview", exclusive=True)

    def _run(
        self, work: partial[Coroutine[None, None, None]], group: str, *, exclusive: bool = False
    ) -> None:
        self.screen.run_worker(work, group=group, exclusive=exclusive, description=group)

    async def _search(self, query: Query) -> None:
        if self.screen.is_attached:
            self.screen.show(await self._answer(query))

    async def _answer(self, query: Query) -> SearchAnswer:
        try:
            hits = await self._workspace.store.search.find(query)
            return SearchAnswer(query, hits, is_ranked=hits.is_ranked)
        except TuiChatError as error:
            return SearchAnswer(query, fault=f"{error}\n{error.advice}".strip())

    async def _preview(self, hit: Hit) -> None:
        entries: tuple[Entry, ...] = ()
        if hit.message_id is not None:
            with suppress(TuiChatError):  # the message was deleted meanwhile
                entries = await self._workspace.store.branches.around(hit.message_id)
        if self.screen.is_attached:
            self.screen.show_around(hit, entries)


def _known_names(workspace: Workspace, writers: list[tuple[str, str]]) -> KnownNames:
    sessions, endpoints = workspace.state.sessions, workspace.state.config.endpoints
    models = {each.model for each in sessions} | {model for _, model in writers}
    names = dict.fromkeys((*(each.name for each in endpoints), *(name for name, _ in writers)))
    return KnownNames(
        role=tuple(sorted({each.role_name for each in sessions if each.role_name})),
        model=tuple(sorted(models - {""})),
        endpoint=tuple(name for name in names if name),
        tag=tuple(sorted({tag for each in sessions for tag in each.tags})),
    )
