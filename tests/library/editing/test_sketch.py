from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from tests.context.requests import built
from tests.strategies import presets
from tui_chat.context.scan import scan
from tui_chat.library.editing import Row, put, sketch, slots
from tui_chat.models.envelope import Level, Note
from tui_chat.models.message import Message
from tui_chat.models.preset import CHAT_HISTORY, Preset, PresetMessage
from tui_chat.models.text import Origin, OriginKind

HISTORY = PresetMessage("history", role="user", type="chat_history")
WORLD = PresetMessage("world", role="user", type="placeholder")


def said(name: str, **where: object) -> PresetMessage:
    return PresetMessage(name, role="user", content=name, **where)  # type: ignore[arg-type]


def seen(preset: Preset) -> list[str]:
    """The sketch as a person sees it."""
    return ["  " * row.indent + _called(row) for row in sketch(preset).rows]


def _called(row: Row) -> str:
    name = f"<{row.ghost}>" if row.message is None else row.message.id
    return name + (" (off)" if row.off else "")


def test_it_looks_like_the_context_it_makes() -> None:
    preset = Preset(
        "p",
        (
            HISTORY,
            said("after", anchor_point="after"),
            said("deep", insertion_point=-4),
            said("lore", anchor_target="world", anchor_point="before"),
            PresetMessage("rules", content="Be brief."),
            WORLD,
            said("last", insertion_point=-1),
            said("first", insertion_point=0),
            said("end"),
        ),
    )
    assert seen(preset) == [
        "<role>",
        "rules",
        "history",
        "  first",
        "  <oldest>",
        "  <between>",
        "  deep",
        "  <message>",
        "  <between>",
        "  <newest>",
        "  last",
        "  <draft>",
        "  after",
        "  lore",
        "world",
        "end",
    ]


def test_what_is_disabled_stands_where_it_would_stand() -> None:
    preset = Preset(
        "p",
        (replace(WORLD, enabled=False), HISTORY, said("deep", insertion_point=0, enabled=False)),
    )
    assert seen(preset)[:4] == ["<role>", "world (off)", "history", "  deep (off)"]


def test_what_is_empty_stands_where_it_will_stand() -> None:
    empty = replace(said("new", insertion_point=-1), content="")
    assert seen(Preset("p", (empty, HISTORY)))[-2:] == ["  new", "  <draft>"]


def test_a_preset_without_a_place_for_the_history_shows_where_it_goes() -> None:
    assert seen(Preset("p", (said("one"),)))[:3] == ["<role>", "one", "<history>"]


def test_notes_stand_on_the_rows_they_concern() -> None:
    drawn = sketch(Preset("p", (said("a", anchor_target="nowhere"), HISTORY)))
    (row,) = [row for row in drawn.rows if row.notes]
    assert row.message is not None
    assert (row.message.id, row.notes[0].code) == ("a", "unknown-anchor")


def test_what_is_no_messages_stands_where_it_belongs() -> None:
    over = Note(Level.ERROR, "over-budget", "Too much.")
    less = Note(Level.WARNING, "history-dropped", "Some did not fit.")
    role = Note(Level.WARNING, "role-disabled", "Off.", Origin(OriginKind.SYSTEM, "r"))
    deep = Note(
        Level.INFO,
        "unknown-macro",
        "?",
        Origin(OriginKind.MACRO, within=Origin(OriginKind.PRESET, "a")),
    )
    ours = Note(Level.INFO, "x", "Elsewhere.", Origin(OriginKind.SETTING))
    preset = Preset("p", (said("a"), HISTORY))
    drawn = sketch(preset, (over, less, role, deep, ours))
    there = [(row.ghost or row.index, row.notes) for row in drawn.rows if row.notes]
    assert there == [("role", (over, role)), (0, (deep,)), (1, (less,))]
    assert drawn.notes == (ours,)
    (ghost,) = [row.ghost for row in sketch(Preset("p", (said("a"),))).rows if row.notes]
    assert ghost == "history"


@given(presets(), st.integers(2, 7))
def test_a_history_is_drawn_as_it_is_sent(preset: Preset, length: int) -> None:
    """Also one that is shorter than the depths want it."""
    preset = replace(preset, messages=tuple(replace(m, enabled=True) for m in preset.messages))
    history = tuple(Message("user", str(n), id=f"m{n}") for n in range(length))
    envelope = built(*preset.messages, placement=preset.system_placement, history=history)
    rows = sketch(preset, envelope.notes, length).rows
    shown = [name for row in rows if (name := _sent_as(row, length))]
    sent = [turn.origin.id for turn in envelope.turns if turn.origin.id in shown]
    assert [name for name in shown if name in sent] == sent
    elided = sum(row.skipped for row in rows)
    known = any(row.ghost == "between" and not row.skipped for row in rows)
    assert known or elided + sum(name.startswith("m") for name in shown) == length


def _sent_as(row: Row, length: int) -> str:
    """The id of what a row stands for."""
    if row.message is not None:
        return "" if row.message.is_anchor else row.message.id
    depth = row.depth or 0
    return f"m{depth - 1 if depth > 0 else length + depth + 1}" if depth else ""


@given(presets())
def test_every_message_has_one_row(preset: Preset) -> None:
    rows = [row for row in sketch(preset).rows if row.message is not None]
    assert sorted(row.index for row in rows) == list(range(len(preset.messages)))
    for row in rows:
        assert row.message is preset.messages[row.index]
        assert sketch(preset).rows[sketch(preset).row_of(row.index)] == row


@given(presets())
def test_what_is_sent_stands_in_the_order_in_which_it_is_sent(preset: Preset) -> None:
    shown = [
        row.message
        for row in sketch(preset).rows
        if row.message
        and row.message.content
        and not row.off
        and row.standing not in ("unplaced", "anchor")
    ]
    groups = scan(preset)
    sent = [line.message for line in groups.system]
    for line in groups.skeleton:
        if not line.message.is_anchor:
            sent.append(line.message)
            continue
        beside = groups.beside[line.message.anchor_id]
        sent += [one.message for one in beside.before]
        if line.message.type == "chat_history":
            deep = [one.message for one in groups.deep]
            sent += sorted((m for m in deep if (m.insertion_point or 0) >= 0), key=_depth)
            sent += sorted((m for m in deep if (m.insertion_point or 0) < 0), key=_depth)
        sent += [one.message for one in beside.after]
    # Where nothing is disabled the two are the same; a disabled anchor moves those beside it.
    if all(message.enabled for message in preset.messages):
        assert [id(m) for m in shown] == [id(m) for m in sent]


def _depth(message: PresetMessage) -> int:
    return message.insertion_point or 0


@given(presets(), st.data())
def test_what_is_put_into_a_slot_stands_there(preset: Preset, data: st.DataObject) -> None:
    if not preset.messages:
        return
    index = data.draw(st.integers(0, len(preset.messages) - 1))
    message = preset.messages[index]
    free = slots(sketch(preset), message)
    if not free:
        return
    slot = data.draw(st.sampled_from(free))
    neighbour = None if slot.neighbour in (None, index) else preset.messages[slot.neighbour]
    after = put(preset, index, slot)
    assert sorted(m.id for m in after.messages) == sorted(m.id for m in preset.messages)
    rows = sketch(after).rows
    at = next(
        n
        for n, row in enumerate(rows)
        if row.message is not None
        and row.message.id == message.id
        and row.message.content == message.content
    )
    row = rows[at]
    if row.standing == "unplaced" or message.is_anchor:
        return
    expected = {"list": "skeleton"}.get(slot.kind, slot.kind)
    assert (row.standing, row.depth) == (expected, slot.depth)
    if slot.kind in ("before", "after"):
        assert row.anchor == slot.anchor
    if neighbour is not None and not neighbour.is_anchor:
        beside = rows[at - 1] if slot.side == "after" else rows[at + 1]
        assert beside.message is neighbour


def test_an_authors_note_goes_from_depth_four_to_depth_one() -> None:
    preset = Preset("p", (HISTORY, said("note", insertion_point=-4)))
    drawn = sketch(preset)
    (slot,) = [s for s in slots(drawn, preset.messages[1]) if s.depth == -2]
    assert slot.words == "at depth -2"
    assert put(preset, 1, slot).messages[1].insertion_point == -2


def test_an_anchor_stands_in_the_list_only() -> None:
    preset = Preset("p", (said("a"), HISTORY, WORLD))
    assert {slot.kind for slot in slots(sketch(preset), WORLD)} == {"list"}


def test_the_history_is_a_target_by_its_own_name() -> None:
    preset = Preset("p", (said("a"), HISTORY))
    (slot,) = [s for s in slots(sketch(preset), preset.messages[0]) if s.kind == "before"]
    put_there = put(preset, 0, slot).messages[0]
    assert (put_there.anchor_point, put_there.anchor_target) == ("before", CHAT_HISTORY)
