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
from tui_chat.models.citations import (
    MOST_CITATIONS,
    MOST_SOURCES,
    QUOTE_LENGTH,
    TITLE_LENGTH,
    Citation,
    References,
    Source,
)
from tui_chat.models.endpoint import Protocol
from tui_chat.models.envelope import Level
from tui_chat.models.message import Message
from tui_chat.protocols.registry import PROTOCOLS

Event = dict[str, Any]
CHAT, RESPONSES = Protocol.OPENAI_CHAT, Protocol.OPENAI_RESPONSES
ANTHROPIC, GEMINI = Protocol.ANTHROPIC, Protocol.GEMINI


def streamed(protocol: Protocol, *events: Event) -> Message:
    pairs = [(str(each.get("type", "")), json.dumps(each)) for each in events]
    return fold(parse(PROTOCOLS[protocol].parser(), pairs)).message(protocol)


def whole(protocol: Protocol, body: Event) -> Message:
    return PROTOCOLS[protocol].read_reply(json.dumps(body).encode()).message(protocol)


def references(message: Message) -> References:
    found = message.semantics.references
    assert found.fits(message.content) or found == References()
    return found


def cited(message: Message) -> list[tuple[str, str]]:
    """The cited stretches of text, and the label of the source of each."""
    found = references(message)
    return [
        (message.content[each.start : each.end], found.sources[each.source].label)
        for each in found.citations
    ]


# OpenAI Chat


def choice(message: Event, key: str = "delta", **more: Any) -> Event:
    return {"id": "c", "choices": [{"index": 0, key: message, "finish_reason": None}], **more}


END: Event = {"id": "c", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}


def url_citation(url: str, start: int, end: int, title: str = "", **more: Any) -> Event:
    fields = {"url": url, "title": title, "start_index": start, "end_index": end, **more}
    return {"type": "url_citation", "url_citation": fields}


@pytest.mark.parametrize("is_stream", [True, False])
def test_chat_annotations_cite_characters_of_the_text(is_stream: bool) -> None:
    annotation = url_citation("https://a.example/x", 3, 8, "Ä\u202e title", content="  So  it is ")
    message = {"content": "🗼é Paris.", "annotations": [annotation, annotation]}
    if is_stream:
        first, second = {"content": "🗼é Pa", "annotations": [annotation]}, {"content": "ris."}
        again = {"annotations": [annotation]}
        found = streamed(CHAT, choice(first), choice(second), choice(again), END)
    else:
        found = whole(CHAT, choice(message, "message"))
    assert cited(found) == [("Paris", "Ä\\u202e title")]
    assert references(found).citations[0].quote == "So it is"


def test_a_place_that_is_none_is_unknown_and_the_source_is_kept() -> None:
    url = "https://a.example/"
    places = [(0, 0), (5, 3), (0, 99), (-4, 2)]
    annotations = [url_citation(f"{url}{i}", *place) for i, place in enumerate(places)]
    found = whole(CHAT, choice({"content": "Paris", "annotations": annotations}, "message"))
    assert [(each.start, each.end) for each in references(found).citations][:3] == [(0, 0)] * 3
    assert len(references(found).sources) == 4


def test_sources_beside_the_choices_keep_the_numbers_that_the_text_uses() -> None:
    urls = ["https://a.example/", "https://b.example/", "https://a.example/"]
    results = [{"title": f"T{i}", "url": url, "date": "2026"} for i, url in enumerate(urls)]
    found = streamed(
        CHAT,
        choice({"content": "One[1]"}, citations=urls),
        choice({"content": " two[3]."}, citations=urls),
        {**END, "citations": urls, "search_results": results},
    )
    expected = [Source(f"T{i}", url) for i, url in enumerate(urls)]
    assert list(references(found).sources) == expected
    assert found.content == "One[1] two[3]."


# Responses


def item(annotations: list[Event], text: str) -> Event:
    part = {"type": "output_text", "text": text, "annotations": annotations}
    return {"type": "message", "id": "msg_1", "content": [part]}


SEARCH = {
    "type": "web_search_call",
    "status": "completed",
    "action": {
        "type": "search",
        "query": "tower",
        "sources": [
            {"type": "url", "url": "https://read.example/"},
            {"type": "url", "url": "https://cited.example/a"},
        ],
    },
}
URL = {
    "type": "url_citation",
    "url": "https://cited.example/a",
    "title": "Cited",
    "start_index": 2,
    "end_index": 4,
}
FILE = {"type": "file_citation", "file_id": "file-1", "filename": "notes.txt", "index": 4}


@each_row("way", ["added", "done", "completed"])
def test_responses_annotations_count_from_their_part(way: str) -> None:
    before, after = item([], "First. "), {**item([URL, FILE], "abcdef"), "id": "msg_2"}
    searched = {**SEARCH, "id": "ws_1"}

    def done(index: int, of: Event) -> Event:
        return {"type": "response.output_item.done", "output_index": index, "item": of}

    events = [done(0, searched), done(1, before)]
    if way == "added":
        place = {"output_index": 2, "content_index": 0}
        events.append({"type": "response.output_text.delta", "delta": "abcdef", **place})
        kind = "response.output_text.annotation.added"
        events += [{"type": kind, "annotation": each, **place} for each in (URL, FILE)]
    output = [searched, before, after]
    completed = {"status": "completed", "output": output}
    if way == "completed":
        found = whole(RESPONSES, completed)
    else:
        last = {"type": "response.completed", "response": completed}
        found = streamed(RESPONSES, *events, done(2, after), last)
    assert cited(found) == [("cd", "Cited"), ("", "notes.txt")]
    assert references(found).citations[1].end == len("First. ") + 4
    # What was searched and not cited comes last, so that the cited sources have the first numbers.
    labels = [each.label for each in references(found).sources]
    assert labels == ["Cited", "notes.txt", "read.example"]
    assert references(found).queries == ("tower",)


def test_responses_searches_in_files_and_failures() -> None:
    results = [{"file_id": "file-1", "filename": "a.txt", "text": "x"}, {"file_id": "file-2"}]
    call = {"type": "file_search_call", "id": "fs_1", "queries": ["q1", "q2"], "results": results}
    failed = {"type": "web_search_call", "id": "ws_1", "status": "failed", "action": {}}
    found = references(whole(RESPONSES, {"output": [call, failed], "status": "completed"}))
    assert [each.file for each in found.sources] == ["a.txt", "file-2"]
    assert found.queries == ("q1", "q2")
    assert found.failures == ("A web search failed.",)


def test_responses_searches_with_several_queries() -> None:
    several = {**SEARCH, "action": {"type": "search", "query": "a", "queries": ["a", "b"]}}
    found = references(whole(RESPONSES, {"output": [several], "status": "completed"}))
    assert found.queries == ("a", "b")


# Anthropic


def text_block(text: str, *citations: Event) -> Event:
    return {"type": "text", "text": text, "citations": list(citations)}


WEB = {
    "type": "web_search_result_location",
    "url": "https://a.example/",
    "title": "A",
    "cited_text": "as said there",
    "encrypted_index": "xyz",
}


def document(kind: str, **more: Any) -> Event:
    return {"type": kind, "document_index": 1, "document_title": None, "cited_text": "c", **more}


@each_row(
    ("citation", "label", "where"),
    [
        (WEB, "A", ""),
        (
            document("char_location", start_char_index=0, end_char_index=7),
            "Document 2",
            "characters 1–7",
        ),
        (
            document("page_location", start_page_number=3, end_page_number=4, document_title="D"),
            "D",
            "page 3",
        ),
        (
            document("page_location", start_page_number=3, end_page_number=6),
            "Document 2",
            "pages 3–5",
        ),
        (
            document("content_block_location", start_block_index=0, end_block_index=1),
            "Document 2",
            "block 1",
        ),
        (
            {"type": "search_result_location", "source": "kb://7", "title": "", "cited_text": ""},
            "kb://7",
            "",
        ),
    ],
)
@each_row("is_stream", [True, False])
def test_anthropic_citations_cover_their_block(
    citation: Event, label: str, where: str, is_stream: bool
) -> None:
    blocks = [text_block("Hé 🗼: "), text_block("so it is", citation), text_block(".")]
    if is_stream:
        events: list[Event] = [{"type": "message_start", "message": {"id": "m", "content": []}}]
        for index, block in enumerate(blocks):
            begun = {**block, "text": "", "citations": []}
            events.append({"type": "content_block_start", "index": index, "content_block": begun})
            deltas = [{"type": "citations_delta", "citation": c} for c in block["citations"]]
            deltas.append({"type": "text_delta", "text": block["text"]})
            events += [
                {"type": "content_block_delta", "index": index, "delta": each} for each in deltas
            ]
            events.append({"type": "content_block_stop", "index": index})
        events.append({"type": "message_delta", "delta": {"stop_reason": "end_turn"}})
        found = streamed(ANTHROPIC, *events)
    else:
        found = whole(ANTHROPIC, {"content": blocks, "stop_reason": "end_turn"})
    assert cited(found) == [("so it is", label)]
    assert references(found).citations[0].where == where
    assert references(found).citations[0].quote == citation["cited_text"]


def test_anthropic_results_are_sources_and_errors_are_failures() -> None:
    results = [
        {"type": "web_search_result", "title": "B", "url": "https://b.example/"},
        {"type": "web_search_result", "title": "A", "url": "https://a.example/"},
    ]
    use = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "q"}}
    refused = {"type": "web_search_tool_result_error", "error_code": "max_uses_exceeded"}
    page = {
        "type": "web_fetch_result",
        "url": "https://c.example/",
        "content": {"type": "document", "title": "C"},
    }
    found = whole(
        ANTHROPIC,
        {
            "content": [
                use,
                {"type": "web_search_tool_result", "tool_use_id": "s1", "content": results},
                {"type": "web_search_tool_result", "tool_use_id": "s2", "content": refused},
                {"type": "web_fetch_tool_result", "tool_use_id": "s3", "content": page},
                text_block("Yes.", WEB),
            ],
            "stop_reason": "end_turn",
        },
    )
    rests = references(found)
    assert [each.label for each in rests.sources] == ["A", "B", "C"]
    assert rests.queries == ("q",)
    assert rests.failures == ("A web search failed: max_uses_exceeded.",)
    # The blocks themselves go back to Anthropic word for word.
    layout = found.semantics.layout
    assert layout is not None
    assert next(json.loads(p.data) for p in layout.pieces if p.kind == "other") == use


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


def test_gemini_counts_in_bytes() -> None:
    text = "Ümlaut 🗼. Paris."
    start = len("Ümlaut 🗼. ".encode())
    supports = [support(0, len("Ümlaut 🗼".encode()), 0), support(start, start + 5, 1, 0, 7)]
    parts = [{"text": "Ümlaut "}]
    first: Event = {"candidates": [{"content": {"role": "model", "parts": parts}}]}
    found = streamed(GEMINI, first, grounded("🗼. Paris.", supports))
    assert found.content == text
    assert cited(found) == [("Ümlaut 🗼", "a.example"), ("Paris", "B"), ("Paris", "a.example")]
    assert whole(GEMINI, grounded(text, supports)).semantics.references == references(found)


def test_gemini_segments_are_found_by_their_text_where_the_offsets_are_wrong() -> None:
    supports = [support(0, 5, 0, text="Paris"), support(1, 3, 0, text="nowhere"), support(9, 99, 1)]
    found = whole(GEMINI, grounded("In Paris", supports))
    places = [(each.source, each.start, each.end) for each in references(found).citations]
    assert places == [(0, 3, 8), (0, 0, 0), (1, 0, 0)]
    assert [each.label for each in references(found).sources] == ["a.example", "B"]


def test_gemini_citations_and_fetched_pages() -> None:
    sources = [{"startIndex": 3, "endIndex": 8, "uri": "https://c.example/", "license": "MIT"}]
    pages = [
        {
            "retrievedUrl": "https://d.example/",
            "urlRetrievalStatus": "URL_RETRIEVAL_STATUS_SUCCESS",
        },
        {
            "retrievedUrl": "https://e.example/",
            "urlRetrievalStatus": "URL_RETRIEVAL_STATUS_PAYWALL",
        },
    ]
    found = whole(
        GEMINI,
        grounded(
            "In Paris",
            [],
            citationMetadata={"citationSources": sources},
            urlContextMetadata={"urlMetadata": pages},
        ),
    )
    assert cited(found) == [("Paris", "c.example")]
    assert [each.url for each in references(found).sources][-1] == "https://d.example/"
    assert references(found).failures == ("A page was not retrieved (paywall): https://e.example/",)


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
    assert len(references(found).citations[0].quote) == QUOTE_LENGTH


def test_too_many_sources_and_citations_are_cut_and_the_reply_goes_on() -> None:
    many = [url_citation(f"https://a.example/{i}", 0, 2) for i in range(MOST_SOURCES + 5)]
    ends = range(1, MOST_CITATIONS + 5)
    places = [url_citation("https://a.example/0", 0, end) for end in ends]
    for given in (many, places):
        message = {"content": "x" * 2000, "annotations": given}
        found = references(whole(CHAT, choice(message, "message")))
        assert len(found.sources) <= MOST_SOURCES
        assert len(found.citations) <= MOST_CITATIONS
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
    assert (len(found.sources), len(found.citations)) == (sources, citations)
    assert all(each.end for each in found.citations)
    assert any(text.endswith(last) for text, _ in cited(message))


# Sent back

BLOCK = {**text_block("so it is", WEB)}
CAPTURED = {
    CHAT: chat(
        user(), assistant("Paris", annotations=[url_citation("https://a.example/", 0, 5)]), user()
    ),
    RESPONSES: {
        "model": "m",
        "input": [
            user(),
            {**item([URL], "abcdef"), "role": "assistant", "status": "completed"},
            user(),
        ],
    },
    ANTHROPIC: {"model": "m", "max_tokens": 9, "messages": [user(), assistant([BLOCK]), user()]},
}


@each_row("source", CAPTURED)
@each_row("target", list(Protocol))
def test_captured_citations_go_back_word_for_word_and_elsewhere_with_a_note(
    source: Protocol, target: Protocol
) -> None:
    envelope = decoded(CAPTURED[source], source)
    out = encoded(envelope, target)
    notes = {note.code: note.level for note in (*envelope.notes, *out.notes)}
    if target is source:
        assert body_of(out) == CAPTURED[source]
        assert "citations-left-out" not in notes
    else:
        assert notes["citations-left-out"] is Level.INFO
        assert "extras-left-out" not in notes


@each_row("target", list(Protocol))
def test_a_cited_reply_is_sent_as_its_text_alone(target: Protocol) -> None:
    envelope = decoded(chat(user(), assistant("Paris"), user()))
    plain = encoded(envelope, target)
    asked, answer, last = envelope.turns
    rests = References((Source("A", "https://a.example/"),), (Citation(0, 0, 5),), length=5)
    semantics = replace(answer.semantics, references=rests)
    cited_reply = replace(answer, semantics=semantics)
    out = encoded(replace(envelope, turns=(asked, cited_reply, last)), target)
    assert body_of(out) == body_of(plain)
    [note] = [note for note in out.notes if note not in plain.notes]
    assert (note.code, note.level, note.origin) == ("citations-left-out", Level.INFO, answer.origin)


def test_whether_documents_are_cited_is_a_setting_and_its_loss_a_warning() -> None:
    document = {
        "type": "document",
        "source": {"type": "text", "media_type": "text/plain", "data": "x"},
        "citations": {"enabled": True},
    }
    body = {"model": "m", "max_tokens": 9, "messages": [user([document, text_block("?")])]}
    codes = [note.code for note in encoded(decoded(body, ANTHROPIC), GEMINI).notes]
    assert "citations-left-out" not in codes
    assert "extras-left-out" in codes
