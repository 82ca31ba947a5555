"""Side by side in the app: the choice of slots, sending, keys of the columns, keeping one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from textual.pilot import Pilot

from tests.support.app import (
    asked,
    make_app,
    opened,
    screen_text,
    settle,
    until,
)
from tests.support.pictures import Album
from tests.support.tool_servers import ToolServer, tool_servers
from tests.support.workspace import ECHO
from tui_chat import hooks
from tui_chat.models.settings import Settings
from tui_chat.plugins.side_by_side.column import SlotColumn
from tui_chat.plugins.side_by_side.screen import ComparisonScreen, PanelComposer
from tui_chat.plugins.side_by_side.slot_dialog import SlotDialog
from tui_chat.plugins.side_by_side.targets import remember_targets, remembered_targets
from tui_chat.ui.app import TuiChat
from tui_chat.ui.chat.editing_mode import EditedText
from tui_chat.ui.chat.tool_question import ToolQuestion
from tui_chat.workspace.exchange import Target


async def compared(pilot: Pilot[None], *models: str) -> ComparisonScreen:
    """Open the screen with these models of the offline provider."""
    app = await opened(pilot)
    assert app.workspace is not None
    targets = [Target(*model.split("/")) if "/" in model else Target("loopback", model)
               for model in models]  # fmt: skip
    await remember_targets(app.workspace, targets)
    await app.run_action("plugins.compare")
    await until(pilot, lambda: isinstance(app.screen, SlotDialog))
    await asked(pilot)
    await pilot.press("enter")
    await until(pilot, lambda: isinstance(app.screen, ComparisonScreen) and app.screen.is_mounted)
    await settle(pilot)
    screen = app.screen
    assert isinstance(screen, ComparisonScreen)
    return screen


async def ended(pilot: Pilot[None], screen: ComparisonScreen) -> None:
    """Wait until nothing arrives, and the columns show so."""
    workspace = screen.workspace
    await until(
        pilot, lambda: not workspace.state.is_streaming and bool(screen.panel.slots[0].reply_id)
    )
    await workspace.tools.all_ended()
    await screen.panel.settled()
    await settle(pilot)


async def sent(pilot: Pilot[None], screen: ComparisonScreen, text: str) -> None:
    composer_of(screen).focus()
    composer_of(screen).text = text
    await pilot.press("enter")
    await until(pilot, lambda: not composer_of(screen).text)
    await ended(pilot, screen)


def composer_of(screen: ComparisonScreen) -> PanelComposer:
    return screen.query_one(PanelComposer)


def question_of(screen: ComparisonScreen) -> ToolQuestion:
    return screen.query_one(ToolQuestion)


def replies(screen: ComparisonScreen) -> list[str]:
    return [slot.reply.message.content if slot.reply else "" for slot in screen.panel.slots]


async def test_a_draft_goes_to_all_slots_and_one_is_kept(tmp_path: Path):
    async with make_app(tmp_path).run_test(size=(160, 45)) as pilot:
        screen = await compared(pilot, "echo", "mirror", "loopback-anthropic/echo")
        await sent(pilot, screen, "salt")
        app = pilot.app
        assert isinstance(app, TuiChat)
        assert not app.main.is_current, "nothing is drawn below the columns"
        assert [bool(reply) for reply in replies(screen)] == [True] * 3
        await sent(pilot, screen, "pepper")
        assert {len(slot.entries) for slot in screen.panel.slots} == {4}
        await pilot.press("tab", "left", "right", "right", "right")
        await settle(pilot)
        assert screen.current.number == 3
        await pilot.press("k")
        await until(pilot, lambda: app.main.is_current)
        await settle(pilot)
        assert "pepper" in screen_text(app)
        await pilot.press("ctrl+o")
        await asked(pilot)
        assert app.main.is_current  # around the dialog
        await pilot.press("escape")
        state = app.workspace.state
        assert [e.endpoint for e in state.entries if e.endpoint] == ["loopback-anthropic"] * 2
        assert state.entries[1].siblings == 3
        assert (state.endpoint.name, state.effective_model) == ("loopback-anthropic", "echo")
        live = await app.workspace.replies.submit("and on")
        assert live
        await app.workspace.replies.all_ended()


async def test_a_slot_is_left_out(tmp_path: Path):
    async with make_app(tmp_path).run_test(size=(160, 45)) as pilot:
        screen = await compared(pilot, "echo", "echo")
        await pilot.press("tab", "2", "space")
        await settle(pilot)
        await sent(pilot, screen, "one")
        assert replies(screen) == ["one", ""]
        await pilot.press("tab", "2", "space", "1", "space")
        await settle(pilot)
        await sent(pilot, screen, "two")
        assert replies(screen) == ["one", "two"]
        await pilot.press("tab", "1", "space", "2", "r")
        await until(pilot, lambda: screen.panel.slots[1].reply.siblings == 2)
        await ended(pilot, screen)
        assert len(screen.panel.included) == 2


async def test_a_draft_waits_for_the_tools_of_servers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    server = ToolServer("time", "now")
    with tool_servers(tmp_path, monkeypatch, server):
        async with make_app(tmp_path).run_test(size=(160, 45)) as pilot:
            screen = await compared(pilot, "toolsmith", "echo")
            state, composer = lambda: screen.workspace.state, composer_of(screen)
            server.may_answer.clear()
            composer.text = "Use the tool."
            await pilot.press("enter")
            await until(pilot, lambda: state().awaited_sources == ("time",))
            await pilot.press("escape")
            await until(pilot, lambda: not state().awaited_sources)
            await settle(pilot)
            assert pilot.app.screen is screen
            assert (composer.text, state().entries) == ("Use the tool.", ())
            await pilot.press("enter")
            await until(pilot, lambda: state().awaited_sources == ("time",))
            server.may_answer.set()
            await until(pilot, lambda: bool(screen.panel.calls(screen.panel.slots[0])))


async def test_esc_stops_the_current_slot_then_all_then_leaves(tmp_path: Path):
    async with make_app(tmp_path).run_test(size=(160, 45)) as pilot:
        screen = await compared(pilot, "flaky-stall", "flaky-stall", "flaky-stall")
        composer_of(screen).text = "go"
        await pilot.press("enter")
        await until(pilot, lambda: all(slot.is_arriving for slot in screen.panel.slots))
        await pilot.press("tab", "2", "escape")
        await until(pilot, lambda: not screen.panel.slots[1].is_arriving)
        arriving = [slot.is_arriving for slot in screen.panel.slots]
        assert arriving == [True, False, True]
        await settle(pilot)
        await pilot.press("escape")
        await settle(pilot)
        assert [slot.is_arriving for slot in screen.panel.slots] == arriving
        await pilot.press("escape")
        await until(pilot, lambda: not any(slot.is_arriving for slot in screen.panel.slots))
        composer_of(screen).text = "not sent"
        await settle(pilot)
        await pilot.press("escape")
        await settle(pilot)
        assert composer_of(screen).has_focus
        await pilot.press("escape")
        await until(pilot, lambda: pilot.app.screen is not screen)
        await settle(pilot)
        app = pilot.app
        assert isinstance(app, TuiChat)
        assert app.chat.composer.text == "not sent"
        assert app.workspace.state.entries[-1].message.id == screen.panel.slots[1].reply_id
        assert app.notifications.log[-1].message == (
            "The conversation continues after the reply of 2 flaky-stall, with "
            f"{app.workspace.state.effective_model}. The other replies stay as versions."
        )


class UpperCase:
    """An editing mode that types capital letters."""

    label = "CAPS"

    def reset(self, text: str) -> None: ...

    def insert(self) -> None: ...

    def press(self, key: str, character: str | None, text: str, cursor: int) -> EditedText | None:
        return EditedText(text + character.upper(), cursor + 1) if character else None


async def test_the_composer_has_the_editing_mode_of_the_conversation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    load = hooks.load_named
    monkeypatch.setattr(
        hooks,
        "load_named",
        lambda point, name: UpperCase if point == "editing mode" else load(point, name),
    )
    async with make_app(tmp_path).run_test(size=(160, 45)) as pilot:
        app = await opened(pilot)
        config = replace(app.workspace.state.config, editing_mode="caps")
        app.workspace.core.update(config=config)
        screen = await compared(pilot, "echo", "echo")
        await until(pilot, lambda: composer_of(screen).border_title == "CAPS")
        await pilot.press("a", "b")
        assert composer_of(screen).text == "AB"


async def test_a_tool_call_waits_in_its_slot_and_is_asked_about_there(tmp_path: Path):
    seconds = iter(range(10_000))
    app = make_app(tmp_path, tools=(ECHO,), key_clock=lambda: float(next(seconds)))
    async with app.run_test(size=(160, 45)) as pilot:
        screen = await compared(pilot, "echo", "toolsmith")
        composer_of(screen).text = "Use the tool."
        await pilot.press("enter")
        await until(pilot, lambda: question_of(screen).call is not None)
        await settle(pilot)
        assert "2 toolsmith" in str(question_of(screen).border_title)
        await pilot.press("f8")
        await until(pilot, lambda: question_of(screen).is_armed)
        await pilot.press("y")
        await until(pilot, lambda: len(screen.panel.slots[1].entries) == 4)
        await ended(pilot, screen)
        assert question_of(screen).call is None
        assert len(screen.panel.slots[0].entries) == 2


async def test_columns_fit_the_terminal_and_show_requests(tmp_path: Path):
    async with make_app(tmp_path).run_test(size=(160, 45)) as pilot:
        screen = await compared(pilot, "mirror", "loopback-gemini/mirror", "echo")
        columns = list(screen.query(SlotColumn))
        screen.action_slot(3)
        for width, count in ((80, 1), (120, 2), (160, 3)):
            await pilot.resize_terminal(width, 45)
            await until(pilot, lambda count=count: sum(c.display for c in columns) == count)
            assert columns[2].display
        screen.action_slot(1)
        await sent(pilot, screen, "Hello there")
        await pilot.press("tab", "i")
        await until(pilot, lambda: type(pilot.app.screen).__name__ == "RequestDialog")
        await settle(pilot)
        assert "Hello there" in screen_text(pilot.app)
        await pilot.press("escape")
        await until(pilot, lambda: pilot.app.screen is screen)


async def test_slots_are_chosen_with_preset_and_settings_and_remembered(tmp_path: Path):
    async with make_app(tmp_path).run_test(size=(120, 35)) as pilot:
        app = await opened(pilot)
        await app.run_action("plugins.compare")
        await asked(pilot)
        await pilot.press("s", *"temp 0.5, effort=low")
        await settle(pilot)
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, SlotDialog))
        await settle(pilot)
        await pilot.press("a")
        await settle(pilot)
        await pilot.press(*"thinker", "enter")
        await until(pilot, lambda: isinstance(app.screen, SlotDialog))
        await settle(pilot)
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, ComparisonScreen))
        targets = await remembered_targets(app.workspace)
        assert targets[0].settings == Settings(temperature=0.5, effort="low")
        assert targets[-1].model == "thinker"
        assert len(targets) == 3


async def test_columns(album: Album, tmp_path: Path):
    async with album.of(make_app(tmp_path)) as pilot:
        screen = await compared(pilot, "mirror", "loopback-anthropic/thinker", "researcher")
        await sent(pilot, screen, "What grows in the salt marsh?")
        await pilot.press("tab")
        # What was in sight has its height, and the bars beside the columns their sizes.
        await pilot.press(*["pageup"] * 3, *["pagedown"] * 3)
        await settle(pilot)
        await album.take(pilot, "columns")
