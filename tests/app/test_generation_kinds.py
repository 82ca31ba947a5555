"""The kinds of generation in the app, and their requests in the inspector."""

from __future__ import annotations

from pathlib import Path

from tests.support.app import (
    body_shown,
    make_app,
    opened,
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


async def test_the_request_for_a_summary_is_shown_before_sending(tmp_path: Path) -> None:
    async with make_app(tmp_path, model="echo").run_test(size=(160, 45)) as pilot:
        app = await opened(pilot)
        for text in ("one", "two", "three"):
            await say(pilot, text)
        composer = app.query_one(Composer)
        summary = await typed_command(pilot, "/compact")
        assert banner(app).startswith("not sent yet: Compact")
        composer.clear_text()
        await until(pilot, lambda: body_shown(app) != summary)
