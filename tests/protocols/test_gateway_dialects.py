"""Replies in the dialects of gateways and of servers that imitate a protocol: nothing is lost."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.reply_streams import fold, parse, sse_events
from tests.support.server import events
from tests.support.tables import each_row
from tui_chat.errors import Refused, ReplyCut
from tui_chat.models.endpoint import Protocol
from tui_chat.models.reply import Reply
from tui_chat.models.reply_end import finish_reason
from tui_chat.protocols import anthropic, gemini, openai_chat, openai_responses
from tui_chat.protocols.common.error_body import response_error

TEA, MILK = '{"q":"tea"}', '{"q":"milk"}'
Fields = dict[str, Any]
OF = {
    "chat": openai_chat.stream,
    "responses": openai_responses.stream,
    "anthropic": anthropic.stream,
    "gemini": gemini.stream,
}


def streamed(protocol: str, *values: object, done: bool = False) -> Reply:
    body = events(*values, done=done).encode()
    return fold(parse(OF[protocol].ReplyParser(), sse_events(body)))


def calls(reply: Reply) -> list[tuple[str, str, str]]:
    return [(call.id, call.name, str(call.arguments)) for call in reply.calls]


def chunk(delta: object = None, finish: str | None = None, **more: Any) -> Fields:
    choice = {"index": 0, "delta": delta or {}, "finish_reason": finish}
    return {"id": "c", "choices": [choice], **more}


def piece(id: str | None, name: str | None, arguments: Any, **more: Any) -> Fields:
    function = {} if name is None else {"name": name}
    function |= {} if arguments is None else {"arguments": arguments}
    named = {} if id is None else {"id": id}
    return {"tool_calls": [{"index": 0, **named, "function": function, **more}]}


CALLS: dict[str, list[Fields]] = {
    "the name in each piece": [piece("a", "look", '{"q":'), piece("a", "look", '"tea"}')],
    "the name last": [
        piece("a", None, '{"q":'),
        piece(None, None, '"tea"}'),
        piece(None, "look", ""),
    ],
    "the name in pieces": [piece("a", "lo", ""), piece(None, "ok", ""), piece(None, None, TEA)],
    "the name grows": [piece("a", "lo", ""), piece(None, "look", ""), piece(None, None, TEA)],
    "an object": [piece("a", "look", {"q": "tea"})],
    "without a function": [
        {"tool_calls": [{"index": 0, "id": "a", "name": "look", "arguments": TEA}]}
    ],
    "no list": [{"tool_calls": {"id": "a", "function": {"name": "look", "arguments": TEA}}}],
    "empty words": [
        piece("a", "look", "", type="function"),
        piece("", "", '{"q":', type=""),
        piece("", None, '"tea"}', type="function"),
    ],
}


@each_row("deltas", CALLS.values(), ids=list(CALLS))
def test_a_call_in_any_pieces(deltas: list[Fields]):
    for end in ([chunk(finish="tool_calls")], []):
        reply = streamed("chat", *map(chunk, deltas), *end, done=True)
        assert [(i, n, json.loads(a)) for i, n, a in calls(reply)] == [("a", "look", {"q": "tea"})]
        assert reply.finish is not None
        assert reply.finish.reason == "tool_calls"


def test_arguments_that_only_look_repeated_stay():
    nested = '{"a":{"a":1}}'
    for cut in range(1, len(nested)):
        reply = streamed(
            "chat",
            chunk(piece("a", "look", nested[:cut])),
            chunk(piece(None, None, nested[cut:])),
            done=True,
        )
        assert calls(reply) == [("a", "look", nested)]


TEXTS: dict[str, tuple[list[Fields], str, str]] = {
    "one part": ([chunk({"content": {"type": "text", "text": "Hi you"}})], "Hi you", ""),
    "a list of texts": ([chunk({"content": ["Hi", " you"]})], "Hi you", ""),
    "thinking as a text": (
        [
            chunk({"content": [{"type": "thinking", "thinking": "Hm"}]}),
            chunk({"content": [{"type": "text", "text": "Hi you"}]}),
        ],
        "Hi you",
        "Hm",
    ),
    "text beside the delta": (
        [{"choices": [{"index": 0, "text": "Hi you", "delta": {"content": "Hi you"}}]}],
        "Hi you",
        "",
    ),
}


@each_row("chunks, text, thought", TEXTS.values(), ids=list(TEXTS))
def test_text_of_chat_in_any_form(chunks: list[Fields], text: str, thought: str):
    reply = streamed("chat", *chunks, chunk(finish="stop"))
    assert (reply.text, reply.thought) == (text, thought)


@each_row("word", ["[DONE]", " [DONE] ", "[done]", "DONE"])
def test_the_word_for_the_end_of_chat(word: str):
    body = events(chunk({"content": "Hi"}), done=False) + f"data: {word}\n\n"
    reply = fold(parse(openai_chat.stream.ReplyParser(), sse_events(body.encode())))
    assert reply.text == "Hi"
    assert reply.finish is not None


@each_row(
    "event",
    ["data: ping\n\n", "event: ping\ndata: x\n\n", "data: keep-alive\n\n", 'data: "ping"\n\n'],
)
def test_signs_of_life_are_no_part_of_a_reply(event: str):
    first = events(chunk({"content": "Hi "}), done=False)
    rest = events(chunk({"content": "you"}), chunk(finish="stop"))
    body = (event + first + event + rest).encode()
    assert fold(parse(openai_chat.stream.ReplyParser(), sse_events(body))).text == "Hi you"


WORDS = {
    "stop": ("STOP", " stop ", "FINISH_REASON_STOP", "end", "COMPLETE", "finished", "end-turn"),
    "tool_calls": ("toolUse", "tool-calls", "TOOL_CALL", "toolCalls"),
    "length": ("MAX_TOKENS", "max-tokens", "FINISH_REASON_MAX_TOKENS", "Max Tokens"),
    "content_filter": ("content-filter", "SAFETY", "sensitive"),
    "other": ("error", "abort", "network_error", "insufficient_system_resource", "cancelled"),
}


@each_row("reason, words", WORDS.items())
def test_words_for_the_end(reason: str, words: tuple[str, ...]):
    assert {finish_reason(word) for word in words} == {reason}


LATE_ERRORS: dict[str, object] = {
    "Groq": {"id": "c", "choices": [], "x_groq": {"id": "r", "error": "Over capacity"}},
    "a text": "Over capacity",
    "upper case": {"Error": "Over capacity"},
    "upper case within": {"Message": "Over capacity", "Code": "Throttled"},
    "Apigee": {"fault": {"faultstring": "Over capacity", "detail": {"errorcode": "x"}}},
    "status": {"status": "error", "message": "Over capacity"},
}


@each_row("error", LATE_ERRORS.values(), ids=list(LATE_ERRORS))
def test_an_error_after_text_is_raised_though_the_stream_ends_in_order(error: object):
    body = events(chunk({"content": "Half"}), error).encode()
    with pytest.raises(Refused, match="Over capacity"):
        parse(openai_chat.stream.ReplyParser(), sse_events(body))


BODIES: dict[str, tuple[str, str]] = {
    "an event": (
        'event: error\ndata: {"type":"error","error":{"type":"overloaded_error",'
        '"message":"Overloaded"}}\n\n',
        "HTTP 529, overloaded_error): Overloaded",
    ),
    "the malformed call of the model": (
        '{"error":{"message":"Failed to call a function.","code":"tool_use_failed",'
        '"failed_generation":"<function=look"}}',
        "Failed to call a function. (<function=look)",
    ),
    "upper case": ('{"Message":"too wide"}', "too wide"),
}


@each_row("body, words", BODIES.values(), ids=list(BODIES))
def test_the_words_of_an_error_body(body: str, words: str):
    assert words in str(response_error(529, body.encode()))


def test_a_page_instead_of_a_reply_is_named_by_its_title():
    page = b"<!DOCTYPE html><html><head><title>Sign in</title></head><body>x</body></html>"
    with pytest.raises(ReplyCut, match="not JSON, but a web page titled “Sign in”"):
        openai_chat.stream.read_reply(page)


def response_event(kind: str, **fields: Any) -> Fields:
    return {"type": f"response.{kind}", "output_index": 0, "content_index": 0, **fields}


LOOK: Fields = {"type": "function_call", "id": "f", "call_id": "a", "name": "look"}
COMPLETED = response_event("completed", response={"status": "completed", "output": []})
RESPONSES: dict[str, tuple[list[Fields], str, str, list[tuple[str, str, str]]]] = {
    "text only when done": (
        [response_event("output_text.done", text="Hi you"), COMPLETED],
        "Hi you",
        "",
        [],
    ),
    "text again when done": (
        [
            response_event("output_text.delta", delta="Hi you"),
            response_event("output_text.done", text="Hi you"),
            COMPLETED,
        ],
        "Hi you",
        "",
        [],
    ),
    "two texts when done": (
        [
            response_event("output_text.done", text="Hi "),
            response_event("output_text.done", text="you") | {"content_index": 1},
            COMPLETED,
        ],
        "Hi you",
        "",
        [],
    ),
    "reasoning without a kind": (
        [
            response_event("reasoning.delta", delta="Hm"),
            response_event("output_text.delta", delta="Hi you") | {"output_index": 1},
            COMPLETED,
        ],
        "Hi you",
        "Hm",
        [],
    ),
    "arguments as an object": (
        [
            response_event(
                "completed",
                response={"status": "completed", "output": [{**LOOK, "arguments": {"q": "tea"}}]},
            )
        ],
        "",
        "",
        [("a", "look", TEA)],
    ),
    "response.done": (
        [
            response_event("output_text.delta", delta="Hi you"),
            response_event("done", response={"output": []}),
        ],
        "Hi you",
        "",
        [],
    ),
}


@each_row("stream, text, thought, found", RESPONSES.values(), ids=list(RESPONSES))
def test_responses_whose_events_are_few(
    stream: list[Fields], text: str, thought: str, found: list[tuple[str, str, str]]
):
    reply = streamed("responses", *stream)
    assert (reply.text, reply.thought, calls(reply)) == (text, thought, found)
    assert reply.finish is not None
    assert reply.finish.reason == ("tool_calls" if found else "stop")


def test_a_refusal_of_responses_only_when_done():
    deltas = [response_event("refusal.delta", delta="I will not.")]
    whole = [response_event("refusal.done", refusal="I will not.")]
    for stream in (deltas, whole, deltas + whole):
        reply = streamed("responses", *stream, COMPLETED)
        message = reply.message(Protocol.OPENAI_RESPONSES)
        assert message.refusal == "I will not."


def test_responses_that_a_gateway_ends_with_done_are_whole_and_others_are_cut():
    delta = response_event("output_text.delta", delta="Hi")
    assert streamed("responses", delta, done=True).finish is not None
    with pytest.raises(ReplyCut, match="in the middle of the reply"):
        streamed("responses", delta)
    with pytest.raises(ReplyCut, match="before the reply began"):
        streamed("responses", done=True)


def test_blocks_of_anthropic_with_one_index_are_apart():
    def block(start: Fields, *deltas: Fields) -> list[Fields]:
        return [
            {"type": "content_block_start", "index": 0, "content_block": start},
            *({"type": "content_block_delta", "index": 0, "delta": delta} for delta in deltas),
            {"type": "content_block_stop", "index": 0},
        ]

    def tool(id: str, arguments: str) -> list[Fields]:
        halves = [arguments[:4], arguments[4:]]
        start = {"type": "tool_use", "id": id, "name": "look", "input": {}}
        deltas = [{"type": "input_json_delta", "partial_json": half} for half in halves]
        return block(start, *deltas)

    thought = {"type": "thinking", "thinking": "", "signature": ""}
    reply = streamed(
        "anthropic",
        {"type": "message_start", "message": {"content": []}},
        *block(thought, {"type": "thinking_delta", "thinking": "Hm"}),
        *block({"type": "text", "text": ""}, {"type": "text_delta", "text": "Hi"}),
        *block(thought, {"type": "thinking_delta", "thinking": "Ha"}),
        *tool("a", TEA),
        *tool("b", MILK),
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}},
    )
    assert (reply.text, [str(block.text) for block in reply.reasoning]) == ("Hi", ["Hm", "Ha"])
    assert calls(reply) == [("a", "look", TEA), ("b", "look", MILK)]


def test_a_message_of_anthropic_whose_content_is_a_text():
    body = {"type": "message", "content": "Hi", "stop_reason": "end_turn"}
    assert anthropic.stream.read_reply(json.dumps(body).encode()).text == "Hi"


def test_an_error_within_a_list_of_gemini_is_raised():
    text = {"candidates": [{"content": {"parts": [{"text": "Half"}]}}]}
    error = {"error": {"code": 503, "message": "Over capacity", "status": "UNAVAILABLE"}}
    with pytest.raises(Refused, match="Over capacity"):
        gemini.stream.read_reply(json.dumps([text, error]).encode())
