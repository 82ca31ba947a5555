"""Credentials are masked wherever they are kept, and nothing else is."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

import httpx

from tests.plugins.tap.conftest import KEY, Recording
from tests.support.tables import each_row
from tui_chat.plugins.tap.call_output import call_json
from tui_chat.plugins.tap.credentials import Credentials

SECRET = "b7Qz-planted-91xK"


def kept(headers: tuple[tuple[str, str], ...], target: str, body: Any) -> tuple[Any, str, str]:
    """Return what is kept of a request: headers, target and body."""
    found = Credentials(headers, target)
    found.add_body(body)
    text = found.mask_text(json.dumps(body, ensure_ascii=False))
    return found.mask_headers(headers), found.mask_target(target), text


@each_row(
    "body",
    [
        {"prompt_cache_key": "5f2c-thread", "input": [], "client_metadata": {"id": "5f2c-thread"}},
        {"promptCacheKey": "5f2c-thread", "session_id": "5f2c-thread"},
        {"idempotency_key": "5f2c-thread", "eos_token": "<|im_end|>", "page_token": "abcdefgh"},
        {"messages": [{"role": "user", "content": "password: abcdefgh", "api_key": "abcdefgh"}]},
        {"tools": [{"input_schema": {"properties": {"api_key": {"type": "string"}}}}]},
        {"metadata": {"user_id": '{"session_id":"5f2c-thread"}'}},
    ],
)
def test_identifiers_and_the_conversation_stay(body: dict[str, Any]):
    headers = (
        ("session-id", "5f2c-thread"),
        ("thread-id", "5f2c-thread"),
        ("x-codex-window-id", "5f2c-thread:0"),
        ("Idempotency-Key", "5f2c-thread"),
        ("x-claude-code-session-id", "5f2c-thread"),
        ("authorization", f"Bearer {SECRET}"),
    )
    found, target, text = kept(headers, "/v1/responses?session=5f2c-thread", body)
    assert found == (*headers[:-1], ("authorization", "Bearer [key]"))
    assert target == "/v1/responses?session=5f2c-thread"
    assert text == json.dumps(body, ensure_ascii=False)


@each_row(
    "header",
    [
        ("Authorization", f"Bearer {SECRET}"),
        ("authorization", SECRET),
        ("Proxy-Authorization", f"Basic {SECRET}"),
        ("X-Proxy-Authorization", SECRET),
        ("x-api-key", SECRET),
        ("X-Goog-Api-Key", SECRET),
        ("api-key", SECRET),
        ("Ocp-Apim-Subscription-Key", SECRET),
        ("cookie", f"a=b; sid={SECRET}"),
        ("X-Session-Token", SECRET),
        ("token", SECRET),
        ("x-forward-to", f"https://user:{SECRET}@gateway.example/v1"),
        ("x-forward-to", f"https://gateway.example/v1?key={SECRET}"),
    ],
)
def test_a_credential_of_a_header_is_masked_wherever_it_is_repeated(header: tuple[str, str]):
    body = {"messages": [{"role": "user", "content": f"It is {SECRET}."}]}
    assert SECRET not in repr(kept((header,), f"/v1?x={SECRET}", body))


@each_row(
    "body",
    [
        {"api_key": SECRET},
        {"apiKey": SECRET},
        {"extra_body": {"provider": {"secret": SECRET}}},
        {"mcp_servers": [{"name": "a", "authorization_token": SECRET}]},
        {"tools": [{"type": "mcp", "authorization": SECRET}]},
        {"tools": [{"type": "mcp", "headers": {"Authorization": f"Bearer {SECRET}"}}]},
        {"tools": [{"type": "mcp", "server_url": f"https://m.example/sse?api_key={SECRET}"}]},
        {"input": [{"type": "additional_tools", "tools": [{"authorization": SECRET}]}]},
    ],
)
def test_a_credential_in_the_settings_of_a_body_is_masked(body: dict[str, Any]):
    assert SECRET not in repr(kept((), "/v1/messages", body))


@each_row("name", ["key", "api_key", "access_token", "sig"])
def test_a_credential_of_the_query_is_masked(name: str):
    found = kept((), f"/v1?alt=sse&{name}={SECRET}&beta=true", {"error": SECRET})
    assert found[1:] == (f"/v1?alt=sse&{name}=[key]&beta=true", '{"error": "[key]"}')


def test_a_placeholder_is_no_credential():
    """A server that wants no key gets a word for one, which may be the name of a model."""
    body = {"model": "ollama/llama3", "messages": [{"role": "user", "content": "english"}]}
    headers = (("authorization", "Bearer ollama"), ("cookie", "lang=english"))
    found = kept(headers, "/v1/chat/completions", body)
    assert found[0] == (("authorization", "Bearer [key]"), ("cookie", "[key]"))
    assert found[2] == json.dumps(body)


async def test_the_record_says_which_text_it_is(tap: Recording):
    content = [{"role": "user", "content": "Hi"}]
    plain = {"model": "echo", "prompt_cache_key": "5f2c-thread", "messages": content}
    async with httpx.AsyncClient(headers={"authorization": f"Bearer {KEY}"}) as client:
        for body in (plain, {**plain, "api_key": KEY[::-1]}):
            await client.post(f"{tap.base_url}/v1/chat/completions?beta=true", json=body)
    one, two = [call_json(call, 0.0)["request"] for call in await tap.recorded(2)]
    assert json.loads(one["body"]) == plain
    assert (one["body_is"], one["bytes"]) == ("as sent", one["sent_bytes"])
    assert json.loads(two["body"]) == {**plain, "api_key": "[key]"}
    assert two["body_is"] == "masked"
    assert two["bytes"] == len(two["body"]) < two["sent_bytes"]
    assert ["authorization", "Bearer [key]"] in two["headers"]


def test_a_key_is_masked_by_its_shape_or_its_place_whatever_its_name_is():
    opaque = "b7Qzplanted91xK"
    shaped = [
        *("sk-proj-PLANTED0123456789abcdef", "ghp_" + "a1B2c3D4e5F6" * 3),
        *("AKIA0123456789ABCDEF", "eyJhbGciOiJIUzI1.eyJzdWIiOiIxMjM0.c2lnbmF0dXJl"),
    ]
    names = ("X-Credential", "X-Authorization-Data", "X-Pass", "X-Pwd", "X-Bearer", "DPoP")
    headers = [(name, opaque) for name in (*names, "X-CSRF", "CSRF")]
    headers += [(f"X-Any-{n}", f"before {key} after") for n, key in enumerate(shaped)]
    wrong: list[str] = []
    for header in headers:
        found, _, text = kept((header,), "/v1", {"messages": [{"content": header[1]}]})
        if any(key in str(found) + text for key in (opaque, *shaped)):
            wrong.append(f"{header}: {found} {text}")
    targets = [f"/v1/x?{name}={opaque}" for name in ("X-Amz-Signature", "X-Amz-Credential", "sig")]
    targets += [f"/v1;token={opaque}/models?a=b", f"/v1/a;v=1;key={opaque}"]
    for key in shaped:
        targets += [f"/v1/{key}/models", f"/v1/models?any={key}&b=c", f"/v1;any={key}?a"]
        targets.append(f"/v1/models?any={quote(f'a {key}/b')}")
    for target in targets:
        _, found, _ = kept((), target, {})
        if any(key in found for key in (opaque, *shaped)) or "[key]" not in found:
            wrong.append(f"{target}: {found}")
    harmless = (("X-Model", "gpt-5-2025"), ("X-Id", "5f2c8d0e-1111-4222-8333-123456789abc"))
    if kept(harmless, "/v1/models/gpt-5;v=2?page=3", {})[:2] != (
        harmless,
        "/v1/models/gpt-5;v=2?page=3",
    ):
        wrong.append("what is no credential is masked")
    assert not wrong, "\n".join(wrong)
