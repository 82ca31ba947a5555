"""Continue, impersonate and quiet prompts in the app, and dropped character cards."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from textual.pilot import Pilot

from tests.ui.app_under_test import make_app, opened, replied, say, settle, until
from tui_chat.offline import HttpRequest
from tui_chat.ui.app import TuiChat
from tui_chat.ui.areas.chat.composer import Composer
from tui_chat.ui.areas.chat.side_replies import ComposerEdit
from tui_chat.ui.dialogs.base import TextAreaPrompt, TextPrompt
from tui_chat.ui.dialogs.choices import ChoiceDialog
from tui_chat.ui.dialogs.quiet_reply import QuietReply
from tui_chat.ui.widgets.safe_text import SafeTextArea
from tui_chat.workspace.workspace import Workspace

MINE = "Write the next message of User, in the voice of User. Write only that message."


def workspace_of(app: TuiChat) -> Workspace:
    assert app.workspace is not None
    return app.workspace


def shown(app: TuiChat) -> bytes:
    composed = workspace_of(app).state.request.shown
    return composed.payload.body if composed is not None else b""


def banner(app: TuiChat) -> str:
    return str(app.screen.query_one("#inspector-banner").render())


async def typed_command(pilot: Pilot[None], command: str) -> bytes:
    """Type a command; return the request that the inspector shows before Enter."""
    app = pilot.app
    assert isinstance(app, TuiChat)
    before = shown(app)
    await pilot.press(*command)
    await until(pilot, lambda: shown(app) != before)
    await settle(pilot)
    return shown(app)


async def test_what_a_command_will_send_is_shown_while_it_is_typed(tmp_path: Path) -> None:
    received: list[HttpRequest] = []
    app = make_app(tmp_path, model="echo", on_request=received.append)
    async with app.run_test(size=(160, 45)) as pilot:
        app = await opened(pilot)
        await say(pilot, "one")
        for command, title in (
            ("/continue", "not sent yet: Continue by asking for the rest"),
            ("/swipe", "not sent yet: Swipe"),
            ("/regenerate", "not sent yet: Regenerate"),
        ):
            body = await typed_command(pilot, command)
            assert banner(app).startswith(title)
            count = len(received)
            await pilot.press("enter")
            await until(pilot, lambda count=count: len(received) > count)
            await replied(pilot)
            assert received[-1].body == body
            await settle(pilot)
        assert workspace_of(app).state.entries[-1].siblings == 4


async def test_the_requests_for_a_title_and_a_summary_are_shown_before_and_after_sending(
    tmp_path: Path,
) -> None:
    received: list[HttpRequest] = []
    app = make_app(tmp_path, model="echo", on_request=received.append)
    async with app.run_test(size=(160, 45)) as pilot:
        app = await opened(pilot)
        workspace = workspace_of(app)
        config = replace(workspace.state.config, title_model="loopback/echo")
        workspace.update(config=config)
        for text in ("one", "two", "three"):
            await say(pilot, text)
        composer = app.query_one(Composer)
        summary = await typed_command(pilot, "/compact")
        assert banner(app).startswith("not sent yet: Compact")
        composer.clear_text()
        await until(pilot, lambda: shown(app) != summary)
        body = await typed_command(pilot, "/suggest-title")
        assert banner(app).startswith("not sent yet: Suggest title")
        count = len(received)
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, TextPrompt))
        assert [request.body for request in received[count:]] == [body]
        await pilot.press("escape")
        await settle(pilot)
        assert shown(app) != body
        await app.run_action("inspector.choose_kind")
        await until(pilot, lambda: isinstance(app.screen, ChoiceDialog))
        await pilot.press(*"title, sent", "enter")
        await until(pilot, lambda: shown(app) == body)
        assert banner(app).startswith("title request, as sent at ")
        await pilot.press("escape")
        await until(pilot, lambda: not banner(app))


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
        await app.run_action("chat.impersonate")
        await until(pilot, lambda: composer.text == MINE)
        await until(pilot, lambda: not app.chat.side_replies.is_impersonating)
        await settle(pilot)
        assert len(received) == 2
        assert len(workspace_of(app).state.entries) == 2
        await app.chat.drafts.save()  # its timer may not have run yet
        assert await workspace_of(app).drafts.text() == MINE
        composer.undo()
        await settle(pilot)
        assert composer.text == "mine"
        composer.redo()
        assert composer.text == MINE


async def test_what_arrived_of_a_cut_impersonation_stays(tmp_path: Path) -> None:
    async with make_app(tmp_path, model="flaky-cut").run_test(size=(160, 45)) as pilot:
        app = await opened(pilot)
        await app.run_action("chat.impersonate")
        composer = app.query_one(Composer)
        await until(pilot, lambda: bool(composer.text))
        await until(pilot, lambda: not app.chat.side_replies.is_impersonating)
        await settle(pilot)
        arrived = composer.text
        assert arrived
        await until(pilot, lambda: app.chat.drafts.is_active)
        await app.chat.drafts.save()
        assert await workspace_of(app).drafts.text() == arrived


async def test_typing_wins_over_what_a_model_writes(tmp_path: Path) -> None:
    async with make_app(tmp_path).run_test(size=(160, 45)) as pilot:
        app = await opened(pilot)
        composer = app.query_one(Composer)
        await pilot.press(*"mine")
        edit = ComposerEdit(composer)
        assert edit.write("")
        assert composer.text == "mine"
        assert edit.write("One")
        assert edit.write("One, two")
        assert composer.text == "One, two"
        await pilot.press("!")
        assert not edit.write("One, two, three")
        assert composer.text == "One, two!"
        composer.undo()
        composer.undo()
        assert composer.text == "mine"


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
        await until(pilot, lambda: not dialog.is_arriving)
        await settle(pilot)
        assert received[-1].body == body
        assert dialog.query_one(SafeTextArea).text == "Sum up"
        await pilot.press("y")
        assert app.clipboard == "Sum up"
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
        await app.run_action("chat.quiet")
        await until(pilot, lambda: isinstance(app.screen, TextAreaPrompt))
        await settle(pilot)
        await pilot.press(*"Why?", "enter")
        await until(pilot, lambda: isinstance(app.screen, QuietReply))
        dialog = app.screen
        assert isinstance(dialog, QuietReply)
        await until(pilot, lambda: not dialog.is_arriving)
        await settle(pilot)
        await pilot.press("escape")
        await until(pilot, lambda: len(app.screen_stack) == 1)
        assert app.query_one(Composer).text == ""


async def test_the_inspector_shows_the_request_of_another_action(tmp_path: Path) -> None:
    async with make_app(tmp_path, model="echo").run_test(size=(160, 45)) as pilot:
        app = await opened(pilot)
        await say(pilot, "one")
        await pilot.press(*"draft")
        await settle(pilot)
        assert app.inspector.pane is not None
        app.inspector.pane.action_view("reply")
        app.inspector.pane.focus()
        await pilot.press("s")
        await until(pilot, lambda: isinstance(app.screen, ChoiceDialog))
        await settle(pilot)
        await pilot.press(*"imperson", "enter")
        await until(pilot, lambda: MINE.encode() in shown(app))
        await settle(pilot)
        assert banner(app).startswith("not sent yet: Impersonate")
        assert app.inspector.pane.view_shown == "payload", "not the reply to another request"
        await pilot.press("escape")
        await until(pilot, lambda: b'"draft"' in shown(app))
        await settle(pilot)
        assert banner(app) == ""
