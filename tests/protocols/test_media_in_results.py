"""Media in the result of a call, as each protocol has been seen to write them, come back equal."""

from __future__ import annotations

import json
from typing import Any

from tests.support.requests import (
    ANTHROPIC,
    CHAT,
    GEMINI,
    OLLAMA,
    PICTURE,
    PNG,
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

PDF = "data:application/pdf;base64,AA"
TEXT = {"type": "text", "text": "seen"}
AUDIO = {"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}}
FILE = {
    "type": "file",
    "file": {"filename": "a.pdf", "file_data": PDF},
}
LINK = {"type": "image_url", "image_url": {"url": "https://example.invalid/a.png", "detail": "low"}}
VIDEO = {"type": "video_url", "video_url": {"url": "https://example.invalid/a.mp4"}}
USE = {"type": "tool_use", "id": "a", "name": "f", "input": {}}


def claude(*blocks: dict[str, Any]) -> dict[str, Any]:
    done = {"type": "tool_result", "tool_use_id": "a", "content": list(blocks)}
    return chat(user(), assistant([USE]), user([done]), max_tokens=9)


def base64(mime: str, kind: str) -> dict[str, Any]:
    return {"type": kind, "source": {"type": "base64", "media_type": mime, "data": PNG}}


def responses(*parts: dict[str, Any]) -> dict[str, Any]:
    asking = {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"}
    done = {"type": "function_call_output", "call_id": "a", "output": list(parts)}
    return {"model": "m", "input": [user(), asking, done]}


def gemini(*parts: dict[str, Any]) -> dict[str, Any]:
    asking = {"functionCall": {"id": "a", "name": "f", "args": {}}}
    answer = {"id": "a", "name": "f", "response": {"output": "seen"}, "parts": list(parts)}
    turns = (("user", {"text": "hi"}), ("model", asking), ("user", {"functionResponse": answer}))
    return {"contents": [{"role": role, "parts": [part]} for role, part in turns]}


ROWS: list[tuple[Protocol, dict[str, Any]]] = [
    *(
        (CHAT, chat(user(), calls(call("a")), result("a", content)))
        for content in (
            [PICTURE],
            [TEXT, PICTURE],
            [PICTURE, TEXT, LINK],
            [TEXT, AUDIO],
            [TEXT, FILE],
            [TEXT, VIDEO],
        )
    ),
    (CHAT, chat(user(), calls(call("a"), call("b")), result("a", [PICTURE]), result("b", [LINK]))),
    (CHAT, chat(system([TEXT, PICTURE]), user(), assistant([TEXT, PICTURE]), user())),
    (ANTHROPIC, claude(base64("image/png", "image"), TEXT, base64("application/pdf", "document"))),
    (ANTHROPIC, claude({"type": "image", "source": {"type": "file", "file_id": "file_1"}})),
    (ANTHROPIC, claude({"type": "document", "source": {"type": "url", "url": "https://e.invalid"}})),
    (
        RESPONSES,
        responses(
            {"type": "input_text", "text": "seen"},
            {"type": "input_image", "image_url": f"data:image/png;base64,{PNG}"},
            {"type": "input_file", "filename": "a.pdf", "file_data": PDF},
            {"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}},
        ),
    ),
    (
        GEMINI,
        gemini(
            {"inlineData": {"mimeType": "image/png", "data": PNG}},
            {"fileData": {"mimeType": "video/mp4", "fileUri": "gs://b/a.mp4"}},
            {"inlineData": {"mimeType": "audio/wav", "data": "UklGRg=="}},
        ),
    ),
    (
        OLLAMA,
        chat(
            user(),
            assistant("", tool_calls=[{"function": {"name": "f", "arguments": {}}}]),
            {"role": "tool", "content": "seen", "tool_name": "f", "images": [PNG, PNG]},
        ),
    ),
]  # fmt: skip


def test_media_in_results_come_back_equal() -> None:
    wrong: list[str] = []
    for protocol, request in ROWS:
        for model in ("", "another"):
            body, notes = convert(
                json.dumps(request).encode(), protocol, Endpoint("e", protocol, ""), model=model
            )
            expected = {**request, "model": model} if model and "model" in request else request
            made = json.loads(body)
            made.pop("model", None) if "model" not in request else None
            if made != expected:
                wrong.append(f"{protocol}: {json.dumps(request)[:400]}\n  {body!r}")
            warned = [note.sentence for note in notes if note.code != "unknown-content"]
            if warned:
                wrong.append(f"{protocol}: {warned}")
    assert not wrong, "\n".join(wrong)
