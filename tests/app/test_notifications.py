"""Notifications: toasts on any screen, and their log."""

from __future__ import annotations

from pathlib import Path

from textual.pilot import Pilot
from textual.widgets import Input

from tests.support.app import make_app, opened, screen_text, until
from tests.support.pictures import Album
from tui_chat.errors import InputError
from tui_chat.ui.app import TuiChat
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
