"""Messages that are typed while a reply arrives."""

from __future__ import annotations

from pathlib import Path

from textual.pilot import Pilot

from tests.support.app import (
    composer_facts,
    make_app,
    opened,
    press,
    say,
    settle,
    until,
    workspace_of,
)
from tui_chat.ui.app import TuiChat
from tui_chat.ui.chat.composer import Composer
from tui_chat.ui.dialogs.choices import ChoiceDialog


def queued(app: TuiChat) -> list[str]:
    return [message.text for message in app.workspace.state.queue]


async def streaming(pilot: Pilot[None]) -> TuiChat:
    """Send a message whose reply takes long."""
    app = await opened(pilot)
    await pilot.press(*"Hi", "enter")
    workspace = workspace_of(app)

    def has_begun() -> bool:
        partial = workspace.state.partial
        return partial is not None and bool(partial.reply.text)

    await until(pilot, has_begun)
    return app


async def enter(pilot: Pilot[None], text: str) -> None:
    pilot.app.query_one(Composer).text = text
    await pilot.press("enter")
    await until(pilot, lambda: not pilot.app.query_one(Composer).text)


async def test_enter_queues_while_a_reply_arrives_and_esc_leaves_the_queue(tmp_path: Path) -> None:
    async with make_app(tmp_path, model="flaky-stall").run_test(size=(160, 45)) as pilot:
        app = await streaming(pilot)
        for text in ("And the sea?", "And the moon?", "third"):
            await enter(pilot, text)
        await until(pilot, lambda: composer_facts(app).startswith("3 queued"))
        await pilot.press("escape")
        workspace = app.workspace
        await until(pilot, lambda: not workspace.state.is_streaming)
        await settle(pilot)
        assert queued(app) == ["And the sea?", "And the moon?", "third"]
        assert "Enter sends the next queued message" in app.chat.activity.render().plain
        await workspace.settings.set_model("loopback", "echo")
        await pilot.press("enter")
        await until(pilot, lambda: not queued(app))
        await until(pilot, lambda: len(workspace.state.entries) == 8)
        sent = [e.message.content for e in workspace.state.entries if e.message.role == "user"]
        assert sent == ["Hi", "And the sea?", "And the moon?", "third"]
        assert "queued" not in composer_facts(app)


async def test_the_queue_is_listed_and_cleared_by_commands(tmp_path: Path) -> None:
    async with make_app(tmp_path, model="flaky-stall").run_test(size=(80, 24)) as pilot:
        app = await streaming(pilot)
        await enter(pilot, "one")
        await enter(pilot, "//two")
        await until(pilot, lambda: queued(app) == ["one", "/two"])
        await pilot.press(*"/queue", "enter")
        await until(pilot, lambda: len(app.screen_stack) == 2)
        await pilot.press("down", "enter")
        composer = app.query_one(Composer)
        await until(pilot, lambda: composer.text == "//two")
        composer.text = ""
        await pilot.press(*"/queue", "escape", "enter")
        await until(pilot, lambda: len(app.screen_stack) == 2)
        await pilot.press(*"remove all", "enter")
        await until(pilot, lambda: not queued(app))
        await pilot.press("escape")


async def test_enter_without_text_sends_nothing_without_a_queue(tmp_path: Path) -> None:
    async with make_app(tmp_path, model="echo").run_test(size=(120, 35)) as pilot:
        app = await opened(pilot)
        await say(pilot, "Hello")
        await press(pilot, "enter")
        assert len(app.workspace.state.entries) == 2


async def test_earlier_prompts_are_searched_by_typing(tmp_path: Path) -> None:
    async with make_app(tmp_path, model="echo").run_test(size=(120, 35)) as pilot:
        app = await opened(pilot)
        for text in ("about rivers", "//slash", "about the sea"):
            await say(pilot, text)
        composer = app.query_one(Composer)
        await pilot.press("alt+r")
        await until(pilot, lambda: len(app.screen_stack) == 2)
        await pilot.press(*"river", "enter")
        await until(pilot, lambda: composer.text == "about rivers")
        await pilot.press(*" too")
        assert composer.text == "about rivers too"
        composer.text = ""
        await pilot.press(*"/history", "enter")
        await until(pilot, lambda: len(app.screen_stack) == 2)
        await pilot.press(*"slash", "enter")
        await until(pilot, lambda: composer.text == "//slash")


async def test_the_list_of_queued_messages_edits_and_removes(tmp_path: Path) -> None:
    async with make_app(tmp_path, model="flaky-stall").run_test(size=(120, 35)) as pilot:
        app = await streaming(pilot)
        composer = app.query_one(Composer)
        for text in ("first", "second", "third"):
            await enter(pilot, text)
        await until(pilot, lambda: len(queued(app)) == 3)
        await pilot.press(*"/queue", "enter")
        await until(pilot, lambda: isinstance(app.screen, ChoiceDialog))
        await pilot.press("down", "delete")
        await until(pilot, lambda: queued(app) == ["first", "third"])
        await pilot.press(*"/queue", "enter")
        await until(pilot, lambda: isinstance(app.screen, ChoiceDialog))
        await pilot.press("enter")
        await until(pilot, lambda: composer.text == "first")
        assert queued(app) == ["third"]
