"""“Search all conversations”: opens the search screen, and goes to the chosen hit."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from tui_chat.errors import TuiChatError
from tui_chat.models.search import Hit, Query
from tui_chat.ui.search.hit_list import found_words
from tui_chat.ui.search.query_text import KnownNames
from tui_chat.ui.search.screen import SearchAnswer, SearchScreen

if TYPE_CHECKING:
    from tui_chat.models.session import Entry
    from tui_chat.ui.app import TuiChat
    from tui_chat.workspace.workspace import Workspace


_LAST: WeakKeyDictionary[TuiChat, str] = WeakKeyDictionary()
"""The query that was typed last in each app."""


async def search(app: TuiChat, words: str) -> None:
    """Search all conversations, and go to what was found. No words: the last query."""
    workspace = await app.main.opened_workspace()
    names, now = await _known_names(workspace), workspace.now().timestamp()

    async def answer(query: Query) -> None:
        try:
            hits = await workspace.store.search.find(query)
            found = SearchAnswer(query, hits, is_ranked=hits.is_ranked)
        except TuiChatError as error:
            found = SearchAnswer(query, fault=f"{error}\n{error.advice}".strip())
        if screen.is_attached:
            screen.show(found)

    async def preview(hit: Hit) -> None:
        entries: tuple[Entry, ...] = ()
        if hit.message_id is not None:
            with suppress(TuiChatError):  # the message was deleted meanwhile
                entries = await workspace.store.branches.around(hit.message_id)
        if screen.is_attached:
            screen.show_around(hit, entries)

    def request_answer(query: Query) -> None:
        screen.run_worker(partial(answer, query), group="search", description="search")

    def request_preview(hit: Hit) -> None:
        worker = partial(preview, hit)
        screen.run_worker(worker, group="preview", exclusive=True, description="preview")

    typed = words or _LAST.get(app, "")
    screen = SearchScreen(names, now, request_answer, request_preview, typed)
    hit = await app.push_screen_wait(screen)
    _LAST[app] = screen.typed
    if hit is not None:
        await _go_to(app, hit)


async def _go_to(app: TuiChat, hit: Hit) -> None:
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


async def _known_names(workspace: Workspace) -> KnownNames:
    """Return the names that filters can have, those of stored messages too."""
    try:
        writers = list(await workspace.store.search.writers())
    except TuiChatError:
        writers = []  # the search itself will report it
    sessions, endpoints = workspace.state.sessions, workspace.state.config.endpoints
    models = {each.model for each in sessions} | {model for _, model in writers}
    names = dict.fromkeys((*(each.name for each in endpoints), *(name for name, _ in writers)))
    return KnownNames(
        role=tuple(sorted({each.role_name for each in sessions if each.role_name})),
        model=tuple(sorted(models - {""})),
        endpoint=tuple(name for name in names if name),
        tag=tuple(sorted({tag for each in sessions for tag in each.tags})),
    )
