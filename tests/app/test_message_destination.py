"""A message goes to the session in which it was typed, however slowly the program answers.

Random scripts of typing, Enter and Ctrl+N arrive as fast as a terminal can send them, while the
store and the event loop are slow at random places. Every word names the session that it was typed
for, so a word that reaches another session, or that is lost, is found.
"""

from __future__ import annotations

import asyncio
import inspect
import random
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from textual import events

from tests.support.app import burst, make_app, opened, say, screen_text, settle, until, workspace_of
from tests.support.tables import each_row
from tui_chat.store.branches import BranchStore
from tui_chat.store.drafts import SessionTexts, SettingStore
from tui_chat.store.messages import MessageStore
from tui_chat.store.replies import ReplyStore
from tui_chat.store.requests import RequestStore, RevisionStore
from tui_chat.store.roles import RoleStore
from tui_chat.store.search import MessageSearch
from tui_chat.store.sessions import SessionStore
from tui_chat.store.transcripts import TranscriptStore
from tui_chat.ui import key_queue
from tui_chat.ui.app import TuiChat
from tui_chat.ui.chat.composer import Composer
from tui_chat.workspace.message_queue import read_queue

TIME_LIMIT = 0.2
"""Seconds that keys wait for a focus here, a fifth of what they do otherwise."""


def slow_down(patch: pytest.MonkeyPatch, dice: random.Random) -> None:
    """Let every call of the store take a random time, now and then longer than keys wait for the
    focus, and let some of them block the event loop.
    """
    patch.setattr(key_queue, "TIME_LIMIT", TIME_LIMIT)

    def delayed(method: Callable[..., Any]) -> Callable[..., Any]:
        async def call(*args: object, **options: object) -> object:
            match dice.randrange(40):
                case 0:
                    await asyncio.sleep(1.3 * TIME_LIMIT)
                case 1:
                    time.sleep(1.1 * TIME_LIMIT)
                case 2 | 3 | 4 | 5:
                    await asyncio.sleep(dice.random() * TIME_LIMIT / 10)
                case _:
                    await asyncio.sleep(0)
            return await method(*args, **options)

        return call

    subjects = (
        *(
            BranchStore,
            SessionTexts,
            MessageStore,
            ReplyStore,
            RequestStore,
            RevisionStore,
            RoleStore,
            MessageSearch,
            SessionStore,
        ),
        *(SettingStore, TranscriptStore),
    )
    for subject in subjects:
        for name, method in inspect.getmembers(subject, inspect.iscoroutinefunction):
            if not name.startswith("_"):
                patch.setattr(subject, name, delayed(method))


async def type_at_random(app: TuiChat, dice: random.Random) -> dict[str, int]:
    """Type words into four new sessions, one after the other, without waiting for anything.

    Return each word with the number of its session. The first message of a session can always be
    sent; a later one may be refused, and stays the draft, while the reply is arriving.
    """
    meant: dict[str, int] = {}
    for session in range(4):
        if session:
            burst(app, "ctrl+n")
        for _ in range(dice.randint(1, 3)):
            word = f"w{len(meant)} "
            meant[word] = session
            burst(app, *word, "enter")
            if dice.random() < 0.3:
                await asyncio.sleep(dice.random() * TIME_LIMIT / 5)
    return meant


def is_at_rest(app: TuiChat) -> bool:
    """True if all keys are handled, no message is on its way, and no reply is arriving."""
    workspace = app.workspace
    return (
        workspace is not None
        and app.key_queue.is_idle
        and all(worker.is_finished for worker in app.workers)
        and not workspace.state.streaming_sessions
    )


async def places_of(app: TuiChat, words: Iterable[str]) -> dict[str, list[str]]:
    """Return for each word the sessions that hold it, as a message, queued or in the draft."""
    workspace = workspace_of(app)
    store = workspace.store
    found: dict[str, list[str]] = {word: [] for word in words}
    for session in await store.sessions.list():
        nodes = await store.branches.tree(session.session_id)
        ids = [node.message_id for node in nodes if node.message_role == "user"]
        texts = [f"{excerpt} " for excerpt in (await store.branches.excerpts(ids)).values()]
        texts.append(await store.drafts.get(session.session_id))
        texts += [queued.text for queued in read_queue(await store.queues.get(session.session_id))]
        for word, places in found.items():
            places.extend(session.session_id for text in texts if word in f" {text}")

    return found


@each_row("seed", range(4))
async def test_each_message_is_stored_in_the_session_it_was_typed_for(tmp_path: Path, seed: int):
    dice = random.Random(seed)
    async with make_app(tmp_path, model="echo").run_test(size=(120, 35)) as pilot:
        app = await opened(pilot)
        with pytest.MonkeyPatch.context() as patch:
            slow_down(patch, dice)
            meant = await type_at_random(app, dice)
            await settle(pilot)
            await until(pilot, lambda: is_at_rest(app), seconds=120)
        await app.chat.drafts.save()
        places = await places_of(app, meant)
    assert {word: len(found) for word, found in places.items()} == dict.fromkeys(meant, 1)
    sessions = {
        session: {places[w][0] for w in meant if meant[w] == session} for session in range(4)
    }
    assert [len(ids) for ids in sessions.values()] == [1, 1, 1, 1]
    assert len(set.union(*sessions.values())) == 4


def click(app: TuiChat, x: int, y: int) -> None:
    """Let a click arrive the way that the driver sends it; the pilot's goes around the app."""
    for kind in (events.MouseDown, events.MouseUp):
        app.post_message(kind(None, x, y, 0, 0, 1, False, False, False, screen_x=x, screen_y=y))


async def test_text_typed_after_clicking_a_slow_session_waits_for_it(tmp_path: Path):
    async with make_app(tmp_path, model="echo").run_test(size=(160, 45)) as pilot:
        app = await opened(pilot)
        await say(pilot, "first")
        workspace = workspace_of(app)
        first = workspace.state.session_id
        await pilot.press("ctrl+n")
        await until(pilot, lambda: workspace.state.session is None)
        await settle(pilot)
        branch = BranchStore.load

        async def slow_branch(self: BranchStore, *args: Any, **options: Any) -> object:
            await asyncio.sleep(1.5 * TIME_LIMIT)
            return await branch(self, *args, **options)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(BranchStore, "load", slow_branch)
            patch.setattr(key_queue, "TIME_LIMIT", TIME_LIMIT)
            await pilot.press("f2")
            lines = screen_text(app).splitlines()
            row = next(y for y, line in enumerate(lines) if "first" in line[:30])
            click(app, 6, row)
            burst(app, *"for the first ")
            await until(pilot, lambda: workspace.state.session_id == first and is_at_rest(app))
        assert app.query_one(Composer).text == "for the first "
