from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from tests.support.contexts import built
from tests.support.strategies import presets
from tui_chat.library.editing.outline import OutlineRow, outline_preset
from tui_chat.models.envelope import Level, Note
from tui_chat.models.message import Message
from tui_chat.models.preset import Preset, PresetMessage
from tui_chat.models.text import Origin, OriginKind

HISTORY = PresetMessage("history", role="user", type="chat_history")
WORLD = PresetMessage("world", role="user", type="placeholder")


def user_message(name: str, **where: object) -> PresetMessage:
    return PresetMessage(name, role="user", content=name, **where)  # type: ignore[arg-type]


def row_names(preset: Preset) -> list[str]:
    """The indented names of the rows."""
    return ["  " * row.indent + _row_name(row) for row in outline_preset(preset).rows]


def _row_name(row: OutlineRow) -> str:
    name = f"<{row.ghost}>" if row.message is None else row.message.id
    return name + (" (off)" if row.disabled else "")


def test_rows_are_in_the_order_of_the_context() -> None:
    preset = Preset(
        "p",
        (
            HISTORY,
            user_message("after", anchor_point="after"),
            user_message("deep", insertion_point=-4),
            user_message("lore", anchor_target="world", anchor_point="before"),
            PresetMessage("rules", content="Be brief."),
            WORLD,
            user_message("last", insertion_point=-1),
            user_message("first", insertion_point=0),
            user_message("end"),
        ),
    )
    assert row_names(preset) == [
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


def test_a_disabled_message_keeps_its_place() -> None:
    preset = Preset(
        "p",
        (
            replace(WORLD, enabled=False),
            HISTORY,
            user_message("deep", insertion_point=0, enabled=False),
        ),
    )
    assert row_names(preset)[:4] == ["<role>", "world (off)", "history", "  deep (off)"]


def test_an_empty_message_has_the_place_of_a_filled_one() -> None:
    empty = replace(user_message("new", insertion_point=-1), content="")
    assert row_names(Preset("p", (empty, HISTORY)))[-2:] == ["  new", "  <draft>"]


def test_without_a_history_anchor_a_ghost_shows_the_history() -> None:
    assert row_names(Preset("p", (user_message("one"),)))[:3] == ["<role>", "one", "<history>"]


def test_a_note_is_on_the_row_of_its_message() -> None:
    outline = outline_preset(Preset("p", (user_message("a", anchor_target="nowhere"), HISTORY)))
    (row,) = [row for row in outline.rows if row.notes]
    assert row.message is not None
    assert (row.message.id, row.notes[0].code) == ("a", "unknown-anchor")


def test_notes_about_no_message_are_on_their_ghost_rows() -> None:
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
    preset = Preset("p", (user_message("a"), HISTORY))
    outline = outline_preset(preset, (over, less, role, deep, ours))
    there = [(row.ghost or row.index, row.notes) for row in outline.rows if row.notes]
    assert there == [("role", (over, role)), (0, (deep,)), (1, (less,))]
    assert outline.notes == (ours,)
    (ghost,) = [
        row.ghost for row in outline_preset(Preset("p", (user_message("a"),))).rows if row.notes
    ]
    assert ghost == "history"


@given(presets(), st.integers(2, 7))
def test_a_known_history_length_gives_the_order_that_is_sent(preset: Preset, length: int) -> None:
    """Also if the history is shorter than the depths."""
    preset = replace(preset, messages=tuple(replace(m, enabled=True) for m in preset.messages))
    history = tuple(Message.of("user", str(n), id=f"m{n}") for n in range(length))
    envelope = built(*preset.messages, placement=preset.system_placement, history=history)
    rows = outline_preset(preset, envelope.notes, length).rows
    shown = [name for row in rows if (name := _sent_as(row, length))]
    sent = [turn.origin.id for turn in envelope.turns if turn.origin.id in shown]
    assert [name for name in shown if name in sent] == sent
    elided = sum(row.skipped for row in rows)
    known = any(row.ghost == "between" and not row.skipped for row in rows)
    assert known or elided + sum(name.startswith("m") for name in shown) == length


def _sent_as(row: OutlineRow, length: int) -> str:
    """The id of the message that a row stands for."""
    if row.message is not None:
        return "" if row.message.is_anchor else row.message.id
    depth = row.depth or 0
    return f"m{depth - 1 if depth > 0 else length + depth + 1}" if depth else ""


@given(presets())
def test_every_message_has_one_row(preset: Preset) -> None:
    rows = [row for row in outline_preset(preset).rows if row.message is not None]
    assert sorted(row.index for row in rows) == list(range(len(preset.messages)))
    for row in rows:
        assert row.message is preset.messages[row.index]
        assert outline_preset(preset).rows[outline_preset(preset).row_of(row.index)] == row
