"""The macros, a sentence each, and what no text may do to them."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from time import perf_counter

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.context.requests import ENDPOINT, HISTORY, LETTERS, built, codes, said
from tui_chat.context import Inputs, build_context
from tui_chat.context.macro_syntax import DEEPEST
from tui_chat.context.scene import ROOM
from tui_chat.model.envelope import ChatEnvelope, Turn
from tui_chat.model.message import Message
from tui_chat.model.preset import Preset, PresetMessage
from tui_chat.model.profile import Profile
from tui_chat.model.role import Role
from tui_chat.model.text import Origin, OriginKind

NOW = datetime(2024, 5, 1, 13, 5, 59, tzinfo=UTC)
ADA = Profile("Ada", "{{user}} is calm")
BOT = Role("r", "Bot")
TALK = (Message("user", "hi {{char}}", "1"), Message("assistant", "hello", "2"))
VARIABLES = {"Tone": "dry", "both": "session"}
PRESET_VARIABLES = {"both": "preset", "place": "Rome"}


def request(*messages: PresetMessage, **inputs: object) -> ChatEnvelope:
    given = {
        "history": TALK,
        "draft": "",
        "now": NOW,
        "profile": ADA,
        "role": BOT,
        "variables": VARIABLES,
        "preset_variables": PRESET_VARIABLES,
        **inputs,
    }
    return built(*messages, HISTORY, **given)


def turn_of(source: str, **inputs: object) -> Turn | None:
    turns = request(said(source, id="it"), **inputs).turns
    return next((turn for turn in turns if turn.origin.id == "it"), None)


def expanded(source: str, **inputs: object) -> str:
    turn = turn_of(source, **inputs)
    return turn.text.plain if turn else ""


@pytest.mark.parametrize(
    ("sentence", "source", "expected"),
    [
        ("user and char are the names of profile and role", "{{user}}, {{char}}", "Ada, Bot"),
        ("names ignore case and blanks around them", "{{USER}} {{ Char }}", "Ada Bot"),
        ("persona is the profile, its macros expanded", "{{persona}}!", "Ada is calm!"),
        ("the clock is told", "{{date}} {{time}} {{weekday}}", "2024-05-01 13:05 Wednesday"),
        ("the last messages are quoted, not expanded", "{{lastMessage}}/{{lastUserMessage}}",
         "hello/hi {{char}}"),
        ("session and preset have variables, the session's win",
         "{{getvar::tone}} {{getvar::both}} {{getvar::place}}", "dry session Rome"),
        ("a variable can be named alone", "{{tone}} {{Place}}", "dry Rome"),
        ("what is set is there from then on", "{{x}}{{setvar::x::{{user}}!}}{{x}}{{getvar::X}}",
         "{{x}}Ada!Ada!"),
        ("an unset variable is nothing", "[{{getvar::nobody}}]", "[]"),
        ("trim takes the line breaks on both sides", "a\n\n{{trim}}\r\n\nb", "ab"),
        ("trim takes no blanks", "a \n{{trim}}\n b", "a  b"),
        ("trim looks past what became nothing", "a\n{{noop}}{{trim}}{{// x}}\n\nb", "ab"),
        ("newline is a line break", "a{{newline}}b{{newline::2}}c", "a\nb\n\nc"),
        ("a comment is nothing, whatever it holds", "a{{// {{setvar::x::1}} }}b{{x}}", "ab{{x}}"),
        ("macros stand inside macros", "{{setvar::{{user}}::{{char}}}}{{getvar::ada}}", "Bot"),
        ("escaped braces are braces", r"\{\{user\}\} {{user}}", "{{user}} Ada"),
        ("escaped braces end no macro", r"{{setvar::x::\{\{user\}\}}}{{x}}", "{{user}}"),
        ("lone backslashes are left alone", r"\{1\} {{user}} \}", r"\{1\} Ada \}"),
        ("of three braces the inner two count", "{{{user}}}", "{Ada}"),
        ("an unknown macro stays, those inside are expanded", "{{what::{{user}}}}",
         "{{what::Ada}}"),
        ("what is no macro stays", "{{user {{char}} }} {{ {{}} }}x}}",
         "{{user Bot }} {{ {{}} }}x}}"),
        ("arguments too many or too few leave it as it is", "{{user::x}}{{setvar::x}}{{roll}}",
         "{{user::x}}{{setvar::x}}{{roll}}"),
        ("dice that are none leave it as it is", "{{roll::2d}}{{roll::0d6}}{{roll::9999d6}}",
         "{{roll::2d}}{{roll::0d6}}{{roll::9999d6}}"),
        ("dice of one face show it", "{{roll::3d1}} {{roll:d1+4}} {{roll 1}}", "3 5 1"),
        ("random of one is that one", "{{random::a}}{{pick::b}}{{random::}}", "ab"),
        ("a single argument of random is parted at commas", r"{{random:a\,b}}", "a,b"),
        ("an argument may be empty", "[{{setvar::x::}}{{x}}]", "[]"),
    ],
)  # fmt: skip
def test_macros(sentence: str, source: str, expected: str):
    assert expanded(source) == expected, sentence


def test_the_draft_is_the_last_message():
    assert expanded("{{lastMessage}} {{lastUserMessage}}", draft="now") == "now now"
    assert expanded("{{lastCharMessage}}", draft="now") == "hello"
    assert expanded("[{{lastMessage}}]", history=()) == "[]"


def test_history_and_draft_are_sent_to_the_letter():
    envelope = request(history=(Message("user", "{{user}} \\{\\{", "1"),), draft="{{char}}")
    assert [turn.text.plain for turn in envelope.turns] == ["{{user}} \\{\\{", "{{char}}"]


def test_role_profile_and_preset_are_expanded():
    envelope = request(
        PresetMessage("who", type="user_profile", role="user"),
        role=replace(BOT, system_prompt="I am {{char}}."),
    )
    assert [turn.text.plain for turn in envelope.turns[:2]] == ["I am Bot.", "Ada is calm"]


def test_variables_are_set_from_the_top_of_the_list_down():
    envelope = request(
        said("{{getvar::mood}}1"),
        said("{{setvar::mood::grim}}"),
        said("{{mood}}2", role="system"),
        said("{{mood}}3", insertion_point=0),
        role=replace(BOT, system_prompt="{{getvar::mood}}0"),
    )
    assert [t.text.plain for t in envelope.turns[:4]] == ["0", "grim2", "1", "grim3"]


def test_chance_comes_from_the_seed_and_the_place():
    many = "{{random::a::b}}" * 64
    first = expanded(many, seed=1)
    assert set(first) == {"a", "b"}
    assert expanded(many, seed=1) == first
    assert expanded(many, seed=2) != first
    rolls = {int(expanded("{{roll::2d6}}", seed=seed)) for seed in range(300)}
    assert rolls == set(range(2, 13))


def test_a_pick_lasts_as_long_as_the_session():
    picks = "{{pick::a::b::c}}" * 16
    assert expanded(picks, seed=1) == expanded(picks, seed=2)
    assert expanded(picks, session_seed=1) != expanded(picks, session_seed=2)
    assert expanded(picks + "{{user}}", draft="x").startswith(expanded(picks))


def test_a_line_of_which_nothing_is_left_is_not_sent():
    envelope = request(said("{{setvar::a::b}}\n{{// done}}"), said("{{a}}"))
    assert [turn.text.plain for turn in envelope.turns] == ["b", "hi {{char}}", "hello"]
    assert codes(envelope) == ["empty-content"]


def test_every_character_knows_whether_it_was_written_or_expanded():
    turn = turn_of("Hello {{user}}, \\{\\{ {{what::{{char}}}}\n{{trim}}!")
    assert turn is not None
    preset = Origin(OriginKind.PRESET, "it")
    spans = [(s.text, str(s.origin.kind), s.origin.id, s.start) for s in turn.text.spans]
    assert spans == [
        ("Hello ", "preset", "it", 0),
        ("Ada", "macro", "{{user}}", 0),
        (", ", "preset", "it", 14),
        ("{", "preset", "it", 17),
        ("{ {{what::", "preset", "it", 19),
        ("Bot", "macro", "{{char}}", 0),
        ("}}", "preset", "it", 37),
        ("!", "preset", "it", 48),
    ]
    assert {span.origin.within for span in turn.text.spans} == {None, preset}


fragments = st.sampled_from(
    ["{{", "}}", "{", "}", "::", ":", " ", "\\{\\{", "\\}\\}", "\\", ",", "\n", "你", "x", "2d6",
     "user", "char", "random", "roll", "pick", "setvar", "getvar", "trim", "newline", "//",
     "persona", "lastmessage", "{{user}}", "{{setvar::x::", "{{getvar::x}}", "{{trim}}",
     "{{random::a::b}}"]
)  # fmt: skip
sources = st.lists(fragments, max_size=30).map("".join)


@given(sources, st.integers(0, 3))
@example("{{trim}}", 0)
def test_any_text_is_expanded_and_every_origin_is_right(source: str, seed: int):
    turn = turn_of(source, seed=seed)
    again = turn_of(source, seed=seed)
    if turn is None or again is None:
        assert turn is again
        return
    assert turn.text == again.text
    assert "".join(span.text for span in turn.text.spans) == turn.text.plain
    at = 0
    for span in turn.text.spans:
        if span.origin.kind is OriginKind.PRESET:
            assert source[span.start : span.start + len(span.text)] == span.text
            assert span.start >= at  # what was written stays in its order
            at = span.start + len(span.text)
        else:
            assert span.origin.kind is OriginKind.MACRO
            assert span.origin.id in source
            assert span.origin.within == turn.origin


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=40))
def test_a_text_without_double_braces_is_left_alone(source: str):
    if source.strip() and "{{" not in source and "\\{\\{" not in source:
        assert expanded(source) == source


@given(st.lists(sources, max_size=4), st.lists(st.integers(0, 2), min_size=2, max_size=5))
def test_what_is_remembered_is_what_would_be_expanded_afresh(texts: list[str], seeds: list[int]):
    def inputs(seed: int) -> Inputs:
        return Inputs(
            ENDPOINT, preset, TALK, f"draft {seed}", seed=seed, profile=ADA, role=BOT, now=NOW
        )

    messages = tuple(said(text or "x", id=str(n)) for n, text in enumerate(texts))
    preset = Preset("kept", messages)
    for seed in seeds:
        kept = build_context(inputs(seed), lambda _: LETTERS)
        fresh = build_context(
            replace(inputs(seed), preset=Preset("fresh", tuple(replace(m) for m in messages))),
            lambda _: LETTERS,
        )
        assert [turn.text for turn in kept.turns] == [turn.text for turn in fresh.turns]
        assert kept.notes == fresh.notes


@pytest.mark.parametrize(
    "source",
    [
        "{{" * 20_000,
        "}}" * 20_000,
        "{{x::" * 5_000 + "}}" * 5_000,
        ("{{roll::" * DEEPEST + "}}" * DEEPEST) * 50,
        ("{{what::" * DEEPEST + "}}" * DEEPEST) * 50,
        "{{setvar::a::xxxxxxxx}}" + "{{setvar::a::{{getvar::a}}{{getvar::a}}}}" * 60 + "{{a}}",
        "{{newline::9999}}" * 1_000,
        "{{random::" * DEEPEST + "{{user}}" * 1_000 + "}}" * DEEPEST,
        "\n" * 50_000 + "{{trim}}" * 1_000,
        "{{lastMessage}}" * 20_000,
    ],
    ids=lambda source: source[:12].strip() or "breaks",
)
def test_no_text_makes_it_large_or_slow(source: str):
    began = perf_counter()
    plain = expanded(source, history=(Message("user", "long " * 2_000, "1"),))
    assert len(plain) <= ROOM + len(source)
    assert perf_counter() - began < 20  # seconds; exponential ones would take years


def test_a_profile_that_names_itself_ends():
    who = PresetMessage("who", type="user_profile", role="user")
    envelope = request(who, profile=Profile("Ada", "a {{persona}} b"))
    assert envelope.turns[0].text.plain == "a a {{persona}} b b"


def test_every_macro_is_told_in_a_line() -> None:
    from tui_chat.context.macro_table import MACROS
    from tui_chat.context.macro_words import MACRO_WORDS, macros_beginning
    from tui_chat.context.scene import _WORDS, is_word

    told = {macro.name for macro in MACRO_WORDS}
    assert told == {*MACROS, *filter(is_word, _WORDS), "trim", "//"}
    assert [m.written for m in macros_beginning("tone", ("Tone",))] == ["{{getvar::Tone}}"]


def test_a_macro_that_is_never_closed_is_told():
    envelope = built(said("Hi {{user, this is {{char}}"), HISTORY)
    assert envelope.turns[0].text.plain == "Hi {{user, this is Assistant"
    notes = [note.sentence for note in envelope.notes if note.code == "macro-stays"]
    assert len(notes) == 1
    assert "“{{user, this is {{char}}”" in notes[0]
    assert "“}}”" in notes[0]
    closed = built(said("{{user}} \\{\\{ }}"), HISTORY)
    assert "macro-stays" not in codes(closed)
