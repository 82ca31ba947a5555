from __future__ import annotations

import os
import time
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion
from textual.app import App
from textual.css import stylesheet
from textual.css.model import RuleSet
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


@pytest.fixture(scope="session", autouse=True)
def _parsed_once() -> Iterator[None]:
    """Each app has its own style sheet; what apps of one theme have in common is parsed once."""
    tokens_of, parse = stylesheet.tokenize_values, stylesheet.parse
    tokens: dict[frozenset[tuple[str, str]], Any] = {}
    rules: dict[tuple[Any, ...], list[RuleSet]] = {}

    def tokenize_once(variables: dict[str, str]) -> Any:
        key = frozenset(variables.items())
        if key not in tokens:
            tokens[key] = tokens_of(variables)
        return tokens[key]

    def parse_once(
        scope: str, css: str, read_from: Any, *, variable_tokens: Any, **options: Any
    ) -> list[RuleSet]:
        key = (id(variable_tokens), scope, css, read_from, *options.values())
        if key not in rules:
            if len(rules) > 2_000:  # a test of all themes need not leave them in memory
                rules.clear()
            rules[key] = list(
                parse(scope, css, read_from, variable_tokens=variable_tokens, **options)
            )
        return rules[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stylesheet, "tokenize_values", tokenize_once)
        patch.setattr(stylesheet, "parse", parse_once)
        yield


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


@pytest.fixture(autouse=True)
def undrawn(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch):
    """Nothing is drawn for the terminal that is not there, which is half of what a key costs. Tests
    ask widgets what they show, and pictures are drawn when they are taken; those that watch the
    drawing are marked `drawn`.
    """
    if request.node.get_closest_marker("drawn") is None:
        monkeypatch.setattr(Screen, "_compositor_refresh", lambda screen: None)


@pytest.fixture
def album(
    snapshot: SnapshotAssertion,
    request: pytest.FixtureRequest,
    time_stands_still: None,
    monkeypatch: pytest.MonkeyPatch,
) -> Album:
    """Return the book that this test's pictures go into."""
    monkeypatch.setattr(idle, "LOOK", 0.02)  # a picture that changed must be taken at rest
    assert isinstance(request.node, pytest.Function)
    return Album(snapshot, request.node)
