"""A request that a tap holds, decided about in the app."""

from __future__ import annotations

import asyncio
import json
import shlex
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.plugins.tap.conftest import Recording
from tests.plugins.tap.test_pause import PausedTap, pausing, texts_by_hand
from tests.plugins.tap.ui.test_calls_view import add_call, recorded
from tests.plugins.tap.wire import PATIENCE
from tests.support.app import asked, make_app, opened, rows_shown, settle, told, until
from tests.support.command_line import Run
from tests.support.pictures import WIDE, Album
from tui_chat.models.usage import Usage
from tui_chat.plugins.tap.calls_view import CallsView
from tui_chat.plugins.tap.held_table import CREATE, decide, waiting_requests
from tui_chat.store import Store
from tui_chat.store.database import Transaction
from tui_chat.ui.app import TuiChat
from tui_chat.ui.dialogs.choices import ChoiceDialog
from tui_chat.ui.inspector.lines import Switches
from tui_chat.ui.inspector.pane import Inspector
from tui_chat.workspace.events import Done

BODY: dict[str, Any] = {"model": "echo", "messages": [{"role": "user", "content": "Hi"}]}
EDITOR = """
import pathlib, sys
folder, path = pathlib.Path({folder!r}), pathlib.Path(sys.argv[1])
count = len(list(folder.glob("given-*")))
(folder / f"given-{{count}}").write_text(path.read_text())
path.write_text({texts!r}[count])
"""
"""Keeps what it is given, and writes one text after the other."""


@asynccontextmanager
async def held_call(folder: Path, first_id: int = 1 << 20) -> AsyncIterator[HeldCall]:
    """Send a request through a tap that holds it, for apps to decide."""
    async with pausing(folder, "echo", first_id=first_id) as paused:
        headers = {"user-agent": "my-agent/1"}
        reply = paused.ask("/v1/chat/completions", BODY, headers=headers)
        await paused.held()
        try:
            yield HeldCall(paused, reply)
        finally:
            await paused.tap.transport.aclose()
            await asyncio.wait({reply}, timeout=PATIENCE)
            await paused.held(0)


@dataclass
class HeldCall:
    """A program that waits for its reply, and the tap that holds its request."""

    paused: PausedTap
    reply: asyncio.Task[httpx.Response]

    @property
    def tap(self) -> Recording:
        return self.paused.tap

    async def text(self) -> str:
        reply = (await asyncio.wait_for(self.reply, PATIENCE)).json()
        return reply["choices"][0]["message"]["content"]


async def has_table(store: Store) -> bool:
    rows = await store.replies.database.rows("SELECT 1 FROM sqlite_master WHERE name = 'tap_held'")
    return bool(rows)


async def choose(pilot: Any, words: str) -> None:
    await until(pilot, lambda: isinstance(pilot.app.screen, ChoiceDialog))
    await pilot.press(*words, "enter")


async def show_calls(pilot: Any, held: HeldCall) -> Inspector:
    app = await opened(pilot)
    workspace = app.workspace
    assert workspace is not None
    await workspace.windows.check()
    await workspace.plugin_listeners.finish()
    await settle(pilot)
    app.clear_notifications()  # the announcement says a time
    (session,) = await held.tap.sessions()
    await workspace.sessions.open(session.session_id)
    inspector = app.query_one(Inspector)
    await until(pilot, lambda: inspector.composed is not None)
    await until(pilot, lambda: "Calls" in str(inspector.query_one(Switches).render()))
    inspector.focus()
    inspector.action_view("calls")
    await until(pilot, lambda: "Enter decides" in " ".join(rows_shown(inspector.views.current)))
    return inspector


async def test_held_requests_are_sent_and_dropped_in_the_app(tmp_path: Path):
    app = make_app(tmp_path)
    async with app.run_test(size=WIDE) as pilot:
        await opened(pilot)
        async with held_call(tmp_path) as held:
            inspector = await show_calls(pilot, held)
            view = inspector.views.current
            assert isinstance(view, CallsView)
            rows = " ".join(" ".join(rows_shown(view)).split())
            assert "my-agent · echo" in rows
            await pilot.press("end", "enter")
            await until(pilot, lambda: isinstance(pilot.app.screen, ChoiceDialog))
            await pilot.press("escape")
            await until(pilot, lambda: not isinstance(pilot.app.screen, ChoiceDialog))
            number = next(n for n, row in enumerate(rows_shown(view)) if "my-agent · echo" in row)
            await pilot.press("home", *["down"] * number, "enter")
            await choose(pilot, "Send it on")
            assert await held.text() == "Hi"
            (call,) = await held.tap.recorded(1)
            assert call.exchange.hold is not None
            assert call.exchange.hold.end == "sent"
            await held.paused.held(0)
            assert not await has_table(held.tap.store)
        async with held_call(tmp_path, 2 << 20) as held:
            await app.run_action("plugins.held")
            await choose(pilot, "Drop it")
            assert (await held.reply).status_code == 403
        await app.run_action("plugins.held")
        await until(pilot, lambda: "No request of another program" in told(pilot.app))


async def test_a_held_request_is_announced_once(tmp_path: Path):
    app = make_app(tmp_path)
    async with app.run_test(size=WIDE) as pilot:
        workspace = (await opened(pilot)).workspace
        assert workspace is not None
        events: list[object] = []
        workspace.core.subscribe(events.append)

        def announcements() -> list[str]:
            sentences = [event.sentence for event in events if isinstance(event, Done)]
            return [sentence for sentence in sentences if sentence.startswith("Held: ")]

        async def look() -> None:
            await workspace.session_list.refresh()
            await workspace.plugin_listeners.finish()

        async with held_call(tmp_path):
            await look()
            [held] = announcements()
            for _ in range(2):
                await workspace.session_list.refresh()
                await workspace.plugin_listeners.finish()
        assert announcements() == [held]
        assert held.startswith("Held: my-agent · echo. /held decides; it is sent on at ")


async def test_a_held_request_is_edited_in_the_app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    texts = ['{"model": "echo"', json.dumps(BODY).replace("Hi", "Hi, edited")]
    script = tmp_path / "editor.py"
    script.write_text(EDITOR.format(folder=str(tmp_path), texts=texts))
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", shlex.join([sys.executable, str(script)]))
    monkeypatch.setattr(TuiChat, "suspend", lambda _: nullcontext())
    app = make_app(tmp_path)
    async with app.run_test(size=WIDE) as pilot:
        app = await opened(pilot)
        workspace = app.workspace
        assert workspace is not None
        async with held_call(tmp_path) as held:
            inspector = await show_calls(pilot, held)
            await app.run_action("plugins.held")
            await choose(pilot, "Edit it in")
            await choose(pilot, "Edit it again")
            assert await held.text() == "Hi, edited"
            assert json.loads((tmp_path / "given-0").read_text()) == BODY
            assert (tmp_path / "given-1").read_text() == texts[0]
            await held.tap.recorded(1)
            (sent,) = held.paused.received
            (entry,) = [e for e in workspace.state.entries if e.message.role == "assistant"]
            assert await workspace.sent.view_sent(entry.message.id)
            await until(pilot, lambda: inspector.composed is not None)
            viewed = workspace.state.request.viewed
            assert viewed is not None
            assert viewed.composed.payload.body == sent.body
            assert "edited by hand" in viewed.description
            assert "exact bytes" in viewed.description
            assert list(texts_by_hand(viewed.composed.encoded.tree)) == [", edited"]


async def test_the_tap_and_the_app_agree_about_a_held_request(tmp_path: Path, run: Run):
    async with held_call(tmp_path) as held:
        database = held.tap.store.replies.database
        done = await asyncio.to_thread(run, "--data-dir", tmp_path, "db", "check")
        assert done.code == 0, done.out

        async def row_when(true: Callable[[Any], bool]) -> Any:
            async with asyncio.timeout(PATIENCE):
                while not (rows := await waiting_requests(database)) or not true(rows[0]):  # noqa: ASYNC110
                    await asyncio.sleep(0)
            return rows[0]

        # The limit begins again while the user edits.
        (row,) = await waiting_requests(database)
        assert await decide(database, row.message_id, "editing")
        await row_when(lambda now: now.until > row.until)
        # A fault of what was edited comes back.
        assert await decide(database, row.message_id, "edited", '{"model": 3}')
        assert "messages" in (await row_when(lambda now: bool(now.fault))).fault
        # What a killed tap left behind is not shown.
        await database.write(lambda tx: tx.run("UPDATE messages SET status = 'interrupted'"))
        assert await waiting_requests(database) == ()
        assert not await decide(database, row.message_id, "dropped")
        await database.write(lambda tx: tx.run("UPDATE messages SET status = 'streaming'"))


async def held_shown(pilot: Any) -> None:
    """Show a list of calls of which one is held."""
    app = await opened(pilot)
    workspace = app.workspace
    assert workspace is not None
    *_, two = await recorded(workspace.store)
    held = await add_call(workspace.store, "main", Usage(), None, is_held=True)
    noon = workspace.core.now().timestamp()

    async def add(tx: Transaction) -> None:
        await tx.run(CREATE)
        await tx.run(
            "INSERT INTO tap_held (message_id, session_id, program, model, since, until) "
            "VALUES (?, 'main', 'Claude Code', 'claude-opus-5-5', ?, ?)",
            *(held, noon, noon + 120),
        )

    await workspace.store.replies.database.write(add)
    await workspace.sessions.open_at("main", two)
    await settle(pilot)
    inspector = app.query_one(Inspector)
    if not inspector.is_on_screen:
        await pilot.press("f4")
    await until(pilot, lambda: inspector.composed is not None)
    inspector.focus()
    inspector.action_view("calls")
    await until(pilot, lambda: "4 calls" in " ".join(rows_shown(inspector.views.current)))
    await pilot.press("end")
    await until(pilot, lambda: "Enter decides" in " ".join(rows_shown(inspector.views.current)))
    await settle(pilot)


async def test_pictures(album: Album, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    async def say_nothing(*_: object) -> None:
        """The notice that a call is held may come before or after the picture."""

    monkeypatch.setattr("tui_chat.plugins.tap.held_notice.announce_held", say_nothing)
    async with album.of(make_app(tmp_path)) as pilot:
        await held_shown(pilot)
        await album.take(pilot, "calls")
        await pilot.app.run_action("plugins.held")
        await asked(pilot)
        assert isinstance(pilot.app.screen, ChoiceDialog)
        await album.take(pilot, "decision")
