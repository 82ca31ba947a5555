"""However the bytes are cut the reply is the same, and no bytes end in a traceback."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.reply_streams import fold, line_events, parse, sse_events
from tests.support.tables import each_row
from tui_chat.errors import ProviderError
from tui_chat.models.endpoint import Protocol
from tui_chat.protocols.common.error_body import response_error
from tui_chat.protocols.registry import PROTOCOLS
from tui_chat.providers.client import JSON_LINES

TEXT = "a\u2028b\u0085é😀\r\n\n:data: x"
STREAMS: dict[Protocol, list[tuple[str, dict[str, Any]]]] = {
    Protocol.OPENAI_CHAT: [
        ("", {"id": "c", "choices": [{"index": 0, "delta": {"content": TEXT}}]}),
        ("", {"id": "c", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}),
    ],
    Protocol.OPENAI_RESPONSES: [
        ("x", {"type": "response.output_text.delta", "output_index": 0, "delta": TEXT}),
        ("y", {"type": "response.completed", "response": {"status": "completed"}}),
    ],
    Protocol.ANTHROPIC: [
        ("content_block_delta", {"index": 0, "delta": {"type": "text_delta", "text": TEXT}}),
        ("message_delta", {"delta": {"stop_reason": "end_turn"}}),
    ],
    Protocol.GEMINI: [
        ("", {"candidates": [{"content": {"parts": [{"text": TEXT}]}}]}),
        ("", {"candidates": [{"finishReason": "STOP"}]}),
    ],
    Protocol.OLLAMA: [
        ("", {"model": "m", "message": {"role": "assistant", "content": TEXT}, "done": False}),
        ("", {"model": "m", "message": {"content": ""}, "done": True, "done_reason": "stop"}),
    ],
}

protocols = each_row("protocol", list(Protocol))


def events_of(protocol: Protocol, *pieces: bytes) -> list[tuple[str, str]]:
    lines = PROTOCOLS[protocol].stream_type == JSON_LINES
    return line_events(*pieces) if lines else sse_events(*pieces)


def stream_bytes(protocol: Protocol, newline: str) -> bytes:
    lines: list[str] = []
    if PROTOCOLS[protocol].stream_type == JSON_LINES:
        lines = [json.dumps(data, ensure_ascii=False) for _, data in STREAMS[protocol]]
        return newline.join([*lines, ""]).encode()
    for event, data in STREAMS[protocol]:
        lines += [": a comment", ""]
        lines += [f"event: {event}"] if event else []
        lines += [f"data: {json.dumps(data, ensure_ascii=False)}", ""]
    return newline.join([*lines, ""]).encode()


@protocols
@settings(max_examples=25)
@given(newline=st.sampled_from(["\n", "\r\n"]), data=st.data())
def test_any_cutting_of_the_bytes_gives_the_same_reply(
    protocol: Protocol, newline: str, data: st.DataObject
) -> None:
    body = stream_bytes(protocol, newline)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(body)), max_size=12)))
    pieces = [body[a:b] for a, b in zip([0, *cuts], [*cuts, len(body)], strict=True)]
    reply = fold(parse(PROTOCOLS[protocol].parser(), events_of(protocol, *filter(None, pieces))))
    assert reply.text == TEXT
    assert reply == fold(parse(PROTOCOLS[protocol].parser(), events_of(protocol, body)))


@protocols
def test_one_byte_at_a_time(protocol: Protocol) -> None:
    body = stream_bytes(protocol, "\r\n")
    events = events_of(protocol, *(body[n : n + 1] for n in range(len(body))))
    assert fold(parse(PROTOCOLS[protocol].parser(), events)).text == TEXT


def _sampled(words: str) -> st.SearchStrategy[str]:
    return st.sampled_from(words.split())


# Words of all protocols, so that junk gets past the first look.
KEYS = _sampled("""
    type index id model choices delta message content text finish_reason tool_calls function
    name arguments reasoning reasoning_details reasoning_content usage prompt_tokens refusal error
    code status output_index item response output summary encrypted_content incomplete_details
    content_block partial_json thinking signature data stop_reason candidates parts thought
    functionCall args partialArgs jsonPath stringValue willContinue promptFeedback blockReason
    usageMetadata promptTokenCount finishReason input_tokens details retryDelay metadata raw
    summary_index content_index detail loc msg images done done_reason eval_count prompt_eval_count
""")
WORDS = _sampled("""
    text thinking redacted_thinking tool_use server_tool_use text_delta thinking_delta
    signature_delta input_json_delta content_block_start content_block_delta content_block_stop
    message_start message_delta message_stop response.created response.output_item.added
    response.output_item.done response.output_text.delta response.reasoning_text.delta
    response.reasoning_summary_text.delta response.function_call_arguments.delta
    response.completed response.incomplete response.failed message reasoning function_call
    completed STOP stop error $.a[0].b reasoning.text
""")
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.sampled_from([10**40, -1.5, 1e308, float("inf"), float("nan")])
    | WORDS
    | st.text(max_size=4)
    | st.just("\ud83d")
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=5),
    max_leaves=25,
)


def complain_unless_readable(error: ProviderError) -> None:
    """Hold that an error is one line that moves no cursor and turns no text around."""
    assert not re.search("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]", str(error))


@pytest.mark.slow
@protocols
@settings(max_examples=120)
@given(junk=st.lists(st.tuples(WORDS | st.just(""), VALUES | WORDS), max_size=6))
def test_junk_of_the_right_shape_raises_nothing_but_provider_errors(
    protocol: Protocol, junk: list[tuple[str, Any]]
) -> None:
    parser = PROTOCOLS[protocol].parser()
    try:
        reply = fold(parse(parser, [(event, json.dumps(data)) for event, data in junk]))
    except ProviderError as error:
        complain_unless_readable(error)
        return
    message = reply.message(protocol)
    message.content.encode()


@protocols
@given(body=VALUES.map(lambda value: json.dumps(value).encode()) | st.binary(max_size=40))
def test_junk_bodies(protocol: Protocol, body: bytes) -> None:
    complain_unless_readable(response_error(500, body))
    try:
        reply = PROTOCOLS[protocol].read_reply(body)
    except ProviderError as error:
        complain_unless_readable(error)
    else:
        assert reply.finish is not None


@protocols
@each_row("data", ["[" * 100_000, "9" * 5000, '{"a":' * 90_000, "\x00", "tru", "{"])
def test_hostile_json(protocol: Protocol, data: str) -> None:
    with pytest.raises(ProviderError):
        PROTOCOLS[protocol].parser().feed("", data)
    with pytest.raises(ProviderError):
        PROTOCOLS[protocol].read_reply(data.encode())


@protocols
@each_row("data", ["", "  ", "null", "3", '"x"', "[]", "{}", "[null, 3]", "[DONE]"])
def test_harmless_events(protocol: Protocol, data: str) -> None:
    parser = PROTOCOLS[protocol].parser()
    assert [e for e in parser.feed("", data) if protocol is not Protocol.OPENAI_CHAT] == []
