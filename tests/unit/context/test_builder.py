"""The rules of the context builder, a sentence each."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.support.contexts import (
    A1,
    A2,
    ENDPOINT,
    HISTORY,
    LETTERS,
    ROLE,
    U1,
    U2,
    built,
    codes,
    order,
    said,
)
from tests.support.messages import make_message
from tests.support.tables import each_row
from tui_chat.context import Inputs, build_context
from tui_chat.context.generation import CONTINUE_NUDGE, as_continuation, continued_text
from tui_chat.models.blocks import CallBlock, MediaBlock
from tui_chat.models.endpoint import ModelFacts
from tui_chat.models.envelope import Level, Placement, ToolDefinition
from tui_chat.models.message import Message, with_content
from tui_chat.models.preset import Preset, PresetMessage
from tui_chat.models.role import Profile
from tui_chat.models.text import OriginKind
from tui_chat.tokens import NO_CORRECTION, TOOL_OVERHEAD, Counter

SYSTEM = said("S", role="system")


@each_row(
    ("sentence", "messages", "expected"),
    [
        ("a plain list has its system messages first", [said("X"), SYSTEM, HISTORY, said("Y")],
         "S X U1 A1 U2 A2 D Y"),
        ("without an anchor the history goes last", [said("X"), SYSTEM, said("Y")],
         "S X Y U1 A1 U2 A2 D"),
        ("a disabled message is not sent", [SYSTEM, said("X", enabled=False), HISTORY],
         "S U1 A1 U2 A2 D"),
        ("depth 0 is before the oldest", [HISTORY, said("X", insertion_point=0)],
         "X U1 A1 U2 A2 D"),
        ("depth n is after the n-th", [HISTORY, said("X", insertion_point=3)],
         "U1 A1 U2 X A2 D"),
        ("depth -1 is after the newest, before the draft",
         [HISTORY, said("X", insertion_point=-1)], "U1 A1 U2 A2 X D"),
        ("depth -2 is before the newest", [HISTORY, said("X", insertion_point=-2)],
         "U1 A1 U2 X A2 D"),
        ("a depth beyond the end is clamped to it",
         [HISTORY, said("X", insertion_point=9), said("Y", insertion_point=-9)],
         "Y U1 A1 U2 A2 X D"),
        ("depths refer to the history before anything is put in",
         [HISTORY, said("X", insertion_point=1), said("Y", insertion_point=2)],
         "U1 X A1 Y U2 A2 D"),
        ("at one depth, order decides, then the list",
         [HISTORY, said("X", insertion_point=-1, order=2), said("Y", insertion_point=4, order=1),
          said("Z", insertion_point=-1, order=2)], "U1 A1 U2 A2 Y X Z D"),
        ("before and after the history",
         [HISTORY, said("X", anchor_point="before"), said("Y", anchor_point="after")],
         "X U1 A1 U2 A2 D Y"),
        ("a target without a side means after",
         [PresetMessage("p", type="placeholder"), HISTORY, said("X", anchor_target="p")],
         "X U1 A1 U2 A2 D"),
        ("a placeholder gathers what is anchored to it",
         [said("A"), PresetMessage("p", type="placeholder"), said("B"), HISTORY,
          said("Y", anchor_target="p", anchor_point="after"),
          said("X", anchor_target="p", anchor_point="before")], "A X Y B U1 A1 U2 A2 D"),
        ("at one anchor, order decides, then the list",
         [HISTORY, said("X", anchor_point="before", order=5), said("Y", anchor_point="before"),
          said("Z", anchor_point="before")], "Y Z X U1 A1 U2 A2 D"),
        ("an unknown target leaves the message at its own place",
         [said("A"), said("X", anchor_target="nowhere"), HISTORY], "A X U1 A1 U2 A2 D"),
        ("a disabled target is an unknown one",
         [PresetMessage("p", type="placeholder", enabled=False), said("X", anchor_target="p"),
          said("B"), HISTORY], "X B U1 A1 U2 A2 D"),
        ("the first of two anchors counts",
         [PresetMessage("p", type="placeholder"), said("B"), PresetMessage("p", type="placeholder"),
          HISTORY, said("X", anchor_target="p")], "X B U1 A1 U2 A2 D"),
        ("a depth wins over an anchor",
         [HISTORY, said("X", insertion_point=0, anchor_point="after")], "X U1 A1 U2 A2 D"),
        ("a hoisted system message ignores its position",
         [HISTORY, said("X", role="system", insertion_point=-1)], "X U1 A1 U2 A2 D"),
        ("beside the missing history anchor is beside the history",
         [said("X", anchor_point="after"), said("A"), said("Y", anchor_point="before")],
         "A Y U1 A1 U2 A2 D X"),
        ("the history is a target by its own id, too",
         [said("X", anchor_target="history"), HISTORY,
          said("Y", anchor_target="history", anchor_point="before"),
          said("Z", anchor_target="__CHAT_HISTORY__", order=-1)], "Y U1 A1 U2 A2 D Z X"),
        ("so it is by the id of a second anchor for it",
         [HISTORY, PresetMessage("again", type="chat_history"), said("X", anchor_target="again")],
         "U1 A1 U2 A2 D X"),
        ("an id that another anchor has means that one",
         [PresetMessage("same", type="chat_history"), PresetMessage("same", type="placeholder"),
          said("Y"), said("X", anchor_target="same")], "U1 A1 U2 A2 D X Y"),
        ("a disabled anchor for the history has no name of its own",
         [said("X", anchor_target="off"), PresetMessage("off", type="chat_history", enabled=False),
          HISTORY], "X U1 A1 U2 A2 D"),
    ],
)  # fmt: skip
def test_placement(sentence: str, messages: list[PresetMessage], expected: str):
    assert order(built(*messages)) == expected, sentence


def test_in_place_keeps_system_messages_in_their_place():
    envelope = built(
        said("A"),
        said("X", role="system", insertion_point=-1),
        SYSTEM,
        HISTORY,
        placement="in_place",
    )
    assert order(envelope) == "A S U1 A1 U2 A2 X D"


def test_the_roles_prompt_precedes_the_presets_system_messages():
    envelope = built(SYSTEM, HISTORY, role=ROLE)
    assert order(envelope) == "ROLE S U1 A1 U2 A2 D"
    assert envelope.turns[0].origin.kind is OriginKind.SYSTEM


def test_a_history_that_begins_with_a_system_message_gets_no_second_prompt():
    envelope = built(HISTORY, role=ROLE, history=(Message.of("system", "OWN", "0"), U1))
    assert order(envelope) == "OWN U1 D"
    assert "role-prompt-skipped" in codes(envelope)


def test_a_disabled_role_adds_nothing_but_a_note():
    envelope = built(HISTORY, role=replace(ROLE, status="disabled"))
    assert order(envelope) == "U1 A1 U2 A2 D"
    assert envelope.parameters.values.model == "m"
    assert "role-disabled" in codes(envelope)


def test_the_roles_prompt_survives_every_truncation():
    envelope = built(SYSTEM, HISTORY, role=ROLE, context_limit=1, reply_reserve=0)
    assert order(envelope) == "ROLE S D"


def test_the_profile_is_placed_at_its_anchor():
    anchor = PresetMessage("who", type="user_profile", role="user")
    envelope = built(anchor, HISTORY, profile=Profile("Ada", "I am Ada."))
    assert order(envelope) == "I am Ada. U1 A1 U2 A2 D"
    assert envelope.turns[0].origin.kind is OriginKind.PROFILE
    assert order(built(anchor, HISTORY)) == "U1 A1 U2 A2 D"


def test_the_profile_is_sent_once():
    first, again = (PresetMessage(name, type="user_profile", role="user") for name in "pq")
    profile = Profile("Ada", "I am Ada.{{setvar::n::{{getvar::n}}x}}")
    beside = said("X{{getvar::n}}", anchor_target="q")
    envelope = built(first, again, beside, HISTORY, profile=profile)
    assert order(envelope) == "I am Ada. Xx U1 A1 U2 A2 D"
    [note] = [note for note in envelope.notes if note.code == "doubled-anchor"]
    assert note.origin is not None
    assert note.origin.id == "q"
    assert note.sentence == "“q” is another anchor for the profile, which is sent once: at “p”."
    off = replace(first, enabled=False)
    assert order(built(off, again, HISTORY, profile=profile)) == "I am Ada. U1 A1 U2 A2 D"


def test_the_newest_messages_that_fit_are_kept():
    # Letters plus 4 a turn: D 5 + 3 for the request; each of the history's messages 6.
    envelope = built(HISTORY, context_limit=8 + 13, reply_reserve=0)
    assert order(envelope) == "U2 A2 D"
    assert [d.preview for d in envelope.dropped] == ["U1", "A1"]
    assert [d.tokens for d in envelope.dropped] == [6, 6]
    assert "history-dropped" in codes(envelope)


def test_a_message_that_does_not_fit_ends_the_kept_history():
    big = Message.of("user", "x" * 50, "big")
    envelope = built(HISTORY, history=(U1, big, A2), context_limit=8 + 20, reply_reserve=0)
    assert order(envelope) == "A2 D"


def test_a_call_with_two_pinned_results_is_sent_once():
    call = make_message(
        "assistant",
        "",
        "c",
        tool_calls=(CallBlock("t", "look", "{}"), CallBlock("s", "look", "{}")),
    )
    one = make_message("tool", "R", "r", tool_call_id="t", pinned=True)
    two = make_message("tool", "S", "s", tool_call_id="s", pinned=True)
    history = (U1, call, one, two, U2, A2)
    envelope = built(HISTORY, history=history, context_limit=1, reply_reserve=0)
    assert [turn.origin.id for turn in envelope.turns] == ["c", "r", "s", "draft"]
    assert [dropped.origin.id for dropped in envelope.dropped] == ["1", "3", "4"]
    pinned_call = (U1, replace(call, pinned=True), one, two, A2)
    envelope = built(HISTORY, history=pinned_call, context_limit=1, reply_reserve=0)
    assert [turn.origin.id for turn in envelope.turns] == ["c", "r", "s", "draft"]


def test_a_system_message_that_begins_the_history_is_never_dropped():
    first, later = (Message.of("system", content, content) for content in ("OWN", "LATER"))
    envelope = built(
        HISTORY, history=(first, U1, later, A1), role=ROLE, context_limit=1, reply_reserve=0
    )
    assert order(envelope) == "OWN D"
    assert [dropped.preview for dropped in envelope.dropped] == ["U1", "LATER", "A1"]


def test_dropped_messages_are_counted():
    kept = built(HISTORY, context_limit=8 + 24, reply_reserve=0)
    assert kept.budget is not None
    assert (kept.budget.history, kept.budget.dropped) == (24, 0)
    for limit, dropped in ((8 + 23, 6), (8 + 13, 12), (8, 24)):
        envelope = built(HISTORY, context_limit=limit, reply_reserve=0)
        assert envelope.budget is not None
        assert envelope.budget.dropped == sum(each.tokens for each in envelope.dropped) == dropped
        assert envelope.budget.history == 24 - dropped
        [note] = [note for note in envelope.notes if note.code == "history-dropped"]
        assert f"({dropped} tokens)" in note.sentence
    pinned = (U1, replace(A1, pinned=True), U2, A2)
    envelope = built(HISTORY, history=pinned, context_limit=8, reply_reserve=0)
    assert envelope.budget is not None
    assert (envelope.budget.history, envelope.budget.dropped) == (6, 18)


def test_tools_are_passed_on_and_counted():
    tool = ToolDefinition("look", "Looks.", {})
    with_tools, without = (built(HISTORY, tools=tools) for tools in ((tool,), None))
    assert with_tools.tools == (tool,)
    assert with_tools.budget is not None
    assert without.budget is not None
    assert with_tools.budget.fixed == without.budget.fixed + len("lookLooks.{}") + TOOL_OVERHEAD
    assert "estimated" in with_tools.budget.how


def test_an_estimate_is_corrected_by_reported_usage():
    rough = Counter("letters", False, len)
    history = (Message.of("assistant", "x" * 96, "1"),)
    plain, corrected = (
        build_context(
            Inputs(ENDPOINT, Preset("p", (HISTORY,)), history, correction=correction),
            lambda _: rough,
        ).budget
        for correction in (NO_CORRECTION, NO_CORRECTION.after(100, 150))
    )
    assert plain is not None
    assert corrected is not None
    assert (plain.history, corrected.history) == (100, 150)
    assert (corrected.ratio, corrected.exact) == (1.5, False)
    assert corrected.uncorrected == pytest.approx(plain.total, abs=2)
    assert "1.50" in corrected.how


def test_an_empty_message_is_sent_with_a_note():
    silent = (Message.of("user", "", "1"), make_message("tool", "", "2", tool_call_id="c"), A1)
    envelope = built(HISTORY, history=silent)
    assert [turn.origin.id for turn in envelope.turns][:3] == ["1", "2", A1.id]
    assert codes(envelope) == ["empty-message"]
    assert "Message 1 " in envelope.notes[0].sentence
    dropped = built(HISTORY, history=silent, context_limit=16, reply_reserve=0)
    assert codes(dropped) == ["history-dropped"]


def test_depths_refer_to_the_truncated_history():
    envelope = built(
        HISTORY, said("X", insertion_point=1), context_limit=8 + 5 + 13, reply_reserve=0
    )
    assert order(envelope) == "U2 X A2 D"


MESSAGES = tuple(
    Message.of("assistant" if number % 2 else "user", f"m{number}", f"{number}")
    for number in range(7)
)
X = Message.of("user", "X", "x")
NOTE = said("AN", role="system", insertion_point=-4)


def test_depth_counts_from_the_answered_message_typed_or_stored():
    typed = built(HISTORY, NOTE, placement="in_place", history=MESSAGES, draft="X")
    stored = built(HISTORY, NOTE, placement="in_place", history=(*MESSAGES, X), draft="")
    assert order(typed) == order(stored) == "m0 m1 m2 m3 AN m4 m5 m6 X"
    assert stored.turns[-1].origin.kind is OriginKind.HISTORY
    assert stored.turns[-1].origin.id == "x"
    assert [span.origin for span in stored.turns[-1].text.spans] == [stored.turns[-1].origin]
    rule = "It is the message to be answered, which ends the history."
    assert stored.turns[-1].placement == Placement("draft", rule=rule)
    assert typed.turns[-1].origin.kind is OriginKind.DRAFT


CALL = make_message("assistant", "", "c", tool_calls=(CallBlock("t", "look", "{}"),))
RESULT = make_message("tool", "R", "r", tool_call_id="t")


@each_row(
    ("history", "draft", "expected"),
    [
        ((U1, A1, U2), "", "U1 AN A1 U2"),
        ((U1, A1, U2), "D", "U1 A1 AN U2 D"),
        ((U1, A1), "", "U1 AN A1"),
        ((U1, CALL, RESULT), "", "U1  AN R"),
        ((U1, Message.of("system", "S", "s")), "", "U1 AN S"),
        ((U1,), "", "AN U1"),
        ((), "", "AN"),
        ((), "D", "AN D"),
        ((Message.of("user", "", "blank"),), "", "AN "),
    ],
)
def test_the_position_of_depth_minus_two(history: tuple[Message, ...], draft: str, expected: str):
    line = said("AN", insertion_point=-2)
    assert order(built(HISTORY, line, history=history, draft=draft)) == expected


def test_the_message_to_be_answered_is_never_dropped():
    typed = built(HISTORY, history=(U1, A1), draft="U2", context_limit=1, reply_reserve=0)
    stored = built(HISTORY, history=(U1, A1, U2), draft="", context_limit=1, reply_reserve=0)
    assert order(typed) == order(stored) == "U2"
    assert stored.budget == typed.budget
    assert stored.notes == typed.notes
    assert codes(stored) == ["over-budget", "history-dropped"]


def test_an_empty_answered_message_gets_a_note():
    blank = Message.of("user", "", "blank")
    [note] = built(HISTORY, history=(U1, A1, blank), draft="").notes
    assert note.code == "empty-message"
    assert note.sentence.startswith("Message 3 of the history is empty")
    assert note.origin is not None
    assert note.origin.id == "blank"


def test_a_draft_of_attachments_is_the_newest_message():
    picture = MediaBlock("image", mime="image/png", data="iVBORw0KGgo=")
    lines = HISTORY, said("[{{lastMessage}}|{{lastCharMessage}}]")
    stored = make_message("user", "", "x", parts=(picture,))
    typed = built(*lines, history=(U1, A1), draft="", draft_parts=(picture,))
    again = built(*lines, history=(U1, A1, stored), draft="")
    assert order(typed) == order(again) == "U1 A1  [|A1]"
    assert order(built(*lines, history=(U1, A1), draft="")) == "U1 A1 [A1|A1]"


def deep(**depths: tuple[int, int]) -> list[PresetMessage]:
    """Messages by their text, each with its insertion point and its order."""
    return [said(text, insertion_point=at, order=order) for text, (at, order) in depths.items()]


@each_row(
    ("depths", "history", "expected"),
    [
        ({"two": (-2, 50), "one": (-1, 100), "four": (-4, 200)}, (), "four two one D"),
        ({"two": (-2, 50), "one": (-1, 100), "four": (-4, 200)}, (U1,), "four two U1 one D"),
        ({"b": (9, 0), "a": (5, 7), "end": (-1, 8)}, (U1,), "U1 end a b D"),
        ({"far": (-9, 5), "first": (0, 0), "near": (-3, 1)}, (U1,), "far near first U1 D"),
        ({"x": (-5, 2), "y": (-5, 1), "z": (-5, 2)}, (U1,), "y x z U1 D"),
        ({"up": (-9, 0), "down": (9, 0), "one": (1, -1)}, (), "up one down D"),
    ],
)
def test_clamped_messages_keep_the_order_of_their_depths(
    depths: dict[str, tuple[int, int]], history: tuple[Message, ...], expected: str
):
    assert order(built(HISTORY, *deep(**depths), history=history)) == expected


def test_over_budget_is_an_error_and_fixed_turns_remain():
    envelope = built(SYSTEM, HISTORY, context_limit=5, reply_reserve=0)
    assert order(envelope) == "S D"
    over = next(note for note in envelope.notes if note.code == "over-budget")
    assert over.level is Level.ERROR


def test_the_known_context_limit_reserves_a_share_for_the_reply():
    endpoint = replace(ENDPOINT, facts=(("m", ModelFacts(context_limit=1000)),))
    envelope = build_context(Inputs(endpoint, Preset("p", (HISTORY,))), lambda _: LETTERS)
    assert envelope.budget is not None
    assert (envelope.budget.limit, envelope.budget.reserve) == (1000, 250)


@each_row(
    ("depth", "words", "end"), [(7, "a place after message 7", "newest"), (-9, "depth 9", "oldest")]
)
def test_a_depth_beyond_an_end_says_which(depth: int, words: str, end: str):
    notes = built(HISTORY, said("X", insertion_point=depth)).notes
    (sentence,) = [note.sentence for note in notes if note.code == "depth-clamped"]
    assert f"asks for {words}, but" in sentence
    assert sentence.endswith(f"it goes to the {end} end.")


@each_row("sides", [(), ("before",), ("after",), ("before", "after")])
def test_an_empty_placeholder_gets_a_note(sides: tuple[str, ...]):
    beside = [said(side, anchor_target="p", anchor_point=side) for side in sides]
    envelope = built(HISTORY, PresetMessage("p", type="placeholder", name="Lore"), *beside)
    notes = [note for note in envelope.notes if note.code == "idle-anchor"]
    assert [note.sentence for note in notes] == (
        [] if sides else ["No message is anchored to “Lore”."]
    )
    assert all(note.origin is not None and note.origin.id == "p" for note in notes)


def test_a_message_listed_twice_is_sent_twice() -> None:
    assert order(built(*[said("X")] * 2)) == "X X U1 A1 U2 A2 D"


@each_row("facts", [None, True, False])
def test_continue_ends_with_the_reply_and_a_nudge_unless_the_model_takes_a_prefill(
    facts: bool | None,
):
    endpoint = replace(ENDPOINT, facts=(("*", ModelFacts(prefill=facts)),))
    preset = Preset("p", (HISTORY, said("D!", insertion_point=-1), said("AFTER")))
    inputs = as_continuation(Inputs(endpoint, preset, (U1, A1, U2, A2)))
    envelope = build_context(inputs, lambda _: LETTERS)
    nudge = "" if facts else f" {CONTINUE_NUDGE}"
    assert order(envelope) == f"U1 A1 U2 D! AFTER A2{nudge}"
    assert envelope.turns[-1].role == ("user" if nudge else "assistant")
    assert continued_text(inputs) == ("A2 " if nudge else "A2")
    assert envelope.budget is not None
    assert sum(envelope.tokens) <= envelope.budget.total


def test_continue_keeps_its_end_within_the_budget():
    inputs = Inputs(ENDPOINT, Preset("p", (HISTORY,)), (U1, A1, U2, A2), context_limit=400)
    envelope = build_context(as_continuation(inputs), lambda _: LETTERS)
    roles = [turn.role for turn in envelope.turns]
    assert roles[-2:] == ["assistant", "user"]
    assert envelope.budget is not None
    assert envelope.budget.total <= 400
    assert not build_context(replace(as_continuation(inputs), history=()), lambda _: LETTERS).turns


@each_row(
    ("change", "built_again"),
    [
        ({"seed": 7}, ["D"]),
        ({"draft": "Dr"}, ["Dr"]),
        ({"history": (U1, with_content(A1, "Edited"), U2, A2)}, ["Edited", "D"]),
        ({"preset": Preset("p", (SYSTEM, HISTORY, said("other")))}, ["D", "other"]),
    ],
)
def test_only_the_draft_and_what_changes_is_built_again(
    change: dict[str, Any], built_again: list[str]
) -> None:
    """All others are the same objects, which is how their tokens, bytes and rows stay known."""
    preset = Preset("p", (SYSTEM, HISTORY, said("{{user}}")))
    inputs = Inputs(ENDPOINT, preset, (U1, A1, U2, A2), "D", role=ROLE)
    before, after = (
        build_context(each, lambda _: LETTERS).turns for each in (inputs, replace(inputs, **change))
    )
    known = {id(turn) for turn in before}
    assert [turn.text.plain for turn in after if id(turn) not in known] == built_again
