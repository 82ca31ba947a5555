"""The mirror: does it show an author of presets where everything landed?"""

import json
from pathlib import Path

import httpx

from tests.support.tables import each_row

from .provider_messages import read_reply

SECRET = "sk-very-secret"


async def mirror(client: httpx.AsyncClient, protocol: str, path: str, body: object) -> str:
    response = await client.post(path, json=body, headers={"x-api-key": SECRET})
    text = read_reply(protocol, response).text
    assert SECRET not in response.text
    return text


CASES = json.loads(Path(__file__).with_name("mirror_requests.json").read_text())


@each_row("protocol", CASES)
async def test_mirror_lists_every_part_in_order(client, protocol):
    case = CASES[protocol]
    text = await mirror(client, protocol, case["path"], case["body"])
    for line in case["lines"]:
        assert line in text, text


async def test_hostile_text_cannot_escape_its_fence(client):
    hostile = "```\n# not a heading\n``````\n</x>\n`````````` tail `"
    body = {
        "model": "mirror",
        "messages": [{"role": "system", "content": hostile}, {"role": "user", "content": "`"}],
    }
    text = await mirror(client, "openai_chat", "/v1/chat/completions", body)
    ticks = "`" * 11
    assert f"{ticks}text\n{hostile}\n{ticks}\n" in text
    assert "2. **user** `` ` `` (1 character)" in text


async def test_a_key_in_the_query_is_not_repeated(client):
    body = {"contents": [{"parts": [{"text": "hi"}]}]}
    path = f"/v1beta/models/mirror:generateContent?key={SECRET}"
    await mirror(client, "gemini", path, body)
    wrong = await client.post(f"/v1beta/nowhere?key={SECRET}", json=body)
    assert wrong.status_code == 404
    assert SECRET not in wrong.text


async def test_a_long_conversation_shows_both_ends(client):
    turns = [{"role": "user", "content": f"turn {i}"} for i in range(1, 10_001)]
    body = {"model": "mirror", "messages": turns}
    text = await mirror(client, "openai_chat", "/v1/chat/completions", body)
    assert "1. **user** `turn 1` (6 characters)" in text
    assert "10000. **user** `turn 10000` (10 characters)" in text
    assert "9,600 turns between" in text
    assert len(text) < 40_000
