"""Lorebooks, a sentence each."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from tests.support.contexts import (
    ENDPOINT,
    HISTORY,
    LETTERS,
    U1,
    built,
    codes,
    entry,
    order,
    said,
    told,
)
from tests.support.strategies import histories, presets, words
from tests.support.tables import each_row
from tui_chat.context import Inputs, SessionSettings, build
from tui_chat.models.envelope import ChatEnvelope, Level
from tui_chat.models.lorebook import Lorebook, LorebookEntry
from tui_chat.models.message import Message
from tui_chat.models.preset import Preset, PresetMessage
from tui_chat.models.role import Profile
from tui_chat.models.settings import LoreRules
from tui_chat.models.text import Origin, OriginKind
from tui_chat.plugins.sillytavern.lore.keys import SEARCHED_CHARACTERS
from tui_chat.plugins.sillytavern.lore.search import MAX_ROUNDS, MAX_SEARCHED_ENTRIES


def lore(envelope: ChatEnvelope) -> str:
    return " ".join(
        turn.text.plain for turn in envelope.turns if turn.origin.kind is OriginKind.LORE
    )


@each_row(
    ("sentence", "key", "comes_up"),
    [
        ("a word that occurs", "red", True),
        ("a word that does not", "green", False),
        ("case is ignored", "dRAGON", True),
        ("a word inside a longer one is none", "rag", False),
        ("several words are found as they stand", "red dragon", True),
        ("several words may begin inside a word", "ed Drag", True),
        ("only the newest two messages are searched", "rome", False),
        ("blanks around a key do not count", " tea ", True),
        ("a key of white space occurs in every text", "  ", True),
        ("a pattern", "/dragons?/i", True),
        ("a pattern minds case by itself", "/dragon/", False),
        ("a pattern minds borders by itself", "/rag/", True),
        ("a broken pattern is plain text", "/(/", False),
        ("no key is found across two messages", "tea a", False),
        ("the names stand in keys, too", "{{user}}", True),
    ],
)
def test_a_key_activates_its_entry(sentence: str, key: str, comes_up: bool):
    history = (
        Message.of("user", "Rome"),
        Message.of("assistant", "tea"),
        Message.of("user", "A Red Dragon"),
    )
    if "{{" in key:
        history = (Message.of("user", "I am Ada"),)
    envelope = built(
        HISTORY,
        history=history,
        draft="",
        profile=Profile("Ada", ""),
        lorebooks=(Lorebook("Book", (entry("LORE", key),)),),
    )
    assert lore(envelope) == ("LORE" if comes_up else ""), sentence


@each_row(
    ("logic", "expected"),
    [("and_any", "one both"), ("and_all", "both"), ("not_any", "none"), ("not_all", "none one")],
)
def test_secondary_keys(logic: str, expected: str):
    given = {"none": ("x", "y"), "one": ("tea", "y"), "both": ("tea", "red")}
    envelope = told(
        *(
            entry(name, "dragon", secondary_keys=keys, secondary_logic=logic, order=-number)
            for number, (name, keys) in enumerate(reversed(given.items()))
        )
    )
    assert lore(envelope) == expected


@each_row(
    ("sentence", "more", "expected"),
    [
        ("a constant one needs no key", {"constant": True, "keys": ()}, "LORE"),
        ("a disabled one is never active", {"enabled": False}, ""),
        ("depth 0 searches nothing", {"scan_depth": 0}, ""),
        ("depth 1 is the newest message", {"scan_depth": 1}, "LORE"),
        ("deeper ones reach further", {"scan_depth": 3, "keys": ("rome",)}, "LORE"),
        ("a depth beyond the beginning is all", {"scan_depth": 99, "keys": ("rome",)}, "LORE"),
        ("an entry may mind case", {"case_sensitive": True}, ""),
        ("an entry may take parts of words", {"keys": ("rag",), "whole_words": False}, "LORE"),
        ("probability 0 is never", {"probability": 0}, ""),
    ],
)
def test_entry_options(sentence: str, more: dict[str, object], expected: str):
    assert lore(told(entry("LORE", **{"keys": ("dragon",), **more}))) == expected, sentence  # type: ignore[arg-type]


def test_the_draft_is_the_newest_message():
    rome, tea = entry("ROME", "rome"), entry("TEA", "tea")
    assert lore(told(rome, tea, draft="")) == "TEA"
    assert lore(told(rome, tea, draft="what of Rome?")) == "ROME"


def test_chinese_keys_are_found_inside_chinese_text():
    books = (Lorebook("b", (entry("LORE", "龙"),)),)
    assert lore(built(HISTORY, draft="一条龙在飞", lorebooks=books)) == "LORE"


def test_probability_uses_the_seed():
    books = (Lorebook("b", tuple(entry(str(n), "d", probability=50) for n in range(40))),)
    first, again, other = (lore(built(HISTORY, lorebooks=books, session_seed=s)) for s in (1, 1, 2))
    assert first == again != other
    assert 8 < len(first.split()) < 32


def test_active_entries_can_activate_others():
    chain = [entry("egg", "dragon"), entry("nest", "egg"), entry("twig", "nest")]
    assert set(lore(told(*chain)).split()) == {"egg", "nest", "twig"}
    assert lore(told(*chain, recursive=False)) == "egg"
    assert set(lore(told(*chain, max_recursion=1)).split()) == {"egg", "nest"}
    assert lore(told(chain[0], replace(chain[1], exclude_recursion=True))) == "egg"
    assert lore(told(replace(chain[0], prevent_recursion=True), chain[1])) == "egg"
    late = entry("late", "dragon", "egg", delay_until_recursion=True)
    assert lore(told(late)) == ""
    assert set(lore(told(late, chain[0])).split()) == {"late", "egg"}


def test_entries_that_activate_each_other_terminate():
    assert set(lore(told(entry("a b", "dragon"), entry("b a", "a"))).split()) == {"a", "b"}


def test_recursion_is_bounded_with_a_note():
    chain = [entry(f"k{n + 1}", f"k{n}", constant=n == 0) for n in range(MAX_ROUNDS + 9)]
    envelope = told(*chain, max_recursion=10**9)
    assert len(lore(envelope).split()) == MAX_ROUNDS + 1
    assert codes(envelope) == ["lore-not-searched"]
    crowd = [entry(f"c{n}", constant=True) for n in range(MAX_SEARCHED_ENTRIES + 9)]
    envelope = told(*crowd, entry("last", f"c{MAX_SEARCHED_ENTRIES}"), entry("met", "c1"))
    assert len(lore(envelope).split()) == MAX_SEARCHED_ENTRIES + 10
    assert "10 more was not" in next(n.sentence for n in envelope.notes)


def test_the_highest_order_is_last_and_charged_first():
    some = [
        entry("low", "red", order=1),
        entry("high", "red", order=9),
        entry("mid", "red", order=5),
    ]
    assert lore(told(*some)) == "low mid high"
    envelope = told(*some, token_budget=8 + 7 - 1)  # its letters, and four a turn
    assert lore(envelope) == "high"
    (note,) = [note for note in envelope.notes if note.code == "lore-left-out"]
    assert "“red”, “red”" in note.sentence
    assert note.level is Level.WARNING
    free = replace(some[0], ignore_budget=True)
    assert lore(told(free, *some[1:], token_budget=0)) == "low"


def test_all_books_together_can_have_a_limit():
    one, two = Lorebook("1", (entry("aa", "d"),)), Lorebook("2", (entry("bb", "d"),))
    books = (replace(one, entries=(entry("aa", constant=True),)), two)
    history = (Message.of("user", "d", "u"),)
    rules = {limit: LoreRules(token_budget=limit) for limit in (9, 100)}
    envelopes = {
        limit: built(
            HISTORY, history=history, lorebooks=books, settings=SessionSettings(lore=lore_rules)
        )
        for limit, lore_rules in rules.items()
    }
    assert codes(envelopes[100]) == []
    (note,) = envelopes[9].notes
    assert (note.code, note.level) == ("lore-left-out", Level.WARNING)
    assert note.sentence.startswith("Lore entries may use 9 tokens; left out: ")


def test_entries_of_equal_order_are_reversed():
    one, two = Lorebook("1", (entry("a", "d"), entry("b", "d"))), Lorebook("2", (entry("c", "d"),))
    assert lore(built(HISTORY, lorebooks=(one, two))) == "c b a"


def test_a_duplicate_lorebook_gets_one_note():
    book = Lorebook("1", (entry("a", "d"),))
    assert lore(built(HISTORY, lorebooks=(book, book))) == "a"


@each_row(
    ("placement", "where", "expected"),
    [
        ("hoist", {}, "S LORE P U1 A1 U2 A2 D E"),
        ("in_place", {}, "S P LORE U1 A1 U2 A2 D E"),
        ("hoist", {"role": "user"}, "S P LORE U1 A1 U2 A2 D E"),
        ("in_place", {"anchor_point": "before"}, "S P LORE U1 A1 U2 A2 D E"),
        ("in_place", {"anchor_point": "after"}, "S P U1 A1 U2 A2 D LORE E"),
        ("in_place", {"anchor_target": "world"}, "S LORE P U1 A1 U2 A2 D E"),
        ("in_place", {"insertion_point": -1}, "S P U1 A1 U2 A2 LORE D E"),
        ("hoist", {"insertion_point": -1, "role": "assistant"}, "S P U1 A1 U2 A2 LORE D E"),
        ("in_place", {"anchor_target": "nowhere"}, "S P LORE U1 A1 U2 A2 D E"),
    ],
)
def test_placement_of_lore(placement: str, where: dict[str, object], expected: str):
    envelope = built(
        said("S", role="system"),
        PresetMessage("world", type="placeholder"),
        said("P"),
        HISTORY,
        said("E"),
        placement=placement,
        lorebooks=(Lorebook("Book", (entry("LORE", "d", **where),)),),
    )
    assert order(envelope) == expected


def test_active_lore_gives_its_origin_and_reason():
    envelope = told(entry("EGG", "red", name="Eggs"), entry("NEST", "/EGG/", name="Nests"))
    rules = {turn.text.plain: turn.placement.rule for turn in envelope.turns}
    assert rules["EGG"].startswith(
        "This lore entry is active because “red” occurs in message “A red"
    )
    assert "because “/EGG/” occurs in the lore entry “Eggs”" in rules["NEST"]
    (egg,) = [turn for turn in envelope.turns if turn.text.plain == "EGG"]
    assert egg.origin == Origin(
        OriginKind.LORE, "Book/EGG", "Eggs", Origin(OriginKind.LORE, "Book")
    )
    assert egg.text.spans[0].origin == egg.origin
    in_draft = told(entry("X", "here"), draft="here")
    assert any("occurs in the draft" in turn.placement.rule for turn in in_draft.turns)


def test_macros_in_lore_are_expanded():
    envelope = told(entry("Hi {{user}}", "red", id="greeting"))
    (turn,) = [turn for turn in envelope.turns if turn.origin.kind is OriginKind.LORE]
    assert turn.text.plain == "Hi User"
    assert turn.text.spans[1].origin.within == turn.origin


def test_patterns_search_the_beginning_of_a_long_text():
    books = (Lorebook("b", (entry("LORE", "/needle/"),)),)
    for before, found in ((0, "LORE"), (SEARCHED_CHARACTERS, "")):
        text = "x" * before + "needle" + "x" * (SEARCHED_CHARACTERS - before)
        assert lore(built(HISTORY, draft=text, lorebooks=books)) == found


PATTERNS = {
    "an escaped slash": (r"/red\/black/", "red/black", "red black"),
    "no literal": (r"/[A-Z]{3}\d+/", "unit ABC12", "unit Abc12"),
    "no character": (r"/\W{4}/", "?!", "?a"),
}


@each_row("kind", PATTERNS)
@each_row("where", ["message", "draft", "other entry"])
def test_patterns_of_all_kinds_activate_entries(kind: str, where: str):
    pattern, present, absent = PATTERNS[kind]
    for text, found in ((present, "LORE"), (absent, "")):
        spoken = "start" if where == "other entry" else text
        entries = entry("LORE", pattern), entry(text, "start", id="other")
        books = (Lorebook("b", entries[: 1 + (where == "other entry")]),)
        history = (Message.of("user", spoken, "1"),) if where != "draft" else (U1,)
        envelope = built(
            HISTORY, history=history, draft=spoken if where == "draft" else "", lorebooks=books
        )
        told_of = [turn.text.plain for turn in envelope.turns if turn.text.plain == "LORE"]
        assert "".join(told_of) == found
        assert not [note for note in envelope.notes if note.code.startswith("lore-key")]


@each_row(
    ("key", "reason"),
    [
        ("/dragon(?!fly)/i", "looks around a place with (?!"),
        (r"/\b(\w+) \1\b/", "has a back-reference"),
        (r"/\p{L}+/u", "names a Unicode property"),
    ],
)
def test_a_pattern_that_cannot_be_used_is_named_with_the_reason(key: str, reason: str):
    envelope = told(entry("SLY", key, name="Sly"), entry("LORE", "dragon"))
    assert lore(envelope) == "LORE"
    (note,) = (note for note in envelope.notes if note.code == "lore-key")
    assert f"The key {key} of the lore entry “Sly”" in note.sentence
    assert f"it {reason}" in note.sentence
    assert note.origin is not None
    assert note.origin.id == "Book/SLY"


def test_further_typing_keeps_active_entries():
    first, second = (
        told(entry("LORE", "dragon"), entry("{{user}}", "red"), draft=draft)
        for draft in ("a", "ab")
    )
    assert first.turns[0].text == second.turns[0].text
    books = (Lorebook("Book", (entry("LORE", "dragon"), entry("{{user}}", "dragon"))),)
    inputs = Inputs(ENDPOINT, Preset("p", (HISTORY,)), (U1,), "a dragon", lorebooks=books)
    one = build(inputs, lambda _: LETTERS)
    two = build(replace(inputs, draft="a dragon!"), lambda _: LETTERS)
    assert one.turns[:-1] == two.turns[:-1]  # the very same objects


KEY_TEXTS = st.sampled_from(["a", "b", "ab", "c#1", "/a.b/", "你", "{{user}}", ""])
entries = st.lists(
    st.builds(
        LorebookEntry,
        id=st.sampled_from("xyz"),
        content=words,
        keys=st.lists(KEY_TEXTS, max_size=2).map(tuple),
        secondary_keys=st.lists(KEY_TEXTS, max_size=2).map(tuple),
        secondary_logic=st.sampled_from(["and_any", "and_all", "not_any", "not_all"]),
        constant=st.booleans(),
        order=st.integers(0, 2),
        role=st.sampled_from(["system", "user", "assistant"]),
        insertion_point=st.one_of(st.none(), st.integers(-5, 5)),
        anchor_target=st.sampled_from([None, "p", "nowhere"]),
        scan_depth=st.one_of(st.none(), st.integers(-1, 4)),
        probability=st.sampled_from([0, 50, 100]),
    ),
    max_size=5,
)
books = st.builds(
    Lorebook,
    name=st.sampled_from(["one", "two"]),
    entries=entries.map(tuple),
    token_budget=st.one_of(st.none(), st.integers(0, 30)),
    max_recursion=st.integers(-1, 3),
)


@given(presets(), histories(6), words, st.lists(books, max_size=2), st.integers(0, 2))
def test_any_lorebook_keeps_every_message_and_its_reason(
    preset: Preset, history: tuple[Message, ...], draft: str, some: list[Lorebook], seed: int
):
    inputs = Inputs(ENDPOINT, preset, history, draft, lorebooks=tuple(some), session_seed=seed)
    envelope = build(inputs, lambda _: LETTERS)
    without = build(replace(inputs, lorebooks=()), lambda _: LETTERS)
    others = [turn for turn in envelope.turns if turn.origin.kind is not OriginKind.LORE]
    assert [turn.text for turn in others] == [turn.text for turn in without.turns]
    for turn in envelope.turns:
        if turn.origin.kind is OriginKind.LORE:
            assert turn.placement.rule.startswith("This lore entry is ")
    afresh = tuple(replace(book, entries=tuple(map(replace, book.entries))) for book in some)
    again = build(replace(inputs, lorebooks=afresh), lambda _: LETTERS)
    assert [(turn.text, turn.placement) for turn in again.turns] == [
        (turn.text, turn.placement) for turn in envelope.turns
    ]
    assert again.notes == envelope.notes
