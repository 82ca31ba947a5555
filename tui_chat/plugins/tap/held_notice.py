"""Announces in the app that a tap holds requests of another program."""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from tui_chat.workspace.events import Done, SessionsChanged

if TYPE_CHECKING:
    from tui_chat.workspace.workspace import Workspace

_announced: WeakKeyDictionary[Workspace, set[str]] = WeakKeyDictionary()
"""The ids of the replies whose requests were announced."""


async def announce_held(workspace: Workspace, event: SessionsChanged) -> None:
    """Say once of each held request that it waits for a decision. It is a reply that another
    program receives, so nothing is read unless there is one.
    """
    state = workspace.core.state
    streaming = {each.session_id for each in state.sessions if each.status == "streaming"}
    if streaming <= state.streaming_sessions:
        return
    from tui_chat.plugins.tap.held_table import until_words, waiting_requests, words_of

    announced = _announced.setdefault(workspace, set())
    for held in await waiting_requests(workspace.core.store.replies.database):
        if held.message_id not in announced:
            announced.add(held.message_id)
            sentence = f"Held: {words_of(held)}. /held decides; it is sent on {until_words(held)}."
            workspace.core.publish(Done(sentence))
