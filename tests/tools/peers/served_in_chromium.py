"""The served app in a real browser, and attacks from pages of other origins in the same browser.

    TUI_CHAT_PEERS=1 uv run pytest tests/tools/peers/served_in_chromium.py

Needs Chromium (Debian: `chromium`).
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from time import time

import pytest

from tests.support.tables import each_row

pytest.importorskip("textual_serve", reason="the extra `serve` is not installed")

from aiohttp import web

from tests.plugins.web.served import command, visiting
from tests.tools.peers.chromium import REBOUND, browsing, program
from tui_chat.paths import database_file
from tui_chat.store import Store

pytestmark = [pytest.mark.peer, pytest.mark.slow]
CTRL = 2


@pytest.fixture(autouse=True)
def _browser() -> None:
    program()


async def test_a_chat_with_resize_copy_and_reload(tmp_path: Path):
    async with visiting(command(tmp_path, "lorem:60")) as visitor, browsing() as tab:
        await tab.call(
            "Browser.grantPermissions",
            permissions=["clipboardReadWrite", "clipboardSanitizedWrite"],
            origin=visitor.origin,
        )
        await tab.open(visitor.address)
        await tab.shows("Type below")
        href, title, cookie = await tab.run("[location.href, document.title, document.cookie]")
        assert (title, cookie) == ("tui-chat", "")  # HttpOnly
        assert visitor.token not in href
        assert href.startswith(visitor.origin)
        assert all(each.startswith(visitor.origin) for each in tab.requests if "://" in each)

        await tab.type("Tell me about rivers")
        await tab.shows("Tell me about rivers")
        await tab.press("Enter")
        await tab.shows("Esc stop")
        await tab.shows("greed")

        tab.drawn = ""
        await tab.call("Page.reload")  # in the middle of the reply
        await tab.shows("greed")
        assert "Tell me about rivers" in tab.drawn
        assert "Type below" not in tab.drawn

        tab.drawn = ""
        await tab.resize(900, 600)
        await tab.shows("F1 Help")

        await tab.resize(1400, 800)
        tab.drawn = ""
        await tab.press("F4")  # the cursor goes to the inspector
        await tab.shows("y copy")
        await tab.press("y")
        await tab.shows("Copied")
        body = json.loads(await tab.run("navigator.clipboard.readText()"))
        assert body["messages"][-1] == {"role": "user", "content": "Tell me about rivers"}
    async with await Store.open(database_file(tmp_path), now=time, new_id=str) as store:
        (session,) = await store.sessions.list()
        _, reply = await store.branches.load(session.session_id)
    assert "greed" in reply.message.content


async def test_a_paste_takes_the_clipboard_of_the_browser_and_the_page_the_theme(tmp_path: Path):
    async with visiting(command(tmp_path, "echo")) as visitor, browsing() as tab:
        await tab.call("Runtime.enable")
        await tab.call("Log.enable")
        await tab.call(
            "Browser.grantPermissions",
            permissions=["clipboardReadWrite", "clipboardSanitizedWrite"],
            origin=visitor.origin,
        )
        await tab.open(visitor.address)
        await tab.shows("Type below")
        await tab.type("words of the app")
        await tab.shows("words of the app")
        await tab.press("a", CTRL)
        await tab.press("x", CTRL)  # into the clipboards of the app and the browser
        await tab.run("navigator.clipboard.writeText('text from elsewhere\\nsecond line')")
        await tab.press("v", CTRL, commands=["paste"])
        await tab.shows("second line")
        tab.drawn = ""

        color = "getComputedStyle(document.body).backgroundColor"
        dark = await tab.run(color)
        await tab.press("p", CTRL)
        await tab.shows("Type what you want to do")
        await tab.type("light")
        await tab.shows("Theme")
        await tab.press("Enter")
        await tab.until_page(f"{color} !== {dark!r}")
        shade = await tab.run(f"{color}.match(/\\d+/g).map(Number)")
        assert min(shade) > 200
        assert tab.errors == []


async def test_the_terminal_fits_a_phone_and_what_its_keyboard_leaves(tmp_path: Path):
    box = "document.querySelector('.xterm-screen').getBoundingClientRect()"
    async with visiting(command(tmp_path, "echo")) as visitor, browsing() as tab:
        await tab.resize(390, 844, mobile=True)
        await tab.open(visitor.address)
        await tab.shows("Type below")
        assert await tab.run("document.documentElement.scrollWidth") == 390
        width, height = await tab.run(f"[{box}.width, {box}.height]")
        assert 370 < width <= 390
        assert 820 < height <= 844

        tab.drawn = ""
        await tab.run(
            "Object.defineProperty(visualViewport, 'height', {value: 500});"
            "visualViewport.dispatchEvent(new Event('resize'))"
        )
        await tab.until_page(f"{box}.bottom <= 500 && {box}.height > 470")
        await tab.shows("Message")


@asynccontextmanager
async def other_server() -> AsyncGenerator[tuple[int, list[str]]]:
    """Serve an empty page at another port; the value is the port, and the cookies it is sent."""
    cookies: list[str] = []

    async def page(request: web.Request) -> web.Response:
        cookies.append(request.headers.get("Cookie", ""))
        return web.Response(text="<title>attacker</title><body>", content_type="text/html")

    app = web.Application()
    app.router.add_get("/{any:.*}", page)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        yield runner.addresses[0][1], cookies
    finally:
        await runner.cleanup()


ATTACKS = """(async () => {
  const home = %s, found = {};
  const attempt = async (name, work) => {
    try { found[name] = String(await Promise.race([work(),
      new Promise((done) => setTimeout(done, 15000, "no answer"))])); }
    catch (error) { found[name] = "failed"; }
  };
  await attempt("websocket", () => new Promise((done) => {
    const socket = new WebSocket(home.replace("http", "ws") + "ws?width=80&height=24");
    socket.onopen = () => done("OPEN"); socket.onerror = () => done("failed");
  }));
  await attempt("fetch", async () => (await fetch(home, {credentials: "include"})).text());
  await attempt("post", async () =>
    (await fetch(home, {method: "POST", mode: "no-cors", credentials: "include"})).type);
  const load = (tag, set) => new Promise((done) => {
    const element = document.createElement(tag);
    element.onload = () => done("LOADED"); element.onerror = () => done("failed");
    set(element); document.body.append(element);
  });
  await attempt("script", () => load("script", (each) => { each.src = home + "textual.js"; }));
  await attempt("style", () => load("link", (each) => {
    each.rel = "stylesheet"; each.href = home + "xterm.css";
  }));
  await attempt("frame", async () => {
    let frame; await load("iframe", (each) => { frame = each; each.src = home; });
    return frame.contentDocument === null ? "failed" : frame.contentDocument.title;
  });
  await attempt("opened", async () => {
    const other = window.open(home);
    await new Promise((done) => setTimeout(done, 1500));
    return other === null || other.closed ? "failed" : other.document.title;
  });
  return found;
})()"""


@each_row("name", ["127.0.0.1", "localhost", REBOUND])
async def test_a_page_of_another_origin(tmp_path: Path, name: str):
    """The user is signed in, and the attacker even knows the address without the token."""
    async with (
        visiting(command(tmp_path)) as visitor,
        other_server() as (port, cookies),
        browsing() as tab,
    ):
        await tab.open(visitor.address)
        await tab.shows("Type below")
        home = await tab.run("location.href")
        await tab.open(f"http://{name}:{port}/page")
        await tab.until(lambda: bool(cookies))
        await tab.until_page("document.title === 'attacker'")
        assert "tui_chat" not in "".join(cookies)
        found = await tab.run(ATTACKS % json.dumps(home))
        post = found.pop("post")
        assert set(found.values()) == {"failed"}, found
        assert post in ("failed", "opaque")  # refused by the server: see test_serve_access


async def test_a_form_of_another_site(tmp_path: Path):
    async with (
        visiting(command(tmp_path)) as visitor,
        other_server() as (port, cookies),
        browsing() as tab,
    ):
        await tab.open(visitor.address)
        await tab.shows("Type below")
        home = await tab.run("location.href")
        for method, answer in (("get", "Open the address"), ("post", "The Origin is not")):
            cookies.clear()
            await tab.open(f"http://localhost:{port}/page")
            await tab.until(lambda: bool(cookies))
            await tab.until_page("document.title === 'attacker'")
            await tab.run(
                f"""(() => {{ const form = document.createElement("form");
                form.action = {home!r}; form.method = {method!r};
                document.body.append(form); form.submit(); }})()"""
            )
            await tab.until_page(f"document.body?.innerText.includes('{answer}')")


async def test_a_name_that_leads_to_this_machine(tmp_path: Path):
    """DNS rebinding: the page's own name is the attacker's, even with the token."""
    async with visiting(command(tmp_path)) as visitor, browsing() as tab:
        address = visitor.address.replace("127.0.0.1", REBOUND)
        await tab.open(address)
        await tab.until_page("document.body?.innerText.includes('The Host is not the served')")
        assert await tab.run("fetch('/').catch(() => 'failed')") == "failed"
