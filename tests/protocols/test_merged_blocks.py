"""Blocks of text stay apart, also in protocols that have one string for all of them."""

from __future__ import annotations

import json
from typing import Any

from tests.support.requests import (
    ANTHROPIC,
    CHAT,
    GEMINI,
    OLLAMA,
    RESPONSES,
    assistant,
    call,
    calls,
    chat,
    result,
    system,
    user,
)
from tui_chat.cli.captured import convert
from tui_chat.models.endpoint import Endpoint, Protocol
from tui_chat.models.envelope import Note


def texts(*words: str, kind: str = "text") -> list[dict[str, Any]]:
    return [{"type": kind, "text": word} for word in words]


def claude(*messages: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"model": "m", "max_tokens": 99, "messages": list(messages), **more}


def contents(*turns: tuple[str, list[dict[str, Any]]], **more: Any) -> dict[str, Any]:
    return {"contents": [{"role": role, "parts": parts} for role, parts in turns], **more}


def responses(*items: dict[str, Any]) -> dict[str, Any]:
    return {"model": "m", "input": list(items)}


BLOCKS = texts("one.", "Two")
PARTS: list[dict[str, Any]] = [{"text": "one."}, {"text": "Two"}]
USE = {"type": "tool_use", "id": "t", "name": "f", "input": {}}
OUTPUT = {
    "type": "message",
    "id": "msg_1",
    "status": "completed",
    "role": "assistant",
    "content": texts("one.", "Two", kind="output_text"),
}
ROWS: list[tuple[str, Protocol, dict[str, Any]]] = [
    ("user", ANTHROPIC, claude(user(BLOCKS))),
    ("user", CHAT, chat(user(BLOCKS))),
    ("user", RESPONSES, responses(user(texts("one.", "Two", kind="input_text")))),
    ("user", GEMINI, contents(("user", PARTS))),
    ("system", ANTHROPIC, claude(user("q"), system=BLOCKS)),
    ("system", CHAT, chat(system(BLOCKS), user("q"))),
    ("system", GEMINI, contents(("user", PARTS[:1]), systemInstruction={"parts": PARTS})),
    ("later system", ANTHROPIC, claude(user("q"), system(BLOCKS))),
    ("model", ANTHROPIC, claude(user("q"), assistant(BLOCKS), user("r"))),
    ("model", CHAT, chat(user("q"), assistant(BLOCKS))),
    ("model", RESPONSES, responses(user("q"), OUTPUT)),
    (
        "after a call",
        ANTHROPIC,
        claude(
            user("q"),
            assistant([BLOCKS[0], USE, BLOCKS[1]]),
            user([{"type": "tool_result", "tool_use_id": "t", "content": "r"}]),
        ),
    ),
    (
        "result",
        ANTHROPIC,
        claude(
            user("q"),
            assistant([USE]),
            user([{"type": "tool_result", "tool_use_id": "t", "content": BLOCKS}]),
        ),
    ),
    ("result", CHAT, chat(user("q"), calls(call("t")), result("t", BLOCKS))),
    (
        "refusal",
        CHAT,
        chat(user("q"), assistant([BLOCKS[0], {"type": "refusal", "refusal": "Two"}])),
    ),
]


def converted(request: Any, source: Protocol, target: Protocol) -> tuple[Any, list[Note]]:
    body, notes = convert(
        json.dumps(request).encode(), source, Endpoint("e", target, ""), model="m"
    )
    return json.loads(body), list(notes)


def strings(value: Any) -> list[str]:
    """Return all strings of a JSON value."""
    if isinstance(value, dict):
        return [text for inner in value.values() for text in strings(inner)]
    if isinstance(value, list):
        return [text for inner in value for text in strings(inner)]
    return [value] if isinstance(value, str) else []


def test_blocks_of_text_do_not_run_together() -> None:
    wrong: list[str] = []
    for name, source, request in ROWS:
        for target in Protocol:
            body, notes = converted(request, source, target)
            if target is source:
                if body != {**request, **({"model": "m"} if target is not GEMINI else {})}:
                    wrong.append(f"{name}, {source} to itself: {body}")
                continue
            found = strings(body)
            if any("one.Two" in text for text in found):
                wrong.append(f"{name}, {source} to {target}: glued: {body}")
            merged = [text for text in found if "one." in text and "Two" in text]
            codes = {note.code for note in notes}
            if merged == ["one.\n\nTwo"] and name == "system":
                continue  # two system messages, which Gemini's one instruction sets apart
            if merged and ("one.\nTwo" not in merged[0] or "parts-merged" not in codes):
                wrong.append(f"{name}, {source} to {target}: {merged} {codes}")
    assert not wrong, "\n".join(wrong)


def test_pieces_of_one_block_are_not_broken() -> None:
    """A cited stretch of a sentence, and a piece of Gemini's stream, are no blocks."""
    cited = {"type": "char_location", "cited_text": "x", "document_index": 0}
    cited |= {"document_title": None, "start_char_index": 0, "end_char_index": 1}
    sentence = [*texts("It is "), {**texts("blue")[0], "citations": [cited]}, *texts(" today.")]
    pieces = [{"text": "It is "}, {"text": "blue"}, {"text": " today."}]
    rows: list[tuple[Protocol, dict[str, Any]]] = [
        (ANTHROPIC, claude(user("q"), assistant(sentence), user("r"))),
        (GEMINI, contents(("user", PARTS[:1]), ("model", pieces), ("user", PARTS[1:]))),
    ]
    for source, request in rows:
        body, notes = converted(request, source, OLLAMA)
        assert "It is blue today." in strings(body), source
        assert "parts-merged" not in {note.code for note in notes}


def test_a_break_that_is_there_is_not_doubled() -> None:
    body, _ = converted(claude(user(texts("one\n", "two", "\nthree"))), ANTHROPIC, OLLAMA)
    assert body["messages"][0]["content"] == "one\ntwo\nthree"
