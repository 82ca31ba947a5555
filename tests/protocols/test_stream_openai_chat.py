"""Chat Completions answers: each kind of delta, vendors' variants, ends and cuts."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.reply_streams import fold, parse, sse_events
from tests.support.tables import each_row
from tui_chat.errors import Refused, ReplyCut
from tui_chat.models.endpoint import Protocol
from tui_chat.models.reply import Reply
from tui_chat.models.usage import Usage
from tui_chat.protocols.openai_chat.stream import ReplyParser, read_reply


def chunk(delta: dict[str, Any] | None = None, finish: str | None = None, **more: Any) -> str:
    choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish}]
    return json.dumps({"id": "chatcmpl-1", "model": "gpt-x", "choices": choices, **more})


def streamed(*chunks: str, done: bool = True) -> Reply:
    events = [("", data) for data in (*chunks, *(["[DONE]"] if done else []))]
    return fold(parse(ReplyParser(), events))


def whole(message: dict[str, Any], finish: str | None = "stop", **more: Any) -> Reply:
    choice = {"index": 0, "message": message, "finish_reason": finish}
    return read_reply(json.dumps({"id": "c", "model": "m", "choices": [choice], **more}).encode())


def call(index: int | None, id: str | None, name: str | None, arguments: Any) -> dict[str, Any]:
    function = {"name": name, "arguments": arguments}
    fields = {"index": index, "id": id, "function": function}
    return {"tool_calls": [{k: v for k, v in fields.items() if v is not None}]}


def calls(reply: Reply) -> list[tuple[str, str, str]]:
    return [(c.id, c.name, str(c.arguments)) for c in reply.calls]


def blocks(reply: Reply) -> list[tuple[str, str, str, str]]:
    return [(str(b.text), str(b.signature), b.encrypted, b.kind) for b in reply.reasoning]


def test_a_plain_reply() -> None:
    reply = streamed(
        chunk({"role": "assistant", "content": ""}),
        chunk({"content": "Hel"}),
        chunk({"content": "lo"}),
        chunk({}, "stop"),
        chunk(usage={"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9}),
    )
    assert (reply.id, reply.model, reply.text) == ("chatcmpl-1", "gpt-x", "Hello")
    assert reply.finish is not None
    assert (reply.finish.reason, reply.finish.raw) == ("stop", "stop")
    assert reply.usage == Usage(input=7, output=2)
    assert reply.message(Protocol.OPENAI_CHAT).semantics.layout is None


def test_a_late_name_is_reported_when_it_arrives() -> None:
    """Azure begins with a chunk about the prompt that names nothing."""
    first = json.dumps({"id": "", "model": "", "choices": [], "prompt_filter_results": []})
    reply = streamed(first, chunk({"content": "x"}, "stop"))
    assert (reply.id, reply.model) == ("chatcmpl-1", "gpt-x")


@each_row(
    ("raw", "reason"),
    [
        ("stop", "stop"),
        ("length", "length"),
        ("tool_calls", "tool_calls"),
        ("function_call", "tool_calls"),
        ("content_filter", "content_filter"),
        ("MAX_TOKENS", "length"),
        ("insufficient_system_resource", "other"),
    ],
)
def test_finish_reasons(raw: str, reason: str) -> None:
    for reply in (streamed(chunk({"content": "x"}, raw)), whole({"content": "x"}, raw)):
        assert reply.finish is not None
        assert (reply.finish.reason, reply.finish.raw) == (reason, raw)


def test_stop_with_calls_is_a_wish_for_tools() -> None:
    reply = streamed(chunk(call(0, "a", "f", "{}")), chunk({}, "stop"))
    assert reply.finish is not None
    assert (reply.finish.reason, reply.finish.raw) == ("tool_calls", "stop")


def test_an_empty_finish_reason_is_none_in_a_stream_and_no_harm_in_a_whole_answer() -> None:
    with pytest.raises(ReplyCut):
        streamed(chunk({"content": "x"}, ""), done=False)
    reply = whole({"content": "x"}, "")
    assert reply.finish is not None
    assert (reply.finish.reason, reply.finish.raw) == ("stop", "")


def test_refusals_are_kept_apart_from_text() -> None:
    reply = streamed(chunk({"refusal": "I "}), chunk({"refusal": "won't."}, "stop"))
    assert (reply.text, str(reply.refusal)) == ("", "I won't.")
    assert reply.finish is not None
    assert reply.finish.reason == "refusal"
    assert whole({"content": "x", "refusal": ""}).finish == whole({"content": "x"}).finish


def test_parallel_tool_calls_keep_their_arguments_as_sent() -> None:
    reply = streamed(
        chunk(call(0, "call_a", "now", "")),
        chunk(call(0, None, None, '{ "zone"')),
        chunk(call(1, "call_b", "roll", "")),
        chunk(call(0, None, None, ' : "x" }')),
        chunk(call(1, None, None, '{"broken')),
        chunk({}, "tool_calls"),
    )
    assert calls(reply) == [
        ("call_a", "now", '{ "zone" : "x" }'),
        ("call_b", "roll", '{"broken'),
    ]


@each_row(
    ("deltas", "expected"),
    [
        pytest.param(
            [call(5, "a", "f", "{"), call(5, None, None, "}")], [("a", "f", "{}")], id="from five"
        ),
        pytest.param(
            [call(0, "a", "f", "1"), call(0, "b", "g", "2")],
            [("a", "f", "1"), ("b", "g", "2")],
            id="one index for two calls",
        ),
        pytest.param(
            [call(None, "a", "f", "1"), call(None, None, None, "2"), call(None, "b", "f", "3")],
            [("a", "f", "12"), ("b", "f", "3")],
            id="no index",
        ),
        pytest.param(
            [call(None, "a", "f", "1"), call(None, "a", "f", "2")],
            [("a", "f", "12")],
            id="no index, id and name again and again",
        ),
        pytest.param(
            [call(None, None, "f", "1"), call(None, None, "f", "2")],
            [("", "f", "1"), ("", "f", "2")],
            id="neither index nor id",
        ),
        pytest.param([call(0, "a", "f", {"x": [1, "é"]})], [("a", "f", '{"x":[1,"é"]}')], id="obj"),
        pytest.param(
            [{"tool_calls": [{}, None, 3, {"index": 0}]}, call(0, "a", "f", "")],
            [("a", "f", "")],
            id="nothing in it",
        ),
        pytest.param(
            [
                {"function_call": {"name": "f", "arguments": "{"}},
                {"function_call": {"arguments": "}"}},
            ],
            [("", "f", "{}")],
            id="legacy",
        ),
    ],
)
def test_which_call_a_delta_belongs_to(
    deltas: list[dict[str, Any]], expected: list[tuple[str, str, str]]
) -> None:
    assert calls(streamed(*map(chunk, deltas))) == expected


def test_whole_answers_list_calls_without_an_index() -> None:
    message = {
        "content": None,
        "tool_calls": [
            {"id": "", "function": {"name": "a", "arguments": "{}"}},
            {"id": "", "function": {"name": "a", "arguments": "{}"}},
        ],
        "function_call": {"name": "", "arguments": ""},
    }
    assert calls(whole(message, "tool_calls")) == [("", "a", "{}"), ("", "a", "{}")]


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_vendors_reasoning(field: str) -> None:
    reply = streamed(chunk({field: "Let me "}), chunk({field: "think"}), chunk({"content": "4"}))
    assert (reply.thought, reply.text) == ("Let me think", "4")
    (block,) = reply.message(Protocol.OPENAI_CHAT).semantics.reasoning
    assert (block.protocol, block.kind) == (Protocol.OPENAI_CHAT, field)


def test_openrouter_details_win_over_the_text_they_repeat() -> None:
    def detail(**fields: Any) -> dict[str, Any]:
        return {"index": 0, "format": "anthropic-claude-v1", "type": "reasoning.text", **fields}

    reply = streamed(
        chunk({"reasoning": "a", "reasoning_details": [detail(text="a")]}),
        chunk({"reasoning": "b", "reasoning_details": [detail(text="b")]}),
        chunk({"reasoning": None, "reasoning_details": [detail(signature="sig")]}),
        chunk(
            {
                "reasoning_details": [
                    {"type": "reasoning.encrypted", "data": "gAAA", "id": "rs_1", "index": 0}
                ]
            }
        ),
    )
    assert blocks(reply) == [
        ("ab", "sig", "", "reasoning.text anthropic-claude-v1"),
        ("", "", "gAAA", "reasoning.encrypted #0"),
    ]
    assert reply.reasoning[1].id == "rs_1"


def test_litellm_signs_beside_the_reasoning() -> None:
    reply = streamed(
        chunk({"reasoning_content": "hm", "thinking_blocks": [{"thinking": "hm"}]}),
        chunk({"reasoning_content": "", "thinking_blocks": [{"thinking": "", "signature": "S"}]}),
    )
    assert blocks(reply) == [("hm", "S", "", "thinking_blocks")]


def test_mistral_sends_parts() -> None:
    parts = [
        {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
        {"type": "text", "text": "4"},
    ]
    reply = streamed(chunk({"content": parts}), chunk({"content": "2"}))
    assert (reply.thought, reply.text) == ("hm", "42")


def test_gemini_s_imitation_signs_calls_and_texts() -> None:
    signed = {"extra_content": {"google": {"thought_signature": "SIG"}}}
    reply = streamed(
        chunk({"content": "x", **signed}),
        chunk({"tool_calls": [{"index": 0, "id": "a", "function": {"name": "f"}, **signed}]}),
    )
    layout = reply.message(Protocol.OPENAI_CHAT).semantics.layout
    assert layout is not None
    assert [(p.kind, p.length, p.signature) for p in layout.pieces] == [
        ("text", 1, "SIG"),
        ("call", 0, "SIG"),
    ]


@each_row(
    ("fields", "usage"),
    [
        (
            {
                "prompt_tokens": 10,
                "completion_tokens": 5,
                "total_tokens": 15,
                "prompt_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 1},
                "completion_tokens_details": {"reasoning_tokens": 3},
            },
            Usage(10, 5, 4, 1, 3),
        ),
        (  # xAI: reasoning beside the completion
            {
                "prompt_tokens": 12,
                "completion_tokens": 2,
                "total_tokens": 334,
                "completion_tokens_details": {"reasoning_tokens": 320},
            },
            Usage(12, 322, reasoning=320),
        ),
        (  # DeepSeek
            {"prompt_tokens": 9, "completion_tokens": 1, "prompt_cache_hit_tokens": 8},
            Usage(9, 1, 8),
        ),
        ({"prompt_tokens": "9", "completion_tokens": 3.0, "total_tokens": True}, Usage(output=3)),
        ({"prompt_tokens": -1, "completion_tokens": 10**30}, Usage()),
    ],
)
def test_usage(fields: dict[str, Any], usage: Usage) -> None:
    assert streamed(chunk({"content": "x"}, "stop"), chunk(usage=fields)).usage == usage
    assert streamed(chunk({"content": "x"}, "stop"), chunk(x_groq={"usage": fields})).usage == usage
    assert whole({"content": "x"}, usage=fields).usage == usage


def test_usage_is_not_forgotten_by_a_later_null() -> None:
    usage = {"prompt_tokens": 1, "completion_tokens": 2}
    reply = streamed(chunk({}, "stop"), chunk(usage=usage), chunk(usage=None, moderation={}))
    assert reply.usage == Usage(1, 2)


def test_only_the_first_choice_is_read() -> None:
    second = {"index": 1, "delta": {"content": "no"}, "finish_reason": "length"}
    reply = streamed(json.dumps({"choices": [second]}), chunk({"content": "yes"}, "stop"))
    assert reply.text == "yes"
    assert reply.finish is not None
    assert reply.finish.raw == "stop"


@each_row(
    "odd",
    [
        {"content": 3},
        {"content": {"text": "x"}},
        {"content": [3, {"text": 4}]},
        {"tool_calls": {"index": 0}},
        {"tool_calls": [{"index": "0", "id": 3, "function": "f"}]},
        {"reasoning": ["x"], "reasoning_details": "x", "refusal": {}},
        {"extra_content": [], "function_call": "f", "thinking_blocks": 3},
    ],
)
def test_one_odd_field_does_not_lose_the_text(odd: dict[str, Any]) -> None:
    reply = streamed(chunk({"content": "a"}), chunk(odd), chunk({"content": "b"}, "stop"))
    assert (reply.text, reply.calls, reply.thought) == ("ab", (), "")


def test_done_without_a_finish_reason_is_an_end() -> None:
    reply = streamed(chunk({"content": "x"}))
    assert reply.finish is not None
    assert (reply.finish.reason, reply.finish.raw) == ("stop", "")


def test_what_follows_done_is_passed_over() -> None:
    events = [("", chunk({"content": "x"})), ("", "[DONE]"), ("", "rubbish"), ("", chunk({}))]
    assert fold(parse(ReplyParser(), events)).text == "x"


@each_row("chunks", [[], [chunk({"content": "x"})], ['{"object":"ping"}']])
def test_a_cut_stream_is_an_error(chunks: list[str]) -> None:
    with pytest.raises(ReplyCut) as raised:
        streamed(*chunks, done=False)
    assert raised.value.advice


def test_a_finish_reason_is_an_end_even_without_done() -> None:
    assert streamed(chunk({"content": "x"}, "stop"), done=False).text == "x"


def test_invalid_data_is_an_error_before_the_end_and_ignored_after() -> None:
    with pytest.raises(ReplyCut, match="cannot be read: “<html>oops"):
        streamed(chunk({"content": "x"}), "<html>oops\x1b[2J")
    assert streamed(chunk({"content": "x"}, "stop"), "<html>oops").text == "x"


@each_row(
    ("event", "data", "words", "code"),
    [
        (
            "",
            '{"error":{"code":400,"message":"Token limit reached"}}',
            "Token limit reached",
            "400",
        ),
        ("", '{"error":"model not loaded"}', "model not loaded", ""),
        ("error", '{"message":"gone","type":"server_error"}', "gone", "server_error"),
        ("error", "plain words", "plain words", ""),
        ("", '{"object":"error","message":"bad","type":"BadRequestError"}', "bad", "BadRequest"),
        ("", '{"error":{}, "type":"error"}', "no reason", ""),
    ],
)
def test_errors_inside_a_stream(event: str, data: str, words: str, code: str) -> None:
    parser = ReplyParser()
    parser.feed("", chunk({"content": "x"}, "length"))
    with pytest.raises(Refused, match=words) as raised:
        parser.feed(event, data)
    assert raised.value.status is None
    assert raised.value.code.startswith(code)


@each_row(
    "body",
    [
        b"",
        b"<html>hello",
        b"{}",
        b"[]",
        b"null",
        b"3",
        b'{"choices":[]}',
        b'{"message":"hm"}',
        b"\xff",
    ],
)
def test_a_body_that_is_no_reply(body: bytes) -> None:
    with pytest.raises(ReplyCut) as raised:
        read_reply(body)
    assert raised.value.advice


def test_an_error_with_status_200() -> None:
    with pytest.raises(Refused, match="no credit"):
        read_reply(b'{"error":{"message":"no credit","code":402}}')


def test_a_character_cut_in_two_halves_is_put_together() -> None:
    """A gateway that counts in UTF-16 may cut a character beyond the BMP."""
    reply = streamed(
        '{"choices":[{"index":0,"delta":{"content":"a\\ud83d","reasoning":"\\ud83d"}}]}',
        '{"choices":[{"index":0,"delta":{"content":"\\ude00b","reasoning":"x"}}]}',
        '{"choices":[{"index":0,"delta":{"content":"\\ud83d"}}]}',
    )
    assert reply.text == "a😀b\ufffd"
    assert reply.thought == "\ufffdx"


def test_bytes_on_the_wire() -> None:
    body = (
        ": OPENROUTER PROCESSING\r\n\r\n"
        f'data: {chunk({"content": "a"})[:-1]}, "note": "\u2028"}}\r\n\r\n'
        ": OPENROUTER PROCESSING\r\n\r\n"
        f"data: {chunk({'content': 'b'}, 'stop')}\r\n\r\ndata: [DONE]\r\n\r\n"
    ).encode()
    reply = fold(parse(ReplyParser(), sse_events(body)))
    assert reply.text == "ab"


BOTH: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"role": "assistant", "content": ""}, {"role": "assistant", "content": "Paris."}),
    ({"role": "assistant"}, {"content": "Paris."}),
    ({"content": None, "tool_calls": []}, {"content": "Paris."}),
    ({"content": "Paris."}, {"role": "assistant", "content": ""}),
    ({"content": "Par"}, {"content": "Paris."}),
]


@each_row(("delta", "message"), BOTH)
def test_a_whole_answer_with_delta_and_message_is_read_from_the_message(
    delta: dict[str, Any], message: dict[str, Any]
) -> None:
    """Perplexity sends both in an answer that is not streamed, the delta empty."""
    choice = {"index": 0, "delta": delta, "message": message, "finish_reason": "stop"}
    reply = read_reply(json.dumps({"model": "sonar", "choices": [choice]}).encode())
    assert reply.text == "Paris."


def test_what_only_the_delta_of_a_whole_answer_has_is_read_too() -> None:
    delta = {"content": "", "reasoning_content": "hm", **call(0, "c", "f", "{}")}
    choice = {"index": 0, "delta": delta, "message": {"content": "x"}, "finish_reason": "stop"}
    reply = read_reply(json.dumps({"choices": [choice]}).encode())
    assert (reply.text, calls(reply)) == ("x", [("c", "f", "{}")])
    assert [b[0] for b in blocks(reply)] == ["hm"]


def both(delta: dict[str, Any] | None, message: str, finish: str | None = None) -> str:
    whole_message = {"role": "assistant", "content": message}
    choice = {"index": 0, "delta": delta, "message": whole_message, "finish_reason": finish}
    return json.dumps({"choices": [choice]})


def test_a_stream_whose_messages_repeat_the_deltas_is_read_once() -> None:
    reply = streamed(
        both({"role": "assistant", "content": ""}, "Hel"),
        both({"content": "Hel"}, "Hel"),
        both({"content": "lo"}, "Hello"),
        both({"content": ""}, "Hello", "stop"),
    )
    assert reply.text == "Hello"


def test_a_stream_of_one_message_beside_an_empty_delta_is_read() -> None:
    assert streamed(both({"role": "assistant", "content": ""}, "Hello", "stop")).text == "Hello"


def test_a_stream_of_messages_alone_is_read() -> None:
    assert streamed(both(None, "Hel"), both(None, "lo", "stop")).text == "Hello"


def test_the_service_tier_is_read_with_the_usage() -> None:
    usage = {"prompt_tokens": 3, "completion_tokens": 2}
    reply = streamed(chunk({"content": "x"}, "stop"), chunk(usage=usage, service_tier="flex"))
    assert (reply.usage.input, reply.usage.tier) == (3, "flex")
    reply = whole({"content": "x"}, usage=usage, service_tier="priority")
    assert (reply.usage.input, reply.usage.tier) == (3, "priority")
