"""A walk over every note that the context builder can raise: a state that makes it true, and one
close to it that must not show it. The table is complete: the codes are read from the sources.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

import tui_chat.context
from tests.support.contexts import ENDPOINT, HISTORY, LETTERS, ROLE, U1, built, codes, said
from tests.support.tables import each_row
from tests.unit.context.lorebooks.test_activation import entry, told
from tests.unit.context.test_summaries import summary
from tui_chat.context import Contribution, Inputs, SessionSettings, build, build_context
from tui_chat.models.endpoint import Endpoint, Protocol
from tui_chat.models.envelope import ChatEnvelope, Level, Note
from tui_chat.models.lorebook import Lorebook, LorebookEntry
from tui_chat.models.message import Message, Muted, ToolCall
from tui_chat.models.preset import Preset, PresetMessage
from tui_chat.models.role import Character, Profile, Role
from tui_chat.models.semantics import MessageSemantics, ReasoningBlock
from tui_chat.models.settings import TextScript
from tui_chat.tokens import Counter

CODE = re.compile(r"[a-z]+(?:-[a-z]+)+")
SPOT = PresetMessage("spot", type="placeholder")
CARD = Role("c", "Mira", character=Character(description="Keeps the light."))
LINKED = Role("c", "Mira", character=Character(world="Town"))
AT_SPOT = said("X", anchor_target="spot")


def codes_in(folder: Path) -> set[str]:
    """The codes of notes in sources: what follows a level, or is called `code`."""
    found: set[str] = set()
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            values: list[ast.expr] = []
            if isinstance(node, ast.Call | ast.Tuple):
                items = node.args if isinstance(node, ast.Call) else node.elts
                values = [value for level, value in pairwise(items) if "evel" in ast.dump(level)]
                if isinstance(node, ast.Call) and "'_stays'" in ast.dump(node.func):
                    values += items  # its level follows from the code
            elif isinstance(node, ast.Assign) and "id='code'" in ast.dump(node.targets[0]):
                values = [node.value]
            constants = (each for value in values for each in ast.walk(value))
            found |= {
                each.value
                for each in constants
                if isinstance(each, ast.Constant)
                and isinstance(each.value, str)
                and CODE.fullmatch(each.value)
            }
    return found


def without_plugins(*scripts: TextScript) -> ChatEnvelope:
    settings = SessionSettings(scripts=scripts)
    inputs = Inputs(ENDPOINT, Preset("p", (HISTORY,)), (U1,), "D", settings=settings)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tui_chat.context.builders.plugins", tuple)
        return build(inputs, lambda _: LETTERS)


def contributed(inputs: Inputs, counter: Counter) -> Contribution:
    return Contribution()


def broken(inputs: Inputs, counter: Counter) -> Contribution:
    raise RuntimeError("no luck")


def with_contributor(contributor: Callable[[Inputs, Counter], Contribution]) -> ChatEnvelope:
    inputs = Inputs(ENDPOINT, Preset("p", (HISTORY,)), (U1,), "D")
    return build_context(inputs, lambda _: LETTERS, (contributor,))


def with_model(model: str) -> ChatEnvelope:
    endpoint = Endpoint("e", Protocol.OPENAI_CHAT, "https://e.invalid", models=(model,))
    endpoint = endpoint if model else replace(endpoint, models=())
    return build_context(Inputs(endpoint, Preset("p", (HISTORY,)), (), "D"), lambda _: LETTERS)


def summarized(is_enabled: bool) -> ChatEnvelope:
    return built(HISTORY, history=(U1, summary("S", 0, enabled=is_enabled)))


def with_muted(*, message: bool = False, reasoning: bool = False, draft: str = "D") -> ChatEnvelope:
    """A request whose last message, a user's, and whose reasoning before it may be muted."""
    thoughts = MessageSemantics((ReasoningBlock(Protocol.OPENAI_CHAT, "Hm.", kind="reasoning"),))
    calls = (ToolCall("x", "look", "{}"),)
    history = (
        Message("assistant", "", "a", calls, muted=Muted(reasoning=reasoning), semantics=thoughts),
        Message("tool", "R", "r", tool_call_id="x"),
        replace(U1, muted=Muted(message)),
    )
    return built(HISTORY, history=history, draft=draft)


def by_builder(name: str) -> ChatEnvelope:
    preset = Preset("p", (HISTORY,), builder=name)
    return build(Inputs(ENDPOINT, preset, (U1,), "D"), lambda _: LETTERS)


def slow_key(is_slow: bool) -> ChatEnvelope:
    pattern = r"/((\w+\s?)+)\1\d{9}/" if is_slow else "/dragon/"
    history = tuple(Message("user", f"{n:010} dragon " + "ab " * 200, str(n)) for n in range(40))
    books = (Lorebook("b", (entry("SLOW", pattern),), scan_depth=40),)
    inputs = Inputs(ENDPOINT, Preset("p", (HISTORY,)), history, "", lorebooks=books)
    return build_context(inputs, lambda _: LETTERS)


Shown = ChatEnvelope | list[Note]
WALK: dict[str, list[tuple[Callable[[], Shown], Callable[[], Shown]]]] = {
    "blank-content": [
        (lambda: built(HISTORY, said(" \n")), lambda: built(HISTORY, said("x"))),
        (lambda: built(HISTORY, said("{{newline}}")), lambda: built(HISTORY, said("{{noop}}"))),
    ],
    "contributor-failed": [
        (lambda: with_contributor(broken), lambda: with_contributor(contributed))
    ],
    "depth-clamped": [
        (
            lambda: built(HISTORY, said("X", insertion_point=5)),
            lambda: built(HISTORY, said("X", insertion_point=4)),
        ),
        (
            lambda: built(HISTORY, said("X", insertion_point=-6)),
            lambda: built(HISTORY, said("X", insertion_point=-5)),
        ),
    ],
    "doubled-anchor": [
        (lambda: built(HISTORY, SPOT, SPOT, AT_SPOT), lambda: built(HISTORY, SPOT, AT_SPOT)),
        (
            lambda: built(HISTORY, replace(HISTORY, id="again")),
            lambda: built(HISTORY, replace(HISTORY, id="again", enabled=False)),
        ),
    ],
    "history-muted": [(lambda: with_muted(message=True), with_muted)],
    "muted-message-sent": [
        (lambda: with_muted(message=True, draft=""), lambda: with_muted(message=True)),
        (lambda: with_muted(message=True, draft=""), lambda: with_muted(draft="")),
    ],
    "muted-reasoning-sent": [(lambda: with_muted(reasoning=True), with_muted)],
    "empty-content": [
        (lambda: built(HISTORY, said("", id="e")), lambda: built(HISTORY, said("x"))),
        (
            lambda: built(HISTORY, said("{{// note}}")),
            lambda: built(HISTORY, said("{{setvar::a::b}}")),
        ),
    ],
    "empty-message": [
        (
            lambda: built(HISTORY, history=(Message("user", "", "1"), U1)),
            lambda: built(HISTORY, history=(U1,)),
        )
    ],
    "empty-value": [
        (
            lambda: built(HISTORY, said("x", requires="a")),
            lambda: built(HISTORY, said("x", requires="a"), preset_variables={"a": "b"}),
        )
    ],
    "history-dropped": [
        (
            lambda: built(HISTORY, context_limit=21, reply_reserve=0),
            lambda: built(HISTORY, context_limit=99, reply_reserve=0),
        )
    ],
    "history-summarized": [(lambda: summarized(True), lambda: summarized(False))],
    "idle-anchor": [
        (lambda: built(HISTORY, SPOT), lambda: built(HISTORY, SPOT, AT_SPOT)),
        # A message that goes elsewhere, or is off, does not stand there.
        (
            lambda: built(HISTORY, SPOT, replace(AT_SPOT, role="system")),
            lambda: built(HISTORY, SPOT, replace(AT_SPOT, role="system"), placement="in_place"),
        ),
        (
            lambda: built(HISTORY, SPOT, replace(AT_SPOT, enabled=False)),
            lambda: built(HISTORY, replace(SPOT, enabled=False)),
        ),
    ],
    "lore-idle": [
        (lambda: told(entry("x")), lambda: told(entry("x", constant=True))),
    ],
    "lore-key": [(lambda: told(entry("x", "/(/")), lambda: told(entry("x", "(")))],
    "lore-key-too-slow": [(lambda: slow_key(True), lambda: slow_key(False))],
    "lore-left-out": [
        (
            lambda: told(entry("x" * 50, "red"), token_budget=20),
            lambda: told(entry("x", "red"), token_budget=20),
        )
    ],
    "lore-not-searched": [
        (
            lambda: told(*chain(200), max_recursion=10**9),
            lambda: told(*chain(9), max_recursion=10**9),
        )
    ],
    "macro-stays": [
        (
            lambda: built(HISTORY, said("{{random::a")),
            lambda: built(HISTORY, said("{{random::a}}")),
        )
    ],
    "missing-builder": [(lambda: by_builder("knitting"), lambda: by_builder(""))],
    "more-macros": [
        (
            lambda: built(HISTORY, said("".join(f"{{{{x{n}}}}}" for n in range(9)))),
            lambda: built(HISTORY, said("".join(f"{{{{x{n}}}}}" for n in range(8)))),
        )
    ],
    "no-history-anchor": [
        (lambda: built(said("X")), lambda: built(said("X"), HISTORY)),
        (
            lambda: built(said("X"), replace(HISTORY, enabled=False)),
            lambda: built(HISTORY),
        ),
    ],
    "no-model": [(lambda: with_model(""), lambda: with_model("m"))],
    "over-budget": [
        (
            lambda: built(HISTORY, context_limit=7, reply_reserve=0),
            lambda: built(HISTORY, context_limit=8, reply_reserve=0),
        )
    ],
    "position-ignored": [
        (
            lambda: built(HISTORY, said("X", role="system", insertion_point=0)),
            lambda: built(
                HISTORY, said("X", role="system", insertion_point=0), placement="in_place"
            ),
        ),
        (
            lambda: built(HISTORY, said("X", insertion_point=0, anchor_point="after")),
            lambda: built(HISTORY, said("X", insertion_point=0)),
        ),
    ],
    "role-disabled": [
        (
            lambda: built(HISTORY, role=replace(ROLE, status="disabled")),
            lambda: built(HISTORY, role=ROLE),
        )
    ],
    "role-missing": [
        (lambda: built(HISTORY, role_missing=True), lambda: built(HISTORY, role=ROLE)),
    ],
    "role-prompt-skipped": [
        (
            lambda: built(HISTORY, role=ROLE, history=(Message("system", "S", "1"), U1)),
            lambda: built(HISTORY, role=ROLE, history=(U1,)),
        ),
    ],
    "character-not-sent": [
        (
            lambda: built(HISTORY, role=CARD),
            lambda: built(HISTORY, said("{{description}}"), role=CARD),
        ),
    ],
    "lore-not-sent": [
        (
            lambda: told(entry("X", constant=True, position="outlet", outlet="o")),
            lambda: told(entry("X", constant=True)),
        ),
        (
            lambda: built(HISTORY, role=LINKED),
            lambda: built(HISTORY, role=LINKED, lorebooks=(Lorebook("Town"),)),
        ),
    ],
    "profile-not-sent": [
        (
            lambda: built(HISTORY, profile=Profile("Ada", "Calm.")),
            lambda: built(HISTORY, said("{{persona}}"), profile=Profile("Ada", "Calm.")),
        ),
        (
            lambda: built(HISTORY, profile=Profile("Ada", "Calm.")),
            lambda: built(
                HISTORY, PresetMessage("p", type="user_profile"), profile=Profile("Ada", "Calm.")
            ),
        ),
    ],
    "scripts-not-run": [
        (lambda: without_plugins(TextScript("s", "a", "b", ("user",))), lambda: without_plugins()),
    ],
    "unfilled-blank": [
        (lambda: built(HISTORY, draft="Dear {{?name}}"), lambda: built(HISTORY, draft="Dear Ada")),
    ],
    "unknown-anchor": [
        (
            lambda: built(HISTORY, said("X", anchor_target="nowhere")),
            lambda: built(HISTORY, said("X", anchor_target="history")),
        )
    ],
    "unknown-macro": [
        (
            lambda: built(HISTORY, said("{{nonsense}}")),
            lambda: built(HISTORY, said("{{user}}")),
        )
    ],
    "unset-variable": [
        (
            lambda: built(HISTORY, said("x{{getvar::a}}")),
            lambda: built(HISTORY, said("x{{getvar::a}}"), preset_variables={"a": ""}),
        )
    ],
}


def chain(length: int) -> Iterator[LorebookEntry]:
    """Entries of which each activates the next."""
    return (entry(f"k{n + 1}", f"k{n}", constant=n == 0) for n in range(length))


def codes_of(state: Shown) -> list[str]:
    return [note.code for note in state] if isinstance(state, list) else codes(state)


@each_row(
    ("code", "number"), [(code, n) for code, states in WALK.items() for n in range(len(states))]
)
def test_a_note_is_shown_where_it_is_true_and_nowhere_else(
    code: str, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    if code == "lore-key-too-slow":
        monkeypatch.setattr("tui_chat.context.lorebooks.keys.BACKTRACKING_STEPS", 200_000)
    shows, silent = WALK[code][number]
    assert code in codes_of(shows())
    assert code not in codes_of(silent())


def test_the_walk_has_every_code_of_the_sources() -> None:
    assert tui_chat.context.__file__ is not None
    assert codes_in(Path(tui_chat.context.__file__).parent) - set(WALK) == set()
    assert set(WALK) - codes_in(Path(tui_chat.context.__file__).parent) == set()


def test_the_check_can_fail(tmp_path: Path) -> None:
    (tmp_path / "new.py").write_text('notes.append(Note(Level.INFO, "brand-new", "x"))\n')
    assert codes_in(tmp_path) == {"brand-new"}
    assert {level.value for level in Level} == {"info", "warning", "error"}
