"""What a response brings is kept as it was received: bounded, timed, and without the key."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from itertools import count

import httpx
import pytest

from tests.unit.providers.conftest import Closing, Provider, request
from tui_chat.errors import Refused
from tui_chat.models.session import MAX_RESPONSE_BYTES
from tui_chat.providers.client import IncomingResponse
from tui_chat.providers.response_recorder import ResponseRecorder
from tui_chat.providers.retry import RetryPause, open_with_retries

EVENTS = {"content-type": "text/event-stream; charset=utf-8"}
KEY = "sk-0123456789"


class Pieces(httpx.AsyncByteStream):
    def __init__(self, *pieces: bytes) -> None:
        self.pieces = pieces

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self.pieces:
            yield piece


def clock(step: float) -> Iterator[float]:
    return (n * step for n in count())


async def taped(
    provider: Provider, closing: Closing, recorder: ResponseRecorder, **changes: object
) -> list[tuple[str, str]]:
    client = closing(provider.client({"KEY": KEY}))
    async with client.open(request(**changes)) as response:
        recorder.record(response)
        if response.is_stream:
            return [event async for event in response.events()]
        await response.read_body()
    return []


async def test_a_stream_is_kept_byte_for_byte_with_its_times(
    provider: Provider, closing: Closing
) -> None:
    pieces = ("data: é".encode()[:7], "é\r\n\r\n".encode()[1:], b": ping\n\ndata: end")
    provider.answers = [httpx.Response(200, headers=EVENTS, stream=Pieces(*pieces))]
    ticks = clock(0.25)
    recorder = ResponseRecorder(lambda: next(ticks))
    assert await taped(provider, closing, recorder) == [("", "é"), ("", "end")]
    found = recorder.received()
    assert found is not None
    assert (found.status, found.media, found.gone) == (200, "text/event-stream", 0)
    assert found.body == b"".join(pieces)
    assert found.times == ((250, 7), (500, 12), (750, found.size))


async def test_of_a_long_one_the_newest_part_is_kept(provider: Provider, closing: Closing) -> None:
    pieces = [b"%07d\n" % n * 8_000 for n in range(24)]  # no larger than what is taken at once
    provider.answers = [httpx.Response(200, stream=Pieces(*pieces))]
    ticks = clock(1)
    recorder = ResponseRecorder(lambda: next(ticks))
    await taped(provider, closing, recorder)
    found = recorder.received()
    assert found is not None
    whole = b"".join(pieces)
    assert (found.size, len(found.body)) == (len(whole), MAX_RESPONSE_BYTES)
    assert found.body == whole[-MAX_RESPONSE_BYTES:]
    assert found.times[0] == (8000, 8 * 64_000)
    assert found.times[-1] == (24_000, len(whole))


async def test_the_key_is_hidden_where_a_server_repeats_it(
    provider: Provider, closing: Closing
) -> None:
    provider.answers = [httpx.Response(401, json={"error": f"wrong key {KEY}"})]
    recorder = ResponseRecorder()
    await taped(provider, closing, recorder, key="env:KEY")
    found = recorder.received()
    assert found is not None
    assert provider.seen[0].headers["authorization"] == f"Bearer {KEY}"
    assert found.body == b'{"error":"wrong key [key]"}'


@pytest.mark.slow
@pytest.mark.parametrize("keys", [1, 5000])
async def test_a_key_across_the_border_of_what_is_kept_is_hidden(
    keys: int, provider: Provider, closing: Closing
) -> None:
    repeated = KEY.encode() * keys
    for tail in (MAX_RESPONSE_BYTES - 5, MAX_RESPONSE_BYTES + 8192 - 5):
        pieces = [
            b"x" * 100,
            repeated,
            *[b"y" * 10] * ((tail - tail % 10) // 10),
            b"z" * (tail % 10),
        ]
        provider.answers = [httpx.Response(200, stream=Pieces(*pieces))]
        recorder = ResponseRecorder()
        await taped(provider, closing, recorder, key="env:KEY")
        found = recorder.received()
        assert found is not None
        assert KEY[-5:].encode() not in found.body
        assert found.body.endswith(b"y" + b"z" * (tail % 10))


async def test_of_several_tries_the_last_one_is_kept(provider: Provider, closing: Closing) -> None:
    provider.answers = [httpx.Response(500, text="first"), httpx.Response(200, text="second")]
    recorder = ResponseRecorder()

    async def refusal(response: IncomingResponse) -> Refused:
        recorder.record(response)
        await response.read_body()
        return Refused("no", status=response.status)

    def waiting(pause: RetryPause) -> None:
        found = recorder.received()
        assert found is not None
        assert found.body == b"first"

    client = closing(provider.client())
    async with open_with_retries(client, request(), refusal, waiting) as response:
        recorder.record(response)
        await response.read_body()
    found = recorder.received()
    assert found is not None
    assert (found.status, found.body, found.size) == (200, b"second", 6)
