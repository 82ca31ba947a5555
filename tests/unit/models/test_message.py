"""What blocks say in the OpenAI-like form, and messages and turns with other blocks."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from tests.support.tables import each_row
from tui_chat.models.blocks import (
    Block,
    CallBlock,
    Extras,
    MediaBlock,
    OpaqueBlock,
    ReasoningBlock,
    ResultBlock,
    TextBlock,
)
from tui_chat.models.endpoint import Protocol
from tui_chat.models.envelope import Turn, kept_blocks, text_turn, with_each_block, with_text
from tui_chat.models.message import (
    NOT_MUTED,
    Message,
    Muted,
    message_origin,
    tool_result,
    with_blocks,
    with_content,
)
from tui_chat.models.text import Origin, OriginKind, Text

EXTRAS = Extras(Protocol.OPENAI_RESPONSES, "message", {"item": {"id": "msg_1"}})
THOUGHT = ReasoningBlock("Hm.", Extras(Protocol.ANTHROPIC, "", {"signature": "U0lH"}))
CALL = CallBlock("c", "look", "{}")
PICTURE = MediaBlock("image", "image/png", "iVBORw0KGgo=")
SOUND = MediaBlock(
    "audio", "audio/wav", "UklGRg==", extras=Extras(Protocol.OPENAI_CHAT, "audio", {"id": "a"})
)
REFUSAL = TextBlock("I will not.", is_refusal=True)
OPAQUE = OpaqueBlock(Protocol.OPENAI_RESPONSES, "web_search_call", {"id": "ws_1"})
ONE, TWO = TextBlock("One. ", extras=EXTRAS), TextBlock("Two.")
BLOCKS = st.sampled_from([THOUGHT, CALL, PICTURE, SOUND, REFUSAL, OPAQUE, ONE, TWO])


def test_the_properties_are_what_the_blocks_say():
    message = Message("assistant", (THOUGHT, ONE, PICTURE, OPAQUE, TWO, REFUSAL, CALL))
    assert message.content == "One. Two."
    assert message.tool_calls == (CALL,)
    assert message.parts == (PICTURE,)
    assert (message.reasoning, message.thought) == ((THOUGHT,), "Hm.")
    assert message.refusal == "I will not."
    assert (message.result, message.tool_call_id, message.tool_name) == (None, "", "")
    assert message.failed is None
    assert Message("assistant", (REFUSAL,)).content == ""
    result = Message("tool", tool_result("c", "sun", (PICTURE,), name="look", failed=True))
    assert (result.tool_call_id, result.tool_name, result.failed) == ("c", "look", True)
    assert (result.content, result.parts, result.name) == ("sun", (PICTURE,), "")
    assert result.result == ResultBlock("c", "look", True)
    assert tool_result("c") == (ResultBlock("c"),)


def test_reasoning_is_told_with_a_blank_line_between_its_blocks():
    blocks = (THOUGHT, ReasoningBlock(""), TWO, ReasoningBlock("So."))
    assert Message("assistant", blocks).thought == "Hm.\n\nSo."


def test_reasoning_is_muted_and_unmuted_as_a_whole():
    message = Message("assistant", (THOUGHT, PICTURE, THOUGHT, TWO), muted=Muted(True, (1, 2)))
    assert not message.is_reasoning_muted
    muted = replace(message, muted=message.reasoning_switched())
    assert muted.muted == Muted(True, (0, 1, 2))
    assert muted.is_reasoning_muted
    assert muted.reasoning_switched() == Muted(True, (1,))
    assert not Message("assistant", (TWO,), muted=Muted(blocks=(0,))).is_reasoning_muted


def test_what_is_muted_stays_muted_at_its_new_place():
    message = Message("assistant", (THOUGHT, ONE, PICTURE), muted=Muted(blocks=(0, 2, 9)))
    assert message.muted_blocks == (THOUGHT, PICTURE)
    assert with_blocks(message, (PICTURE, ONE)).muted == Muted(blocks=(0,))
    assert with_blocks(message, (ONE, CALL)).muted == NOT_MUTED
    whole = replace(message, muted=Muted(whole=True))
    assert with_blocks(whole, ()).muted == Muted(whole=True)


@each_row(
    ("blocks", "expected"),
    [
        ((TWO,), (TextBlock("new"),)),
        ((ONE,), (TextBlock("new"),)),
        ((TextBlock("x", cache="1h"),), (TextBlock("new", cache="1h"),)),
        ((THOUGHT, ONE, PICTURE, TWO, CALL), (THOUGHT, TextBlock("new"), PICTURE, CALL)),
        ((THOUGHT, CALL), (THOUGHT, TextBlock("new"), CALL)),
        ((THOUGHT, PICTURE), (THOUGHT, TextBlock("new"), PICTURE)),
        ((REFUSAL, OPAQUE), (REFUSAL, OPAQUE, TextBlock("new"))),
        ((), (TextBlock("new"),)),
        ((TWO, SOUND), (TextBlock("new"), SOUND)),
        ((SOUND,), (TextBlock("new"), SOUND)),
    ],
)
def test_another_text_is_in_the_first_text(blocks, expected):
    assert with_content(Message("assistant", blocks), "new").blocks == expected


def test_a_captured_text_keeps_its_keys():
    message = Message("assistant", (ONE, TWO), extras=Extras(Protocol.OPENAI_RESPONSES))
    assert with_content(message, "new").blocks == (TextBlock("new", extras=EXTRAS),)


@given(st.lists(BLOCKS, max_size=6), st.sets(st.integers(0, 5)))
def test_an_edit_changes_the_text_and_nothing_else(found: list[Block], muted: set[int]):
    blocks = tuple(map(replace, found))  # no two are the same object
    message = Message("assistant", blocks, muted=Muted(blocks=tuple(sorted(muted))))
    edited = with_content(message, "new")
    assert edited.content == "new"
    assert (edited.tool_calls, edited.reasoning) == (message.tool_calls, message.reasoning)
    assert edited.refusal == message.refusal
    assert [part.data for part in edited.parts] == [part.data for part in message.parts]
    assert with_content(message, message.content) is message

    def muted_of(of: Message) -> list[object]:
        return [getattr(b, "data", b) for b in of.muted_blocks if type(b) is not TextBlock]

    assert muted_of(edited) == muted_of(message)


# --- turns -------------------------------------------------------------------------------

ORIGIN = Origin(OriginKind.HISTORY, "m")
MACRO = Text.of("now", Origin(OriginKind.MACRO, "date"))


def origins(text: Text) -> list[tuple[str, str, int | None]]:
    return [(span.text, span.origin.id, span.start) for span in text.spans]


def test_each_text_of_a_turn_has_its_origin():
    turn = Turn("assistant", (ONE, REFUSAL, TextBlock("now"), TWO), ORIGIN, spans={2: MACRO})
    assert origins(turn.text) == [("One. ", "m", 0), ("now", "date", 0), ("Two.", "m", 8)]
    assert origins(turn.text_at(1)) == [("I will not.", "m", 5)]
    assert origins(Turn("user", (TWO,), ORIGIN).text) == [("Two.", "m", 0)]
    assert Turn("user", (), ORIGIN).text.plain == ""


def test_the_blocks_that_stay_keep_their_texts():
    turn = Turn("assistant", (ONE, PICTURE, TextBlock("now"), TWO), ORIGIN, spans={2: MACRO})
    kept = kept_blocks(turn, {3, 2, 1})
    assert kept.blocks == (PICTURE, TextBlock("now"), TWO)
    assert origins(kept.text) == [("now", "date", 0), ("Two.", "m", 8)]
    assert kept_blocks(turn, range(4)) is turn


@each_row(
    ("blocks", "expected"),
    [
        ((ONE, PICTURE, TWO), (TextBlock("now"), PICTURE)),
        ((TextBlock("now", extras=EXTRAS),), (TextBlock("now", extras=EXTRAS),)),
        ((THOUGHT, PICTURE), (THOUGHT, TextBlock("now"), PICTURE)),
        ((TextBlock("x"),), (TextBlock("now"),)),
        ((), (TextBlock("now"),)),
    ],
)
def test_a_turn_gets_another_text(blocks, expected):
    turn = with_text(Turn("user", blocks, ORIGIN), MACRO)
    assert turn.blocks == expected
    assert turn.text.plain == "now"
    assert origins(turn.text) == [("now", "date", 0)]


def test_a_captured_turn_keeps_the_keys_of_its_text():
    turn = Turn("assistant", (ONE,), ORIGIN, extras=Extras(Protocol.OPENAI_RESPONSES))
    assert with_text(turn, MACRO).blocks == (TextBlock("now", extras=EXTRAS),)


def test_a_turn_of_one_text_has_it_with_its_origins():
    assert origins(text_turn("user", MACRO, ORIGIN).text) == [("now", "date", 0)]
    assert text_turn("user", Text.of("", ORIGIN), ORIGIN).blocks == ()


def test_a_turn_is_the_same_if_no_block_changes():
    turn = Turn("assistant", (ONE, CALL), ORIGIN)
    assert with_each_block(turn, lambda block: block) is turn
    renamed = with_each_block(turn, lambda b: replace(b, name="f") if b is CALL else b)
    assert renamed.blocks == (ONE, replace(CALL, name="f"))


def test_a_turn_knows_which_protocol_it_was_captured_from():
    turn = Turn("user", (TWO,), ORIGIN, extras=Extras(Protocol.GEMINI))
    assert turn.captured_from(Protocol.GEMINI)
    assert not turn.captured_from(Protocol.OPENAI_CHAT)
    assert not replace(turn, extras=None).captured_from(Protocol.GEMINI)


@each_row(
    ("text", "name"),
    [
        ("Two\n words ", "Two words"),
        ("a" * 32, "a" * 32),
        ("a" * 33, "a" * 31 + "…"),
        ("a" + " " * 39, "a"),
        ("a" + " " * 40, "a…"),
        (" " * 50, "user"),
        ("", "user"),
    ],
)
def test_the_origin_of_a_message_has_its_first_words(text, name):
    assert message_origin(Message.of("user", text, "m")).name == name
