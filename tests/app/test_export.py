"""Conversations into files, and the branches of a session, on the screen."""

from __future__ import annotations

from pathlib import Path

from textual.pilot import Pilot
from textual.widgets import Input

from tests.support.app import make_app, opened, say, settle, told, until, workspace_of
from tui_chat.ui.app import TuiChat
from tui_chat.ui.chat.composer import Composer
from tui_chat.ui.dialogs.base import Confirm, TextPrompt
from tui_chat.ui.dialogs.choices import ChoiceDialog


async def command(pilot: Pilot[None], text: str) -> None:
    composer = pilot.app.query_one(Composer)
    composer.focus()
    composer.text = text
    await settle(pilot)
    await pilot.press("escape", "enter")


def texts(app: TuiChat) -> list[str]:
    return [entry.message.content for entry in app.workspace.state.entries]


async def test_a_conversation_is_exported_and_no_file_is_lost(tmp_path: Path):
    file = tmp_path / "talk.md"
    async with make_app(tmp_path).run_test(size=(120, 35)) as pilot:
        app = await opened(pilot)
        await command(pilot, f"/export {file}")
        await until(pilot, lambda: "There is no message in this session yet" in told(app))
        await say(pilot, "A question of salt")
        await app.run_action("conversation.export")
        for _ in ("the whole", "as Markdown"):
            await until(pilot, lambda: isinstance(app.screen, ChoiceDialog))
            asked = app.screen
            await pilot.press("enter")
            await until(pilot, lambda asked=asked: app.screen is not asked)
        await until(pilot, lambda: isinstance(app.screen, TextPrompt))
        assert app.screen.query_one(Input).value == "A-question-of-salt.md"
        app.screen.query_one(Input).value = str(file)
        await pilot.press("enter")
        await until(pilot, lambda: "Exported" in told(app))
        assert "A question of salt" in file.read_text()
        file.write_text("mine")
        await command(pilot, f"/export {file}")
        await until(pilot, lambda: isinstance(app.screen, Confirm))
        await pilot.press("escape")
        await until(pilot, lambda: not isinstance(app.screen, Confirm))
        assert file.read_text() == "mine"


async def test_a_system_message_can_be_added(tmp_path: Path):
    async with make_app(tmp_path).run_test(size=(120, 35)) as pilot:
        app = await opened(pilot)
        await command(pilot, "/system Be terse.")
        await until(pilot, lambda: texts(app) == ["Be terse."])
        assert app.workspace.state.entries[0].message.role == "system"
        await say(pilot, "Hello")
        assert texts(app)[:2] == ["Be terse.", "Hello"]


async def test_the_end_of_a_reply_in_another_session_is_announced(tmp_path: Path):
    async with make_app(tmp_path, model="lorem").run_test(size=(120, 35)) as pilot:
        app = await opened(pilot)
        workspace = workspace_of(app)
        assert await workspace.replies.submit("Tell me of salt")
        await workspace.sessions.new("")
        await until(pilot, lambda: "“Tell me of salt”: the reply has arrived." in told(app))
        await until(pilot, lambda: workspace.state.sessions[0].unread)
