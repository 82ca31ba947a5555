"""Pictures of the whole screen in the states that matter."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from textual.pilot import Pilot

from tests.ui.app_under_test import make_app, opened, say, settle


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
