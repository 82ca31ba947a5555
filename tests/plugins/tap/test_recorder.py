"""Calls of the official SDKs through the tap: read, placed, compared and stored."""

from __future__ import annotations

import asyncio
import gzip
import json
from pathlib import Path
from typing import Any

import brotli
import httpx
import pytest
from backports import zstd

from tests.plugins.tap.conftest import KEY, Recording, recording
from tests.plugins.tap.wire import raw_server
from tests.support.sdks import anthropic, genai, openai
from tests.support.sdks import genai_types as types
from tests.support.tables import each_row
from tests.support.vendors import serve
from tui_chat.models.endpoint import Protocol

TOOL = {
    "type": "function",
    "function": {
        "name": "weather",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
    },
}


def gpt(tap: Recording, **options: Any) -> openai.AsyncOpenAI:
    options = {"max_retries": 0} | options
    return openai.AsyncOpenAI(api_key=KEY, base_url=f"{tap.base_url}/v1", **options)


def claude(tap: Recording) -> anthropic.AsyncAnthropic:
    return anthropic.AsyncAnthropic(api_key=KEY, base_url=tap.base_url, max_retries=0)


async def contents(tap: Recording, session_id: str) -> list[tuple[str, str, str]]:
    transcript = await tap.store.transcripts.get(session_id)
    assert transcript is not None
    return [(e.message.role, e.message.content, e.status) for e in transcript.entries]


async def ask(client: openai.AsyncOpenAI, messages: list[Any], **more: Any) -> str:
    """Ask the model `echo`, unless `more` names another; return its text."""
    reply = await client.chat.completions.create(**{"model": "echo", "messages": messages} | more)
    return reply.choices[0].message.content or ""


def said(*texts: str) -> list[Any]:
    roles = ("user", "assistant")
    return [{"role": roles[n % 2], "content": text} for n, text in enumerate(texts)]


async def test_a_program_that_only_its_instructions_name(tap: Recording):
    pi = "You are an expert coding assistant operating inside pi, a coding agent harness."
    rows = (("pi", pi), ("AsyncOpenAI/Python", "You are terse."))
    async with gpt(tap) as client:
        for _, text in rows:
            for role in ("system", "developer"):
                messages: list[Any] = [{"role": role, "content": text}, *said("Hi")]
                await ask(client, messages)
    names = [each.call.program.name for each in await tap.recorded(4)]
    assert sorted(names) == sorted(name for name, _ in rows for _ in range(2))


async def test_a_conversation_of_openai_chat_with_tools_is_one_session(tap: Recording):
    messages: list[Any] = [
        {"role": "system", "content": "You are terse."},
        {"role": "user", "content": "Weather?"},
    ]
    async with gpt(tap) as client:
        async with client.chat.completions.stream(
            model="toolsmith", messages=messages, tools=[TOOL]
        ) as stream:
            message = (await stream.get_final_completion()).choices[0].message
        messages.append(message.model_dump(exclude_none=True, exclude={"parsed"}))
        call = message.tool_calls[0]
        messages.append({"role": "tool", "tool_call_id": call.id, "content": "rain"})
        text = await ask(client, messages, model="toolsmith", tools=[TOOL])
        messages += [{"role": "assistant", "content": text}, {"role": "user", "content": "Thanks"}]
        await ask(client, messages)
    one, two, three = await tap.recorded(3)
    assert [c.placed.conversation.number for c in (one, two, three)] == [1, 1, 1]
    assert [len(c.placed.added) for c in (one, two, three)] == [1, 2, 2]
    assert one.reply.calls[0].name == "weather"
    assert one.call.model == "toolsmith"
    assert two.comparison.forecast.at.kind == "grown"
    assert two.comparison.forecast.lost == 0
    assert three.comparison.forecast.at.kind == "model"
    (session,) = await tap.sessions()
    assert (session.title, session.tags, session.folder) == ("Weather?", ("tap",), "tap")
    assert await contents(tap, session.session_id) == [
        ("system", "You are terse.", "complete"),
        ("user", "Weather?", "complete"),
        ("assistant", "", "complete"),
        ("tool", "rain", "complete"),
        ("assistant", text, "complete"),
        ("user", "Thanks", "complete"),
        ("assistant", "Thanks", "complete"),
    ]


async def test_the_stored_request_is_the_exact_body(tap: Recording):
    body = (
        b'{ "model":"echo",\n "messages":[{"role":"user","content":"h\\u00e9 \xf0\x9f\x98\x80"}]}'
    )
    async with httpx.AsyncClient(headers={"authorization": f"Bearer {KEY}"}) as client:
        await client.post(f"{tap.base_url}/v1/chat/completions?x=1&key={KEY}", content=body)
    (call,) = await tap.recorded(1)
    (session,) = await tap.sessions()
    transcript = await tap.store.transcripts.get(session.session_id)
    (request,) = transcript.requests
    assert request.request.body == body == call.call.body
    assert request.request.url.endswith("/v1/chat/completions?x=1&key=[key]")
    assert call.call.exact.body == json.dumps(json.loads(body), separators=(",", ":"),
                                              ensure_ascii=False).encode()  # fmt: skip


async def test_the_other_protocols(tap: Recording):
    async with claude(tap) as client:
        async with client.messages.stream(
            model="thinker", max_tokens=500, messages=said("Hi")
        ) as stream:
            await stream.get_final_message()
        await client.messages.count_tokens(model="echo", messages=said("Hi"))
    async with gpt(tap) as client:
        one = await client.responses.create(model="echo", input="Hi")
        await client.responses.create(model="echo", input="More", previous_response_id=one.id)
    options = types.HttpOptions(base_url=tap.base_url)
    gemini = genai.Client(api_key=KEY, http_options=options).aio
    async for _ in await gemini.models.generate_content_stream(model="echo", contents="Hi"):
        pass
    await gemini.aclose()
    found = await tap.recorded(4)
    assert [call.call.protocol for call in found] == [
        Protocol.ANTHROPIC,
        Protocol.OPENAI_RESPONSES,
        Protocol.OPENAI_RESPONSES,
        Protocol.GEMINI,
    ]
    assert found[0].reply.thought
    assert found[0].first_token is not None
    assert [call.placed.conversation.number for call in found] == [1, 2, 2, 3]
    assert [m.content for m in found[2].placed.messages] == ["Hi", "Hi", "More"]
    assert found[3].call.model == "echo"
    assert found[3].reply.text == "Hi"
    assert [other.path for other in tap.others] == ["/v1/messages/count_tokens"]
    assert len(await tap.sessions()) == 3


async def test_what_breaks_the_cache_is_named(tap: Recording):
    system = [{"type": "text", "text": "word " * 400, "cache_control": {"type": "ephemeral"}}]
    messages: list[Any] = [{"role": "user", "content": "One " * 50}]
    async with claude(tap) as client:
        first = await client.messages.create(
            model="echo", max_tokens=500, system=system, messages=messages
        )
        messages.append({"role": "assistant", "content": first.content[0].text})
        messages.append({"role": "user", "content": "Two"})
        system[0]["text"] = "word " * 200 + "changed " + "word " * 199
        await client.messages.create(model="echo", max_tokens=500, system=system, messages=messages)
    _, call = await tap.recorded(2)
    comparison = call.comparison
    assert comparison.forecast.at.kind == "changed"
    assert "system 1” has changed" in comparison.forecast.sentence
    assert comparison.forecast.lost > 200
    assert (call.placed.shared, len(call.placed.added)) == (1, 2)


async def test_one_text_as_a_block_and_as_a_string_is_no_difference(tap: Recording):
    block = [{"type": "text", "text": "One " * 50}]
    async with claude(tap) as client:
        first = await client.messages.create(
            model="echo", max_tokens=500, messages=[{"role": "user", "content": block}]
        )
        messages: list[Any] = [
            {"role": "user", "content": "One " * 50},
            {"role": "assistant", "content": first.content[0].text},
            {"role": "user", "content": "Two"},
        ]
        await client.messages.create(model="echo", max_tokens=500, messages=messages)
        messages[1]["content"] = "Other"
        await client.messages.create(model="echo", max_tokens=500, messages=messages)
    one, two, three = await tap.recorded(3)
    assert two.comparison.forecast.at.kind == "grown"
    assert three.comparison.forecast.at.kind == "changed"
    for call in (one, two, three):
        budget = call.call.composed.envelope.budget
        assert budget.total == call.reply.usage.input
        if call.comparison is not None:
            assert call.comparison.forecast.total == budget.total
            assert call.comparison.forecast.common < budget.total


async def test_a_retry_and_another_version_add_no_message(tap: Recording):
    messages = said("Hi")
    async with gpt(tap, max_retries=2) as client:
        await ask(client, messages, model="flaky-500:1")
    one, two = await tap.recorded(2)
    assert two.placed.is_retry
    assert one.failure.startswith("The provider failed (HTTP 500")
    assert not two.failure
    (session,) = await tap.sessions()
    assert [status for _, _, status in await contents(tap, session.session_id)] == [
        "complete",
        "failed",
        "complete",
    ]


async def test_a_conversation_goes_on_where_an_earlier_run_stored_it(tmp_path: Path):
    system = {"role": "system", "content": "Be brief."}
    began = [system, *said("Hi", "Hi", "And then?")]
    async with serve(alias="echo") as server:
        async with recording(tmp_path, server.base_url) as tap, gpt(tap) as client:
            await ask(client, began[:2])
            await ask(client, began)
            await tap.recorded(2)
        async with recording(tmp_path, server.base_url, first_id=1000) as tap, gpt(tap) as client:
            more = [system, *said("Hi", "Hi", "And then?", "And then?", "More")]
            await ask(client, more)
            (one,) = await tap.recorded(1)
            (session,) = await tap.sessions()
            assert one.session_id == session.session_id
            assert [text for _, text, _ in await contents(tap, session.session_id)] == [
                *("Be brief.", "Hi", "Hi", "And then?", "And then?", "More", "More"),
            ]
        # The same first words without a reply are a new conversation.
        async with recording(tmp_path, server.base_url, first_id=2000) as tap, gpt(tap) as client:
            await ask(client, began[:2])
            await tap.recorded(1)
            assert len(await tap.sessions()) == 2


async def test_parallel_conversations_are_told_apart(tap: Recording):
    async def talk(name: str, session: str) -> None:
        messages: list[Any] = [{"role": "user", "content": f"I am {name}"}]
        headers = {"x-session-id": session}
        for turn in range(3):
            reply = await ask(client, messages, extra_headers=headers)
            messages.append({"role": "assistant", "content": reply})
            messages.append({"role": "user", "content": f"Turn {turn}"})

    async with gpt(tap) as client:
        await asyncio.gather(
            talk("main", "s1"), talk("subagent", "s1"), talk("main", "s2"), talk("x", "s3")
        )
    await tap.recorded(12)
    sessions = await tap.sessions()
    assert sorted(each.title for each in sessions) == ["I am main"] * 2 + [
        "I am subagent",
        "I am x",
    ]
    assert {each.message_count for each in sessions} == {6}


async def test_a_subagent_names_the_session_that_started_it(tap: Recording):
    tool = [{**TOOL, "function": {"name": "other", "parameters": {"type": "object"}}}]
    async with gpt(tap) as client:
        for words, headers, tools in (
            ("Mend the roof", {"x-session-id": "s1"}, [TOOL]),
            ("Find a ladder", {"x-session-id": "s2", "x-parent-session-id": "s1"}, [TOOL]),
            ("Find nails", {"x-session-id": "s3", "x-parent-session-id": "s1"}, tool),
            ("Another roof", {"x-session-id": "s4"}, [TOOL]),
        ):
            await ask(client, said(words), extra_headers=headers, tools=tools)
    await tap.recorded(4)
    sessions = {each.title: each for each in await tap.sessions()}
    main = sessions["Mend the roof"].session_id
    parents = {title: each.parent_id for title, each in sessions.items()}
    assert parents == {
        "Mend the roof": "",
        "Find a ladder": main,
        "Find nails": main,
        "Another roof": "",
    }


async def test_a_session_is_titled_by_what_the_user_said(tap: Recording):
    notes = "# AGENTS.md instructions for /home/x\n\n<INSTRUCTIONS>\nBe brief.\n</INSTRUCTIONS>"
    async with gpt(tap) as client:
        for number, texts in enumerate(
            (
                (notes, "What is in this folder?"),
                (f"{notes}<environment_context>\nx\n</environment_context>", "How old is it?"),
                (f"{notes}\n\nWho made it?",),
                ("# AGENTS.md instructions for /home/x\n\nBe very brief.", "Why is it here?"),
                ("<system-reminder>\nBe good.\n</system-reminder>\nFix the ferry",),
                ("<env>only</env>",),
            )
        ):
            messages = [{"role": "user", "content": text} for text in texts]
            await ask(client, messages, extra_headers={"session-id": f"s{number}"})
    await tap.recorded(6)
    assert {each.title for each in await tap.sessions()} == {
        "Fix the ferry",
        "<env>only</env>",
        "What is in this folder?",
        "How old is it?",
        "Who made it?",
        "Why is it here?",
    }


async def test_an_edited_message_begins_a_branch_and_a_short_history_is_recognized(tap: Recording):
    async with gpt(tap) as client:
        for messages in (
            said("a", "a", "b", "b", "c"),
            said("a", "a", "b", "b", "d"),
            said("b", "b", "d", "d", "e"),
        ):
            await ask(client, messages)
    one, two, three = await tap.recorded(3)
    assert [c.placed.conversation.number for c in (one, two, three)] == [1, 1, 1]
    assert (two.placed.shared, len(two.placed.removed)) == (4, 1)
    assert (three.placed.shared, three.placed.left_out) == (3, 2)
    (session,) = await tap.sessions()
    said_now = [text for _, text, _ in await contents(tap, session.session_id)]
    assert said_now == ["a", "a", "b", "b", "c", "c", "d", "d", "e", "e"]


@each_row("encoding", ["gzip", "br", "zstd"])
async def test_compressed_bodies_pass_as_they_are_and_are_read(tmp_path: Path, encoding: str):
    encode = {"gzip": gzip.compress, "br": brotli.compress, "zstd": zstd.compress}[encoding]
    body = json.dumps({"model": "m", "messages": said("Hi")}).encode()
    compressed = encode(body)  # once: gzip writes the time
    reply = b'data: {"choices":[{"delta":{"content":"Hello"},"finish_reason":"stop"}]}\n\n'
    sent = encode(reply + b"data: [DONE]\n\n")
    got = bytearray()

    async def upstream(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        got.extend(await reader.readexactly(len(compressed)))
        head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-encoding: {}\r\n"
        writer.write(head.format(encoding).encode() + b"content-length: %d\r\n\r\n" % len(sent))
        writer.write(sent)
        await reader.read()

    async with (
        raw_server(upstream) as port,
        recording(tmp_path, f"http://127.0.0.1:{port}") as tap,
        httpx.AsyncClient(headers={"content-encoding": encoding}) as client,
        client.stream("POST", f"{tap.base_url}/v1/chat/completions", content=compressed) as back,
    ):
        assert b"".join([piece async for piece in back.aiter_raw()]) == sent
        (call,) = await tap.recorded(1)
        assert bytes(got) == compressed
        assert call.call.body == body
        assert call.reply.text == "Hello"
        assert call.reader.received().body == reply + b"data: [DONE]\n\n"


@pytest.mark.parametrize(
    ("model", "outcome", "status"),
    [("flaky-cut", "upstream cut", "failed"), ("flaky-error", "complete", "failed")],
)
async def test_a_reply_that_breaks_off_is_kept_as_far_as_it_came(
    tap: Recording, model: str, outcome: str, status: str
):
    async with gpt(tap) as client:
        stream = await client.chat.completions.create(model=model, messages=said("Hi"), stream=True)
        with pytest.raises((openai.APIError, httpx.RemoteProtocolError)):
            async for _ in stream:
                pass
    (call,) = await tap.recorded(1)
    assert call.exchange.outcome == outcome
    assert call.failure
    assert call.reply.text.startswith("I was going to tell you")
    (session,) = await tap.sessions()
    entry = (await contents(tap, session.session_id))[-1]
    assert entry == ("assistant", call.reply.text, status)


async def test_a_running_reply_is_stored_while_it_grows_and_stopped_when_the_client_leaves(
    tap: Recording,
):
    async with gpt(tap) as client:
        stream = await client.chat.completions.create(
            model="flaky-stall", messages=said("Hi"), stream=True
        )
        async for chunk in stream:
            if chunk.choices[0].delta.content:
                break
        async with asyncio.timeout(60):
            while True:
                sessions = await tap.sessions()
                if sessions:
                    entries = (await tap.store.transcripts.get(sessions[0].session_id)).entries
                    is_streaming = entries[-1].status == "streaming"
                    if is_streaming and "I was going" in entries[-1].message.content:
                        break
                await asyncio.sleep(0.02)
        await stream.close()
    (call,) = await tap.recorded(1)
    assert call.exchange.outcome == "client disconnected"
    (session,) = await tap.sessions()
    assert (await contents(tap, session.session_id))[-1][2] == "stopped"


async def test_planted_keys_are_found_nowhere(tap: Recording, tmp_path: Path):
    text = f"My key is {KEY}, remember it."
    basic = httpx.BasicAuth("user", KEY)
    async with httpx.AsyncClient(cookies={"session": KEY}) as client:
        for stream in (True, False):
            body = {"messages": said(text), "api_key": KEY[::-1]}
            path = f"/v1/chat/completions?key={KEY}&api_key={KEY}"
            for name, value in (
                ("authorization", f"Bearer {KEY}"),
                ("x-api-key", KEY),
                ("x-goog-api-key", KEY),
                ("api-key", KEY),
            ):
                content = {"model": "echo", "stream": stream, **body}
                reply = await client.post(
                    tap.base_url + path, json=content, headers={name: value}, auth=None
                )
                assert KEY in reply.text or stream
            await client.post(tap.base_url + path, json={"model": "echo", **body}, auth=basic)
    calls = await tap.recorded(10)
    await tap.recorder.finish(5)
    kept = repr(
        [(c.call, c.reader.received(), c.reply, c.failure, vars(c.exchange)) for c in calls]
    )
    files = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert "My key is [key], remember it." in files.decode("utf-8", "replace")
    for secret in (KEY, KEY[::-1]):
        assert secret not in kept
        assert secret.encode() not in files


async def test_a_request_that_cannot_be_read_passes_and_says_so(tap: Recording):
    async with httpx.AsyncClient() as client:
        url = f"{tap.base_url}/v1/chat/completions"
        assert (await client.post(url, content=b"{not json")).status_code == 400
        await client.post(url, content=b'{"model":"echo","messages":[{"role":"user"}]}')
        assert (await client.get(f"{tap.base_url}/v1/models")).status_code == 200
        assert (await client.head(tap.base_url)).status_code == 404
    calls = await tap.recorded(2)
    assert calls[0].call.fault
    assert calls[0].failure.startswith("The provider refused the request")
    assert len(tap.others) == 2


async def test_a_body_over_the_limit_is_noted(tmp_path: Path):
    async with serve() as server, recording(tmp_path, server.base_url, max_body=2000) as tap:
        async with gpt(tap) as client:
            text = "x" * 5000
            reply = await ask(client, said(text))
        assert reply == text
        (call,) = await tap.recorded(1)
        assert "larger than the limit" in call.call.fault
        assert "larger than the limit" in call.failure


async def test_only_what_is_asked_for_is_recorded(tmp_path: Path):
    async with (
        serve() as server,
        recording(tmp_path, server.base_url, only=("thin*", "anthropic")) as tap,
        gpt(tap) as client,
        claude(tap) as other,
    ):
        messages: list[Any] = said("Hi")
        await ask(client, messages)
        await ask(client, messages, model="thinker")
        await other.messages.create(model="echo", max_tokens=50, messages=messages)
        calls = await tap.recorded(2)
        assert [(c.call.protocol.value, c.call.model) for c in calls] == [
            ("openai_chat", "thinker"),
            ("anthropic", "echo"),
        ]


async def test_a_locked_database_does_not_hold_the_client(tap: Recording):
    await tap.store.close()
    async with gpt(tap) as client:
        reply = await ask(client, said("Hi"))
    assert reply == "Hi"
    (call,) = await tap.recorded(1)
    assert call.reply.text == "Hi"


async def test_the_forecast_is_confirmed_by_the_usage(tap: Recording):
    messages: list[Any] = [{"role": "user", "content": "The ferry leaves at dawn. " * 400}]
    async with gpt(tap) as client:
        for text in ("More", "And more"):
            reply = await ask(client, messages)
            messages.append({"role": "assistant", "content": reply})
            messages.append({"role": "user", "content": text})
    _, call = await tap.recorded(2)
    cached = call.reply.usage.cached
    assert cached is not None
    assert cached > 2000
    # The offline provider estimates four characters a token; the forecast counts them.
    assert 0.7 * cached < call.comparison.forecast.served < 1.3 * cached
