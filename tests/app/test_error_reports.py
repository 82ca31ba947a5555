"""The app where a session, or the program itself, is at fault: no traceback, and a way on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.app import make_app, opened, say, settle, until
from tui_chat.paths import CRASH_LOG
from tui_chat.ui.chat import message
from tui_chat.ui.chat.chat_pane import ChatPane

SECRET = "sk-the-value-of-a-variable"


def told(app: Any) -> str:
    return "\n".join(notice.message for notice in app.notifications.shown)


def fail(*_: Any, **__: Any) -> Any:
    raise ZeroDivisionError("on purpose")


async def begin(folder: Path) -> str:
    """Keep a session that the next start opens; return its id."""
    async with make_app(folder).run_test(size=(120, 40)) as pilot:
        app = await opened(pilot)
        await say(pilot, "a question")
        return app.workspace.state.session_id


async def test_a_session_that_crashed_the_start_is_not_reopened(tmp_path: Path):
    session = await begin(tmp_path)
    app = make_app(tmp_path)
    with pytest.raises(ZeroDivisionError):  # noqa: PT012  it comes out of the app's context
        async with app.run_test(size=(120, 40)) as pilot:
            await until(pilot, lambda: app.is_workspace_open)
            app.call_later(fail)
            await until(pilot, lambda: not app.is_running)
    app = make_app(tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: app.is_workspace_open)
        await until(pilot, lambda: bool(app.notifications.shown))
        assert "ended while it was opening the last session" in told(app)
        assert app.workspace.state.session is None
        await app.workspace.sessions.open(session)
        await settle(pilot)
        assert len(app.query_one(ChatPane).transcript.entries) == 2


async def test_a_part_that_fails_to_lay_out_is_shown_as_plain_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(message, "section_rows", fail)
    async with make_app(tmp_path).run_test(size=(120, 40)) as pilot:
        app = await opened(pilot)
        await say(pilot, "some *words*")
        shown = "".join(
            strip.text
            for strip in app.query_one(ChatPane).transcript.render_lines(
                app.query_one(ChatPane).transcript.size.region
            )
        )
        assert "some *words*" in shown


async def test_a_request_that_fails_to_compose_is_reported_and_the_app_continues(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    async with make_app(tmp_path).run_test(size=(120, 40)) as pilot:
        app = await opened(pilot)
        monkeypatch.setattr(app.workspace.requests, "compose", fail)
        await pilot.press("x")
        await until(pilot, lambda: "The request cannot be composed." in told(app))
        assert app.is_running


async def test_an_internal_error_shows_a_sentence_and_no_variables(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    app = make_app(tmp_path)

    def fail_with_a_secret() -> None:
        secret = SECRET
        raise ZeroDivisionError(len(secret))

    with pytest.raises(ZeroDivisionError):  # noqa: PT012  it comes out of the app's context
        async with app.run_test(size=(120, 40)) as pilot:
            await opened(pilot)
            app.call_later(fail_with_a_secret)
            await pilot.pause()
            await until(pilot, lambda: not app.is_running)
    out = "".join(capsys.readouterr())
    assert "tui-chat ended because of an error in the program itself." in out
    assert "Traceback" not in out
    assert SECRET not in out
    log = tmp_path / CRASH_LOG
    assert log.stat().st_mode & 0o777 == 0o600
    assert "fail_with_a_secret" in log.read_text()
    assert SECRET not in log.read_text()


async def test_a_signal_during_the_start_is_not_blamed_on_the_session(tmp_path: Path):
    session = await begin(tmp_path)
    app = make_app(tmp_path)
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: app.is_workspace_open)
        app.exit(return_code=128 + 15)
    async with make_app(tmp_path).run_test(size=(120, 40)) as pilot:
        app = await opened(pilot)
        assert app.workspace.state.session.session_id == session
