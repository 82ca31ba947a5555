"""The first screen: what it says, and what it offers."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ui.album import Album
from tests.ui.app_under_test import make_app, opened, settle, until
from tui_chat.config import BUILT_IN_ENDPOINTS, endpoints_with_key
from tui_chat.ui.areas.chat.markdown import markdown_lines
from tui_chat.ui.areas.chat.welcome import welcome, welcome_lines

KEYS = {"ANTHROPIC_API_KEY": "k", "GEMINI_API_KEY": "k"}


def test_it_says_what_this_is_and_offers_three_things_each_with_a_key():
    text = welcome("mirror", is_offline=True)
    assert "A chat that shows the exact request before it is sent." in text
    offers = text.partition("Three things to try:\n\n")[2].partition("\n\n")[0].splitlines()
    assert [line.split("**")[1] for line in offers] == ["F4", "Ctrl+O", "Ctrl+P"]
    assert "`/key` enters the API key" in text
    assert "practice model" not in welcome("gpt-6.1-terra", is_offline=False)


@pytest.mark.parametrize("environ", [{}, KEYS, {"OPENAI_API_KEY": "k"}])
@pytest.mark.parametrize("is_offline", [True, False])
@pytest.mark.parametrize("width", [14, 30, 47, 72, 200])
def test_it_is_laid_out_as_the_markdown_that_it_is(
    environ: dict[str, str], is_offline: bool, width: int
) -> None:
    text = welcome("gpt-6.1-terra", is_offline, endpoints_with_key(BUILT_IN_ENDPOINTS, environ))
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
    assert [each.name for each in endpoints_with_key(BUILT_IN_ENDPOINTS, environ)] == names


async def test_a_key_that_was_found(album: Album, tmp_path: Path) -> None:
    async with album.of(make_app(tmp_path, environ=KEYS)) as pilot:
        await opened(pilot)
        await album.take(pilot, "offered")


async def test_the_last_sessions_are_a_click_away(album: Album, tmp_path: Path) -> None:
    async with album.of(make_app(tmp_path)) as pilot:
        app = await opened(pilot)
        workspace = app.workspace
        assert workspace is not None
        await pilot.press(*"Tides", "enter")
        await until(pilot, lambda: len(workspace.state.entries) == 2)
        await pilot.press("ctrl+n")
        await until(pilot, lambda: workspace.state.session is None)
        await settle(pilot)
        await album.take(pilot, "last-session")
        transcript = app.chat.pane.transcript
        rows = [transcript.render_line(y).text for y in range(transcript.size.height)]
        row = next(y for y, text in enumerate(rows) if "• Tides" in text)
        await pilot.click(transcript, offset=(rows[row].index("Tides"), row))
        await until(pilot, lambda: len(workspace.state.entries) == 2)
