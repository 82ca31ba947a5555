"""The kinds of generation in the app, and their requests in the inspector."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tests.support.app import (
    body_shown,
    make_app,
    opened,
    press,
    replied,
    say,
    settle,
    typed_command,
    until,
    workspace_of,
)
from tests.support.vendors import HttpRequest
from tui_chat.ui.app import TuiChat
from tui_chat.ui.chat.composer import Composer
from tui_chat.ui.dialogs.base import TextPrompt
from tui_chat.ui.dialogs.choices import ChoiceDialog

NUDGE = b"Continue your last message from the point where it ends."


def banner(app: TuiChat) -> str:
    return str(app.screen.query_one("#inspector-banner").render())


async def test_what_a_command_will_send_is_shown_while_it_is_typed(tmp_path: Path) -> None:
    received: list[HttpRequest] = []
    async with make_app(tmp_path, model="echo", on_request=received.append).run_test(
        size=(160, 45)
    ) as pilot:
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
    async with make_app(tmp_path, model="echo", on_request=received.append).run_test(
        size=(160, 45)
    ) as pilot:
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
        await until(pilot, lambda: body_shown(app) != summary)
        await app.run_action("inspector.choose_kind")
        await until(pilot, lambda: isinstance(app.screen, ChoiceDialog))
        await pilot.press(*"suggest title", "enter")
        await until(pilot, lambda: banner(app).startswith("not sent yet: Suggest title"))
        await settle(pilot)
        body, count = body_shown(app), len(received)
        await app.run_action("sessions.rename")
        await until(pilot, lambda: isinstance(app.screen, TextPrompt))
        await pilot.press("ctrl+u", "enter")
        await until(pilot, lambda: len(received) > count and isinstance(app.screen, TextPrompt))
        assert [request.body for request in received[count:]] == [body]
        await press(pilot, "escape", "escape")
        assert body_shown(app) != body
        await app.run_action("inspector.choose_kind")
        await until(pilot, lambda: isinstance(app.screen, ChoiceDialog))
        await pilot.press(*"title, sent", "enter")
        await until(pilot, lambda: body_shown(app) == body)
        assert banner(app).startswith("title request, as sent at ")
        await pilot.press("escape")
        await until(pilot, lambda: not banner(app))


async def test_the_inspector_shows_the_request_of_another_action(tmp_path: Path) -> None:
    async with make_app(tmp_path, model="echo").run_test(size=(160, 45)) as pilot:
        app = await opened(pilot)
        await say(pilot, "one")
        await press(pilot, *"draft")
        app.inspector.pane.action_view("reply")
        app.inspector.action_choose_kind()
        await until(pilot, lambda: isinstance(app.screen, ChoiceDialog))
        await settle(pilot)
        await pilot.press(*"the rest", "enter")
        await until(pilot, lambda: NUDGE in body_shown(app))
        await settle(pilot)
        assert banner(app).startswith("not sent yet: Continue")
        assert app.inspector.pane.view_shown == "payload", "not the reply to another request"
        await pilot.press("escape")
        await until(pilot, lambda: b'"draft"' in body_shown(app))
        await settle(pilot)
        assert banner(app) == ""
