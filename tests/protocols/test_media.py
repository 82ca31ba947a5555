"""Pictures and files in requests and replies."""

from __future__ import annotations

import base64
import json
import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest

from tests.protocols.test_mutated_requests import changed, requests
from tests.support.messages import make_message
from tests.support.requests import ANTHROPIC, CHAT, GEMINI, OLLAMA, RESPONSES, converted
from tests.support.sdk_types import accept
from tests.support.tables import each_row
from tui_chat.compose import compose
from tui_chat.context.inputs import EPOCH, Inputs
from tui_chat.errors import InputError, TooLarge
from tui_chat.models.blocks import Extras, MediaBlock, same_json
from tui_chat.models.endpoint import Endpoint, Protocol
from tui_chat.models.envelope import ChatEnvelope
from tui_chat.models.media import is_damaged
from tui_chat.models.message import Message
from tui_chat.models.preset import Preset
from tui_chat.models.reply import Reply, advance
from tui_chat.protocols.anthropic.encode import READER as ANTHROPIC_READER
from tui_chat.protocols.gemini.encode import READER as GEMINI_READER
from tui_chat.protocols.ollama.encode import READER as OLLAMA_READER
from tui_chat.protocols.openai_chat.encode import READER as CHAT_READER
from tui_chat.protocols.openai_responses.encode import READER as RESPONSES_READER
from tui_chat.protocols.registry import protocol_of

PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(20)).decode()
SOUND = b"RIFF\x24\0\0\0WAVEfmt " + bytes(100)
IMAGE = MediaBlock("image", "image/png", data=PNG)


def streamed(protocol: Protocol, *events: Any) -> Reply:
    parser, reply = protocol_of(protocol).parser(), Reply()
    for event in events:
        data = event if isinstance(event, str) else json.dumps(event)
        for each in parser.feed("", data):
            reply = advance(reply, each)
    for each in parser.close():
        reply = advance(reply, each)
    return reply


def whole(protocol: Protocol, answer: Any) -> Reply:
    return protocol_of(protocol).read_reply(json.dumps(answer).encode())


def sent(
    message: Message, to: Protocol, model: str = "m", now: datetime = EPOCH
) -> tuple[dict[str, Any], list[str]]:
    """Return the next request's body and the codes of its notes."""
    endpoint = Endpoint("e", to, "http://e", models=(model,))
    history = Message.of("user", "Draw.", "u"), replace(message, id="r")
    composed = compose(Inputs(endpoint, Preset("p"), history, "Again.", now=now))
    body = json.loads(composed.payload.body)
    accept(to, body)
    return body, [note.code for note in composed.notes]


def candidate(*parts: Any, finish: str = "") -> dict[str, Any]:
    found = {"content": {"role": "model", "parts": list(parts)}, "index": 0}
    return {"candidates": [found | ({"finishReason": finish} if finish else {})]}


INLINE = {
    "inlineData": {"mimeType": "image/png", "data": PNG},
    "thoughtSignature": "U2ln",
}


def image_call(result: object = PNG, **more: Any) -> dict[str, Any]:
    item = {"id": "ig_1", "type": "image_generation_call", "status": "completed", "result": result}
    return item | {"output_format": "png", "revised_prompt": "A cat"} | more


def responses(item: Any) -> Reply:
    message = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "content": [{"type": "output_text", "text": "A cat.", "annotations": []}],
    }
    partial = {
        "type": "response.image_generation_call.partial_image",
        "output_index": 0,
        "partial_image_b64": "AAAA",
    }
    return streamed(
        RESPONSES,
        {"type": "response.created", "response": {"id": "resp_1", "model": "m"}},
        {"type": "response.output_item.added", "output_index": 0, "item": image_call(None)},
        partial,
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.output_item.done", "output_index": 1, "item": message},
        {"type": "response.completed", "response": {"id": "resp_1", "output": [item, message]}},
    )


def chat(*deltas: Any) -> Reply:
    chunks = [{"id": "c", "model": "m", "choices": [{"index": 0, "delta": d}]} for d in deltas]
    end = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
    return streamed(CHAT, *chunks, end, "[DONE]")


def picture(url: str) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": url}}


def spoken() -> Reply:
    pieces = [base64.b64encode(SOUND[at : at + 7]).decode() for at in range(0, len(SOUND), 7)]
    return chat(
        {"role": "assistant", "audio": {"id": "audio_1", "transcript": "Hel"}},
        *({"audio": {"data": piece}} for piece in pieces),
        {"audio": {"transcript": "lo"}},
    )


def test_a_spoken_reply_is_its_transcript_and_a_sound() -> None:
    reply = spoken()
    assert reply.text == "Hello"
    data = base64.b64encode(SOUND).decode()
    assert reply.parts == (MediaBlock("audio", "audio/wav", data=data),)
    audio = {
        "id": "audio_1",
        "expires_at": 2_000_000_000,
        "data": base64.b64encode(SOUND).decode(),
        "transcript": "Hello",
    }
    message = {"role": "assistant", "content": None, "audio": audio}
    answer = {"choices": [{"message": message, "finish_reason": "stop"}]}
    assert whole(CHAT, answer).message(CHAT) == reply.message(CHAT)


def test_of_a_spoken_reply_the_transcript_is_sent() -> None:
    body, notes = sent(spoken().message(CHAT), CHAT)
    assert body["messages"][1] == {"role": "assistant", "content": "Hello"}
    assert notes == ["piece-left-out"]


DAMAGED = (
    PNG[:-1],
    PNG[:-3],
    "…",
    "AA=A",
    "<script>",
    "A" * 5,
    "",
    "A\nAA",
    "=" * 8,
)


@each_row("data", DAMAGED)
def test_what_is_not_base64_is_shown_as_damaged_and_never_sent(data: str) -> None:
    part = {"inlineData": {"mimeType": "image/png", "data": data}, "thoughtSignature": "U2ln"}
    found = [
        (GEMINI, streamed(GEMINI, candidate(part, finish="STOP"))),
        (RESPONSES, responses(image_call(data))),
        (CHAT, chat({"images": [picture(f"data:image/png;base64,{data}")]})),
    ]
    for protocol, reply in found:
        assert [each.media for each in reply.parts] == ["image"]
        assert is_damaged(reply.parts[0])
        body, notes = sent(reply.message(protocol), protocol)
        assert notes == ["piece-left-out"]
        assert "image/png" not in json.dumps(body)


@each_row(
    "url",
    [
        "javascript:alert(1)",
        "file:///etc/passwd",
        "data:image/png,plain",
        "data:;base64,",
        "https://" + "a" * 3_000_000,
        7,
        None,
    ],
)
def test_an_odd_address_of_a_picture_is_harmless(url: Any) -> None:
    reply = chat({"content": "x", "images": [picture(url), url, {}, {"image_url": []}]})
    assert all(is_damaged(part) for part in reply.parts)
    assert reply.text == "x"


def test_a_picture_beyond_the_limit_is_dropped_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tui_chat.models.reply.MEDIA_SIZE", 160)
    reply = streamed(
        GEMINI, candidate(INLINE, INLINE, INLINE), candidate({"text": "x"}, finish="STOP")
    )
    signed = replace(IMAGE, extras=Extras(GEMINI, "", {"thoughtSignature": "U2ln"}))
    assert reply.parts == (signed, signed)
    assert reply.excess == (
        "The pictures, sounds and files of the reply have more than 160 characters; the rest was "
        "dropped."
    )
    assert reply.finish is not None


@pytest.mark.slow
def test_20_mb_of_sound_end_in_one_sentence() -> None:
    piece = base64.b64encode(bytes(3_000_000)).decode()
    with pytest.raises(TooLarge, match="sounds of the reply have more than"):
        chat(*({"audio": {"data": piece}} for _ in range(8)))
    big = {"inlineData": {"mimeType": "image/png", "data": "A" * 28_000_004}}
    reply = streamed(GEMINI, candidate({"text": "x"}, big, finish="STOP"))
    assert (reply.text, reply.parts) == ("x", ())
    assert reply.excess


# --- Pictures, sounds and files in requests: what each protocol accepts; a note on the rest


def base64_of(data: bytes) -> str:
    return base64.b64encode(data).decode()


PIXEL = base64_of(b"\x89PNG\r\n\x1a\n" + bytes(20))
PDF = base64_of(b"%PDF-1.4")
EVERY = tuple(Protocol)
CASES: dict[str, tuple[MediaBlock, tuple[Protocol, ...]]] = {
    "png": (MediaBlock("image", "image/png", data=PIXEL), EVERY),
    "no type": (MediaBlock("image", data=PIXEL), EVERY),
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


# --- What a protocol's reader makes of a request is written as the request that it was ----


Read = Callable[[dict[str, Any]], ChatEnvelope]
Write = Callable[[ChatEnvelope], dict[str, Any]]
READERS: list[tuple[Protocol, Read, Write]] = [
    (CHAT, CHAT_READER.read, CHAT_READER.write),
    (ANTHROPIC, ANTHROPIC_READER.read, ANTHROPIC_READER.write),
    (RESPONSES, RESPONSES_READER.read, RESPONSES_READER.write),
    (OLLAMA, OLLAMA_READER.read, OLLAMA_READER.write),
    (GEMINI, GEMINI_READER.read, GEMINI_READER.write),
]
CONVERSATIONS = ("messages", "input", "contents")
MUTANTS = 2_000
LONGEST_CHANGE = 100
"""Characters of a value that a recorded message has otherwise than we write it. A longer one is
kept twice, and an edit of what is in it would be lost."""


@each_row(("protocol", "read", "write"), READERS, ids=[protocol for protocol, _, _ in READERS])
def test_a_request_comes_back_from_its_blocks(protocol: Protocol, read: Read, write: Write) -> None:
    for body in bodies_of(protocol):
        request = read(body)
        assert same_json(write(request), body)
        rest = request.rest.changes if request.rest is not None and request.turns else ()
        assert not any(change.path[0] in CONVERSATIONS for change in rest), "the turns have it"
        for extras in message_extras(request):
            long = [c for c in extras.changes if len(json.dumps(c.value)) > LONGEST_CHANGE]
            assert not long


@each_row(("protocol", "read", "write"), READERS, ids=[protocol for protocol, _, _ in READERS])
def test_a_request_with_odd_values_comes_back_from_its_blocks(
    protocol: Protocol, read: Read, write: Write
) -> None:
    chance, pool = random.Random(7), list(bodies_of(protocol))
    wrong: list[str] = []
    for _ in range(MUTANTS):
        body = changed(chance.choice(pool), chance)
        try:
            request = read(body)
        except InputError:
            continue
        if not same_json(write(request), body):
            wrong.append(json.dumps(body)[:1_500])
    assert not wrong, "\n".join([f"{len(wrong)} of {MUTANTS}", *wrong[:5]])


def bodies_of(protocol: Protocol) -> Iterator[dict[str, Any]]:
    for source, body in requests():
        if source is protocol and isinstance(body, dict):
            yield body


def message_extras(request: ChatEnvelope) -> Iterator[Extras]:
    for turn in request.turns:
        holders = (turn.extras, *(block.extras for block in turn.blocks))
        yield from (extras for extras in holders if extras is not None)
