"""Keys entered in the app; what a failed reply offers."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from textual import events
from textual.widgets import Input

from tests.support.app import make_app, opened, press, settle, until, workspace_of
from tests.support.pictures import Album
from tui_chat import hooks
from tui_chat.ui.dialogs.api_key import KeyForm

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
