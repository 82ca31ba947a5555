"""Whose settings count, and who is said to have set them."""

from __future__ import annotations

from dataclasses import replace

from tests.support.contexts import ENDPOINT, HISTORY, LETTERS, ROLE, U1, built, codes, order, said
from tests.support.strategies import EVERY_SETTING
from tests.support.tables import each_row
from tui_chat.context import Inputs, SessionSettings, build
from tui_chat.context.inputs import parameters
from tui_chat.models.envelope import Parameters
from tui_chat.models.preset import Preset
from tui_chat.models.role import Profile
from tui_chat.models.settings import NO_SETTINGS, SETTINGS, AuthorNote, Settings, WebSearch
from tui_chat.models.text import OriginKind

PLACES = ("session", "preset P", "role Coder", "endpoint here")
"""The first that has a setting counts."""


def asked(*places: Settings) -> Parameters:
    """The parameters of settings of session, preset, role and endpoint."""
    session, preset, role, endpoint = places
    return parameters(
        Inputs(
            replace(ENDPOINT, settings=endpoint),
            Preset("P", settings=preset),
            role=replace(ROLE, settings=role),
            settings=SessionSettings.of("", session),
        )
    )


def test_every_setting_comes_from_the_first_place_that_has_it():
    for first, by in enumerate(PLACES):
        places = [NO_SETTINGS if n < first else EVERY_SETTING for n in range(len(PLACES))]
        found = asked(*places)
        for name in SETTINGS:
            origin = found.origin(name)
            assert getattr(found.values, name) == getattr(EVERY_SETTING, name)
            assert (origin.id, origin.name) == (name, f"{name}, set by the {by}")


def test_places_are_mixed_setting_by_setting():
    found = asked(
        Settings(temperature=0.1), Settings(temperature=0.2, seed=2), Settings(seed=3, top_k=3),
        Settings(top_k=4, verbosity="low"),
    )  # fmt: skip
    names = ("temperature", "seed", "top_k", "verbosity")
    assert [getattr(found.values, name) for name in names] == [0.1, 2, 3, "low"]
    assert [found.origin(name).name.split("by the ")[1] for name in names] == list(PLACES)
    assert found.values.top_p is None


def test_a_disabled_role_sets_nothing():
    role = replace(ROLE, status="disabled")
    found = parameters(Inputs(ENDPOINT, Preset("P"), role=role))
    assert (found.values.temperature, found.values.model) == (None, "m")


def test_the_model_comes_from_session_then_role_then_endpoint():
    for session, role, model in (("s", ROLE, "s"), ("", ROLE, "role-model"), ("", None, "m")):
        settings = SessionSettings(model=session)
        found = parameters(Inputs(ENDPOINT, Preset("P"), role=role, settings=settings))
        assert found.values.model == model


def test_effort_and_budget_are_one_choice():
    budget, effort = Settings(reasoning_budget=5000), Settings(effort="low")
    found = asked(budget, NO_SETTINGS, effort, NO_SETTINGS)
    assert (found.values.effort, found.values.reasoning_budget) == (None, 5000)
    found = asked(NO_SETTINGS, effort, budget, NO_SETTINGS)
    assert (found.values.effort, found.values.reasoning_budget) == ("low", None)
    found = asked(replace(budget, effort="low"), NO_SETTINGS, NO_SETTINGS, NO_SETTINGS)
    assert (found.values.effort, found.values.reasoning_budget) == ("low", 5000), "both by one"


def test_a_session_can_take_away_a_search_and_stop_sequences():
    role = Settings(web_search=WebSearch(), stop=("END",))
    session = Settings(web_search=WebSearch(enabled=False), stop=())
    found = asked(session, NO_SETTINGS, role, NO_SETTINGS)
    assert (found.values.web_search, found.values.stop) == (WebSearch(enabled=False), None)


# Settings that decide what the model sees: the author's note, names and limits


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
    assert order(build(inputs, lambda _: LETTERS)) == "R D"
    inputs = replace(inputs, settings=with_note(""))
    assert order(build(inputs, lambda _: LETTERS)) == "D"


def test_the_session_s_limit_and_reserve_cut_the_history():
    assert built(HISTORY).dropped == ()
    settings = SessionSettings(context_limit=25, reply_reserve=7, max_tokens=3)
    envelope = built(HISTORY, settings=settings)
    assert (envelope.budget.limit, envelope.budget.reserve) == (25, 7)
    assert len(envelope.dropped) > 0
    assert envelope.parameters.origin("context_limit").name == "context_limit, set by the session"
