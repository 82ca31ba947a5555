"""A walk over the rules that place a turn, which the inspector shows below the body: a request
with a turn that a rule is true of, and one close to it whose turn must not show it. The rules are
read from the sources.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import tui_chat.context
from tests.support.contexts import A1, HISTORY, ROLE, U1, U2, built, said
from tests.support.tables import each_row
from tests.unit.context.lorebooks.test_activation import entry, told
from tests.unit.context.test_every_note import SPOT
from tests.unit.context.test_summaries import summary
from tui_chat.context import SessionSettings
from tui_chat.models.chat_settings import ChatSettings
from tui_chat.models.envelope import ChatEnvelope
from tui_chat.models.generation import GenerationKind
from tui_chat.models.preset import PresetMessage
from tui_chat.models.role import Character, Profile

EXAMPLES = PresetMessage("examples", type="example_dialogues")
WITH_EXAMPLES = replace(ROLE, character=Character(example_dialogues="<START>\n{{user}}: E"))
WHO = PresetMessage("who", type="user_profile")
LORE = entry("LORE", constant=True, role="user")
ADA = Profile("Ada", "ADA")


def rules_in(folder: Path) -> set[str]:
    """The rules in sources, as patterns: what is put into one is anything."""
    found: set[str] = set()
    for path in folder.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            is_named = isinstance(node, ast.Assign) and "id='rule'" in ast.dump(node.targets[0])
            if (is_named and isinstance(node, ast.Assign)) or (
                isinstance(node, ast.keyword) and node.arg == "rule"
            ):
                found |= set(_patterns(node.value))
    return found


def _patterns(value: ast.expr | None) -> Iterator[str]:
    if isinstance(value, ast.JoinedStr):
        parts = value.values
        yield "".join(
            re.escape(str(each.value)) if isinstance(each, ast.Constant) else ".*" for each in parts
        )
    elif isinstance(value, ast.Constant) and isinstance(value.value, str):
        yield re.escape(value.value)


def starting(start: str, **more: object) -> ChatEnvelope:
    return built(HISTORY, settings=SessionSettings(reply_start=start), **more)


def continued(kind: GenerationKind) -> ChatEnvelope:
    return built(HISTORY, history=(U1, A1), draft="", chat=ChatSettings(kind=kind))


IN_PLACE = "This is its place in the preset."
TALKED = "It is part of the conversation."
DRAFT = "Your draft follows the history."
FIRST = "System messages go first."
WALK: list[tuple[str, str, Callable[[], ChatEnvelope], Callable[[], ChatEnvelope]]] = [
    ("U1", TALKED, lambda: built(HISTORY), lambda: built(HISTORY, history=())),
    ("D", DRAFT, lambda: built(HISTORY, said("X")), lambda: built(HISTORY, draft="")),
    ("X", IN_PLACE, lambda: built(HISTORY, said("X")),
     lambda: built(HISTORY, said("X", insertion_point=0))),
    ("S", FIRST, lambda: built(HISTORY, said("S", role="system")),
     lambda: built(HISTORY, said("S", role="system"), placement="in_place")),
    ("ROLE", "The role's system prompt goes first.", lambda: built(HISTORY, role=ROLE),
     lambda: built(HISTORY, role=replace(ROLE, system_prompt=""))),
    ("X", "It is anchored after the history.",
     lambda: built(HISTORY, said("X", anchor_point="after")), lambda: built(HISTORY, said("X"))),
    ("X", "It is anchored after “spot”.",
     lambda: built(SPOT, HISTORY, said("X", anchor_target="spot")),
     lambda: built(replace(SPOT, enabled=False), HISTORY, said("X", anchor_target="spot"))),
    ("ADA", "The anchor “who” stands for the profile.",
     lambda: built(WHO, HISTORY, profile=ADA),
     lambda: built(WHO, HISTORY, profile=replace(ADA, placement="depth", depth=1))),
    ("E", "It is an example dialogue of the character, at its anchor.",
     lambda: built(EXAMPLES, HISTORY, role=WITH_EXAMPLES),
     lambda: built(EXAMPLES, HISTORY, role=ROLE)),
    ("X", "It stands before the oldest message of the history.",
     lambda: built(HISTORY, said("X", insertion_point=0)),
     lambda: built(HISTORY, said("X", insertion_point=1))),
    ("X", "It stands after message 1 of the history that is sent.",
     lambda: built(HISTORY, said("X", insertion_point=1)),
     lambda: built(HISTORY, said("X", insertion_point=2))),
    ("X", "Its depth 1 is after the newest message of the history.",
     lambda: built(HISTORY, said("X", insertion_point=-1)),
     lambda: built(HISTORY, said("X", insertion_point=-2))),
    ("X", "Its depth 2 is before the newest message of the history.",
     lambda: built(HISTORY, said("X", insertion_point=-2)),
     lambda: built(HISTORY, said("X", insertion_point=-2), history=(U1,))),
    ("X", "Its depth 3 is before the 2 newest messages of the history.",
     lambda: built(HISTORY, said("X", insertion_point=-3)),
     lambda: built(HISTORY, said("X", insertion_point=-4))),
    ("X", "It stands in the history, which is empty.",
     lambda: built(HISTORY, said("X", insertion_point=0), history=()),
     lambda: built(HISTORY, said("X", insertion_point=0))),
    ("START", "The setting “reply_start” puts it at the end.", lambda: starting("START"),
     lambda: starting("")),
    ("S", "It is a summary, and stands for earlier messages.",
     lambda: built(HISTORY, history=(U1, summary("S", 0), U2)),
     lambda: built(HISTORY, history=(U1, summary("S", 0, enabled=False), U2))),
    ("U1", "It is the message to be answered, which ends the history.",
     lambda: built(HISTORY, history=(U1,), draft=""),
     lambda: built(HISTORY, history=(U1, A1), draft="")),
    ("Continue your last", "The kind of generation puts it at the end.",
     lambda: continued("continue"), lambda: continued("normal")),
    ("LORE", "Without a position of its own, it goes before the history.", lambda: told(LORE),
     lambda: told(replace(LORE, anchor_target="history", anchor_point="before"))),
]  # fmt: skip


def rules(envelope: ChatEnvelope, word: str) -> str:
    """The rules of the turns with a text."""
    return " ".join(turn.placement.rule for turn in envelope.turns if word in turn.text.plain)


@each_row(("word", "rule", "shows", "silent"), WALK, ids=[row[1] for row in WALK])
def test_a_rule_is_shown_where_it_is_true_and_nowhere_else(
    word: str,
    rule: str,
    shows: Callable[[], ChatEnvelope],
    silent: Callable[[], ChatEnvelope],
) -> None:
    assert rule in rules(shows(), word)
    assert rule not in rules(silent(), word)


def test_the_walk_has_every_rule_of_the_sources() -> None:
    assert tui_chat.context.__file__ is not None
    found = rules_in(Path(tui_chat.context.__file__).parent)
    assert {each for each in found if not any(re.search(each, row[1]) for row in WALK)} == set()


def test_the_check_can_fail(tmp_path: Path) -> None:
    (tmp_path / "new.py").write_text('Placement("x", rule=f"It is {new}.")\n')
    assert rules_in(tmp_path) == {"It\\ is\\ .*\\."}
