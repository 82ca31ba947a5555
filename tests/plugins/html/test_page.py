"""Exports to HTML: readable, and safe whatever a model wrote."""

from __future__ import annotations

import base64
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.command_line import Run
from tests.support.messages import make_message, thought
from tests.support.replies import (
    EXAMPLE,
    MUTED,
    PARTS,
    PNG,
    REFERENCES,
    TEXT,
    muted_reply,
    reply,
    told,
)
from tests.support.tables import each_row
from tests.support.transcripts import transcripts
from tui_chat.models.blocks import CallBlock, MediaBlock
from tui_chat.models.endpoint import Protocol
from tui_chat.models.message import Message, Muted
from tui_chat.models.role import Role
from tui_chat.models.session import Entry, SessionTranscript
from tui_chat.plugins.html.page import page
from tui_chat.ui.dialogs.export import format_and_path


def test_html_has_the_messages_and_the_other_versions():
    text = "".join(page(EXAMPLE))
    assert "<p><strong>One</strong> moment.</p>" in text
    assert "<summary>Other versions (1)</summary>" in text
    assert "<p>Rain.</p>" in text
    assert "<summary>weather</summary>" in text
    assert '<p class="error">The server is gone.</p>' in text
    assert "prefers-color-scheme: dark" in text
    assert "<title>A walk</title>" in text


@each_row(("muted", "words"), MUTED)
def test_what_is_muted_is_said(muted: Muted, words: str):
    assert words in "".join(page(muted_reply(muted)))


def test_html_lists_sources() -> None:
    text = "".join(page(reply(TEXT, references=REFERENCES)))
    assert '<li><a rel="noreferrer noopener nofollow" href="https://tower.example/a_(b)">' in text
    assert "<li>&lt;b&gt;notes&lt;/b&gt;.txt</li>" in text


def test_html_embeds_pictures_and_names_the_rest() -> None:
    text = "".join(page(reply("x", parts=PARTS)))
    assert text.count("<img ") == 1
    assert f'<img alt="image: image/png · 2 kB" src="data:image/png;base64,{PNG}">' in text
    assert text.count("<audio ") == 1
    sound = text.split('src="data:audio/wav;base64,')[1].split('"')[0]
    assert base64.b64decode(sound)[:4] == b"RIFF"
    assert base64.b64decode(sound).endswith(bytes(3))
    assert "[image: image/jpeg · damaged]" in text
    assert "[file: image/svg+xml · 21 B]" in text
    assert 'href="https://files.example/a.png"' in text


@each_row("mime", ['image/png"><script>', "image/svg+xml", "text/html"])
def test_no_type_leads_to_a_script(mime: str) -> None:
    text = "".join(page(reply("x", parts=(MediaBlock("image", mime, data=PNG),))))
    assert "<img" not in text
    assert "<script" not in text


REMINDER = "<system-reminder>\nThe date is known.\n</system-reminder>"


def test_a_page_of_an_agent_names_calls_and_folds_results():
    edit = '{"file_path": "/src/a.py", "old_string": "one <b>", "new_string": "two"}'
    calls = (CallBlock("c1", "Read", '{"file_path": "/src/<b>.py"}'), CallBlock("c2", "Edit", edit))
    text = "".join(
        page(
            told(
                Entry(Message.of("user", "Look <b>at</b> it", "m1", timestamp=1_700_000_000.0)),
                Entry(make_message("assistant", "", "m2", tool_calls=calls), "m1"),
                Entry(make_message("tool", "line 1\nline 2", "m3", tool_call_id="c1"), "m2"),
                Entry(make_message("tool", "done", "m4", tool_call_id="c2"), "m3"),
                Entry(Message.of("assistant", "Done.", "m5"), "m4"),
                Entry(Message.of("user", f"{REMINDER}\n\nThanks", "m6"), "m5"),
            )
        )
    )
    assert "<summary>Read: /src/&lt;b&gt;.py</summary>" in text
    assert "<summary>Edit: /src/a.py +1 −1</summary>" in text
    assert "one &lt;b&gt;" in text
    assert "<summary>Result: line 1 · 2 lines</summary>" in text
    assert "<summary>Result: done</summary>" in text
    assert '<article class="user" id="m6">' in text


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
    *("h2", "h3", "h4", "h5", "h6", "hr", "br"),
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


@each_row("text", HOSTILE)
@each_row("where", ["content", "title", "thought", "tool", "call", "error", "part"])
def test_a_page_has_only_safe_elements(text: str, where: str):
    entry = Entry(Message.of("assistant", text, "m1"))
    match where:
        case "thought":
            block = thought(Protocol.ANTHROPIC, text)
            entry = Entry(make_message("assistant", "", "m1", reasoning=(block,)))
        case "tool":
            entry = Entry(make_message("tool", text, "m1", name=text))
        case "call":
            entry = Entry(
                make_message("assistant", "", "m1", tool_calls=(CallBlock("", text, text),))
            )
        case "error":
            entry = Entry(Message.of("assistant", "", "m1"), error=text, model=text)
        case "part":
            parts = (
                MediaBlock("image", "image/png", data=text),
                MediaBlock("file", text, url=text, name=text),
            )
            entry = Entry(make_message("assistant", "", "m1", parts=parts))
        case _:
            pass
    html = "".join(page(told(entry, title=text, role=Role("r", text))))
    Seen().feed(html)
    assert "\x00" not in html


@pytest.mark.slow
@given(transcripts())
def test_any_session_can_be_exported(transcript: SessionTranscript):
    Seen().feed("".join(page(transcript)))


@given(st.text("`~<>[]()!*_#-|\n abx:/\"'&;\\", max_size=60))
def test_any_markdown_makes_a_valid_page(text: str):
    Seen().feed("".join(page(reply(text))))


@pytest.mark.parametrize(
    ("argument", "path"), [("html a b.txt", "a b.txt"), ("'my talk.htm'", "'my talk.htm'")]
)
def test_the_format_is_known_by_name_and_ending(argument: str, path: str):
    assert format_and_path(argument) == ("html", path)


def test_the_command_exports_it(run: Run, tmp_path: Path):
    folders = ("--data-dir", tmp_path, "--config-dir", tmp_path)
    assert run(*folders, "ask", "Hi", "--model", "echo").code == 0
    assert "<h1" in run(*folders, "export", "--format", "html").out
