"""Notifications: how long they are shown, which one, where, and their log."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from tests.support.app import make_app, opened, say, settle, until
from tests.support.pictures import Album
from tests.support.tables import each_row
from tui_chat.errors import InputError
from tui_chat.ui.app import TuiChat
from tui_chat.ui.chat.composer import Composer
from tui_chat.ui.dialogs.notification_log import NotificationLog
from tui_chat.ui.key_bar import KeyBar
from tui_chat.ui.notifications import (
    MAX_WAITING,
    NotificationLine,
    show_error,
)


def line(app: TuiChat) -> str:
    """Return what the line at the bottom of the top screen says."""
    found = [each for each in app.screen.query(NotificationLine) if each.display]
    return found[0].render().plain.strip() if found else ""


async def test_a_replaced_error_is_shown_again(tmp_path: Path) -> None:
    async with make_app(tmp_path).run_test(size=(120, 35)) as pilot:
        app = await opened(pilot)
        show_error(app, InputError("It failed.", advice="Try."))
        for number in range(3):
            app.notify(f"Copied {number}.", markup=False)
        assert line(app).startswith("Copied 2. · 1 more: Ctrl+P notifications")
        await pilot.click(KeyBar, offset=(3, 0))
        await until(pilot, lambda: line(app).startswith("✗ It failed. · Try."))
        await pilot.press("f1")
        await until(pilot, lambda: len(app.screen_stack) == 2 and "It failed." in line(app))
        assert app.query_one(KeyBar).notice is None, "it is on the dialog"
        await pilot.press("escape")
        await until(pilot, lambda: len(app.screen_stack) == 1 and "It failed." in line(app))
        for number in range(40):
            app.notify(f"Warned {number}.", severity="warning", markup=False)
        assert len(app.notifications.shown) == MAX_WAITING + 1
        assert [n.message for n in app.notifications.log][1:4] == [f"Copied {n}." for n in range(3)]


async def test_what_was_wrong_with_a_command_goes_with_it(tmp_path: Path) -> None:
    async with make_app(tmp_path).run_test(size=(120, 35)) as pilot:
        app = await opened(pilot)
        await pilot.press(*"/nonsense")
        await pilot.press("enter")
        await until(pilot, lambda: "no command /nonsense" in line(app))
        await pilot.press(*"/dark", "enter")  # replaces what is selected
        await until(pilot, lambda: not app.query_one(Composer).text)
        assert line(app).split()[:2] == ["F1", "Help"]
        assert not app.notifications.shown


async def test_a_key_ends_a_notification_that_could_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with make_app(tmp_path).run_test(size=(120, 35)) as pilot:
        app = await opened(pilot)
        now = 0.0
        monkeypatch.setattr(app.notifications, "_now", lambda: now)
        show_error(app, InputError("x" * 90))
        now = 4.9
        await pilot.press("a")
        assert app.notifications.shown, "it takes five seconds to read"
        now = 5.0
        await pilot.press("b")
        assert not app.notifications.shown
        assert app.query_one(Composer).text == "ab"


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
        await pilot.press("Y")
        copied = app.clipboard.splitlines()
        assert len(copied) >= 3
        assert copied[-1].endswith(":00  Copied 12 characters.")


async def test_pictures(album: Album, tmp_path: Path) -> None:
    async with album.of(make_app(tmp_path)) as pilot:
        app = await opened(pilot)
        app.notify("Copied 34 characters.", markup=False)
        show_error(app, InputError("There is no role “cook”. " * 6, advice="F2 lists them."))
        await opened_log(pilot)
        await album.take(pilot, "the log")


@each_row("leaves", [True, False], ids=["another session", "another message"])
async def test_what_is_said_of_messages_ends_with_their_session_or_their_change(
    tmp_path: Path, *, leaves: bool
) -> None:
    async with make_app(tmp_path, model="echo").run_test(size=(120, 35)) as pilot:
        app = await opened(pilot)
        await say(pilot, "hello")
        app.chat.transcript.focus()
        await pilot.press("m")
        await until(pilot, lambda: line(app).startswith("Muted"))
        await settle(pilot)
        assert line(app).startswith("Muted")
        if leaves:
            await pilot.press("ctrl+n")
        else:
            await say(pilot, "and again")
        await settle(pilot)
        assert not line(app).startswith("Muted")
