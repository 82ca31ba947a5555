"""Pictures, sounds and files in requests: what each protocol accepts; a note on the rest."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from tests.support.messages import make_message
from tests.support.requests import ANTHROPIC, CHAT, GEMINI, OLLAMA, RESPONSES, converted
from tests.support.sdk_types import accept
from tests.support.tables import each_row
from tui_chat.compose import compose
from tui_chat.context.inputs import Inputs
from tui_chat.models.blocks import MediaBlock
from tui_chat.models.endpoint import Endpoint, Protocol
from tui_chat.models.message import Message
from tui_chat.models.preset import Preset


def base64_of(data: bytes) -> str:
    return base64.b64encode(data).decode()


PNG = base64_of(b"\x89PNG\r\n\x1a\n" + bytes(20))
PDF = base64_of(b"%PDF-1.4")
EVERY = tuple(Protocol)
CASES: dict[str, tuple[MediaBlock, tuple[Protocol, ...]]] = {
    "png": (MediaBlock("image", "image/png", data=PNG), EVERY),
    "no type": (MediaBlock("image", data=PNG), EVERY),
    "heic": (MediaBlock("image", "image/heic", data="AAAA"), (CHAT, RESPONSES, GEMINI, OLLAMA)),
    "link": (MediaBlock("image", url="https://e/x.png"), (CHAT, RESPONSES, ANTHROPIC, GEMINI)),
    "pdf": (MediaBlock("file", "application/pdf", data=PDF, name="a.pdf"), EVERY[:4]),
    "pdf, no name": (MediaBlock("file", "application/pdf", data=PDF), EVERY[:4]),
    "pdf link": (
        MediaBlock("file", "application/pdf", url="https://e/x.pdf", name="x.pdf"),
        (RESPONSES, ANTHROPIC, GEMINI),
    ),
    "text": (MediaBlock("file", "text/plain", text="some words", name="n.txt"), EVERY),
    "csv": (MediaBlock("file", "text/csv", data=base64_of(b"a,b;c"), name="a.csv"), EVERY),
    "json": (
        MediaBlock("file", "application/json", data=base64_of(b"[1234]"), name="a.json"),
        EVERY,
    ),
    "wav": (MediaBlock("audio", "audio/wav", data=base64_of(b"RIFFxxxxWAVE")), (CHAT, GEMINI)),
    "mp3": (MediaBlock("audio", "audio/mpeg", data="SUQz"), (CHAT, GEMINI)),
    "flac": (MediaBlock("audio", "audio/flac", data=base64_of(b"fLaC")), (GEMINI,)),
    "video": (MediaBlock("video", "video/mp4", data=base64_of(b"video bytes")), (GEMINI,)),
    "damaged": (MediaBlock("image", "image/png"), ()),
}


def encoded(part: MediaBlock, protocol: Protocol) -> tuple[dict[str, Any], list[str]]:
    endpoint = Endpoint("e", protocol, "http://e", models=("m",))
    history = (
        make_message("user", "Look", "u", parts=(part,)),
        Message.of("assistant", "Yes.", "a"),
    )
    composed = compose(Inputs(endpoint, Preset("p"), history, "Again."))
    body = json.loads(composed.payload.body)
    accept(protocol, body)
    return body, [note.code for note in composed.notes]


@each_row("protocol", EVERY)
@each_row("case", CASES)
def test_it_is_sent_or_a_note_says_that_it_is_not(case: str, protocol: Protocol) -> None:
    part, carriers = CASES[case]
    body, notes = encoded(part, protocol)
    text = json.dumps(body)
    content = part.data or part.url or part.text
    as_text = base64.b64decode(part.data).decode("latin-1") if part.data else ""
    is_sent = bool(content) and (content in text or (bool(as_text) and as_text in text))
    assert is_sent == (protocol in carriers)
    assert ("piece-left-out" in notes) == (not is_sent)
    assert "data:;" not in text


@pytest.mark.parametrize("protocol", [CHAT, RESPONSES])
def test_bytes_for_openai_have_a_name_and_links_none(protocol: Protocol) -> None:
    text = json.dumps(encoded(CASES["pdf, no name"][0], protocol)[0])
    assert '"filename": "file-1.pdf"' in text
    assert "filename" not in json.dumps(encoded(CASES["pdf link"][0], protocol)[0])


@each_row("name", ["png", "heic", "pdf", "wav", "mp3"])
def test_media_of_a_captured_request_are_in_it_in_another_protocol(name: str):
    part, protocols = CASES[name]
    for source in protocols:
        body, _ = encoded(part, source)
        for target in protocols:
            out, codes = converted(body, target, source=source)
            assert part.data in json.dumps(out), (source, target)
            assert codes == [], (source, target)
