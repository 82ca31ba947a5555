"""The core's offline provider: what its models say, and what it says of all else."""

import httpx
import pytest

from tests.support.tables import each_row
from tui_chat.models.endpoint import Protocol
from tui_chat.offline.models import blocks
from tui_chat.offline.provider import OfflineTransport
from tui_chat.protocols.registry import protocol_of
from tui_chat.providers.response_recorder import read_recorded

PATH = "/v1/chat/completions"
TRICKY = 'line one\r\nzwei 🌸 三\u2028four \u0000 `ticks` "quotes" \\ data: [DONE]\n\nend'


@pytest.fixture
async def client():
    transport = OfflineTransport()
    async with httpx.AsyncClient(transport=transport, base_url="http://loopback.invalid") as client:
        yield client


def body(model: str, text: str = "hello", **fields):
    return {"model": model, "messages": [{"role": "user", "content": text}], **fields}


@each_row("stream", [False, True])
async def test_echo_repeats_exactly(client, stream):
    response = await client.post(PATH, json=body("echo", TRICKY, stream=stream))
    if stream:
        reply, error = read_recorded(response.content, Protocol.OPENAI_CHAT)
        assert error is None
    else:
        reply = protocol_of(Protocol.OPENAI_CHAT).read_reply(response.content)
    assert (reply.text, reply.finish.raw) == (TRICKY, "stop")
    assert reply.usage.output


async def test_the_mirror_shows_what_arrived_and_no_key(client):
    hostile = "```\n# not a heading\n``````\n</x>\n`````````` tail `"
    call = {"id": "c1", "type": "function", "function": {"name": "find", "arguments": "{}"}}
    tool = {"type": "function", "function": {"name": "find", "description": "finds"}}
    messages = [
        {"role": "system", "content": hostile},
        {"role": "user", "content": "`"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "found it"},
    ]
    request = {"model": "mirror", "messages": messages, "tools": [tool], "temperature": 0.5}
    headers = {"authorization": "Bearer sk-very-secret"}
    response = await client.post(PATH, json=request, headers=headers)
    text = response.json()["choices"][0]["message"]["content"]
    ticks = "`" * 11
    assert f"{ticks}text\n{hostile}\n{ticks}\n" in text
    for line in (
        "2. **user** `` ` `` (1 character)",
        "3. **assistant** [calls `find`] `{}`",
        "4. **tool** [result] `found it` (8 characters)",
        "- `find`: `finds`",
        "- `temperature` = `0.5`",
        "4 turns",
    ):
        assert line in text
    assert "secret" not in response.text


async def test_a_long_conversation_shows_both_ends(client):
    turns = [{"role": "user", "content": f"turn {i}"} for i in range(1, 10_001)]
    text = (await client.post(PATH, json={"model": "mirror", "messages": turns})).text
    assert "1. **user** `turn 1` (6 characters)" in text
    assert "10000. **user** `turn 10000` (10 characters)" in text
    assert "9,600 turns between" in text
    assert len(text) < 40_000


async def test_lorem_is_as_long_as_asked_and_its_python_runs(client):
    for model, limit, tokens, reason in (
        ("lorem:max", {}, 900, "stop"),
        ("lorem:max:120", {}, 120, "stop"),
        ("lorem:max", {"max_tokens": 20}, 20, "length"),
    ):
        reply = (await client.post(PATH, json=body(model, **limit))).json()
        assert reply["usage"]["completion_tokens"] == tokens
        assert reply["choices"][0]["finish_reason"] == reason
    code = "".join(blocks(400)).partition("```python\n")[2].partition("```")[0]
    assert "import" in code
    exec(code, {"__name__": "sample"})


@each_row(
    ("path", "request_body", "status", "words"),
    [
        (PATH, body("thinker"), 404, "no model “thinker”. It has mirror, echo and lorem"),
        (PATH, body("lorem:0"), 404, "no model “lorem:0”"),
        (PATH, {"model": "echo", "messages": "x"}, 400, "messages must be a list"),
        ("/v1/messages", body("echo"), 404, "answers OpenAI Chat only. It has"),
    ],
)
async def test_what_it_does_not_have_is_said_in_words(client, path, request_body, status, words):
    response = await client.post(path, json=request_body)
    assert response.status_code == status
    assert words in response.json()["error"]["message"]
