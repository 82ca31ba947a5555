"""Muted messages, calls, reasoning and parts: what is still sent, and what is said about it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.support.contexts import (
    A1,
    A2,
    ENDPOINT,
    HISTORY,
    LETTERS,
    U1,
    U2,
    built,
    codes,
    entry,
    order,
    said,
    summary,
)
from tests.support.tables import each_row
from tui_chat.context import Inputs, build
from tui_chat.context.generation import as_continuation
from tui_chat.context.muted_history import without_muted
from tui_chat.models.endpoint import Protocol
from tui_chat.models.lorebook import Lorebook
from tui_chat.models.message import NOT_MUTED, Message, Muted, Part, ToolCall
from tui_chat.models.preset import Preset
from tui_chat.models.semantics import (
    KeptReply,
    Layout,
    LayoutPiece,
    MessageSemantics,
    ReasoningBlock,
    WireForm,
)
from tui_chat.models.text import OriginKind

ALL = Muted(whole=True)
PICTURE = Part("image", "image/png", "iVBORw0KGgo=", name="a.png")


def muted(message: Message, **what: Any) -> Message:
    return replace(message, muted=Muted(**what) if what else ALL)


def calling(text: str, *ids: str, **semantics: Any) -> Message:
    calls = tuple(ToolCall(each, "look", "{}") for each in ids)
    return Message(
        "assistant", text, f"a{ids}", tool_calls=calls, semantics=MessageSemantics(**semantics)
    )


def result(identity: str, name: str = "look") -> Message:
    return Message("tool", f"R{identity}", f"r{identity}", tool_call_id=identity, name=name)


def sent(*history: Message, has_draft: bool = True) -> tuple[Message, ...]:
    return without_muted(history, has_draft, False).history


def called(messages: tuple[Message, ...]) -> list[str]:
    """Each message in a word: its text, and the ids of its calls."""
    return [
        " ".join(filter(None, (m.content, *(call.id for call in m.tool_calls)))) for m in messages
    ]


def test_nothing_muted_is_the_same_history():
    history = (U1, A1, calling("", "x"), result("x"))
    assert without_muted(history, True, False).history is history
    assert sent(U1, replace(A1, muted=Muted())) == (U1, A1)


@each_row(
    ("history", "expected"),
    [
        ((U1, muted(A1), U2), ["U1", "U2"]),
        # A result takes its call out of the message, which keeps its text and its other calls.
        ((U1, calling("T", "x"), muted(result("x"))), ["U1", "T"]),
        ((calling("T", "x", "y"), result("x"), muted(result("y")), U2), ["T x", "Rx", "U2"]),
        # Nothing is left of a message that was a call only.
        ((U1, calling("", "x"), muted(result("x")), A1), ["U1", "A1"]),
        ((calling(" \n", "x", "y"), muted(result("x")), muted(result("y")), A1), ["A1"]),
        # A message with calls takes its results along.
        ((muted(calling("T", "x", "y")), result("x"), result("y"), A1), ["A1"]),
        # Without ids: by name, and in order.
        (
            (
                replace(calling(""), tool_calls=(ToolCall("", "f", "{}"), ToolCall("", "g", "{}"))),
                muted(Message("tool", "RG", "g", name="g")),
                Message("tool", "RF", "f", name="f"),
            ),
            ["", "RF"],
        ),
        # An id that is used again belongs to the last call that has it.
        (
            (calling("1", "x"), result("x"), calling("2", "x"), muted(result("x")), A1),
            ["1 x", "Rx", "2", "A1"],
        ),
        # A result without a call goes alone, and so does a call without a result.
        ((U1, muted(result("z")), A1), ["U1", "A1"]),
        ((U1, muted(calling("T", "x")), A1), ["U1", "A1"]),
    ],
)
def test_a_call_and_its_result_go_together(history, expected):
    assert called(sent(*history)) == expected


def test_a_part_leaves_and_the_layout_still_fits():
    other = replace(PICTURE, name="b.png")
    pieces = (LayoutPiece("part", id="1"), LayoutPiece("text", 2), LayoutPiece("part", id="2"))
    semantics = MessageSemantics(layout=Layout(Protocol.ANTHROPIC, pieces))
    message = replace(U1, parts=(PICTURE, other), semantics=semantics)
    [left] = sent(muted(message, parts=(0,)))
    assert (left.parts, left.content, left.muted) == ((other,), "U1", NOT_MUTED)
    assert left.semantics.layout == Layout(Protocol.ANTHROPIC, pieces[1:])
    assert sent(muted(replace(message, content=""), parts=(0, 1)), A1) == (A1,)
    assert sent(muted(message, parts=(7,))) == (replace(message, muted=NOT_MUTED),)


def thinking(protocol: Protocol, *, kind: str = "") -> ReasoningBlock:
    return ReasoningBlock(protocol, "Hm.", "c2ln", "ZW5j" * (protocol == "openai_responses"),
                          "rs_1", kind)  # fmt: skip


@each_row(
    ("protocol", "kind", "is_open", "stays"),
    [
        (Protocol.ANTHROPIC, "", False, False),
        (Protocol.ANTHROPIC, "", True, True),
        (Protocol.GEMINI, "", False, False),
        (Protocol.GEMINI, "", True, True),
        (Protocol.OPENAI_RESPONSES, "", True, False),
        (Protocol.OPENAI_CHAT, "reasoning_content", False, True),
        (Protocol.OPENAI_CHAT, "reasoning.text", False, False),
        (Protocol.OPENAI_CHAT, "reasoning.text", True, True),
        (Protocol.OLLAMA, "", True, False),
    ],
)
def test_reasoning_stays_where_a_call_needs_it(protocol, kind, is_open, stays):
    call = muted(calling("T", "x", reasoning=(thinking(protocol, kind=kind),)), reasoning=True)
    history = (U1, call, result("x")) if is_open else (U1, call, result("x"), A1)
    what = without_muted(history, False, False)
    assert bool(what.history[1].semantics.reasoning) is stays
    assert (len(what.demanded), what.reasoning) == (int(stays), int(not stays))
    # Without the call nobody needs it.
    what = without_muted((U1, call, muted(result("x"))), False, False)
    assert not what.history[1].semantics.reasoning


def test_responses_items_lose_their_ids_with_their_reasoning():
    pieces = (
        LayoutPiece("reasoning"),
        LayoutPiece("text", 1, id="msg_1", phase="commentary"),
        LayoutPiece("call", id="fc_1"),
        LayoutPiece("reasoning"),
        LayoutPiece("other", name="web_search_call", data='{"id":"ws_1"}'),
        LayoutPiece("call", id="fc_2"),
    )
    reasoning = tuple(thinking(Protocol.OPENAI_RESPONSES) for _ in range(2))
    layout = Layout(Protocol.OPENAI_RESPONSES, pieces)
    message = calling("T", "x", "y", reasoning=reasoning, layout=layout)

    def left(*history: Message) -> list[tuple[str, str]]:
        semantics = sent(*history)[0].semantics
        assert semantics.layout is not None
        kinds = [piece.kind for piece in semantics.layout.pieces]
        assert kinds.count("reasoning") == len(semantics.reasoning)
        return [(piece.kind, piece.id) for piece in semantics.layout.pieces]

    both = (result("x"), result("y"))
    whole = [(piece.kind, piece.id) for piece in pieces]
    # The provider's own item has no form without its reasoning.
    assert left(muted(message, reasoning=True), *both) == [("text", ""), ("call", ""), *whole[3:]]
    assert left(message, muted(result("x")), result("y")) == [*whole[:2], *whole[3:]]
    assert left(message, result("x"), muted(result("y"))) == whole[:5]
    # Reasoning never without its next item.
    first = replace(message, content="")
    pieces = (pieces[0], *pieces[2:])
    first = replace(
        first, semantics=replace(first.semantics, layout=Layout(layout.protocol, pieces))
    )
    assert left(first, muted(result("x")), result("y")) == whole[3:]
    two = replace(layout, pieces=(pieces[0], pieces[1], replace(pieces[4], id="fc_3")))
    parallel = calling("", "x", "y", reasoning=reasoning[:1], layout=two)
    assert left(parallel, muted(result("x")), result("y")) == [("call", "")]
    assert left(parallel, result("x"), muted(result("y"))) == [("reasoning", ""), ("call", "fc_1")]


def test_anthropic_thinking_does_not_end_a_message():
    pieces = (LayoutPiece("text", 1), LayoutPiece("reasoning"), LayoutPiece("call"))
    layout = Layout(Protocol.ANTHROPIC, pieces)
    message = calling("T", "x", reasoning=(thinking(Protocol.ANTHROPIC),), layout=layout)
    left, *_ = sent(message, muted(result("x")))
    assert (left.semantics.reasoning, left.semantics.layout) == (
        (),
        replace(layout, pieces=pieces[:1]),
    )
    assert sent(message, result("x"), muted(A1))[0] is message


def test_geminis_signature_moves_to_the_next_call():
    pieces = (LayoutPiece("call", signature="c2ln"), LayoutPiece("call"))
    layout = Layout(Protocol.GEMINI, pieces)
    message = calling("", "x", "y", layout=layout)
    left, *_ = sent(message, muted(result("x")), result("y"))
    assert left.semantics.layout == replace(layout, pieces=pieces[:1])
    left, *_ = sent(message, result("x"), muted(result("y")))
    assert left.semantics.layout == replace(layout, pieces=pieces[:1])


def test_a_stale_layout_keeps_the_marks_of_the_calls_that_stay():
    pieces = (
        LayoutPiece("text", 9),
        LayoutPiece("call", id="fc_1"),
        LayoutPiece("call", id="fc_2"),
    )
    layout = Layout(Protocol.OPENAI_RESPONSES, pieces)
    message = calling("edited", "x", "y", layout=layout)
    left, *_ = sent(message, muted(result("x")), result("y"))
    assert left.semantics.layout == replace(layout, pieces=pieces[2:])
    wrong = calling("edited", "x", "y", layout=replace(layout, pieces=pieces[:2]))
    left, *_ = sent(wrong, muted(result("x")), result("y"))
    assert left.semantics.layout == replace(layout, pieces=())


def test_a_captured_turn_begins_the_message_that_it_shared():
    alone, joined = (
        MessageSemantics(wire=WireForm(Protocol.ANTHROPIC, joined=is_joined))
        for is_joined in (False, True)
    )
    results = [replace(result(each), semantics=alone if each == "x" else joined) for each in "xyz"]
    left = sent(calling("T", *"xyz"), muted(results[0]), *results[1:])
    assert [m.semantics.wire.joined for m in left[1:] if m.semantics.wire] == [False, True]
    left = sent(calling("T", *"xyz"), results[0], muted(results[1]), results[2])
    assert [m.semantics.wire.joined for m in left[1:] if m.semantics.wire] == [False, True]


def test_the_provider_does_not_go_on_from_a_reply_that_knows_a_muted_message():
    kept = replace(A1, semantics=MessageSemantics(kept_as=KeptReply.of("resp_1", "A1")))
    assert sent(kept, muted(U1), kept) == (kept, replace(kept, semantics=MessageSemantics()))


def test_a_summary_is_not_muted():
    both = muted(summary("S", 0))
    assert order(built(HISTORY, history=(U1, A1, both))) == "S D"
    # What it keeps is counted before anything is muted.
    assert order(built(HISTORY, history=(U1, muted(A1), U2, A2, summary("S", 3)))) == "S U2 A2 D"
    pinned = replace(muted(U1), pinned=True)
    assert order(built(HISTORY, history=(pinned, A1, summary("S", 0)))) == "S D"


def test_the_request_obeys_everywhere():
    history = (U1, muted(Message("assistant", "dragon salt", "9")), U2, A2)
    preset = (HISTORY, said("X", insertion_point=-3), said("{{lastMessage}}", id="m"))
    book = (Lorebook("b", (entry("LORE", "dragon"),), scan_depth=9),)
    envelope = built(*preset, history=history, lorebooks=book)
    assert order(envelope) == "U1 X U2 A2 D D"
    assert order(built(*preset, history=(U1, A1, U2, A2), lorebooks=book)) == "U1 A1 X U2 A2 D D"
    dragon = replace(history[1], muted=NOT_MUTED)
    shown = built(*preset, history=(U1, dragon, U2, A2), lorebooks=book)
    assert "LORE" in order(shown)
    [left_out] = envelope.muted
    assert (left_out.origin.id, left_out.preview, left_out.tokens) == ("9", "dragon salt", 15)
    assert envelope.dropped == ()
    budget = envelope.budget
    assert budget is not None
    assert (budget.muted, budget.history, budget.dropped) == (15, 18, 0)


def test_a_muted_message_is_never_in_the_budget():
    history = (U1, muted(Message("user", "long " * 99, "9")), A1)
    envelope = built(HISTORY, history=history, context_limit=30, reply_reserve=0)
    assert (order(envelope), envelope.dropped) == ("U1 A1 D", ())


@each_row(
    ("history", "sentence"),
    [
        ((muted(U1), A1), "Muted and not sent: 1 message (about 6 tokens)."),
        ((muted(U1), muted(A1), U2), "Muted and not sent: 2 messages (about 12 tokens)."),
        (
            (
                calling("T", "x"),
                muted(result("x")),
                muted(replace(U1, parts=(PICTURE,)), parts=(0,)),
            ),
            "Muted and not sent: 1 message, 1 part (about ",
        ),
        (
            (
                muted(
                    Message(
                        "assistant", "A", semantics=MessageSemantics((thinking(Protocol.GEMINI),))
                    ),
                    reasoning=True,
                ),
            ),
            "Muted and not sent: the reasoning of 1 message.",
        ),
    ],
)
def test_a_note_counts_what_is_muted(history, sentence):
    [note] = [
        note for note in built(HISTORY, history=history).notes if note.code == "history-muted"
    ]
    assert note.sentence.startswith(sentence)
    assert note.origin is not None
    assert note.origin.kind is OriginKind.HISTORY


def test_what_is_answered_or_continued_is_sent():
    answered = built(HISTORY, history=(U1, A1, muted(U2)), draft="")
    assert order(answered) == "U1 A1 U2"
    assert codes(answered) == ["muted-message-sent"]
    assert order(built(HISTORY, history=(U1, A1, muted(U2)))) == "U1 A1 D"
    inputs = Inputs(ENDPOINT, Preset("p", (HISTORY,)), (muted(U1), muted(A1)))
    continued = build(as_continuation(inputs), lambda _: LETTERS)
    assert order(continued).startswith("A1")
    assert "muted-message-sent" in codes(continued)
    # Its parts are muted all the same.
    shown = muted(replace(U2, parts=(PICTURE,)), parts=(0,))
    assert built(HISTORY, history=(shown,), draft="").turns[0].parts == ()


def test_a_muted_round_of_calls_gives_the_question_back_the_place_of_the_draft():
    history = (U1, A1, U2, calling("", "x"), muted(result("x")))
    envelope = built(HISTORY, said("X", insertion_point=-1), history=history, draft="")
    assert order(envelope) == "U1 A1 X U2"
