"""Why a lore entry is active or not, in a sentence: an entry of which it is true, and one close to
it of which it is not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from tests.support.contexts import ENDPOINT
from tests.support.tables import each_row
from tui_chat.context import Inputs, SessionSettings
from tui_chat.context.lorebooks.explanation import LoreExplanation
from tui_chat.models.chat_settings import ChatSettings, LoreTimer
from tui_chat.models.lorebook import Lorebook, LorebookEntry
from tui_chat.models.message import Message
from tui_chat.models.preset import Preset
from tui_chat.models.role import Character, Profile, Role
from tui_chat.models.settings import LoreRules
from tui_chat.plugins.sillytavern.policies import Policies, policy_values
from tui_chat.tokens import counter_for

NONE: Mapping[str, Any] = {}
BY_PLACES = policy_values(Policies(depths="joined"))
ADA = Role("r", "Ada", character=Character(tags=("tall",)))
HISTORY = (Message("user", "A wolf.", "1"), Message("assistant", "Yes.", "2"))


def said(
    *entries: LorebookEntry,
    draft: str = "A fox!",
    role: Role | None = ADA,
    policies: Mapping[str, Any] = NONE,
    rules: LoreRules | None = None,
    chat: ChatSettings | None = None,
    more: tuple[LorebookEntry, ...] = (),
    **book: Any,
) -> str:
    """What is said of the first entry of a book, beside one of `more` entries."""
    inputs = Inputs(
        ENDPOINT,
        Preset("p", policies=policies),
        HISTORY,
        draft,
        role=role,
        profile=Profile("Mirek", "I keep bees."),
        lorebooks=(Lorebook("b", entries, **book), Lorebook("c", more)),
        settings=SessionSettings(lore=rules),
        chat=chat or ChatSettings(),
    )
    return LoreExplanation(inputs, counter_for("gpt-4o")).outcome(0).sentence


def fox(*keys: str, **fields: Any) -> LorebookEntry:
    return LorebookEntry("x", **{"content": "F", "keys": keys or ("fox",), **fields})


def timed(kind: Any, end: int, **fields: Any) -> str:
    chat = ChatSettings(timers=(LoreTimer("b", "x", kind, 1, end, protected=True),))
    return said(fox("elk" if kind == "sticky" else "fox", **{kind: 9, **fields}), chat=chat)


DEN = LorebookEntry("den", "A den.", ("fox",), name="den")
CAVE = LorebookEntry("cave", "A cave.", ("den",), name="cave")
RIVAL = LorebookEntry("y", "Owls.", ("fox",), groups=("g",), group_override=True, order=999)
THIRD = replace(RIVAL, id="z", groups=("h",), order=9999)
DULL = LorebookEntry("dull", "Z", ("zebra",))
IN_DRAFT = "“fox” occurs in the draft"
ACTIVE = "This lore entry is active because "
BY_CONTENT = f"{IN_DRAFT}, but its condition is met by the content of other entries only. "
NOT_BY_OTHERS = "The content of other entries does not activate it"
BLANK = f"{ACTIVE}one of its keys is blank."
WAITS = "It waits until the content of other entries is searched; the search ended before."
LEVEL = "The search ended before its level of recursion"
ALTHOUGH = f", although {IN_DRAFT}."
IN_DEN = ", although “den” occurs in the lore entry “den”."
IN_CAVE = ", although “cave” occurs in the lore entry “cave”."

WALK: list[tuple[str, Callable[[], str], Callable[[], str]]] = [
    ("It is disabled.", lambda: said(fox(enabled=False)), lambda: said(fox())),
    ("This lore entry is always active.", lambda: said(fox(constant=True)), lambda: said(fox())),
    ("This lore entry stays active until there are 9 messages.",
     lambda: timed("sticky", 9), lambda: timed("sticky", 3)),
    (BLANK, lambda: said(fox(" "), policies=BY_PLACES), lambda: said(fox(" "))),
    (f"{ACTIVE}{IN_DRAFT}.", lambda: said(fox()), lambda: said(fox(), draft="An elk!")),
    (f"{ACTIVE}“wolf” occurs in message “A wolf.”.",
     lambda: said(fox("wolf", scan_depth=3)), lambda: said(fox("wolf"))),
    (f"{ACTIVE}“den” occurs in the lore entry “den”.",
     lambda: said(fox("den"), DEN), lambda: said(fox("den"), DULL)),
    (f"{ACTIVE}“bees” occurs in the persona.",
     lambda: said(fox("bees", sources=("persona",)), policies=BY_PLACES),
     lambda: said(fox("bees"), policies=BY_PLACES)),
    (f"{ACTIVE}“Mirek” ({{{{user}}}}) occurs in the draft.",
     lambda: said(fox("{{user}}"), draft="Mirek?"), lambda: said(fox("Mirek"), draft="Mirek?")),
    (f"{ACTIVE}“Mirek” occurs in the speaker's name before the draft.",
     lambda: said(fox("Mirek"), policies=BY_PLACES),
     lambda: said(fox("Mirek"), policies=BY_PLACES, draft="Mirek here, a fox!")),
    (f"{ACTIVE}{IN_DRAFT}, and “wolf” occurs in message “A wolf.”.",
     lambda: said(fox(secondary_keys=("wolf",)), scan_depth=3),
     lambda: said(fox(secondary_keys=("wolf",), secondary_logic="not_any"))),
    (f"{ACTIVE}{IN_DRAFT}, and “elk” does not occur.",
     lambda: said(fox(secondary_keys=("elk",), secondary_logic="not_any")),
     lambda: said(fox(secondary_keys=("elk",)))),
    (f"{ACTIVE}{IN_DRAFT}, and “elk”, “bat” do not occur.",
     lambda: said(fox(secondary_keys=("elk", "bat"), secondary_logic="not_all")),
     lambda: said(fox(secondary_keys=("elk", "fox"), secondary_logic="not_all"))),
    (f"It is only active with quiet{ALTHOUGH}", lambda: said(fox(triggers=("quiet",))),
     lambda: said(fox(triggers=("quiet",)), chat=ChatSettings(kind="quiet"))),
    (f"It is only active with a role: Bob{ALTHOUGH}",
     lambda: said(fox(characters=("Bob",)), role=None), lambda: said(fox(characters=("Bob",)))),
    (f"It is not active with the role Ada{ALTHOUGH}",
     lambda: said(fox(characters=("Bob",))), lambda: said(fox(characters=("Ada", "Bob")))),
    (f"It is not active with the role Ada{ALTHOUGH}",
     lambda: said(fox(characters=("Ada",), characters_excluded=True)),
     lambda: said(fox(characters=("Bob",), characters_excluded=True))),
    (f"It is only active with a role with one of the tags shy, sly{ALTHOUGH}",
     lambda: said(fox(character_tags=("shy", "sly"))),
     lambda: said(fox(character_tags=("shy", "tall")))),
    (f"It is only active with a role with one of the tags shy{ALTHOUGH}",
     lambda: said(fox(character_tags=("shy",)), role=None),
     lambda: said(fox(character_tags=("shy",), characters_excluded=True), role=None)),
    (f"It is not active with the tags of the role Ada{ALTHOUGH}",
     lambda: said(fox(character_tags=("tall",), characters_excluded=True)),
     lambda: said(fox(character_tags=("shy",), characters_excluded=True))),
    (f"It is not active before there are 9 messages{ALTHOUGH}",
     lambda: said(fox(delay=9)), lambda: said(fox(delay=3))),
    (f"It was active and is in its cooldown until there are 9 messages{ALTHOUGH}",
     lambda: timed("cooldown", 9), lambda: timed("cooldown", 3)),
    (f"Its probability of 0 % was not drawn{ALTHOUGH}",
     lambda: said(fox(probability=0.0)), lambda: said(fox(probability=100.0))),
    (f"Of its group “g”, “fox” was chosen{ALTHOUGH}",
     lambda: said(fox(groups=("g",)), RIVAL), lambda: said(fox(groups=("h",)), RIVAL)),
    (f"Another entry of its group “g” was chosen{ALTHOUGH}",
     lambda: said(fox(groups=("g",)), replace(RIVAL, groups=("g", "h")), THIRD),
     lambda: said(fox(groups=("g",)), RIVAL, THIRD)),
    (f"It does not fit into the token budget of lore{ALTHOUGH}",
     lambda: said(replace(fox(), content="word " * 90), token_budget=30),
     lambda: said(replace(fox(), content="word " * 90), token_budget=300)),
    (f"It does not fit into the token budget of lore{ALTHOUGH}",
     lambda: said(replace(fox(), content="word " * 90), rules=LoreRules(token_budget=30)),
     lambda: said(replace(fox(ignore_budget=True), content="word " * 90),
                  rules=LoreRules(token_budget=30))),
    ("It has no keys and is not always active.",
     lambda: said(replace(fox(), keys=())), lambda: said(replace(fox(), keys=(), constant=True))),
    (WAITS, lambda: said(replace(fox(), keys=(), constant=True, delay_until_recursion=1)),
     lambda: said(replace(fox(), keys=(), constant=True, delay_until_recursion=1), DEN)),
    ("Its scan depth is 0, so nothing is searched for its keys.",
     lambda: said(fox(scan_depth=0)), lambda: said(fox(scan_depth=1))),
    ("None of its keys occurs in the newest message.",
     lambda: said(fox("elk", scan_depth=1)), lambda: said(fox(scan_depth=1))),
    ("None of its keys occurs in the newest 2 messages.",
     lambda: said(fox("wolf")), lambda: said(fox("wolf", scan_depth=3))),
    (f"{NOT_BY_OTHERS}{IN_DEN}", lambda: said(fox("den", exclude_recursion=True), DEN),
     lambda: said(fox("den"), replace(DEN, prevent_recursion=True))),
    (f"{NOT_BY_OTHERS}{IN_CAVE}",
     lambda: said(fox("cave", exclude_recursion=True), DEN, CAVE),
     lambda: said(fox("cave"), DEN, CAVE, max_recursion=1)),
    (f"Others activate the entries of its lorebook for 1 round at most{IN_CAVE}",
     lambda: said(fox("cave"), max_recursion=1, more=(DEN, CAVE)),
     lambda: said(fox("cave"), max_recursion=2, more=(DEN, CAVE))),
    (f"{LEVEL}{IN_DEN}",
     lambda: said(fox("den", delay_until_recursion=2), DEN, replace(DULL, delay_until_recursion=1),
                  rules=LoreRules(max_recursion_steps=2), policies=BY_PLACES),
     lambda: said(fox("den", delay_until_recursion=2), DEN, replace(DULL, delay_until_recursion=1),
                  rules=LoreRules(max_recursion_steps=3), policies=BY_PLACES)),
    (f"{IN_DRAFT}, but only the content of other entries activates it.",
     lambda: said(fox(delay_until_recursion=1)),
     lambda: said(fox(delay_until_recursion=1), DEN)),
    (f"{BY_CONTENT}{NOT_BY_OTHERS}.",
     lambda: said(fox(secondary_keys=("den",), exclude_recursion=True), DEN),
     lambda: said(fox(secondary_keys=("den",)), DEN)),
    (f"{BY_CONTENT}Others activate the entries of its lorebook for 1 round at most.",
     lambda: said(fox(secondary_keys=("cave",)), max_recursion=1, more=(DEN, CAVE)),
     lambda: said(fox(secondary_keys=("cave",)), max_recursion=2, more=(DEN, CAVE))),
    (f"{IN_DRAFT}, but its condition is not met: none of “wolf”; "
     "“wolf” occurs in message “A wolf.”.",
     lambda: said(fox(secondary_keys=("wolf",), secondary_logic="not_any"), scan_depth=3),
     lambda: said(fox(secondary_keys=("wolf",), secondary_logic="not_any"))),
]  # fmt: skip


@each_row(("sentence", "shows", "silent"), WALK, ids=[row[0] for row in WALK])
def test_a_sentence_is_said_where_it_is_true_and_nowhere_else(
    sentence: str, shows: Callable[[], str], silent: Callable[[], str]
) -> None:
    assert shows() == sentence
    assert silent() != sentence
