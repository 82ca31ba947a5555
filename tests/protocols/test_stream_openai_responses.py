"""Responses answers: items that grow, items that come whole, ends and cuts."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.reply_streams import fold, parse
from tests.support.tables import each_row
from tui_chat.errors import Refused, ReplyCut
from tui_chat.models.endpoint import Protocol
from tui_chat.models.reply import Reply
from tui_chat.models.usage import Usage
from tui_chat.protocols.openai_responses.stream import ReplyParser, read_reply

Event = dict[str, Any]


def event(kind: str, index: int = 0, **fields: Any) -> Event:
    return {"type": f"response.{kind}", "output_index": index, **fields}


def end(kind: str = "completed", **fields: Any) -> Event:
    response = {"id": "resp_1", "model": "gpt-x", "status": kind, "output": [], **fields}
    return event(kind, response=response)


CREATED = event("created", response={"id": "resp_1", "model": "gpt-x", "status": "in_progress"})
MESSAGE = {"type": "message", "id": "msg_1", "phase": "final_answer", "content": []}


def streamed(*events: Event) -> Reply:
    pairs = [(each["type"], json.dumps(each)) for each in events]
    return fold(parse(ReplyParser(), pairs))


def text_item(text: str, id: str = "msg_1", **more: Any) -> dict[str, Any]:
    content = [{"type": "output_text", "text": text, "annotations": []}]
    return {"type": "message", "id": id, "content": content, **more}


def pieces(reply: Reply) -> list[tuple[str, int, str, str]]:
    layout = reply.message(Protocol.OPENAI_RESPONSES).semantics.layout
    assert layout is not None
    return [(p.kind, p.length, p.id, p.phase) for p in layout.pieces]


def finish(reply: Reply) -> tuple[str, str]:
    assert reply.finish is not None
    return reply.finish.reason, reply.finish.raw


def test_a_plain_reply() -> None:
    usage = {
        "input_tokens": 9,
        "output_tokens": 5,
        "input_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 2},
        "output_tokens_details": {"reasoning_tokens": 3},
    }
    reply = streamed(
        CREATED,
        event("output_item.added", item=MESSAGE),
        event("content_part.added", part={"type": "output_text", "text": ""}),
        event("output_text.delta", delta="Hel"),
        event("output_text.delta", delta="lo"),
        event("output_text.done", text="Hello"),
        event("output_item.done", item=text_item("Hello", phase="final_answer")),
        end(usage=usage, output=[text_item("Hello", id="another id, as OpenRouter does")]),
    )
    assert (reply.id, reply.model, reply.text) == ("resp_1", "gpt-x", "Hello")
    assert finish(reply) == ("stop", "completed")
    assert reply.usage == Usage(9, 5, 4, 2, 3)
    assert pieces(reply) == [("text", 5, "msg_1", "final_answer")]


@each_row(
    "events",
    [
        pytest.param([event("output_item.done", item=text_item("Hi")), end()], id="done only"),
        pytest.param([end(output=[text_item("Hi")])], id="completed only"),
        pytest.param(
            [
                event("output_item.added", item=text_item("Hi")),
                event("output_item.done", item=text_item("Hi")),
                end(output=[text_item("Hi")]),
            ],
            id="added whole",
        ),
    ],
)
def test_items_without_deltas_are_read_once(events: list[Event]) -> None:
    reply = streamed(CREATED, *events)
    assert reply.text == "Hi"
    assert [p[2] for p in pieces(reply)] == ["msg_1"]


def test_commentary_and_answer_are_two_pieces() -> None:
    reply = streamed(
        event("output_item.added", item={**MESSAGE, "id": "msg_a", "phase": "commentary"}),
        event("output_text.delta", delta="Looking."),
        event("output_item.added", 1, item={**MESSAGE, "id": "msg_b"}),
        event("output_text.delta", 1, delta="Found."),
        end(),
    )
    assert reply.text == "Looking.Found."
    assert pieces(reply) == [
        ("text", 8, "msg_a", "commentary"),
        ("text", 6, "msg_b", "final_answer"),
    ]


CALL = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "f"}


@each_row(
    "events",
    [
        [
            event("output_item.added", 1, item={**CALL, "arguments": ""}),
            event("function_call_arguments.delta", 1, delta='{ "a"'),
            event("function_call_arguments.delta", 1, delta=": 1}"),
            event("function_call_arguments.done", 1, arguments='{ "a": 1}'),
            event("output_item.done", 1, item={**CALL, "arguments": '{ "a": 1}'}),
            end(),
        ],
        [
            event("output_item.added", 1, item={**CALL, "arguments": ""}),
            event("output_item.done", 1, item={**CALL, "arguments": '{ "a": 1}'}),
            end(),
        ],
        [end(output=[{**CALL, "arguments": '{ "a": 1}'}])],
    ],
)
def test_a_tool_call(events: list[Event]) -> None:
    reply = streamed(CREATED, *events)
    assert [(c.id, c.name, str(c.arguments)) for c in reply.calls] == [("call_1", "f", '{ "a": 1}')]
    assert pieces(reply) == [("call", 0, "fc_1", "")]
    assert finish(reply) == ("tool_calls", "completed")


def test_parallel_tool_calls_by_item() -> None:
    reply = streamed(
        event("output_item.added", 0, item={**CALL, "call_id": "a"}),
        event("output_item.added", 1, item={**CALL, "call_id": "b"}),
        event("function_call_arguments.delta", 1, delta="1"),
        event("function_call_arguments.delta", 0, delta="0"),
        end(),
    )
    assert [(c.id, str(c.arguments)) for c in reply.calls] == [("a", "0"), ("b", "1")]


def test_reasoning_summaries_and_the_encrypted_content_of_done() -> None:
    item = {"type": "reasoning", "id": "rs_1", "summary": []}
    parts = [{"type": "summary_text", "text": "One"}, {"type": "summary_text", "text": "Two"}]
    reply = streamed(
        event("output_item.added", item={**item, "encrypted_content": "half"}),
        event("reasoning_summary_text.delta", summary_index=0, delta="O"),
        event("reasoning_summary_text.delta", summary_index=0, delta="ne"),
        event("reasoning_summary_text.delta", summary_index=1, delta="Two"),
        event("output_item.done", item={**item, "summary": parts, "encrypted_content": "whole"}),
        event("output_item.done", 1, item={**item, "id": "rs_2", "encrypted_content": "second"}),
        end(),
    )
    assert reply.thought == "One\n\nTwo"
    assert [(b.id, b.encrypted, b.kind) for b in reply.reasoning] == [
        ("rs_1", "whole", "summary"),
        ("rs_2", "second", ""),
    ]


def test_raw_reasoning_and_its_summary_are_two_blocks_of_one_item() -> None:
    item = {
        "type": "reasoning",
        "id": "rs_1",
        "summary": [{"type": "summary_text", "text": "short"}],
        "content": [{"type": "reasoning_text", "text": "long"}],
        "encrypted_content": "E",
    }
    grown = streamed(
        event("output_item.added", item={"type": "reasoning", "id": "rs_1"}),
        event("reasoning_text.delta", content_index=0, delta="lo"),
        event("reasoning_text.delta", content_index=0, delta="ng"),
        event("output_item.done", item=item),
        end(),
    )
    assert [(str(b.text), b.kind) for b in grown.reasoning] == [
        ("long", "reasoning_text"),
        ("short", "summary"),
    ]
    whole = streamed(end(output=[item]))
    assert [(str(b.text), b.kind, b.encrypted) for b in whole.reasoning] == [
        ("short", "summary", "E"),
        ("long", "reasoning_text", ""),
    ]


def test_a_refusal() -> None:
    item = {"type": "message", "id": "m", "content": [{"type": "refusal", "refusal": "No."}]}
    grown = streamed(
        event("output_item.added", item=MESSAGE),
        event("refusal.delta", delta="No"),
        event("refusal.delta", delta="."),
        event("output_item.done", item=item),
        end(),
    )
    for reply in (grown, streamed(end(output=[item]))):
        assert (str(reply.refusal), reply.text) == ("No.", "")
        assert finish(reply) == ("refusal", "completed")


def test_items_that_are_not_ours_are_kept_whole() -> None:
    search = {"type": "web_search_call", "id": "ws_1", "action": {"query": "é"}}
    reply = streamed(
        event("output_item.added", item={**search, "action": None}),
        event("web_search_call.searching"),
        event("output_item.done", item=search),
        event("output_item.done", 1, item=text_item("Found")),
        end(),
    )
    layout = reply.message(Protocol.OPENAI_RESPONSES).semantics.layout
    assert layout is not None
    assert [p.kind for p in layout.pieces] == ["other", "text"]
    assert (layout.pieces[0].name, json.loads(layout.pieces[0].data)) == ("web_search_call", search)


@each_row(
    ("response", "expected"),
    [
        (end("incomplete", incomplete_details={"reason": "max_output_tokens"}), "length"),
        (end("incomplete", incomplete_details={"reason": "content_filter"}), "content_filter"),
        (end("incomplete", incomplete_details={"reason": "new"}), "other"),
        (end("incomplete"), "other"),
        (end("cancelled"), "other"),
    ],
)
def test_ends_that_are_not_completion(response: Event, expected: str) -> None:
    assert finish(streamed(response))[0] == expected


def test_a_queued_answer_is_no_error() -> None:
    reply = read_reply(json.dumps({"id": "r", "status": "queued", "output": []}).encode())
    assert finish(reply) == ("other", "queued")


@each_row(
    "failure",
    [
        {"type": "error", "code": "server_error", "message": "boom", "param": None},
        {"type": "error", "error": {"code": "server_error", "message": "boom"}},
        end("failed", error={"code": "server_error", "message": "boom"}),
    ],
)
def test_errors_raise(failure: Event) -> None:
    with pytest.raises(Refused, match="boom") as raised:
        streamed(CREATED, failure)
    assert raised.value.code == "server_error"
    assert "try again" in raised.value.advice


def test_a_failed_answer_that_came_whole() -> None:
    body = {"status": "failed", "output": [], "error": {"code": "x", "message": "boom"}}
    with pytest.raises(Refused, match="boom"):
        read_reply(json.dumps(body).encode())


def test_a_second_response_continues_the_same_reply_under_its_own_id() -> None:
    second = event("created", response={"id": "resp_2", "model": "gpt-x"})
    reply = streamed(
        CREATED,
        event("output_item.added", item={**CALL, "call_id": "a", "arguments": ""}),
        event("function_call_arguments.delta", delta="1"),
        end(),
        second,
        event("output_item.added", item={**CALL, "call_id": "b", "arguments": ""}),
        event("function_call_arguments.delta", delta="2"),
        end(id="resp_2"),
    )
    assert reply.id == "resp_2"
    assert [(c.id, str(c.arguments)) for c in reply.calls] == [("a", "1"), ("b", "2")]


@each_row("events", [[], [CREATED], [CREATED, event("output_text.delta", delta="x")]])
def test_a_cut_stream_is_an_error(events: list[Event]) -> None:
    with pytest.raises(ReplyCut):
        streamed(*events)


def test_unknown_events_and_odd_fields_do_no_harm() -> None:
    reply = streamed(
        CREATED,
        event("thing.of.tomorrow", delta="x"),
        event("output_item.added", index=-3, item=["x"]),
        {"type": "response.output_text.delta", "output_index": "0", "delta": "ok"},
        event("output_item.done", item={"type": "message", "content": "x"}),
        event("output_item.done", 1, item={"type": "reasoning", "summary": [3, {"text": 4}]}),
        {"type": "keepalive"},
        end(usage=["x"], incomplete_details="x"),
    )
    assert (reply.text, reply.thought) == ("ok", "")


def test_the_service_tier_is_read_with_the_usage() -> None:
    usage = {"input_tokens": 3, "output_tokens": 2}
    reply = streamed(end(output=[text_item("x")], usage=usage, service_tier="flex"))
    assert (reply.usage.input, reply.usage.tier) == (3, "flex")
