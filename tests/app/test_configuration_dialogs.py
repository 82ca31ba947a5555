"""Endpoints, tools and the title model, entered in the app."""

from __future__ import annotations

import tomllib
from pathlib import Path

from textual.pilot import Pilot
from textual.widgets import Input

from tests.support.app import asked, make_app, opened, screen_text, settle, told, until
from tests.support.pictures import Album
from tui_chat.models.message import Message
from tui_chat.models.session import Entry
from tui_chat.ui.chat.header_footer import footer_rows
from tui_chat.ui.dialogs.forms import FieldsForm


def written(folder: Path) -> dict[str, object]:
    return tomllib.loads((folder / "config.toml").read_text())


async def in_form(pilot: Pilot[None], command: str) -> FieldsForm:
    """Open the form for a new endpoint or tool."""
    await pilot.press(*command, "enter")
    await asked(pilot)
    await pilot.press("enter")
    await until(pilot, lambda: isinstance(pilot.app.screen, FieldsForm))
    assert isinstance(pilot.app.screen, FieldsForm)
    return pilot.app.screen


async def test_endpoint_tool_and_title_model_are_entered_and_in_use(
    album: Album, tmp_path: Path
) -> None:
    async with album.of(make_app(tmp_path)) as pilot:
        app = await opened(pilot)
        form = await in_form(pilot, "/tools")
        form.query_one("#name", Input).value = "now"
        form.query_one("#command", Input).value = "date '+%H:%M'"
        await album.take(pilot, "tool")
        await pilot.press("ctrl+s")
        await until(pilot, lambda: app.screen is not form)
        tools = written(tmp_path)["tools"]
        assert tools["now"]["command"] == ["date", "+%H:%M"]  # pyright: ignore
        assert app.notifications.log[-1].message == "Tool “now” saved."

        form = await in_form(pilot, "/endpoints")
        form.query_one("#name", Input).value = "work"
        form.query_one("#base_url", Input).value = "no url"
        await pilot.press("ctrl+s")
        await settle(pilot)
        assert app.screen is form
        assert "endpoints" not in written(tmp_path)
        form.query_one("#base_url", Input).value = "127.0.0.1:8080/v1"
        form.query_one("#models", Input).value = "m-1, m-2"
        await pilot.press("ctrl+s")
        await until(pilot, lambda: app.screen is not form)
        assert written(tmp_path)["endpoints"] == {
            "work": {
                "protocol": "openai_chat",
                "base_url": "127.0.0.1:8080/v1",
                "models": ["m-1", "m-2"],
            }
        }
        said = app.notifications.log[-1].message
        assert said == "Endpoint “work” saved. Use it with /model work."

        await pilot.press(*"/title-model", "enter")
        await asked(pilot)
        assert "after each first reply" in screen_text(app)
        await pilot.press(*"loopback/echo", "enter")
        await until(pilot, lambda: written(tmp_path).get("title_model") == "loopback/echo")
        said = "After each first reply loopback/echo is asked"
        await until(pilot, lambda: any(said in note.message for note in app.notifications.log))
        await until(pilot, lambda: len(app.screen_stack) == 1)
        await pilot.press(*"/title-model", "enter")
        await asked(pilot)
        await pilot.press(*"no model", "enter")
        await until(pilot, lambda: "title_model" not in written(tmp_path))
        await until(pilot, lambda: len(app.screen_stack) == 1)

        for words, sentence in (
            ("/endpoints opnai", "There is no endpoint “opnai”."),
            ("/tools nwo", "There is no tool “nwo”."),
        ):
            await pilot.press(*words, "enter")
            await until(pilot, lambda sentence=sentence: sentence in told(app))
            assert len(app.screen_stack) == 1


def test_an_error_about_an_endpoint_offers_its_form() -> None:
    failed = Entry(
        Message.of("assistant", "", id="a"),
        status="failed",
        error="No server answers at 127.0.0.1:9 on this machine.",
        advice="Start it, or check the port in the endpoint's `base_url`.",
        endpoint="dead",
    )
    text = "\n".join(line.text for line in footer_rows(failed, (), "", 100))
    assert text.index("[ Edit endpoint… ]") < text.index("[ Regenerate ]")
    assert "API key" not in text
    assert "the endpoint's base_url." in " ".join(text.split())
