"""Whose settings count, and who is said to have set them."""

from __future__ import annotations

from dataclasses import replace

from tests.support.contexts import ENDPOINT, ROLE
from tests.support.strategies import EVERY_SETTING
from tui_chat.context import Inputs, SessionSettings
from tui_chat.context.parameters import parameters
from tui_chat.models.envelope import Parameters
from tui_chat.models.preset import Preset
from tui_chat.models.setting_types import SETTINGS
from tui_chat.models.settings import NO_SETTINGS, Settings, WebSearch

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
            field = "hosted_tools" if name == "web_search" else name
            sourced = getattr(found, field)
            wanted = getattr(EVERY_SETTING, name)
            value = sourced.value[0].search if name == "web_search" else sourced.value
            assert value == wanted
            assert (sourced.origin.id, sourced.origin.name) == (name, f"{name}, set by the {by}")


def test_places_are_mixed_setting_by_setting():
    found = asked(
        Settings(temperature=0.1), Settings(temperature=0.2, seed=2), Settings(seed=3, top_k=3),
        Settings(top_k=4, verbosity="low"),
    )  # fmt: skip
    assert found.temperature is not None
    assert found.seed is not None
    assert found.top_k is not None
    assert found.verbosity is not None
    values = (found.temperature, found.seed, found.top_k, found.verbosity)
    assert [each.value for each in values] == [0.1, 2, 3, "low"]
    assert [each.origin.name.split("by the ")[1] for each in values] == list(PLACES)
    assert found.top_p is None


def test_a_disabled_role_sets_nothing():
    role = replace(ROLE, status="disabled")
    found = parameters(Inputs(ENDPOINT, Preset("P"), role=role))
    assert (found.temperature, found.model.value) == (None, "m")


def test_the_model_comes_from_session_then_role_then_endpoint():
    for session, role, model in (("s", ROLE, "s"), ("", ROLE, "role-model"), ("", None, "m")):
        settings = SessionSettings(model=session)
        found = parameters(Inputs(ENDPOINT, Preset("P"), role=role, settings=settings))
        assert found.model.value == model


def test_effort_and_budget_are_one_choice():
    budget, effort = Settings(reasoning_budget=5000), Settings(effort="low")
    found = asked(budget, NO_SETTINGS, effort, NO_SETTINGS)
    assert (found.effort, found.reasoning_budget and found.reasoning_budget.value) == (None, 5000)
    found = asked(NO_SETTINGS, effort, budget, NO_SETTINGS)
    assert (found.effort and found.effort.value, found.reasoning_budget) == ("low", None)
    found = asked(replace(budget, effort="low"), NO_SETTINGS, NO_SETTINGS, NO_SETTINGS)
    assert found.effort is not None
    assert found.reasoning_budget is not None, "one place may set both"


def test_a_session_can_take_away_a_search_and_stop_sequences():
    role = Settings(web_search=WebSearch(), stop=("END",))
    session = Settings(web_search=WebSearch(enabled=False), stop=())
    found = asked(session, NO_SETTINGS, role, NO_SETTINGS)
    assert found.hosted_tools is not None
    assert (found.hosted_tools.value, found.stop) == ((), None)
