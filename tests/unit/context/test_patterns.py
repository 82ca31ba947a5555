"""Lorebook patterns: what JavaScript and `re` say they match, without the time they may take."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.support import golden
from tests.support.patterns import SOURCES, TEXTS
from tests.support.tables import each_row
from tui_chat.context.patterns import BadPattern, Pattern

FLAGS = st.sampled_from(["", "i", "m", "s", "im"])


def oracle(source: str, flags: str) -> re.Pattern[str]:
    """Python's own pattern, whose `$` would else match before a last line break."""
    options = re.ASCII | sum(re.RegexFlag[letter.upper()] for letter in flags)
    source = source.replace("[^]", r"[\s\S]")
    return re.compile(source if "m" in flags else source.replace("$", r"\Z"), options)


@settings(max_examples=1_000)
@given(SOURCES, FLAGS, st.lists(TEXTS, min_size=1, max_size=5))
def test_a_pattern_matches_where_re_matches(source: str, flags: str, texts: list[str]):
    try:
        pattern = Pattern(source, flags)
    except BadPattern as fault:
        assume("too large" not in str(fault))
        raise
    for text in texts:
        found = oracle(source, flags).search(text)
        assert pattern.occurs_in(text) is pattern.accepts(text) is bool(found)
        assert (pattern.find(text, 0, 100_000)[0] is None) is (found is None)
        required = pattern.required_texts
        assert not found or not required or any(each in text.casefold() for each in required)


JAVASCRIPT = golden.read(Path(__file__).parent / "data" / "javascript_patterns.json")
"""Source, flags, a text, and whether `new RegExp(source, flags).test(text)` in Node.js 20."""


@each_row(("source", "flags", "text", "occurs"), JAVASCRIPT)
def test_patterns_match_as_in_javascript(source: str, flags: str, text: str, occurs: bool):
    pattern = Pattern(source, flags)
    assert pattern.occurs_in(text) is pattern.accepts(text) is occurs


@each_row(
    ("source", "reason"),
    [
        *((f"a{look}b)", "looks around") for look in ("(?=", "(?!", "(?<=", "(?<!")),
        (r"(a)\1", "has a back-reference"),
        (r"(?<x>a)\k<x>", "has a back-reference"),
        (r"\p{L}", "names a Unicode property"),
        ("(?i:a)", "has a group of an unknown kind"),
        ("(?<1>a)", "has a group of an unknown kind"),
        ("[]", "has an empty class"),
        (r"\cA", "has the unknown escape"),
        (r"\u{110000}", "has the escape"),
        ("(" * 100, "nests too many groups"),
        *((source, "is malformed") for source in ("(a", "a)", "*", "^*", "[a", "\\", "[z-a]",
                                                  "a{3,2}", "(?<x>a)|(?<x>b)", "a{99999999999}")),
        ("a*+", "repeats a repetition"),
        *((source, "is too large") for source in ("((((a{9}){9}){9}){9})", "a{9999}",
                                                  "((a{99}){99}){99}", "(?:a?){1500}")),
    ],
)  # fmt: skip
def test_an_unusable_pattern_gives_the_reason(source: str, reason: str):
    with pytest.raises(BadPattern, match=f"^{reason}"):
        Pattern(source)


@given(st.text(r"ab()[]{}*+?|\\^$.-,1dwsbBuxk<>=!:/", max_size=25), st.text("ab1 \n", max_size=20))
def test_any_pattern_is_compiled_or_refused(source: str, text: str):
    try:
        pattern = Pattern(source, "i")
    except BadPattern:
        return
    assert pattern.occurs_in(text) in (True, False)


@each_row(
    ("source", "required"),
    [
        (r"\bdragons?\b", {"dragon"}),
        (r"(sword|blade)\d+", {"sword", "blade"}),
        (r"\d+ gold", {" gold"}),
        ("(?:orc)+", {"orc"}),
        (r"old.{0,9}(?:orc|troll)s\d{4}", {"orc", "troll"}),
        (r"\d{4}", set()),
        ("(?:orc)*", set()),
        ("(?:orc|)", set()),
    ],
)
def test_the_literals_that_a_pattern_requires(source: str, required: set[str]):
    assert set(Pattern(source, "i").required_texts) == required


@each_row(
    "source",
    ["(a+)+$", "(a|a)*b", "(.*a){20}", "(x+x+)+y", ".*.*.*.*=.*", "(?:.*a.{400}){2}"],
)
def test_catastrophic_patterns_take_bounded_time(source: str):
    pattern = Pattern(source)
    began = time.process_time()
    for text in ("a" * 50_000 + "!", "x" * 50_000, "ax" * 25_000):
        pattern.occurs_in(text)
        pattern.find(text, 0, 100_000)
    assert time.process_time() - began < 10


def test_the_place_of_a_match_and_of_its_groups():
    pattern = Pattern(r"(?<a>a+)(b)?(?:c|(d))")
    assert pattern.find("xaabd", 0, 1_000)[0] == (1, 5, 1, 3, 3, 4, 4, 5)
    assert pattern.find("xaac ad", 2, 1_000)[0] == (2, 4, 2, 3, -1, -1, -1, -1)
    assert pattern.find("x" * 100, 0, 10) == (None, -10)


def test_text_before_the_searched_part_is_context():
    for source, flags, text, occurs in (
        ("^b", "", "ab", False),
        (r"\bb", "", "ab", False),
        ("^b", "m", "\nb", True),
        (r"^a\b", "", "a", False),
    ):
        pattern = Pattern(source, flags)
        assert pattern.occurs_in(text, 1) is pattern.accepts(text, 1) is occurs
