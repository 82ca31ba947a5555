from __future__ import annotations

import os
import time

import pytest
from syrupy.assertion import SnapshotAssertion
from textual.notifications import Notification
from textual.screen import Screen
from textual.widgets import Input, TextArea

from tests.ui.album import Album


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
    monkeypatch.setattr("tui_chat.ui.chat.branch_layout.monotonic", lambda: 100.0)
    monkeypatch.setattr("tui_chat.ui.chat.status_lines.monotonic", lambda: 100.0)
    monkeypatch.setattr(Notification, "time_left", 3600.0)
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
) -> Album:
    """Return the book that this test's pictures go into."""
    assert isinstance(request.node, pytest.Function)
    return Album(snapshot, request.node)
