"""Settings that decide what the model sees: the author's note, names and limits."""

from __future__ import annotations

from dataclasses import replace

from tests.support.contexts import ENDPOINT, HISTORY, LETTERS, ROLE, U1, built, codes, order, said
from tests.support.tables import each_row
from tui_chat.context import Inputs, SessionSettings, build_context
from tui_chat.models.preset import Preset
from tui_chat.models.role import Profile
from tui_chat.models.settings import AuthorNote, Settings
from tui_chat.models.text import OriginKind


def test_global_variables_are_read_by_their_macro():
    settings = SessionSettings(global_variables={"Mood": "calm"})
    envelope = built(said("{{getglobalvar::mood}}"), HISTORY, history=(), settings=settings)
    assert order(envelope) == "calm D"


def with_note(text: str = "N", **where: object) -> SessionSettings:
    return SessionSettings(author_note=AuthorNote(text, **where))  # type: ignore[arg-type]


@each_row(
    ("depth", "wanted"),
    [
        (0, "U1 A1 U2 A2 D N"),
        (1, "U1 A1 U2 A2 N D"),
        (2, "U1 A1 U2 N A2 D"),
        (4, "U1 N A1 U2 A2 D"),
        (99, "N U1 A1 U2 A2 D"),
    ],
)
def test_so_many_messages_follow_the_author_s_note(depth: int, wanted: str):
    envelope = built(HISTORY, settings=with_note(depth=depth))
    assert order(envelope) == wanted


def test_a_system_note_keeps_its_place_where_the_preset_puts_system_messages_first():
    system = said("S", role="system")
    envelope = built(HISTORY, system, settings=with_note(depth=1))
    assert order(envelope) == "S U1 A1 U2 A2 N D"
    assert codes(envelope) == []
    turn = envelope.turns[-2]
    assert (turn.role, turn.origin.kind) == ("system", OriginKind.LORE)
    assert turn.origin.name == "author's note, set by the session"


def test_the_note_of_a_regeneration_is_where_it_was():
    typed = built(HISTORY, history=(), draft="U1", settings=with_note(depth=1))
    stored = built(HISTORY, history=(U1,), draft="", settings=with_note(depth=1))
    assert order(typed) == order(stored) == "N U1"


def test_macros_of_the_note_are_expanded_and_names_are_those_of_the_session():
    names = {"user_name": "Kim", "char_name": "Aria"}
    note = AuthorNote("{{char}} likes {{user}}.", 1)
    settings = SessionSettings(author_note=note, **names)
    envelope = built(
        HISTORY,
        said("{{user}} and {{char}}"),
        history=(),
        settings=settings,
        role=ROLE,
        profile=Profile("Ada", ""),
    )
    assert [turn.text.plain for turn in envelope.turns] == [
        "ROLE",
        "Aria likes Kim.",
        "D",
        "Kim and Aria",
    ]


def test_an_empty_note_takes_away_that_of_another_place():
    role = Settings(author_note=AuthorNote("R", 1))
    inputs = Inputs(endpoint=replace(ENDPOINT, settings=role), preset=Preset("P"), draft="D")
    assert order(build_context(inputs, lambda _: LETTERS)) == "R D"
    inputs = replace(inputs, settings=with_note(""))
    assert order(build_context(inputs, lambda _: LETTERS)) == "D"


def test_the_session_s_limit_and_reserve_cut_the_history():
    assert built(HISTORY).dropped == ()
    settings = SessionSettings(context_limit=25, reply_reserve=7, max_tokens=3)
    envelope = built(HISTORY, settings=settings)
    assert (envelope.budget.limit, envelope.budget.reserve) == (25, 7)
    assert len(envelope.dropped) > 0
    assert envelope.parameters.context_limit.origin.name == "context_limit, set by the session"
