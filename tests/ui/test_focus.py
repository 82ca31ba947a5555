"""Where the focus is, and where what is typed goes."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.color import Color
from textual.events import Paste
from textual.pilot import Pilot

from tests.support.app import burst, make_app, opened, say, settle, until
from tui_chat.ui.app import TuiChat
from tui_chat.ui.areas.area import Area
from tui_chat.ui.areas.presets.pane import PresetPane

SIZES = [(160, 45), (120, 35), (80, 24)]


@pytest.mark.parametrize("size", SIZES, ids=str)
async def test_the_title_of_the_pane_with_the_focus_is_lit_and_no_other(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    app = make_app(tmp_path, model="echo")
    async with app.run_test(size=size) as pilot:
        await opened(pilot)
        await say(pilot, "hello")
        grounds: set[Color] = set()
        for key in ("shift+tab", "f2", "f4", "f3", "escape", "ctrl+n"):
            await pilot.press(key)
            if key == "f3":
                await until(pilot, lambda: bool(app.query(PresetPane)))
            await settle(pilot)
            lit = [row for row in app.panes.query(".-lit") if row.display and row.size.height == 1]
            areas = [node for row in lit for node in row.ancestors if isinstance(node, Area)]
            assert [area.has_focus_within for area in areas] == [True], key
            grounds |= {row.styles.background for row in lit}
        assert len(grounds) == 1


@pytest.mark.parametrize("size", SIZES, ids=str)
async def test_a_message_has_the_bar_of_the_cursor_only_with_the_focus(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    app = make_app(tmp_path, model="echo")
    async with app.run_test(size=size) as pilot:
        await opened(pilot)
        await say(pilot, "hello")
        transcript = app.chat.pane.transcript

        def bars() -> set[str]:
            return {transcript.render_line(y).text[:1] for y in range(transcript.size.height)}

        await settle(pilot)
        assert "┃" not in bars()
        await pilot.press("shift+tab")
        assert "┃" in bars()


async def test_a_temporary_session_is_marked_on_title_and_composer(tmp_path: Path) -> None:
    app = make_app(tmp_path, model="echo")
    async with app.run_test(size=(120, 35)) as pilot:
        await opened(pilot)
        pane = app.chat.pane
        await pilot.press("f6")
        await until(pilot, lambda: pane.composer.has_class("-temporary"))
        assert pane.title_line.has_class("-temporary")
        await pilot.press("ctrl+n")
        await until(pilot, lambda: not pane.composer.has_class("-temporary"))
        assert not pane.title_line.has_class("-temporary")


# --- what is typed ------------------------------------------------------------------------

PANES = {"transcript": "shift+tab", "sessions": "f2", "preset editor": "f3", "inspector": "f4"}


async def with_a_conversation(pilot: Pilot[None]) -> TuiChat:
    app = pilot.app
    assert isinstance(app, TuiChat)
    await opened(pilot)
    await say(pilot, "hello")
    return app


async def focus_pane(pilot: Pilot[None], app: TuiChat, pane: str) -> None:
    """Focus a pane from the composer."""
    app.screen.set_focus(app.chat.pane.composer)
    await settle(pilot)
    await pilot.press(PANES[pane])
    if pane == "preset editor":
        await until(pilot, lambda: bool(app.query(PresetPane)))
    await settle(pilot)
    assert app.focused is not app.chat.pane.composer


@pytest.mark.parametrize("pane", PANES)
async def test_a_paste_outside_of_a_field_goes_to_the_composer(tmp_path: Path, pane: str) -> None:
    async with make_app(tmp_path, model="echo").run_test(size=(160, 45)) as pilot:
        app = await with_a_conversation(pilot)
        await focus_pane(pilot, app, pane)
        app.post_message(Paste("two\nlines"))
        await until(pilot, lambda: bool(app.chat.pane.composer.text))
        assert app.chat.pane.composer.text == "two\nlines"
        assert app.focused is app.chat.pane.composer


async def test_what_follows_an_edited_message_is_text(tmp_path: Path) -> None:
    async with make_app(tmp_path, model="echo").run_test(size=(160, 45)) as pilot:
        app = await with_a_conversation(pilot)
        composer = app.chat.pane.composer
        await pilot.press("shift+tab", "g", "e")
        await until(pilot, lambda: len(app.screen_stack) == 2)
        await pilot.press(*" again", "enter")
        await until(pilot, lambda: app.screen is app.main and composer.has_focus)
        await settle(pilot)
        await pilot.press("shift+tab")
        entry = app.conversation.transcript.current
        assert entry is not None
        assert entry.message.role == "assistant"


async def test_what_follows_a_fork_or_the_choice_of_a_model_is_text(tmp_path: Path) -> None:
    async with make_app(tmp_path, model="echo").run_test(size=(160, 45)) as pilot:
        app = await with_a_conversation(pilot)
        assert app.workspace is not None
        composer = app.chat.pane.composer
        await pilot.press("shift+tab")
        burst(app, "f", "enter", *"code")
        await until(pilot, lambda: composer.text == "code")
        await pilot.press("f2")
        burst(app, "ctrl+o", *"mirror", "enter", *"e rename")
        await until(pilot, lambda: "rename" in composer.text)
        assert composer.text == "codee rename"
        assert app.workspace.state.effective_model == "mirror"
        titles = {session.title for session in app.workspace.state.sessions}
        assert titles == {"hello", "Fork of hello"}
