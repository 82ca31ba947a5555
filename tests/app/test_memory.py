"""Memory and long sessions."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from weakref import ref

import pytest

from tests.support.app import NOON, make_app, opened, press, say, settle, until
from tui_chat.models.endpoint import Protocol
from tui_chat.models.message import Message
from tui_chat.models.session import Entry, Session, SessionTranscript
from tui_chat.store import Store
from tui_chat.ui.chat.chat_pane import ChatPane
from tui_chat.ui.chat.composer import Composer
from tui_chat.ui.inspector.pane import Inspector
from tui_chat.ui.inspector.views import views
from tui_chat.workspace import requests


async def two_sessions(folder: Path) -> None:
    """Put two sessions into a store, from which nothing was sent."""
    store = await Store.open(folder / "chat.db", now=lambda: NOON, new_id=iter("abcdef").__next__)
    async with store:
        for name in ("one", "other"):
            entries: list[Entry] = []
            for number in range(12):
                role = "assistant" if number % 2 else "user"
                message = Message.of(role, f"{name} {number} **light**", id=f"{name}{number:02}")
                entries.append(Entry(message, entries[-1].message.id if entries else None))
            session = Session(name, name, endpoint="loopback", model="mirror")
            await store.transcripts.add_many([SessionTranscript(session, tuple(entries))])


def is_released(kept: Iterable[ref[object]]) -> bool:
    """True if nothing of `kept` is alive; a thread or a pending event may end before it is."""
    if any(known() is not None for known in kept):
        gc.collect()
    return all(known() is None for known in kept)


async def test_a_closed_session_is_released(tmp_path: Path) -> None:
    await two_sessions(tmp_path)
    async with make_app(tmp_path).run_test(size=(160, 45)) as pilot:
        app = await opened(pilot)
        workspace, inspector = app.workspace, app.query_one(Inspector)
        transcript = app.query_one(ChatPane).transcript
        assert workspace is not None

        def shows(name: str) -> bool:
            composed = inspector.composed
            return composed is not None and f"{name} 11".encode() in composed.payload.body

        await workspace.sessions.open("one")
        await until(pilot, lambda: shows("one"))
        for protocol in Protocol:
            app.inspector.action_show_in_protocol(protocol)
            await until(pilot, lambda p=protocol: inspector.active is p)
        for view in views():
            inspector.view_shown = view
            inspector.focus()
            await press(pilot, "up", "enter")
            if len(app.screen_stack) > 1:  # without lorebooks, Enter leads to their list
                await pilot.press("escape")
        inspector.view_shown = "payload"
        inspector.focus()
        await pilot.press("k", "space")
        inspector.views.payload.find("light")
        transcript.focus()
        await pilot.press("pageup", "end")
        transcript.find("light")
        app.query_one(Composer).focus()
        await pilot.press("h", "i")
        await until(pilot, lambda: b'"hi"' in inspector.composed.payload.body)
        turns = [turn for turn in inspector.composed.envelope.turns if turn.origin.id[:3] == "one"]
        kept = [*map(ref, turns), *map(ref, (entry.message for entry in workspace.state.entries))]
        assert len(kept) == 24
        del turns
        for view in ("payload", "context"):
            inspector.view_shown = view
            name = "other" if workspace.state.session_id == "one" else "one"
            await workspace.sessions.open(name)
            await until(pilot, lambda name=name: shows(name))
            await settle(pilot)
            await until(pilot, lambda kept=kept: is_released(kept))
            kept = [*map(ref, (entry.message for entry in workspace.state.entries))]


async def test_a_long_request_is_released_with_its_session_and_composed_again_on_return(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tui_chat.ui.inspector.area.RECALL_AFTER", 0.01)
    await two_sessions(tmp_path)
    async with make_app(tmp_path, host="provider.invalid").run_test(size=(160, 45)) as pilot:
        app = await opened(pilot)
        workspace, inspector = app.workspace, app.query_one(Inspector)
        await workspace.sessions.open("one")
        await say(pilot, "hi")
        await until(pilot, lambda: inspector.forecast is not None)
        kept = [*map(ref, (entry.message for entry in workspace.state.entries))]
        await workspace.sessions.open("other")
        await until(pilot, lambda: inspector.forecast is None)
        await settle(pilot)
        assert not workspace.state.last_sent
        await until(pilot, lambda: is_released(kept))
        await workspace.sessions.open("one")
        await until(pilot, lambda: inspector.forecast is not None)
        told = inspector.forecast
        assert told.at.kind == "grown"


# --- A long conversation is on the screen, and keys are taken, before its request is composed


async def test_keys_are_taken_while_a_long_session_is_composed_for_the_first_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(requests, "LONG_BRANCH", 2)
    gate = threading.Event()
    async with make_app(tmp_path).run_test(size=(160, 45)) as pilot:
        app = await opened(pilot)
        await say(pilot, "a question")
        workspace, inspector = app.workspace, app.query_one(Inspector)
        long = workspace.state.session_id
        await workspace.sessions.new()
        await settle(pilot)
        at_once = workspace.requests.compose

        def later(*given: Any) -> Any:
            if workspace.state.session_id == long:  # the new chat's may be composed once more
                assert threading.current_thread() is not threading.main_thread() or gate.is_set()
                assert gate.wait(30)
            return at_once(*given)

        monkeypatch.setattr(workspace.requests, "compose", later)
        await workspace.sessions.open(long)
        transcript = app.query_one(ChatPane).transcript
        await until(pilot, lambda: len(transcript.entries) == 2)
        await until(pilot, lambda: inspector.composed is None)  # not its predecessor's request
        await pilot.press("h", "i")
        await until(pilot, lambda: app.query_one(Composer).text == "hi")
        gate.set()

        def body() -> bytes:
            return inspector.composed.payload.body if inspector.composed is not None else b""

        await until(pilot, lambda: b"a question" in body() and b'"hi"' in body())
