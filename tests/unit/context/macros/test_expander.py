"""The macros, a sentence each, and what no text may do to them."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from time import thread_time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.support import golden
from tests.support.contexts import ENDPOINT, HISTORY, LETTERS, built, codes, said
from tests.support.macros import ADA, BOT, NOW, TALK, request
from tests.support.tables import each_row
from tui_chat.context import Inputs, build_context
from tui_chat.context.macros.expansion import MAX_DEPTH, MAX_EXPANSION, MAX_NOTES, MAX_VALUES
from tui_chat.models.envelope import ChatEnvelope, Turn
from tui_chat.models.message import Message
from tui_chat.models.preset import Preset, PresetMessage
from tui_chat.models.role import Profile
from tui_chat.models.text import Origin, OriginKind


def turn_of(source: str, **inputs: object) -> Turn | None:
    turns = request(said(source, id="it"), **inputs).turns
    return next((turn for turn in turns if turn.origin.id == "it"), None)


def expanded(source: str, **inputs: object) -> str:
    turn = turn_of(source, **inputs)
    return turn.text.plain if turn else ""


@each_row(
    ("sentence", "source", "expected"), golden.read(Path(__file__).parent / "data" / "macros.json")
)
def test_macros(sentence: str, source: str, expected: str):
    assert expanded(source) == expected, sentence


def test_the_draft_is_the_last_message():
    assert expanded("{{lastMessage}} {{lastUserMessage}}", draft="now") == "now now"
    assert expanded("{{lastCharMessage}}", draft="now") == "hello"
    assert expanded("[{{lastMessage}}]", history=()) == "[]"


def test_history_and_draft_are_sent_verbatim():
    envelope = request(history=(Message.of("user", "{{user}} \\{\\{", "1"),), draft="{{char}}")
    assert [turn.text.plain for turn in envelope.turns] == ["{{user}} \\{\\{", "{{char}}"]


def test_role_profile_and_preset_are_expanded():
    envelope = request(
        PresetMessage("who", type="user_profile", role="user"),
        role=replace(BOT, system_prompt="I am {{char}}."),
        profile=replace(ADA, placement="anchor"),
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


def test_random_choices_depend_on_seed_and_position():
    many = "{{random::a::b}}" * 64
    first = expanded(many, seed=1)
    assert set(first) == {"a", "b"}
    assert expanded(many, seed=1) == first
    assert expanded(many, seed=2) != first
    rolls = {int(expanded("{{roll::2d6}}", seed=seed)) for seed in range(300)}
    assert rolls == set(range(2, 13))


def test_a_pick_is_stable_within_a_session():
    picks = "{{pick::a::b::c}}" * 16
    assert expanded(picks, seed=1) == expanded(picks, seed=2)
    assert expanded(picks, session_seed=1) != expanded(picks, session_seed=2)
    assert expanded(picks + "{{user}}", draft="x").startswith(expanded(picks))


def test_a_line_that_expands_to_nothing_is_not_sent():
    envelope = request(said("{{setvar::a::b}}\n{{// done}}"), said("{{a}}"))
    assert [turn.text.plain for turn in envelope.turns] == ["b", "hi {{char}}", "hello"]
    assert codes(envelope) == []  # it is there for what it sets
    assert list(envelope.set_variables.values()) == [("a",)]
    assert codes(request(said("{{// done}}"))) == ["empty-content"]


def test_every_character_has_the_origin_of_its_text_or_macro():
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
def test_any_text_expands_with_correct_origins(source: str, seed: int):
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
def test_text_without_double_braces_is_unchanged(source: str):
    if source.strip() and "{{" not in source and "\\{\\{" not in source:
        assert expanded(source) == source


@given(st.lists(sources, max_size=4), st.lists(st.integers(0, 2), min_size=2, max_size=5))
def test_remembered_expansions_equal_fresh_ones(texts: list[str], seeds: list[int]):
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


@pytest.mark.slow
@each_row(
    "source",
    [
        "{{" * 20_000,
        "}}" * 20_000,
        "{{x::" * 5_000 + "}}" * 5_000,
        ("{{roll::" * MAX_DEPTH + "}}" * MAX_DEPTH) * 50,
        ("{{what::" * MAX_DEPTH + "}}" * MAX_DEPTH) * 50,
        "{{setvar::a::xxxxxxxx}}" + "{{setvar::a::{{getvar::a}}{{getvar::a}}}}" * 60 + "{{a}}",
        "{{newline::9999}}" * 1_000,
        "{{random::" * MAX_DEPTH + "{{user}}" * 1_000 + "}}" * MAX_DEPTH,
        "\n" * 50_000 + "{{trim}}" * 1_000,
        "{{lastMessage}}" * 20_000,
        "{{a " * 20_000,
        "{{random::" * 5_000 + "x" + "}}" * 5_000,
        "{{random::{{random::a,b}} " * 5_000,
        "{{getvar::twice30}}" * 300,
        "{{getvar::empty30}}" * 300,
        "{{wide}}" * 300,
    ],
    ids=lambda source: source[:12].strip() or "breaks",
)
def test_expansion_is_bounded_in_size_and_time(source: str):
    variables = {f"twice{n}": f"{{{{twice{n - 1}}}}}" * 2 for n in range(1, 31)}
    variables |= {f"empty{n}": f"{{{{empty{n - 1}}}}}" * 2 for n in range(1, 31)}
    variables |= {"twice0": "long " * 400, "empty0": "{{noop}}", "wide": "{{wider}}" * 10_000}
    variables |= {"wider": "{{user}}" * 10_000}
    history = (Message.of("user", "long " * 2_000, "1"),)
    began = thread_time()
    plain = expanded(source, history=history, variables=variables)
    assert len(plain) <= MAX_EXPANSION + len(source)
    assert thread_time() - began < 20  # seconds; exponential ones would take years


def test_an_unclosed_macro_gets_a_note():
    envelope = built(said("Hi {{user, this is {{char}}"), HISTORY)
    assert envelope.turns[0].text.plain == "Hi {{user, this is Assistant"
    notes = [note.sentence for note in envelope.notes if note.code == "macro-stays"]
    assert len(notes) == 1
    assert "“{{user, this is {{char}}”" in notes[0]
    assert "“}}”" in notes[0]
    closed = built(said("{{user}} \\{\\{ }}"), HISTORY)
    assert "macro-stays" not in codes(closed)


def notes_of(envelope: ChatEnvelope) -> list[tuple[str, str]]:
    return [(note.code, note.sentence) for note in envelope.notes]


def values(**given: str) -> dict[str, object]:
    return {"preset_variables": given, "variables": {}}


def test_an_expanded_value_has_the_origin_of_its_macro():
    turn = turn_of("I am {{card}}.")
    assert turn is not None
    origin = Origin(OriginKind.MACRO, "{{card}}", "{{card}}", Origin(OriginKind.PRESET, "it"))
    spans = [(span.text, span.origin.kind, span.start) for span in turn.text.spans]
    assert spans == [
        ("I am ", OriginKind.PRESET, 0),
        ("Bot knows Ada", OriginKind.MACRO, 0),
        (".", OriginKind.PRESET, 13),
    ]
    assert turn.text.spans[1].origin == origin


@each_row(
    ("source", "given", "plain", "macro", "place"),
    [
        ("<{{a}}>", {"a": "1 {{a}} 2"}, "<1 {{a}} 2>", "{{a}}", "variable “a” → variable “a”"),
        ("<{{a}}>", {"a": "1{{b}}", "b": "2{{getvar::c}}", "c": "3{{a}}"}, "<123{{a}}>",
         "{{a}} in variable “c”", "variable “a” → variable “b” → variable “c” → variable “a”"),
        ("{{b}}", {"b": "x{{persona}}"}, "xAda {{persona}}", "{{persona}} in the profile",
         "the profile → the profile"),
    ],
)  # fmt: skip
def test_a_cycle_of_values_ends_with_a_note(
    source: str, given: dict[str, str], plain: str, macro: str, place: str
):
    ada = Profile("Ada", "Ada {{persona}}", "none")
    envelope = request(said(source, id="it", name="Main"), profile=ada, **values(**given))
    assert envelope.turns[0].text.plain == plain
    (note,) = envelope.notes
    assert note.code == "macro-stays"
    assert macro in note.sentence
    assert place in note.sentence
    assert "in preset message “Main” leads back to itself" in note.sentence
    assert note.origin == envelope.turns[0].origin


def test_a_set_variable_is_not_part_of_a_cycle():
    source = "{{a}}|{{setvar::a::end}}{{a}}"
    assert expanded(source, **values(a="{{b}}", b="[{{a}}]")) == "[{{a}}]|end"


def test_values_are_expanded_to_a_bounded_depth():
    chain = {f"v{n}": f"{n}{{{{v{n + 1}}}}}" for n in range(99)} | {"v99": "end"}
    envelope = request(said("{{v0}}!", name="Main"), **values(**chain))
    plain = envelope.turns[0].text.plain
    assert plain == "".join(map(str, range(MAX_DEPTH))) + f"{{{{v{MAX_DEPTH}}}}}!"
    (note,) = envelope.notes
    assert f"{{{{v{MAX_DEPTH}}}}} in variable “v{MAX_DEPTH - 1}” in preset message" in note.sentence
    assert "is nested inside" in note.sentence
    short = {**chain, "v10": "end"}
    assert expanded("{{v0}}", **values(**short)) == "0123456789end"


def test_exponential_values_leave_their_macro_unexpanded():
    doubled = {f"v{n}": f"{{{{v{n - 1}}}}}{{{{v{n - 1}}}}}" for n in range(1, 31)} | {"v0": "x"}
    began = thread_time()
    envelope = request(said("<{{v30}}> {{v5}}", name="Main"), said("{{char}}"), **values(**doubled))
    assert thread_time() - began < 2
    assert envelope.turns[0].text.plain == f"<{{{{v30}}}}> {'x' * 32}"
    assert envelope.turns[1].text.plain == "Bot", "other texts are expanded as ever"
    assert notes_of(envelope) == [
        (
            "macro-stays",
            "{{v30}} in preset message “Main” inserts more than "
            f"{MAX_VALUES:,} values; it stays as it is written.",
        )
    ]


@each_row("levels", [1, 12, 20, MAX_DEPTH, MAX_DEPTH + 1, 50, 400])
@each_row("opening", ["{{random::", "{{pick::", "{{random:", "{{random::a::"])
def test_nested_choices_lose_no_text(opening: str, levels: int):
    envelope = request(said(f"<{opening * levels}`x`, `y`{'}}' * levels}>", id="it"))
    plain = envelope.turns[0].text.plain
    inner = max(levels - MAX_DEPTH, 0)
    assert plain.startswith("<")
    assert plain.endswith(">")
    if opening.endswith("a::"):
        full = f"{opening * inner}`x`, `y`{'}}' * inner}"
        assert plain in (f"<{full}>", "<a>")
    elif inner:
        assert plain == f"<{opening * inner}`x`, `y`{'}}' * inner}>"
    else:
        assert plain in ("<`x`>", "<`y`>")
    notes = [sentence for code, sentence in notes_of(envelope) if code == "macro-stays"]
    assert len(notes) == bool(inner)
    assert all("{{" in note and "preset message “it”" in note for note in notes)


def test_a_value_is_the_same_everywhere():
    coat = " ".join(["{{coat}}"] * 8)
    given = values(coat="{{random::red::green::blue}} {{random::silk::wool}}")
    envelope = request(said(coat), said("{{coat}}"), **given)
    said_so = {turn.text.plain for turn in envelope.turns[1:2]}
    assert {envelope.turns[0].text.plain} == {" ".join([*said_so] * 8)}
    assert len({expanded("{{coat}}", seed=seed, **given) for seed in range(40)}) == 6


def test_remembered_values_follow_their_changes():
    preset = Preset("p", (said("{{setvar::x::{{date}}}}{{a}}", id="it"),), variables={"a": "{{x}}"})
    for now, x in ((NOW, "May 1, 2024"), (NOW.replace(day=2), "May 2, 2024")):
        for value in ("{{x}}", "{{user}}"):
            inputs = Inputs(ENDPOINT, preset, TALK, profile=ADA, now=now, variables={"a": value})
            turn = build_context(inputs, lambda _: LETTERS).turns[0]
            assert turn.text.plain == (x if value == "{{x}}" else "Ada")


def test_white_space_from_macros_is_sent_like_written_white_space():
    for blank in ("{{newline}}", "{{space::3}}", "\n{{newline}} ", "{{blank}}"):
        envelope = request(said(blank, id="it"), **values(blank=" \n"))
        assert envelope.turns[0].origin.id == "it"
        assert not envelope.turns[0].text.plain.strip()
        assert codes(envelope) == ["blank-content"]
    for nothing in ("{{noop}}\n", "{{setvar::a::b}} \n{{// done}}", "\n{{trim}}\n", "{{empty}}"):
        envelope = request(said(nothing, id="it"), **values(empty=""))
        assert [turn.origin.id for turn in envelope.turns] == ["1", "2"]
        assert codes(envelope) == ([] if "setvar" in nothing else ["empty-content"])


@each_row("value", ["", " \n", "{{noop}}", "{{other}}", "{{// later}}"])
def test_a_message_without_its_required_variable_is_not_sent(value: str):
    line = said("{{char}} is {{mood}}.{{setvar::set::x}}", id="it", name="Mood", requires="Mood")
    envelope = request(line, said("[{{getvar::set}}]"), **values(mood=value, other=" "))
    assert [turn.text.plain for turn in envelope.turns[:-2]] == ["[]"]
    found = [note for note in envelope.notes if note.code == "empty-value"]
    assert [note.sentence for note in found] == [
        "“Mood” requires “Mood”, which has no value; it is not sent."
    ]
    full = request(line, said("[{{getvar::set}}]"), **values(mood="{{weekday}}"))
    assert [turn.text.plain for turn in full.turns[:-2]] == ["Bot is Wednesday.", "[x]"]


def test_a_required_variable_may_be_set_above_or_be_a_literal():
    lines = (said("{{setvar::mood::grim}}"), said("Mood", requires="mood"))
    assert [turn.text.plain for turn in request(*lines).turns[:-2]] == ["Mood"]
    lines = (said("Who", requires="persona"), said("Never", requires="nobody"))
    placed = request(*lines, profile=Profile("Ada", "Calm."))
    assert [turn.text.plain for turn in placed.turns[:-2]] == ["Who"]
    assert [turn.text.plain for turn in request(*lines, profile=None).turns[:-2]] == []


def test_notes_beyond_the_limit_are_counted():
    envelope = request(said("".join(f"{{{{no{n}}}}}" for n in range(MAX_NOTES + 3)), name="Main"))
    assert codes(envelope) == ["unknown-macro"] * MAX_NOTES + ["more-macros"]
    assert "3 more macros of preset message “Main”" in envelope.notes[-1].sentence


soup_fragments = st.sampled_from(
    ["{{", "}}", "{", "}", "::", ":", " ", ",", "\n", "`", "'", "你", "(", "//x", "|", "\\,"]
)


@st.composite
def soups(draw: st.DrawFn) -> str:
    """Braces and separators without the name of a macro: every character is literal text."""
    parts = draw(st.lists(st.one_of(soup_fragments, st.sampled_from("qwx")), max_size=30))
    soup = "".join(parts)
    while re.search(r"\{\{\s*//", soup):
        soup = re.sub(r"(\{\{\s*)//", r"\1", soup)  # a comment is a macro
    return soup


@given(soups())
def test_text_without_macros_is_sent_verbatim(soup: str):
    if soup.strip():
        assert expanded(soup) == soup
        assert expanded("{{value}}", **values(value=soup)) == soup


pieces = st.one_of(
    soups().map(lambda soup: ("text", soup)),
    st.sampled_from(
        ["{{user}}", "{{noop}}", "{{setvar::v::{{char}}}}", "{{v}}", "{{random::a::b}}", "{{loop}}",
         "{{twice30}}", "{{roll::2d6}}", "{{// x }}", "{{chain0}}", "{{pick::{{user}}::}}",
         "{{newline}}", "{{setvar::w::{{loop}}}}"]
    ).map(lambda macro: ("macro", macro)),
)  # fmt: skip
HOSTILE = (
    {f"twice{n}": f"{{{{twice{n - 1}}}}}," * 2 for n in range(1, 31)}
    | {f"chain{n}": f"{{{{chain{n + 1}}}}}" for n in range(60)}
    | {"twice0": "x", "chain60": "end", "loop": "a{{loop2}}", "loop2": "{{loop}}b"}
)


@pytest.mark.slow
@given(st.lists(pieces, max_size=12), st.integers(0, 2), st.integers(0, 40))
def test_text_between_macros_is_never_lost(parts: list[tuple[str, str]], seed: int, nested: int):
    """Literal text outside macros is sent, in its order, whatever stands between and around."""
    balanced = [(k, t) for k, t in parts if k == "macro" or _closes_what_it_opens(t)]
    source = "".join(text for _, text in balanced)
    for whole in (source, "{{what::" * nested + source + "}}" * nested):
        began = thread_time()
        turn = turn_of(whole, seed=seed, **values(**HOSTILE))
        assert thread_time() - began < 5
        again = turn_of(whole, seed=seed, **values(**HOSTILE))
        if turn is None or again is None:
            assert not "".join(t for kind, t in balanced if kind == "text").strip()
            continue
        assert turn.text == again.text
        written = [span for span in turn.text.spans if span.origin == turn.origin]
        kept = {at for span in written for at in range(span.start, span.start + len(span.text))}
        at = whole.index(source) if source else 0
        for kind, text in balanced:
            if kind == "text":
                assert kept.issuperset(range(at, at + len(text)))
            at += len(text)


def _closes_what_it_opens(text: str) -> bool:
    """Whether a text neither closes a macro that began before it nor opens one that ends after."""
    depth = 0
    for brace in re.findall(r"\{+|\}+", text):
        if len(brace) > 1:
            depth += len(brace) // 2 * (1 if brace[0] == "{" else -1)
        if depth < 0:
            return False
    return depth == 0 and not re.search(r"^[{}\\]|[{}\\]$|\{\{\{|\}\}\}", text)


def test_a_keystroke_leaves_texts_that_do_not_read_the_draft_as_they_are():
    lines = said("{{user}} {{setvar::x::1}}{{x}}"), said("{{getvar::x}} {{lastMessage}}")
    preset = Preset("p", lines)
    first, second = (
        build_context(Inputs(ENDPOINT, preset, TALK, draft, now=NOW), lambda _: LETTERS).turns
        for draft in ("a", "ab")
    )
    assert first[0].text.plain == "User 1"
    assert first[0] is second[0]
    assert [turns[1].text.plain for turns in (first, second)] == ["1 a", "1 ab"]
