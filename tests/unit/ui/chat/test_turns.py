"""The turns of a long conversation and what they took."""

from __future__ import annotations

from typing import Any

from tests.support.messages import make_message
from tui_chat.models.blocks import CallBlock
from tui_chat.models.session import Entry
from tui_chat.models.usage import Usage
from tui_chat.ui.chat.turns import (
    facts_of,
    tokens_of,
    turn_at,
    user_turns,
    words_of,
)


def entry(role: Any, text: str, usage: Usage | None = None, *calls: CallBlock) -> Entry:
    return Entry(make_message(role, text, text, tool_calls=calls), usage=usage or Usage())


def test_turns_begin_with_the_user():
    entries = [
        entry("system", "Be kind"),
        entry("user", "One"),
        entry("assistant", "", Usage(100, 20, cached=90), CallBlock("c", "f", "{}")),
        entry("tool", "x" * 40),
        entry("assistant", "Done", Usage(130, 5)),
        entry("user", "Two"),
    ]
    turns = user_turns(entries)
    assert [(turn.first, turn.count, turn.calls) for turn in turns] == [
        (0, 1, 0), (1, 4, 1), (5, 1, 0),
    ]  # fmt: skip
    assert tokens_of(turns) == ([0, 165, 0], True)
    assert [turn_at(turns, index) for index in range(6)] == [0, 1, 1, 1, 1, 2]
    assert facts_of(turns[1], 165, is_reported=True) == "165 tokens · 1 call · 4 messages"
    assert words_of(entries[1]) == "One"


def test_tokens_are_estimated_where_none_were_reported():
    turns = user_turns([entry("user", "x" * 400), entry("assistant", "y" * 40)])
    assert tokens_of(turns) == ([110], False)
    assert facts_of(turns[0], 110, is_reported=False) == "~110 tokens · 2 messages"
