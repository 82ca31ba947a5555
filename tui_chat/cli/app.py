"""The composition root: config, store, transport and screen are wired here and nowhere else."""

from __future__ import annotations

import os
import secrets
import sys
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, cast

from tui_chat import paths
from tui_chat.cli.interpreter import collect_seldom, keep_heap_small, share_heap
from tui_chat.cli.output import write_error
from tui_chat.config import Config, load_config
from tui_chat.errors import InputError
from tui_chat.files import make_private_folder

if TYPE_CHECKING:
    import httpx

    from tui_chat.library import Library
    from tui_chat.providers import HttpClient
    from tui_chat.store import Store
    from tui_chat.ui.app import TuiChat
    from tui_chat.workspace import Workspace


def run_app(
    data_dir: Path | None,
    config_dir: Path | None,
    flags: Mapping[str, str | None],
    captured: str = "",
) -> None:
    """Open the screen and stay until it is closed; a `captured` request stands in the inspector
    then. Raises ConfigError.
    """
    config = settled_config(data_dir, config_dir, flags)
    require_terminal()
    share_heap()
    from tui_chat.ui.app import TuiChat

    app = TuiChat(config, lambda: open_workspace(config))
    if captured:
        app.open_first(captured)
    show(app)


def require_terminal() -> None:
    """Refuse to open the screen where it could not be drawn or no key be read. Raises
    InputError.
    """
    advice = "`tui-chat --help` lists the commands that need none."
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise InputError("The screen needs a terminal.", advice=advice)
    if os.environ.get("TERM", "") in ("dumb", "unknown"):
        words = f"The screen needs a terminal that can move its cursor; TERM={os.environ['TERM']}"
        raise InputError(f"{words} says that this one cannot.", advice=advice)


def show(app: TuiChat) -> None:
    """Open the screen and stay until it is closed, by the user or a signal; tell what could not
    be saved. Exits with the app's code, 128 and the signal's number for a signal.
    """
    from tui_chat.ui.terminal.signals import end_on_signals

    with end_on_signals(app.end_by_signal, app.restore_terminal):
        app.run()
    if app.unsaved:
        write_error("the end of a reply or a draft was not saved.", app.unsaved)
    if app.return_code or app.unsaved:
        sys.exit(app.return_code or 1)


def settled_config(
    data_dir: Path | None, config_dir: Path | None, flags: Mapping[str, str | None]
) -> Config:
    """Return what flags, environment and file settle. Raises ConfigError."""
    return load_config(
        config_dir or paths.config_dir(), data_dir or paths.data_dir(), os.environ, flags
    )


async def open_workspace(config: Config) -> Workspace:
    """Open the store and return a workspace on it. Raises StoreError, with what to do about it."""
    from tui_chat.providers import HttpClient
    from tui_chat.store import Store
    from tui_chat.workspace import Workspace

    try:
        make_private_folder(config.data_dir)
    except OSError as error:
        raise InputError(
            f"{config.data_dir} cannot be made: {error.strerror}.",
            advice="Choose another place with --data-dir.",
        ) from error
    store = await Store.open(paths.database_file(config.data_dir), now=time.time, new_id=new_id)
    collect_seldom()
    keep_heap_small()
    return Workspace(
        config,
        store,
        HttpClient({"loopback.invalid": _loopback}),
        open_library(config),
        now=lambda: datetime.now().astimezone(),
        new_id=new_id,
    )


def _loopback() -> httpx.AsyncBaseTransport:
    from tui_chat.offline import LoopbackTransport

    return LoopbackTransport()


def open_library(config: Config) -> Library:
    """Return the user's presets, profiles, lorebooks and roles, and the presets we bring."""
    from tui_chat.library import Library

    return Library(config.config_dir, paths.bundled("sample_presets"))


def preset_files(config: Config) -> dict[str, Path]:
    """Return the preset files there are by name; the user's own hide ours of the same name."""
    return open_library(config).files("presets")


def open_http_client() -> HttpClient:
    """Return the HTTP client; nothing is loaded or connected before the first request."""
    from tui_chat.providers import HttpClient

    return HttpClient({"loopback.invalid": _loopback}, os.environ)


@asynccontextmanager
async def open_store(settings: Mapping[str, object]) -> AsyncGenerator[Store]:
    """Open the database that the flags name while the block runs. Raises StoreError."""
    from tui_chat.store import Store

    collect_seldom()
    path = paths.database_file(cast("Path | None", settings["data_dir"]))
    async with await Store.open(path, now=time.time, new_id=new_id) as store:
        yield store


def new_id() -> str:
    """Return 32 hex digits: 48 bits of milliseconds, then 80 random bits (as UUID 7 does)."""
    milliseconds = time.time_ns() // 1_000_000
    return f"{milliseconds & (1 << 48) - 1:012x}{secrets.randbits(80):020x}"
