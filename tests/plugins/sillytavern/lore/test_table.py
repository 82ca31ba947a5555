"""The table of lore entries over the turns of a conversation."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support.contexts import ENDPOINT
from tests.support.tables import each_row
from tui_chat.context import Inputs
from tui_chat.models.lorebook import EntryState, Lorebook, LorebookEntry
from tui_chat.models.message import Message
from tui_chat.models.preset import Preset
from tui_chat.plugins.sillytavern.lore.table import LoreTable

BOOK = Lorebook(
    "b",
    (
        LorebookEntry("fox", "F", ("fox",), "fox"),
        LorebookEntry("late", "L", ("fox",), "late", delay=4),
        LorebookEntry("off", "O", ("fox",), "off", enabled=False),
        LorebookEntry("sticky", "S", ("owl",), "sticky", sticky=4),
    ),
    scan_depth=1,
)
TEXTS = ("a fox", "yes", "an owl", "no", "x", "y")
MARKS = {EntryState.ABSENT: ".", EntryState.ACTIVE: "A", EntryState.HELD_BACK: "h"}


def messages(*texts: str) -> tuple[Message, ...]:
    roles = ("user", "assistant")
    return tuple(Message(roles[n % 2], text, str(n)) for n, text in enumerate(texts))


def inputs(*texts: str, draft: str = "", books: tuple[Lorebook, ...] = (BOOK,)) -> Inputs:
    return Inputs(ENDPOINT, Preset("p"), messages(*texts), draft, lorebooks=books)


def marks(table: LoreTable) -> list[str]:
    """Each column as a word."""
    columns = [table.compute(turn) for turn in range(table.turns)]
    return ["".join(MARKS.get(EntryState(state), "-") for state in states) for states in columns]


def test_each_turn_says_what_became_of_each_entry():
    table = LoreTable(inputs(*TEXTS, draft="a fox"))
    assert marks(table) == ["Ah-.", "..-A", "..-A", "AA-."]
    assert table.outcome(0, 1).sentence == (
        "“fox” occurs in message “a fox”, but a condition, its group or a budget holds it back."
    )
    assert table.outcome(0, 1).message_id == "0"
    assert table.outcome(2, 3).sentence == (
        "This lore entry stays active until there are 7 messages."
    )
    assert list(table.with_state(3, EntryState.ACTIVE)) == [0, 1]


def test_a_column_knows_its_messages():
    table = LoreTable(inputs(*TEXTS, draft="a fox"))
    first, last = table.column(0), table.column(3)
    assert (first.number, first.question, first.reply) == (1, *messages(*TEXTS)[:2])
    assert (last.number, last.question, last.reply) == (4, None, None)
    stored = LoreTable(inputs(*TEXTS, "the end")).column(3).question
    assert stored is not None
    assert stored.content == "the end"
    assert LoreTable(inputs()).column(0).question is None


def test_the_nearest_turn_with_a_change():
    table = LoreTable(inputs(*TEXTS, draft="a fox"))
    assert table.change(3, 0, -1) is None, "nothing is computed there"
    while table.compute_next():
        pass
    assert table.missing == 0
    assert [table.change(turn, 0, -1) for turn in range(4)] == [None, 0, 0, 2]
    assert table.change(1, 0, 1) == 3
    assert table.change(3, 2, -1) is None


def test_the_newest_turns_are_computed_first():
    table = LoreTable(inputs(*TEXTS, draft="a fox"))
    assert table.compute_next()
    assert [table.states(turn) is not None for turn in range(4)] == [False, False, False, True]
    assert table.missing == 3


@each_row(
    ("texts", "known"),
    [
        (TEXTS, 3),
        ((*TEXTS, "more", "said"), 3),
        (("a fox", "yes", "other", "branch"), 1),
        (("other",), 0),
    ],
)
def test_the_next_table_takes_over_the_turns_they_share(
    monkeypatch: pytest.MonkeyPatch, texts: tuple[str, ...], known: int
):
    before = LoreTable(inputs(*TEXTS, draft="a"))
    while before.compute_next():
        pass
    table = LoreTable(inputs(*texts, draft="ab"), before)
    assert table.turns - table.missing == known
    assert marks(table) == marks(LoreTable(inputs(*texts, draft="ab")))


def test_another_book_makes_everything_new():
    before = LoreTable(inputs(*TEXTS))
    marks(before)
    other = replace(BOOK, entries=BOOK.entries[:1])
    table = LoreTable(inputs(*TEXTS, books=(other,)), before)
    assert table.missing == table.turns
    assert marks(table)[0] == "A"
