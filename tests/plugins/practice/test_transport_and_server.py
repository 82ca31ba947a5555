"""The practice server: transport, command, models and tokens."""

from __future__ import annotations

import asyncio
import json
import re
import signal
from pathlib import Path

import httpx
import pytest

from tests.support.program import PIPE, Program, run_program
from tests.support.sdks import anthropic, openai
from tests.support.tables import each_row
from tui_chat.offline import models as core
from tui_chat.offline.provider import OfflineDependencies
from tui_chat.plugins.practice.endpoints import MODELS
from tui_chat.plugins.practice.json_answers import sample_of
from tui_chat.plugins.practice.models import find_model
from tui_chat.plugins.practice.provider import PracticeTransport

from .provider_messages import PROTOCOLS, read_reply, request

both = each_row("stream", [False, True], ids=["whole", "stream"])
every = each_row("protocol", PROTOCOLS)


class Gate:
    """A clock that stands still until told, and knows who gave up waiting."""

    def __init__(self) -> None:
        self.waiting = asyncio.Event()
        self.opened = asyncio.Event()
        self.cancelled = asyncio.Event()
        self.naps = 0

    async def sleep(self, _seconds: float) -> None:
        self.naps += 1
        self.waiting.set()
        try:
            await self.opened.wait()
        except asyncio.CancelledError:
            self.cancelled.set()
            raise

    @property
    def dependencies(self) -> OfflineDependencies:
        return OfflineDependencies(now=lambda: 0.0, monotonic=lambda: 0.0, sleep=self.sleep)


@pytest.fixture(params=["transport", "socket"])
async def either_client(request, client, server):
    """A client through either either_client; both record into `received`."""
    if request.param == "transport":
        yield client
        return
    async with httpx.AsyncClient(base_url=server.base_url, headers=client.headers) as through:
        yield through


async def drain(
    either_client: httpx.AsyncClient, into: bytearray, path: str, body, **options
) -> None:
    async with either_client.stream("POST", path, json=body, **options) as response:
        assert response.status_code == 200
        async for data in response.aiter_raw():
            into += data


@every
@both
async def test_the_exact_bytes_arrive(either_client, received, protocol, stream):
    path, body = request(protocol, "echo", "exact: \u2028 é 🌸", stream=stream)
    sent = json.dumps(body, ensure_ascii=False, indent=1).encode()
    response = await either_client.post(path, content=sent)
    assert read_reply(protocol, response).text == "exact: \u2028 é 🌸"
    (seen,) = received
    received.clear()
    assert seen.body == sent
    assert seen.method == "POST"
    assert seen.target == path
    assert seen.header("authorization") == "Bearer sk-very-secret"
    assert "secret" not in repr(seen)


@every
async def test_a_cut_stream_ends_without_its_end(either_client, protocol):
    path, body = request(protocol, "flaky-cut", stream=True)
    got = bytearray()
    with pytest.raises(httpx.RemoteProtocolError, match="peer closed connection"):
        await drain(either_client, got, path, body)
    assert b" never" in got
    for end in (b"[DONE]", b"message_stop", b"response.completed", b"finishReason"):
        assert end not in got


@every
async def test_a_cut_whole_reply_does_not_come(either_client, protocol):
    path, body = request(protocol, "flaky-cut")
    with pytest.raises(httpx.RemoteProtocolError):
        await either_client.post(path, json=body)


@both
async def test_a_stall_runs_into_the_read_timeout(either_client, stream):
    path, body = request("anthropic", "flaky-stall", stream=stream)
    got = bytearray()
    with pytest.raises(httpx.ReadTimeout):
        await drain(either_client, got, path, body, timeout=httpx.Timeout(5, read=0.05))
    assert (b"text_delta" in got) is stream


async def test_the_first_text_arrives_before_the_last_is_generated(either_client, clock):
    path, body = request("openai_chat", "lorem:1:100", stream=True)
    start = clock.time
    async with either_client.stream("POST", path, json=body) as response:
        first = await anext(response.aiter_raw())
    assert b'"role":"assistant"' in first
    assert clock.time - start < 50


class TestTransport:
    async def test_cancelling_the_reader_stops_the_model(self):
        gate = Gate()
        async with httpx.AsyncClient(transport=PracticeTransport(gate.dependencies)) as client:
            path, body = request("gemini", "lorem:1")
            post = asyncio.create_task(client.post(f"http://x{path}", json=body))
            await gate.waiting.wait()
            post.cancel()
            with pytest.raises(asyncio.CancelledError):
                await post
            await asyncio.wait_for(gate.cancelled.wait(), 2)


class TestServer:
    async def test_twenty_streams_at_once(self, server):
        async def one(client: httpx.AsyncClient, number: int) -> str:
            protocol = PROTOCOLS[number % len(PROTOCOLS)]
            text = f"stream {number} " + "word " * 200 + "end"
            path, body = request(protocol, "echo:100", text, stream=True)
            headers = {"anthropic-version": "2026-10-21"}
            reply = read_reply(protocol, await client.post(path, json=body, headers=headers))
            return reply.text.replace("word ", "")

        async with httpx.AsyncClient(base_url=server.base_url) as client:
            texts = await asyncio.gather(*(one(client, number) for number in range(20)))
        assert texts == [f"stream {number} end" for number in range(20)]

    async def test_a_body_over_the_limit_is_refused(self, server, monkeypatch):
        monkeypatch.setattr("tui_chat.plugins.practice.provider.MAX_BODY", 1_000)
        async with httpx.AsyncClient(base_url=server.base_url) as client:
            response = await client.post("/v1/messages", content=b"x" * 5000)
        assert (response.status_code, response.json()["error"]["type"]) == (
            413,
            "request_too_large",
        )


@each_row("status", [429, 500, 529])
async def test_failures_end_after_n_requests(client, status):
    path, body = request("anthropic", f"flaky-{status}:2", "at last", stream=True)
    statuses = [(await client.post(path, json=body)).status_code for _ in range(3)]
    assert statuses == [status, status, 200]
    path, body = request("anthropic", f"flaky-{status}")
    assert [(await client.post(path, json=body)).status_code for _ in range(3)] == [status] * 3


# --- `tui-chat practice` ------------------------------------------------------------------


@pytest.fixture
def base():
    server = Program(("practice", "--port", "0"), stdout=PIPE, stderr=PIPE)
    found = re.search(r"http://127\.0\.0\.1:\d+", server.stdout.readline().decode())
    yield found[0]
    server.send_signal(signal.SIGINT)
    _, said = server.communicate(timeout=20)
    assert server.returncode == 0
    assert b"Traceback" not in said


@pytest.mark.slow
def test_official_sdks_work_with_it(base: str):
    client = openai.OpenAI(base_url=f"{base}/v1", api_key="any")
    chat = client.chat.completions.create(
        model="echo", messages=[{"role": "user", "content": "hello"}]
    )
    assert chat.choices[0].message.content == "hello"
    claude = anthropic.Anthropic(base_url=base, api_key="any")
    with claude.messages.stream(
        model="echo", max_tokens=100, messages=[{"role": "user", "content": "again"}]
    ) as stream:
        assert "".join(stream.text_stream) == "again"


@pytest.mark.slow
def test_a_public_address_is_refused():
    done = run_program("practice", "--host", "0.0.0.0", "--port", "0")
    assert done.returncode == 2
    assert "0.0.0.0" in done.stderr
    assert "Traceback" not in done.stderr


# --- The practice models by their names, what lorem writes, and samples of schemas --------


def test_every_model_of_the_catalog_exists():
    assert all(find_model(name, 1) is not None for name in MODELS)
    assert core.MODELS.items() <= MODELS.items()


@each_row("name", ["", "Mirror", "lorem:", "lorem:-1", "lorem:١", "lorem:max:max",
                                  "flaky-cut:2", "mirror:0", "echo:max:1"])  # fmt: skip
def test_invalid_names_have_no_model(name):
    assert find_model(name, 1) is None


NODE = {"type": "object", "properties": {"l": {"$ref": "#"}, "r": {"$ref": "#"}},
        "required": ["l", "r"]}  # fmt: skip

SAMPLES = json.loads(Path(__file__).with_name("schema_samples.json").read_text())


@each_row("case", SAMPLES, ids=lambda case: json.dumps(case)[:40])
def test_samples_fit_their_schema(case):
    assert sample_of(case["schema"]) == case["value"]


@each_row("schema", [NODE, {"$ref": "#"}, {"allOf": [{"$ref": "#"}]}])
def test_a_schema_without_end_has_a_sample_of(schema):
    assert len(json.dumps(sample_of(schema))) < 200_000
