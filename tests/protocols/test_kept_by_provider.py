"""Continuing what the provider keeps: only what is new is sent, and the provider understands it."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import httpx

from tests.support.messages import make_message
from tests.support.vendors import LOOPBACKS, VendorTransport
from tui_chat.compose import Composed, compose, encode
from tui_chat.context import Inputs, SessionSettings
from tui_chat.models.endpoint import Endpoint, Protocol
from tui_chat.models.envelope import ToolDefinition
from tui_chat.models.message import Message, with_content
from tui_chat.models.preset import Preset
from tui_chat.models.reply import Reply
from tui_chat.protocols.registry import protocol_of

RESPONSES = next(each for each in LOOPBACKS if each.protocol is Protocol.OPENAI_RESPONSES)
KEEPING = replace(RESPONSES, provider_keeps=True)


def asking(
    draft: str, *history: Message, endpoint: Endpoint = KEEPING, model: str = "mirror"
) -> Composed:
    named = tuple(replace(each, id=str(number)) for number, each in enumerate(history))
    settings = SessionSettings(model=model)
    return compose(
        Inputs(endpoint, Preset("p"), history=named, draft=draft, settings=settings, stream=False)
    )


def body_of(composed: Composed) -> Any:
    return json.loads(composed.payload.body)


async def answer(client: httpx.AsyncClient, composed: Composed) -> Message:
    response = await client.post(composed.url, content=composed.payload.body)
    assert response.status_code == 200, response.text
    reply: Reply = protocol_of(composed.protocol).read_reply(response.content)
    return reply.message(composed.protocol)


async def test_the_second_request_has_only_new_messages() -> None:
    async with httpx.AsyncClient(transport=VendorTransport()) as client:
        first = asking("Remember 7.")
        assert body_of(first)["store"] is True
        reply = await answer(client, first)
        second = asking("Which number?", Message.of("user", "Remember 7."), reply)
        body = body_of(second)
        assert body["input"] == [{"role": "user", "content": "Which number?"}]
        assert reply.about.kept_as is not None
        assert body["previous_response_id"] == reply.about.kept_as.id
        assert [note.code for note in second.notes] == ["kept-by-provider"]
        seen = (await answer(client, second)).content
        assert "Remember 7." in seen  # the mirror shows the whole conversation
        assert "Which number?" in seen


def with_tool(composed: Composed) -> Composed:
    schema = {"type": "object", "properties": {"city": {"type": "string"}}}
    tools = (ToolDefinition("weather", "Tells the weather.", schema),)
    return encode(replace(composed.envelope, tools=tools), composed.endpoint)


async def test_results_of_kept_calls_are_sent_without_them() -> None:
    async with httpx.AsyncClient(transport=VendorTransport()) as client:
        question = Message.of("user", "Use a tool.")
        reply = await answer(client, with_tool(asking(question.content, model="toolsmith")))
        assert reply.tool_calls
        results = [make_message("tool", "done", tool_call_id=call.id) for call in reply.tool_calls]
        following = with_tool(asking("", question, reply, *results, model="toolsmith"))
        assert {item["type"] for item in body_of(following)["input"]} == {"function_call_output"}
        assert (await answer(client, following)).content


async def test_a_reply_that_was_changed_or_not_kept_is_sent_again() -> None:
    async with httpx.AsyncClient(transport=VendorTransport()) as client:
        question = Message.of("user", "a")
        kept = await answer(client, asking("a"))
        changed = with_content(kept, kept.content + "!")
        own = await answer(client, asking("a", endpoint=RESPONSES))
        assert own.about.kept_as is None
        for reply in (changed, own):
            body = body_of(asking("b", question, reply))
            assert "previous_response_id" not in body
            assert len(body["input"]) == 3
        body = body_of(asking("b", question, kept, endpoint=RESPONSES))
        assert (len(body["input"]), body["store"]) == (3, False)
