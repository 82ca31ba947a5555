"""Impersonate and quiet prompts in the app, with a picture."""

from __future__ import annotations

from pathlib import Path

from tests.support.app import make_app, opened, say, settle, typed_command, until, workspace_of
from tests.support.pictures import Album
from tests.support.vendors import HttpRequest
from tui_chat.plugins.sillytavern.quiet_reply import QuietReply
from tui_chat.ui.chat.composer import Composer
from tui_chat.ui.dialogs.base import TextAreaPrompt
from tui_chat.ui.widgets.safe_text import SafeTextArea

MINE = "Write the next message of User, in the voice of User. Write only that message."


async def test_an_impersonated_message_becomes_the_draft_and_undo_takes_it_back(
    tmp_path: Path,
) -> None:
    received: list[HttpRequest] = []
    app = make_app(tmp_path, model="echo", on_request=received.append)
    async with app.run_test(size=(160, 45)) as pilot:
        app = await opened(pilot)
        await say(pilot, "one")
        composer = app.query_one(Composer)
        await pilot.press(*"mine")
        await app.run_action("plugins.impersonate")
        await until(pilot, lambda: composer.text == MINE)
        await until(pilot, lambda: not app.chat.side_replies.is_writing)
        await settle(pilot)
        assert len(received) == 2
        assert len(workspace_of(app).state.entries) == 2
        await app.chat.drafts.save()  # its timer may not have run yet
        assert await workspace_of(app).sessions.draft() == MINE
        composer.undo()
        await settle(pilot)
        assert composer.text == "mine"
        composer.redo()
        assert composer.text == MINE


async def test_what_arrived_of_a_cut_impersonation_stays(tmp_path: Path) -> None:
    async with make_app(tmp_path, model="flaky-cut").run_test(size=(160, 45)) as pilot:
        app = await opened(pilot)
        await app.run_action("plugins.impersonate")
        composer = app.query_one(Composer)
        await until(pilot, lambda: bool(composer.text))
        await until(pilot, lambda: not app.chat.side_replies.is_writing)
        await settle(pilot)
        arrived = composer.text
        assert arrived
        await until(pilot, lambda: app.chat.drafts.is_active)
        await app.chat.drafts.save()
        assert await workspace_of(app).sessions.draft() == arrived


async def test_a_quiet_prompt_is_answered_in_a_dialog(tmp_path: Path) -> None:
    received: list[HttpRequest] = []
    app = make_app(tmp_path, model="echo", on_request=received.append)
    async with app.run_test(size=(160, 45)) as pilot:
        app = await opened(pilot)
        await say(pilot, "one")
        body = await typed_command(pilot, "/quiet Sum up")
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, QuietReply))
        dialog = app.screen
        assert isinstance(dialog, QuietReply)
        await until(pilot, lambda: dialog.query_one(SafeTextArea).text == "Sum up")
        assert received[-1].body == body
        await pilot.press("i")
        await until(pilot, lambda: app.query_one(Composer).text == "Sum up")
        assert len(workspace_of(app).state.entries) == 2
        [kept] = await workspace_of(app).store.side_requests.list(
            workspace_of(app).state.session_id
        )
        assert (kept.kind, kept.status) == ("quiet", "complete")


async def test_a_quiet_prompt_without_a_text_is_asked_for(tmp_path: Path) -> None:
    async with make_app(tmp_path, model="flaky-500", retries=0).run_test() as pilot:
        app = await opened(pilot)
        await app.run_action("plugins.quiet")
        await until(pilot, lambda: isinstance(app.screen, TextAreaPrompt))
        await settle(pilot)
        await pilot.press(*"Why?", "enter")
        await until(pilot, lambda: isinstance(app.screen, QuietReply))
        await settle(pilot)
        await pilot.press("escape")
        await until(pilot, lambda: len(app.screen_stack) == 1)
        assert app.query_one(Composer).text == ""


# --- A picture of a quiet prompt ----------------------------------------------------------


async def test_a_quiet_prompt(album: Album, tmp_path: Path) -> None:
    async with album.of(make_app(tmp_path, model="echo")) as pilot:
        app = await opened(pilot)
        assert app.workspace is not None
        await say(pilot, "The lamp goes out, and")
        await pilot.press(*"/quiet Who is in the room?", "enter")
        await until(pilot, lambda: isinstance(app.screen, QuietReply))
        dialog = app.screen
        assert isinstance(dialog, QuietReply)
        await until(pilot, lambda: dialog.text == "Who is in the room?")
        await settle(pilot)
        await album.take(pilot, "quiet")
