"""What replies rest on: the sources of every protocol in one form."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.corpus import CORPUS
from tests.support.reply_streams import fold, parse
from tests.support.tables import each_row
from tui_chat.models.endpoint import Protocol
from tui_chat.models.message import (
    MOST_SOURCES,
    TITLE_LENGTH,
    Message,
    References,
)
from tui_chat.protocols.registry import PROTOCOLS

Event = dict[str, Any]
CHAT, RESPONSES = Protocol.OPENAI_CHAT, Protocol.OPENAI_RESPONSES
ANTHROPIC, GEMINI = Protocol.ANTHROPIC, Protocol.GEMINI


def whole(protocol: Protocol, body: Event) -> Message:
    return PROTOCOLS[protocol].read_reply(json.dumps(body).encode()).message(protocol)


def references(message: Message) -> References:
    return message.about.references


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
    assert source.url == ""
    assert len(source.title) == len(source.file) or len(source.title) == TITLE_LENGTH
    assert all(each.isprintable() for each in (source.title, source.file))


def test_too_many_sources_are_cut_and_the_reply_goes_on() -> None:
    many = [url_citation(f"https://a.example/{i}", 0, 2) for i in range(MOST_SOURCES + 5)]
    message = {"content": "x" * 2000, "annotations": many}
    assert len(references(whole(CHAT, choice(message, "message"))).sources) == MOST_SOURCES
    listed = [f"https://a.example/{i}" for i in range(MOST_SOURCES + 5)]
    found = references(whole(CHAT, choice({"content": "x"}, "message", citations=listed)))
    assert len(found.sources) == MOST_SOURCES


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
    ("name", "sources"),
    [
        ("openai_responses/vai-openai-web-search-tool-1.response.sse", 28),
        ("anthropic/anthropic-model-web-search-tool-stream-0.response.sse", 20),
        ("anthropic/vai-anthropic-web-search-tool-1.response.sse", 10),
        ("gemini/google-model-file-search-tool-stream-3.response.sse", 1),
        ("gemini/google-model-web-fetch-tool-stream-0.response.sse", 1),
    ],
)
def test_recorded_replies(name: str, sources: int) -> None:
    assert len(references(recorded(name)).sources) == sources
