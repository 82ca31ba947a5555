"""The first screen: what it says, and what it offers."""

from __future__ import annotations

from pathlib import Path

import pytest
from rich.cells import cell_len

from tests.support.app import make_app, opened, replied, settle, until
from tests.support.pictures import Album
from tui_chat.config import BUILT_IN_ENDPOINTS, endpoints_with_key
from tui_chat.ui.areas.chat.welcome import Welcome, welcome, welcome_lines
from tui_chat.ui.key_names import DEFAULT_KEYS, NO_KEY

KEYS = {"ANTHROPIC_API_KEY": "k", "GEMINI_API_KEY": "k"}


def words(shown: Welcome, width: int = 64) -> str:
    return "\n".join(line.text for line in welcome_lines(shown, width))


def test_it_says_what_this_is_and_offers_three_things_each_with_a_key():
    shown = welcome("mirror", is_offline=True)
    assert "A chat that shows the exact request before it is sent." in words(shown)
    assert "mirror is a practice model" in words(shown)
    assert [offer.key for offer in shown.offers] == ["/key", "Ctrl+O", "F4"]
    shown = welcome("gpt-6.1-terra", is_offline=False)
    assert "practice model" not in words(shown)
    assert [offer.key for offer in shown.offers] == ["F4", "Ctrl+O", "Ctrl+P"]


RECENT = (("s-1", "Tides\n\x1b[31m", "now"), ("s-2", "漢字" * 40, "31 Dec"))


@pytest.mark.parametrize("environ", [{}, KEYS, {"OPENAI_API_KEY": "k"}])
@pytest.mark.parametrize("is_offline", [True, False])
@pytest.mark.parametrize("width", [14, 30, 47, 64, 200])
def test_it_fits_and_everything_in_it_can_be_clicked(
    environ: dict[str, str], is_offline: bool, width: int
) -> None:
    with_key = endpoints_with_key(BUILT_IN_ENDPOINTS, environ)
    shown = welcome("gpt-6.1-terra", is_offline, with_key, recent=RECENT)
    lines = welcome_lines(shown, width)
    assert all(cell_len(line.text) <= width for line in lines)
    assert "\x1b" not in words(shown, width)
    actions = {run.action for line in lines for run in line.runs if run.action}
    assert {action.key for action in actions} == {
        *(offer.action for offer in shown.offers),
        *("sessions.open('s-1')", "sessions.open('s-2')"),
    }
    ready = {f"/model {name}" for name in ("anthropic", "google", "openai")}
    names = {f"/model {endpoint.name}" for endpoint in with_key} if is_offline else set[str]()
    assert {offer.key for offer in shown.offers} & ready == names


def test_an_action_without_a_key_is_not_offered():
    shown = welcome("m", is_offline=False, keys=DEFAULT_KEYS | {"model": NO_KEY})
    assert [offer.key for offer in shown.offers] == ["F4", "Ctrl+P"]


async def test_each_offer_does_what_it_says(tmp_path: Path) -> None:
    async with make_app(tmp_path).run_test(size=(160, 45)) as pilot:
        app = await opened(pilot)
        transcript = app.chat.pane.transcript

        async def click(words: str) -> None:
            rows = [transcript.render_line(y).text for y in range(transcript.size.height)]
            row = next(y for y, text in enumerate(rows) if words in text)
            await pilot.click(transcript, offset=(rows[row].index(words) + 1, row))
            await settle(pilot)

        await click("another model")
        await until(pilot, lambda: len(app.screen_stack) == 2)
        await pilot.press("escape")
        await click("/key")
        await until(pilot, lambda: len(app.screen_stack) == 2)
        await pilot.press("escape")
        await click(" F4 ")
        await until(pilot, lambda: app.panes.inspector.has_focus_within)


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
        await replied(pilot)  # else it is told that the reply has arrived
        await pilot.press("ctrl+n")
        await until(pilot, lambda: workspace.state.session is None)
        await settle(pilot)
        await album.take(pilot, "last-session")
        transcript = app.chat.pane.transcript
        rows = [transcript.render_line(y).text for y in range(transcript.size.height)]
        row = next(y for y, text in enumerate(rows) if "Tides  now" in text)
        await pilot.click(transcript, offset=(rows[row].index("Tides"), row))
        await until(pilot, lambda: len(workspace.state.entries) == 2)
