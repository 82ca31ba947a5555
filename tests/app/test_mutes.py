"""Muting in the app: the keys, the chooser, the commands, and what the screen says."""

from __future__ import annotations

import json
from pathlib import Path

from textual.pilot import Pilot

from tests.support.app import make_app, opened, press, say, settle, until, workspace_of
from tests.support.messages import make_message, thought
from tui_chat.models.blocks import CallBlock, MediaBlock
from tui_chat.models.endpoint import Protocol
from tui_chat.models.message import NOT_MUTED, Muted
from tui_chat.ui.app import TuiChat
from tui_chat.ui.dialogs.choices import ChoiceDialog
from tui_chat.workspace.branches import muted_messages

PICTURE = MediaBlock("image", "image/png", "iVBORw0KGgo=", name="a.png")
THOUGHTS = (thought(Protocol.OPENAI_CHAT, "Hm, well.", kind="reasoning"),)


async def with_tools(pilot: Pilot[None]) -> TuiChat:
    """A conversation with a picture, a call with its result, and reasoning."""
    app = await opened(pilot)
    await say(pilot, "Which ferries go to Kos?")
    workspace = workspace_of(app)
    parent = workspace.state.entries[-1].message.id
    for message in (
        make_message("user", "And this map?", parts=(PICTURE,)),
        make_message("assistant", "I look.", tool_calls=(CallBlock("x", "look", '{"at":"Kos"}'),)),
        make_message("tool", "Three harbors.", tool_call_id="x", name="look"),
        make_message("assistant", "It has three.", reasoning=THOUGHTS),
    ):
        store, session_id = workspace.active_store, workspace.state.session_id
        parent = (await store.messages.add(session_id, message, parent)).message.id
    await workspace.sessions.reload_branch()
    app.chat.transcript.focus()
    await settle(pilot)
    return app


def told(app: TuiChat) -> str:
    return "\n".join(notice.message for notice in app.notifications.log)


def muted(app: TuiChat) -> list[Muted]:
    return [entry.message.muted for entry in app.workspace.state.entries]


def rows(app: TuiChat) -> str:
    transcript = app.chat.transcript
    return "\n".join(transcript.draw_row(y).text for y in range(transcript.size.height))


async def choose(pilot: Pilot[None], label: str) -> None:
    """Choose what a label says in the dialog."""
    await until(pilot, lambda: isinstance(pilot.app.screen, ChoiceDialog))
    await settle(pilot)
    await press(pilot, *label)
    await pilot.press("enter")
    await until(pilot, lambda: not isinstance(pilot.app.screen, ChoiceDialog))


async def test_a_key_mutes_the_message_under_the_cursor(tmp_path: Path) -> None:
    async with make_app(tmp_path).run_test(size=(160, 40)) as pilot:
        app = await with_tools(pilot)
        await pilot.press("k", "m")  # the result
        await until(pilot, lambda: muted(app)[4] == Muted(whole=True))
        await settle(pilot)
        assert "Result of look  ◇ muted, not sent" in rows(app)
        assert "◇ muted with its result" in rows(app), "at its call"
        body = json.loads(app.workspace.requests.compose("").payload.body)
        assert not any(message.get("tool_calls") for message in body["messages"])
        assert "Muted the tool's answer “Three harbors.”." in told(app)
        await pilot.press("m")
        await until(pilot, lambda: muted(app)[4] == NOT_MUTED)
        await pilot.press("k", "m")  # the message with the call: its result goes along
        await until(pilot, lambda: muted(app)[3] == Muted(whole=True))
        await settle(pilot)
        assert "◇ muted with its call, not sent" in rows(app)
        await pilot.press("j", "m")  # and comes back with it
        await until(pilot, lambda: muted(app)[3] == NOT_MUTED)


async def test_reasoning_and_files_are_muted_by_name(tmp_path: Path) -> None:
    async with make_app(tmp_path).run_test(size=(100, 40)) as pilot:
        app = await with_tools(pilot)
        await pilot.press("m")
        await choose(pilot, "reasoning")
        await until(pilot, lambda: muted(app)[5] == Muted(blocks=(0,)))
        await settle(pilot)
        assert "Reasoning (2 words)  ◇ muted" in rows(app)
        await pilot.press("k", "k", "k", "m")
        await choose(pilot, "image")
        await until(pilot, lambda: muted(app)[2] == Muted(blocks=(1,)))
        await settle(pilot)
        assert "a.png" in rows(app)
        assert rows(app).count("◇ muted") == 2


async def test_commands_mute_the_last_message_and_old_results(tmp_path: Path) -> None:
    async with make_app(tmp_path).run_test(size=(100, 40)) as pilot:
        app = await with_tools(pilot)
        composer = app.chat.composer

        async def run(command: str) -> None:
            composer.focus()
            await press(pilot, *command, "enter")

        await run("/mute")  # a message with parts: it asks
        await until(pilot, lambda: len(app.screen_stack) == 2)
        await press(pilot, "enter")
        await until(pilot, lambda: muted(app)[-1] == Muted(whole=True))
        await run("/mute-tool-results 0")
        await until(pilot, lambda: muted(app)[4] == Muted(whole=True))
        assert len(muted_messages(app.workspace.state.entries).ids) == 2
        await run("/unmute-all")
        await until(pilot, lambda: not any(muted(app)))
        await run("/mute-tool-results many")
        assert "is not a number of turns" in told(app)
        assert not any(muted(app))
