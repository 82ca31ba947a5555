"""What is remembered of a conversation that was left is let go of, also example dialogues."""

from __future__ import annotations

import gc
from dataclasses import replace

from tests.support.contexts import HISTORY, ROLE, built
from tui_chat.models.memo import forget_recent
from tui_chat.models.preset import PresetMessage
from tui_chat.models.role import Character
from tui_chat.models.text import Text

EXAMPLES = PresetMessage("examples", type="example_dialogues")


def remembered(word: str) -> int:
    """Return how many texts in memory contain a word."""
    gc.collect()
    texts = [value for value in gc.get_objects() if isinstance(value, Text)]
    return sum(word in text.plain for text in texts)


def test_example_dialogues_are_forgotten_with_the_conversation() -> None:
    role = replace(ROLE, character=Character(example_dialogues="<START>\n{{user}}: vexillology"))
    request = built(EXAMPLES, HISTORY, role=role)
    assert "vexillology" in " ".join(turn.text.plain for turn in request.turns)
    again = built(EXAMPLES, HISTORY, role=role)
    assert [turn.text for turn in again.turns] == [turn.text for turn in request.turns]
    del request, again, role
    forget_recent()
    assert remembered("vexillology") == 0
