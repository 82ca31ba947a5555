"""What replies rest on: sources and citations of every protocol in one form."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from tests.support.corpus import CORPUS
from tests.support.reply_streams import fold, parse
from tests.support.requests import assistant, body_of, chat, decoded, encoded, user
from tests.support.tables import each_row
from tui_chat.models.blocks import TextBlock
from tui_chat.models.citations import (
    MOST_CITATIONS,
    MOST_SOURCES,
    QUOTE_LENGTH,
    TITLE_LENGTH,
    Citation,
    References,
)
from tui_chat.models.endpoint import Protocol
from tui_chat.models.envelope import Level
from tui_chat.models.message import Message
from tui_chat.protocols.registry import PROTOCOLS

Event = dict[str, Any]
CHAT, RESPONSES = Protocol.OPENAI_CHAT, Protocol.OPENAI_RESPONSES
ANTHROPIC, GEMINI = Protocol.ANTHROPIC, Protocol.GEMINI


def whole(protocol: Protocol, body: Event) -> Message:
    return PROTOCOLS[protocol].read_reply(json.dumps(body).encode()).message(protocol)


def references(message: Message) -> References:
    return message.about.references


def cited(message: Message) -> list[tuple[str, str]]:
    """The cited stretches of text, and the label of the source of each."""
    found = references(message)
    return [
        (message.content[each.start : each.end], found.sources[each.source].label)
        for each in message.citations
    ]


# OpenAI Chat


def choice(message: Event, key: str = "delta", **more: Any) -> Event:
    return {"id": "c", "choices": [{"index": 0, key: message, "finish_reason": None}], **more}


def url_citation(url: str, start: int, end: int, title: str = "", **more: Any) -> Event:
    fields = {"url": url, "title": title, "start_index": start, "end_index": end, **more}
    return {"type": "url_citation", "url_citation": fields}


# Responses


def item(annotations: list[Event], text: str) -> Event:
    part = {"type": "output_text", "text": text, "annotations": annotations}
    return {"type": "message", "id": "msg_1", "content": [part]}


# Anthropic


# Gemini


def grounded(text: str, supports: list[Event], **metadata: Any) -> Event:
    chunks = [
        {"web": {"uri": "https://a.example/", "title": "a.example"}},
        {"retrievedContext": {"title": "B", "text": "inside", "documentName": "docs/b"}},
    ]
    candidate = {
        "content": {"role": "model", "parts": [{"text": text}]},
        "finishReason": "STOP",
        "groundingMetadata": {
            "webSearchQueries": ["q"],
            "groundingChunks": chunks,
            "groundingSupports": supports,
        },
        **metadata,
    }
    return {"candidates": [candidate]}


def support(start: int, end: int, *numbers: int, text: str = "") -> Event:
    segment = {"startIndex": start, "endIndex": end, **({"text": text} if text else {})}
    return {"segment": segment, "groundingChunkIndices": list(numbers)}


# Hostile replies


@each_row(
    "url",
    [
        "javascript:alert(1)",
        "file:///etc/passwd",
        "https://",
        "https://a.example/\u202ecod.exe",
        "https://a.example/\x1b]8;;",
        "https://a.example/ b",
        "https://a.example/" + "x" * 3000,
        "https://[a",
    ],
)
def test_only_safe_web_addresses_become_links(url: str) -> None:
    annotation = url_citation(url, 0, 2, "T\x1b[31m" * 200, content="q" * 9999)
    found = whole(CHAT, choice({"content": "So", "annotations": [annotation]}, "message"))
    (source,) = references(found).sources
    (citation,) = found.citations
    assert source.url == ""
    assert len(source.title) == len(source.file) or len(source.title) == TITLE_LENGTH
    assert all(each.isprintable() for each in (source.title, source.file))
    assert len(citation.quote) == QUOTE_LENGTH


def test_too_many_sources_and_citations_are_cut_and_the_reply_goes_on() -> None:
    many = [url_citation(f"https://a.example/{i}", 0, 2) for i in range(MOST_SOURCES + 5)]
    ends = range(1, MOST_CITATIONS + 5)
    places = [url_citation("https://a.example/0", 0, end) for end in ends]
    for given in (many, places):
        message = {"content": "x" * 2000, "annotations": given}
        reply = whole(CHAT, choice(message, "message"))
        found = references(reply)
        assert len(found.sources) <= MOST_SOURCES
        assert len(reply.citations) <= MOST_CITATIONS
        assert found.cut
    listed = [f"https://a.example/{i}" for i in range(MOST_SOURCES + 5)]
    found = references(whole(CHAT, choice({"content": "x"}, "message", citations=listed)))
    assert (len(found.sources), found.cut) == (MOST_SOURCES, True)


@each_row("junk", [None, 7, "x", [], [None], [[]], [{"type": 3}], {"a": []}])
def test_junk_in_the_place_of_references_does_no_harm(junk: Any) -> None:
    found = [
        whole(
            CHAT,
            choice(
                {"content": "So", "annotations": junk},
                "message",
                citations=junk,
                search_results=junk,
            ),
        ),
        whole(RESPONSES, {"output": [item(junk, "So")], "status": "completed"}),
        whole(
            ANTHROPIC,
            {
                "content": [
                    {"type": "text", "text": "So", "citations": junk},
                    {"type": "web_search_tool_result", "content": junk},
                ],
                "stop_reason": "end_turn",
            },
        ),
        whole(GEMINI, grounded("So", junk, citationMetadata=junk, urlContextMetadata=junk)),
    ]
    assert {message.content for message in found} == {"So"}


# Recorded replies


def recorded(name: str) -> Message:
    path = CORPUS / "wire" / name
    if not path.exists():
        pytest.skip(f"no recording {path}")
    protocol = Protocol(path.parent.name)
    if path.suffix == ".json":
        return PROTOCOLS[protocol].read_reply(path.read_bytes()).message(protocol)
    events = [
        ("", line.removeprefix("data: "))
        for line in path.read_text().splitlines()
        if line.startswith("data: ")
    ]
    return fold(parse(PROTOCOLS[protocol].parser(), events)).message(protocol)


@each_row(
    ("name", "sources", "citations", "last"),
    [
        ("openai_responses/vai-openai-web-search-tool-1.response.sse", 28, 12, "))"),
        ("anthropic/anthropic-model-web-search-tool-stream-0.response.sse", 20, 5, "degrees"),
        ("anthropic/vai-anthropic-web-search-tool-1.response.sse", 10, 9, "JST."),
        ("gemini/google-model-file-search-tool-stream-3.response.sse", 1, 2, "Paris"),
        ("gemini/google-model-web-fetch-tool-stream-0.response.sse", 1, 1, "available!"),
    ],
)
def test_recorded_replies(name: str, sources: int, citations: int, last: str) -> None:
    message = recorded(name)
    found = references(message)
    assert (len(found.sources), len(message.citations)) == (sources, citations)
    assert all(each.end for each in message.citations)
    assert any(text.endswith(last) for text, _ in cited(message))


# Sent back


@each_row("target", list(Protocol))
def test_a_cited_reply_is_sent_as_its_text_alone(target: Protocol) -> None:
    envelope = decoded(chat(user(), assistant("Paris"), user()))
    plain = encoded(envelope, target)
    asked, answer, last = envelope.turns
    text = TextBlock("Paris", citations=(Citation(0, 0, 5),))
    cited_reply = replace(answer, blocks=(text,))
    out = encoded(replace(envelope, turns=(asked, cited_reply, last)), target)
    assert body_of(out) == body_of(plain)
    [note] = [note for note in out.notes if note not in plain.notes]
    assert (note.code, note.level, note.origin) == ("citations-left-out", Level.INFO, answer.origin)
