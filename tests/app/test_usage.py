"""What replies cost, on the screen."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

from rich.console import Console
from textual.pilot import Pilot
from textual.widgets import Static

from tests.support.app import make_app, opened, say, screen_text, settle, until
from tests.support.pictures import Album
from tui_chat.models.prices import Prices
from tui_chat.ui.dialogs.usage import UsageDialog

DOLLAR_A_TOKEN = Prices(Decimal(1_000_000), Decimal(1_000_000))
"""Per million tokens."""


async def shown_usage(pilot: Pilot[None]) -> str:
    """Open the dialog by its command, and return its text."""
    await pilot.press(*"/cost", "enter")
    await until(pilot, lambda: isinstance(pilot.app.screen, UsageDialog))
    await settle(pilot)
    console = Console(width=100, color_system=None)
    with console.capture() as shown:
        console.print(pilot.app.screen.query(Static).first().content)
    return shown.get()


async def test_the_costs_of_session_month_and_model(album: Album, tmp_path: Path) -> None:
    async with album.of(make_app(tmp_path, model="echo", prices=DOLLAR_A_TOKEN)) as pilot:
        app = await opened(pilot)
        await say(pilot, "Hello")
        usage = app.workspace.state.entries[-1].usage
        assert usage.input is not None
        assert usage.output is not None
        first = usage.input + usage.output
        await pilot.press("ctrl+n")
        await until(pilot, lambda: not app.workspace.state.entries)
        await say(pilot, "Hello again")
        usage = app.workspace.state.entries[-1].usage
        second = (usage.input or 0) + (usage.output or 0)
        assert "$" not in screen_text(app), "costs are in this dialog only"
        lines = (await shown_usage(pilot)).splitlines()
        by_name = {line[:30].strip(): line.split()[-1] for line in lines if line.strip()}
        assert by_name["This session"] == f"${second}.0000"
        assert by_name["This month"] == f"${first + second}.0000"
        assert by_name["loopback/echo"] == f"${first + second}.0000"
        assert "2026-01" not in by_name, "the present month is listed once"
        await album.take(pilot, "the dialog")


async def test_an_unknown_cost_is_not_zero(tmp_path: Path) -> None:
    async with make_app(tmp_path, model="echo").run_test(size=(120, 35)) as pilot:
        await opened(pilot)
        await say(pilot, "Hello")
        shown = await shown_usage(pilot)
        assert "$" not in shown
        assert shown.count("—") == 3
