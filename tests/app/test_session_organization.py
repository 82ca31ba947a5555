"""Sessions are organized, exported and left."""

from __future__ import annotations

import json
import os
import sys
import zipfile
from pathlib import Path

import pytest
from textual.command import CommandPalette
from textual.pilot import Pilot
from textual.widgets import Input

from tests.support.app import make_app, opened, press, say, settle, told, until, workspace_of
from tests.support.screen import Screen, open_screen
from tests.support.server import Provider, chat_text
from tests.support.terminal_app import CTRL_Q, TerminalApp
from tui_chat.models.session import SessionSummary
from tui_chat.ui.app import TuiChat
from tui_chat.ui.chat.composer import Composer
from tui_chat.ui.dialogs.base import Confirm, TextPrompt
from tui_chat.ui.dialogs.choices import ChoiceDialog
from tui_chat.ui.sessions.pane import SessionsPane


async def answered(pilot: Pilot[None], key: str, *typed: str) -> None:
    """Press a key that asks, type the answer, and wait until nothing is asked."""
    await pilot.press(key)
    await until(pilot, lambda: len(pilot.app.screen_stack) > 1)
    await settle(pilot)
    await pilot.press(*typed, "enter")
    await until(pilot, lambda: len(pilot.app.screen_stack) == 1)


async def from_palette(pilot: Pilot[None], words: str, *typed: str) -> None:
    """Run an action of the palette that asks, and type the answer."""
    await pilot.press("ctrl+p", *words, "enter")
    await until(pilot, lambda: isinstance(pilot.app.screen, TextPrompt | ChoiceDialog))
    await until(pilot, lambda: not isinstance(pilot.app.screen, CommandPalette))
    await settle(pilot)
    await pilot.press(*typed, "enter")


def listed(app: TuiChat) -> SessionSummary:
    return app.workspace.state.sessions[0]


def dialog_title(app: TuiChat) -> str:
    return str(app.screen.query("Vertical").first().border_title)


def last_notification(app: TuiChat) -> str:
    return list(app.notifications.shown)[-1].message if app.notifications.shown else ""


async def test_a_session_is_renamed_tagged_filed_archived_and_restored(tmp_path: Path) -> None:
    async with make_app(tmp_path, model="echo").run_test(size=(120, 35)) as pilot:
        app = await opened(pilot)
        await say(pilot, "hello")
        await press(pilot, "f2")

        await answered(pilot, "e", "ctrl+u", *"Novel")
        await until(pilot, lambda: listed(app).title == "Novel")
        await pilot.press("f2", *"/rename A fine title", "enter")
        await until(pilot, lambda: listed(app).title == "A fine title")
        await press(pilot, "f2")

        await from_palette(pilot, "tag this", *"work, #old home")
        await until(pilot, lambda: listed(app).tags == ("work", "old home"))
        await from_palette(pilot, "tag this", "ctrl+u")
        await until(pilot, lambda: listed(app).tags == ())
        await pilot.press("f2", *"/tag later", "enter")
        await until(pilot, lambda: listed(app).tags == ("later",))
        await press(pilot, "f2")

        await from_palette(pilot, "folder", *"note")
        await until(pilot, lambda: listed(app).folder == "note")
        await until(pilot, lambda: "to “note”." in last_notification(app))

        await pilot.press("ctrl+p", *"archive", "enter")
        await until(pilot, lambda: listed(app).archived)
        await until(pilot, lambda: last_notification(app) == "Archived “A fine title”.")

        await pilot.press("f2", *"/delete-chat", "enter")
        await until(pilot, lambda: app.workspace is not None and not app.workspace.state.sessions)
        assert app.workspace.state.session is None
        await pilot.press(*"/undo", "enter")
        await until(pilot, lambda: bool(app.workspace and app.workspace.state.sessions))
        await until(pilot, lambda: app.chat.title_line.title == "A fine title")


async def test_sessions_are_found_from_the_composer(tmp_path: Path) -> None:
    async with make_app(tmp_path, model="echo").run_test(size=(120, 35)) as pilot:
        app = await opened(pilot)
        await say(pilot, "hello")
        await pilot.press(*"/filter hell", "enter")
        sessions = app.query_one(SessionsPane)
        await until(pilot, lambda: sessions.filter.has_focus)
        assert sessions.filter.value == "hell"


async def test_sessions_are_stepped_through_and_gone_to_by_their_titles(tmp_path: Path) -> None:
    async with make_app(tmp_path, model="echo").run_test(size=(120, 35)) as pilot:
        app = await opened(pilot)
        workspace = workspace_of(app)

        def title() -> str:
            return workspace.state.session.title if workspace.state.session else ""

        for words in ("first", "second", "third"):
            await pilot.press("ctrl+n")
            await until(pilot, lambda: title() == "")
            await say(pilot, words)
        await pilot.press("ctrl+n")
        await until(pilot, lambda: title() == "")
        newest_first = ("third", "second", "first")
        for words in newest_first:
            await pilot.press("ctrl+pagedown")
            await until(pilot, lambda words=words: title() == words)
        await pilot.press("ctrl+pagedown", "ctrl+pageup")
        await until(pilot, lambda: title() == newest_first[1])
        await pilot.press("ctrl+k")
        await until(pilot, lambda: len(app.screen_stack) > 1)
        await settle(pilot)
        assert dialog_title(app) == "Go to session"
        await pilot.press(*"first", "enter")
        await until(pilot, lambda: title() == "first")


def shown(app: TuiChat) -> str:
    """Return what the conversation shows."""
    transcript = app.chat.transcript
    return "\n".join(transcript.render_line(y).text for y in range(transcript.size.height))


async def test_the_active_session_is_pinned_archived_and_deleted_by_commands(tmp_path: Path):
    async with make_app(tmp_path, model="echo").run_test(size=(120, 35)) as pilot:
        app = await opened(pilot)
        workspace = workspace_of(app)
        await pilot.press(*"/delete-chat", "enter")
        await until(pilot, lambda: "no message in this session" in last_notification(app))
        await say(pilot, "first")
        await pilot.press("ctrl+n")
        await until(pilot, lambda: workspace.state.session is None)
        await say(pilot, "second")
        await pilot.press(*"/pin-chat", "enter")
        await until(pilot, lambda: any(each.pinned for each in workspace.state.sessions))
        assert [each.title for each in workspace.state.sessions if each.pinned] == ["second"]
        await pilot.press(*"/archive", "enter")
        await until(pilot, lambda: any(each.archived for each in workspace.state.sessions))
        await pilot.press(*"/delete-chat", "enter")
        await until(pilot, lambda: [each.title for each in workspace.state.sessions] == ["first"])
        assert workspace.state.session is None
        await pilot.press(*"/undo", "enter")
        await until(pilot, lambda: len(workspace.state.sessions) == 2)


async def test_a_model_that_the_endpoint_does_not_list_is_named(tmp_path: Path) -> None:
    async with make_app(tmp_path, model="echo").run_test(size=(120, 35)) as pilot:
        app = await opened(pilot)
        await pilot.press(*"/model gpt-99", "enter")
        await until(pilot, lambda: "does not list “gpt-99”" in last_notification(app))


# --- Conversations into files, and the branches of a session, on the screen ---------------


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


# --- What was looked at or edited for a moment leads back to where one was ----------------


async def begin(screen: Screen, words: str) -> None:
    await screen.type(words)
    await screen.press("enter")
    await screen.has_messages(2)
    await screen.loses("Esc stops")


async def test_a_previewed_protocol_ends_when_the_inspector_is_closed(tmp_path: Path):
    async with open_screen(tmp_path, size=(120, 35)) as screen:
        await screen.press("f4", "3")
        await screen.sees("Enter sends OpenAI Chat")
        await screen.press("f4")
        await screen.loses("Payload")
        await screen.press("f4")
        await screen.sees("Payload", "1 OpenAI")
        await screen.loses("Enter sends OpenAI Chat")


async def test_a_previewed_protocol_ends_with_its_session(tmp_path: Path):
    with Provider(chat_text("A reply.")) as provider:
        async with open_screen(tmp_path, config=provider.config()) as screen:
            await begin(screen, "hello")
            await screen.press("f4", "3")
            await screen.sees("Enter sends OpenAI Chat")
            await screen.press("ctrl+n")
            await screen.sees("New session")
            await screen.loses("Enter sends OpenAI Chat", seconds=5)


# --- A file that takes minutes to read can be left at once, on a real terminal ------------


pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="needs a pty"),
]


def archive(path: Path, count: int) -> None:
    """Write an export of ChatGPT with so many conversations of a message."""

    def conversation(number: int) -> str:
        message = {
            "id": f"m{number}",
            "author": {"role": "user"},
            "content": {"content_type": "text", "parts": ["hi"]},
        }
        nodes = {
            "r": {"id": "r", "message": None, "parent": None, "children": ["a"]},
            "a": {"id": "a", "parent": "r", "children": [], "message": message},
        }
        facts = {"title": f"c{number}", "create_time": 1, "update_time": 1}
        facts |= {"conversation_id": f"{number:08x}", "current_node": "a"}
        return json.dumps({**facts, "mapping": nodes})

    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("conversations.json", f"[{','.join(map(conversation, range(count)))}]")


def used_seconds(pid: int) -> float:
    """Return the processor time that a program has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_a_file_of_very_many_conversations_can_be_left_while_it_is_read(tmp_path: Path):
    path = tmp_path / "many.zip"
    archive(path, 300_000)
    home = tmp_path / "home"
    home.mkdir()
    with TerminalApp(home, ("view", str(path))) as app:
        app.until(lambda: app.shows("Read-only") and used_seconds(app.process.pid) > 6)
        app.type(CTRL_Q)
        assert app.wait(20) == 0
