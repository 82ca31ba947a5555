"""Several replies in one stream: one that begins after the end of another continues it, one that
begins before that replaces it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.reply_streams import fold, parse
from tests.support.tables import each_row
from tui_chat.errors import ReplyCut
from tui_chat.models.endpoint import Protocol
from tui_chat.models.reply import Reply
from tui_chat.models.reply_growth import MOST_REPLACED, TEXT_SIZE, advance
from tui_chat.models.stream_events import (
    Finished,
    ReasoningDelta,
    Restarted,
    Started,
    StreamEvent,
    TextDelta,
    ToolCallDelta,
)
from tui_chat.protocols.registry import PROTOCOLS
from tui_chat.providers.key_mask import KeyMask

Event = dict[str, Any]
CHAT, RESPONSES = Protocol.OPENAI_CHAT, Protocol.OPENAI_RESPONSES
ANTHROPIC, GEMINI, OLLAMA = Protocol.ANTHROPIC, Protocol.GEMINI, Protocol.OLLAMA

CALL = ("call_1", "look", '{"a":1}')


def attempt(
    protocol: Protocol,
    id: str,
    *texts: str,
    thought: str = "",
    call: bool = False,
    end: bool = True,
) -> Iterator[Event]:
    """Yield the events of one reply: its beginning, its contents and, with `end`, its end."""
    match protocol:
        case Protocol.OPENAI_CHAT:
            yield from _chat(id, texts, thought, call=call, end=end)
        case Protocol.OPENAI_RESPONSES:
            yield from _responses(id, texts, thought, call=call, end=end)
        case Protocol.ANTHROPIC:
            yield from _anthropic(id, texts, thought, call=call, end=end)
        case Protocol.GEMINI:
            yield from _gemini(id, texts, thought, call=call, end=end)
        case Protocol.OLLAMA:
            yield from _ollama(texts, thought, call=call, end=end)


def _chat(
    id: str, texts: tuple[str, ...], thought: str, *, call: bool, end: bool
) -> Iterator[Event]:
    def chunk(delta: Event, finish: str | None = None) -> Event:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return {"id": id, "model": f"model of {id}", "choices": [choice]}

    yield chunk({"role": "assistant", "content": ""})
    if thought:
        yield chunk({"reasoning_content": thought})
    for text in texts:
        yield chunk({"content": text})
    if call:
        function = {"name": CALL[1], "arguments": CALL[2]}
        yield chunk({"tool_calls": [{"index": 0, "id": CALL[0], "function": function}]})
    if end:
        yield chunk({}, "stop")


def _responses(
    id: str, texts: tuple[str, ...], thought: str, *, call: bool, end: bool
) -> Iterator[Event]:
    response = {"id": id, "model": f"model of {id}", "status": "in_progress", "store": True}
    yield {"type": "response.created", "response": response}
    index = 0
    if thought:
        delta = {"type": "response.reasoning_summary_text.delta", "summary_index": 0}
        yield {**delta, "output_index": index, "delta": thought}
        index += 1
    if texts:
        item = {"type": "message", "id": f"msg_{id}", "content": []}
        yield {"type": "response.output_item.added", "output_index": index, "item": item}
        for text in texts:
            yield {"type": "response.output_text.delta", "output_index": index, "delta": text}
        index += 1
    if call:
        item = {"type": "function_call", "call_id": CALL[0], "name": CALL[1], "arguments": CALL[2]}
        yield {"type": "response.output_item.done", "output_index": index, "item": item}
    if end:
        done = {**response, "status": "completed"}
        yield {"type": "response.completed", "response": done}


def _anthropic(
    id: str, texts: tuple[str, ...], thought: str, *, call: bool, end: bool
) -> Iterator[Event]:
    message = {"id": id, "model": f"model of {id}", "content": []}
    yield {"type": "message_start", "message": message}
    blocks: list[tuple[Event, list[Event]]] = []
    if thought:
        deltas: list[Event] = [{"type": "thinking_delta", "thinking": thought}]
        blocks.append(({"type": "thinking", "thinking": ""}, deltas))
    if texts:
        deltas = [{"type": "text_delta", "text": text} for text in texts]
        blocks.append(({"type": "text", "text": ""}, deltas))
    if call:
        deltas = [{"type": "input_json_delta", "partial_json": CALL[2]}]
        blocks.append(({"type": "tool_use", "id": CALL[0], "name": CALL[1]}, deltas))
    for index, (block, deltas) in enumerate(blocks):
        yield {"type": "content_block_start", "index": index, "content_block": block}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        if end:
            yield {"type": "content_block_stop", "index": index}
    if end:
        yield {"type": "message_delta", "delta": {"stop_reason": "end_turn"}}
        yield {"type": "message_stop"}


def _gemini(
    id: str, texts: tuple[str, ...], thought: str, *, call: bool, end: bool
) -> Iterator[Event]:
    def response(part: Event, **more: Any) -> Event:
        candidate = {"content": {"role": "model", "parts": [part]}, **more}
        return {"candidates": [candidate], "responseId": id, "modelVersion": f"model of {id}"}

    if thought:
        yield response({"text": thought, "thought": True})
    for text in texts:
        yield response({"text": text})
    if call:
        found = {"id": CALL[0], "name": CALL[1], "args": json.loads(CALL[2])}
        yield response({"functionCall": found})
    if end:
        yield response({"text": ""}, finishReason="STOP")


def _ollama(texts: tuple[str, ...], thought: str, *, call: bool, end: bool) -> Iterator[Event]:
    if thought:
        yield {"message": {"role": "assistant", "content": "", "thinking": thought}}
    for text in texts:
        yield {"message": {"role": "assistant", "content": text}, "done": False}
    if call:
        found = {"id": CALL[0], "function": {"name": CALL[1], "arguments": json.loads(CALL[2])}}
        yield {"message": {"role": "assistant", "content": "", "tool_calls": [found]}}
    if end:
        yield {"message": {"role": "assistant", "content": ""}, "done": True}


def events_of(protocol: Protocol, *attempts: Iterator[Event]) -> list[StreamEvent]:
    pairs = [(str(event.get("type", "")), json.dumps(event)) for each in attempts for event in each]
    return parse(PROTOCOLS[protocol].parser(), pairs)


def streamed(protocol: Protocol, *attempts: Iterator[Event]) -> Reply:
    return fold(events_of(protocol, *attempts))


def calls(reply: Reply) -> list[tuple[str, str, str]]:
    return [(call.id, call.name, str(call.arguments)) for call in reply.calls]


WITH_IDS = [CHAT, RESPONSES, ANTHROPIC, GEMINI]


@each_row("protocol", WITH_IDS)
def test_what_an_attempt_left_behind_is_replaced(protocol: Protocol) -> None:
    given_up = attempt(protocol, "a", "The first ", "att", thought="Hm.", call=True, end=False)
    reply = streamed(protocol, given_up, attempt(protocol, "b", "The second", "."))
    message = reply.message(protocol)
    assert message.content == "The second."
    assert message.tool_calls == ()
    assert message.semantics.reasoning == ()
    assert message.semantics.replaced == ("The first att",)
    assert (reply.id, reply.model) == ("b", "model of b")
    assert reply.finish is not None
    layout = message.semantics.layout
    assert layout is None or layout.fits("The second.", (), ())
    # Everything but what tells of the restart is as if the second attempt were the only one.
    alone = streamed(protocol, attempt(protocol, "b", "The second", "."))
    assert message.content == alone.text
    assert layout == alone.message(protocol).semantics.layout


@each_row("protocol", WITH_IDS)
def test_calls_and_reasoning_are_numbered_anew(protocol: Protocol) -> None:
    full = {"thought": "Hm.", "call": True}
    reply = streamed(
        protocol,
        attempt(protocol, "a", "One", " two", **full, end=False),  # pyright: ignore[reportArgumentType]
        attempt(protocol, "b", "One", **full, end=False),  # pyright: ignore[reportArgumentType]
        attempt(protocol, "c", "Two", **full),  # pyright: ignore[reportArgumentType]
    )
    assert reply.text == "Two"
    assert calls(reply) == [CALL]
    assert reply.thought == "Hm."
    assert reply.replaced == ("One two", "One")
    assert reply.finish is not None
    assert reply.finish.reason == "tool_calls"


@each_row("protocol", WITH_IDS)
def test_an_attempt_that_only_thought_leaves_no_text(protocol: Protocol) -> None:
    given_up = list(attempt(protocol, "a", thought="Hm.", end=False))
    if protocol is GEMINI:  # an id must come twice
        given_up *= 2
    reply = streamed(protocol, iter(given_up), attempt(protocol, "b", "Yes."))
    assert (reply.text, reply.thought, reply.replaced) == ("Yes.", "", ("",))


@each_row("protocol", list(Protocol))
def test_a_reply_after_the_end_of_another_is_a_paragraph_of_its_own(protocol: Protocol) -> None:
    first = attempt(protocol, "a", "I look.", call=True)
    reply = streamed(protocol, first, attempt(protocol, "b", "It ", "rains."))
    assert reply.text == "I look.\n\nIt rains."
    assert calls(reply) == [CALL]
    assert (reply.replaced, reply.restarts) == ((), 0)


@each_row("protocol", list(Protocol))
def test_no_blank_line_is_left_where_no_text_follows(protocol: Protocol) -> None:
    first = attempt(protocol, "a", "I look.")
    reply = streamed(protocol, first, attempt(protocol, "b", call=True))
    assert reply.text == "I look."
    assert calls(reply) == [CALL]


@each_row("protocol", WITH_IDS)
def test_a_second_beginning_before_any_content_changes_nothing(protocol: Protocol) -> None:
    begun = [] if protocol is GEMINI else list(attempt(protocol, "a", end=False))
    reply = streamed(protocol, iter(begun), attempt(protocol, "b", "Yes", "."))
    assert (reply.text, reply.replaced) == ("Yes.", ())


@each_row("protocol", WITH_IDS)
def test_the_last_attempt_must_have_an_end(protocol: Protocol) -> None:
    attempts = (
        attempt(protocol, "a", "One", ".", end=False),
        attempt(protocol, "b", "Two", ".", end=False),
    )
    with pytest.raises(ReplyCut):
        streamed(protocol, *attempts)


@pytest.mark.parametrize("role", [True, False])
def test_chat_ids_that_change_with_every_chunk_tell_nothing(role: bool) -> None:
    words = ["So", " it", " is", "."]
    chunks = [
        {
            "id": f"c{number}",
            "choices": [{"delta": {"content": word, **({"role": "assistant"} if role else {})}}],
        }
        for number, word in enumerate(words)
    ]
    last = {"id": "end", "choices": [{"delta": {"role": "assistant"}, "finish_reason": "stop"}]}
    reply = streamed(CHAT, iter([*chunks, last]))
    assert (reply.text, reply.restarts) == ("So it is.", 0)


def test_a_chat_role_in_every_chunk_and_a_new_id_without_one_tell_nothing() -> None:
    def chunk(id: str, **delta: str) -> Event:
        return {"id": id, "choices": [{"delta": delta}]}

    said = [chunk("a", role="assistant", content=word) for word in ("So", " it", " is")]
    end = {"id": "b", "choices": [{"delta": {"content": "."}, "finish_reason": "stop"}]}
    usage = {"id": "c", "choices": [{"delta": {"role": "assistant"}}], "usage": {}}
    assert streamed(CHAT, iter([*said, end, usage])).text == "So it is."


def test_citations_count_in_the_text_of_their_own_reply() -> None:
    web = {"type": "web_search_result_location", "url": "https://a.example/", "title": "A"}
    for end in (True, False):
        second = list(attempt(ANTHROPIC, "b", "Two"))
        delta = {"type": "citations_delta", "citation": web}
        second.insert(3, {"type": "content_block_delta", "index": 0, "delta": delta})
        first = attempt(ANTHROPIC, "a", "One.", end=end)
        message = streamed(ANTHROPIC, first, iter(second)).message(ANTHROPIC)
        [citation] = message.semantics.references.citations
        assert message.content[citation.start : citation.end] == "Two"
    annotation = {
        "type": "url_citation",
        "url_citation": {"url": "https://a.example/", "start_index": 0, "end_index": 3},
    }
    second = list(attempt(CHAT, "b", "Two"))
    second[1]["choices"][0]["delta"]["annotations"] = [annotation]
    message = streamed(CHAT, attempt(CHAT, "a", "One."), iter(second)).message(CHAT)
    [citation] = message.semantics.references.citations
    assert message.content[citation.start : citation.end] == "Two"


# Folding


def test_a_continued_reply_keeps_what_it_continues() -> None:
    """A stream that goes on from the user's text must not lose that text."""
    reply = advance(Reply(begun=6), TextDelta("Once. "))
    for event in (TextDelta("Bad"), Restarted(), TextDelta("Good.")):
        reply = advance(reply, event)
    assert (reply.text, reply.replaced) == ("Once. Good.", ("Bad",))


def test_restarts_without_end_come_to_the_limit_of_a_reply() -> None:
    reply, piece = Reply(), "x" * (TEXT_SIZE // 100)
    for _ in range(100):
        for event in (ReasoningDelta(0, "Hm"), ToolCallDelta(0, "a", "b"), TextDelta(piece)):
            reply = advance(reply, event)
        reply = advance(reply, Restarted())
    assert reply.excess
    assert len(reply.replaced) <= MOST_REPLACED
    assert sum(map(len, reply.replaced)) <= TEXT_SIZE + 2 * 100


def test_a_key_is_not_looked_for_across_two_attempts() -> None:
    mask = KeyMask("sk-0123456789abcdef")
    events: list[StreamEvent] = [
        Started("m"),
        TextDelta("say sk-01234"),
        Restarted(),
        TextDelta("56789abcdef"),
        Finished("stop", "stop"),
    ]
    reply = fold([*mask.mask_events(events), *mask.close()])
    assert (reply.text, reply.replaced) == ("56789abcdef", ("say sk-01234",))
