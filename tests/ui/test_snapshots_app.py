"""Pictures of the whole screen in the states that matter."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from tests.ui.app_under_test import make_app, opened, say, settle, until
from tui_chat.attachments import Attachment
from tui_chat.model.message import Part
from tui_chat.ui.chat import Composer, Transcript


@pytest.fixture(autouse=True)
def utc(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    os.environ.pop("TZ", None)
    time.tzset()


async def first_start(pilot: Pilot[None]) -> None:
    await opened(pilot)


async def streamed(pilot: Pilot[None]) -> None:
    app = await opened(pilot)
    await say(pilot, "What do you see?")
    app.query_one("Composer").text = "And now?"  # type: ignore[attr-defined]
    await settle(pilot)


async def typed(pilot: Pilot[None]) -> None:
    await opened(pilot)
    await pilot.press(*"Hello, ", "你", "好")
    await settle(pilot)


async def inspected(pilot: Pilot[None]) -> None:
    await typed(pilot)
    await pilot.press("f4")
    await pilot.press("3")
    await settle(pilot)


async def failed(pilot: Pilot[None]) -> None:
    await opened(pilot)
    await say(pilot, "Are you there?")


async def helped(pilot: Pilot[None]) -> None:
    await opened(pilot)
    await pilot.press("f1")
    await settle(pilot)


async def fits(pilot: Pilot[None]) -> None:
    """Wait until the transcript has taken note of its height."""
    transcript = pilot.app.query_one(Transcript)
    await settle(pilot)
    await until(pilot, lambda: transcript._viewport.height == transcript.size.height)
    await settle(pilot)


async def completing(pilot: Pilot[None]) -> None:
    app = await opened(pilot)
    await pilot.press("/")
    await until(pilot, lambda: app.query_one(Composer).suggestions.is_open)
    await fits(pilot)


async def attached(pilot: Pilot[None]) -> None:
    app = await opened(pilot)
    part = Part("image", "image/png", data="iVBORw0KGgo=", name="photo.png")
    app.show_attachments((Attachment(Path("photo.png"), 34_000, part),))
    await pilot.press(*"What is this?")
    await fits(pilot)


async def choosing_a_theme(pilot: Pilot[None]) -> None:
    app = await opened(pilot)
    await app.run_action("choose_theme")
    await until(pilot, lambda: len(app.screen_stack) == 2)
    await settle(pilot)


async def writing_a_role(pilot: Pilot[None]) -> None:
    app = await opened(pilot)
    await app.run_action("edit_roles")
    await until(pilot, lambda: len(app.screen_stack) == 2)
    await pilot.press("enter")
    await until(pilot, lambda: app.screen.__class__.__name__ == "RoleForm")
    for field in app.screen.query(Input):
        field.cursor_blink = False
    await settle(pilot)


THEMES = ("tui-chat-dark", "tui-chat-light")
WIDE, MEDIUM, NARROW = (160, 45), (120, 35), (80, 24)


@pytest.mark.parametrize("theme", THEMES)
def test_first_start(theme: str, tmp_path: Path, snap_compare):
    assert snap_compare(make_app(tmp_path, theme=theme), terminal_size=WIDE, run_before=first_start)


@pytest.mark.parametrize("theme", THEMES)
def test_a_streamed_reply(theme: str, tmp_path: Path, snap_compare):
    assert snap_compare(make_app(tmp_path, theme=theme), terminal_size=WIDE, run_before=streamed)


@pytest.mark.parametrize("size", [MEDIUM, NARROW], ids=str)
def test_a_reply_where_less_fits(size: tuple[int, int], tmp_path: Path, snap_compare):
    app = make_app(tmp_path, model="lorem:max:200")
    assert snap_compare(app, terminal_size=size, run_before=streamed)


@pytest.mark.parametrize("theme", THEMES)
def test_an_error(theme: str, tmp_path: Path, snap_compare):
    app = make_app(tmp_path, theme=theme, model="flaky-429", retries=0)
    assert snap_compare(app, terminal_size=MEDIUM, run_before=failed)


def test_typing_in_a_narrow_terminal(tmp_path: Path, snap_compare):
    assert snap_compare(make_app(tmp_path), terminal_size=NARROW, run_before=typed)


def test_the_inspector_in_a_narrow_terminal(tmp_path: Path, snap_compare):
    assert snap_compare(make_app(tmp_path), terminal_size=NARROW, run_before=inspected)


def test_help(tmp_path: Path, snap_compare):
    assert snap_compare(make_app(tmp_path), terminal_size=NARROW, run_before=helped)


@pytest.mark.parametrize(
    ("theme", "size"), [("tui-chat-contrast", NARROW), ("tui-chat-colourblind-light", MEDIUM)]
)
def test_commands_to_choose_from(theme: str, size: tuple[int, int], tmp_path: Path, snap_compare):
    app = make_app(tmp_path, theme=theme)
    assert snap_compare(app, terminal_size=size, run_before=completing)


@pytest.mark.parametrize("theme", ["tui-chat-mono", "tui-chat-colourblind-dark"])
def test_a_file_is_attached(theme: str, tmp_path: Path, snap_compare):
    app = make_app(tmp_path, theme=theme)
    assert snap_compare(app, terminal_size=MEDIUM, run_before=attached)


def test_themes_to_choose_from(tmp_path: Path, snap_compare):
    assert snap_compare(make_app(tmp_path), terminal_size=NARROW, run_before=choosing_a_theme)


def test_a_role_to_write(tmp_path: Path, snap_compare):
    assert snap_compare(make_app(tmp_path), terminal_size=NARROW, run_before=writing_a_role)
