"""What is refused, and in whose words."""

import asyncio
import json

import ollama
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.offline.provider_messages import PROTOCOLS, request
from tests.support.sdks import anthropic, genai, genai_errors, openai
from tests.support.sdks import genai_types as types
from tests.support.vendors import VendorService, serve
from tui_chat.offline.http_messages import HttpRequest, HttpResponse
from tui_chat.offline.service import OfflineService

CHAT, RESPONSES, MESSAGES = "/v1/chat/completions", "/v1/responses", "/v1/messages"
GEMINI, OLLAMA = "/v1beta/models/echo:generateContent", "/api/chat"
PATHS = dict(zip(PROTOCOLS, (CHAT, RESPONSES, MESSAGES, GEMINI, OLLAMA), strict=True))


def shaped(protocol: str, response) -> str:
    """The message of an error, after checking the provider's shape around it."""
    body = response.json()
    match protocol:
        case "anthropic":
            assert body["type"] == "error"
            assert body["request_id"] == response.headers["request-id"]
            assert set(body["error"]) == {"type", "message"}
        case "gemini":
            assert body["error"]["code"] == response.status_code
            assert body["error"]["status"].isupper()
        case "ollama":
            assert set(body) == {"error"}
            return body["error"]
        case _:
            assert set(body["error"]) == {"message", "type", "param", "code"}
            assert response.headers["x-request-id"].startswith("req_")
    return body["error"]["message"]


BROKEN = {
    "empty": b"",
    "not json": b"{",
    "bad utf-8": b'{"model": "\xff"}',
    "utf-16": '{"model": "echo"}'.encode("utf-16"),
    "nan": b'{"model": NaN}',
    "infinite": b'{"model": 1e999}',
    "huge integer": b'{"model": ' + b"9" * 10_000 + b"}",
    "lone surrogate": b'{"model": "\\ud800"}',
    "deep array": b"[" * 100_000,
    "deep object": b'{"a":' * 5_000 + b"1" + b"}" * 5_000,
    "deep but legal": b'{"model": "echo", "x": ' + b"[" * 500 + b"]" * 500 + b"}",
    "a list": b"[]",
    "a string": b'"hello"',
    "null": b"null",
    "a number": b"7",
    "no fields": b"{}",
}


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("body", BROKEN.values(), ids=BROKEN)
async def test_broken_bodies(client, protocol, body):
    response = await client.post(PATHS[protocol], content=body)
    assert response.status_code == 400
    assert shaped(protocol, response)


USER = {"role": "user", "content": "hi"}
CALL = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
USE = {"type": "tool_use", "id": "t1", "name": "f", "input": {}}
GEMINI_CALL = {"role": "model", "parts": [{"functionCall": {"name": "f"}}]}
GEMINI_USER = {"role": "user", "parts": [{"text": "hi"}]}

WRONG = [
    (CHAT, {"messages": [USER]}, "you must provide a model parameter"),
    (CHAT, {"model": "echo"}, "Missing required parameter: 'messages'"),
    (CHAT, {"model": 7, "messages": [USER]}, "Invalid type for 'model': expected a string"),
    (CHAT, {"model": "echo", "messages": []}, "empty array"),
    (CHAT, {"model": "echo", "messages": "hi"}, "expected an array, but got a string"),
    (CHAT, {"model": "echo", "messages": ["hi"]}, "'messages[0]': expected an object"),
    (CHAT, {"model": "echo", "messages": [{"role": "boss", "content": "x"}]}, "Invalid value"),
    (CHAT, {"model": "echo", "messages": [{"role": "user"}]}, "'messages[0].content'"),
    (CHAT, {"model": "echo", "messages": [{"role": "user", "content": 5}]}, "expected a string"),
    (CHAT, {"model": "echo", "messages": [{"role": "user", "content": [{"type": "x"}]}]}, "'x'"),
    (CHAT, {"model": "echo", "messages": [USER], "temperature": -1}, ">= 0, but got -1"),
    (CHAT, {"model": "echo", "messages": [USER], "temperature": "hot"}, "expected a decimal"),
    (CHAT, {"model": "echo", "messages": [USER], "stream": "yes"}, "expected a boolean"),
    (CHAT, {"model": "echo", "messages": [USER], "max_tokens": 0}, "below minimum"),
    (CHAT, {"model": "echo", "messages": [USER], "max_tokens": True}, "expected an integer"),
    (CHAT, {"model": "echo", "messages": [USER], "stop": list("abcde")}, "array too long"),
    (CHAT, {"model": "echo", "messages": [USER], "stop": {}}, "expected a string"),
    (CHAT, {"model": "echo", "messages": [USER], "tool_choice": "auto"}, "only allowed when"),
    (CHAT, {"model": "echo", "messages": [USER], "tools": [
        {"type": "function", "function": {"name": "a b"}}]}, "does not match pattern"),
    (CHAT, {"model": "echo", "messages": [
        USER, {"role": "tool", "tool_call_id": "c1", "content": "x"}]}, "must be a response"),
    (CHAT, {"model": "echo", "messages": [
        USER, {"role": "assistant", "tool_calls": [CALL]}, USER]}, "did not have response"),
    (RESPONSES, {"input": "hi"}, "you must provide a model parameter"),
    (RESPONSES, {"model": "echo"}, "'input'"),
    (RESPONSES, {"model": "echo", "input": 5}, "expected a string"),
    (RESPONSES, {"model": "echo", "input": [{"role": "tool", "content": "x"}]}, "Invalid value"),
    (RESPONSES, {"model": "echo", "input": "x", "max_output_tokens": 5}, ">= 16"),
    (RESPONSES, {"model": "echo", "input": [
        {"type": "function_call", "id": "c1", "call_id": "c1", "name": "f", "arguments": "{}"}]},
     "begins with 'fc'"),
    (RESPONSES, {"model": "echo", "input": [
        {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"}]},
     "No tool output found for function call c1"),
    (RESPONSES, {"model": "echo", "input": [
        {"type": "function_call_output", "call_id": "c1", "output": "x"}]},
     "No tool call found"),
    (RESPONSES, {"model": "echo", "previous_response_id": "r", "conversation": "c"}, "exclusive"),
    (MESSAGES, {"model": "echo", "messages": [USER]}, "max_tokens: Field required"),
    (MESSAGES, {"max_tokens": 9, "messages": [USER]}, "model: Field required"),
    (MESSAGES, {"model": "echo", "max_tokens": 9}, "messages: Field required"),
    (MESSAGES, {"model": "echo", "max_tokens": 9, "messages": []}, "at least one message"),
    (MESSAGES, {"model": "echo", "max_tokens": "9", "messages": [USER]}, "valid integer"),
    (MESSAGES, {"model": "echo", "max_tokens": -1, "messages": [USER]}, "greater than or equal"),
    (MESSAGES, {"model": "echo", "max_tokens": 9, "messages": [{"role": "user", "content": ""}]},
     "text content blocks must be non-empty"),
    (MESSAGES, {"model": "echo", "max_tokens": 9, "messages": [{"role": "user", "content": " "}]},
     "must contain non-whitespace text"),
    (MESSAGES, {"model": "echo", "max_tokens": 9, "messages": [
        USER, {"role": "assistant", "content": "so "}]}, "trailing whitespace"),
    (MESSAGES, {"model": "echo", "max_tokens": 9, "messages": [
        USER, {"role": "assistant", "content": [USE]}, USER]}, "without `tool_result`"),
    (MESSAGES, {"model": "echo", "max_tokens": 9, "messages": [
        USER, {"role": "assistant", "content": [USE]}, {"role": "user", "content": [
            {"type": "text", "text": "first"}, {"type": "tool_result", "tool_use_id": "t1"}]}]},
     "without `tool_result`"),
    (MESSAGES, {"model": "echo", "max_tokens": 9, "messages": [{"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": "t9"}]}]}, "unexpected `tool_use_id`"),
    (MESSAGES, {"model": "echo", "max_tokens": 9, "messages": [USER], "tools": [
        {"name": "f", "input_schema": {"type": "array"}}]}, "Input should be 'object'"),
    (MESSAGES, {"model": "echo", "max_tokens": 9, "messages": [USER], "system": [
        {"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}] * 5}, "Found 5"),
    (MESSAGES, {"model": "echo", "max_tokens": 2000, "messages": [USER], "thinking": {
        "type": "enabled", "budget_tokens": 2000}}, "must be greater than"),
    (GEMINI, {"contents": []}, "contents is not specified"),
    (GEMINI, {"contents": "hi"}, "expected an object"),
    (GEMINI, {"contents": [{"role": "boss", "parts": [{"text": "x"}]}]}, "valid role"),
    (GEMINI, {"contents": [{"role": "user", "parts": []}]}, "must not be empty"),
    (GEMINI, {"contents": [{"role": "user", "parts": [{}]}]}, "one initialized field"),
    (GEMINI, {"contents": [GEMINI_USER, GEMINI_CALL, GEMINI_USER]}, "number of function response"),
    (GEMINI, {"contents": [GEMINI_CALL]}, "immediately after a user turn"),
    (GEMINI, {"contents": [GEMINI_USER], "generationConfig": {"maxOutputTokens": "x"}}, "integer"),
    (GEMINI, {"contents": [GEMINI_USER], "generationConfig": []}, "expected an object"),
    (GEMINI, {"contents": [GEMINI_USER], "tools": [{"functionDeclarations": [{"name": "1"}]}]},
     "Invalid function name"),
    (OLLAMA, {"messages": [USER]}, "model is required"),
    (OLLAMA, {"model": 7}, "cannot unmarshal number into Go struct field ChatRequest.model"),
    (OLLAMA, {"model": "echo", "messages": "hi"}, "cannot unmarshal string into Go struct field"),
    (OLLAMA, {"model": "echo", "messages": [{"role": "user", "content": []}]},
     "ChatRequest.messages.content of type string"),
    (OLLAMA, {"model": "echo", "messages": [{**USER, "images": ["!!"]}]}, "illegal base64 data"),
    (OLLAMA, {"model": "echo", "messages": [{**USER, "tool_calls": [
        {"function": {"name": "f", "arguments": "{}"}}]}]}, "tool_calls.function.arguments"),
    (OLLAMA, {"model": "echo", "messages": [USER], "stream": "yes"}, "ChatRequest.stream of type"),
    (OLLAMA, {"model": "echo", "messages": [USER], "think": "a lot"}, "invalid think value"),
    (OLLAMA, {"model": "echo", "messages": [USER], "think": 3}, "must be a boolean or string"),
    (OLLAMA, {"model": "echo", "messages": [USER], "options": {"temperature": "hot"}},
     'option "temperature" must be of type float32'),
    (OLLAMA, {"model": "echo", "messages": [USER], "options": {"num_ctx": True}},
     'option "num_ctx" must be of type integer'),
    (OLLAMA, {"model": "echo", "messages": [USER], "options": {"stop": "x"}},
     'option "stop" must be of type array'),
    (OLLAMA, {"model": "echo", "messages": [USER], "options": {"stop": [1]}},
     'option "stop" must be of an array of strings'),
    (OLLAMA, {"model": "echo", "messages": [USER], "tools": [{"function": {"parameters": []}}]},
     "ChatRequest.tools.function.parameters"),
]  # fmt: skip


@pytest.mark.parametrize(("path", "body", "message"), WRONG, ids=[w[2] for w in WRONG])
async def test_wrong_requests(client, path, body, message):
    protocol = next(name for name, known in PATHS.items() if known == path)
    response = await client.post(path, json=body)
    assert response.status_code == 400
    assert message in shaped(protocol, response)


async def test_openai_points_at_the_place(client):
    body = {"model": "echo", "messages": [USER, {"role": "user", "content": 5}]}
    error = (await client.post(CHAT, json=body)).json()["error"]
    assert error["param"] == "messages[1].content"
    assert error["code"] == "invalid_type"
    assert error["type"] == "invalid_request_error"


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize(
    "model",
    ["gpt-9", "lorem:0", "lorem:x", "lorem:9999999999", "lorem:1:2:3", "echo:1:2", "flaky-429:0"],
)
async def test_unknown_models_are_not_found(client, protocol, model):
    path, body = request(protocol, model)
    response = await client.post(path, json=body)
    assert response.status_code == 404
    assert model in shaped(protocol, response)


@pytest.mark.parametrize(
    ("method", "path", "status", "protocol"),
    [
        ("POST", "/", 404, "anthropic"),
        ("POST", "/v1/embeddings", 404, "anthropic"),
        ("POST", "/v1/messages/nope", 404, "anthropic"),
        ("POST", "/v1beta/models/echo:explode", 404, "gemini"),
        ("POST", "/v1beta/models/", 405, "gemini"),
        ("GET", "/v1/messages", 405, "anthropic"),
        ("PUT", "/v1beta/models/echo:generateContent", 405, "gemini"),
        ("DELETE", "/v1beta/models/echo", 405, "gemini"),
    ],
)
async def test_wrong_paths_and_methods(client, method, path, status, protocol):
    response = await client.request(method, path)
    assert response.status_code == status
    assert shaped(protocol, response)


async def test_openai_paths_and_methods(client):
    del client.headers["anthropic-version"]
    missing = await client.post("/v1/embeddings", json={})
    assert missing.status_code == 404
    assert shaped("openai_chat", missing) == "Invalid URL (POST /v1/embeddings)"
    wrong = await client.get(CHAT)
    assert wrong.status_code == 405
    assert wrong.json()["error"]["code"] == "method_not_supported"


async def test_anthropic_insists_on_its_version(client):
    del client.headers["anthropic-version"]
    response = await client.post(MESSAGES, json={})
    assert response.status_code == 400
    assert shaped("anthropic", response) == "anthropic-version: header is required"


async def test_ollama_answers_a_wrong_path_in_plain_text(client):
    for method, path, status, words in (
        ("POST", "/api/nowhere", 404, "404 page not found"),
        ("GET", "/api/chat", 405, "405 method not allowed"),
    ):
        response = await client.request(method, path)
        assert (response.status_code, response.text) == (status, words)
        assert response.headers["content-type"] == "text/plain"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner),
    max_leaves=8,
)
VALID = {
    CHAT: {
        "model": "mirror", "messages": [
            USER, {"role": "assistant", "content": "x", "tool_calls": [CALL]},
            {"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": "y"}]}],
        "tools": [{"type": "function", "function": {"name": "f", "parameters": {
            "type": "object", "properties": {"a": {"type": "string"}}}}}],
        "tool_choice": {"type": "function", "function": {"name": "f"}}, "stop": ["q"], "n": 1,
        "max_tokens": 50, "temperature": 1, "stream": False, "stream_options": {}},
    RESPONSES: {
        "model": "mirror", "instructions": "i", "input": [
            USER, {"type": "reasoning", "id": "rs_1", "summary": [{"text": "t"}]},
            {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c", "output": "x"}],
        "tools": [{"type": "function", "name": "f", "parameters": {"type": "object"}}],
        "tool_choice": {"type": "function", "name": "f"}, "text": {}, "metadata": {},
        "max_output_tokens": 50, "stream": False, "include": [], "truncation": "auto"},
    MESSAGES: {
        "model": "mirror", "max_tokens": 3000, "system": [{"type": "text", "text": "s"}],
        "messages": [USER, {"role": "assistant", "content": [USE]}, {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "t1", "content": [
                {"type": "text", "text": "r"}]}]}],
        "tools": [{"name": "f", "input_schema": {"type": "object"}}],
        "tool_choice": {"type": "tool", "name": "f"}, "stop_sequences": ["q"],
        "thinking": {"type": "enabled", "budget_tokens": 1024}, "stream": False},
    "/v1beta/models/mirror:generateContent": {
        "systemInstruction": {"parts": [{"text": "s"}]}, "contents": [
            GEMINI_USER, GEMINI_CALL, {"parts": [
                {"functionResponse": {"name": "f", "response": {"output": "x"}}}]}],
        "tools": [{"functionDeclarations": [{"name": "f", "parameters": {"type": "OBJECT"}}]}],
        "toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["f"]}},
        "generationConfig": {"maxOutputTokens": 50, "stopSequences": ["q"], "temperature": 1}},
    OLLAMA: {
        "model": "mirror", "messages": [
            {**USER, "images": ["iVBORw0KGgo="]},
            {"role": "assistant", "content": "", "thinking": "hm", "tool_calls": [
                {"id": "c", "function": {"index": 0, "name": "f", "arguments": {"a": 1}}}]},
            {"role": "tool", "tool_name": "f", "tool_call_id": "c", "content": "y"}],
        "tools": [{"type": "function", "function": {"name": "f", "parameters": {
            "type": "object", "required": ["a"], "properties": {"a": {"type": "string"}}}}}],
        "options": {"num_predict": 50, "stop": ["q"], "temperature": 1, "use_mmap": True,
                    "unknown": []}, "think": "high", "format": "json", "keep_alive": "5m",
        "stream": False},
}  # fmt: skip


def places(value: object, path: tuple = ()) -> list[tuple]:
    found = [path]
    if isinstance(value, dict):
        found += [p for key, inner in value.items() for p in places(inner, (*path, key))]
    if isinstance(value, list):
        found += [p for i, inner in enumerate(value) for p in places(inner, (*path, i))]
    return found


def changed(value, path: tuple, new: object):
    if not path:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = changed(copy[path[0]], path[1:], new)
    return copy


async def answered(service: OfflineService, request: HttpRequest) -> tuple[HttpResponse, bytes]:
    """The response to a request, and its body; nothing waits."""

    async def pause(_seconds: float | None) -> None:
        raise AssertionError

    response = await service.respond(request, pause)
    return response, b"".join([data async for data in response.body])


@pytest.mark.slow
@given(data=st.data())
@pytest.mark.parametrize("service", [OfflineService, VendorService])
@pytest.mark.parametrize("path", VALID)
def test_any_change_anywhere_gets_a_valid_response(path, service, data):
    place = data.draw(st.sampled_from(places(VALID[path])))
    model = data.draw(st.sampled_from(["mirror", "toolsmith", "thinker"]))
    body = VALID[path] | ({"model": model} if "model" in VALID[path] else {})
    body = changed(body, place, data.draw(JSON))
    sent = json.dumps(body).encode()
    headers = (("anthropic-version", "2026-10-21"),)
    target = path.replace("mirror", model)
    answer, whole = asyncio.run(answered(service(), HttpRequest("POST", target, headers, sent)))
    assert answer.status in (200, 400, 404)
    if dict(answer.headers)["content-type"] == "application/x-ndjson":
        assert all(isinstance(json.loads(line), dict) for line in whole.split(b"\n")[:-1])
    elif whole.startswith((b"data:", b"event:")):  # the changed place asked for a stream
        events = [line[6:] for line in whole.decode().split("\n") if line.startswith("data: {")]
        assert events
        assert all(isinstance(json.loads(event), dict) for event in events)
    else:
        assert isinstance(json.loads(whole), dict)


@pytest.mark.parametrize("path", VALID)
def test_valid_bodies_are_accepted(path):
    sent = json.dumps(VALID[path]).encode()
    headers = (("anthropic-version", "2026-10-21"),)
    answer, _ = asyncio.run(answered(VendorService(), HttpRequest("POST", path, headers, sent)))
    assert answer.status == 200


async def test_an_unknown_earlier_response_is_refused(client):
    body = {"model": "echo", "input": "x", "previous_response_id": "resp_unknown"}
    refused = await client.post(RESPONSES, json=body)
    assert refused.status_code == 400
    assert refused.json()["error"]["code"] == "previous_response_not_found"


@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_the_headers_of_each_vendor(client, protocol):
    path, body = request(protocol, "echo", stream=True)
    headers = (await client.post(path, json=body)).headers
    match protocol:
        case "ollama":
            assert not {"x-request-id", "request-id", "retry-after"} & headers.keys()
        case "anthropic":
            assert headers["request-id"].startswith("req_")
            assert headers["anthropic-ratelimit-requests-reset"].endswith("Z")
        case "gemini":
            assert "request-id" not in headers
            assert headers["server-timing"].startswith("gfet4t7")
        case _:
            assert headers["x-request-id"].startswith("req_")
            assert headers["x-ratelimit-reset-requests"] == "6ms"


class TestClients:
    """The official clients read the refusals as those of their vendors."""

    async def test_openai(self):
        async with (
            serve() as server,
            openai.AsyncOpenAI(
                api_key="k", base_url=f"{server.base_url}/v1", max_retries=0
            ) as client,
        ):
            ask = client.chat.completions.create
            with pytest.raises(openai.RateLimitError) as limited:
                await ask(model="flaky-429", messages=[USER], stream=True)
            assert limited.value.response.headers["retry-after"] == "2"
            assert limited.value.response.headers["x-ratelimit-remaining-requests"] == "0"
            with pytest.raises(openai.NotFoundError, match="does not exist"):
                await ask(model="nobody", messages=[USER])
            with pytest.raises(openai.BadRequestError, match="empty array"):
                await ask(model="echo", messages=[])
            with pytest.raises(openai.BadRequestError, match="not found"):
                await client.responses.create(
                    model="echo", input="hi", previous_response_id="resp_x"
                )

    async def test_anthropic(self):
        ask = {"max_tokens": 9, "messages": [USER]}
        async with (
            serve() as server,
            anthropic.AsyncAnthropic(
                api_key="k", base_url=server.base_url, max_retries=0
            ) as client,
        ):
            with pytest.raises(anthropic.RateLimitError) as limited:
                await client.messages.create(model="flaky-429", **ask)
            headers = limited.value.response.headers
            assert headers["retry-after"] == "2"
            assert headers["anthropic-ratelimit-requests-remaining"] == "0"
            with pytest.raises(anthropic.NotFoundError, match="model: nobody"):
                await client.messages.create(model="nobody", **ask)
            with pytest.raises(anthropic.BadRequestError, match="at least one message"):
                await client.messages.create(model="echo", max_tokens=9, messages=[])

    async def test_gemini(self):
        async with serve() as server:
            options = types.HttpOptions(base_url=server.base_url)
            client = genai.Client(api_key="k", http_options=options).aio
            with pytest.raises(genai_errors.ClientError) as limited:
                await client.models.generate_content(model="flaky-429", contents="hi")
            details = limited.value.details["error"]["details"]
            assert details[0]["@type"].endswith("QuotaFailure")
            assert details[-1]["retryDelay"] == "2s"
            contents = [types.Content(role="user", parts=[])]
            with pytest.raises(genai_errors.ClientError) as empty:
                await client.models.generate_content(model="echo", contents=contents)
            assert empty.value.code == 400
            await client.aclose()

    async def test_ollama(self):
        async with serve() as server:
            client = ollama.AsyncClient(host=server.base_url)
            with pytest.raises(ollama.ResponseError, match="must be of type integer"):
                await client.chat("echo", [USER], options={"top_k": "many"})
