"""Pictures and sounds of replies in exports, and back."""

from __future__ import annotations

import base64
import json

from tests.support.reading import only, shown
from tests.unit.interop.test_own_json import written
from tests.unit.interop.test_readable import reply
from tui_chat.interop.markdown import markdown
from tui_chat.interop.messages import message_lines, read_history
from tui_chat.models.endpoint import Protocol
from tui_chat.models.message import Message, Part
from tui_chat.models.reply import Reply
from tui_chat.models.reply_growth import advance
from tui_chat.models.stream_events import MediaPart, TextDelta

PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(2_000)).decode()
PARTS = (
    Part("image", "image/png", data=PNG),
    Part("audio", "audio/L16;codec=pcm;rate=24000", data="AAAA"),
    Part("image", "image/jpeg"),
    Part("file", "image/svg+xml", data=base64.b64encode(b"<svg onload=alert(1)>").decode()),
    Part("image", url="https://files.example/a.png"),
)


def drawn() -> Message:
    found = advance(Reply(), TextDelta("Here:"))
    for index, part in enumerate(PARTS):
        found = advance(found, MediaPart(part, f"sig{index}", f"ig_{index}", '{"a":[1]}'))
    return advance(found, TextDelta("Done.")).message(Protocol.GEMINI, id="m1")


def test_our_json_gives_back_what_was_exported() -> None:
    transcript = reply(
        "", **{name: getattr(drawn(), name) for name in ("content", "parts", "semantics")}
    )
    [message] = shown(only(json.loads(written(transcript))))
    assert message.parts == PARTS
    assert message == drawn()


def test_a_large_picture_is_read_back() -> None:
    data = base64.b64encode(bytes(12_000_000)).decode()
    transcript = reply("x", parts=(Part("image", "image/png", data=data),))
    [message] = shown(only(json.loads(written(transcript))))
    assert message.parts[0].data == data


def test_markdown_names_them() -> None:
    text = "".join(markdown(reply("x", parts=PARTS)))
    assert "[image: image/png · 2 kB]" in text
    assert "[image: image/jpeg · damaged]" in text
    assert "[image: https://files.example/a.png](https://files.example/a.png)" in text
    assert PNG[:40] not in text


def test_messages_for_programs_can_be_read_again() -> None:
    [found] = read_history("".join(message_lines(reply("x", parts=PARTS))), "f")
    assert found.parts[0] == PARTS[0]
    assert found.content == "x[image: image/jpeg · damaged]"
    assert [part.kind for part in found.parts] == ["image", "file", "file", "image"]
