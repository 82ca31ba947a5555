"""Endpoints, tools and the title model, entered in the app."""

from __future__ import annotations

import tomllib
from pathlib import Path

from textual.widgets import Input

from tests.support.app import make_app, opened, settle, until
from tests.support.pictures import Album
from tests.support.screen import open_screen
from tui_chat.models.message import Message
from tui_chat.models.session import Entry
from tui_chat.ui.areas.chat.header_footer import footer_lines
from tui_chat.ui.dialogs.forms import FieldsForm


def written(folder: Path) -> dict[str, object]:
    return tomllib.loads((folder / "config.toml").read_text())


async def test_an_endpoint_is_added_and_in_use(tmp_path: Path) -> None:
    async with make_app(tmp_path).run_test(size=(120, 35)) as pilot:
        app = await opened(pilot)
        workspace = app.workspace
        assert workspace is not None
        await pilot.press(*"/endpoints", "enter")
        await settle(pilot)
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, FieldsForm))
        app.screen.query_one("#name", Input).value = "work"
        app.screen.query_one("#base_url", Input).value = "no url"
        await pilot.press("ctrl+s")
        await settle(pilot)
        assert isinstance(app.screen, FieldsForm)
        assert not (tmp_path / "config.toml").exists()
        app.screen.query_one("#base_url", Input).value = "127.0.0.1:8080/v1"
        app.screen.query_one("#models", Input).value = "m-1, m-2"
        await pilot.press("ctrl+s")
        await until(pilot, lambda: not isinstance(app.screen, FieldsForm))
        assert written(tmp_path)["endpoints"] == {
            "work": {
                "protocol": "openai_chat",
                "base_url": "127.0.0.1:8080/v1",
                "models": ["m-1", "m-2"],
            }
        }
        said = app.notifications.log[-1].message
        assert said == "Endpoint “work” saved. Use it with /model work."


async def test_the_name_of_nothing_opens_no_form(tmp_path: Path) -> None:
    async with open_screen(tmp_path) as screen:
        for words, sentence in (
            ("/endpoints opnai", "There is no endpoint “opnai”."),
            ("/tools nwo", "There is no tool “nwo”."),
        ):
            await screen.type(words)
            await screen.press("enter")
            await screen.sees(sentence)


async def test_a_tool_is_added(album: Album, tmp_path: Path) -> None:
    async with album.of(make_app(tmp_path)) as pilot:
        app = await opened(pilot)
        await pilot.press(*"/tools", "enter")
        await settle(pilot)
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, FieldsForm))
        app.screen.query_one("#name", Input).value = "now"
        app.screen.query_one("#command", Input).value = "date '+%H:%M'"
        await album.take(pilot, "tool")
        await pilot.press("ctrl+s")
        await until(pilot, lambda: not isinstance(app.screen, FieldsForm))
        tools = written(tmp_path)["tools"]
        assert tools["now"]["command"] == ["date", "+%H:%M"]  # pyright: ignore
        assert app.notifications.log[-1].message == "Tool “now” saved."


async def test_choosing_a_title_model_says_that_it_is_asked(tmp_path: Path) -> None:
    async with make_app(tmp_path).run_test(size=(120, 35)) as pilot:
        app = await opened(pilot)
        await pilot.press(*"/title-model", "enter")
        await until(pilot, lambda: len(app.screen_stack) == 2)
        await settle(pilot)
        assert "after each first reply" in app.export_screenshot().replace("&#160;", " ")
        await pilot.press(*"loopback/echo", "enter")
        await until(pilot, lambda: len(app.screen_stack) == 1)
        await settle(pilot)
        assert written(tmp_path)["title_model"] == "loopback/echo"
        said = [notice.message for notice in app.notifications.log]
        assert any("After each first reply loopback/echo is asked" in each for each in said)
        await pilot.press(*"/title-model", "enter")
        await until(pilot, lambda: len(app.screen_stack) == 2)
        await settle(pilot)
        await pilot.press(*"no model", "enter")
        await until(pilot, lambda: len(app.screen_stack) == 1)
        await until(pilot, lambda: "title_model" not in written(tmp_path))


def test_an_error_about_an_endpoint_offers_its_form() -> None:
    failed = Entry(
        Message("assistant", "", id="a"),
        status="failed",
        error="No server answers at 127.0.0.1:9 on this machine.",
        advice="Start it, or check the port in the endpoint's `base_url`.",
        endpoint="dead",
    )
    text = "\n".join(line.text for line in footer_lines(failed, (), "", 100))
    assert text.index("/endpoint  Edit endpoint") < text.index("Regenerate")
    assert "/key" not in text
    assert "the endpoint's base_url." in text
