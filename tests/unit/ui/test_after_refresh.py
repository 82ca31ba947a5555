"""A call after a refresh comes once, also where a dialog that closed took Textual's along."""

from __future__ import annotations

import asyncio

from textual.app import App, ComposeResult
from textual.types import CallbackType
from textual.widgets import Static

from tests.support.tables import each_row
from tui_chat.ui.widgets.after_refresh import LATEST, call_after_refresh


class Below(Static):
    """A widget below a dialog that closes before it refreshes."""

    def call_after_refresh(self, callback: CallbackType, *args: object, **kwargs: object) -> bool:
        return True


@each_row("widget", [Static, Below])
async def test_it_comes_once(widget: type[Static]):
    class Shown(App[None]):
        def compose(self) -> ComposeResult:
            yield widget()

    calls: list[float] = []
    async with Shown().run_test() as pilot:
        call_after_refresh(pilot.app.query_one(widget), lambda: calls.append(0.0))
        await asyncio.sleep(LATEST * 1.5)
        await pilot.pause()
    assert len(calls) == 1
