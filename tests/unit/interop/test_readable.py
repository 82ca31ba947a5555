"""Exports to Markdown: readable, and safe whatever a model wrote."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given

from tests.support.tables import each_row
from tests.support.transcripts import transcripts
from tui_chat.interop.markdown import markdown
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


def test_markdown():
    assert "".join(markdown(EXAMPLE)) == (
        "# A walk\n\n"
        "- Role: Ada\n- Created: 2023-11-14 22:13\n- Messages: 4, and 1 on other branches\n"
        "\n---\n\n## You · 2023-11-14 22:13\n\nWeather?\n"
        "\n---\n\n## Ada · gpt-4o · 2 of 2\n"
        "\n<details><summary>Reasoning</summary>\n\nI look.\n\n</details>\n"
        "\n**One** moment.\n"
        "\n<details><summary>Tool call: weather</summary>\n\n"
        '```json\n{\n  "at": "home"\n}\n```\n\n</details>\n'
        "\n---\n\n## Tool: weather\n\n````\nsun ``` `\n````\n"
        "\n---\n\n## Ada · failed\n\n> The server is gone.\n"
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


@each_row(("muted", "words"), MUTED)
def test_what_is_muted_is_said(muted: Muted, words: str):
    transcript = muted_reply(muted)
    assert words in "".join(markdown(transcript))


@each_row(
    ("text", "written"),
    [
        ("```py\nx", "```py\nx\n```"),
        ("~~~~\nx\n~~~", "~~~~\nx\n~~~\n~~~~"),
        ("```\nx\n```\ny", "```\nx\n```\ny"),
        ("a </details> b", r"a \</details> b"),
        ("<!-- hidden", r"\<!-- hidden"),
        ("<SCRIPT>x", r"\<SCRIPT>x"),
        ("```\n<script>\n```", "```\n<script>\n```"),
        ("Vec<T> and <b>", "Vec<T> and <b>"),
        ("\x1b]0;x\x07\u202e", "␛]0;x␇\\u202e"),
    ],
)
def test_markdown_of_a_message_cannot_affect_what_follows(text: str, written: str):
    assert f"\n\n{written}\n" in "".join(markdown(reply(text)))


@pytest.mark.slow
@given(transcripts())
def test_any_session_can_be_exported(transcript: SessionTranscript):
    text = "".join(markdown(transcript))
    assert "\x1b" not in text
    assert "\u202e" not in text
