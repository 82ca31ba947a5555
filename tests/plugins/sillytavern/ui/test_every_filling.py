"""A walk over what a row of the preset editor can say of its place, and why a preset message is not
in a request: a state that shows each sentence, and one close to it that does not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tests.plugins.sillytavern.ui.test_request_facts import CARD, MESSAGES, ROLE, request
from tests.support.tables import each_row
from tui_chat.analysis import unsent_messages as unsent
from tui_chat.models.role import Profile, Role
from tui_chat.plugins.sillytavern.policies import Policies
from tui_chat.ui.areas.inspector.views.context import ContextCounts
from tui_chat.ui.areas.presets.request_facts import facts_of

PLAIN = Policies(depths="joined", role_prompt="description")
BARE = Role("v", "Vesna")
PROMPT = Role("v", "Vesna", "She is tall.")
NUMBERS = {message.id: index for index, message in enumerate(MESSAGES)}


def filling(name: str, **inputs: Any) -> str:
    """What the row of a message says."""
    facts = facts_of(request(PLAIN, **inputs))
    return facts.fillings.words_for(MESSAGES[NUMBERS[name]], 7)


def role_words(**inputs: Any) -> str:
    return facts_of(request(PLAIN, **inputs)).fillings.role_words


def reason(name: str, policies: Policies = PLAIN, **inputs: Any) -> str:
    """Why a message is not sent; empty if it is."""
    composed, counts = request(policies, **inputs), ContextCounts()
    counts.update(composed.envelope.turns)
    found = unsent.unsent_messages(composed, counts.ids, counts.anchors)
    return next((why for message, why in found if message.id == name), "")


SET = {"description": "Somebody."}
NO_SYSTEM = replace(ROLE, character=replace(CARD, system_prompt=""))
NO_EXAMPLES = replace(ROLE, character=replace(CARD, example_dialogues=""))
FILLINGS: list[tuple[Callable[[], str], Callable[[], str]]] = [
    (lambda: filling("main"), lambda: filling("main", role=NO_SYSTEM)),
    (lambda: filling("lore"), lambda: filling("lore", lorebooks=())),
    (lambda: filling("lore", lorebooks=()), lambda: filling("lore")),
    (lambda: filling("card", role=PROMPT), lambda: filling("card")),
    (lambda: filling("card"), lambda: filling("card", role=PROMPT)),
    (lambda: filling("card", role=None), lambda: filling("card")),
    (lambda: filling("card", role=None, variables=SET), lambda: filling("card", variables=SET)),
    (lambda: filling("scene"), lambda: filling("card")),
    (lambda: filling("examples"), lambda: filling("examples", role=NO_EXAMPLES)),
    (lambda: filling("examples", role=NO_EXAMPLES), lambda: filling("examples")),
    (lambda: filling("who", profile=None), lambda: filling("who")),
    (lambda: filling("who", profile=Profile("Ada", "")), lambda: filling("who")),
    (
        lambda: filling("who", profile=Profile("Ada", "x", placement="depth")),
        lambda: filling("who"),
    ),
    (lambda: role_words(role=None), lambda: role_words(role=PROMPT)),
    (lambda: role_words(role=BARE), lambda: role_words(role=PROMPT)),
    (lambda: role_words(role=PROMPT), lambda: role_words(role=BARE)),
]
REASONS: list[tuple[Callable[[], str], Callable[[], str]]] = [
    (lambda: reason("who", profile=None), lambda: reason("who")),
    (
        lambda: reason("main", role=replace(ROLE, character=replace(CARD, system_prompt="Be."))),
        lambda: reason("main"),
    ),
    (lambda: reason("scene"), lambda: reason("card")),
    (lambda: reason("later"), lambda: reason("deep")),
    (lambda: reason("style"), lambda: reason("deep")),
]


@each_row("number", range(len(FILLINGS) + len(REASONS)))
def test_a_sentence_is_shown_where_it_is_true_and_nowhere_else(number: int) -> None:
    shows, silent = [*FILLINGS, *REASONS][number]
    assert shows()
    assert shows() != silent()
