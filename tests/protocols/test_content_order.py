"""An assistant's turn in the order in which its provider sent it."""

from __future__ import annotations

from typing import Any

from tui_chat.models.endpoint import Protocol
from tui_chat.models.envelope import Placement, Turn
from tui_chat.models.message import Part, ToolCall
from tui_chat.models.semantics import Layout, LayoutPiece, MessageSemantics, ReasoningBlock
from tui_chat.models.text import Origin, OriginKind, Text
from tui_chat.protocols.common.content_order import ordered_content

ORIGIN = Origin(OriginKind.HISTORY, "m1", "history")
THOUGHT = ReasoningBlock(Protocol.GEMINI, "hm")
CALL = ToolCall("", "f", "{}")
LAYOUT = Layout(
    Protocol.GEMINI,
    (
        LayoutPiece("text", 2, signature="S1"),
        LayoutPiece("reasoning"),
        LayoutPiece("other", name="executableCode", data="{}"),
        LayoutPiece("call", signature="S2"),
        LayoutPiece("text", 1),
    ),
)


def turn(text: str, layout: Layout | None = LAYOUT, **more: Any) -> Turn:
    fields = {"tool_calls": (CALL,), **more}
    return Turn(
        "assistant",
        Text.of(text, ORIGIN),
        ORIGIN,
        Placement("history"),
        semantics=MessageSemantics((THOUGHT,), layout=layout),
        **fields,
    )


def seen(turn: Turn, protocol: Protocol = Protocol.GEMINI) -> list[tuple[str, str, Any]]:
    return [
        (piece.kind, piece.signature, str(what) if isinstance(what, Text) else what)
        for piece, what in ordered_content(turn, protocol)
    ]


def test_a_layout_that_fits_is_followed() -> None:
    assert seen(turn("abc")) == [
        ("text", "S1", "ab"),
        ("reasoning", "", THOUGHT),
        ("other", "", None),
        ("call", "S2", CALL),
        ("text", "", "c"),
    ]


def test_an_edited_text_keeps_the_marks_on_calls_and_nothing_else() -> None:
    assert seen(turn("edited")) == [
        ("reasoning", "", THOUGHT),
        ("text", "", "edited"),
        ("call", "S2", CALL),
    ]


def test_without_a_layout_it_is_reasoning_then_text_then_calls() -> None:
    assert seen(turn("abc", None)) == [
        ("reasoning", "", THOUGHT),
        ("text", "", "abc"),
        ("call", "", CALL),
    ]


def test_a_foreign_layout_gives_the_order_and_no_marks() -> None:
    assert seen(turn("abc"), Protocol.ANTHROPIC) == [
        ("text", "", "ab"),
        ("reasoning", "", THOUGHT),
        ("other", "", None),
        ("call", "", CALL),
        ("text", "", "c"),
    ]


def test_texts_that_only_a_gemini_signature_parted_are_one_elsewhere() -> None:
    layout = Layout(
        Protocol.GEMINI, (LayoutPiece("text", 1, signature="S"), LayoutPiece("text", 2))
    )
    given = Turn(
        "assistant",
        Text.of("abc", ORIGIN),
        ORIGIN,
        Placement("history"),
        semantics=MessageSemantics(layout=layout),
    )
    assert seen(given, Protocol.ANTHROPIC) == [("text", "", "abc")]
    assert seen(given, Protocol.OPENAI_CHAT) == [("text", "S", "abc")]  # Google's endpoint has it


def test_marks_for_another_number_of_calls_are_dropped() -> None:
    assert [s[1] for s in seen(turn("abc", tool_calls=(CALL, CALL)))] == ["", "", "", ""]


def test_texts_keep_their_origin() -> None:
    texts = [
        what for _, what in ordered_content(turn("abc"), Protocol.GEMINI) if isinstance(what, Text)
    ]
    assert [span.start for text in texts for span in text.spans] == [0, 2]


def test_images_are_placed_by_the_layout_or_after_the_text() -> None:
    picture = Part("image", "image/png", "AAAA")
    layout = Layout(
        Protocol.GEMINI,
        (
            LayoutPiece("part"),
            LayoutPiece("text", 3),
            LayoutPiece("reasoning"),
            LayoutPiece("call"),
        ),
    )
    assert [s[2] for s in seen(turn("abc", layout, parts=(picture,)))] == [
        picture,
        "abc",
        THOUGHT,
        CALL,
    ]
    assert [s[2] for s in seen(turn("abcd", layout, parts=(picture,)))] == [
        THOUGHT,
        "abcd",
        picture,
        CALL,
    ]
