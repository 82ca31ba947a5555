"""The real app over a real store and the offline provider behind the vendors' checks, with clocks
that stand still."""

from __future__ import annotations

import asyncio
import itertools
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType

import httpx
from textual import events
from textual.app import App
from textual.content import Content
from textual.pilot import Pilot
from textual.screen import ModalScreen
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.widgets import Input

from tests.support.databases import provide_database
from tests.support.idle import wait_for_rest
from tests.support.vendors import ENDPOINTS, HttpRequest, VendorTransport
from tui_chat.cli.app import open_library
from tui_chat.config import Config
from tui_chat.config.file import read_config_file
from tui_chat.models.endpoint import Retries
from tui_chat.models.model_facts import ModelFacts
from tui_chat.models.prices import Prices
from tui_chat.models.tool import CommandTool
from tui_chat.offline.provider import OfflineDependencies
from tui_chat.providers.client import HttpClient
from tui_chat.store import Store
from tui_chat.ui.app import TuiChat
from tui_chat.ui.chat.composer import Composer
from tui_chat.ui.inspector.pane import Inspector
from tui_chat.workspace.core import WorkspaceCore
from tui_chat.workspace.state import WorkspaceState
from tui_chat.workspace.workspace import Workspace

NOON = 1_767_268_800.0
"""2026-01-01 12:00 UTC."""


PRACTICE_HOST = "loopback.invalid"


async def no_sleep(seconds: float) -> None:
    """Let others run, and be done with it, except where nothing comes any more."""
    await asyncio.sleep(0 if seconds < math.inf else seconds)


def composer_facts(app: TuiChat) -> str:
    """Return the words on the composer's lower border."""
    words = app.chat.composer.border_subtitle
    return Content.from_markup(str(words or "")).plain.strip()


def make_app(
    folder: Path,
    *,
    model: str = "mirror",
    endpoint: str = "loopback",
    theme: str = "tui-chat-dark",
    retries: int = 2,
    tools: tuple[CommandTool, ...] = (),
    keys: tuple[tuple[str, str], ...] = (),
    on_request: Callable[[HttpRequest], None] | None = None,
    captured: str = "",
    environ: Mapping[str, str] = MappingProxyType({}),
    key_clock: Callable[[], float] = lambda: 0.0,
    prices: Prices | None = None,
    host: str = PRACTICE_HOST,
    transport: Callable[[], httpx.AsyncBaseTransport] | None = None,
) -> TuiChat:
    """Return the app as `cli` wires it, with a clock at noon and a provider that never waits. By
    default no time passes between keys, so that no question takes the focus by itself. `prices` are
    those of every model. With another `host` the offline provider is not known as such, and its
    models are no practice models. `transport` replaces the provider.
    """
    endpoints = tuple(
        replace(
            each,
            retries=Retries(retries),
            base_url=each.base_url.replace(PRACTICE_HOST, host),
        )
        for each in ENDPOINTS
    )
    if prices is not None:
        facts = (("*", ModelFacts(prices=prices)),)
        endpoints = tuple(replace(each, facts=facts) for each in endpoints)
    config = Config(
        endpoints=endpoints,
        endpoint=endpoint,
        model=model,
        theme=theme,
        tools=tools,
        keys=keys,
        data_dir=folder,
        config_dir=folder,
    )
    # A second app in the same folder must not give ids that the first one gave.
    numbers = itertools.count(500_000 if (folder / "chat.db").exists() else 0)
    dependencies = OfflineDependencies(
        now=lambda: NOON, sleep=no_sleep, random_id=lambda length: "x" * length
    )

    def read_config() -> Config:
        path = folder / "config.toml"
        return read_config_file(path, config) if path.exists() else config

    async def open_workspace() -> Workspace:
        store = await Store.open(
            provide_database(folder / "chat.db"),
            now=lambda: NOON,
            new_id=lambda: f"id{next(numbers):06}",
        )
        return Workspace(
            WorkspaceCore(
                config,
                store,
                HttpClient(
                    {
                        host: transport
                        or (
                            lambda: VendorTransport(
                                on_request=on_request, dependencies=dependencies
                            )
                        )
                    }
                ),
                open_library(config),
                now=lambda: datetime(2026, 1, 1, 12, tzinfo=UTC),
                clock=lambda: 0.0,
                new_id=lambda: f"desk{next(numbers):06}",
            ),
            read_config=read_config,
        )

    return TuiChat(
        config,
        open_workspace,
        lambda: NOON,
        environ=environ,
        captured=captured,
        key_clock=key_clock,
    )


async def until(
    pilot: Pilot[None], true: Callable[[], bool], what: str = "", seconds: float = 30
) -> None:
    """Let the app work until it is so; `what` says in a failure what was waited for."""
    try:
        async with asyncio.timeout(seconds):
            while not true():
                await idle(pilot)
    except TimeoutError:
        raise AssertionError(
            f"{what or 'It never was so'}; the screen is:\n{screen_text(pilot.app)}"
        ) from None
    await wait_for_focus(pilot)


async def wait_for_focus(pilot: Pilot[None]) -> None:
    """Wait until a dialog that has just opened takes keys; one without fields never has a focus."""
    for _ in range(50):
        screen = pilot.app.screen if pilot.app.is_running else None
        if not isinstance(screen, ModalScreen) or screen.focused or not screen.focus_chain:
            return
        await idle(pilot)


async def press(pilot: Pilot[None], *keys: str) -> None:
    """Press keys, and let the screen come to rest."""
    await pilot.press(*keys)
    await settle(pilot)


async def asked(pilot: Pilot[None]) -> None:
    """Wait until a dialog is open and takes keys."""
    app = pilot.app
    await until(pilot, lambda: len(app.screen_stack) > 1 and app.screen.focused is not None)
    await settle(pilot)


async def opened(pilot: Pilot[None]) -> TuiChat:
    """Wait until the workspace is laid; return the app, its cursor standing still."""
    app = pilot.app
    assert isinstance(app, TuiChat)

    def is_laid() -> bool:
        live = app.workspace.state.request.live if app.workspace is not None else None
        return app.is_workspace_open and live is not None and bool(app.query(Inspector))

    await until(pilot, is_laid)
    await settle(pilot)
    return app


async def idle(pilot: Pilot[None]) -> None:
    """Wait until the program does nothing for a moment. A pause of the pilot asks, besides, every
    widget whether it has read its messages: that costs twenty times as much.
    """
    await wait_for_rest([pilot.app])


async def settle(pilot: Pilot[None]) -> None:
    """Wait until the screen is at rest: one refresh may ask for the next."""
    await pilot.pause()
    await wait_for_rest([pilot.app], looks=4)
    await pilot.pause()


async def say(pilot: Pilot[None], text: str) -> None:
    """Type a message and send it; wait until the reply has ended."""
    app = pilot.app
    assert isinstance(app, TuiChat)
    await until(pilot, lambda: app.chat.drafts.is_active, "the session is not open")
    app.query_one(Composer).text = text
    await pilot.press("enter")
    await replied(pilot)


async def replied(pilot: Pilot[None]) -> None:
    """Wait until the newest reply has ended and is on the screen."""
    app = pilot.app
    assert isinstance(app, TuiChat)
    workspace = app.workspace
    assert workspace is not None
    await until(
        pilot,
        lambda: (
            bool(workspace.state.entries)
            and workspace.state.entries[-1].message.role == "assistant"
            and workspace.state.entries[-1].status != "streaming"
            and not workspace.state.is_streaming
        ),
    )
    await settle(pilot)


def workspace_of(app: TuiChat) -> Workspace:
    assert app.workspace is not None
    return app.workspace


def state_of(app: TuiChat) -> WorkspaceState:
    assert app.workspace is not None
    return app.workspace.state


def told(app: TuiChat) -> str:
    """Return the notifications on the screen."""
    return "\n".join(str(note.message) for note in app.notifications.shown)


def screen_text(app: App[None]) -> str:
    """Return the screen's rows as text."""
    width, height = app.size
    strips = screen_strips(app)
    assert len(strips) == height
    return "\n".join(strip.text[:width] for strip in strips)


def screen_strips(app: App[None]) -> list[Strip]:
    """Return the screen's rows as they are drawn; Textual has no public way to them."""
    return app.screen._compositor.render_strips(app.size)  # pyright: ignore[reportPrivateUsage]


def rows_shown(view: ScrollView) -> list[str]:
    """Return the text of the visible rows."""
    return [view.render_line(y).text.rstrip() for y in range(view.size.height)]


def body_shown(app: TuiChat) -> bytes:
    """Return the body of the request that the inspector shows."""
    composed = workspace_of(app).state.request.shown
    return composed.payload.body if composed is not None else b""


async def typed_command(pilot: Pilot[None], command: str) -> bytes:
    """Type a command; return the request that the inspector shows before Enter."""
    app = pilot.app
    assert isinstance(app, TuiChat)
    before = body_shown(app)
    await pilot.press(*command)
    await until(pilot, lambda: body_shown(app) != before)
    await settle(pilot)
    return body_shown(app)


def burst(app: TuiChat, *typed: str) -> None:
    """Have keys arrive as if in one piece."""
    for each in typed:
        names: Iterable[str] = [each] if each.isascii() and len(each) > 1 else each
        for key in names:
            app.post_message(events.Key(key, key if len(key) == 1 else None))


async def leave_dialog(pilot: Pilot[None], kind: type, typed: str) -> None:
    """Wait until a dialog of this kind stands with these words, and leave it."""
    app = pilot.app
    await until(
        pilot,
        lambda: (
            isinstance(app.screen, kind)
            and any(one.value == typed for one in app.screen.query(Input))
        ),
    )
    await pilot.press("escape")
    await until(pilot, lambda: not isinstance(app.screen, kind))
