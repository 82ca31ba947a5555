"""Themes and their files: every text is legible in them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import product
from pathlib import Path

from textual.strip import Strip

from tests.support.app import make_app, opened, say, screen_strips, settle, until
from tests.support.contrast import contrast
from tests.support.inspector_app import (
    DATE,
    DRAFT,
    MODEL,
    ROLE,
    STYLE,
    InspectorApp,
    composed,
)
from tests.support.screen import open_screen
from tui_chat.models.endpoint import Protocol
from tui_chat.models.text import Origin, OriginKind
from tui_chat.paths import bundled
from tui_chat.ui.chat.composer import Composer
from tui_chat.ui.presets.pane import PresetPane
from tui_chat.ui.sessions.pane import SessionsPane
from tui_chat.ui.themes import load_themes

OFFLINE = 'model = "mirror"\n'


async def test_our_themes_go_by_their_short_names(tmp_path: Path):
    """In config.toml, and in the command that the next start remembers."""
    async with open_screen(tmp_path, config=OFFLINE + 'theme = "light"\n') as screen:
        assert screen.app.theme == "tui-chat-light"
        await screen.type("/theme dark")
        await screen.press("escape", "enter")
        await screen.until(lambda: screen.app.theme == "tui-chat-dark", "not dark")
    async with open_screen(tmp_path) as screen:
        assert screen.app.theme == "tui-chat-dark"


async def test_an_unknown_theme_names_those_that_there_are(tmp_path: Path):
    async with open_screen(tmp_path, config=OFFLINE + 'theme = "nope"\n') as screen:
        await screen.sees("There is no theme “nope”.", "tui-chat-light", "tui-chat-mono")
        assert screen.app.theme == "tui-chat-dark"


# --- Themes while the program runs: chosen, kept, edited ----------------------------------


async def test_a_theme_is_previewed_chosen_and_remembered(tmp_path: Path):
    async with make_app(tmp_path).run_test(size=(80, 24)) as pilot:
        app = await opened(pilot)
        app.query_one(Composer).text = "/theme"
        await pilot.press("enter")
        await until(pilot, lambda: len(app.screen_stack) == 2)
        await pilot.press(*"-mono")
        await until(pilot, lambda: app.theme == "tui-chat-mono")
        await pilot.press("escape")
        await until(pilot, lambda: app.theme == "tui-chat-dark")
        app.query_one(Composer).text = "/theme tui-chat-contrast"
        await settle(pilot)
        await pilot.press("enter")
        await until(pilot, lambda: app.theme == "tui-chat-contrast")
    assert make_app(tmp_path).theme == "tui-chat-contrast"
    assert make_app(tmp_path, theme="tui-chat-light").theme == "tui-chat-light"


# ---  -------------------------------------------------------------------------------------


THEMES = {theme.name: theme for theme in load_themes([bundled("themes")])[0]}


MONO = "tui-chat-mono"


LINES = re.compile(r"[\s─-▟⋯›·•]*")
"""What is drawn with: lines, bars, blocks and points, which are not read."""


def hardly_read(strips: Iterable[Strip]) -> list[tuple[float, str]]:
    """What is said in lines of the screen, as far as it cannot be read well."""
    shown = [
        (contrast(ink.name, ground.name), segment.text)
        for strip in strips
        for segment in strip
        if not LINES.fullmatch(segment.text) and (style := segment.style) is not None
        if (ink := style.color) is not None and (ground := style.bgcolor) is not None
    ]
    assert shown
    return [each for each in shown if each[0] < 4.5]


async def test_highlights_in_a_request_are_legible_in_every_theme() -> None:
    history = Origin(OriginKind.HISTORY, "m2", "#3")
    app = InspectorApp(composed(Protocol.ANTHROPIC))
    async with app.run_test(size=(100, 60)) as pilot:
        for name in THEMES:
            app.theme = name
            await pilot.pause()
            for origin in (ROLE, STYLE, DATE, MODEL, DRAFT, history):
                assert app.view.reveal(origin), origin
                lit = [app.view.render_line(y) for y in range(app.view.size.height)]
                bars = {strip.text[1] for strip in lit}
                told = bars & set("SPFLHDMT") if name == MONO else bars & {"▌"}
                assert told, "seen without color too"
                assert hardly_read(lit) == [], (name, origin)
            assert app.view.find("light")
            found = [app.view.render_line(y) for y in range(app.view.size.height)]
            assert hardly_read(found) == [], name
            app.view.find("")


async def test_everything_on_the_screen_is_legible_in_every_theme(tmp_path: Path) -> None:
    async with make_app(tmp_path, model="echo").run_test(size=(160, 45)) as pilot:
        app = await opened(pilot)
        await say(pilot, "Look: `x = 1` and <https://example.org>\n\n```py\nx = 1\n```")
        await pilot.press("f3")
        await until(pilot, lambda: bool(app.query(PresetPane)))
        for name, pane in product(THEMES, (PresetPane, SessionsPane, Composer)):
            app.theme = name
            app.query_one(pane).focus()
            await settle(pilot)
            assert hardly_read(screen_strips(app)) == [], (name, pane)
