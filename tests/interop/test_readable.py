"""Exports to Markdown and HTML: readable, and safe whatever a model wrote."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.interop.transcripts import transcripts
from tui_chat.interop.html import page
from tui_chat.interop.markdown import markdown
from tui_chat.models.endpoint import Protocol
from tui_chat.models.message import Message, Muted, Part, ToolCall
from tui_chat.models.role import Role
from tui_chat.models.semantics import MessageSemantics, ReasoningBlock
from tui_chat.models.session import Entry, Session
from tui_chat.models.transcript import SessionTranscript
from tui_chat.models.usage import Usage

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


@pytest.mark.parametrize(
    ("muted", "words"),
    [
        (Muted(whole=True, reasoning=True), "muted, not sent"),
        (Muted(reasoning=True), "muted: reasoning"),
        (Muted(reasoning=True, parts=(1, 7)), "muted: reasoning, image: b.png"),
    ],
)
def test_what_is_muted_is_said(muted: Muted, words: str):
    parts = (Part("image", name="a.png"), Part("image", "image/png", url="https://x", name="b.png"))
    transcript = reply("Well.", muted=muted, parts=parts)
    assert words in "".join(markdown(transcript))
    assert words in "".join(page(transcript))


def test_html_has_the_messages_and_the_other_versions():
    text = "".join(page(EXAMPLE))
    assert "<p><strong>One</strong> moment.</p>" in text
    assert "<summary>Other versions (1)</summary>" in text
    assert "<p>Rain.</p>" in text
    assert "<summary>weather</summary>" in text
    assert '<p class="error">The server is gone.</p>' in text
    assert "prefers-color-scheme: dark" in text
    assert "<title>A walk</title>" in text


REMINDER = "<system-reminder>\nThe date is known.\n</system-reminder>"


def test_a_page_of_an_agent_names_calls_and_folds_results():
    edit = '{"file_path": "/src/a.py", "old_string": "one <b>", "new_string": "two"}'
    calls = (ToolCall("c1", "Read", '{"file_path": "/src/<b>.py"}'), ToolCall("c2", "Edit", edit))
    text = "".join(
        page(
            told(
                Entry(Message("user", "Look <b>at</b> it", "m1", timestamp=1_700_000_000.0)),
                Entry(
                    Message("assistant", "", "m2", tool_calls=calls),
                    "m1",
                    usage=Usage(1200, 30, cached=1000),
                ),
                Entry(Message("tool", "line 1\nline 2", "m3", tool_call_id="c1"), "m2"),
                Entry(Message("tool", "done", "m4", tool_call_id="c2"), "m3"),
                Entry(Message("assistant", "Done.", "m5"), "m4", usage=Usage(1300, 5)),
                Entry(Message("user", f"{REMINDER}\n\nThanks", "m6"), "m5"),
            )
        )
    )
    assert "<summary>Read: /src/&lt;b&gt;.py</summary>" in text
    assert "<summary>Edit: /src/a.py +1 −1</summary>" in text
    assert "<del>-one &lt;b&gt;</del>\n<ins>+two</ins>" in text
    assert "<summary>Result: line 1 · 2 lines</summary>" in text
    assert "<summary>Result: done</summary>" in text
    assert "1,200 tokens in, 1,000 of them cached, 30 out" in text
    assert "<dt>Usage</dt><dd>2,500 tokens in, 1,000 of them cached, 35 out</dd>" in text
    assert "<summary>Prompts (2)</summary>" in text
    assert '<a href="#m1">Look &lt;b&gt;at&lt;/b&gt; it</a> <small>2023-11-14 22:13</small>' in text
    assert '<article class="user" id="m6">' in text
    assert '<a href="#m6">Thanks</a>' in text


@pytest.mark.parametrize(
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


HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "[x](javascript:alert(1))",
    "[x](data:text/html,<script>alert(1)</script>)",
    "![x](http://tracker.example/p.png)",
    "![x](data:image/svg+xml;base64,PHN2Zz4=)",
    '[x](http://a.example/"onmouseover="alert(1))',
    "<javascript:alert(1)>",
    "```\"><script>alert(1)</script>\nx\n```",
    "</div></article></main><form action=http://evil.example>",
    "[x]: javascript:alert(1)\n\n[x]",
    "&lt;script&gt; &#60;script&#62; \x00",
]  # fmt: skip
ALLOWED = {
    *("html", "head", "meta", "title", "style", "body", "header", "h1", "dl", "dt", "dd", "main"),
    *("article", "small", "div", "p", "details", "summary", "pre", "code", "a", "img", "em"),
    *("strong", "s", "ul", "ol", "li", "blockquote", "table", "thead", "tbody", "tr", "th", "td"),
    *("h2", "h3", "h4", "h5", "h6", "hr", "br", "nav", "ins", "del"),
}


class Seen(HTMLParser):
    """Checks a page as a browser would read it."""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in ALLOWED, tag
        for name, value in attrs:
            assert not name.startswith("on"), name
            if name == "src":
                assert re.match(r"data:image/(png|jpeg|gif|webp);base64,", value or "")
            if name == "href":
                assert re.match(r"(?i)https?://|mailto:|#m\d+$", value or "")


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("where", ["content", "title", "thought", "tool", "call", "error", "part"])
def test_a_page_has_only_safe_elements(text: str, where: str):
    entry = Entry(Message("assistant", text, "m1"))
    match where:
        case "thought":
            block = ReasoningBlock(Protocol.ANTHROPIC, text)
            entry = Entry(Message("assistant", "", "m1", semantics=MessageSemantics((block,))))
        case "tool":
            entry = Entry(Message("tool", text, "m1", name=text))
        case "call":
            entry = Entry(Message("assistant", "", "m1", tool_calls=(ToolCall("", text, text),)))
        case "error":
            entry = Entry(Message("assistant", "", "m1"), error=text, model=text)
        case "part":
            parts = (Part("image", "image/png", data=text), Part("file", text, url=text, name=text))
            entry = Entry(Message("assistant", "", "m1", parts=parts))
        case _:
            pass
    html = "".join(page(told(entry, title=text, role=Role("r", text))))
    Seen().feed(html)
    assert "\x00" not in html


@pytest.mark.slow
@given(transcripts())
def test_any_session_can_be_exported(transcript: SessionTranscript):
    Seen().feed("".join(page(transcript)))
    text = "".join(markdown(transcript))
    assert "\x1b" not in text
    assert "\u202e" not in text


@given(st.text("`~<>[]()!*_#-|\n abx:/\"'&;\\", max_size=60))
def test_any_markdown_makes_a_valid_page(text: str):
    Seen().feed("".join(page(reply(text))))
