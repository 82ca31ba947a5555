"""The configuration in the app, and its dialogs."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from textual import events
from textual.pilot import Pilot
from textual.widgets import Input

from tests.support.app import (
    asked,
    make_app,
    opened,
    press,
    screen_text,
    settle,
    told,
    until,
    workspace_of,
)
from tests.support.pictures import Album
from tui_chat import hooks
from tui_chat.models.message import Message
from tui_chat.models.session import Entry
from tui_chat.ui.chat.header_footer import footer_rows
from tui_chat.ui.dialogs.api_key import KeyForm
from tui_chat.ui.dialogs.forms import FieldsForm

KEY = "sk-ant-0123456789abcdef"


def written(folder: Path) -> dict[str, object]:
    return tomllib.loads((folder / "config.toml").read_text())


async def test_a_key_is_entered_masked_and_the_provider_answers_next(
    album: Album, tmp_path: Path
) -> None:
    async with album.of(make_app(tmp_path)) as pilot:
        app = await opened(pilot)
        workspace = workspace_of(app)
        await pilot.press(*"/key anthropic", "enter")
        await until(pilot, lambda: isinstance(app.screen, KeyForm))
        await pilot.press(*KEY)
        assert KEY not in app.export_screenshot()
        await album.take(pilot, "typed")
        await pilot.press("ctrl+s")
        await until(pilot, lambda: workspace.state.endpoint.name == "anthropic")
        await settle(pilot)
        (file,) = (tmp_path / "keys").iterdir()
        assert file.read_text() == f"{KEY}\n"
        key = written(tmp_path)["endpoints"]["anthropic"]["key"]
        assert key.startswith("file:")
        for path in tmp_path.rglob("*"):
            if path.is_file() and path != file:
                assert KEY.encode() not in path.read_bytes()
        assert app.focused is app.chat.composer


async def test_a_model_without_a_key_asks_for_it(tmp_path: Path) -> None:
    async with make_app(tmp_path).run_test(size=(120, 35)) as pilot:
        app = await opened(pilot)
        await press(pilot, "ctrl+o")
        await pilot.press(*"anthropic", "enter")
        await until(pilot, lambda: isinstance(app.screen, KeyForm))
        await press(pilot, "enter")
        assert "No key was given" in app.export_screenshot().replace("&#160;", " ")
        await press(pilot, "escape")
        assert app.workspace.state.endpoint.name == "anthropic"


async def test_no_word_typed_ahead_becomes_a_key(tmp_path: Path) -> None:
    async with make_app(tmp_path).run_test(size=(120, 35)) as pilot:
        app = await opened(pilot)
        await press(pilot, "ctrl+o")
        await pilot.press(*"anthropic")
        for key in ("enter", *"Hello", "enter"):
            app.post_message(events.Key(key, key if len(key) == 1 else None))
        await until(pilot, lambda: isinstance(app.screen, KeyForm))
        await settle(pilot)
        assert app.screen.query_one("#key", Input).value == ""
        assert "No key was given" not in app.export_screenshot().replace("&#160;", " ")


async def test_a_failed_reply_offers_what_solves_it(tmp_path: Path) -> None:
    async with make_app(tmp_path, endpoint="anthropic", model="").run_test(size=(160, 45)) as pilot:
        app = await opened(pilot)
        workspace = workspace_of(app)
        await pilot.press(*"Hi", "enter")
        await until(pilot, lambda: len(workspace.state.entries) == 2)
        await settle(pilot)
        shown = app.export_screenshot().replace("&#160;", " ")
        assert "Switch model" in shown
        assert shown.index("[ Enter API key… ]") < shown.index("[ Regenerate ]")


async def test_a_plugin_of_which_a_part_is_missing_is_listed_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fault = hooks.PluginFault("vim", "vim:nothing: no such part")
    monkeypatch.setattr(hooks, "faults", lambda: (fault, fault))
    async with make_app(tmp_path).run_test(size=(120, 35)) as pilot:
        app = await opened(pilot)
        await app.run_action("configuration.list_plugins")
        await until(pilot, lambda: len(app.screen_stack) == 2)
        await settle(pilot)
        shown = app.export_screenshot().replace("&#160;", " ")
        assert shown.count("vim: not loaded") == 2


# --- Endpoints, tools and the title model, entered in the app -----------------------------


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
