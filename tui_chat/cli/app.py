"""The composition root: config, store, transport and screen are wired here and nowhere else."""

from __future__ import annotations

import asyncio
import gc
import os
import secrets
import sys
import time
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import asynccontextmanager
from datetime import datetime
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import click

from tui_chat import hooks, paths
from tui_chat.api import OfflineProvider
from tui_chat.cli.common_options import CommonOptions
from tui_chat.cli.output import write_error, write_line
from tui_chat.config import Config
from tui_chat.errors import InputError
from tui_chat.files import make_private_folder

if TYPE_CHECKING:
    import httpx

    from tui_chat.library.library import Library
    from tui_chat.providers.client import HttpClient
    from tui_chat.store import Store
    from tui_chat.ui.app import TuiChat
    from tui_chat.workspace.workspace import Workspace

_P = ParamSpec("_P")
_T = TypeVar("_T")


def synchronous(function: Callable[_P, Coroutine[Any, Any, _T]]) -> Callable[_P, _T]:
    """Return a function that runs a coroutine function to its end, such as that of a command."""

    @wraps(function)
    def run(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        return asyncio.run(function(*args, **kwargs))

    return run


def asynchronous(function: Callable[..., Coroutine[Any, Any, _T]]) -> Callable[..., _T]:
    """Make a coroutine function with the common options the function of a command."""
    return click.pass_obj(synchronous(function))


def run_app(common: CommonOptions, captured: str = "") -> None:
    """Open the app and return when it is closed. `captured` is the text of a request to inspect.

    Raises ConfigError.
    """
    postpone_collections()
    config = common.config()
    require_terminal()
    from tui_chat.ui.app import TuiChat

    async def opened() -> Workspace:
        return await open_workspace(config, read_config=common.config)

    show(TuiChat(config, opened, captured=captured))


def require_terminal() -> None:
    """Raise InputError if there is no terminal that the screen can be drawn on.

    Textual's variable TEXTUAL_DRIVER names a driver that draws elsewhere, such as in a browser.
    """
    if os.environ.get("TEXTUAL_DRIVER"):
        return
    advice = "`tui-chat --help` lists the commands that do not."
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise InputError("The screen needs a terminal.", advice=advice)
    if (kind := os.environ.get("TERM", "")) in ("dumb", "unknown"):
        raise InputError(
            f"The screen needs a terminal that can move its cursor, unlike TERM={kind}.",
            advice=advice,
        )


def show(app: TuiChat) -> None:
    """Run the app until the user or a signal closes it, and report what could not be saved.

    Exits with the app's code; for a signal that is 128 plus its number.
    """
    from tui_chat.ui.terminal.signals import end_on_signals

    with end_on_signals(app.lifecycle.end_by_signal, app.lifecycle.restore_terminal):
        app.run()
    if app.lifecycle.unsaved:
        sentence = "the end of a reply, a draft or a queued message was not saved."
        write_error(sentence, app.lifecycle.unsaved)
    if app.return_code or app.lifecycle.unsaved:
        sys.exit(app.return_code or 1)


async def open_workspace(
    config: Config,
    *,
    remembers: bool = True,
    in_memory: bool = False,
    read_config: Callable[[], Config] | None = None,
) -> Workspace:
    """Open the store, with `in_memory` an empty one that nothing is written of, and return a
    workspace on it; `remembers` and `read_config`: see there.
    Raises InputError and StoreError.
    """
    from tui_chat.store import Store
    from tui_chat.workspace.core import WorkspaceCore
    from tui_chat.workspace.workspace import Workspace

    if in_memory:
        store = await Store.open_in_memory(now=time.time, new_id=new_id)
    else:
        try:
            make_private_folder(config.data_dir)
        except OSError as error:
            sentence = f"{config.data_dir} cannot be created: {error.strerror}."
            raise InputError(sentence, advice="Choose another folder with --data-dir.") from error
        path = paths.database_file(config.data_dir)
        store = await Store.open(path, now=time.time, new_id=new_id)
    collect_seldom()
    core = WorkspaceCore(
        config,
        store,
        _http_client(),
        open_library(config),
        now=lambda: datetime.now().astimezone(),
        new_id=new_id,
        remembers=remembers,
    )
    return Workspace(core, read_config=read_config)


def open_library(config: Config) -> Library:
    """Return the user's files, and the presets that come with the program."""
    return library_in(config.config_dir)


def library_in(config_dir: Path) -> Library:
    """Return the files in a folder, and the presets that come with the program."""
    from tui_chat.library.library import Library

    return Library(config_dir, paths.bundled("sample_presets"))


@asynccontextmanager
async def open_http_client() -> AsyncGenerator[HttpClient]:
    """Open an HTTP client, which loads and connects nothing before its first request."""
    client = _http_client()
    try:
        yield client
    finally:
        await client.aclose()


def _http_client() -> HttpClient:
    from tui_chat.providers.client import HttpClient

    def loopback() -> httpx.AsyncBaseTransport:
        for provider in hooks.load_all("offline provider", OfflineProvider):
            return provider.transport()
        from tui_chat.offline.provider import OfflineTransport

        return OfflineTransport()

    return HttpClient({"loopback.invalid": loopback})


@asynccontextmanager
async def open_store(common: CommonOptions) -> AsyncGenerator[Store]:
    """Open the database in the folder that the flags name. Raises StoreError."""
    from tui_chat.store import Store

    collect_seldom()
    path = common.database
    say_update(path)
    opening = Store.open(path, now=time.time, new_id=new_id)
    async with await opening as store:
        yield store


def say_update(path: Path) -> None:
    """Say on standard error that opening a database will take a while, if it will."""
    from tui_chat.store.last_session import UPDATING, is_update_long

    if is_update_long(path):
        write_line(UPDATING, err=True)


def new_id() -> str:
    """Return 32 hex digits: 48 bits of milliseconds, then 80 random bits (as UUID 7 does)."""
    milliseconds = time.time_ns() // 1_000_000
    return f"{milliseconds & (1 << 48) - 1:012x}{secrets.randbits(80):020x}"


# The garbage collector, with figures of the app with a session of 5,000 messages


def postpone_collections() -> None:
    """Run the garbage collector hardly ever until `collect_seldom`: neither the modules that the
    start imports nor the first screen are garbage, and to find that out takes 60 ms.
    """
    gc.set_threshold(500_000, 20, 50)


def collect_seldom() -> None:
    """Run the garbage collector less often, and never on what there is already.

    Objects that are read by the thousands, from a file or the database, are not garbage. While a
    session is open the longest collection takes 22 ms instead of 103 ms, and all of them together
    33 ms instead of 559 ms.
    """
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)
