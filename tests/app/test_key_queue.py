"""Keys that wait, and the rows that name keys."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest
from textual import events
from textual.command import CommandPalette
from textual.widgets import Input, OptionList

from tests.app.test_keys import PANES, go_to
from tests.support.app import burst, leave_dialog, make_app, opened, replied, say, settle, until
from tests.support.screen import Screen, open_screen
from tests.support.server import Provider, chat_text
from tests.support.tables import each_row
from tui_chat.models.endpoint import Protocol
from tui_chat.ui.chat.composer import Composer
from tui_chat.ui.chat.transcript import Transcript
from tui_chat.ui.dialogs.choices import ChoiceDialog
from tui_chat.ui.inspector.pane import Inspector
from tui_chat.ui.key_queue import TIME_LIMIT
from tui_chat.ui.main_screen import MainScreen
from tui_chat.ui.sessions.pane import SessionFilter
from tui_chat.workspace.workspace import Workspace


async def test_text_typed_right_after_a_key_goes_where_the_key_leads(
    tmp_path: Path, slow_store: asyncio.Event, monkeypatch: pytest.MonkeyPatch
):
    slow_store.set()
    async with make_app(tmp_path, model="echo").run_test(size=(160, 45)) as pilot:
        app = await opened(pilot)
        composer = app.query_one(Composer)
        burst(app, *"draft", "ctrl+p", *"theme")
        await leave_dialog(pilot, CommandPalette, "theme")
        burst(app, "ctrl+o", *"ech")
        await leave_dialog(pilot, ChoiceDialog, "ech")
        burst(app, "ctrl+p", *"and ")
        app.post_message(events.Paste("pasted"))
        await leave_dialog(pilot, CommandPalette, "and pasted")
        burst(app, "f2", "slash", *"need")
        await until(pilot, lambda: app.query_one(SessionFilter).value == "need")
        burst(app, "f4", "2")
        await until(pilot, lambda: app.query_one(Inspector).active.value == "openai_responses")
        assert composer.text == "draft"
        await app.run_action("chat.back")
        await say(pilot, "old")
        old = app.workspace.state.session_id
        burst(app, "ctrl+n", *"new")
        await until(pilot, lambda: composer.text == "new")
        assert app.workspace.state.session_id != old
        app.query_one(SessionFilter).clear()
        burst(app, "f2", "down", "enter", *"dear old")
        await until(pilot, lambda: composer.text == "dear old")
        assert app.workspace.state.session_id == old
        burst(app, "f2", "slash", *"ol", "enter", *" one")
        await until(pilot, lambda: composer.text == "dear old one")
    slow_store.clear()
    opened_workspace = MainScreen.opened_workspace

    async def opened_late(main: MainScreen) -> Workspace:
        workspace = await opened_workspace(main)
        await asyncio.sleep(0.1)  # as on a busy machine
        return workspace

    monkeypatch.setattr(MainScreen, "opened_workspace", opened_late)
    app = make_app(tmp_path, model="echo")
    async with app.run_test(size=(80, 24)) as pilot:
        burst(app, "ctrl+n", *" words")
        await asyncio.sleep(1.5 * TIME_LIMIT)
        assert not app.query_one(Composer).text
        slow_store.set()
        await until(pilot, lambda: app.query_one(Composer).text == "new words")
        assert app.workspace.state.session is None
        assert [each.session_id for each in app.workspace.state.sessions] == [old]


async def test_keys_in_one_read_are_handled_in_order_across_dialogs(
    tmp_path: Path,
):
    async with make_app(tmp_path, model="echo").run_test(size=(120, 35)) as pilot:
        app = await opened(pilot)
        workspace, composer = app.workspace, app.query_one(Composer)
        assert workspace is not None
        burst(app, *"teh", "backspace", "backspace", *"he", "ctrl+j", *"ed", "home", "r", "enter")
        burst(app, *"more")
        await until(pilot, lambda: composer.text == "more" and len(workspace.state.entries) == 2)
        await replied(pilot)
        assert [entry.message.content for entry in workspace.state.entries] == ["the\nred"] * 2
        burst(app, "f2", "slash", *"thee", "backspace", *" rd", "left", "e", "home", "ctrl+k", "t")
        await until(pilot, lambda: app.query_one(SessionFilter).value == "t")
        burst(app, "escape", "escape", "home", "pagedown", "end", *" or", "ctrl+w", *"less")
        await until(pilot, lambda: composer.text == "more less")
        composer.text = ""
        burst(app, "ctrl+o", *"mirrox", "backspace", "r", "enter", *"so ")
        await until(pilot, lambda: composer.text == "so " and workspace.state.model == "mirror")
        burst(app, "ctrl+p", *"nothing", "escape", *"it ", "f1", "escape", *"is ")
        await until(pilot, lambda: composer.text == "so it is ")
        await app.run_action("sessions.rename")
        await until(pilot, lambda: len(app.screen_stack) == 2 and isinstance(app.focused, Input))
        burst(app, "ctrl+u", *"olee", "backspace", "r", "home", "b", "enter", *"here")
        await until(pilot, lambda: composer.text == "so it is here")
        await until(
            pilot,
            lambda: bool(workspace.state.session) and workspace.state.session.title == "boler",
        )
        burst(app, "ctrl+p", *"switch model")
        await until(
            pilot, lambda: [one.option_count for one in app.screen.query(OptionList)] == [1]
        )
        burst(app, "enter", *"pine")
        await leave_dialog(pilot, ChoiceDialog, "pine")
        app.query_one(Transcript).focus()
        burst(app, "home", "e", *" yet", "backspace", "enter", *" too")
        await until(pilot, lambda: composer.text == "so it is here too")
        await replied(pilot)
        assert workspace.state.entries[0].message.content == "the\nred ye"


@each_row("slow", ["pane", "workspace"])
async def test_keys_after_f4_at_the_start_wait_for_the_inspector(
    slow: str, tmp_path: Path, slow_store: asyncio.Event
):
    slow_store.clear()
    app = make_app(tmp_path)
    release = asyncio.Event() if slow == "pane" else slow_store
    open_pane = app.inspector.open_pane

    async def open_pane_late() -> None:
        await release.wait()
        await open_pane()

    if slow == "pane":
        slow_store.set()
        app.inspector.open_pane = open_pane_late
    async with app.run_test(size=(160, 45)) as pilot:
        burst(app, *"draft", "f4", "2")
        await settle(pilot)
        burst(app, "3")
        await settle(pilot)
        release.set()
        await opened(pilot)
        await until(pilot, lambda: app.key_queue.is_idle)
        assert app.query_one(Composer).text == "draft"
        assert app.inspector.has_focus_within
        pane = app.inspector.pane
        await until(pilot, lambda: pane.composed is not None and pane.active is list(Protocol)[2])


# --- The row of keys below the panes, and the list of all keys of a pane ------------------


PANEL = "Ctrl+P finds everything else."
KEYS_THAT_CLOSE = {
    "conversation": ["escape"],
    "sessions": ["question_mark"],
    "preset": ["j"],
    "inspector": ["f1"],
}


def row_of_keys(screen: Screen) -> str:
    return screen.lines[-1]


async def test_the_row_names_no_key_that_means_another_thing_while_suggestions_are_open(
    tmp_path: Path,
) -> None:
    async with open_screen(tmp_path, size=(120, 35)) as screen:
        await screen.type("/mut")
        await screen.sees("/mute-tool-results", "Enter choose")
        assert "Shift+Tab" not in row_of_keys(screen)
        await screen.press("escape")
        await screen.sees("Enter send", "Shift+Tab conversation")


async def test_the_panel_of_keys_has_every_key_of_the_pane_and_closes_with_any(
    tmp_path: Path,
) -> None:
    with Provider(chat_text("Good morning.")) as provider:
        async with open_screen(tmp_path, config=provider.config(), size=(160, 200)) as screen:
            await screen.type("hello")
            await screen.press("enter")
            await screen.sees("Good morning.")
            for pane in PANES:
                await go_to(screen, pane)
                bound = {
                    key
                    for key, active in screen.app.active_bindings.items()
                    if active.enabled and len(key) == 1 and active.node is not screen.app
                }
                await screen.press("question_mark")
                await screen.sees(PANEL)
                own = screen.text[screen.text.index("───", 2_000) :]
                listed = set(re.findall(r"(?<![\w+])(\w)(?= )", own))
                assert len(bound) > 5, pane
                assert bound <= listed, (pane, sorted(bound - listed))
                await screen.press(*KEYS_THAT_CLOSE[pane])
                await screen.loses(PANEL)


async def test_a_key_in_the_panel_of_keys_does_what_it_does(tmp_path: Path) -> None:
    with Provider(chat_text("Good morning.")) as provider:
        async with open_screen(tmp_path, config=provider.config(), size=(80, 24)) as screen:
            await screen.type("hello")
            await screen.press("enter")
            await screen.sees("Good morning.")
            await screen.press("f1")
            await screen.sees(PANEL, "Send")
            await screen.press("f2")
            await screen.loses(PANEL)
            await screen.sees("Sessions")


async def test_the_row_has_the_keys_of_the_session_filter(tmp_path: Path) -> None:
    async with open_screen(tmp_path, size=(120, 35)) as screen:
        await screen.press("f2", "slash")
        await screen.sees("words, #tag")
        for words in ("Enter open", "↓", "list", "Esc show all"):
            await screen.until(lambda w=words: w in row_of_keys(screen), f"no {words!r}")
        await screen.type("zz")
        await screen.press("escape")
        await screen.loses("zz")
        await screen.sees("/ filter")


async def test_the_row_follows_the_focus_and_a_click_on_it_presses_the_key(tmp_path: Path) -> None:
    with Provider(chat_text("Good morning.")) as provider:
        async with open_screen(tmp_path, config=provider.config()) as screen:
            await screen.type("hello")
            await screen.click_on("Enter send  Ctrl+J")
            await screen.sees("Good morning.")
            await screen.click_on("Shift+Tab conversation")
            await screen.sees("e edit")
