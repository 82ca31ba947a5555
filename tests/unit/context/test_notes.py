"""Notes of the context builder and rules that place a turn, each with a request that it is true of
and one close to it that must not show it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

import pytest

from tests.support.contexts import (
    A1,
    ENDPOINT,
    HISTORY,
    LETTERS,
    ROLE,
    SPOT,
    U1,
    U2,
    built,
    codes,
    entry,
    rules,
    said,
    summary,
    told,
)
from tests.support.messages import thought
from tests.support.tables import each_row
from tui_chat.context import Inputs, SessionSettings, build, build_context
from tui_chat.models.blocks import CallBlock
from tui_chat.models.endpoint import Endpoint, Protocol
from tui_chat.models.envelope import ChatEnvelope
from tui_chat.models.generation import ChatSettings, GenerationKind
from tui_chat.models.lorebook import Lorebook, LorebookEntry
from tui_chat.models.message import Message, Muted, tool_result
from tui_chat.models.preset import Preset, PresetMessage
from tui_chat.models.role import Character, Profile, Role
from tui_chat.models.settings import TextScript

State = Callable[[], ChatEnvelope]
ADA = Profile("Ada", "Calm.")
CARD = Role("c", "Mira", character=Character(description="Keeps the light."))
LINKED = Role("c", "Mira", character=Character(world="Town"))
AT_SPOT = said("X", anchor_target="spot")


def of(*messages: PresetMessage, **inputs: object) -> State:
    return partial(built, HISTORY, *messages, **inputs)


def bare(*messages: PresetMessage) -> State:
    """Without an anchor for the history."""
    return partial(built, *messages)


def limited(tokens: int) -> State:
    return of(context_limit=tokens, reply_reserve=0)


def x(**where: object) -> PresetMessage:
    return said("X", **where)


def at(depth: int) -> PresetMessage:
    return x(insertion_point=depth)


def lore_of(*entries: LorebookEntry, **book: object) -> State:
    return partial(told, *entries, **book)


def without_plugins(*scripts: TextScript) -> ChatEnvelope:
    settings = SessionSettings(scripts=scripts)
    inputs = Inputs(ENDPOINT, Preset("p", (HISTORY,)), (U1,), "D", settings=settings)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tui_chat.context.builders.parts_at", lambda _: iter(()))
        return build(inputs, lambda _: LETTERS)


def with_model(model: str) -> ChatEnvelope:
    endpoint = Endpoint("e", Protocol.OPENAI_CHAT, "https://e.invalid", models=(model,))
    endpoint = endpoint if model else replace(endpoint, models=())
    return build_context(Inputs(endpoint, Preset("p", (HISTORY,)), (), "D"), lambda _: LETTERS)


def summarized(is_enabled: bool) -> ChatEnvelope:
    return built(HISTORY, history=(U1, summary("S", 0, enabled=is_enabled)))


def with_muted(*, message: bool = False, reasoning: bool = False, draft: str = "D") -> ChatEnvelope:
    """A request whose last message, a user's, and whose reasoning before it may be muted."""
    thoughts = thought(Protocol.OPENAI_CHAT, "Hm.", kind="reasoning")
    blocks = (thoughts, CallBlock("x", "look", "{}"))
    history = (
        Message("assistant", blocks, "a", muted=Muted(blocks=(0,) if reasoning else ())),
        Message("tool", tool_result("x", "R"), "r"),
        replace(U1, muted=Muted(message)),
    )
    return built(HISTORY, history=history, draft=draft)


def by_builder(name: str) -> ChatEnvelope:
    preset = Preset("p", (HISTORY,), builder=name)
    return build(Inputs(ENDPOINT, preset, (U1,), "D"), lambda _: LETTERS)


def chain(length: int) -> Iterator[LorebookEntry]:
    """Entries of which each activates the next."""
    return (entry(f"k{n + 1}", f"k{n}", constant=n == 0) for n in range(length))


NOTES: list[tuple[str, State, State]] = [
    ("blank-content", of(said(" \n")), of(said("x"))),
    ("blank-content", of(said("{{newline}}")), of(said("{{noop}}"))),
    ("depth-clamped", of(at(5)), of(at(4))),
    ("depth-clamped", of(at(-6)), of(at(-5))),
    ("doubled-anchor", of(SPOT, SPOT, AT_SPOT), of(SPOT, AT_SPOT)),
    (
        "doubled-anchor",
        of(replace(HISTORY, id="again")),
        of(replace(HISTORY, id="again", enabled=False)),
    ),
    ("history-muted", lambda: with_muted(message=True), with_muted),
    (
        "muted-message-sent",
        lambda: with_muted(message=True, draft=""),
        lambda: with_muted(message=True),
    ),
    (
        "muted-message-sent",
        lambda: with_muted(message=True, draft=""),
        lambda: with_muted(draft=""),
    ),
    ("muted-reasoning-sent", lambda: with_muted(reasoning=True), with_muted),
    ("empty-content", of(said("", id="e")), of(said("x"))),
    ("empty-content", of(said("{{// note}}")), of(said("{{setvar::a::b}}"))),
    ("empty-message", of(history=(Message.of("user", "", "1"), U1)), of(history=(U1,))),
    (
        "empty-value",
        of(said("x", requires="a")),
        of(said("x", requires="a"), preset_variables={"a": "b"}),
    ),
    ("history-dropped", limited(21), limited(99)),
    ("history-summarized", lambda: summarized(True), lambda: summarized(False)),
    ("idle-anchor", of(SPOT), of(SPOT, AT_SPOT)),
    (
        "idle-anchor",
        of(SPOT, replace(AT_SPOT, role="system")),
        of(SPOT, replace(AT_SPOT, role="system"), placement="in_place"),
    ),
    ("idle-anchor", of(SPOT, replace(AT_SPOT, enabled=False)), of(replace(SPOT, enabled=False))),
    ("lore-idle", lore_of(entry("x")), lore_of(entry("x", constant=True))),
    ("lore-key", lore_of(entry("x", "/(/")), lore_of(entry("x", "("))),
    (
        "lore-left-out",
        lore_of(entry("x" * 50, "red"), token_budget=20),
        lore_of(entry("x", "red"), token_budget=20),
    ),
    (
        "lore-not-searched",
        lore_of(*chain(200), max_recursion=10**9),
        lore_of(*chain(9), max_recursion=10**9),
    ),
    ("macro-stays", of(said("{{random::a")), of(said("{{random::a}}"))),
    ("missing-builder", lambda: by_builder("knitting"), lambda: by_builder("")),
    (
        "more-macros",
        of(said("".join(f"{{{{x{n}}}}}" for n in range(9)))),
        of(said("".join(f"{{{{x{n}}}}}" for n in range(8)))),
    ),
    ("no-history-anchor", bare(x()), of(x())),
    ("no-history-anchor", bare(x(), replace(HISTORY, enabled=False)), of(x())),
    ("no-model", lambda: with_model(""), lambda: with_model("m")),
    ("over-budget", limited(7), limited(8)),
    (
        "position-ignored",
        of(x(role="system", insertion_point=0)),
        of(x(role="system", insertion_point=0), placement="in_place"),
    ),
    ("position-ignored", of(x(insertion_point=0, anchor_point="after")), of(at(0))),
    ("role-disabled", of(role=replace(ROLE, status="disabled")), of(role=ROLE)),
    ("role-missing", of(role_missing=True), of(role=ROLE)),
    (
        "role-prompt-skipped",
        of(role=ROLE, history=(Message.of("system", "S", "1"), U1)),
        of(role=ROLE, history=(U1,)),
    ),
    ("character-not-sent", of(role=CARD), of(said("{{description}}"), role=CARD)),
    (
        "lore-not-sent",
        lore_of(entry("X", constant=True, position="outlet", outlet="o")),
        lore_of(entry("X", constant=True)),
    ),
    ("lore-not-sent", of(role=LINKED), of(role=LINKED, lorebooks=(Lorebook("Town"),))),
    ("profile-not-sent", of(profile=ADA), of(said("{{persona}}"), profile=ADA)),
    ("profile-not-sent", of(profile=ADA), of(PresetMessage("p", type="user_profile"), profile=ADA)),
    (
        "texts-not-sent",
        lambda: without_plugins(TextScript("s", "a", "b", ("user",))),
        lambda: without_plugins(),
    ),
    ("unfilled-blank", of(draft="Dear {{?name}}"), of(draft="Dear Ada")),
    ("unknown-anchor", of(x(anchor_target="nowhere")), of(x(anchor_target="history"))),
    ("unknown-macro", of(said("{{nonsense}}")), of(said("{{user}}"))),
    (
        "unset-variable",
        of(said("x{{getvar::a}}")),
        of(said("x{{getvar::a}}"), preset_variables={"a": ""}),
    ),
]


@each_row(("code", "shows", "silent"), NOTES)
def test_a_note_is_shown_where_it_is_true_and_nowhere_else(
    code: str, shows: State, silent: State
) -> None:
    assert code in codes(shows())
    assert code not in codes(silent())


# Why a turn stands where it does, in the inspector below the body.

EXAMPLES = PresetMessage("examples", type="example_dialogues")
WITH_EXAMPLES = replace(ROLE, character=Character(example_dialogues="<START>\n{{user}}: E"))
WHO = PresetMessage("who", type="user_profile")
LORE = entry("LORE", constant=True, role="user")


def starting(start: str, **more: object) -> ChatEnvelope:
    return built(HISTORY, settings=SessionSettings(reply_start=start), **more)


def continued(kind: GenerationKind) -> ChatEnvelope:
    return built(HISTORY, history=(U1, A1), draft="", chat=ChatSettings(kind=kind))


IN_PLACE = "This is its place in the preset."
TALKED = "It is part of the conversation."
DRAFT = "Your draft follows the history."
FIRST = "System messages go first."
RULES: list[tuple[str, str, State, State]] = [
    ("U1", TALKED, of(), of(history=())),
    ("D", DRAFT, of(x()), of(draft="")),
    ("X", IN_PLACE, of(x()), of(at(0))),
    ("S", FIRST, of(said("S", role="system")), of(said("S", role="system"), placement="in_place")),
    (
        "ROLE",
        "The role's system prompt goes first.",
        of(role=ROLE),
        of(role=replace(ROLE, system_prompt="")),
    ),
    ("X", "It is anchored after the history.", of(x(anchor_point="after")), of(x())),
    (
        "X",
        "It is anchored after “spot”.",
        of(SPOT, x(anchor_target="spot")),
        of(replace(SPOT, enabled=False), x(anchor_target="spot")),
    ),
    (
        "Calm.",
        "The anchor “who” is the place of the profile.",
        of(WHO, profile=ADA),
        of(WHO, profile=replace(ADA, placement="depth", depth=1)),
    ),
    (
        "E",
        "It is an example dialogue of the character, at its anchor.",
        of(EXAMPLES, role=WITH_EXAMPLES),
        of(EXAMPLES, role=ROLE),
    ),
    ("X", "It goes before the oldest message of the history.", of(at(0)), of(at(1))),
    ("X", "It goes after message 1 of the history that is sent.", of(at(1)), of(at(2))),
    ("X", "Its depth 1 is after the newest message of the history.", of(at(-1)), of(at(-2))),
    (
        "X",
        "Its depth 2 is before the newest message of the history.",
        of(at(-2)),
        of(at(-2), history=(U1,)),
    ),
    ("X", "Its depth 3 is before the 2 newest messages of the history.", of(at(-3)), of(at(-4))),
    ("X", "It goes in the history, which is empty.", of(at(0), history=()), of(at(0))),
    (
        "START",
        "The setting “reply_start” puts it at the end.",
        lambda: starting("START"),
        lambda: starting(""),
    ),
    (
        "S",
        "It is a summary of earlier messages.",
        of(history=(U1, summary("S", 0), U2)),
        of(history=(U1, summary("S", 0, enabled=False), U2)),
    ),
    (
        "U1",
        "It is the message to be answered, which ends the history.",
        of(history=(U1,), draft=""),
        of(history=(U1, A1), draft=""),
    ),
    (
        "Continue your last",
        "The kind of generation puts it at the end.",
        lambda: continued("continue"),
        lambda: continued("normal"),
    ),
    (
        "LORE",
        "Without a position of its own, it goes before the history.",
        lore_of(LORE),
        lore_of(replace(LORE, anchor_target="history", anchor_point="before")),
    ),
]


@each_row(("word", "rule", "shows", "silent"), RULES)
def test_a_rule_is_shown_where_it_is_true_and_nowhere_else(
    word: str, rule: str, shows: State, silent: State
) -> None:
    assert rule in rules(shows(), word)
    assert rule not in rules(silent(), word)


# Why a macro or a key stays as it is written.

VALUES = {
    "a": "{{getvar::b}}",
    "b": "{{getvar::a}}",
    "long": "x" * 200_000,
    "word": "w",
}
GREETER = Role("r", "Ada", character=Character(first_message="Hello."))
MACROS: list[tuple[str, str, str]] = [
    ("is not a dice roll such as 2d6 or d20+1", "{{roll::x}}", "{{roll::d6}}"),
    ("takes 1 to 100 dice of at least one face", "{{roll::101d6}}", "{{roll::100d6}}"),
    ("takes 1 to 100 dice of at least one face", "{{roll::1d0}}", "{{roll::1d1}}"),
    ("does not name a greeting by its number", "{{greeting::x}}", "{{greeting::0}}"),
    ("takes an offset such as UTC+2", "{{time::now}}", "{{time::UTC-5}}"),
    ("takes a format such as %Y-%m-%d %H:%M", "{{datetimeformat::YYYY}}",
     "{{datetimeformat::%Y}}"),
    ("takes no arguments", "{{user::a}}", "{{user}}"),
    ("lacks an argument", "{{setvar::x}}", "{{setvar::x::y}}"),
    ("has too many arguments", "{{getvar::word::b::c}}", "{{getvar::word}}"),
    ("leads back to itself (variable “a” → variable “b” → variable “a”)", "{{getvar::a}}",
     "{{getvar::word}}"),
    ("would exceed the 2,000,000 characters that macros may expand to", "{{long}}" * 11,
     "{{long}}" * 9),
]  # fmt: skip
KEYS: list[tuple[str, str, str]] = [
    ("it has a group of an unknown kind", "/(?/", "/(?:a)/"),
    ("it is malformed (unterminated character set at position 0)", "/[a/", "/[a]/"),
    ("it is malformed (bad character range z-a at position 1)", "/[z-a]/", "/[a-z]/"),
    ("it names a Unicode property", r"/\p{Lu}/u", r"/[A-Z]/u"),
    ("it has the unknown escape \\c", r"/\cA/u", r"/\n/u"),
    ("it looks around a place with (?!", "/a(?!b)/", "/a(?:b)/"),
    ("it has a back-reference", r"/(a)\1/", "/(a)a/"),
]


@each_row(("why", "shows", "silent"), MACROS)
def test_why_a_macro_stays_is_said_where_it_is_true(why: str, shows: str, silent: str) -> None:
    def sentences(text: str) -> list[str]:
        made = built(HISTORY, said(text), preset_variables=VALUES, role=GREETER)
        return [note.sentence for note in made.notes if note.code == "macro-stays"]

    assert any(f"{why}; it stays as it is written." in each for each in sentences(shows))
    assert sentences(silent) == []


@each_row(("why", "shows", "silent"), KEYS)
def test_why_a_key_is_no_pattern_is_said_where_it_is_true(
    why: str, shows: str, silent: str
) -> None:
    [note] = [note for note in told(entry("x", shows)).notes if note.code == "lore-key"]
    assert f"is not a usable pattern: {why}; it is searched for as plain text." in note.sentence
    assert not [note for note in told(entry("x", silent)).notes if note.code == "lore-key"]


def test_a_second_anchor_of_the_profile_names_the_first() -> None:
    first, second = (PresetMessage(name, type="user_profile") for name in ("who", "again"))
    made = built(HISTORY, first, second, profile=ADA)
    [sentence] = [note.sentence for note in made.notes if note.code == "doubled-anchor"]
    assert sentence.endswith("is another anchor for the profile, which is sent once: at “who”.")
    made = built(HISTORY, first, profile=ADA)
    assert "doubled-anchor" not in [note.code for note in made.notes]
