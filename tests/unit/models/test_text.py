"""Texts with origins, sanitized texts, and sources."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.support.strategies import any_text, sources, texts
from tests.support.tables import each_row
from tui_chat.models.message import Message, found_source, message_origin, web_address
from tui_chat.models.sanitize import character_name, exact_runs, sanitize
from tui_chat.models.text import GLUE, Origin, OriginKind, Span, Text, clean

PRESET = Origin(OriginKind.PRESET, "style", "Style")
DRAFT = Origin(OriginKind.DRAFT, "draft")


def test_adjacent_spans_of_one_source_merge():
    text = Text(
        [Span("ab", PRESET, 0), Span("cd", PRESET, 2), Span("", DRAFT), Span("ef", PRESET, 9)]
    )
    assert text.spans == (Span("abcd", PRESET, 0), Span("ef", PRESET, 9))
    assert text.plain == "abcdef"


def test_joining_puts_glue_between():
    text = Text.join("\n\n", [Text.of("a", PRESET), Text.of("b", DRAFT)])
    assert text.spans == (Span("a", PRESET), Span("\n\n", GLUE), Span("b", DRAFT))


@given(st.data())
def test_a_slice_keeps_source_positions(data: st.DataObject):
    source = data.draw(sources)
    text = data.draw(texts(source))
    start, stop = sorted((data.draw(st.integers(0, 90)), data.draw(st.integers(0, 90))))
    cut = text[start:stop]
    assert cut.plain == text.plain[start:stop]
    for span in cut.spans:
        assert source[span.origin.id][span.start : span.start + len(span.text)] == span.text


@given(st.data())
def test_the_span_at_an_offset_holds_that_character(data: st.DataObject):
    text = data.draw(texts(data.draw(sources)))
    at = 0
    for span in text.spans:
        for _ in span.text:
            assert text.span_at(at) is span
            at += 1


def test_stripping_keeps_source_positions():
    assert Text.of("  hi \n", DRAFT).stripped().spans == (Span("hi", DRAFT, 2),)


def test_clean_joins_split_pairs_and_replaces_lone_surrogates():
    assert clean("a\ud83d\ude00b") == "a😀b"
    assert clean("a\ud83db") == "a\ufffdb"
    same = "plain 你好"
    assert clean(same) is same


@given(st.text(st.characters(), max_size=20))
def test_clean_text_can_always_be_encoded(text: str):
    clean(text).encode()


def test_a_messages_origin_is_an_origin_like_any_other():
    spoken = Message.of("user", "Please  tell me\nwhat the weather will be like tomorrow", "m1")
    named = Origin(OriginKind.HISTORY, "m1", "Please tell me what the weather…")
    assert message_origin(spoken) == named == message_origin(spoken)
    assert len({message_origin(spoken), named}) == 1
    assert message_origin(Message.of("user", "", "m2")) == Origin(OriginKind.HISTORY, "m2", "user")
    assert message_origin(spoken) != Origin(OriginKind.HISTORY, "m2", named.name)


# ---  -------------------------------------------------------------------------------------


@each_row(
    ("text", "expected"),
    [
        ("plain", "plain"),
        ("Kyōto – 木漏れ日 🙂", "Kyōto – 木漏れ日 🙂"),
        ("e\u0301", "e\u0301"),
        ("\x1b[31m", r"\u001b[31m"),
        ("a\x7f\x85\x9bb", r"a\u007f\u0085\u009bb"),
        ("a\u202eb\u202c", r"a\u202eb\u202c"),
        ("\u2066x\u2069", r"\u2066x\u2069"),
        ("\u200b\u200c\u200d\u200e\u200f", r"\u200b\u200c\u200d\u200e\u200f"),
        ("\ufeff", r"\ufeff"),
        ("\u2028\u2029", r"\u2028\u2029"),
        ("👩\u200d💻", "👩\u200d💻"),
        ("❤\ufe0f ☺\ufe0e 1\ufe0f\u20e3", "❤\ufe0f ☺\ufe0e 1\ufe0f\u20e3"),
        ("❤\ufe0f\u200d🔥", "❤\ufe0f\u200d🔥"),
        ("a\ufe0f1\ufe0f❤\ufe0f\ufe0f", r"a\ufe0f1\ufe0f❤" + "\ufe0f" + r"\ufe0f"),
        ("👩\u200d\u202e💻", r"👩\u200d\u202e💻"),
        ("\U000e0041\U000e0042", r"\u{e0041}\u{e0042}"),
        ("\u00ad\u034f\u3164", r"\u00ad\u034f\u3164"),
        ("a" + "\u0301" * 6, "a" + "\u0301" * 4 + r"\u0301\u0301"),
        ("\u0301a", r"\u0301a"),
    ],
)
def test_sanitized_text(text: str, expected: str) -> None:
    assert sanitize(text, "exact") == expected
    assert "".join(drawn for drawn, _ in exact_runs(text)) == expected


@given(any_text)
def test_sanitized_text_has_no_controls_or_overrides(text: str) -> None:
    drawn = sanitize(text, "exact")
    assert not any(c < " " or "\x7f" <= c <= "\x9f" or "\u202a" <= c <= "\u202e" for c in drawn)
    assert sanitize(drawn, "exact") == drawn


@each_row(
    ("marked", "name"),
    [
        (r"\u202e", "U+202E RIGHT-TO-LEFT OVERRIDE"),
        (r"\u200b\u200b", "U+200B ZERO WIDTH SPACE"),
        (r"\u{e0041}", "U+E0041 TAG LATIN CAPITAL LETTER A"),
        (r"\u009b", "U+009B control character"),
    ],
)
def test_hidden_characters_have_names(marked: str, name: str) -> None:
    assert character_name(marked) == name


# --- The sources of replies ---------------------------------------------------------------


def test_what_a_source_is_called() -> None:
    assert found_source("", "https://www.a.example:8080/x").label == "a.example"
    assert found_source("", "https://google.com@evil.example/").host == "evil.example"
    assert found_source("T\n x", "").label == "T x"
    assert found_source("", "gs://bucket/file").label == "gs://bucket/file"
    assert web_address(" HTTPS://a.example/ ") == "HTTPS://a.example/"
