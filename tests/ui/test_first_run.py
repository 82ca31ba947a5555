"""The first screen: what it says, and that a key in the environment takes one Enter."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ui.album import Album
from tests.ui.app_under_test import make_app, opened, settle, until
from tui_chat.config import BUILT_IN_ENDPOINTS
from tui_chat.ui.areas.chat.markdown import markdown_lines
from tui_chat.ui.areas.chat.welcome import keys_found, welcome, welcome_lines

KEYS = {"ANTHROPIC_API_KEY": "k", "GEMINI_API_KEY": "k"}


def test_it_says_what_this_is_and_offers_three_things_each_with_a_key():
    text = welcome("mirror", is_offline=True)
    assert "A chat that shows the exact request before it is sent." in text
    offers = text.partition("Three things to try:\n\n")[2].partition("\n\n")[0].splitlines()
    assert [line.split("**")[1] for line in offers] == ["F4", "Ctrl+O", "Ctrl+P"]
    assert "OPENAI_API_KEY" in text
    assert "OPENAI_API_KEY" not in welcome("gpt-6.1-terra", is_offline=False)


@pytest.mark.parametrize("environ", [{}, KEYS, {"OPENAI_API_KEY": "k"}])
@pytest.mark.parametrize("is_offline", [True, False])
@pytest.mark.parametrize("width", [14, 30, 47, 72, 200])
def test_it_is_laid_out_as_the_markdown_that_it_is(
    environ: dict[str, str], is_offline: bool, width: int
) -> None:
    text = welcome("gpt-6.1-terra", is_offline, keys_found(BUILT_IN_ENDPOINTS, environ))
    assert welcome_lines(text, width) == markdown_lines(text, width)


@pytest.mark.parametrize(
    ("environ", "names"),
    [
        ({}, []),
        (KEYS, ["anthropic", "google"]),
        ({"OPENAI_API_KEY": "k"}, ["openai"]),
        ({"OPENAI_API_KEY": ""}, []),
        ({"GROQ_API_KEY": "k", "MISTRAL_API_KEY": "k"}, ["mistral", "groq"]),
    ],
)
def test_keys_are_found_as_the_endpoints_name_them(environ: dict[str, str], names: list[str]):
    assert [each.name for each in keys_found(BUILT_IN_ENDPOINTS, environ)] == names


async def test_enter_makes_the_provider_the_default(tmp_path: Path) -> None:
    async with make_app(tmp_path, environ=KEYS).run_test(size=(120, 35)) as pilot:
        app = await opened(pilot)
        workspace = app.workspace
        assert workspace is not None
        model = workspace.state.config.endpoint_named("anthropic").models[0]
        await pilot.press("enter")
        await until(pilot, lambda: workspace.state.endpoint.name == "anthropic")
        assert workspace.state.effective_model == model
        await settle(pilot)
        found = await workspace.settings.default_model()
        assert found is not None
        assert (found[0].name, found[1]) == ("anthropic", model)
        assert workspace.state.entries == ()
        await pilot.press("enter")
        await settle(pilot)
        assert workspace.state.endpoint.name == "anthropic"


async def test_the_second_enter_of_a_message_changes_nothing(tmp_path: Path) -> None:
    async with make_app(tmp_path, environ=KEYS).run_test(size=(120, 35)) as pilot:
        app = await opened(pilot)
        workspace = app.workspace
        assert workspace is not None
        await pilot.press(*"Hi", "enter", "enter")
        await until(pilot, lambda: len(workspace.state.entries) == 2)
        await settle(pilot)
        assert workspace.state.endpoint.name == "loopback"
        assert await workspace.settings.default_model() is None


async def test_a_key_that_was_found(album: Album, tmp_path: Path) -> None:
    async with album.of(make_app(tmp_path, environ=KEYS)) as pilot:
        await opened(pilot)
        await album.take(pilot, "offered")
