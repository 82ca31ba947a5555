"""Who may use a served app: every route behind the check, attacked without a browser."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator

import pytest

pytest.importorskip("textual_serve", reason="the extra `serve` is not installed")

import aiohttp

from tests.plugins.web.served import Visitor, visiting
from tui_chat.errors import InputError
from tui_chat.plugins.web.server import Access, authority_of, granted_access

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


@pytest.mark.parametrize("host", ["0.0.0.0", "", "::"])
async def test_the_printed_address_of_a_server_of_all_addresses_is_answered(host: str):
    try:
        async with (
            visiting(NEVER, host, remote=True) as visitor,
            visitor.session.get(visitor.address, allow_redirects=False) as got,
        ):
            assert got.status == 303, visitor.address
    except OSError as error:
        pytest.skip(f"this machine has no such address: {error}")


@pytest.mark.parametrize("route", ROUTES)
async def test_no_route_without_the_cookie(visitor: Visitor, route: str):
    await visitor.sign_in()
    visitor.session.cookie_jar.clear()
    status, text = await visitor.get(visitor.home + route)
    assert (status, text) == (401, "Open the address that `tui-chat serve` printed.\n")
    status, _ = await visitor.get(visitor.home + route, Cookie="tui_chat=wrong")
    assert status == 401


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("host", ["attacker.example", "127.0.0.1", "localhost", "127.0.0.1:1", ""])
async def test_no_route_for_another_host(visitor: Visitor, route: str, host: str):
    """As after DNS rebinding: the browser sends the attacker's name, and cookies if it has any."""
    await visitor.sign_in()
    status, text = await visitor.get(visitor.home + route, Host=host)
    assert (status, text) == (403, "The Host is not the served address.\n")
    if host and ":" not in host:  # the right port makes no difference
        status, _ = await visitor.get(visitor.home + route, Host=f"{host}:80")
        assert status == 403


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("origin", ["https://attacker.example", "null", "http://127.0.0.1:1", ""])
async def test_no_route_for_another_origin(visitor: Visitor, route: str, origin: str):
    await visitor.sign_in()
    status, text = await visitor.get(visitor.home + route, Origin=origin)
    assert (status, text) == (403, "The Origin is not the served address.\n")


async def test_the_served_address_is_no_other_scheme_or_port(visitor: Visitor):
    await visitor.sign_in()
    for origin in (visitor.origin.replace("http", "https"), f"{visitor.origin}0", visitor.host):
        assert (await visitor.get(visitor.home, Origin=origin))[0] == 403
    assert (await visitor.get(visitor.home, Origin=visitor.origin))[0] == 200


@pytest.mark.parametrize("origin", ["https://attacker.example", "null", None])
async def test_no_websocket_for_another_page(visitor: Visitor, origin: str | None):
    """A websocket needs an Origin, with the cookie too."""
    await visitor.sign_in()
    headers = {"Origin": origin} if origin else {}
    with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
        await visitor.session.ws_connect(f"{visitor.home}ws?width=80&height=24", headers=headers)
    assert refused.value.status == 403


async def test_no_websocket_without_the_cookie_or_for_another_host(visitor: Visitor):
    await visitor.sign_in()
    with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
        async with visitor.page(Host="attacker.example"):
            pytest.fail("it was accepted")
    assert refused.value.status == 403
    visitor.session.cookie_jar.clear()
    with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
        async with visitor.page():
            pytest.fail("it was accepted")
    assert refused.value.status == 401


@pytest.mark.parametrize("token", ["", "wrong", "%ff%00", "é", "%ED%A0%80"])
async def test_a_wrong_token_gives_no_cookie(visitor: Visitor, token: str):
    async with visitor.session.get(
        f"{visitor.origin}/?token={token}", allow_redirects=False
    ) as got:
        assert got.status == 401
        assert "Set-Cookie" not in got.headers
    almost = visitor.address[:-1]
    assert (await visitor.get(almost))[0] == 401
    assert (await visitor.get(f"{visitor.address}x"))[0] == 401


async def test_a_wrong_token_is_refused_with_the_cookie_too(visitor: Visitor):
    await visitor.sign_in()
    assert (await visitor.get(f"{visitor.home}?token=wrong"))[0] == 401


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "HEAD", "PROPFIND"])
async def test_only_get_is_answered(visitor: Visitor, method: str):
    """A form of another page can only send GET and POST."""
    await visitor.sign_in()
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


async def test_the_page_loads_nothing_from_elsewhere(visitor: Visitor):
    await visitor.sign_in()
    _, page = await visitor.get(visitor.home)
    assert page.count("://") == 1  # the websocket
    assert f'"ws://{visitor.host}/' in page


async def test_nothing_of_textual_serve_is_served_that_is_not_needed(visitor: Visitor):
    await visitor.sign_in()
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
    access = Access("http", visitor.host)
    told = capfd.readouterr()
    assert visitor.token not in caplog.text + told.out + told.err
    assert not told.err, "what is not HTTP is no fault to be told"
    assert not any(each in repr(access) for each in (access.token, access.cookie, access.folder))


async def test_a_request_without_a_host(visitor: Visitor):
    reader, writer = await asyncio.open_connection(*visitor.host.split(":"))
    writer.write(f"GET /?token={visitor.token} HTTP/1.0\r\n\r\n".encode())
    assert b" 403 " in await reader.readline()
    writer.close()


@pytest.mark.parametrize("host", ["0.0.0.0", "::", ""])
async def test_other_machines_only_if_allowed(host: str):
    with pytest.raises(InputError, match="can be reached from other machines"):
        async with visiting(NEVER, host):
            pytest.fail("it was served")


async def test_all_addresses_of_the_machine_but_no_name():
    """An address in numbers cannot be made to mean another machine, a name can."""
    async with visiting(NEVER, "0.0.0.0", remote=True) as visitor:
        port = visitor.host.rpartition(":")[2]
        url = f"http://127.0.0.1:{port}/?token={visitor.token}"
        assert (await visitor.get(url))[0] == 303
        for name in ("attacker.example", "127.0.0.2", "localhost", ""):
            assert (await visitor.get(url, Host=f"{name}:{port}"))[0] == 403


async def test_behind_a_proxy():
    url = "https://Chat.example.org:443/"
    async with visiting(NEVER, url=url, remote=True) as visitor:
        assert visitor.address.startswith("https://chat.example.org/?token=")


def test_what_a_proxy_adds():
    for url in (
        "chat.example.org",
        "ftp://x",
        "https://x/path",
        "https://x:y",
        "https://a@x",
        "//",
    ):
        with pytest.raises(InputError, match="--url"):
            granted_access("127.0.0.1", "127.0.0.1", 80, url, remote=True)
    with pytest.raises(InputError, match="for other machines"):
        granted_access("127.0.0.1", "127.0.0.1", 80, "https://x", remote=False)


def test_addresses_as_browsers_write_them():
    assert authority_of("127.0.0.1", 8000) == "127.0.0.1:8000"
    assert authority_of("LocalHost", 80) == "localhost"
    assert authority_of("::1", 8000) == "[::1]:8000"
    assert authority_of("a", 443, "https") == "a"
    assert authority_of("a", 443) == "a:443"
