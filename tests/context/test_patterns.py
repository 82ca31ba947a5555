"""Patterns of lorebooks: what `re` says they match, without the time that it may take."""

from __future__ import annotations

import re
from time import perf_counter

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tui_chat.context.pattern_syntax import BadPattern
from tui_chat.context.patterns import Pattern

atoms = st.sampled_from(
    [
        "a",
        "b",
        "_",
        ".",
        "[ab]",
        "[^a]",
        "[a-c1]",
        r"\w",
        r"\W",
        r"\d",
        r"\s",
        r"\b",
        r"\B",
        "^",
        "$",
    ]
)
repeats = st.sampled_from(["*", "+", "?", "{2}", "{1,3}", "{0,2}", "{2,}", "*?"])
sources = st.recursive(
    atoms,
    lambda inner: st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map(lambda pair: f"({pair[0]}|{pair[1]})"),
        st.tuples(inner, repeats).map(lambda pair: f"(?:{pair[0]}){pair[1]}"),
    ),
    max_leaves=8,
)
texts = st.text("abAB1_ \n", min_size=1, max_size=10)
flags = st.sampled_from(["", "i", "m", "s", "im"])


@given(sources, flags, st.lists(texts, min_size=1, max_size=5))
def test_a_pattern_occurs_where_re_finds_it(source: str, letters: str, some: list[str]):
    python = re.ASCII | sum(re.RegexFlag[letter.upper()] for letter in letters)
    # Python's `$` also matches before a last line break; JavaScript's does not.
    oracle = re.compile(source if "m" in letters else source.replace("$", r"\Z"), python)
    try:
        pattern = Pattern(source, letters)
    except BadPattern as fault:
        assume("too large" not in str(fault))
        raise
    for text in some:
        assert pattern.occurs_in(text) is bool(oracle.search(text))


@pytest.mark.parametrize(
    ("source", "flags", "text", "occurs"),
    [
        (r"\bdragons?\b", "i", "Two Dragons", True),
        (r"\bdragons?\b", "i", "dragonfly", False),
        (r"(?<kind>red|black) dragon", "", "a black dragon", True),
        (r"caf\u00e9|\x41bc", "", "un café", True),
        (r"\u{1F600}", "", "😀", True),
        (r"a\/b\.c", "", "a/b.c", True),
        ("[\\]\\-^]", "", "-", True),
        ("[a-]", "", "-", True),
        ("{x}", "", "{x}", True),
        ("a{,2}", "", "a{,2}", True),
        ("", "", "", True),
        (r"^\s*$", "", "", True),
        (r"\B", "", "", True),
    ],
)
def test_javascripts_ways(source: str, flags: str, text: str, occurs: bool):
    assert Pattern(source, flags).occurs_in(text) is occurs


@pytest.mark.parametrize(
    "source",
    ["(?=a)", "(?!a)", "(?<=a)", "(?<!a)b", r"(a)\1", r"\k<x>", "(a", "a)", "*", "a{3,2}", "[a",
     "\\", "[z-a]", "(" * 100, "((((a{9}){9}){9}){9})", "a{9999}"],
)  # fmt: skip
def test_what_cannot_be_used_says_why(source: str):
    with pytest.raises(BadPattern, match=r"^\w"):
        Pattern(source)


@given(st.text(r"ab()[]{}*+?|\\^$.-,1dwsbBuxk<>=!:/", max_size=25), st.text("ab1 \n", max_size=20))
def test_any_pattern_is_used_or_refused(source: str, text: str):
    try:
        pattern = Pattern(source, "i")
    except BadPattern:
        return
    assert pattern.occurs_in(text) in (True, False)


@pytest.mark.parametrize("source", ["(a+)+$", "(a|a)*b", "(.*a){20}", "(x+x+)+y", ".*.*.*.*=.*"])
def test_patterns_that_stop_re_for_years_take_a_moment(source: str):
    pattern = Pattern(source)
    began = perf_counter()
    for text in ("a" * 10_000, "x" * 10_000, "ax" * 5_000):
        pattern.occurs_in(text)
    assert perf_counter() - began < 5  # seconds
