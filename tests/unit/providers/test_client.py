"""What leaves: headers, keys, timeouts, proxies; and what never shows."""

from __future__ import annotations

import asyncio
import io
import logging
import sys
import traceback
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace

import httpx
import pytest
from rich.console import Console
from rich.traceback import Traceback

from tests.support.tables import each_row
from tests.support.vendors import ENDPOINTS
from tests.unit.providers.conftest import Closing, Provider, request
from tui_chat.analysis.http_text import as_curl, as_http
from tui_chat.compose import compose
from tui_chat.context import Inputs, SessionSettings
from tui_chat.errors import ConfigError, TooLarge, Unreachable
from tui_chat.models.endpoint import Endpoint, Protocol, Timeouts
from tui_chat.models.preset import Preset
from tui_chat.providers.client import HttpClient, OutgoingRequest
from tui_chat.send import outgoing_request

KEY = "sk-proj-0123456789abcdef"
BASE = "https://provider.test/v1"
BEARER = ("authorization", f"Bearer {KEY}")


def endpoint(protocol: Protocol, **changes: object) -> Endpoint:
    fields: dict[str, object] = {"key": "env:KEY", "models": ("m",)}
    return Endpoint("e", protocol, BASE, **(fields | changes))  # type: ignore[arg-type]


async def sent(provider: Provider, closing: Closing, to: Endpoint) -> httpx.Request:
    composed = compose(Inputs(to, Preset("p"), draft="hi"))
    async with closing(provider.client({"KEY": KEY})).open(outgoing_request(composed)) as response:
        assert response.status == 200
    request = provider.seen[-1]
    assert request.content == composed.payload.body
    assert str(request.url) == composed.url
    for text in (as_http(composed), as_curl(composed)):
        assert KEY not in text
        assert (composed.key_header is None) or composed.key_header[0] in text
    return request


AUTH = {
    "openai": (endpoint(Protocol.OPENAI_CHAT), BEARER),
    "responses": (endpoint(Protocol.OPENAI_RESPONSES), BEARER),
    "anthropic": (endpoint(Protocol.ANTHROPIC), BEARER),
    "gemini": (endpoint(Protocol.GEMINI), ("x-goog-api-key", KEY)),
    "bearer": (endpoint(Protocol.GEMINI, auth="bearer"), BEARER),
    "x-api-key": (endpoint(Protocol.ANTHROPIC, auth="x-api-key"), ("x-api-key", KEY)),
    "x-goog-api-key": (
        endpoint(Protocol.OPENAI_CHAT, auth="x-goog-api-key"),
        ("x-goog-api-key", KEY),
    ),
    "own": (endpoint(Protocol.OPENAI_CHAT, auth="header:api-key"), ("api-key", KEY)),
    "none": (endpoint(Protocol.OPENAI_CHAT, auth="none"), None),
    "no key": (endpoint(Protocol.OPENAI_CHAT, key=""), None),
}


@each_row("style", AUTH)
async def test_the_key_is_in_its_header_and_nowhere_else(
    style: str, provider: Provider, closing: Closing
):
    to, expected = AUTH[style]
    request = await sent(provider, closing, to)
    carriers = [(k, v) for k, v in request.headers.items() if KEY in v]
    assert carriers == ([expected] if expected else [])
    assert KEY not in str(request.url)
    assert KEY.encode() not in request.content


@each_row("protocol", list(Protocol))
async def test_headers_and_query_are_added_and_win(
    protocol: Protocol, provider: Provider, closing: Closing
):
    to = endpoint(
        protocol,
        headers=(("X-Team", "search"), ("ANTHROPIC-VERSION", "mine"), ("accept", "*/*")),
        query=(("api-version", "2026 10"),),
    )
    request = await sent(provider, closing, to)
    assert request.headers["x-team"] == "search"
    assert request.headers.get_list("anthropic-version") == ["mine"]
    assert request.headers.get_list("accept") == ["*/*"]
    assert request.url.params["api-version"] == "2026 10"
    assert request.url.params.get("alt") == ("sse" if protocol is Protocol.GEMINI else None)


@each_row(
    ("protocol", "version", "path", "header"),
    [
        (Protocol.GEMINI, "", "/v1/models/m:streamGenerateContent", None),
        (Protocol.GEMINI, "v1alpha", "/v1alpha/models/m:streamGenerateContent", None),
        (Protocol.ANTHROPIC, "", "/v1/messages", "2026-10-21"),
        (Protocol.ANTHROPIC, "2023-06-01", "/v1/messages", "2023-06-01"),
    ],
)
async def test_the_api_version_behind_a_url_that_ends_in_one(
    protocol: Protocol,
    version: str,
    path: str,
    header: str | None,
    provider: Provider,
    closing: Closing,
):
    request = await sent(provider, closing, endpoint(protocol, api_version=version))
    assert request.url.path == path
    assert request.headers.get("anthropic-version") == header


async def test_timeouts_reach_httpx(provider: Provider, closing: Closing):
    sample = request(timeouts=Timeouts(connect=3, silence=40))
    async with closing(provider.client()).open(sample):
        pass
    limits = provider.seen[0].extensions["timeout"]
    assert (limits["connect"], limits["read"], limits["write"]) == (3, 40, 40)


@asynccontextmanager
async def listening(heard: list[str]) -> AsyncGenerator[str]:
    """Serve HTTP on a loopback socket, keep the request lines, and yield the URL."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n{}")
        heard.append(head.split(b"\r\n")[0].decode())
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


@each_row(
    ("proxy", "url", "way"),
    [
        ("PROXY", "http://far.invalid/v1", "proxy"),
        ("env:MINE", "http://far.invalid/v1", "proxy"),
        ("", "http://far.invalid/v1", "proxy"),
        ("none", "http://far.invalid/v1", "nowhere"),
        ("", "SERVER/v1", "server"),
        ("PROXY", "SERVER/v1", "proxy"),
    ],
)
async def test_a_request_takes_the_proxy_that_is_set(
    proxy: str, url: str, way: str, closing: Closing, monkeypatch: pytest.MonkeyPatch
):
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    heard: dict[str, list[str]] = {"proxy": [], "server": []}
    async with listening(heard["proxy"]) as there, listening(heard["server"]) as here:
        monkeypatch.setenv("HTTP_PROXY", there)
        client = closing(HttpClient(environ={"MINE": there.replace("//", f"//user:{KEY}@")}))
        url = url.replace("SERVER", here)
        with suppress(Unreachable):
            async with client.open(request(url=url, proxy=proxy.replace("PROXY", there))):
                pass
    assert {name for name, lines in heard.items() if lines} == {way} - {"nowhere"}
    if way == "proxy":
        assert heard["proxy"] == [f"POST {url} HTTP/1.1"]


@each_row(
    ("proxy", "words"),
    [("env:NOT_SET", "NOT_SET"), ("env:BAD", "not the URL"), ("socks5://h:1", "SOCKS")],
)
async def test_an_unusable_proxy_is_an_error(
    proxy: str, words: str, closing: Closing, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setitem(sys.modules, "socksio", None)
    client = closing(HttpClient(environ={"BAD": f"ftp://{KEY}"}))
    with pytest.raises(ConfigError, match=words) as raised:
        async with client.open(request(proxy=proxy)):
            pass
    assert raised.value.advice
    assert KEY not in str(raised.value)


class HeaderShown(Exception):
    """What h11 does: an error that quotes the header it does not like."""


@each_row(
    "error",
    [
        httpx.LocalProtocolError(f"Illegal header value b'Bearer {KEY}'"),
        httpx.ConnectError(f"no {KEY}"),
        HeaderShown(f"bad: {KEY}"),
        UnicodeEncodeError("ascii", KEY, 0, 1, KEY),
    ],
    ids=lambda error: type(error).__name__,
)
async def test_no_error_log_or_traceback_shows_the_key(
    error: Exception, closing: Closing, caplog: pytest.LogCaptureFixture
):
    provider = Provider()
    caplog.set_level(logging.DEBUG)
    provider.answers = [error]
    client = closing(provider.client({"KEY": KEY}))
    composed = compose(Inputs(endpoint(Protocol.OPENAI_CHAT), Preset("p"), draft="hi"))
    with pytest.raises(Unreachable) as raised:
        async with client.open(outgoing_request(composed)):
            pass
    assert provider.seen[0].headers["authorization"] == f"Bearer {KEY}", "it was there"
    shown = "".join(traceback.format_exception(raised.value)) + raised.value.advice
    # A crash of the screen is printed by Rich, with the local variables of our frames.
    console = Console(file=io.StringIO(), width=200)
    frames = raised.value.__traceback__
    while frames is not None and "providers/client" not in frames.tb_frame.f_code.co_filename:
        frames = frames.tb_next
    assert frames is not None
    console.print(
        Traceback.from_exception(
            Unreachable, raised.value, frames, show_locals=True, locals_max_string=10_000
        )
    )
    shown += console.file.getvalue()  # type: ignore[attr-defined]
    shown += caplog.text + repr(outgoing_request(composed)) + repr(composed.endpoint) + repr(client)
    assert "Secret(" in shown, "the key was in a variable, and is masked"
    assert KEY not in shown


async def test_a_redirect_is_not_followed(provider: Provider, closing: Closing):
    provider.answers = [httpx.Response(307, headers={"location": "https://evil.test/"})]
    sample = request(key="env:KEY")
    async with closing(provider.client({"KEY": KEY})).open(sample) as response:
        assert response.status == 307
    assert len(provider.seen) == 1


async def test_a_body_is_read_up_to_the_limit_only(provider: Provider, closing: Closing):
    provider.answers = [httpx.Response(200, content=b"x" * 1_000_000)]
    async with closing(provider.client()).open(request()) as response:
        assert await response.read_start(10) == (b"x" * 10, False)
    provider.answers = [httpx.Response(200, content=b"x" * 1_000_000)]
    async with closing(provider.client()).open(request()) as response:
        with pytest.raises(TooLarge, match="larger than 0 KB"):
            await response.read_body(10)


def test_what_is_known_of_a_server_shapes_its_requests():
    mistral = next(e for e in ENDPOINTS if e.name == "mistral")
    settings = SessionSettings(max_tokens=5, temperature=0.5)
    body = compose(Inputs(mistral, Preset("p"), draft="hi", settings=settings)).payload.body
    assert b"stream_options" not in body
    assert b'"max_tokens":5' in body
    other = replace(mistral, server_facts=(), max_tokens_key="max_completion_tokens")
    body = compose(Inputs(other, Preset("p"), draft="hi", settings=settings)).payload.body
    assert b"stream_options" in body
    assert b'"max_completion_tokens":5' in body


@pytest.mark.parametrize("interim", [b"HTTP/1.1 103 X\r\n\r\n", b"HTTP/1.1 100 Continue\r\n\r\n"])
async def test_endless_interim_responses_end_and_leave_turns_to_others(
    interim: bytes, closing: Closing
) -> None:
    ended = asyncio.Event()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        with suppress(ConnectionError):
            while not ended.is_set():
                writer.write(interim * 1_000)
                await writer.drain()
        writer.close()

    turns = 0

    async def count_turns() -> None:
        nonlocal turns
        while not ended.is_set():
            turns += 1
            await asyncio.sleep(0)

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    others = asyncio.create_task(count_turns())
    outgoing = OutgoingRequest("POST", url, (), b"{}", timeouts=Timeouts(silence=0.05))
    with pytest.raises(Unreachable, match="sent interim responses without an end"):
        async with closing(HttpClient()).open(outgoing):
            pass
    ended.set()
    await others
    server.close()
    assert turns > 1


async def test_a_reply_after_interim_responses_is_read(closing: Closing) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for _ in range(2):
            await reader.readuntil(b"\r\n\r\n{}")
            writer.write(b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" * 9)
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 300000\r\n\r\n" + b"x" * 300_000)
            await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    client = closing(HttpClient())
    for _ in range(2):  # over one connection
        async with client.open(OutgoingRequest("POST", url, (), b"{}")) as response:
            assert len(await response.read_body()) == 300_000
    server.close()
