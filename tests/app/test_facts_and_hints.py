"""The facts on the composer's border, and the row of hints, which is blank when it has none."""

from __future__ import annotations

from pathlib import Path

from tests.support.app import (
    composer_facts,
    make_app,
    opened,
    say,
    screen_text,
    settle,
    until,
)
from tests.support.pictures import NARROW, WIDE
from tui_chat.ui.dialogs.choices import ChoiceDialog


async def test_a_fact_stands_in_one_place(tmp_path: Path):
    async with make_app(tmp_path).run_test(size=(160, 45)) as pilot:
        app = await opened(pilot)
        await say(pilot, "Hello")
        await settle(pilot)
        facts = composer_facts(app)
        assert facts.startswith("mirror · loopback · Assistant · ~")
        title = app.chat.pane.title_line.render().plain
        assert not any(word in title for word in ("mirror", "loopback", "Assistant", "tokens"))
        await pilot.press("f6")
        await until(pilot, lambda: composer_facts(app).startswith("temporary · mirror"))
        await pilot.press("f6")


async def test_a_click_on_the_model_switches_it(tmp_path: Path) -> None:
    async with make_app(tmp_path).run_test(size=WIDE) as pilot:
        app = await opened(pilot)
        await pilot.press(*"draft")
        for size in (WIDE, NARROW):
            await pilot.resize_terminal(*size)
            await settle(pilot)
            border = app.chat.pane.composer.region.bottom - 1
            x = screen_text(app).splitlines()[border].index("mirror")
            await pilot.click(offset=(x + 2, border))
            await until(pilot, lambda: isinstance(app.screen, ChoiceDialog))
            await pilot.press("escape")
            await until(pilot, lambda: len(app.screen_stack) == 1)
            assert app.chat.pane.composer.text == "draft"
