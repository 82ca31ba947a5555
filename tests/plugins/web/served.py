"""A served app, and a page of it without a browser."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

import aiohttp
from yarl import URL

from tui_chat.cli.common_options import CommonOptions
from tui_chat.plugins.web.server import app_command, serving

SIZE = {"width": "120", "height": "30"}


def command(folder: Path, model: str = "echo") -> str:
    """Return the shell command of an app over a folder."""
    return app_command(CommonOptions(folder, folder, model=model))


class Visitor:
    """An HTTP client with the cookies of one browser."""

    def __init__(self, session: aiohttp.ClientSession, address: str) -> None:
        self.session = session
        self.address = address
        """The address that was printed, with the token."""
        parts = urlsplit(address)
        self.origin = f"{parts.scheme}://{parts.netloc}"
        self.host = parts.netloc
        self.token = parts.query.removeprefix("token=")
        self.home = ""
        """The address without the token; empty before `sign_in`."""

    async def get(self, url: str, method: str = "GET", **headers: str) -> tuple[int, str]:
        """Return status and text; redirects are not followed."""
        async with self.session.request(
            method, URL(url, encoded=True), headers=headers, allow_redirects=False
        ) as got:
            return got.status, await got.text(errors="replace")

    async def sign_in(self) -> None:
        async with self.session.get(self.address) as got:
            assert got.status == 200
            self.home = str(got.url)

    @asynccontextmanager
    async def page(self, **headers: str) -> AsyncGenerator[Page]:
        """Open the websocket as the page does."""
        url = URL(f"{self.home}ws").with_query(SIZE)
        async with self.session.ws_connect(url, headers={"Origin": self.origin} | headers) as ws:
            yield Page(ws)


_ESCAPE = re.compile(r"\x1b(\[[\d;?<>=$]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)|[^\[\]])")


def without_escapes(drawn: str) -> str:
    """Return the text of what was drawn. A sequence that is cut stays."""
    return _ESCAPE.sub("", drawn)


class Page:
    """The websocket of a page, and what was drawn on it."""

    def __init__(self, ws: aiohttp.ClientWebSocketResponse) -> None:
        self.ws = ws
        self.drawn = ""
        self.text = ""
        """What was drawn, without escape sequences."""

    async def until(self, words: str, seconds: float = 60) -> None:
        """Read until the words were drawn."""
        async with asyncio.timeout(seconds):
            while words not in self.text:
                await self._read()

    async def until_sent(self, sequence: str, seconds: float = 60) -> None:
        """Read until an escape sequence was sent: the app may still draw what was typed before."""
        async with asyncio.timeout(seconds):
            while sequence not in self.drawn:
                await self._read()

    async def _read(self) -> None:
        message = await self.ws.receive()
        assert message.type is aiohttp.WSMsgType.BINARY, (message, self.text[-500:])
        self.drawn += message.data.decode()
        self.text += without_escapes(message.data.decode())

    async def type(self, keys: str) -> None:
        await self.ws.send_json(["stdin", keys])


@asynccontextmanager
async def visiting(command: str, port: int = 0) -> AsyncGenerator[Visitor]:
    """Serve an app, and visit it."""
    jar = aiohttp.CookieJar(unsafe=True)  # cookies of an IP address too
    async with (
        serving(command, port) as address,
        aiohttp.ClientSession(cookie_jar=jar) as session,
    ):
        yield Visitor(session, address)
