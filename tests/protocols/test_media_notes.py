"""Notes on media and reasoning that a model is known not to have. The request stays the same."""

from __future__ import annotations

from typing import Any

from tests.support.messages import make_message
from tests.support.requests import (
    CHAT,
    GEMINI,
    OLLAMA,
    RESPONSES,
    chat,
    decoded,
    endpoint,
    user,
)
from tests.support.tables import each_row
from tui_chat.compose import compose, encode
from tui_chat.context import Inputs, SessionSettings
from tui_chat.models.blocks import MediaBlock
from tui_chat.models.endpoint import Endpoint, Protocol
from tui_chat.models.envelope import Level, Note
from tui_chat.models.message import Message
from tui_chat.models.preset import Preset

PIXEL = "iVBORw0KGgo="
IMAGE = MediaBlock("image", "image/png", data=PIXEL)
SOUND = MediaBlock("audio", "audio/wav", data="AAAA")
PDF = MediaBlock("file", "application/pdf", data="AAAA", name="a.pdf")
TEXT_FILE = MediaBlock("file", "text/plain", text="words", name="a.txt")
IMAGE_FILE = MediaBlock("file", "image/png", data=PIXEL, name="a.png")


def media_notes(
    to: Endpoint, *parts: MediaBlock, model: str = "m", history: Any = ()
) -> list[Note]:
    settings = SessionSettings(model=model)
    inputs = Inputs(to, Preset("p"), history, "see", parts, settings=settings)
    return [note for note in compose(inputs).notes if note.code == "medium-not-accepted"]


@each_row("protocol", list(Protocol))
def test_an_image_for_a_model_that_accepts_none_gets_a_note(protocol: Protocol) -> None:
    (note,) = media_notes(endpoint(protocol, input_media=("text",)), IMAGE)
    assert note.level is Level.WARNING
    assert note.sentence.startswith("An image is sent to m, which accepts none as far as is known")


@each_row("protocol", list(Protocol))
def test_the_request_stays_as_it_is(protocol: Protocol) -> None:
    bodies = {
        compose(
            Inputs(
                endpoint(protocol, input_media=media),
                Preset("p"),
                draft="see",
                draft_parts=(IMAGE,),
                settings=SessionSettings(model="m"),
            )
        ).payload.body
        for media in (None, ("text",), ("text", "image"))
    }
    assert len(bodies) == 1
    assert PIXEL.encode() in bodies.pop()


@each_row(
    ("media", "parts", "count"),
    [
        (None, (IMAGE, SOUND), 0),
        (("text", "image"), (IMAGE,), 0),
        (("text", "image"), (SOUND,), 1),
        (("text",), (PDF, TEXT_FILE), 0),
        (("text",), (IMAGE, IMAGE), 1),
        (("text",), (IMAGE_FILE,), 1),
        (("text",), (), 0),
        (("text", "image", "audio", "video"), (IMAGE, SOUND), 0),
    ],
)
def test_what_gets_a_note(
    media: tuple[str, ...] | None, parts: tuple[MediaBlock, ...], count: int
) -> None:
    assert len(media_notes(endpoint(GEMINI, input_media=media), *parts)) == count


def test_a_part_that_the_protocol_leaves_out_gets_no_second_note() -> None:
    to = endpoint(OLLAMA, input_media=("text",))
    assert not media_notes(to, MediaBlock("image", "image/png", url="https://e.org/a.png"))
    assert media_notes(to, IMAGE)


def test_images_of_earlier_turns_count() -> None:
    history = (
        make_message("user", "look", parts=(IMAGE,), id="1"),
        Message.of("assistant", "nice", id="2"),
    )
    (note,) = media_notes(endpoint(RESPONSES, input_media=("text",)), history=history)
    assert note.origin is not None
    assert note.origin.id == "1"


def test_published_facts_are_enough() -> None:
    to = Endpoint("e", CHAT, "https://e")
    assert media_notes(to, IMAGE, model="openai/o3-mini")
    assert not media_notes(to, IMAGE, model="gpt-5")
    assert not media_notes(to, IMAGE, model="nobody-knows")


def test_a_captured_request_for_its_own_model_gets_no_note() -> None:
    url = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}}
    body = chat(user([url]))
    to = endpoint(CHAT, input_media=("text",))
    assert not encode(decoded(body), to).notes
    codes = [note.code for note in encode(decoded(body), endpoint(GEMINI, input_media=())).notes]
    assert "medium-not-accepted" in codes


@each_row("target", [CHAT, RESPONSES])
@each_row(
    ("facts", "effort", "doubtful"),
    [
        ({"reasons": False}, "high", True),
        ({"reasons": False}, "none", False),
        ({"reasons": True}, "high", False),
        ({}, "high", False),
        ({"reasons": False, "efforts": ("low", "high")}, "high", False),
    ],
)
def test_an_effort_for_a_model_that_does_not_reason_is_sent_with_a_note(
    target: Protocol, facts: dict[str, Any], effort: str, doubtful: bool
) -> None:
    source = CHAT if target is not CHAT else RESPONSES
    body: dict[str, Any] = chat(user(), reasoning_effort=effort)
    if source is RESPONSES:
        body = {"model": "m", "input": "hi", "reasoning": {"effort": effort}}
    with_facts = encode(decoded(body, source), endpoint(target, **facts))
    codes = [note.code for note in with_facts.notes]
    assert ("reasoning-doubtful" in codes) is doubtful
    if "efforts" not in facts:
        plain = encode(decoded(body, source), endpoint(target))
        assert with_facts.payload.body == plain.payload.body
