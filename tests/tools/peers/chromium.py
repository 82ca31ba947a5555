"""A headless Chromium, driven through the DevTools protocol.

https://chromedevtools.github.io/devtools-protocol/
"""

from __future__ import annotations

import asyncio
import base64
import os
import shutil
import tempfile
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest

from tests.plugins.web.served import without_escapes

NAMES = ("chromium", "chromium-browser", "google-chrome")
KEYS = {"Enter": (13, "\r"), "Escape": (27, ""), "F4": (115, ""), "F5": (116, "")}
REBOUND = "attacker.example"
"""A name that leads to this machine, as after DNS rebinding."""


def program() -> str:
    """Return the browser; skip the test, with the reason, if it should not or cannot run."""
    if os.environ.get("TUI_CHAT_PEERS") != "1":
        pytest.skip("a peer test: set TUI_CHAT_PEERS=1 to run Chromium")
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        pytest.skip("a peer test: Chromium is not on this machine (Debian: chromium)")
    return found


class Tab:
    """One tab of the browser."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._count = 0
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._news = asyncio.Event()
        self.drawn = ""
        """What websockets received, without escape sequences."""
        self.requests: list[str] = []
        self.errors: list[str] = []
        """Exceptions that the page did not catch, and errors on its console."""

    async def listen(self) -> None:
        """Read answers and events until the browser ends."""
        async for message in self._socket:
            data = message.json()
            params = data.get("params", {})
            if (future := self._waiting.pop(data.get("id"), None)) is not None:
                future.set_result(data)
            elif data.get("method") == "Network.webSocketFrameReceived":
                frame = params["response"]
                if frame["opcode"] == 2:
                    self.drawn += without_escapes(base64.b64decode(frame["payloadData"]).decode())
            elif data.get("method") == "Network.requestWillBeSent":
                self.requests.append(params["request"]["url"])
            elif data.get("method") == "Runtime.exceptionThrown":
                self.errors.append(str(params["exceptionDetails"]))
            elif data.get("method") == "Log.entryAdded" and params["entry"]["level"] == "error":
                self.errors.append(str(params["entry"]))
            self._news.set()

    async def call(self, method: str, **params: Any) -> dict[str, Any]:
        self._count += 1
        future = self._waiting[self._count] = asyncio.get_running_loop().create_future()
        await self._socket.send_json({"id": self._count, "method": method, "params": params})
        async with asyncio.timeout(60):
            answer = await future
        assert "error" not in answer, answer
        return answer["result"]

    async def run(self, script: str) -> Any:
        """Return the value of an expression, or what its promise gives."""
        found = await self.call(
            "Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True,
            userGesture=True,
        )  # fmt: skip
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    async def until(self, true: Callable[[], bool], seconds: float = 90) -> None:
        """Wait until something received makes it true."""
        async with asyncio.timeout(seconds):
            while not true():
                self._news.clear()
                await self._news.wait()

    async def until_page(self, condition: str, seconds: float = 60) -> None:
        """Wait until a condition holds in the page, which may be loading."""
        async with asyncio.timeout(seconds):
            while not await self.run(condition):
                await self.call("Runtime.enable")

    async def shows(self, words: str) -> None:
        await self.until(lambda: words in self.drawn)

    async def open(self, url: str) -> None:
        await self.call("Page.navigate", url=url)

    async def type(self, text: str) -> None:
        await self.call("Input.insertText", text=text)

    async def press(self, key: str, modifiers: int = 0, **more: Any) -> None:
        """Press a key; `commands` are what a browser with a window does for it."""
        code, text = KEYS.get(key, (ord(key.upper()[0]), "" if modifiers else key))
        event = {"key": key, "windowsVirtualKeyCode": code, "modifiers": modifiers}
        if len(key) > 1:
            event["code"] = key
        await self.call("Input.dispatchKeyEvent", type="keyDown", text=text, **event, **more)
        await self.call("Input.dispatchKeyEvent", type="keyUp", **event)

    async def resize(self, width: int, height: int, *, mobile: bool = False) -> None:
        await self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                        deviceScaleFactor=1, mobile=mobile)  # fmt: skip


@asynccontextmanager
async def browsing() -> AsyncGenerator[Tab]:
    """Start a browser with an empty profile; the value is its tab."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        process = await asyncio.create_subprocess_exec(
            *(program(), "--headless=new", "--disable-gpu", "--no-first-run"),
            *(f"--user-data-dir={profile}", "--remote-debugging-port=0"),
            f"--host-resolver-rules=MAP {REBOUND} 127.0.0.1",
            *(["--no-sandbox"] if os.geteuid() == 0 else []),
            "about:blank",
            stderr=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.DEVNULL,
        )
        try:
            assert process.stderr is not None
            async with asyncio.timeout(60):
                while b"DevTools listening on " not in (line := await process.stderr.readline()):
                    assert line, "the browser ended"
            drain = asyncio.create_task(process.stderr.read())
            base = line.decode().partition("ws://")[2].partition("/")[0]
            async with aiohttp.ClientSession() as session:
                async with session.get(f"http://{base}/json") as got:
                    targets = await got.json()
                (target,) = [each for each in targets if each["type"] == "page"]
                url = target["webSocketDebuggerUrl"]
                async with session.ws_connect(url, max_msg_size=0) as socket:
                    tab = Tab(socket)
                    listening = asyncio.create_task(tab.listen())
                    for domain in ("Page", "Network", "Runtime"):
                        await tab.call(f"{domain}.enable")
                    await tab.resize(1400, 800)
                    yield tab
                    listening.cancel()
        finally:
            process.terminate()
            await process.wait()
        await drain
