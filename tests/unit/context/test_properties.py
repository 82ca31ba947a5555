"""What holds for every preset, history and draft."""

from __future__ import annotations

from dataclasses import replace
from itertools import zip_longest

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.contexts import A1, ENDPOINT, HISTORY, LETTERS, ROLE, U1, U2, built
from tests.support.messages import make_message
from tests.support.strategies import histories, presets, words
from tui_chat.compose import compose
from tui_chat.context import Inputs, build_context
from tui_chat.models.blocks import CallBlock
from tui_chat.models.endpoint import Protocol
from tui_chat.models.envelope import Note
from tui_chat.models.message import Message, with_content
from tui_chat.models.preset import Preset
from tui_chat.models.text import OriginKind
from tui_chat.tokens import Counter


@pytest.mark.slow
@given(presets(), histories(), words, st.one_of(st.none(), st.integers(1, 200)))
def test_no_enabled_message_is_lost(
    preset: Preset, history: tuple[Message, ...], draft: str, limit: int | None
):
    """It is in the turns, or among the dropped, or a note says why it is not."""
    inputs = Inputs(ENDPOINT, preset, history, draft, context_limit=limit, reply_reserve=0)
    envelope = build_context(inputs, lambda _: LETTERS)
    sent = [turn.text.plain for turn in envelope.turns]
    noted = {(note.origin.id, note.code) for note in envelope.notes if note.origin is not None}
    for message in preset.messages:
        if message.enabled and message.type == "message":
            assert sent.count(message.content) == bool(message.content)
            assert bool(message.content) is not ((message.id, "empty-content") in noted)
    kept = [turn.origin.id for turn in envelope.turns if turn.origin.kind is OriginKind.HISTORY]
    gone = [dropped.origin.id for dropped in envelope.dropped]
    assert sorted(kept + gone) == sorted(message.id for message in history)
    assert [m.id for m in history if m.id in kept] == kept
    drafts = [turn for turn in envelope.turns if turn.origin.kind is OriginKind.DRAFT]
    assert [turn.text.plain for turn in drafts] == ([draft] if draft else [])


@pytest.mark.slow
@given(presets(), histories(), words, st.integers(1, 200), st.integers(0, 50))
def test_the_kept_history_is_within_the_budget_and_the_rest_is_listed(
    preset: Preset, history: tuple[Message, ...], draft: str, limit: int, reserve: int
):
    inputs = Inputs(ENDPOINT, preset, history, draft, context_limit=limit, reply_reserve=reserve)
    envelope = build_context(inputs, lambda _: LETTERS)
    budget = envelope.budget
    assert budget is not None
    assert sum(envelope.tokens) + 3 == budget.total
    kept = [turn for turn in envelope.turns if turn.origin.kind is OriginKind.HISTORY]
    gone = {dropped.origin.id for dropped in envelope.dropped}
    assert gone | {turn.origin.id for turn in kept} == {message.id for message in history}
    assert not gone & {turn.origin.id for turn in kept}
    assert not any(message.pinned and message.id in gone for message in history)
    free_choice = sum(
        LETTERS.turn(turn)
        for turn in kept
        if turn.placement.kind != "draft"  # the message to be answered is never dropped
        and not next(m for m in history if m.id == turn.origin.id).pinned
    )
    if free_choice:
        assert budget.total <= limit - reserve
    if envelope.dropped:  # the newest of them did not fit either
        assert budget.total + envelope.dropped[-1].tokens > limit - reserve


@pytest.mark.slow
@given(presets(), histories(), words)
def test_every_characters_origin_has_it(preset: Preset, history: tuple[Message, ...], draft: str):
    envelope = build_context(Inputs(ENDPOINT, preset, history, draft, role=ROLE), lambda _: LETTERS)
    by_kind = {
        OriginKind.HISTORY: {message.id: message.content for message in history},
        OriginKind.DRAFT: {"draft": draft},
        OriginKind.SYSTEM: {ROLE.role_id: ROLE.system_prompt},
        OriginKind.PRESET: {m.id: m.content for m in preset.messages if m.type == "message"},
    }
    for turn in envelope.turns:
        for span in turn.text.spans:
            source = by_kind[span.origin.kind][span.origin.id]
            assert source[span.start : span.start + len(span.text)] == span.text


macros = st.sampled_from(
    [
        "",
        "{{random::a::b::c}}",
        "{{roll::3d6}}",
        "{{time}} {{char}}",
        "{{setvar::v::{{date}}}}{{v}}",
    ]
)


@pytest.mark.slow
@given(presets(), histories(), words, st.integers(0, 2**32), macros, st.sampled_from(Protocol))
def test_the_same_inputs_give_the_same_bytes(
    preset: Preset,
    history: tuple[Message, ...],
    draft: str,
    seed: int,
    macro: str,
    protocol: Protocol,
):
    """Equal inputs that share no object, so that nothing that is remembered answers for them."""

    def body() -> tuple[bytes, tuple[Note, ...]]:
        lines = (replace(m, content=m.content and m.content + macro) for m in preset.messages)
        inputs = Inputs(
            replace(ENDPOINT, protocol=protocol),
            replace(preset, messages=tuple(lines)),
            tuple(map(replace, history)),
            draft,
            seed=seed,
        )
        composed = compose(inputs, lambda _: Counter("letters", True, len))
        return composed.payload.body, composed.notes

    assert body() == body()


@given(presets(), histories(), st.integers(1, 300))
def test_groups_keep_their_order(preset: Preset, history: tuple[Message, ...], limit: int):
    envelope = build_context(
        Inputs(ENDPOINT, preset, history, context_limit=limit, reply_reserve=0), lambda _: LETTERS
    )
    kept = [turn.origin.id for turn in envelope.turns if turn.origin.kind is OriginKind.HISTORY]
    assert kept == [message.id for message in history if message.id in kept]
    place = {message.id: index for index, message in enumerate(preset.messages)}
    length = sum(turn.placement.kind == "history" for turn in envelope.turns)
    by_group: dict[tuple[str, str, int | None], list[tuple[int, int, int]]] = {}
    for turn in envelope.turns:
        if turn.origin.kind is OriginKind.PRESET:
            where = turn.placement
            index = place[turn.origin.id]
            sorts = where.kind in ("before", "after", "depth")
            asked = where.asked or 0
            wanted = asked if asked >= 0 else length + 1 + asked
            key = (wanted, preset.messages[index].order if sorts else 0, index)
            by_group.setdefault((where.kind, where.anchor, where.depth), []).append(key)
    assert all(keys == sorted(keys) for keys in by_group.values())


@given(presets(), histories(), words)
def test_a_preset_without_new_fields_is_a_plain_list_with_system_first(
    preset: Preset, history: tuple[Message, ...], draft: str
):
    plain = tuple(
        replace(message, insertion_point=None, anchor_point=None, anchor_target=None)
        for message in preset.messages
        if message.type == "message"
    )
    envelope = build_context(
        Inputs(ENDPOINT, Preset("plain", plain), history, draft), lambda _: LETTERS
    )
    sent = [message for message in plain if message.enabled and message.content]
    expected = [m.content for m in sent if m.role == "system"]
    expected += [m.content for m in sent if m.role != "system"]
    expected += [message.content for message in history if message.content]
    expected += [draft] if draft else []
    assert [turn.text.plain for turn in envelope.turns] == expected


def with_results(count: int) -> tuple[Message, ...]:
    call = make_message("assistant", "", "c", tool_calls=(CallBlock("t", "look", "{}"),))
    return (call, *(make_message("tool", "r" * n, "r", tool_call_id="t") for n in range(count)))


calls = st.integers(0, 3).map(with_results)
"""An assistant message with a call, and its results."""
turns = st.sampled_from([(U1,), (A1,), (replace(U2, pinned=True),)])


@given(st.lists(st.one_of(calls, turns), max_size=8), st.integers(0, 150))
def test_tool_calls_and_results_are_never_separated(runs: list[tuple[Message, ...]], limit: int):
    units = [
        tuple(replace(message, id=f"{number}.{index}") for index, message in enumerate(run))
        for number, run in enumerate(runs)
    ]
    history = tuple(message for unit in units for message in unit)
    envelope = built(HISTORY, history=history, context_limit=limit, reply_reserve=0)
    gone = {dropped.origin.id for dropped in envelope.dropped}
    for unit in units:
        assert len({message.id in gone for message in unit}) == 1


changes = st.lists(st.sampled_from(["keep", "keep", "edit", "drop", "add", "call"]), max_size=14)


@given(histories(), changes, st.integers(1, 200))
def test_what_is_remembered_of_a_history_does_not_answer_for_a_changed_one(
    known: tuple[Message, ...], changes: list[str], limit: int
):
    built(HISTORY, history=known, context_limit=limit, reply_reserve=0)
    changed: list[Message] = []
    for message, change in zip_longest(known, changes[: len(known)], fillvalue="keep"):
        assert isinstance(message, Message)
        match change:
            case "keep":
                changed.append(message)
            case "edit":
                changed.append(with_content(message, f"{message.content}, mended"))
            case "add":
                changed += (
                    Message.of("user", "one more", f"new {message.id}", pinned=True),
                    message,
                )
            case "call":
                changed += (*with_results(2), message)
            case _:
                pass
    remembered, fresh = (
        built(HISTORY, history=each, context_limit=limit, reply_reserve=0)
        for each in (tuple(changed), tuple(map(replace, changed)))
    )
    assert [(turn.role, turn.text.spans, turn.placement) for turn in remembered.turns] == [
        (turn.role, turn.text.spans, turn.placement) for turn in fresh.turns
    ]
    assert (remembered.tokens, remembered.budget) == (fresh.tokens, fresh.budget)
    assert (remembered.dropped, remembered.notes) == (fresh.dropped, fresh.notes)
