"""Replies and conversations as exports have them, and their text in our JSON."""

from __future__ import annotations

import base64
from dataclasses import replace

from tui_chat.interop import own_json
from tui_chat.models.citations import Citation, References, Source
from tui_chat.models.endpoint import Protocol
from tui_chat.models.message import Message, Muted, Part, ToolCall
from tui_chat.models.role import Role
from tui_chat.models.semantics import MessageSemantics, ReasoningBlock
from tui_chat.models.session import Entry, Session
from tui_chat.models.transcript import SessionTranscript

THOUGHT = MessageSemantics(reasoning=(ReasoningBlock(Protocol.ANTHROPIC, "I look."),))


def told(*entries: Entry, title: str = "A walk", role: Role | None = None) -> SessionTranscript:
    role_id = role.role_id if role else None
    session = Session("s", title, role_id, head_id=None, created=1_700_000_000.0)
    return SessionTranscript(session, entries, role)


def reply(text: str, **facts: object) -> SessionTranscript:
    message = replace(Message("assistant", text, "m1"), **facts)
    return told(Entry(message, model="gpt-4o"))


EXAMPLE = told(
    Entry(Message("user", "Weather?", "m1", timestamp=1_700_000_000.0)),
    Entry(Message("assistant", "Rain.", "m2a"), "m1", model="gpt-4"),
    Entry(
        Message(
            *("assistant", "**One** moment.", "m2"),
            tool_calls=(ToolCall("c", "weather", '{"at":"home"}'),),
            semantics=THOUGHT,
        ),
        "m1",
        model="gpt-4o",
    ),
    Entry(Message("tool", "sun ``` `", "m3", tool_call_id="c", name="weather"), "m2"),
    Entry(Message("assistant", "", "m4"), "m3", status="failed", error="The server is gone."),
    role=Role("r", "Ada"),
)


MUTED = [
    (Muted(whole=True, reasoning=True), "muted, not sent"),
    (Muted(reasoning=True), "muted: reasoning"),
    (Muted(reasoning=True, parts=(1, 7)), "muted: reasoning, image: b.png"),
]
"""What is muted of a message, and the words for it."""


def muted_reply(muted: Muted) -> SessionTranscript:
    parts = (Part("image", name="a.png"), Part("image", "image/png", url="https://x", name="b.png"))
    return reply("Well.", muted=muted, parts=parts)


TEXT = "It is **330 m.** So."
REFERENCES = References(
    (Source("Tower [1]", "https://tower.example/a_(b)"), Source("", "", "<b>notes</b>.txt")),
    (Citation(0, 0, 16, "330 metres", "page 2"), Citation(1, 0, 20)),
    ("how <tall>",),
    ("A web search failed: x.",),
    len(TEXT),
    True,
)
CITED = MessageSemantics(references=REFERENCES)


def cited(message: Message) -> list[tuple[str, str, str]]:
    """The cited stretches of text, with the title and address of the source of each."""
    found = message.semantics.references
    assert found.fits(message.content)
    return [
        (message.content[each.start : each.end], source.title, source.url)
        for each in found.citations
        if (source := found.sources[each.source])
    ]


PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(2_000)).decode()
PARTS = (
    Part("image", "image/png", data=PNG),
    Part("audio", "audio/L16;codec=pcm;rate=24000", data="AAAA"),
    Part("image", "image/jpeg"),
    Part("file", "image/svg+xml", data=base64.b64encode(b"<svg onload=alert(1)>").decode()),
    Part("image", url="https://files.example/a.png"),
)


def written(*told: SessionTranscript) -> str:
    parts = [own_json.begin("tui-chat 1")]
    for index, transcript in enumerate(told):
        parts += own_json.session_text(transcript, first=index == 0)
    return "".join([*parts, own_json.end()])
