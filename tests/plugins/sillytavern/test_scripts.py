"""Scripts and macros of SillyTavern."""

from __future__ import annotations

import pytest

from tests.support.contexts import HISTORY, LETTERS, codes, said
from tests.support.macros import NOW, TALK, request
from tests.support.tables import each_row
from tui_chat.context import Inputs, SessionSettings
from tui_chat.context.builders import build
from tui_chat.models.endpoint import Endpoint, Protocol
from tui_chat.models.message import Message
from tui_chat.models.preset import Preset
from tui_chat.models.settings import TextScript
from tui_chat.models.text import GLUE, Text
from tui_chat.plugins.sillytavern.context.scripts import (
    MAX_WAYS,
    ScriptSteps,
    apply_scripts,
    scripts_for,
)
from tui_chat.plugins.sillytavern.policies import Policies, policy_values

ENDPOINT = Endpoint("test", Protocol.OPENAI_CHAT, "https://test.invalid", models=("m",))


def applied(text: str, *patterns: str, by: str = "<$1>") -> str:
    scripts = [TextScript("s", pattern, by) for pattern in patterns]
    return apply_scripts(Text.of(text, GLUE), scripts).plain


def test_long_texts_give_the_same_as_short_ones() -> None:
    padding = "." * 3_000
    assert len(padding) ** 2 > MAX_WAYS
    for pattern in (r"/(a+)b.*?/g", r"/(?:x|(a+))b/g", r"/(?<it>a+)b/gi", r"/(a+)b/"):
        short = applied("aab ab", pattern)
        assert applied(f"{padding}aab ab", pattern) == padding + short


def test_patterns_are_those_of_javascript() -> None:
    assert applied("a\nb", r"/(?<it>(?:.|\n)+)b/g") == "<a\n>"
    for refused in ("/(/g", "/(?<=a)b/g", r"/(a)\1/"):
        assert applied("aab", refused) == "aab"
    assert applied("a🙂b", "/(🙂)/", by="$<none>[$1]") == "a[🙂]b"


@pytest.mark.slow
def test_a_pattern_with_nested_repetitions_ends_with_a_note() -> None:
    steps = ScriptSteps()
    scripts = [TextScript("slow", r"/(a+)+$/g", "x"), TextScript("after", "/!/g", "?")]
    for text in ("a" * 10_000 + "!", "a" * 5_000 + "!"):
        assert apply_scripts(Text.of(text, GLUE), scripts, steps).plain == f"{text[:-1]}?"
    assert steps.notes == []
    scripts[0] = TextScript("slow", r"/(?:(a+)+b|a)/g", "x")
    assert apply_scripts(Text.of("aab", GLUE), scripts, steps).plain == "x"
    text = "a" * 10_000
    assert apply_scripts(Text.of(text, GLUE), scripts, steps).plain == text
    (note,) = steps.notes
    assert note.code == "script-too-slow"
    assert "“slow”" in note.sentence


@pytest.mark.slow
def test_a_request_says_which_script_is_too_slow() -> None:
    script = TextScript("slow", r"/(?:(a|a)*b|a)/g", "x", ("user", "assistant"))
    history = tuple(Message.of("user", "a" * 3_000 + "!", str(n)) for n in range(20))
    preset = Preset("p", (HISTORY,))
    inputs = Inputs(ENDPOINT, preset, history, "hi", settings=SessionSettings(scripts=(script,)))
    envelope = build(inputs, lambda _: LETTERS)
    assert [note.code for note in envelope.notes].count("script-too-slow") == 1
    assert envelope.turns[0].text.plain == history[0].content


def test_narrators_are_the_character_for_scripts() -> None:
    script = TextScript("s", "a", "b", ("assistant",))
    assert scripts_for([script], "system", 0) == [script]
    assert scripts_for([script], "user", 0) == []


def test_a_pattern_without_valid_flags_is_taken_whole() -> None:
    assert applied("a/a/y", "/a/y", by="x") == "ax"
    assert applied("Aa", "/a/gx", by="x") == "Aa"  # a flag that JavaScript does not have
    assert applied("a+b", r"a\+", by="x") == "xb"


def test_after_the_groups_come_the_place_and_the_whole_text() -> None:
    assert applied("xab", "/(a)/", by="[$0$1$2$3$4{{MATCH}}]") == "x[aa1xaba]b"


def expanded(text: str, script: TextScript) -> str:
    values = {"{{user}}": "A.b", "{{char}}": "o"}

    def expand(source: str) -> str:
        for macro, value in values.items():
            source = source.replace(macro, value)
        return source

    return apply_scripts(Text.of(text, GLUE), [script], expand=expand).plain


def test_macros_of_scripts_are_expanded() -> None:
    assert expanded("hi", TextScript("s", "/i/", "{{user}}{{match}}")) == "hA.bi"
    assert expanded("foo", TextScript("s", "/foo/", "$0", trim=("{{char}}",))) == "f"
    pattern = "/{{user}}/g"
    assert expanded("A.b Axb", TextScript("s", pattern, "x")) == "A.b Axb"
    assert expanded("A.b Axb", TextScript("s", pattern, "x", substitutes="raw")) == "x x"
    assert expanded("A.b Axb", TextScript("s", pattern, "x", substitutes="escaped")) == "x Axb"


def test_macros_of_messages_stay_whatever_scripts_there_are() -> None:
    script = TextScript("s", "/z/", "x", ("assistant",))
    history = (
        Message.of("user", "I am {{user}}.", "1"),
        Message.of("assistant", "{{char}} z", "2"),
    )
    settings = SessionSettings(scripts=(script,))
    inputs = Inputs(ENDPOINT, Preset("p", (HISTORY,)), history, "{{user}}", settings=settings)
    turns = build(inputs, lambda _: LETTERS).turns
    assert [turn.text.plain for turn in turns] == ["I am {{user}}.", "{{char}} x", "{{user}}"]


# --- The macros that SillyTavern adds to the core's, and texts in its manner --------------


SILLYTAVERN = policy_values(Policies(depths="joined", expand_history=True))


@each_row(
    ("source", "plain"),
    [
        ("{{group}} {{charIfNotGroup}} {{notChar}}", "Bot Bot Ada"),
        ("{{lastMessageId}} {{lastGenerationType}} [{{input}}]", "1 normal []"),
        ("{{if isMobile}}a{{else}}b{{/if}}{{if group}}c{{/if}}", "bc"),
        ("{{idleDuration}} {{idle_duration}}", "just now just now"),
        ("{{hasExtension::Vectors}} {{hasExtension::mine}}", "true false"),
        ("{{systemPrompt}}",
         "Write {{char}}'s next reply in a fictional chat between {{char}} and {{user}}."),
        ("{{group::a}} {{timeDiff::2024-01-01::2023-01-01}}",
         "{{group::a}} {{timeDiff::2024-01-01::2023-01-01}}"),
        ("{{setvar::group::own}}{{group}}", "own"),
    ],
)  # fmt: skip
def test_sillytavern_has_more_macros(source: str, plain: str) -> None:
    for policies in (SILLYTAVERN, {}):
        turns = request(said(source, id="it"), policies=policies).turns
        assert [turn.text.plain for turn in turns if turn.origin.id == "it"] == [plain]


def test_a_macro_of_sillytavern_that_is_gone_stays_with_a_note() -> None:
    for source in ("{{.a = 1}}", "{{setvarkey::a::b::c}}", "{{timeDiff::a::b}}"):
        envelope = request(said(source, id="it"), policies=SILLYTAVERN)
        assert [t.text.plain for t in envelope.turns if t.origin.id == "it"] == [source]
        assert codes(envelope) == ["unknown-macro"]


def test_the_idle_time_is_that_since_the_last_message_of_the_user_but_one() -> None:
    talk = (Message.of("user", "a", "1", timestamp=NOW.timestamp() - 7200), *TALK[1:])
    turns = request(
        said("{{idleDuration}}", id="it"), policies=SILLYTAVERN, history=talk, draft="now"
    ).turns
    assert [turn.text.plain for turn in turns if turn.origin.id == "it"] == ["2 hours"]
