"""`tui-chat serve`: the app in a browser, through textual-serve.

Each page has an app of its own: a process with textual-serve's driver protocol on its standard
streams (`ui/terminal/web_driver`). If a page goes away, its app goes on for a while, and the next
page takes it over with its screen, draft and streaming reply. Of textual-serve the process protocol
and the terminal in the browser are used. Its downloads, folder listings, logs (which have the
token) and template (which loads a font from Google) are not.
"""

from __future__ import annotations

import asyncio
import json
import logging
import shlex
import signal
import socket
import subprocess
import sys
from asyncio.subprocess import Process
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from string import Template
from typing import Any

import textual_serve
from aiohttp import WSMsgType, web
from textual_serve.app_service import AppService
from textual_serve.download_manager import DownloadManager

from tui_chat.cli.common_options import CommonOptions
from tui_chat.cli.output import write_line
from tui_chat.cli.serve_access import Access, granted_access
from tui_chat.errors import InputError
from tui_chat.models.text import clean

MAX_APPS = 8
"""Apps at a time; each takes about 100 MB."""
KEPT_SECONDS = 600.0
"""How long an app goes on without a page."""
ENDING_SECONDS = 12.0
"""How long an app may take to end; longer than its own limit, `END_TIMEOUT`."""
MAX_MESSAGE = 16 << 20
"""Bytes of one message of a page, such as a paste."""

_HERE = Path(__file__).parent
_STATIC = Path(textual_serve.__file__).parent / "static"
_FILES = {
    "serve.js": _HERE / "serve.js",
    "textual.js": _STATIC / "js" / "textual.js",
    "xterm.css": _STATIC / "css" / "xterm.css",
    "mono.ttf": _STATIC / "fonts" / "RobotoMono-VariableFont_wght.ttf",
    "mono-italic.ttf": _STATIC / "fonts" / "RobotoMono-Italic-VariableFont_wght.ttf",
}


class ServedApp(AppService):
    """A running app, with or without a page."""

    def __init__(self, command: str) -> None:
        super().__init__(
            command,
            write_bytes=_discard,
            write_str=_discard,
            close=_discard,
            download_manager=DownloadManager(),
        )
        self.page: web.WebSocketResponse | None = None
        self.is_started = False
        self.is_ending = False
        self.has_ended = False
        self._end: asyncio.Task[None] | None = None

    def _build_environment(self, width: int = 80, height: int = 24) -> dict[str, str]:
        driver = "tui_chat.ui.terminal.web_driver:WebDriver"
        return super()._build_environment(width, height) | {"TEXTUAL_DRIVER": driver}

    async def run(self) -> None:
        """Pass on what the app draws until it ends; then close its page."""
        with suppress(asyncio.CancelledError):  # also of its own task for the error stream
            await super().run()
        self.has_ended = True
        if self.page is not None:
            await self.page.close()

    async def on_data(self, payload: bytes) -> None:
        """Draw on the page; dropped without one."""
        if self.page is not None and self.page.prepared:
            with suppress(ConnectionError):
                await self.page.send_bytes(payload)

    async def on_meta(self, data: bytes) -> None:
        """Open a link on the page. Nothing else is passed on: we deliver no files."""
        meta: dict[str, Any] = json.loads(data)
        if meta["type"] == "open_url" and self.page is not None:
            with suppress(ConnectionError):
                await self.page.send_json(["open_url", {"url": meta["url"], "new_tab": True}])

    def reserve(self, page: web.WebSocketResponse) -> None:
        """Belong to a page from now on."""
        if self._end is not None:
            self._end.cancel()
        self.page = page

    async def draw(self, width: int, height: int) -> None:
        """Start the app, or have it draw all that is on its screen again."""
        if self.is_started:
            await self.send_meta({"type": "attach", "width": width, "height": height})
        else:
            self.is_started = True
            await self.start(width, height)

    def detach(self) -> None:
        """Go on without a page for a while."""
        self.page = None
        if not self.has_ended:
            self._end = asyncio.create_task(self._end_later())

    async def _end_later(self) -> None:
        await asyncio.sleep(KEPT_SECONDS)
        self.is_ending = True  # no page can take it over now
        await self.end()

    async def end(self) -> None:
        """End the app: it saves its draft and what arrived of a reply."""
        process: Process | None = self._process
        try:
            async with asyncio.timeout(ENDING_SECONDS):
                await self.stop()
        except (TimeoutError, ConnectionError):
            if process is not None:
                with suppress(ProcessLookupError):
                    process.kill()

    async def receive(self, message: Any) -> None:
        """Do what a page sent: keys and pastes, its size, its focus.

        Raises ValueError if it is nothing that a page sends.
        """
        match message:
            case ["stdin", str(data)]:
                await self.send_bytes(clean(data).encode())
            case ["resize", {"width": int(width), "height": int(height)}]:
                await self.set_terminal_size(*_size(width, height))
            case ["focus"]:
                await self.focus()
            case ["blur"]:
                await self.blur()
            case ["ping", str(moment)] if self.page is not None:
                await self.page.send_json(["pong", moment])
            case _:
                raise ValueError("not a message of the page")


async def _discard(*_: object) -> None:
    """Stand in for a page that is not there."""


def _size(width: int, height: int) -> tuple[int, int]:
    return min(max(width, 1), 1000), min(max(height, 1), 1000)


class Server:
    """The routes, and the apps that run."""

    def __init__(self, command: str, access: Access) -> None:
        self._command = command
        self._access = access
        self._apps: list[ServedApp] = []
        self._page = Template((_HERE / "serve.html").read_text(encoding="utf-8"))

    def application(self) -> web.Application:
        """Return the routes, behind the check."""
        app = web.Application()
        self._access.protect(app)
        folder = self._access.folder
        app.router.add_get(f"{folder}/", self._index)
        app.router.add_get(f"{folder}/ws", self._websocket)
        for name, path in _FILES.items():
            app.router.add_get(f"{folder}/{name}", _file_route(path))
        app.on_shutdown.append(self._shut_down)
        return app

    async def _index(self, request: web.Request) -> web.Response:
        address = f"ws{self._access.origin(request).removeprefix('http')}{self._access.folder}/ws"
        return web.Response(text=self._page.substitute(websocket=address), content_type="text/html")

    async def _websocket(self, request: web.Request) -> web.StreamResponse:
        try:
            size = _size(int(request.query["width"]), int(request.query["height"]))
        except (KeyError, ValueError):
            return web.Response(status=400, text="width and height are needed\n")
        self._apps = [app for app in self._apps if not app.has_ended]
        kept = [app for app in self._apps if app.page is None and not app.is_ending]
        if not kept and len(self._apps) >= MAX_APPS:
            return web.Response(status=503, text=f"{MAX_APPS} pages are open; close one.\n")
        page = web.WebSocketResponse(heartbeat=15, max_msg_size=MAX_MESSAGE)
        app = kept[-1] if kept else ServedApp(self._command)
        app.reserve(page)
        if not kept:
            self._apps.append(app)
        try:
            await page.prepare(request)
            await app.draw(*size)
            await _receive_all(app, page)
        finally:
            app.detach()
        return page

    async def _shut_down(self, _: web.Application) -> None:
        pages = [app.page for app in self._apps if app.page is not None]
        await asyncio.gather(*(app.end() for app in self._apps))
        await asyncio.gather(*(page.close() for page in pages))


async def _receive_all(app: ServedApp, page: web.WebSocketResponse) -> None:
    """Pass on what a page sends until it goes away; close it if that is nothing a page sends."""
    async for message in page:
        if message.type is not WSMsgType.TEXT:
            break
        try:
            await app.receive(message.json())
        except ValueError:  # JSON's errors included
            break
    await page.close()


def _error_log() -> logging.Logger:
    """Return a log without tracebacks and, like the access log that is off, without addresses: both
    could have the token.
    """

    def shorten(record: logging.LogRecord) -> bool:
        record.exc_info = None
        return True

    log = logging.Logger("tui-chat serve", logging.ERROR)
    log.addHandler(logging.StreamHandler())
    log.addFilter(shorten)
    return log


def _file_route(path: Path) -> Any:
    async def send(_: web.Request) -> web.FileResponse:
        return web.FileResponse(path)

    return send


@asynccontextmanager
async def serving(
    command: str, host: str, port: int, url: str = "", *, remote: bool = False
) -> AsyncGenerator[str]:
    """Serve the app that a shell command starts; the value is the address to open.

    Raises InputError and OSError.
    """
    family, _, _, _, address = socket.getaddrinfo(
        host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    with socket.create_server(address[:2], family=family) as listener:
        port = listener.getsockname()[1]
        access = granted_access(host, str(address[0]), port, url, remote=remote)
        server = Server(command, access)
        runner = web.AppRunner(
            server.application(), access_log=None, logger=_error_log(), shutdown_timeout=5
        )
        await runner.setup()
        try:
            await web.SockSite(runner, listener).start()
            yield access.url(f"{socket.gethostname().lower()}:{port}")
        finally:
            await runner.cleanup()


def app_command(common: CommonOptions) -> str:
    """Return the shell command for an app with the same folders and flags."""
    flags = {"data-dir": common.data_dir, "config-dir": common.config_dir, **common.flags}
    words = [sys.executable, "-m", "tui_chat"]
    words += [f"--{name}={value}" for name, value in flags.items() if value is not None]
    if sys.platform == "win32":
        return subprocess.list2cmdline(words)
    return f"exec {shlex.join(words)}"


async def serve_until_stopped(
    common: CommonOptions, host: str, port: int, url: str, *, remote: bool
) -> None:
    """Serve until a signal. Raises InputError if the address cannot be used."""
    stopped = asyncio.Event()
    with suppress(NotImplementedError):  # Windows
        for name in ("SIGINT", "SIGTERM", "SIGHUP"):
            number = getattr(signal, name)
            asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    try:
        async with serving(app_command(common), host, port, url, remote=remote) as address:
            write_line(
                "Open this address in a browser. Whoever has it can use your keys and tools:"
            )
            write_line(f"  {address}")
            write_line("Ctrl+C stops the server and its apps.")
            await stopped.wait()
    except (OSError, UnicodeError) as error:
        raise InputError(f"{host}:{port} cannot be served: {error}") from error
    write_line("Stopped.", err=True)
