"""Replies and conversations as exports have them, and their text in our JSON."""

from __future__ import annotations

import base64

from tests.support.messages import make_message, thought
from tui_chat.interop import own_json
from tui_chat.models.blocks import CallBlock, MediaBlock
from tui_chat.models.endpoint import Protocol
from tui_chat.models.message import Message, Muted, References, Source
from tui_chat.models.role import Role
from tui_chat.models.session import Entry, Session, SessionTranscript

THOUGHT = (thought(Protocol.ANTHROPIC, "I look."),)


def told(*entries: Entry, title: str = "A walk", role: Role | None = None) -> SessionTranscript:
    role_id = role.role_id if role else None
    session = Session("s", title, role_id, head_id=None, created=1_700_000_000.0)
    return SessionTranscript(session, entries, role)


def reply(text: str, **facts: object) -> SessionTranscript:
    message = make_message("assistant", text, "m1", **facts)  # type: ignore[arg-type]
    return told(Entry(message, model="gpt-4o"))


EXAMPLE = told(
    Entry(Message.of("user", "Weather?", "m1", timestamp=1_700_000_000.0)),
    Entry(Message.of("assistant", "Rain.", "m2a"), "m1", model="gpt-4"),
    Entry(
        make_message(
            *("assistant", "**One** moment.", "m2"),
            tool_calls=(CallBlock("c", "weather", '{"at":"home"}'),),
            reasoning=THOUGHT,
        ),
        "m1",
        model="gpt-4o",
    ),
    Entry(make_message("tool", "sun ``` `", "m3", tool_call_id="c", name="weather"), "m2"),
    Entry(Message.of("assistant", "", "m4"), "m3", status="failed", error="The server is gone."),
    role=Role("r", "Ada"),
)


MUTED = [
    (Muted(whole=True, blocks=(0,)), "muted, not sent"),
    (Muted(blocks=(0,)), "muted: reasoning"),
    (Muted(blocks=(0, 3, 7)), "muted: reasoning, image: b.png"),
]
"""What is muted of a message, and the words for it."""


def muted_reply(muted: Muted) -> SessionTranscript:
    parts = (
        MediaBlock("image", name="a.png"),
        MediaBlock("image", "image/png", url="https://x", name="b.png"),
    )
    return reply("Well.", muted=muted, parts=parts, reasoning=THOUGHT)


TEXT = "It is **330 m.** So."
REFERENCES = References(
    (Source("Tower [1]", "https://tower.example/a_(b)"), Source("", "", "<b>notes</b>.txt")),
)


PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(2_000)).decode()
PARTS = (
    MediaBlock("image", "image/png", data=PNG),
    MediaBlock("audio", "audio/L16;codec=pcm;rate=24000", data="AAAA"),
    MediaBlock("image", "image/jpeg"),
    MediaBlock("file", "image/svg+xml", data=base64.b64encode(b"<svg onload=alert(1)>").decode()),
    MediaBlock("image", url="https://files.example/a.png"),
)


def written(*told: SessionTranscript) -> str:
    parts = [own_json.begin("tui-chat 1")]
    for index, transcript in enumerate(told):
        parts += own_json.session_text(transcript, first=index == 0)
    return "".join([*parts, own_json.end()])
