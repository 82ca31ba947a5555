"""Titles, tags, folders, the archive and the trash with undo, as a person does them."""

from __future__ import annotations

from pathlib import Path

from textual.command import CommandPalette
from textual.pilot import Pilot

from tests.support.app import make_app, opened, press, say, settle, until, workspace_of
from tui_chat.models.session import SessionSummary
from tui_chat.ui.app import TuiChat
from tui_chat.ui.dialogs.base import TextPrompt
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
