"""Trying again: when, how often, after how long, and when never."""

from __future__ import annotations

import asyncio

import httpx
import pytest

from tests.support.tables import each_row
from tests.unit.providers.conftest import Provider, request
from tui_chat.errors import Refused, ReplyCut, Unreachable
from tui_chat.models.endpoint import Retries
from tui_chat.protocols.common.error_body import response_error
from tui_chat.providers.client import IncomingResponse, OutgoingRequest
from tui_chat.providers.retry import RetryPause, open_with_retries, seconds_before_retry

# 2023-11-14 22:13:20 is second 1,700,000,000, which is what the clock of these tests says.
IN_SEVEN = "Tue, 14 Nov 2023 22:13:27 GMT"
AN_HOUR_OFF = {
    "date": "Tue, 14 Nov 2023 23:13:20 GMT",
    "retry-after": "Tue, 14 Nov 2023 23:13:25 GMT",
}
GEMINI_429 = {
    "error": {
        "code": 429,
        "message": "You exceeded your current quota",
        "status": "RESOURCE_EXHAUSTED",
        "details": [
            {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "3.5s"},
        ],
    }
}
UNPAID = {"error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}}


async def send(
    provider: Provider, outgoing: OutgoingRequest, random_fraction: float = 1.0
) -> list[RetryPause]:
    """Send; returns the pauses that were told. Raises what the last try met."""
    pauses: list[RetryPause] = []

    async def refusal(response: IncomingResponse) -> Refused:
        found = response_error(response.status, await response.read_body())
        if response.retry_after is not None:
            found.retry_after = response.retry_after
        return found

    client = provider.client(random_fraction=random_fraction)
    try:
        async with open_with_retries(client, outgoing, refusal, pauses.append) as response:
            assert response.status == 200
            assert await response.read_body()
    finally:
        await client.aclose()
    return pauses


def refuse(
    status: int, headers: dict[str, str] | None = None, body: object = None
) -> httpx.Response:
    return httpx.Response(status, headers=headers, json=body or {"error": {"message": "no"}})


PASSING = {
    "429": (refuse(429), 0.5),
    "500": (refuse(500), 0.5),
    "502": (refuse(502), 0.5),
    "503": (refuse(503), 0.5),
    "529": (refuse(529), 0.5),
    "408": (refuse(408), 0.5),
    "seconds": (refuse(429, {"retry-after": "2"}), 2.5),
    "milliseconds": (refuse(429, {"retry-after-ms": "1500", "retry-after": "9"}), 1.875),
    "date": (refuse(503, {"retry-after": IN_SEVEN}), 8.0),
    "date by the server's clock": (refuse(503, AN_HOUR_OFF), 6.0),
    "date in the past": (refuse(503, {"retry-after": "Tue, 14 Nov 2000 22:13:20 GMT"}), 0.0),
    "nonsense": (refuse(429, {"retry-after": "soon"}), 0.5),
    "infinite": (refuse(429, {"retry-after": "inf"}), 0.5),
    "negative": (refuse(429, {"retry-after": "-5"}), 0.0),
    "RetryInfo": (refuse(429, body=GEMINI_429), 4.375),
    "told so": (refuse(409, {"x-should-retry": "true"}), 0.5),
    "no connection": (httpx.ConnectError("no"), 0.5),
    "slow connection": (httpx.ConnectTimeout("no"), 0.5),
    "broken before the answer": (httpx.RemoteProtocolError("no"), 0.5),
    "reset": (httpx.ReadError("no"), 0.5),
}


@each_row("trouble", PASSING)
async def test_a_passing_trouble_is_tried_again(trouble: str):
    provider = Provider()
    answer, seconds = PASSING[trouble]
    provider.answers = [answer]
    pauses = await send(provider, request(body=b"the same"))
    assert provider.waits == [pytest.approx(seconds)]
    assert [(pause.seconds, pause.attempt) for pause in pauses] == [(provider.waits[0], 2)]
    assert str(pauses[0].why)
    assert [each.content for each in provider.seen] == [b"the same"] * 2


LASTING = {
    "400": refuse(400),
    "401": refuse(401),
    "404": refuse(404),
    "409": refuse(409),
    "501": refuse(501),
    "redirect": httpx.Response(307, headers={"location": "https://elsewhere.test"}),
    "told not to": refuse(500, {"x-should-retry": "false"}),
    "empty account": refuse(429, body=UNPAID),
    "longer than anyone waits": refuse(429, {"retry-after": "3600"}),
    "silence after the request": httpx.ReadTimeout("no"),
    "no URL": httpx.UnsupportedProtocol("no"),
    "bad header": httpx.LocalProtocolError("no"),
}


@each_row("trouble", LASTING)
async def test_a_permanent_failure_is_reported_at_once(trouble: str):
    provider = Provider()
    provider.answers = [LASTING[trouble]]
    with pytest.raises((Refused, Unreachable)):
        await send(provider, request())
    assert len(provider.seen) == 1
    assert provider.waits == []


async def test_it_gives_up_with_the_last_failure(provider: Provider):
    provider.answers = [refuse(500), refuse(503), refuse(529), refuse(500)]
    with pytest.raises(Refused) as raised:
        await send(provider, request(retries=Retries(times=2)))
    assert raised.value.status == 529
    assert len(provider.seen) == 3


@each_row("times", [0, 1, 5])
async def test_the_endpoint_sets_the_number_of_retries(times: int):
    provider = Provider()
    provider.answers = [refuse(500) for _ in range(10)]
    with pytest.raises(Refused):
        await send(provider, request(retries=Retries(times=times, first_wait=1, longest_wait=6)))
    assert len(provider.seen) == times + 1
    assert provider.waits == [1, 2, 4, 6, 6][:times]


@each_row("random_fraction", [0.0, 0.3, 1.0])
def test_randomness_never_shortens_the_servers_wait(random_fraction: float):
    for demanded in (0.0, 0.1, 2.0, 60.0):
        seconds = seconds_before_retry(1, Retries(), demanded, lambda: random_fraction)
        assert seconds is not None
        assert demanded <= seconds <= demanded * 1.25
    doubled = [
        seconds_before_retry(n, Retries(9), None, lambda: random_fraction) or 0 for n in range(1, 9)
    ]
    assert doubled == sorted(doubled)
    assert doubled[-1] <= 60


async def test_a_reply_that_began_is_never_retried(provider: Provider):
    async def cut():
        yield b"data: {}\n\n"
        raise httpx.RemoteProtocolError("cut")

    stream = {"content-type": "text/event-stream"}
    provider.answers = [httpx.Response(200, headers=stream, content=cut())]
    with pytest.raises(ReplyCut):
        await send(provider, request())
    assert len(provider.seen) == 1


async def test_waiting_can_be_cancelled(provider: Provider):
    provider.answers = [refuse(429)]
    waiting = asyncio.Event()

    async def for_ever(seconds: float) -> None:
        waiting.set()
        await asyncio.Event().wait()

    provider.sleep = for_ever  # type: ignore[method-assign]
    task = asyncio.create_task(send(provider, request()))
    await waiting.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert len(provider.seen) == 1


async def test_a_server_of_ones_own_that_is_off_is_not_waited_for(provider: Provider):
    with pytest.raises(Unreachable) as raised:
        await send(provider, request(url="http://127.0.0.1:9/v1"))
    assert provider.waits == []
    assert "127.0.0.1:9" in str(raised.value)
    assert "Start it" in raised.value.advice
