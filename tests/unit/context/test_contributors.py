"""The extension point, as the documentation shows it."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.support.contexts import A1, A2, ENDPOINT, HISTORY, U1, U2
from tui_chat.compose import compose
from tui_chat.context import Contribution, Inputs
from tui_chat.models.message import Message
from tui_chat.models.preset import Preset
from tui_chat.tokens import Counter

D = Message("user", "D", "5")
DOCS = Path(__file__).parents[3] / "docs" / "presets.md"


def test_the_documented_contributor_adds_its_line():
    scope: dict[str, Any] = {}
    found = re.findall(r"```python\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL)
    exec(found[0], scope)
    inputs = Inputs(ENDPOINT, Preset("p", (HISTORY,)), (U1, A1, U2, A2))
    assert b'"(Be brief, User.)"},{"role":"assistant","content":"A2"}' in scope["request"](inputs)
    assert b"Be brief" not in scope["request"](replace(inputs, history=(U1, A1)))
    sent = scope["request"](replace(inputs, draft="D"))
    assert scope["request"](replace(inputs, history=(U1, A1, U2, A2, D))) == sent
    assert scope["request"](replace(inputs, history=(U1, A1, U2))) == scope["request"](
        replace(inputs, history=(U1, A1), draft="U2")
    )
    composed = compose(inputs, contributors=(scope["remind"],))
    turn = next(t for t in composed.envelope.turns if t.origin.id == "reminder")
    assert turn.origin.label == "lore entry “Reminder in long conversations”"
    assert turn.placement.rule == (
        "Added to conversations of more than two messages. "
        "Its depth 2 is before the newest message of the history."
    )


def test_a_failing_contributor_adds_only_a_note():
    def broken(inputs: Inputs, counter: Counter) -> Contribution:
        raise RuntimeError("no\nluck")

    inputs = Inputs(ENDPOINT, Preset("p", (HISTORY,)), (U1, A1, U2))
    composed = compose(inputs, contributors=(broken,))
    assert composed.payload.body == compose(inputs).payload.body
    notes = [note.sentence for note in composed.notes if note.code == "contributor-failed"]
    assert len(notes) == 1
    assert "broken failed and adds nothing. RuntimeError: no luck" in notes[0]
