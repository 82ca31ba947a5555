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
from tests.support.messages import make_message, thought
from tests.support.tables import each_row
from tui_chat.context import Inputs, build
from tui_chat.context.generation import as_continuation
from tui_chat.context.muted_history import without_muted
from tui_chat.models.blocks import (
    Block,
    CallBlock,
    Extras,
    MediaBlock,
    OpaqueBlock,
    ReasoningBlock,
    TextBlock,
    form_of,
)
from tui_chat.models.endpoint import Protocol
from tui_chat.models.lorebook import Lorebook
from tui_chat.models.message import NOT_MUTED, Message, Muted, with_content
from tui_chat.models.preset import Preset
from tui_chat.models.text import OriginKind

ALL = Muted(whole=True)
PICTURE = MediaBlock("image", "image/png", "iVBORw0KGgo=", name="a.png")


def muted(message: Message, **what: Any) -> Message:
    return replace(message, muted=Muted(**what) if what else ALL)


def calling(text: str, *ids: str, **more: Any) -> Message:
    calls = tuple(CallBlock(each, "look", "{}") for each in ids)
    return make_message("assistant", text, f"a{ids}", tool_calls=calls, **more)


def result(identity: str, name: str = "look") -> Message:
    return make_message("tool", f"R{identity}", f"r{identity}", tool_call_id=identity, name=name)


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
                Message("assistant", (CallBlock("", "f", "{}"), CallBlock("", "g", "{}"))),
                muted(make_message("tool", "RG", "g", name="g")),
                make_message("tool", "RF", "f", name="f"),
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


def test_a_part_leaves_and_the_rest_keeps_its_order():
    other = replace(PICTURE, name="b.png", extras=Extras(Protocol.ANTHROPIC, "", {"x": 1}))
    message = replace(U1, blocks=(PICTURE, *U1.blocks, other))
    [left] = sent(muted(message, blocks=(0,)))
    assert (left.blocks, left.content, left.muted) == ((*U1.blocks, other), "U1", NOT_MUTED)
    assert sent(muted(replace(U1, blocks=(PICTURE, other)), blocks=(0, 1)), A1) == (A1,)
    assert sent(muted(message, blocks=(7,))) == (replace(message, muted=NOT_MUTED),)


def thinking(protocol: Protocol, *, kind: str = "") -> ReasoningBlock:
    return thought(protocol, "Hm.", "c2ln", "ZW5j" * (protocol == "openai_responses"),
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
    call = muted(calling("T", "x", reasoning=(thinking(protocol, kind=kind),)), blocks=(0,))
    history = (U1, call, result("x")) if is_open else (U1, call, result("x"), A1)
    what = without_muted(history, False, False)
    assert bool(what.history[1].reasoning) is stays
    assert (len(what.demanded), len(what.reduced)) == (int(stays), int(not stays))
    # Without the call nobody needs it.
    what = without_muted((U1, call, muted(result("x"))), False, False)
    assert not what.history[1].reasoning


def item_text(words: str, id: str, **more: str) -> TextBlock:
    """Text of the model in an item of Responses."""
    item = {"id": id, **more}
    return TextBlock(words, extras=Extras(Protocol.OPENAI_RESPONSES, "message", {"item": item}))


def item_call(id: str, item_id: str) -> CallBlock:
    extras = Extras(Protocol.OPENAI_RESPONSES, "", {"id": item_id} if item_id else {})
    return CallBlock(id, "look", "{}", extras=extras)


def of_blocks(*blocks: Block) -> Message:
    return Message("assistant", blocks, "a")


def test_responses_items_lose_their_ids_with_their_reasoning():
    reasoning = thinking(Protocol.OPENAI_RESPONSES)
    search = OpaqueBlock(Protocol.OPENAI_RESPONSES, "web_search_call", {"id": "ws_1"})
    one, two = item_call("x", "fc_1"), item_call("y", "fc_2")
    text = item_text("T", "msg_1", phase="commentary")
    whole = (reasoning, text, one, reasoning, search, two)
    message = of_blocks(*whole)

    def left(*history: Message) -> tuple[Block, ...]:
        return sent(*history)[0].blocks

    both = (result("x"), result("y"))
    in_part = TextBlock("T", extras=Extras(Protocol.OPENAI_RESPONSES, "string",
                                           {"item": {"phase": "commentary"}}))  # fmt: skip
    # The provider's own item has no form without its reasoning.
    muted_reasoning = muted(message, blocks=(0, 3))
    assert left(muted_reasoning, *both) == (in_part, item_call("x", ""), *whole[3:])
    assert left(muted(message, blocks=(0,)), *both) == (in_part, item_call("x", ""), *whole[3:])
    assert left(muted(message, blocks=(3,)), *both) == whole
    assert left(message, muted(result("x")), result("y")) == (*whole[:2], *whole[3:])
    assert left(message, result("x"), muted(result("y"))) == whole[:5]
    # Reasoning never without its next item.
    first = of_blocks(reasoning, *whole[2:])
    assert left(first, muted(result("x")), result("y")) == whole[3:]
    parallel = of_blocks(reasoning, one, two)
    assert left(parallel, muted(result("x")), result("y")) == (item_call("y", ""),)
    assert left(parallel, result("x"), muted(result("y"))) == (reasoning, one)
    # A message without more than its id is said as one that was not stored.
    plain = of_blocks(reasoning, item_text("T", "msg_1"))
    assert left(muted(plain, blocks=(0,))) == (TextBlock("T"),)


def test_anthropic_thinking_does_not_end_a_message():
    message = of_blocks(TextBlock("T"), thinking(Protocol.ANTHROPIC), CallBlock("x", "look", "{}"))
    left, *_ = sent(message, muted(result("x")))
    assert left.blocks == (TextBlock("T"),)
    assert sent(message, result("x"), muted(A1))[0] is message


def signed(id: str, signature: str = "") -> CallBlock:
    keys = {"thoughtSignature": signature} if signature else {}
    return CallBlock(id, "look", "{}", extras=Extras(Protocol.GEMINI, "", keys))


def test_geminis_signature_moves_to_the_next_call():
    message = of_blocks(signed("x", "c2ln"), signed("y"))
    left, *_ = sent(message, muted(result("x")), result("y"))
    assert left.blocks == (signed("y", "c2ln"),)
    left, *_ = sent(message, result("x"), muted(result("y")))
    assert left.blocks == (signed("x", "c2ln"),)


def test_the_signature_of_a_picture_goes_with_it():
    extras = Extras(Protocol.GEMINI, "", {"thoughtSignature": "c2ln"})
    message = of_blocks(replace(PICTURE, extras=extras), signed("x"))
    left, *_ = sent(muted(message, blocks=(0,)), result("x"))
    assert left.blocks == (signed("x"),)


def test_an_edited_message_keeps_the_ids_of_the_calls_that_stay():
    message = of_blocks(TextBlock("T"), item_call("x", "fc_1"), item_call("y", "fc_2"))
    edited = with_content(message, "edited")
    left, *_ = sent(edited, muted(result("x")), result("y"))
    assert left.blocks == (TextBlock("edited"), item_call("y", "fc_2"))


def test_a_captured_turn_begins_the_message_that_it_shared():
    alone, joined = (Extras(Protocol.ANTHROPIC, form) for form in ("", "joined"))
    results = [replace(result(each), extras=alone if each == "x" else joined) for each in "xyz"]
    left = sent(calling("T", *"xyz"), muted(results[0]), *results[1:])
    assert [form_of(m, Protocol.ANTHROPIC) for m in left[1:]] == ["", "joined"]
    left = sent(calling("T", *"xyz"), results[0], muted(results[1]), results[2])
    assert [form_of(m, Protocol.ANTHROPIC) for m in left[1:]] == ["", "joined"]


def test_a_summary_is_not_muted():
    both = muted(summary("S", 0))
    assert order(built(HISTORY, history=(U1, A1, both))) == "S D"
    # What it keeps is counted before anything is muted.
    assert order(built(HISTORY, history=(U1, muted(A1), U2, A2, summary("S", 3)))) == "S U2 A2 D"
    pinned = replace(muted(U1), pinned=True)
    assert order(built(HISTORY, history=(pinned, A1, summary("S", 0)))) == "S D"


def test_the_request_obeys_everywhere():
    history = (U1, muted(Message.of("assistant", "dragon salt", "9")), U2, A2)
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
    history = (U1, muted(Message.of("user", "long " * 99, "9")), A1)
    envelope = built(HISTORY, history=history, context_limit=30, reply_reserve=0)
    assert (order(envelope), envelope.dropped) == ("U1 A1 D", ())


@each_row(
    ("history", "sentence"),
    [
        ((muted(U1), A1), "Muted and not sent: 1 message."),
        ((muted(U1), muted(A1), U2), "Muted and not sent: 2 messages."),
        (
            (
                calling("T", "x"),
                muted(result("x")),
                muted(replace(U1, blocks=(*U1.blocks, PICTURE)), blocks=(1,)),
            ),
            "Muted and not sent: 1 message, 1 part.",
        ),
        (
            (
                muted(
                    make_message("assistant", "A", reasoning=(thinking(Protocol.GEMINI),)),
                    blocks=(0,),
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
    assert note.sentence == sentence
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
    shown = muted(replace(U2, blocks=(*U2.blocks, PICTURE)), blocks=(1,))
    assert built(HISTORY, history=(shown,), draft="").turns[0].parts == ()


def test_a_muted_round_of_calls_gives_the_question_back_the_place_of_the_draft():
    history = (U1, A1, U2, calling("", "x"), muted(result("x")))
    envelope = built(HISTORY, said("X", insertion_point=-1), history=history, draft="")
    assert order(envelope) == "U1 A1 X U2"
