"""The facts on the composer's border, and the row of hints, which is blank when it has none."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from tests.support.app import composer_facts, make_app, opened, say, settle, until
from tui_chat.ui.app import TuiChat
from tui_chat.ui.areas.chat.status_lines import ChatFacts
from tui_chat.ui.dialogs.choices import ChoiceDialog
from tui_chat.ui.key_bar import KeyBar


def screen_text(app: TuiChat, x: int, y: int, width: int) -> str:
    """Return the text on the screen."""
    return app.screen._compositor.render_strips()[y].crop(x, x + width).text


FACTS = ChatFacts("gpt-5-mini", "openai", "Assistant", "~1,234 of 400k tokens", "$0.0123", 2, True)
IN_ORDER = (
    *(
        "temporary",
        "gpt-5-mini",
        "openai",
        "Assistant",
        "2 edits by hand",
        "~1,234 of 400k tokens",
        "$0.0123",
    ),
)


@given(st.integers(1, 200))
def test_facts_fit_and_the_model_is_left_out_last(width: int):
    line = FACTS.line(width).plain
    assert cell_len(line) <= width
    shown = [fact for fact in IN_ORDER if fact in line]
    if width >= len("gpt-5-mini"):
        assert line == " · ".join(shown)
        assert "gpt-5-mini" in shown
    if width >= len(" · ".join(IN_ORDER)):
        assert shown == list(IN_ORDER)


def test_names_of_a_file_cannot_break_the_border():
    line = ChatFacts("a\nb\x1b[31m", "[bold]", "漢字" * 40).line(300)
    assert "\n" not in line.plain
    assert "\x1b" not in line.plain
    assert "[bold]" in line.plain


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


@pytest.mark.parametrize("size", [(160, 45), (80, 24)], ids=str)
async def test_a_click_on_the_model_switches_it(size: tuple[int, int], tmp_path: Path):
    async with make_app(tmp_path).run_test(size=size) as pilot:
        app = await opened(pilot)
        await pilot.press(*"draft")
        await settle(pilot)
        composer = app.chat.pane.composer
        region = composer.region
        row = app.screen.region.width
        x = next(
            x
            for x in range(row)
            if "mirror" in screen_text(app, x, region.bottom - 1, len("mirror"))
        )
        await pilot.click(offset=(x + 2, region.bottom - 1))
        await until(pilot, lambda: isinstance(app.screen, ChoiceDialog))
        await pilot.press("escape")
        assert composer.text == "draft"


@pytest.mark.parametrize("size", [(160, 45), (120, 35), (80, 24)], ids=str)
async def test_the_row_of_hints_is_blank_when_it_has_none(size: tuple[int, int], tmp_path: Path):
    async with make_app(tmp_path).run_test(size=size) as pilot:
        app = await opened(pilot)
        await settle(pilot)
        activity, transcript = app.chat.pane.activity, app.chat.pane.transcript
        assert not activity.render().plain
        await pilot.press(*"text")
        await settle(pilot)
        assert not activity.render().plain, "the size of the request stands on the border"
        rows = transcript.size.height
        activity.show_status("Loading 4 messages.")
        await settle(pilot)
        assert activity.render().plain == "Loading 4 messages."
        assert transcript.size.height == rows, "the text does not jump"
        await pilot.press("shift+tab")
        activity.show_status("")
        await settle(pilot)
        assert not activity.render().plain


async def test_no_hint_says_what_the_footer_says(tmp_path: Path):
    async with make_app(tmp_path).run_test(size=(120, 35)) as pilot:
        app = await opened(pilot)
        pane, footer = app.chat.pane, app.query_one(KeyBar)
        await say(pilot, "Hello")
        await pilot.press("ctrl+r")
        await until(pilot, lambda: pane.activity.hint.startswith("Version 2 of 2"))
        for key in ("shift+tab", "tab"):
            await pilot.press(key)
            await settle(pilot)
            assert pane.activity.render().plain.startswith("Version 2 of 2")
            footer_words = footer.render().plain
            for name in ("F1", "Ctrl+P", "F2", "F4"):
                assert name in footer_words
                assert name not in pane.activity.hint


async def test_the_row_of_keys_says_what_enter_does_while_there_are_suggestions(tmp_path: Path):
    async with make_app(tmp_path, model="echo").run_test(size=(120, 35)) as pilot:
        app = await opened(pilot)
        footer, composer = app.panes.keys, app.chat.pane.composer
        assert "Enter send" in " ".join(footer.render().plain.split())
        await pilot.press("/")
        await until(pilot, lambda: composer.suggestions.is_open)
        await settle(pilot)
        words = " ".join(footer.render().plain.split())
        assert "Enter choose" in words
        assert "send" not in words
        await pilot.press("escape")
        await settle(pilot)
        assert "Enter send" in " ".join(footer.render().plain.split())
