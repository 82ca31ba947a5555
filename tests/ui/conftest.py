from __future__ import annotations

import os
import time
from collections import defaultdict
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion
from textual.app import App
from textual.pilot import Pilot
from textual.screen import Screen
from textual.widgets import Input, TextArea

from tests.ui import idle
from tests.ui.album import Album
from tests.ui.idle import wait_for_rest


@pytest.fixture(autouse=True)
def quick_pilot(monkeypatch: pytest.MonkeyPatch):
    """A pilot goes on as soon as its app rests."""
    apps: list[App[Any]] = []
    make = Pilot.__init__

    def make_and_remember(pilot: Pilot[Any], app: App[Any]) -> None:
        make(pilot, app)
        apps.append(app)

    async def wait_for_idle(min_sleep: float = 0, max_sleep: float = 1) -> None:
        await wait_for_rest(apps, max_sleep)

    monkeypatch.setattr(Pilot, "__init__", make_and_remember)
    for module in ("app", "pilot"):
        monkeypatch.setattr(f"textual.{module}.wait_for_idle", wait_for_idle)


@pytest.fixture(autouse=True)
def cursors_stand_still(monkeypatch: pytest.MonkeyPatch):
    """A picture is the same whenever it is taken."""
    for widget in (Input, TextArea):
        monkeypatch.setattr(widget.cursor_blink, "_default", False)


@pytest.fixture
def time_stands_still(monkeypatch: pytest.MonkeyPatch):
    """A picture is the same wherever it is taken, and however long it takes."""
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    monkeypatch.setattr("tui_chat.ui.areas.chat.branch_layout.monotonic", lambda: 100.0)
    monkeypatch.setattr("tui_chat.ui.areas.chat.status_lines.monotonic", lambda: 100.0)
    monkeypatch.setattr("tui_chat.ui.notifications.MIN_SECONDS", defaultdict(lambda: 3600.0))
    monkeypatch.setattr("tui_chat.ui.notifications.MAX_SECONDS", 3600.0)
    yield
    os.environ.pop("TZ", None)
    time.tzset()


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch):
    """Nothing is drawn for the terminal that is not there, which is half of what a key costs. For
    tests that ask widgets what they show, and for pictures, which are drawn when they are taken.
    """
    monkeypatch.setattr(Screen, "_compositor_refresh", lambda screen: None)


@pytest.fixture
def album(
    snapshot: SnapshotAssertion,
    request: pytest.FixtureRequest,
    time_stands_still: None,
    undrawn: None,
    monkeypatch: pytest.MonkeyPatch,
) -> Album:
    """Return the book that this test's pictures go into."""
    monkeypatch.setattr(idle, "LOOK", 0.02)  # a picture that changed must be taken at rest
    assert isinstance(request.node, pytest.Function)
    return Album(snapshot, request.node)
