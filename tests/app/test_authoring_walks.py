"""The walk of an author, by the keyboard alone and by the mouse alone: why a message is missing,
an author's note from depth 4 to depth 1, what a prompt cache has of it, and back.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from textual.pilot import Pilot

from tests.support import app as support
from tests.support.app import opened, press, rows_shown, say, settle, until
from tests.support.preset_app import app_with, body, line_of, message
from tests.support.vendors import ENDPOINTS
from tui_chat.compose import compose
from tui_chat.context import Inputs, SessionSettings
from tui_chat.models.endpoint import ModelFacts, Protocol
from tui_chat.models.message import Message
from tui_chat.models.preset import Preset
from tui_chat.models.usage import short_number
from tui_chat.turn_file import TurnFile, TurnRequest
from tui_chat.ui.app import TuiChat
from tui_chat.ui.chat.composer import Composer
from tui_chat.ui.chat.transcript import Transcript
from tui_chat.ui.inspector.context import ContextView
from tui_chat.ui.inspector.lines import Line, forecast_sentences
from tui_chat.ui.inspector.pane import Inspector
from tui_chat.ui.key_row import KeyRow
from tui_chat.ui.presets.pane import PresetPane
from tui_chat.ui.presets.rows import PresetList
from tui_chat.workspace.state import ViewedRequest

CHART = "The whole chart of the coast, rock by rock. " * 150
SAID = (
    Message.of("user", CHART, "chart"),
    *(
        Message.of("user" if number % 2 else "assistant", f"Number {number}: he counts the boats.")
        for number in range(6)
    ),
)
"""A conversation whose first message has no room."""


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Models with room for 1,000 tokens."""
    facts = (("*", ModelFacts(context_limit=1_000)),)
    ends = tuple(replace(each, facts=facts) for each in ENDPOINTS)
    monkeypatch.setattr(support, "ENDPOINTS", ends)


async def begun(pilot: Pilot[None]) -> tuple[TuiChat, Inspector]:
    """Open a conversation whose last request had the note at depth 4; type the next message."""
    app = await opened(pilot)
    inputs = Inputs(
        app.workspace.state.endpoint,
        Preset("walk"),
        SAID,
        settings=SessionSettings(model="echo:max"),
    )
    composed = compose(inputs)
    turn = TurnFile("", inputs, TurnRequest(Protocol.OPENAI_CHAT, "POST", "", "", ""))
    viewed = ViewedRequest(composed, "", source=turn)
    await app.workspace.sent.save("Walk", viewed)
    await app.workspace.presets.choose("mine")
    await settle(pilot)
    await say(pilot, "One?")
    app.query_one(Composer).text = "Two?"
    await settle(pilot)
    return app, app.query_one(Inspector)


def common(app: TuiChat) -> int:
    """The tokens that the line of the forecast says are as last time."""
    forecast = app.query_one(Inspector).forecast
    line = str(app.query_one("#inspector-cache", Line).render())
    assert f"Cache: {short_number(forecast.served)} of" in line
    assert f"{forecast.common:,} of" in forecast_sentences(forecast)
    return forecast.common


def shows(inspector: Inspector, words: str) -> Callable[[], bool]:
    """Whether the view in sight has these words on the screen."""
    return lambda: any(words in row for row in rows_shown(inspector.views.current))


@pytest.mark.usefixtures("small")
async def test_authoring_with_the_keyboard_only(tmp_path: Path) -> None:
    async with app_with(tmp_path, model="echo:max", host="provider.invalid").run_test(
        size=(160, 45)
    ) as pilot:
        app, inspector = await begun(pilot)
        # Why is the chart missing? From the message, w.
        await pilot.press("escape", "shift+tab", "g")
        await until(pilot, lambda: app.query_one(Transcript).has_focus)
        await pilot.press("w")
        await until(pilot, lambda: inspector.view_shown == "context")
        await until(pilot, shows(inspector, "1 left out to fit"))
        await until(pilot, shows(inspector, "The whole chart"))
        # The note goes from depth 4 to depth 1 in its form; the context follows.
        await pilot.press("f3")
        await until(pilot, lambda: bool(app.query(PresetPane)))
        pane = app.query_one(PresetPane)
        await until(pilot, lambda: pane.rows.has_focus)
        await pilot.press("end")
        while pane.message is not message(pane, "note"):
            await pilot.press("up")
        at_four = common(app)
        await until(pilot, shows(inspector, "depth 4"))
        await pilot.press("enter", "shift+tab", "backspace", "1", "escape")
        await until(pilot, lambda: message(pane, "note").insertion_point == -1)
        await until(pilot, shows(inspector, "depth 1"))
        assert body(pane).index("(Softly.)") > body(pane).index("One?")
        # Once it was sent so, the cache has more.
        await pilot.press("escape")
        await until(pilot, lambda: app.query_one(Composer).has_focus)
        await say(pilot, "Two?")
        await press(pilot, *"Three?")
        at_one = common(app)
        assert at_one > at_four
        # And back.
        await pilot.press("f3")
        await until(pilot, lambda: pane.rows.has_focus)
        await pilot.press("u")
        await until(pilot, lambda: message(pane, "note").insertion_point == -4)
        await until(pilot, lambda: common(app) < at_one)


@pytest.mark.usefixtures("small")
async def test_authoring_with_the_mouse_only(tmp_path: Path) -> None:
    async with app_with(tmp_path, model="echo:max", host="provider.invalid").run_test(
        size=(160, 45)
    ) as pilot:
        app, inspector = await begun(pilot)
        await pilot.click("#inspector-views", offset=(10, 0))
        await until(pilot, lambda: inspector.view_shown == "context")
        view = inspector.views.current
        assert isinstance(view, ContextView)
        await until(pilot, shows(inspector, "left out to fit"))
        rows = list(rows_shown(view))
        row = next(y for y, words in enumerate(rows) if "left out to fit" in words)
        await pilot.click(view, offset=(4, row))
        await until(pilot, shows(inspector, "The whole chart"))
        await pilot.click(KeyRow, offset=(str(app.query_one(KeyRow).render()).index("F3") + 2, 0))
        await until(pilot, lambda: bool(app.query(PresetPane)))
        pane = app.query_one(PresetPane)
        await until(pilot, lambda: pane.rows.has_focus)
        await settle(pilot)
        await pilot.click(PresetList, offset=(20, line_of(pane, "Note")))
        await settle(pilot)
        keys = app.query_one(KeyRow)
        await pilot.click(keys, offset=(str(keys.render()).index("J K move") + 2, 0))
        await until(pilot, lambda: message(pane, "note").insertion_point == -3)
        await settle(pilot)
        forecast = inspector.forecast
        assert "Note" in forecast.sentence
        line = app.query_one("#inspector-cache", Line)
        await pilot.click(line, offset=(str(line.render()).index("Cache") + 2, 0))
        moved = forecast.at.origin
        await until(pilot, lambda: view.row(view.cursor).origin == moved)
        await settle(pilot)
