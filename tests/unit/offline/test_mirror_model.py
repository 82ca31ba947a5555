"""The mirror: does it show an author of presets where everything landed?"""

import httpx

from tests.support.tables import each_row

from .provider_messages import read_reply

SECRET = "sk-very-secret"
IMAGE = "data:image/png;base64,iVBORw0KGgo="


async def mirror(client: httpx.AsyncClient, protocol: str, path: str, body: object) -> str:
    response = await client.post(path, json=body, headers={"x-api-key": SECRET})
    text = read_reply(protocol, response).text
    assert SECRET not in response.text
    return text


CASES = {
    "openai_chat": (
        "/v1/chat/completions",
        {
            "model": "mirror",
            "temperature": 0.5,
            "messages": [
                {"role": "system", "content": "be kind"},
                {"role": "user", "content": [
                    {"type": "text", "text": "look"},
                    {"type": "image_url", "image_url": {"url": IMAGE}},
                ]},
                {"role": "assistant", "content": None, "tool_calls": [
                    {"id": "c1", "type": "function",
                     "function": {"name": "find", "arguments": '{"q":"x"}'}},
                ]},
                {"role": "tool", "tool_call_id": "c1", "content": "found it"},
                {"role": "developer", "content": "be brief"},
                {"role": "user", "content": "and?"},
            ],
        },
        ["1. **system** `be kind` (7 characters)",
         "2. **user** `look` (4 characters); [image]",
         '3. **assistant** [calls `find`] `{"q":"x"}`',
         "4. **tool** [result] `found it` (8 characters)",
         "5. **developer** `be brief` (8 characters)",
         "6. **user** `and?` (4 characters)",
         "In turn 1 (system), 7 characters:\n\n```text\nbe kind\n```",
         "- `temperature` = `0.5`", "6 turns"],
    ),
    "openai_responses": (
        "/v1/responses",
        {
            "model": "mirror",
            "instructions": "be kind",
            "reasoning": {"effort": "low"},
            "input": [
                {"role": "user", "content": [
                    {"type": "input_text", "text": "look"},
                    {"type": "input_image", "image_url": IMAGE},
                ]},
                {"type": "reasoning", "id": "rs_1", "summary": [
                    {"type": "summary_text", "text": "hmm"}], "encrypted_content": "gAAA"},
                {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "find",
                 "arguments": "{}"},
                {"type": "function_call_output", "call_id": "c1", "output": "found it"},
                {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
                 "content": [{"type": "output_text", "text": "there", "annotations": []}]},
                {"type": "web_search_call", "id": "ws_1", "status": "completed"},
            ],
        },
        ["Block 1 of 1, 7 characters:\n\n```text\nbe kind\n```",
         "1. **user** `look` (4 characters); [image]",
         "2. **assistant** [reasoning] `hmm`",
         "3. **assistant** [calls `find`] `{}`",
         "4. **tool** [result] `found it` (8 characters)",
         "5. **assistant** `there` (5 characters)",
         "6. **item** [web_search_call]",
         '- `reasoning` = `{"effort":"low"}`'],
    ),
    "anthropic": (
        "/v1/messages",
        {
            "model": "mirror",
            "max_tokens": 5000,
            "system": [{"type": "text", "text": "be kind"},
                       {"type": "text", "text": "be brief", "cache_control": {}}],
            "tools": [{"name": "find", "description": "finds", "input_schema": {"type": "object"}}],
            "tool_choice": {"type": "tool", "name": "find"},
            "messages": [
                {"role": "user", "content": [
                    {"type": "text", "text": "look"},
                    {"type": "image", "source": {"type": "url", "url": "https://x/y.png"}},
                ]},
                {"role": "assistant", "content": [
                    {"type": "thinking", "thinking": "hmm", "signature": "sig"},
                    {"type": "tool_use", "id": "t1", "name": "find", "input": {"q": 1}},
                ]},
                {"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": "t1", "content": "found it"},
                    {"type": "text", "text": "and?"},
                ]},
            ],
        },
        ["Block 1 of 2, 7 characters:\n\n```text\nbe kind\n```",
         "Block 2 of 2, 8 characters:\n\n```text\nbe brief\n```",
         "1. **user** `look` (4 characters); [image]",
         '2. **assistant** [reasoning] `hmm`; [calls `find`] `{"q":1}`',
         "3. **user** [result] `found it` (8 characters); `and?` (4 characters)",
         "- `find`: `finds`", "To be called: `find`.", "- `max_tokens` = `5000`"],
    ),
    "gemini": (
        "/v1beta/models/mirror:generateContent",
        {
            "system_instruction": {"parts": [{"text": "be kind"}]},
            "generationConfig": {"temperature": 0.5},
            "safetySettings": [],
            "tools": {"function_declarations": {"name": "find"}},
            "contents": [
                {"role": "user", "parts": [
                    {"text": "look"}, {"inlineData": {"mimeType": "image/png", "data": "AA=="}}]},
                {"role": "model", "parts": [
                    {"functionCall": {"name": "find", "args": {}}, "thoughtSignature": "AA=="}]},
                {"parts": [
                    {"functionResponse": {"name": "find", "response": {"output": "found it"}}}]},
            ],
        },
        ["Block 1 of 1, 7 characters:\n\n```text\nbe kind\n```",
         "1. **user** `look` (4 characters); [image]",
         "2. **model** [calls `find`] `{}`",
         "3. **user** [result of `find`] `found it` (8 characters)",
         "- `generationConfig.temperature` = `0.5`", "- `safetySettings` = `[]`", "- `find`"],
    ),
    "ollama": (
        "/api/chat",
        {
            "model": "mirror",
            "stream": False,
            "options": {"temperature": 0.5, "num_ctx": 4096},
            "keep_alive": "5m",
            "tools": [{"type": "function", "function": {"name": "find", "description": "finds"}}],
            "messages": [
                {"role": "system", "content": "be kind"},
                {"role": "user", "content": "look", "images": ["iVBORw0KGgo="]},
                {"role": "assistant", "content": "", "thinking": "hmm", "tool_calls": [
                    {"function": {"name": "find", "arguments": {"q": 1}}}]},
                {"role": "tool", "tool_name": "find", "content": "found it"},
            ],
        },
        ["1. **system** `be kind` (7 characters)",
         "2. **user** `look` (4 characters); [image]",
         '3. **assistant** [reasoning] `hmm`; [calls `find`] `{"q":1}`',
         "4. **tool** [result of `find`] `found it` (8 characters)",
         "- `options.temperature` = `0.5`", "- `options.num_ctx` = `4096`",
         '- `keep_alive` = `"5m"`', "- `find`: `finds`"],
    ),
}  # fmt: skip


@each_row("protocol", CASES)
async def test_mirror_lists_every_part_in_order(client, protocol):
    path, body, expected = CASES[protocol]
    text = await mirror(client, protocol, path, body)
    for line in expected:
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
