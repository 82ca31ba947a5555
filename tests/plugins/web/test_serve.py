"""`tui-chat serve`: the app itself on a page, without a browser."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
from pathlib import Path
from time import time

import pytest

pytest.importorskip("textual_serve", reason="the extra `serve` is not installed")

import aiohttp

from tests.plugins.web.served import Visitor, command, visiting
from tests.support.command_line import Run
from tui_chat.paths import database_file
from tui_chat.plugins.web import server
from tui_chat.store import Store

pytestmark = pytest.mark.slow


async def test_a_chat_that_a_reload_interrupts(tmp_path: Path):
    async with visiting(command(tmp_path, "lorem:40")) as visitor:
        await visitor.sign_in()
        async with visitor.page() as page:
            await page.until("New session")
            await page.type("hello there\r")
            await page.until("Esc stop")
            await page.until("greed")  # from the middle of the reply
        async with visitor.page() as page:
            await page.until("hello there")
            await page.type("\x11")  # Ctrl+Q
            async for _ in page.ws:
                pass
            assert page.ws.close_code == 1000
    async with await Store.open(database_file(tmp_path), now=time, new_id=str) as store:
        (session,) = await store.sessions.list()
        question, reply = await store.branches.load(session.session_id)
    assert (question.message.content, reply.status) == ("hello there", "stopped")
    assert "greed" in reply.message.content
    assert session.title == "hello there"


async def test_a_page_has_the_draft_of_the_one_before_it(tmp_path: Path):
    async with visiting(command(tmp_path)) as visitor:
        await visitor.sign_in()
        async with visitor.page() as page:
            await page.until("New session")
            await page.type("kept words")
            await page.until("kept words")
        async with visitor.page() as page:
            await page.until("kept words")  # of another app, from the database


async def test_two_pages_have_two_apps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(server, "MAX_APPS", 2)
    async with visiting(command(tmp_path)) as visitor:
        await visitor.sign_in()
        async with visitor.page() as one, visitor.page() as other:
            await one.type("first")
            await one.until("first")
            await other.until("New session")
            assert "first" not in other.text
            with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
                async with visitor.page():
                    pytest.fail("it was accepted")
            assert refused.value.status == 503


async def test_a_message_that_no_page_sends_closes_the_page(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(server, "ENDING_SECONDS", 0.1)  # this app does not end when it is told to
    messages = ["{", "[]", "1", '["stdin"]', '["stdin", 1]', '["resize", {}]', '["quit"]',
                '["resize", {"width": "a", "height": 1}]', '["download", "x"]',
                '{"type": "quit"}']  # fmt: skip
    # Descriptor 3 keeps the standard output open: an app that closes it has ended, and so has its
    # page.
    async with visiting("exec cat 3>&1 >&2") as visitor:
        await visitor.sign_in()
        for message in messages:
            async with visitor.page() as page:
                await page.ws.send_json(["focus"])
                await page.ws.send_json(["ping", "5"])
                assert (await page.ws.receive_json(timeout=20)) == ["pong", "5"]
                await page.ws.send_str(message)
                closed = await page.ws.receive(timeout=20)
                assert closed.type is aiohttp.WSMsgType.CLOSE, message
    async with visiting("exit 2") as visitor:  # an app that cannot start
        await visitor.sign_in()
        async with visitor.page() as page:
            assert (await page.ws.receive(timeout=20)).type is aiohttp.WSMsgType.CLOSE


async def test_the_app_ends_with_its_server_and_keeps_the_draft(tmp_path: Path):
    """The server is killed, so that it cannot tell the app."""
    process = await started(tmp_path)
    app = 0
    try:
        assert process.stdout is not None
        await process.stdout.readline()
        address = (await process.stdout.readline()).decode().strip()
        jar = aiohttp.CookieJar(unsafe=True)
        async with aiohttp.ClientSession(cookie_jar=jar) as session:
            visitor = Visitor(session, address)
            await visitor.sign_in()
            async with visitor.page() as page:
                await page.until("New session")
                await page.type("kept words")
                await page.until("kept words")
                (app,) = children(process.pid)
                process.kill()
                await process.wait()
                await ended(app)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    async with visiting(command(tmp_path)) as visitor:
        await visitor.sign_in()
        async with visitor.page() as page:
            await page.until("kept words")


async def test_ctrl_c_ends_the_server_and_its_apps(tmp_path: Path):
    process = await started(tmp_path)
    assert process.stdout is not None
    printed = [(await process.stdout.readline()).decode() for _ in range(3)]
    jar = aiohttp.CookieJar(unsafe=True)
    async with aiohttp.ClientSession(cookie_jar=jar) as session:
        visitor = Visitor(session, printed[1].strip())
        await visitor.sign_in()
        async with visitor.page() as page:
            await page.until("New session")
            (app,) = children(process.pid)
            process.send_signal(signal.SIGINT)
            async for _ in page.ws:
                pass
            assert await process.wait() == 0
            await ended(app)
    assert (await process.stdout.read()) == b"Stopped.\n"


async def started(folder: Path) -> asyncio.subprocess.Process:
    """Start the command itself."""
    if not Path("/proc/self/task").exists():
        pytest.skip("finds the app's process in Linux's /proc")
    words = ["--data-dir", str(folder), "--config-dir", str(folder), "serve", "--port", "0"]
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tui_chat", *words),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )


def children(pid: int) -> list[int]:
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


async def ended(pid: int, seconds: float = 30) -> None:
    """Wait until a process that is not our child has ended."""
    number = os.pidfd_open(pid) if Path(f"/proc/{pid}").exists() else -1
    if number < 0:
        return
    try:
        loop, done = asyncio.get_running_loop(), asyncio.Event()
        loop.add_reader(number, done.set)
        await asyncio.wait_for(done.wait(), seconds)
        loop.remove_reader(number)
    finally:
        os.close(number)


def test_what_cannot_be_served_is_told(run: Run, tmp_path: Path):
    def serve(*words: str) -> str:
        done = run("--config-dir", tmp_path, "--data-dir", tmp_path, "serve", *words)
        assert done.code == 2
        return done.err

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert f"Port {port} cannot be served" in serve("--port", port)
    (tmp_path / "config.toml").write_text("theme = 1")
    assert "theme" in serve()


def test_a_missing_extra_says_how_to_install_it(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setitem(sys.modules, "textual_serve", None)
    monkeypatch.delitem(sys.modules, "tui_chat.plugins.web.server", raising=False)
    done = run("--config-dir", tmp_path, "--data-dir", tmp_path, "serve")
    assert done.code == 2
    assert "textual-serve" in done.err
    assert "Traceback" not in done.err
