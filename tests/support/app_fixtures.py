"""Fixtures of tests that run the app; `tests/conftest.py` loads them. Most replace private parts of
Textual: without them the tests of the screen take several times as long.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections import defaultdict
from collections.abc import Iterator
from typing import Any
from weakref import WeakSet

import pytest
from syrupy.assertion import SnapshotAssertion
from textual.app import App
from textual.css import stylesheet
from textual.css.model import RuleSet
from textual.pilot import Pilot
from textual.screen import Screen
from textual.widgets import Input, TextArea

from tests.support import idle
from tests.support.idle import wait_for_rest
from tests.support.pictures import Album
from tui_chat.store.store import Store

_draw = Screen._compositor_refresh


@pytest.fixture(scope="session", autouse=True)
def _quick_apps() -> Iterator[None]:
    """A pilot goes on as soon as its app rests, and cursors stand still. Nothing is drawn for the
    terminal that is not there, which is half of what a key costs: tests ask widgets what they show,
    and pictures are drawn when they are taken. A test that watches the drawing uses `drawn`.
    """
    apps: WeakSet[App[Any]] = WeakSet()
    make = Pilot.__init__

    def make_and_remember(pilot: Pilot[Any], app: App[Any]) -> None:
        make(pilot, app)
        apps.add(app)

    async def wait_for_idle(min_sleep: float = 0, max_sleep: float = 1) -> None:
        await wait_for_rest([app for app in apps if app.is_running], max_sleep)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Pilot, "__init__", make_and_remember)
        for module in ("app", "pilot"):
            patch.setattr(f"textual.{module}.wait_for_idle", wait_for_idle)
        for widget in (Input, TextArea):
            patch.setattr(widget.cursor_blink, "_default", False)
        patch.setattr(Screen, "_compositor_refresh", lambda screen: None)
        yield


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """The app draws for its terminal."""
    monkeypatch.setattr(Screen, "_compositor_refresh", _draw)


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


@pytest.fixture
def time_stands_still(monkeypatch: pytest.MonkeyPatch):
    """A picture is the same wherever it is taken, and however long it takes."""
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    monkeypatch.setattr("tui_chat.ui.chat.branch.monotonic", lambda: 100.0)
    monkeypatch.setattr("tui_chat.ui.app.SECONDS", defaultdict(lambda: 3600.0))
    yield
    os.environ.pop("TZ", None)
    time.tzset()


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


@pytest.fixture
def slow_store(monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    """Let the store open only when the event is set."""
    opens, is_free = Store.open, asyncio.Event()

    async def wait(*args: object, **options: object) -> Store:
        await is_free.wait()
        return await opens(*args, **options)  # pyright: ignore

    monkeypatch.setattr(Store, "open", wait)
    return is_free
