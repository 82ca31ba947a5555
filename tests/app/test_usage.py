"""What replies cost, on the screen."""

from __future__ import annotations

import random
from decimal import Decimal
from pathlib import Path

from rich.console import Console
from textual.pilot import Pilot
from textual.widgets import Static

from tests.support.app import make_app, opened, say, screen_text, settle, until
from tests.support.pictures import Album
from tests.support.workspace import CHANGING, LONG_TEXT, cached_preset, put
from tui_chat.models.prices import Prices
from tui_chat.ui.dialogs.choices import ChoiceDialog
from tui_chat.ui.dialogs.usage import UsageDialog
from tui_chat.ui.presets.pane import PresetPane

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


async def test_why_the_cache_was_lost_with_the_way_to_the_place(tmp_path: Path) -> None:
    put(tmp_path / "presets", "mine", cached_preset(f"It is {CHANGING}. {LONG_TEXT}"))
    random.seed(1)  # one time in 900 the next word would be that of the last request
    async with make_app(tmp_path, model="echo", prices=DOLLAR_A_TOKEN).run_test(
        size=(160, 45)
    ) as pilot:
        app = await opened(pilot)
        await app.workspace.presets.choose("mine")
        await say(pilot, "one")
        await pilot.press(*"/cache", "enter")
        await until(pilot, lambda: "lost the cache" in app.notifications.log[-1].message)
        assert "input tokens, 0% of them cached" in app.notifications.log[-1].message
        for text in ("two", "three"):
            await say(pilot, text)
        await pilot.press(*"/cache", "enter")
        await until(pilot, lambda: isinstance(app.screen, ChoiceDialog))
        dialog = app.screen
        assert isinstance(dialog, ChoiceDialog)
        (choice,) = dialog.choices
        assert "2 times" in choice.label
        assert "random" in choice.detail
        assert "below the history" in choice.detail
        await pilot.press("enter")
        await until(pilot, lambda: app.query_one(PresetPane).has_focus_within)
