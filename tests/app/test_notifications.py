"""Notices in the app and of the desktop, and reports of errors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from tests.support.app import make_app, opened, replied, say, screen_text, settle, until
from tests.support.pictures import Album
from tests.support.tables import each_row
from tui_chat.errors import InputError
from tui_chat.paths import CRASH_LOG
from tui_chat.ui.app import TuiChat
from tui_chat.ui.chat import message
from tui_chat.ui.chat.chat_pane import ChatPane
from tui_chat.ui.chat.composer import Composer
from tui_chat.ui.dialogs.notification_log import NotificationLog
from tui_chat.ui.notifications import show_error


async def test_what_informs_gives_way_and_an_error_stays(tmp_path: Path) -> None:
    async with make_app(tmp_path).run_test(size=(120, 35), notifications=True) as pilot:
        app = await opened(pilot)
        app.notify("Copied 1.", markup=False)
        show_error(app, InputError("It \x1b[31m[b]failed.", advice="Try."))
        for number in range(2, 4):
            app.notify(f"Copied {number}.", markup=False)
        await until(pilot, lambda: "Copied 3." in screen_text(app))
        shown = screen_text(app)
        assert "[b]failed." in shown
        assert "Try." in shown
        assert "Copied 1." not in shown
        assert "Copied 2." not in shown
        await pilot.press("f5")
        await until(pilot, lambda: len(app.screen_stack) == 2)
        await until(pilot, lambda: "[b]failed." in screen_text(app), "on a dialog, too")
        assert [n.message for n in app.notifications.log][-2:] == ["Copied 2.", "Copied 3."]


async def test_a_toast_leaves_the_composer_visible(tmp_path: Path) -> None:
    async with make_app(tmp_path).run_test(size=(80, 24), notifications=True) as pilot:
        app = await opened(pilot)
        show_error(app, InputError("It failed. " * 20))
        await until(pilot, lambda: "It failed." in screen_text(app))
        assert "Type a message" in screen_text(app)


async def opened_log(pilot: Pilot[None]) -> TuiChat:
    """Show some notifications, and open their log by its name in the palette."""
    app = await opened(pilot)
    app.notify("Copied 12 characters.", markup=False)
    show_error(app, InputError("The provider \x1b[31m[b]refused.", advice="Wait, then Ctrl+R."))
    await pilot.press("ctrl+p")
    await until(pilot, lambda: bool(app.screen.query(Input)))
    await pilot.press(*"notifications", "enter")
    await until(pilot, lambda: isinstance(app.screen, NotificationLog))
    return app


async def test_the_log_has_the_time_and_the_whole_text(tmp_path: Path) -> None:
    async with make_app(tmp_path).run_test(size=(120, 35)) as pilot:
        app = await opened_log(pilot)
        await pilot.press("y")
        assert app.clipboard.endswith("refused.\nWait, then Ctrl+R.")
        assert "\x1b" not in app.clipboard


async def test_pictures(album: Album, tmp_path: Path) -> None:
    async with album.of(make_app(tmp_path)) as pilot:
        app = await opened(pilot)
        app.notify("Copied 34 characters.", markup=False)
        show_error(app, InputError("There is no role “cook”. " * 6, advice="F2 lists them."))
        await opened_log(pilot)
        await album.take(pilot, "the log")


# --- Notices to the desktop ---------------------------------------------------------------


@each_row(
    ("away", "seconds", "texts"),
    [(True, 60, ["The reply has ended."]), (False, 60, []), (True, 1, [])],
)
async def test_a_long_reply_notifies_an_absent_user(
    away: bool,
    seconds: int,
    texts: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
):
    app = make_app(tmp_path, model="echo")
    told: list[str] = []

    def sequence(how: str, title: str, text: str) -> str:
        told.append(text)
        return ""

    module = "tui_chat.ui.terminal.clipboard_and_notifications"
    monkeypatch.setattr(f"{module}.notification_sequence", sequence)
    monkeypatch.setattr(f"{module}.LONG_REPLY", 2 if seconds < 2 else 0)
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        assert app.workspace is not None
        app.app_focus = not away
        app.query_one(Composer).text = "hello"
        app.query_one(Composer).action_submit()  # a key would bring the focus back
        await replied(pilot)
        assert told == texts


# --- The app where a session, or the program itself, is at fault: no traceback, and a way on


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
