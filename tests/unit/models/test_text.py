from hypothesis import given
from hypothesis import strategies as st

from tests.support.strategies import sources, texts
from tui_chat.models.message import Message, message_origin
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
