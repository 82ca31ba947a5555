"""The stand-in of the vendors refuses what they refuse; see `tests.support.vendors`."""

from __future__ import annotations

from typing import Any

import httpx

from tests.support.requests import call, calls, chat, result, user
from tests.support.tables import each_row
from tests.support.vendors import VendorTransport

CHAT, RESPONSES, MESSAGES = "/v1/chat/completions", "/v1/responses", "/v1/messages"
GEMINI = "/v1beta/models/echo:generateContent"
USE = {"type": "tool_use", "id": "t1", "name": "f", "input": {}}
DONE = {"type": "tool_result", "tool_use_id": "t1", "content": "x"}
TEXT = {"type": "text", "text": "first"}
CALL = {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"}
OUTPUT = {"type": "function_call_output", "call_id": "c1", "output": "x"}
HI = {"role": "user", "parts": [{"text": "hi"}]}
ASKED = {"role": "model", "parts": [{"functionCall": {"name": "f"}}]}


def claude(*messages: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"model": "echo", "max_tokens": 9, "messages": list(messages), **more}


def said(*content: Any, role: str = "user") -> dict[str, Any]:
    return {"role": role, "content": list(content)}


WRONG: list[tuple[str, dict[str, Any]]] = [
    (CHAT, chat()),
    (CHAT, chat(user(), result("c1"))),
    (CHAT, chat(user(), calls(call("c1")), user())),
    (CHAT, chat(user(), calls(call("c1"), call("c2")), result("c1"), user())),
    (CHAT, {"model": "echo", "messages": "hi"}),
    (RESPONSES, {"model": "echo", "input": [CALL]}),
    (RESPONSES, {"model": "echo", "input": [OUTPUT]}),
    (MESSAGES, {"model": "echo", "messages": [user()]}),
    (MESSAGES, claude(user(" "))),
    (MESSAGES, claude(user(), {"role": "assistant", "content": "so "})),
    (MESSAGES, claude(user(), said(USE, role="assistant"))),
    (MESSAGES, claude(user(), said(USE, role="assistant"), said(TEXT, DONE))),
    (MESSAGES, claude(said(DONE))),
    (GEMINI, {"contents": [{"role": "user", "parts": []}]}),
    (GEMINI, {"contents": [HI, ASKED, HI]}),
]
RIGHT: list[tuple[str, dict[str, Any]]] = [
    (CHAT, chat(user(), calls(call("c1"), call("c2")), result("c2"), result("c1"), user())),
    (RESPONSES, {"model": "echo", "input": [user(), CALL, OUTPUT]}),
    (MESSAGES, claude(user(), said(USE, role="assistant"), said(DONE, TEXT))),
    (GEMINI, {"contents": [HI]}),
]


@each_row(
    ("path", "body", "status"), [*((*row, 400) for row in WRONG), *((*row, 200) for row in RIGHT)]
)
async def test_a_vendor_refuses_what_breaks_its_rules(path: str, body: Any, status: int) -> None:
    headers = {"anthropic-version": "2026-10-21"} if path == MESSAGES else {}
    body = body if path == GEMINI else {**body, "model": "echo"}
    async with httpx.AsyncClient(transport=VendorTransport()) as client:
        response = await client.post(f"http://x{path}", json=body, headers=headers)
        assert response.status_code == status, response.text
        if path == MESSAGES:
            assert (await client.post(f"http://x{path}", json=body)).status_code == 400
