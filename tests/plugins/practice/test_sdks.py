"""The official clients, over a real socket: if they can hold a chat with us, we speak true."""

from collections.abc import AsyncIterator
from functools import cache
from typing import Any

import ollama
import pytest

from tests.support.sdks import anthropic, genai, genai_errors, openai
from tests.support.sdks import genai_types as types

from .provider_messages import SCHEMA

WEATHER = {"name": "weather", "description": "tells the weather"}
CHAT_TOOL = {"type": "function", "function": {**WEATHER, "parameters": SCHEMA}}
RESPONSES_TOOL = {"type": "function", **WEATHER, "parameters": SCHEMA, "strict": False}
MESSAGES_TOOL = {**WEATHER, "input_schema": SCHEMA}
ARGUMENTS = {"city": "example city", "days": 2}


@cache
def gemini_tool() -> Any:
    declaration = types.FunctionDeclaration(
        name="weather", description="tells", parameters_json_schema=SCHEMA
    )
    return types.Tool(function_declarations=[declaration])


@pytest.fixture
async def gpt(server):
    async with openai.AsyncOpenAI(
        api_key="k", base_url=f"{server.base_url}/v1", max_retries=0
    ) as client:
        yield client


@pytest.fixture
async def claude(server):
    async with anthropic.AsyncAnthropic(
        api_key="k", base_url=server.base_url, max_retries=0
    ) as client:
        yield client


@pytest.fixture
async def gemini(server):
    options = types.HttpOptions(base_url=server.base_url)
    client = genai.Client(api_key="k", http_options=options)
    yield client.aio
    await client.aio.aclose()


@pytest.fixture
def llama(server):
    return ollama.AsyncClient(host=server.base_url)


def user(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}


async def breaks_off(
    pieces: AsyncIterator[str], error: type[Exception], match: str | None = None
) -> None:
    """Read a stream until its error, and check what came before it."""
    texts: list[str] = []
    with pytest.raises(error, match=match):  # noqa: PT012  the error comes while it is read
        async for text in pieces:
            texts.append(text)
    assert "".join(texts).startswith("I was going to tell you")


class TestOpenAIChat:
    async def test_annotations(self, gpt):
        reply = await gpt.chat.completions.create(model="researcher", messages=[user("hi")])
        message = reply.choices[0].message
        first, second = (each.url_citation for each in message.annotations)
        assert (first.start_index, first.end_index) == (0, second.start_index)
        assert message.content[: first.end_index].endswith("like this one.")

    async def test_whole(self, gpt):
        reply = await gpt.chat.completions.create(model="echo", messages=[user("hi there")])
        assert reply.choices[0].message.content == "hi there"
        assert reply.choices[0].finish_reason == "stop"
        assert reply.usage.total_tokens == reply.usage.prompt_tokens + reply.usage.completion_tokens

    async def test_stream(self, gpt):
        stream = await gpt.chat.completions.create(
            model="thinker",
            messages=[user("hi there")],
            stream=True,
            stream_options={"include_usage": True},
        )
        text = reasoning = ""
        usage = None
        async for chunk in stream:
            usage = chunk.usage or usage
            for choice in chunk.choices:
                text += choice.delta.content or ""
                reasoning += getattr(choice.delta, "reasoning_content", None) or ""
        assert "**2** words" in text
        assert "2 words" in reasoning
        assert 0 < usage.completion_tokens_details.reasoning_tokens < usage.completion_tokens

    async def test_stream_helper_and_tool_round_trip(self, gpt):
        messages = [user("weather?")]
        async with gpt.chat.completions.stream(
            model="toolsmith", messages=messages, tools=[CHAT_TOOL]
        ) as stream:
            message = (await stream.get_final_completion()).choices[0].message
        (call,) = message.tool_calls
        assert call.function.name == "weather"
        function = {"name": call.function.name, "arguments": call.function.arguments}
        messages += [
            {
                "role": "assistant",
                "tool_calls": [{"id": call.id, "type": "function", "function": function}],
            },
            {"role": "tool", "tool_call_id": call.id, "content": "rain"},
        ]
        reply = await gpt.chat.completions.create(
            model="toolsmith", messages=messages, tools=[CHAT_TOOL]
        )
        text = reply.choices[0].message.content
        assert "`weather` answered" in text
        assert "rain" in text

    async def test_length(self, gpt):
        reply = await gpt.chat.completions.create(
            model="lorem:max", messages=[user("hi")], max_completion_tokens=7
        )
        assert reply.choices[0].finish_reason == "length"
        assert reply.usage.completion_tokens == 7

    async def test_errors(self, gpt):
        ask = gpt.chat.completions.create
        with pytest.raises(openai.RateLimitError) as limited:
            await ask(model="flaky-429", messages=[user("hi")], stream=True)
        assert limited.value.response.headers["retry-after"] == "2"
        assert limited.value.code == "rate_limit_exceeded"
        with pytest.raises(openai.NotFoundError, match="no model “nobody”"):
            await ask(model="nobody", messages=[user("hi")])
        with pytest.raises(openai.BadRequestError, match="no messages"):
            await ask(model="echo", messages=[])
        with pytest.raises(openai.InternalServerError):
            await ask(model="flaky-500", messages=[user("hi")])

    async def test_an_error_inside_the_stream(self, gpt):
        stream = await gpt.chat.completions.create(
            model="flaky-error", messages=[user("hi")], stream=True
        )
        pieces = (chunk.choices[0].delta.content or "" async for chunk in stream)
        await breaks_off(pieces, openai.APIError, "overloaded")

    async def test_models(self, gpt):
        names = [model.id async for model in gpt.models.list()]
        assert names[0] == "mirror"
        assert (await gpt.models.retrieve("lorem:60")).id == "lorem:60"

    async def test_a_retry_succeeds(self, gpt, clock, monkeypatch):
        monkeypatch.setattr("openai._base_client.anyio.sleep", clock.sleep)
        patient = gpt.with_options(max_retries=2)
        reply = await patient.chat.completions.create(model="flaky-429:2", messages=[user("hi")])
        assert reply.choices[0].message.content == "hi"
        assert clock.slept == [2.0, 2.0]


class TestOpenAIResponses:
    async def test_annotations(self, gpt):
        async with gpt.responses.stream(model="researcher", input="hi there") as stream:
            kinds = [event.type async for event in stream]
            reply = await stream.get_final_response()
        [part] = reply.output[0].content
        cited = [part.text[each.start_index : each.end_index] for each in part.annotations]
        assert cited[0].startswith("The domain")
        assert cited[1].endswith("register one.")
        assert part.annotations[0].url == "https://example.com/"
        assert kinds.count("response.output_text.annotation.added") == 2

    async def test_whole(self, gpt):
        reply = await gpt.responses.create(model="echo", input="hi there")
        assert reply.output_text == "hi there"
        assert reply.status == "completed"

    async def test_stream_helper(self, gpt):
        async with gpt.responses.stream(model="thinker", input="hi there") as stream:
            kinds = [event.type async for event in stream]
            reply = await stream.get_final_response()
        assert "**2** words" in reply.output_text
        reasoning, message = reply.output
        assert "2 words" in reasoning.summary[0].text
        assert reasoning.encrypted_content
        assert message.status == "completed"
        assert kinds[0] == "response.created"
        assert kinds[-1] == "response.completed"

    async def test_tool_round_trip_by_items_and_by_id(self, gpt):
        first = await gpt.responses.create(
            model="toolsmith", input="weather?", tools=[RESPONSES_TOOL]
        )
        (call,) = first.output
        assert call.type == "function_call"
        result = {"type": "function_call_output", "call_id": call.call_id, "output": "rain"}
        items = [user("weather?"), call.model_dump(exclude_none=True), result]
        by_items = await gpt.responses.create(model="toolsmith", input=items)
        by_id = await gpt.responses.create(
            model="toolsmith", input=[result], previous_response_id=first.id
        )
        assert "`weather` answered" in by_items.output_text
        assert by_id.output_text == by_items.output_text

    async def test_streamed_tool_call(self, gpt):
        async with gpt.responses.stream(
            model="toolsmith", input="weather?", tools=[RESPONSES_TOOL]
        ) as stream:
            reply = await stream.get_final_response()
        assert reply.output[0].name == "weather"

    async def test_incomplete(self, gpt):
        stream = await gpt.responses.create(
            model="lorem:max", input="hi", max_output_tokens=16, stream=True
        )
        last = [event async for event in stream][-1]
        assert last.type == "response.incomplete"
        assert last.response.incomplete_details.reason == "max_output_tokens"
        assert last.response.output[0].status == "incomplete"

    async def test_errors(self, gpt):
        with pytest.raises(openai.RateLimitError):
            await gpt.responses.create(model="flaky-429", input="hi")
        with pytest.raises(openai.NotFoundError):
            await gpt.responses.create(model="nobody", input="hi")
        with pytest.raises(openai.BadRequestError, match="not found"):
            await gpt.responses.create(model="echo", input="hi", previous_response_id="resp_x")
        stream = await gpt.responses.create(model="flaky-error", input="hi", stream=True)
        last = [event async for event in stream][-1]
        assert last.type == "response.failed"
        assert last.response.error.code == "server_error"


class TestAnthropic:
    async def test_whole(self, claude):
        reply = await claude.messages.create(
            model="echo", max_tokens=100, messages=[user("hi there")]
        )
        assert reply.content[0].text == "hi there"
        assert reply.stop_reason == "end_turn"

    async def test_citations(self, claude):
        async with claude.messages.stream(
            model="researcher", max_tokens=500, messages=[user("hi there")]
        ) as stream:
            reply = await stream.get_final_message()
        first, second, last = reply.content
        assert first.citations[0].url == "https://example.com/"
        assert second.citations[0].title.startswith("RFC 2606")
        assert not last.citations

    async def test_stream_helper(self, claude):
        async with claude.messages.stream(
            model="thinker", max_tokens=500, messages=[user("hi there")]
        ) as stream:
            reply = await stream.get_final_message()
        thinking, text = reply.content
        assert "2 words" in thinking.thinking
        assert thinking.signature
        assert "**2** words" in text.text
        assert reply.usage.output_tokens > 20

    async def test_tool_round_trip_with_thinking_replayed(self, claude):
        messages = [user("weather?")]
        ask = {"model": "toolsmith", "max_tokens": 500, "tools": [MESSAGES_TOOL]}
        async with claude.messages.stream(messages=messages, **ask) as stream:
            reply = await stream.get_final_message()
        (use,) = reply.content
        assert use.input == ARGUMENTS
        assert reply.stop_reason == "tool_use"
        result = {"type": "tool_result", "tool_use_id": use.id, "content": "rain"}
        block = {"type": "tool_use", "id": use.id, "name": use.name, "input": use.input}
        thought = {"type": "thinking", "thinking": "hm", "signature": "sig"}
        messages += [
            {"role": "assistant", "content": [thought, block]},
            {"role": "user", "content": [result]},
        ]
        reply = await claude.messages.create(messages=messages, **ask)
        assert "`weather` answered" in reply.content[0].text

    async def test_max_tokens(self, claude):
        reply = await claude.messages.create(model="lorem:max", max_tokens=7, messages=[user("hi")])
        assert reply.stop_reason == "max_tokens"
        assert reply.usage.output_tokens == 7

    async def test_count_tokens(self, claude):
        counted = await claude.messages.count_tokens(model="echo", messages=[user("x" * 400)])
        assert counted.input_tokens == 100

    async def test_errors(self, claude):
        ask = {"max_tokens": 9, "messages": [user("hi")]}
        with pytest.raises(anthropic.RateLimitError) as limited:
            await claude.messages.create(model="flaky-429", **ask)
        assert limited.value.response.headers["retry-after"] == "2"
        with pytest.raises(anthropic.NotFoundError, match="no model “nobody”"):
            await claude.messages.create(model="nobody", **ask)
        with pytest.raises(anthropic.BadRequestError, match="no messages"):
            await claude.messages.create(model="echo", max_tokens=9, messages=[])
        with pytest.raises(anthropic.APIStatusError) as overloaded:
            await claude.messages.create(model="flaky-529", **ask)
        assert overloaded.value.status_code == 529

    async def test_an_error_inside_the_stream(self, claude):
        async with claude.messages.stream(
            model="flaky-error", max_tokens=900, messages=[user("hi")]
        ) as stream:
            await breaks_off(stream.text_stream, anthropic.APIStatusError, "Overloaded")

    async def test_models(self, claude):
        names = [model.id async for model in claude.models.list()]
        assert names[0] == "mirror"


class TestGemini:
    async def test_whole(self, gemini):
        reply = await gemini.models.generate_content(model="echo", contents="hi there")
        assert reply.text == "hi there"
        assert reply.candidates[0].finish_reason == types.FinishReason.STOP

    async def test_grounding(self, gemini):
        reply = await gemini.models.generate_content(model="researcher", contents="hi")
        grounding = reply.candidates[0].grounding_metadata
        assert grounding.grounding_chunks[0].web.uri == "https://example.com/"
        segment = grounding.grounding_supports[1].segment
        assert reply.text.encode()[segment.start_index : segment.end_index].decode() == segment.text

    async def test_a_name_with_colons(self, gemini):
        reply = await gemini.models.generate_content(model="lorem:max:50", contents="hi")
        assert reply.usage_metadata.candidates_token_count == 50

    async def test_stream(self, gemini):
        thoughts = text = ""
        signature = None
        async for chunk in await gemini.models.generate_content_stream(
            model="thinker", contents="hi there"
        ):
            for part in chunk.candidates[0].content.parts:
                signature = part.thought_signature or signature
                if part.thought:
                    thoughts += part.text
                else:
                    text += part.text
        assert "2 words" in thoughts
        assert "**2** words" in text
        assert signature
        assert chunk.usage_metadata.thoughts_token_count > 0

    async def test_tool_round_trip(self, gemini):
        config = types.GenerateContentConfig(tools=[gemini_tool()])
        chat = gemini.chats.create(model="toolsmith", config=config)
        reply = await chat.send_message("weather?")
        (call,) = reply.function_calls
        assert (call.name, call.args) == ("weather", ARGUMENTS)
        assert reply.candidates[0].content.parts[0].thought_signature
        answer = types.FunctionResponse(id=call.id, name="weather", response={"output": "rain"})
        reply = await chat.send_message(types.Part(function_response=answer))
        assert "`weather` answered" in reply.text
        assert "rain" in reply.text

    async def test_max_tokens(self, gemini):
        config = types.GenerateContentConfig(max_output_tokens=7, system_instruction="be brief")
        reply = await gemini.models.generate_content(
            model="lorem:max", contents="hi", config=config
        )
        assert reply.candidates[0].finish_reason == types.FinishReason.MAX_TOKENS
        assert reply.usage_metadata.candidates_token_count == 7

    async def test_errors(self, gemini):
        ask = gemini.models.generate_content
        with pytest.raises(genai_errors.ClientError) as limited:
            await ask(model="flaky-429", contents="hi")
        assert limited.value.code == 429
        details = limited.value.details["error"]["details"]
        assert details[-1]["retryDelay"] == "2s"
        with pytest.raises(genai_errors.ClientError) as unknown:
            await ask(model="nobody", contents="hi")
        assert unknown.value.code == 404
        with pytest.raises(genai_errors.ServerError):
            await ask(model="flaky-500", contents="hi")

    async def test_models(self, gemini):
        names = [model.name async for model in await gemini.models.list()]
        assert names[0] == "models/mirror"
        counted = await gemini.models.count_tokens(model="echo", contents="x" * 400)
        assert counted.total_tokens == 100


class TestOllama:
    async def test_whole(self, llama):
        reply = await llama.chat("echo", [user("hi there")])
        assert reply.message.content == "hi there"
        assert (reply.done, reply.done_reason) == (True, "stop")

    async def test_stream(self, llama):
        thoughts = text = ""
        async for chunk in await llama.chat("thinker", [user("hi there")], think=True, stream=True):
            thoughts += chunk.message.thinking or ""
            text += chunk.message.content or ""
        assert "2 words" in thoughts
        assert "**2** words" in text
        assert chunk.eval_count > 20
        assert chunk.prompt_eval_count == 2

    @pytest.mark.parametrize("stream", [False, True])
    async def test_tool_round_trip(self, llama, stream):
        messages: list[Any] = [user("weather?")]
        reply = await llama.chat("toolsmith", messages, tools=[CHAT_TOOL], stream=stream)
        message = (await anext(reply)).message if stream else reply.message
        (call,) = message.tool_calls
        assert call.function.name == "weather"
        assert call.function.arguments == ARGUMENTS | {"days": 1}  # it sends no `minimum`
        messages += [message, {"role": "tool", "tool_name": "weather", "content": "rain"}]
        reply = await llama.chat("toolsmith", messages, tools=[CHAT_TOOL])
        assert "`weather` answered" in reply.message.content
        assert "rain" in reply.message.content

    async def test_length(self, llama):
        reply = await llama.chat("lorem:max", [user("hi")], options={"num_predict": 7})
        assert (reply.done_reason, reply.eval_count) == ("length", 7)

    async def test_errors(self, llama):
        for model, status in (("flaky-429", 429), ("nobody", 404), ("flaky-500", 500)):
            with pytest.raises(ollama.ResponseError) as refused:
                await llama.chat(model, [user("hi")])
            assert refused.value.status_code == status

    async def test_an_error_inside_the_stream(self, llama):
        stream = await llama.chat("flaky-error", [user("hi")], stream=True)
        pieces = (chunk.message.content or "" async for chunk in stream)
        await breaks_off(pieces, ollama.ResponseError)

    async def test_models(self, llama):
        assert (await llama.list()).models[0].model == "mirror"
