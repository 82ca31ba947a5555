"""`tui-chat serve`: the app in a browser, through textual-serve.

Each page has an app of its own: a process with textual-serve's driver protocol on its standard
streams (`driver`). If a page goes away, its app ends, and keeps its draft and what arrived of a
reply. Of textual-serve the process protocol and the terminal in the browser are used. Its
downloads, folder listings, logs (which have the token) and template (which loads a font from
Google) are not. Only this machine can connect.

A check in front of every route decides who may use the app.

1. The Host must be the served address. A page of another origin that has its own name resolve to
   this machine (DNS rebinding) sends its own name.
2. If there is an Origin it must be the served one; a websocket must have it. Browsers let any page
   open a websocket to any address, and say in Origin which page does.
3. The address that the command prints has a random token. It becomes a cookie, and a redirect leads
   to an address without the token. The cookie is HttpOnly and SameSite=Strict.
4. All paths begin with a random word, to which the cookie is limited: browsers send cookies to
   every port of a host, and so also to other servers of this machine.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import logging
import secrets
import shlex
import signal
import socket
import subprocess
import sys
from asyncio.subprocess import Process
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import field
from pathlib import Path
from string import Template
from typing import Any

import textual_serve
from aiohttp import WSMsgType, web
from aiohttp.http_exceptions import HttpProcessingError
from textual_serve.app_service import AppService
from textual_serve.download_manager import DownloadManager

from tui_chat.cli.common_options import CommonOptions
from tui_chat.cli.output import write_line
from tui_chat.errors import InputError
from tui_chat.lazy_dataclass import dataclass
from tui_chat.models.text import clean

COOKIE = "tui_chat"
PRINTED = "Open the address that `tui-chat serve` printed."

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; font-src 'self'; "
    "img-src 'self' data:; connect-src http://{0} ws://{0}; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
MAX_APPS = 8
"""Apps at a time; each takes about 100 MB."""
ENDING_SECONDS = 12.0
"""Seconds that an app may take to end; longer than its own limit, `END_TIMEOUT`."""
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


def _secret() -> str:
    return secrets.token_urlsafe(32)


@dataclass(frozen=True)
class Access:
    """The secrets of a server, and the address at which browsers see it."""

    authority: str
    """Host and port."""
    token: str = field(default_factory=_secret, repr=False)
    cookie: str = field(default_factory=_secret, repr=False)
    folder: str = field(default_factory=lambda: f"/{secrets.token_urlsafe(9)}", repr=False)
    """The beginning of all paths."""

    @property
    def url(self) -> str:
        """The address to open, with the token."""
        return f"http://{self.authority}/?token={self.token}"

    def refusal(self, request: web.Request) -> web.Response | None:
        """Return why a request is refused; None if it may be answered."""
        origin, headers = f"http://{self.authority}", request.headers
        hosts, origins = headers.getall("Host", []), headers.getall("Origin", [])
        if [host.lower() for host in hosts] != [self.authority]:
            return _refuse(403, "The Host is not the served address.")
        if origins != [origin] and (origins or "Upgrade" in headers):
            return _refuse(403, "The Origin is not the served address.")
        if request.method != "GET":
            return _refuse(405, "Only GET is answered.")
        if (token := request.query.get("token")) is not None:
            return self._sign_in() if _equal(token, self.token) else _refuse(401, PRINTED)
        if not any(_equal(value, self.cookie) for value in _cookies(request)):
            return _refuse(401, PRINTED)
        return None

    def _sign_in(self) -> web.Response:
        response = web.Response(status=303, headers={"Location": f"{self.folder}/"})
        response.set_cookie(
            COOKIE,
            self.cookie,
            path=f"{self.folder}/",
            httponly=True,
            samesite="Strict",
        )
        return response

    def protect(self, app: web.Application) -> None:
        """Put the check in front of every route of an application."""

        @web.middleware
        async def check(
            request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
        ) -> web.StreamResponse:
            return self.refusal(request) or await handler(request)

        async def add_headers(_: web.Request, response: web.StreamResponse) -> None:
            response.headers.update(
                {
                    "Referrer-Policy": "no-referrer",
                    "Content-Security-Policy": _POLICY.format(self.authority),
                    "Cross-Origin-Opener-Policy": "same-origin",
                    "Cross-Origin-Resource-Policy": "same-origin",
                    "X-Content-Type-Options": "nosniff",
                    "X-Frame-Options": "DENY",
                    "Cache-Control": "no-store",
                    "Server": "tui-chat",
                }
            )

        app.middlewares.append(check)
        app.on_response_prepare.append(add_headers)


def _equal(token: str, secret: str) -> bool:
    """Compare in a time that does not depend on where the two differ."""
    return hmac.compare_digest(token.encode("utf-8", "surrogateescape"), secret.encode())


def _cookies(request: web.Request) -> Iterator[str]:
    """Yield the values of our cookie. A page of another local server can set one of the same name,
    which the browser sends too.
    """
    for header in request.headers.getall("Cookie", []):
        for pair in header.split(";"):
            name, _, value = pair.strip().partition("=")
            if name == COOKIE:
                yield value.strip('"')


def _refuse(status: int, sentence: str) -> web.Response:
    return web.Response(status=status, text=f"{sentence}\n")


class ServedApp(AppService):
    """The app of a page."""

    def __init__(self, command: str, page: web.WebSocketResponse) -> None:
        super().__init__(
            command,
            write_bytes=page.send_bytes,
            write_str=page.send_str,
            close=self._close,
            download_manager=DownloadManager(),
        )
        self.page = page
        self.is_ending = False

    async def _close(self) -> None:
        await self.page.close()

    def _build_environment(self, width: int = 80, height: int = 24) -> dict[str, str]:
        driver = "tui_chat.plugins.web.driver:WebDriver"
        return super()._build_environment(width, height) | {"TEXTUAL_DRIVER": driver}

    async def run(self) -> None:
        """Pass on what the app draws until it ends; then close its page."""
        with suppress(asyncio.CancelledError):  # also of its own task for the error stream
            await super().run()
        await self._close()

    async def on_data(self, payload: bytes) -> None:
        """Draw on the page."""
        with suppress(ConnectionError):
            await self.page.send_bytes(payload)

    async def on_meta(self, data: bytes) -> None:
        """Open a link on the page. Nothing else is passed on: we deliver no files."""
        meta: dict[str, Any] = json.loads(data)
        if meta["type"] == "open_url":
            with suppress(ConnectionError):
                await self.page.send_json(["open_url", {"url": meta["url"], "new_tab": True}])

    async def end(self) -> None:
        """End the app: it saves its draft and what arrived of a reply."""
        if self.is_ending:
            return
        self.is_ending = True
        process: Process | None = self._process
        if process is None:
            return
        await self.send_meta({"type": "quit"})
        # `stop` would wait for `run`, which a time limit would end instead of the app.
        await asyncio.wait([asyncio.ensure_future(process.wait())], timeout=ENDING_SECONDS)
        with suppress(ProcessLookupError):
            process.kill()  # which does nothing to one that has ended
        await process.wait()
        if self._task is not None:
            await asyncio.wait([self._task], timeout=ENDING_SECONDS)

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
            case ["ping", str(moment)]:
                await self.page.send_json(["pong", moment])
            case _:
                raise ValueError("not a message of the page")


def _size(width: int, height: int) -> tuple[int, int]:
    return min(max(width, 1), 1000), min(max(height, 1), 1000)


class Server:
    """The routes, and the apps that run."""

    def __init__(self, command: str, access: Access) -> None:
        self._command = command
        self._access = access
        self._apps: list[ServedApp] = []
        self._ends: set[asyncio.Task[None]] = set()
        """Apps that end, whose drafts the next app shows."""
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

    async def _index(self, _: web.Request) -> web.Response:
        address = f"ws://{self._access.authority}{self._access.folder}/ws"
        return web.Response(text=self._page.substitute(websocket=address), content_type="text/html")

    async def _websocket(self, request: web.Request) -> web.StreamResponse:
        try:
            size = _size(int(request.query["width"]), int(request.query["height"]))
        except (KeyError, ValueError):
            return web.Response(status=400, text="width and height are needed\n")
        if len(self._apps) >= MAX_APPS:
            return web.Response(status=503, text=f"{MAX_APPS} pages are open; close one.\n")
        page = web.WebSocketResponse(heartbeat=15, max_msg_size=MAX_MESSAGE)
        app = ServedApp(self._command, page)
        self._apps.append(app)
        try:
            await page.prepare(request)
            await asyncio.gather(*self._ends)
            await app.start(*size)
            await _receive_all(app, page)
        finally:
            self._apps.remove(app)
            end = asyncio.create_task(app.end())
            self._ends.add(end)
            end.add_done_callback(self._ends.discard)
        return page

    async def _shut_down(self, _: web.Application) -> None:
        await asyncio.gather(*self._ends, *(app.end() for app in self._apps))


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
    """Return a log of our faults, without tracebacks and addresses, as both could contain the
    token. A request that is not HTTP is no fault of ours.
    """

    def shorten(record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if record.exc_info else None
        record.exc_info = None
        return not isinstance(error, HttpProcessingError)

    log = logging.Logger("tui-chat serve", logging.ERROR)
    log.addHandler(logging.StreamHandler())
    log.addFilter(shorten)
    return log


def _file_route(path: Path) -> Any:
    async def send(_: web.Request) -> web.FileResponse:
        return web.FileResponse(path)

    return send


@asynccontextmanager
async def serving(command: str, port: int) -> AsyncGenerator[str]:
    """Serve the app that a shell command starts; the value is the address to open.

    Raises OSError.
    """
    with socket.create_server(("127.0.0.1", port)) as listener:
        access = Access(f"127.0.0.1:{listener.getsockname()[1]}".removesuffix(":80"))
        server = Server(command, access)
        runner = web.AppRunner(
            server.application(), access_log=None, logger=_error_log(), shutdown_timeout=5
        )
        await runner.setup()
        try:
            await web.SockSite(runner, listener).start()
            yield access.url
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


async def serve_until_stopped(common: CommonOptions, port: int) -> None:
    """Serve until a signal. Raises InputError if the port cannot be used."""
    stopped = asyncio.Event()
    with suppress(NotImplementedError):  # Windows
        for name in ("SIGINT", "SIGTERM", "SIGHUP"):
            number = getattr(signal, name)
            asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    try:
        async with serving(app_command(common), port) as address:
            write_line(
                "Open this address in a browser. Whoever has it can use your keys and tools:"
            )
            write_line(f"  {address}")
            write_line("Ctrl+C stops the server and its apps.")
            await stopped.wait()
    except OSError as error:
        raise InputError(f"Port {port} cannot be served: {error}") from error
    write_line("Stopped.", err=True)
