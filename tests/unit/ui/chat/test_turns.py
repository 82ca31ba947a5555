"""The turns of a long conversation."""

from __future__ import annotations

from typing import Any

from tests.support.messages import make_message
from tui_chat.models.session import Entry
from tui_chat.ui.chat.conversation import turn_at, user_turns, words_of


def entry(role: Any, text: str) -> Entry:
    return Entry(make_message(role, text, text))


def test_turns_begin_with_the_user():
    entries = [
        entry("system", "Be kind"),
        entry("user", "One"),
        entry("assistant", "I look."),
        entry("tool", "x" * 40),
        entry("assistant", "Done"),
        entry("user", "Two"),
    ]
    turns = user_turns(entries)
    assert turns == [(0, 1), (1, 4), (5, 1)]
    assert user_turns([]) == []
    assert [turn_at(turns, index) for index in range(6)] == [0, 1, 1, 1, 1, 2]
    assert words_of(entries[1]) == "One"
