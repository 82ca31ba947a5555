"""Questions of servers: the dialog, and in the app."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from textual.app import App
from textual.pilot import Pilot
from textual.widgets import Input, Static

from tests.plugins.mcp.conftest import SCRIPT, has_ended, running
from tests.support.app import make_app, opened, settle, until
from tests.support.tables import each_row
from tui_chat.plugins.mcp.elicitation import read_question
from tui_chat.plugins.mcp.question_dialog import QuestionForm
from tui_chat.plugins.mcp.settings import ServerSettings
from tui_chat.ui.chat.composer import Composer
from tui_chat.ui.themes import color_defaults
from tui_chat.ui.widgets.form_fields import ChoiceSelect
from tui_chat.workspace.workspace import Workspace

PROPERTIES = {
    "name": {"type": "string", "minLength": 2, "title": "Your\u202e name"},
    "age": {"type": "integer", "minimum": 0},
    "height": {"type": "number"},
    "color": {"type": "string", "enum": ["red", "green"]},
    "news": {"type": "boolean", "default": True},
}
FORM = {
    "message": "Who are you?\x1b[31m",
    "requestedSchema": {"type": "object", "properties": PROPERTIES, "required": ["name", "color"]},
}


class Stage(App[None]):
    """An app with the colors that the dialog uses."""

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return color_defaults(self.current_theme.dark)


async def shown(
    app: App[None], params: dict[str, object]
) -> tuple[list[bool | None], dict[str, object]]:
    """Show a question; return the answers, and the content of an answered form."""
    answers: list[bool | None] = []
    content: dict[str, object] = {}
    await app.push_screen(QuestionForm(read_question("bad", params), content), answers.append)
    return answers, content


def texts(app: App[None]) -> str:
    return "\n".join(str(one.render()) for one in app.screen.query(Static))


async def test_a_form_names_its_server_and_is_checked():
    app = Stage()
    async with app.run_test(size=(100, 40)) as pilot:
        answers, content = await shown(app, FORM)
        await pilot.pause()
        assert app.screen.query_one("Vertical").border_title == "The MCP server “bad” asks"
        assert "Who are you?" in texts(app)
        assert "Give it no password and no key." in texts(app)
        assert "\x1b" not in texts(app)
        assert "\u202e" not in texts(app)
        name, age, height = app.screen.query(Input)
        assert name.has_focus
        await pilot.press("x", "ctrl+s")
        await pilot.pause()
        assert not answers
        assert "name must be 2 characters or more." in texts(app)
        name.value, age.value, height.value = "Ann", "1.5", "nan"
        await pilot.press("ctrl+s")
        await pilot.pause()
        assert "age must be a whole number." in texts(app)
        age.value = "15"
        await pilot.press("ctrl+s")
        await pilot.pause()
        assert "height must be a number." in texts(app)
        height.value = "1.5"
        await pilot.press("ctrl+s")
        await pilot.pause()
        assert "color is required." in texts(app)
        app.screen.query_one(ChoiceSelect).choose("green")
        await pilot.press("ctrl+s")
        await pilot.pause()
    assert answers == [True]
    assert content == {"name": "Ann", "age": 15, "height": 1.5, "color": "green", "news": True}


async def test_a_long_form_begins_with_its_first_field():
    app = Stage()
    async with app.run_test(size=(80, 24)) as pilot:
        await shown(app, FORM)
        await pilot.pause()
        fields = app.screen.query_one("#fields")
        assert fields.virtual_size.height > fields.size.height
        assert fields.scroll_offset.y == 0


@each_row(
    ("keys", "action"),
    [(("escape",), None), (("ctrl+s",), True)],
)
async def test_an_address_is_shown_and_not_opened(
    keys: tuple[str, ...], action: bool | None, monkeypatch: pytest.MonkeyPatch
):
    opened: list[object] = []
    monkeypatch.setattr(App, "open_url", lambda *values, **_: opened.append(values))
    app = Stage()
    async with app.run_test(size=(100, 40)) as pilot:
        url = "https://bücher.example/login?a=1"
        answers, _ = await shown(app, {"mode": "url", "message": "Log in.", "url": url})
        await pilot.pause()
        assert url in texts(app)
        assert "xn--bcher-kva.example" in texts(app)
        await pilot.press(*keys)
        await pilot.pause()
    assert answers == [action]
    assert not opened


# --- A server's question in the running app: answered, declined, canceled, left open ------


pytestmark = [pytest.mark.slow]


@asynccontextmanager
async def started(folder: Path, era: str) -> AsyncIterator[tuple[Pilot[None], Workspace]]:
    """Run the app with a server, and let it ask."""
    app = make_app(folder, model="toolsmith:bad__ask")
    async with app.run_test(size=(120, 40)) as pilot:
        app = await opened(pilot)
        workspace = app.workspace
        assert workspace is not None
        server = ServerSettings(
            command=sys.executable, args=("-S", "-E", str(SCRIPT), era), consent="always"
        )
        workspace.update(config=replace(workspace.state.config, sections={"mcp": {"bad": server}}))
        workspace.tool_sources.follow_config()
        await workspace.tool_sources.loaded()
        await ask(pilot)
        yield pilot, workspace


async def ask(pilot: Pilot[None]) -> None:
    """Send a message upon which the server asks."""
    pilot.app.query_one(Composer).text = "Ask me."
    await pilot.press("enter")
    await until(pilot, lambda: isinstance(pilot.app.screen, QuestionForm))
    await settle(pilot)


async def answer(pilot: Pilot[None], workspace: Workspace, number: int) -> str:
    """Return what the server got, once the dialog is closed and the model has read it."""

    def results() -> list[str]:
        return [e.message.content for e in workspace.state.entries if e.message.role == "tool"]

    await until(pilot, lambda: not isinstance(pilot.app.screen, QuestionForm))
    await until(pilot, lambda: len(results()) == number)
    await until(pilot, lambda: workspace.state.entries[-1].message.role == "assistant")
    await until(pilot, lambda: not workspace.state.is_streaming)
    return results()[-1]


async def test_answers_reach_the_server_until_its_call_is_stopped(tmp_path: Path):
    async with started(tmp_path, "modern") as (pilot, workspace):
        assert pilot.app.screen.query_one("Vertical").border_title == "The MCP server “bad” asks"
        pilot.app.screen.query_one(Input).value = "Ann"
        await pilot.press("ctrl+s")
        text = await answer(pilot, workspace, 1)
        assert '"action": "accept"' in text
        assert '"Ann"' in text
        for number, action in ((2, "decline"), (3, "cancel")):
            await ask(pilot)
            await pilot.click(f"#{action}")
            text = await answer(pilot, workspace, number)
            assert f'"action": "{action}"' in text
            assert "content" not in text
        await ask(pilot)
        assert workspace.tools.stop()
        await until(pilot, lambda: not isinstance(pilot.app.screen, QuestionForm))
        assert workspace.state.pending_calls, "the call waits again"


async def test_nothing_stays_when_the_app_quits_with_an_open_question(tmp_path: Path):
    async with started(tmp_path, "legacy") as (pilot, workspace):
        pilot.app.screen.query_one(Input).value = "Ann"
        await pilot.press("ctrl+s")
        text = await answer(pilot, workspace, 1)
        assert '"action": "accept"' in text
        assert '"Ann"' in text
        await ask(pilot)
        (process,) = running()
        pilot.app.exit()
    assert await has_ended(process)
