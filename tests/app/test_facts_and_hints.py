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
from tests.support.screen import open_screen
from tests.support.server import Provider, chat_text
from tui_chat.ui.dialogs.choices import ChoiceDialog


async def test_a_fact_stands_in_one_place(tmp_path: Path):
    async with make_app(tmp_path).run_test(size=(160, 45)) as pilot:
        app = await opened(pilot)
        await say(pilot, "Hello")
        await settle(pilot)
        facts = composer_facts(app)
        assert facts.startswith("mirror · Assistant · ~")
        title = app.chat.title_line.render().plain
        assert not any(word in title for word in ("mirror", "loopback", "Assistant", "tokens"))
        await pilot.press(*"/temporary", "escape", "enter")
        await until(pilot, lambda: "not stored" in app.chat.title_line.render().plain)
        await pilot.press(*"/temporary", "escape", "enter")


async def test_a_click_on_the_model_switches_it(tmp_path: Path) -> None:
    async with make_app(tmp_path).run_test(size=WIDE) as pilot:
        app = await opened(pilot)
        await pilot.press(*"draft")
        for size in (WIDE, NARROW):
            await pilot.resize_terminal(*size)
            await settle(pilot)
            border = app.chat.composer.region.bottom - 1
            x = screen_text(app).splitlines()[border].index("mirror")
            await pilot.click(offset=(x + 2, border))
            await until(pilot, lambda: isinstance(app.screen, ChoiceDialog))
            await pilot.press("escape")
            await until(pilot, lambda: len(app.screen_stack) == 1)
            assert app.chat.composer.text == "draft"


async def test_the_list_marks_the_model_that_the_server_tells_of(tmp_path: Path) -> None:
    with Provider(chat_text("A reply."), models=("m", "n")) as provider:
        async with open_screen(tmp_path, config=provider.config()) as screen:
            await screen.sees(" tokens ─╯")  # it moves what stands before it
            await screen.click_on("m · Assistant")
            await screen.sees("Switch model", "local, OpenAI Chat")
            marked = [line for line in screen.lines if "   ● " in line]
            assert len(marked) == 1
            assert "● m  " in marked[0]
            await screen.press("enter")
            await screen.loses("Switch model")
            await screen.sees("m · Assistant")
