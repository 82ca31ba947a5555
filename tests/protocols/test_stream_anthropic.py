"""Messages answers: blocks that grow, blocks of others, ends and cuts."""

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
from tui_chat.protocols.anthropic.stream import ReplyParser, read_reply

Event = dict[str, Any]


def start(**fields: Any) -> Event:
    message = {"id": "msg_1", "model": "claude-x", "content": [], **fields}
    return {"type": "message_start", "message": message}


def opened(index: int, kind: str, **fields: Any) -> Event:
    block = {"type": kind, **fields}
    return {"type": "content_block_start", "index": index, "content_block": block}


def delta(index: int, kind: str, **fields: Any) -> Event:
    return {"type": "content_block_delta", "index": index, "delta": {"type": kind, **fields}}


def closed(index: int) -> Event:
    return {"type": "content_block_stop", "index": index}


def stop(reason: str | None = "end_turn", usage: Any = None, **fields: Any) -> Event:
    return {"type": "message_delta", "delta": {"stop_reason": reason, **fields}, "usage": usage}


STOP = {"type": "message_stop"}


def streamed(*events: Event) -> Reply:
    return fold(parse(ReplyParser(), [(e["type"], json.dumps(e)) for e in events]))


def whole(*blocks: dict[str, Any], stop_reason: str = "end_turn", **fields: Any) -> Reply:
    body = {"id": "m", "type": "message", "content": blocks, "stop_reason": stop_reason, **fields}
    return read_reply(json.dumps(body).encode())


def kinds(reply: Reply) -> list[tuple[str, int]]:
    layout = reply.message(Protocol.ANTHROPIC).semantics.layout
    return [] if layout is None else [(p.kind, p.length) for p in layout.pieces]


def finish(reply: Reply) -> tuple[str, str, str]:
    assert reply.finish is not None
    return reply.finish.reason, reply.finish.raw, reply.finish.detail


def test_a_plain_reply() -> None:
    reply = streamed(
        start(usage={"input_tokens": 5, "output_tokens": 1}),
        opened(0, "text", text=""),
        {"type": "ping"},
        delta(0, "text_delta", text="Hel"),
        delta(0, "text_delta", text="lo"),
        closed(0),
        stop(usage={"output_tokens": 8}),
        STOP,
    )
    assert (reply.id, reply.model, reply.text) == ("msg_1", "claude-x", "Hello")
    assert finish(reply) == ("stop", "end_turn", "")
    assert reply.usage == Usage(5, 8)
    assert reply.message(Protocol.ANTHROPIC).semantics.layout is None


def test_thinking_is_signed_and_redacted_thinking_is_opaque() -> None:
    reply = streamed(
        start(),
        opened(0, "thinking", thinking="", signature=""),
        delta(0, "thinking_delta", thinking="hm"),
        delta(0, "signature_delta", signature="AB"),
        delta(0, "signature_delta", signature="CD"),
        closed(0),
        opened(1, "redacted_thinking", data="XYZ"),
        closed(1),
        opened(2, "text", text="4"),
        closed(2),
        stop(),
    )
    assert reply.thought == "hm"
    assert [(str(b.signature), b.encrypted) for b in reply.reasoning] == [("ABCD", ""), ("", "XYZ")]
    assert kinds(reply) == []
    assert whole(
        {"type": "thinking", "thinking": "hm", "signature": "ABCD"},
        {"type": "redacted_thinking", "data": "XYZ"},
        {"type": "text", "text": "4"},
    ).message(Protocol.ANTHROPIC) == reply.message(Protocol.ANTHROPIC)


def test_interleaved_thinking_keeps_its_place() -> None:
    reply = whole(
        {"type": "thinking", "thinking": "a", "signature": "1"},
        {"type": "text", "text": "Let me look."},
        {"type": "thinking", "thinking": "b", "signature": "2"},
        {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}},
        stop_reason="tool_use",
    )
    assert kinds(reply) == [("reasoning", 0), ("text", 12), ("reasoning", 0), ("call", 0)]


@each_row(
    ("begin", "pieces", "arguments"),
    [
        ({}, ['{ "a"', ": 1 }"], '{ "a": 1 }'),
        ({}, ["", '{"half'], '{"half'),
        ({}, [], "{}"),
        ({}, [""], "{}"),
        ({"a": [1, None]}, [], '{"a":[1,null]}'),
        (None, [], "{}"),
    ],
)
def test_tool_input(begin: Any, pieces: list[str], arguments: str) -> None:
    reply = streamed(
        start(),
        opened(0, "tool_use", id="toolu_1", name="f", input=begin),
        *(delta(0, "input_json_delta", partial_json=piece) for piece in pieces),
        closed(0),
        opened(1, "tool_use", id="toolu_2", name="g", input={}),
        delta(1, "input_json_delta", partial_json="{}"),
        closed(1),
        stop("tool_use"),
    )
    assert [(c.id, c.name, str(c.arguments)) for c in reply.calls] == [
        ("toolu_1", "f", arguments),
        ("toolu_2", "g", "{}"),
    ]
    assert finish(reply)[0] == "tool_calls"


def test_blocks_that_are_not_ours_are_put_together_and_kept() -> None:
    use = {"type": "server_tool_use", "id": "srv_1", "name": "web_search"}
    result = {"type": "web_search_tool_result", "tool_use_id": "srv_1", "content": [{"url": "u"}]}
    reply = streamed(
        start(),
        opened(0, "text", text="Looking."),
        closed(0),
        opened(1, "server_tool_use", id="srv_1", name="web_search", input={}),
        delta(1, "input_json_delta", partial_json='{"query":'),
        delta(1, "input_json_delta", partial_json=' "x"}'),
        closed(1),
        opened(2, "web_search_tool_result", tool_use_id="srv_1", content=[{"url": "u"}]),
        closed(2),
        opened(3, "compaction", content=None),
        delta(3, "compaction_delta", content="sum"),
        delta(3, "compaction_delta", content="mary"),
        closed(3),
        opened(4, "text", text=""),
        delta(4, "citations_delta", citation={"url": "u"}),
        delta(4, "text_delta", text="Found."),
        closed(4),
        stop(),
    )
    assert (reply.text, reply.calls) == ("Looking.Found.", ())
    layout = reply.message(Protocol.ANTHROPIC).semantics.layout
    assert layout is not None
    assert [p.kind for p in layout.pieces] == ["text", "other", "other", "other", "text"]
    assert [json.loads(p.data) for p in layout.pieces[1:4]] == [
        {**use, "input": {"query": "x"}},
        result,
        {"type": "compaction", "content": "summary"},
    ]


@each_row(
    ("raw", "reason"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("tool_use", "tool_calls"),
        ("pause_turn", "paused"),
        ("refusal", "refusal"),
        ("word_of_tomorrow", "other"),
    ],
)
def test_stop_reasons(raw: str, reason: str) -> None:
    assert finish(streamed(start(), stop(raw), STOP))[:2] == (reason, raw)
    assert finish(whole(stop_reason=raw))[:2] == (reason, raw)


def test_why_it_was_refused_is_kept() -> None:
    details = {"type": "refusal", "category": "cyber", "explanation": "Policy."}
    reply = streamed(start(), stop("refusal", stop_details=details))
    assert finish(reply) == ("refusal", "refusal", "Policy.")


def test_usage_overwrites_and_input_is_the_sum_of_three() -> None:
    reply = streamed(
        start(
            usage={
                "input_tokens": 3,
                "cache_read_input_tokens": 100,
                "cache_creation_input_tokens": 20,
                "output_tokens": 1,
            }
        ),
        stop(
            usage={
                "input_tokens": 5,
                "output_tokens": 30,
                "output_tokens_details": {"thinking_tokens": 9},
            }
        ),
    )
    assert reply.usage == Usage(input=125, output=30, cached=100, cache_write=20, reasoning=9)


def test_message_delta_with_a_stop_reason_is_an_end() -> None:
    """A server that forgets the last blank line makes `message_stop` vanish, and nothing else."""
    assert streamed(start(), opened(0, "text", text="x"), stop()).text == "x"


@each_row("events", [[], [start()], [start(), opened(0, "text", text="x")], [start(), stop(None)]])
def test_a_cut_stream_is_an_error(events: list[Event]) -> None:
    with pytest.raises(ReplyCut):
        streamed(*events)


def test_message_stop_alone_is_an_end_too() -> None:
    assert finish(streamed(start(), STOP)) == ("stop", "", "")


def test_errors_inside_a_stream() -> None:
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    with pytest.raises(Refused, match="Overloaded") as raised:
        streamed(start(), opened(0, "text", text="x"), error)
    assert (raised.value.status, raised.value.code) == (None, "overloaded_error")
    assert "try again" in raised.value.advice
    with pytest.raises(Refused, match="Overloaded"):
        read_reply(json.dumps(error).encode())


def test_a_second_message_continues_the_same_reply() -> None:
    """Calls made by code come at once with `message_start`, in messages of their own."""
    use = {"type": "tool_use", "name": "f", "input": {"n": 1}}
    reply = streamed(
        start(),
        opened(0, "text", text="One."),
        opened(1, "tool_use", id="a", name="f", input={}),
        closed(1),
        stop("tool_use"),
        STOP,
        start(id="msg_2", content=[{**use, "id": "b"}], stop_reason="tool_use"),
        STOP,
        start(id="msg_3"),
        opened(0, "text", text="Two."),
        stop("end_turn"),
        STOP,
    )
    assert (reply.id, reply.text) == ("msg_1", "One.\n\nTwo.")
    assert [(c.id, str(c.arguments)) for c in reply.calls] == [("a", "{}"), ("b", '{"n":1}')]


def test_odd_fields_do_no_harm() -> None:
    reply = streamed(
        {"type": "message_start", "message": 3},
        delta(0, "text_delta", text="ok"),
        delta(7, "thinking_delta", thinking="hm"),
        delta(8, "input_json_delta", partial_json="{}"),
        opened(1, "text", text=None),
        {"type": "content_block_start", "index": "x", "content_block": []},
        {"type": "content_block_delta", "index": 1, "delta": "x"},
        {"type": "event_of_tomorrow"},
        closed(99),
        stop(usage=3),
    )
    assert (reply.text, reply.thought, len(reply.calls)) == ("ok", "hm", 1)


@each_row("body", [b"", b"{}", b"[3]", b'{"type":"message"}', b"<p>"])
def test_a_body_that_is_no_reply(body: bytes) -> None:
    with pytest.raises(ReplyCut):
        read_reply(body)


def test_writes_of_an_hour_and_the_service_tier_are_read():
    usage = {
        "input_tokens": 3,
        "output_tokens": 1,
        "cache_creation_input_tokens": 30,
        "cache_creation": {"ephemeral_5m_input_tokens": 10, "ephemeral_1h_input_tokens": 20},
        "service_tier": "priority",
    }
    for reply in (
        streamed(start(usage=usage), stop(usage={"output_tokens": 5}), STOP),
        whole(usage=usage),
    ):
        found = reply.usage
        assert (found.input, found.cache_write, found.cache_write_1h) == (33, 30, 20)
        assert found.tier == "priority"


@pytest.mark.parametrize(
    ("kind", "what"),
    [("web_search_tool_result", "web search"), ("web_fetch_tool_result", "fetch of a page")],
)
def test_a_search_that_failed_is_told(kind: str, what: str) -> None:
    fault = {"type": f"{kind}_error", "error_code": "max_uses_exceeded"}
    reply = streamed(start(), opened(0, kind, tool_use_id="s", content=fault), closed(0), stop())
    assert f"A {what} failed: max_uses_exceeded." in reply.references.failures
