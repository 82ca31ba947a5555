"""Who may use a served app: every route behind the check, attacked without a browser."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator

import pytest

pytest.importorskip("textual_serve", reason="the extra `serve` is not installed")

import aiohttp

from tests.plugins.web.served import Visitor, visiting
from tui_chat.plugins.web.server import Access

NEVER = "exit 1"
"""The command of the app; it must not be started here."""
ROUTES = ("", "ws?width=80&height=24", "textual.js", "serve.js", "xterm.css", "mono.ttf", "nothing",
          "../static/", "static/js/textual.js", "download/1")  # fmt: skip


@pytest.fixture
async def visitor() -> AsyncIterator[Visitor]:
    async with visiting(NEVER) as visitor:
        yield visitor


async def test_the_token_becomes_a_cookie_and_leaves_the_address(visitor: Visitor):
    async with visitor.session.get(visitor.address, allow_redirects=False) as got:
        assert got.status == 303
        location, cookie = got.headers["Location"], got.headers["Set-Cookie"]
    assert visitor.token not in location + cookie
    assert len(visitor.token) >= 43  # 256 bits
    assert f"Path={location}" in cookie
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert "Domain" not in cookie
    await visitor.sign_in()
    assert visitor.home == f"{visitor.origin}{location}"
    status, page = await visitor.get(visitor.home)
    assert status == 200
    assert "<title>tui-chat</title>" in page
    assert 'name="viewport" content="width=device-width' in page, "a phone would show it tiny"
    assert visitor.token not in page


async def test_no_route_without_the_cookie_for_another_host_or_origin(visitor: Visitor):
    """As after DNS rebinding: the browser sends the attacker's name, and cookies if it has any."""
    await visitor.sign_in()
    wrong: list[object] = []

    async def refused(route: str, status: int, told: str, **headers: str) -> None:
        got = await visitor.get(visitor.home + route, **headers)
        if got != (status, told):
            wrong.append((route, headers, got))

    for route in ROUTES:
        for host in ("attacker.example", "127.0.0.1", "localhost", "127.0.0.1:1", ""):
            await refused(route, 403, "The Host is not the served address.\n", Host=host)
            if host and ":" not in host:  # the right port makes no difference
                told = "The Host is not the served address.\n"
                await refused(route, 403, told, Host=f"{host}:80")
        for origin in ("https://attacker.example", "null", "http://127.0.0.1:1", ""):
            await refused(route, 403, "The Origin is not the served address.\n", Origin=origin)
    for origin in (visitor.origin.replace("http", "https"), f"{visitor.origin}0", visitor.host):
        assert (await visitor.get(visitor.home, Origin=origin))[0] == 403
    assert (await visitor.get(visitor.home, Origin=visitor.origin))[0] == 200
    visitor.session.cookie_jar.clear()
    for route in ROUTES:
        told = "Open the address that `tui-chat serve` printed.\n"
        await refused(route, 401, told)
        await refused(route, 401, told, Cookie="tui_chat=wrong")
    assert not wrong, wrong


async def test_no_websocket_for_another_page_or_host_or_without_the_cookie(visitor: Visitor):
    """A websocket needs an Origin, with the cookie too."""
    await visitor.sign_in()

    async def refused(status: int, **headers: str) -> None:
        url = f"{visitor.home}ws?width=80&height=24"
        with pytest.raises(aiohttp.WSServerHandshakeError) as error:
            await visitor.session.ws_connect(url, headers=headers)
        assert error.value.status == status, headers

    await refused(403)
    await refused(403, Origin="https://attacker.example")
    await refused(403, Origin="null")
    await refused(403, Origin=visitor.origin, Host="attacker.example")
    visitor.session.cookie_jar.clear()
    await refused(401, Origin=visitor.origin)


async def test_a_wrong_token_gives_no_cookie(visitor: Visitor):
    for token in ("", "wrong", "%ff%00", "é", "%ED%A0%80"):
        url = f"{visitor.origin}/?token={token}"
        async with visitor.session.get(url, allow_redirects=False) as got:
            assert got.status == 401, token
            assert "Set-Cookie" not in got.headers
    assert (await visitor.get(visitor.address[:-1]))[0] == 401
    assert (await visitor.get(f"{visitor.address}x"))[0] == 401
    await visitor.sign_in()
    assert (await visitor.get(f"{visitor.home}?token=wrong"))[0] == 401, "with the cookie too"


async def test_only_get_is_answered(visitor: Visitor):
    """A form of another page can only send GET and POST."""
    await visitor.sign_in()
    for method in ("POST", "PUT", "DELETE", "OPTIONS", "HEAD", "PROPFIND"):
        assert (await visitor.get(visitor.home, method))[0] == 405
        status, _ = await visitor.get(visitor.home, method, Origin="https://attacker.example")
        assert status == 403


async def test_every_response_keeps_the_address_and_the_page_to_itself(visitor: Visitor):
    await visitor.sign_in()
    for url in (visitor.address, visitor.home, f"{visitor.home}textual.js", visitor.origin,
                f"{visitor.home}nothing"):  # fmt: skip
        async with visitor.session.get(url, allow_redirects=False) as got:
            headers = got.headers
        assert headers["Referrer-Policy"] == "no-referrer"
        assert headers["Cache-Control"] == "no-store"
        assert headers["X-Frame-Options"] == "DENY"
        assert headers["Cross-Origin-Opener-Policy"] == "same-origin"
        assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
        assert headers["Server"] == "tui-chat"
        policy = headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert f"connect-src {visitor.origin} ws://{visitor.host};" in policy


async def test_nothing_is_loaded_from_elsewhere_or_served_that_is_not_needed(visitor: Visitor):
    await visitor.sign_in()
    _, page = await visitor.get(visitor.home)
    assert page.count("://") == 1  # the websocket
    assert f'"ws://{visitor.host}/' in page
    for route in ("static/", "static/js/textual.js", "download/1", "../etc/passwd", "%2e%2e/x"):
        assert (await visitor.get(visitor.home + route))[0] == 404
    assert (await visitor.get(f"{visitor.origin}/static/"))[0] == 401
    assert (await visitor.get(f"{visitor.home}ws"))[0] == 400


async def test_no_log_has_the_token(
    visitor: Visitor, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
):
    caplog.set_level(logging.DEBUG)
    await visitor.sign_in()
    await visitor.get(visitor.address, Host="attacker.example")
    await visitor.get(f"{visitor.address}x", "POST")
    reader, writer = await asyncio.open_connection(*visitor.host.split(":"))
    writer.write(f"GET /?token={visitor.token} BROKEN\r\n\r\n".encode())
    assert b"400" in await reader.read(100)
    writer.close()
    access = Access(visitor.host)
    told = capfd.readouterr()
    assert visitor.token not in caplog.text + told.out + told.err
    assert not told.err, "what is not HTTP is no fault to be told"
    assert not any(each in repr(access) for each in (access.token, access.cookie, access.folder))


async def test_a_request_without_a_host(visitor: Visitor):
    reader, writer = await asyncio.open_connection(*visitor.host.split(":"))
    writer.write(f"GET /?token={visitor.token} HTTP/1.0\r\n\r\n".encode())
    assert b" 403 " in await reader.readline()
    writer.close()
