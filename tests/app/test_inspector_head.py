"""A walk over what stands above the body and at the head of the notes: a request that makes each
true, and one close to it that must not show it.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from tests.support.inspector_app import InspectorApp, composed, turns_with
from tests.support.tables import each_row
from tui_chat.compose import Composed
from tui_chat.models.endpoint import Protocol
from tui_chat.models.envelope import Level, Note
from tui_chat.models.request import RecordedRequest
from tui_chat.ui.inspector.notes_list import MOST, NotesHeader, NotesList
from tui_chat.ui.inspector.summary import RequestSummary

CHAT, ANTHROPIC = Protocol.OPENAI_CHAT, Protocol.ANTHROPIC


def with_budget(**changes: Any) -> Composed:
    made = composed()
    assert made.envelope.budget is not None
    budget = replace(made.envelope.budget, **changes)
    return replace(made, envelope=replace(made.envelope, budget=budget))


def with_envelope(**changes: Any) -> Composed:
    made = composed()
    return replace(made, envelope=replace(made.envelope, **changes))


def recorded(**facts: Any) -> Composed:
    made = composed(notes=())
    request = RecordedRequest("POST", "http://x", (), made.payload.body, **facts)
    return replace(made, recorded=request)


def says(text: str, words: str) -> bool:
    """True if a text has words, and not only as a part of longer ones."""
    return re.search(rf"(?<![~\d,]){re.escape(words)}(?!\w)", text) is not None


def noted(*levels: Level, count: int = 0) -> Composed:
    notes = [Note(level, "code", f"Sentence {number}.") for number, level in enumerate(levels)]
    notes += [Note(Level.INFO, "code", f"More {number}.") for number in range(count)]
    return composed(notes=tuple(notes))


SIZE = f"{len(composed().payload.body):,} bytes"
SUMMARY: list[tuple[str, Composed, Composed]] = [
    ("1,416 of 128,000 tokens", composed(), composed(ANTHROPIC)),  # an estimate
    ("~1,416 of 128,000 tokens", composed(ANTHROPIC), composed()),
    ("1,416 tokens", composed(limit=None), composed()),
    ("1 token", with_budget(limit=None, fixed=1, history=0), composed(limit=None)),
    ("1 left out", composed(), with_envelope(dropped=())),
    ("6 messages", composed(), with_envelope(turns=turns_with("x")[:1])),
    ("1 message", with_envelope(turns=turns_with("x")[:1]), composed()),
    (SIZE, composed(), composed(draft="x")),
    ("o200k", composed(), with_budget(counter="")),
    (" 122k free", composed(), composed(limit=1_000)),
    (" 4.5k over", composed(limit=1_000), composed()),
    ("POST api.openai.com/v1/chat/completions", composed(), composed(ANTHROPIC)),
    ("preview, Enter sends OpenAI Chat", composed(ANTHROPIC), composed()),
]
LEVELS = (Level.ERROR, Level.WARNING, Level.INFO)
HEAD: list[tuple[str, Composed, Composed]] = [
    ("✓ nothing changed or left out", composed(notes=()), noted(Level.INFO)),
    ("✓ nothing changed or left out", recorded(), recorded(is_masked=True)),
    ("✓ no notes", recorded(is_masked=True), recorded()),
    ("✓ no notes", recorded(missing="the pictures"), recorded()),
    ("✖ 1 error", noted(*LEVELS), noted(Level.ERROR, *LEVELS)),
    ("✖ 2 errors", noted(Level.ERROR, *LEVELS), noted(*LEVELS)),
    ("▲ 1 warning", noted(*LEVELS), noted(Level.ERROR, Level.INFO)),
    ("● 1 note", noted(*LEVELS), noted(Level.WARNING)),
    (f"● {MOST + 1} notes", noted(count=MOST + 1), noted(count=MOST)),
    (f"the first {MOST} below", noted(count=MOST + 1), noted(count=MOST)),
]


async def test_the_summary_and_the_head_of_the_notes_say_what_is_true() -> None:
    app = InspectorApp(composed())
    async with app.run_test(size=(100, 40)) as pilot:

        async def shown(request: Composed, kind: type[RequestSummary | NotesHeader]) -> str:
            app.pane.show(request)
            await pilot.pause()
            return app.query_one(kind).render().plain

        await shown(noted(Level.INFO), NotesHeader)
        await pilot.press("i", "o")
        for kind, rows in ((RequestSummary, SUMMARY), (NotesHeader, HEAD)):
            for words, shows, silent in rows:
                text = await shown(shows, kind)
                assert says(text, words), text
                assert not says(await shown(silent, kind), words), words


async def test_a_figure_stands_in_the_rule_or_in_the_details() -> None:
    for request, words in ((composed(), SIZE), (composed(ANTHROPIC), "Enter sends OpenAI Chat")):
        app = InspectorApp(request)
        async with app.run_test(size=(100, 40)) as pilot:
            for key in ("", "i", "i"):
                await pilot.press(*key)
                await pilot.pause()
                assert app.query_one(RequestSummary).render().plain.count(words) == 1


async def test_what_a_sent_request_was_is_told_from_what_enter_sends() -> None:
    app = InspectorApp(composed(ANTHROPIC))
    async with app.run_test(size=(100, 40)) as pilot:
        app.pane.show_banner("as sent at 12:30", is_past=True)
        app.pane.show(composed(ANTHROPIC))
        await pilot.pause()
        text = app.query_one(RequestSummary).render().plain
        assert "preview, it was OpenAI Chat" in text
        assert "Enter sends" not in text


@each_row("level", LEVELS)
async def test_the_worst_note_is_said_in_the_line_that_counts_them(level: Level) -> None:
    app = InspectorApp(noted(level))
    async with app.run_test(size=(100, 40)) as pilot:
        await pilot.pause()
        assert not app.query_one(NotesList).expanded
        assert "Sentence 0." in app.query_one(NotesHeader).render().plain
        await pilot.press("o")
        await pilot.pause()
        assert app.query_one(NotesList).expanded
        assert "Sentence 0." not in app.query_one(NotesHeader).render().plain
