"""Figures and hints of the screen: the status line, counts, usage."""

from __future__ import annotations

import asyncio
import json
from decimal import Decimal
from pathlib import Path

from rich.console import Console
from textual import events
from textual.pilot import Pilot
from textual.widgets import Static

from tests.support.app import (
    composer_facts,
    make_app,
    opened,
    say,
    screen_text,
    settle,
    until,
)
from tests.support.pictures import NARROW, WIDE, Album
from tests.support.program import run_program
from tests.support.screen import Screen, open_screen
from tests.support.server import Provider, chat_text
from tests.support.tables import each_row
from tui_chat.models.prices import Prices
from tui_chat.ui.dialogs.choices import ChoiceDialog
from tui_chat.ui.dialogs.usage import UsageDialog

KEYS = ("F1", "Ctrl+P", "F2", "F3", "F4")
LONG = "cook-" * 60


async def send(screen: Screen, words: str) -> None:
    await screen.type(words)
    await screen.press("enter")


async def test_what_is_said_of_a_new_session_stays(tmp_path: Path):
    with Provider(chat_text("A reply.")) as provider:
        async with open_screen(tmp_path, config=provider.config(), size=(120, 35)) as screen:
            await send(screen, "hello")
            await screen.sees("A reply.")
            await send(screen, "/role Assistant")
            await screen.sees("New session", "Started a new session")
            await screen.rests()
            await screen.sees("Started a new session")


@each_row("size, command", [
    ((160, 45), "/role sailor"), ((120, 35), "/role sailor"), ((120, 35), f"/role {LONG}"),
    ((80, 24), "/role sailor"), ((80, 24), f"/role {LONG}"),
])  # fmt: skip
async def test_a_message_hides_no_keys_and_all_of_it_can_be_read(
    size: tuple[int, int], command: str, tmp_path: Path
):
    async with open_screen(tmp_path, size=size, waits=("Enter", "F1")) as screen:
        keys = [key for key in KEYS if key in screen.lines[-1]]
        assert keys[0] == "F1"
        screen.app.post_message(events.Paste(command))
        await screen.sees("/role")
        await screen.press("enter")
        await screen.sees("There is no role")
        assert [key for key in KEYS if key in screen.lines[-1]] == keys
        await screen.press("ctrl+p")
        await screen.type("notifications")
        await screen.press("enter")
        await screen.sees("Available: Assistant.")


# --- The number of messages of a session is the same on the screen and on the command line


async def listed(folder: Path, *words: str) -> str:
    folders = ("--data-dir", str(folder), "--config-dir", str(folder))
    done = await asyncio.to_thread(run_program, *folders, "sessions", *words, check=True)
    return done.stdout


async def test_versions_are_not_counted_as_messages(tmp_path: Path):
    with Provider(chat_text("A reply."), chat_text("Another."), chat_text("More.")) as provider:
        async with open_screen(tmp_path, config=provider.config()) as screen:
            await send(screen, "hello")
            await screen.has_messages(2)
            await screen.sees("A reply.")
            await screen.loses("Esc stop")
            await screen.press("ctrl+r")
            await screen.sees("Another.", "2/2")
            await send(screen, "go on")
            await screen.has_messages(4)
            await screen.sees("More.")
            [session] = json.loads(await listed(tmp_path, "list", "--json"))
            assert session["message_count"] == 4
            words = (await listed(tmp_path, "list")).splitlines()
            columns = words[0].split()
            assert words[1].split()[columns.index("MESSAGES")] == "4"
            shown = json.loads(await listed(tmp_path, "show", "hello", "--json"))
            assert len(shown["messages"]) == 4


# --- The facts on the composer's border, and the row of hints, which is blank when it has none


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


# --- What replies cost, on the screen -----------------------------------------------------


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
