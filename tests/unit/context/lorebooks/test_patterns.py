"""Lorebook patterns: what JavaScript and `re` say they match, without the time they may take."""

from __future__ import annotations

import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.support.tables import each_row
from tui_chat.context.lorebooks.keys import KeyIndex
from tui_chat.context.lorebooks.patterns import BadPattern, Pattern, canonical
from tui_chat.models.lorebook import Lorebook, LorebookEntry

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
def test_a_pattern_matches_where_re_matches(source: str, letters: str, some: list[str]):
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


@each_row(
    ("source", "flags", "text", "occurs"),
    [
        (r"\bdragons?\b", "i", "Two Dragons", True),
        (r"\bdragons?\b", "i", "dragonfly", False),
        (r"(?<kind>red|black) dragon", "", "a black dragon", True),
        (r"caf\u00e9|\x41bc", "", "un café", True),
        (r"\u{1F600}", "u", "😀", True),
        (r"\u{1F600}", "", "u{1F600}", True),
        (r"^\u{3}$", "", "uuu", True),
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
def test_javascript_semantics(source: str, flags: str, text: str, occurs: bool):
    assert Pattern(source, flags).occurs_in(text) is occurs


@each_row(
    "source",
    ["(?<=a)*", "(?<!a){2}", "(?i:a)", "(?<1>a)", "(?<x>a)|(?<x>b)", r"(?<x>a)\k<y>", "(a", "^*",
     "a)", "*", "a{3,2}", "[a",
     "\\", "[z-a]", "(" * 100, "((((a{9}){9}){9}){9})", "a{9999}",
     "((a{99}){99}){99}", "a{99999999999}", "(?:a?){1500}"],
)  # fmt: skip
def test_an_unusable_pattern_gives_the_reason(source: str):
    with pytest.raises(BadPattern, match=r"^\w"):
        Pattern(source)


@given(st.text(r"ab()[]{}*+?|\\^$.-,1dwsbBuxk<>=!:/", max_size=25), st.text("ab1 \n", max_size=20))
def test_any_pattern_is_compiled_or_refused(source: str, text: str):
    try:
        pattern = Pattern(source, "i")
    except BadPattern:
        return
    assert pattern.occurs_in(text) in (True, False)


JAVASCRIPT = [
    # source, flags, a text and whether `new RegExp(source, flags).test(text)` in Node.js 20
    ("dragon(?!fly)", "", "dragonfly dragon", True),
    ("(?<!un)happy", "", "unhappy", False),
    ("(?<=^|\\s)elf(?=\\s|$)", "", "an elf", True),
    ("(?<=a.*)b(?!.*c)", "", "a--b--c", False),
    ("(?=(a+))a*b\\1", "", "baaabac", True),
    ("(?=(a+))\\1b", "", "aaab", True),
    ("(?!(a))\\1b", "", "b", True),
    ("(?:(a)|b)*\\1$", "", "ab", True),
    ("^(?:(a)|b)*\\1c", "", "abac", False),
    ("(?<=(\\d+)(\\d+))$", "", "1053", True),
    ("(?<=\\1(a))b", "", "aab", True),
    ("(?<=\\1(a))b", "", "ab", False),
    ("\\1(a)", "", "a", True),
    ("(a)\\2", "", "a\x02", True),
    ("(É)\\1", "i", "éÉ", True),
    ("(?<x>a)\\k<x>", "", "aa", True),
    ("\\k<x>", "", "k<x>", True),
    ("a$", "", "a\n", False),
    ("^b", "", "a\nb", False),
    ("^b", "m", "a\u2028b", True),
    ("a.b", "", "a\rb", False),
    ("a.b", "s", "a\u2029b", True),
    ("a[^]b", "", "a\nb", True),
    ("a[]|b", "", "a", False),
    ("a[]|b", "", "b", True),
    ("\\d", "", "٣", False),
    ("\\w", "", "é", False),
    ("\\bчас\\b", "", "час", False),
    ("час", "iu", "ЧАС", True),
    ("\\s", "", "\ufeff", True),
    ("\\s", "", "\x1c", False),
    ("\\s", "", "\x85", False),
    ("K", "i", "\u212a", False),
    ("K", "iu", "\u212a", True),
    ("s", "i", "ſ", False),
    ("i", "i", "İ", False),
    ("σ", "i", "ς", True),
    ("ß", "i", "ẞ", False),
    ("ß", "iu", "ẞ", True),
    ("^.$", "", "😀", False),
    ("^.$", "u", "😀", True),
    ("\\ud83d\\ude00", "", "😀", True),
    ("\\ud83d\\ude00", "u", "😀", True),
    ("[\\ud83c-\\ud83e][\\udc00-\\udfff]", "", "a 😀", True),
    ("[😀-😂]", "u", "😁", True),
    ("\\p{L}", "", "p{L}", True),
    ("^\\p{Lu}\\p{Ll}+$", "u", "Éa", True),
    ("\\p{Script=Cyrillic}", "u", "ж", True),
    ("\\p{Script=Han}", "u", "読", True),
    ("\\P{L}", "u", "é", False),
    ("a", "y", "ba", False),
    ("a", "y", "ab", True),
    ("a", "gimsuy".replace("y", ""), "bA", True),
    ("x{,2}", "", "x{,2}", True),
    ("x{1", "", "x{1", True),
    ("]}", "", "]}", True),
    ("\\cA\\0\\07", "", "\x01\0\x07", True),
    ("[\\b]", "", "\b", True),
    ("[\\d-x]", "", "-", True),
    ("(?=a)*b", "", "b", True),
    ("\\/", "", "/", True),
    ("[a-f]", "i", "D", True),
    ("[A-F]", "i", "d", True),
    ("[a-f]", "i", "g", False),
    ("[Α-Ω]", "i", "δ", True),
    ("[^a-c]", "i", "B", False),
    ("[\\da-c]", "", "b", True),
    ("[\\da-c]", "", "d", False),
    ("\\p{Lu}", "iu", "a", True),
    ("\\P{Lu}", "iu", "A", True),
    ("\\p{LC}", "u", "a", True),
    ("\\p{LC}", "u", "一", False),
    ("\\p{Alphabetic}", "u", "é", True),
    ("\\p{Alphabetic}", "u", "1", False),
    ("\\p{Uppercase}", "u", "a", False),
    ("\\p{Lowercase}", "u", "a", True),
    ("\\p{White_Space}", "u", " ", True),
    ("\\p{White_Space}", "u", "\ufeff", False),
    ("\\p{ASCII}", "u", "é", False),
    ("\\p{Any}", "u", "x", True),
]


@each_row(("source", "flags", "text", "occurs"), JAVASCRIPT)
def test_patterns_match_as_in_javascript(source: str, flags: str, text: str, occurs: bool):
    pattern = Pattern(source, flags)
    maybe = pattern.occurs_in(text)
    assert maybe or not occurs
    if pattern.has_back_references:
        assert pattern.backtrack(text, 0, 100_000)[0] is occurs
    else:
        assert maybe is occurs


@each_row(
    ("source", "flags"),
    [("\\e", "u"), ("}", "u"), ("a]", "u"), ("a}", "u"), ("{2}", ""),
     ("\\u{110000}", "u"), ("[\\d-x]", "u"), ("\\2(a)", "u"),
     ("\\p{Nonsense}", "u"), ("\\p", "u"), ("(?=a)*", "u"), ("a", "gg")],
)  # fmt: skip
def test_patterns_invalid_in_javascript_are_refused(source: str, flags: str):
    with pytest.raises(BadPattern, match=r"^\w"):
        Pattern(source, flags)


looks = st.sampled_from(["(?=", "(?!", "(?<=", "(?<!"])
short = st.sampled_from(["a", "b", "ab", "[ab]", r"\w", r"\b", "^", "$", "a|b", "_", "a?", "b+"])
surrounded = st.recursive(
    st.one_of(atoms, st.tuples(looks, short).map(lambda pair: f"{pair[0]}{pair[1]})")),
    lambda inner: st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map(lambda pair: f"(?:{pair[0]}|{pair[1]})"),
        st.tuples(st.sampled_from(["(?=", "(?!"]), inner).map(lambda pair: f"{pair[0]}{pair[1]})"),
        st.tuples(inner, repeats).map(lambda pair: f"(?:{pair[0]}){pair[1]}"),
    ),
    max_leaves=6,
)


@given(surrounded, flags, st.lists(texts, min_size=1, max_size=5))
def test_lookaround_agrees_with_backtracking(source: str, letters: str, some: list[str]):
    pattern = Pattern(source, letters)
    for text in some:
        assert pattern.occurs_in(text) is pattern.backtrack(text, 0, 1_000_000)[0]


@given(sources, flags, st.lists(texts, min_size=1, max_size=5))
def test_a_text_without_the_required_literals_does_not_match(
    source: str, letters: str, some: list[str]
):
    pattern = Pattern(source, letters)
    for text in some:
        for required in pattern.required_texts:
            if not any(each in text.casefold() for each in required):
                assert not pattern.occurs_in(text)


@each_row(
    ("source", "required"),
    [
        (r"\bdragons?\b", [{"dragon"}]),
        ("(?:red|BLACK) dragon", [{"red dragon", "black dragon"}]),
        ("[Dd]ragon", [{"dragon"}]),
        (r"(sword|blade)\d+", [{"sword", "blade"}]),
        (r"\d+ gold", [{" gold"}]),
        ("(?<!no )elf(?= king)", [{"elf"}]),
        (r"(?:the )?(\w+) and \1", [{" and "}]),
        ("(?:orc)+", [{"orc"}]),
        (r"old.{0,9}(?:orc|troll)s\d{4}", [{"orcs", "trolls"}, {"old"}]),
        (r"\d{4}", []),
        ("(?:orc)*", []),
        ("(?:orc|)", []),
    ],
)
def test_the_literals_that_a_pattern_requires(source: str, required: list[set[str]]):
    assert [set(texts) for texts in Pattern(source, "i").required_texts] == required


@given(sources, st.lists(texts | st.just(""), min_size=1, max_size=3))
def test_an_index_finds_what_its_patterns_find(source: str, some: list[str]):
    keys = [f"/{source}/", "/[ab]_/", r"/\d/", "/^$/", "/a|b/i"]
    entries = tuple(LorebookEntry(str(n), keys=(key,)) for n, key in enumerate(keys))
    index = KeyIndex(Lorebook("b", entries), {})
    for text in some:
        found = {index.keys[number].text for number in index.occurrences(text).found}
        assert found == {key for key in keys if Pattern(*key[1:].rsplit("/", 1)).occurs_in(text)}


def test_characters_that_differ_in_case_fold_alike():
    folded: dict[tuple[str, bool], str] = {}
    for code in (*range(0xD800), *range(0xE000, 0x20000)):
        character = chr(code)
        for unicode in (False, True):
            same = canonical(character, unicode)
            assert folded.setdefault((same, unicode), character.casefold()) == character.casefold()


@each_row(
    "source",
    ["(a+)+$", "(a|a)*b", "(.*a){20}", "(x+x+)+y", ".*.*.*.*=.*", "(?=(a+)+b)x", "(?<=(a*)*b)x",
     r"((a+)+)\1#", r"(?:(a*)*\1)*b", "(?:.*a.{400}){2}", "^(?:(?=.*foo)(?!.*bar).)*$"],
)  # fmt: skip
def test_catastrophic_patterns_finish(source: str):
    """If one did not, this test would not end in years."""
    pattern = Pattern(source)
    for text in ("a" * 10_000, "x" * 10_000, "ax" * 5_000):
        if pattern.occurs_in(text) and pattern.has_back_references:
            assert pattern.backtrack(text, 0, 100_000)[1] <= 100_000


def test_text_before_the_searched_part_is_context():
    assert not Pattern("^b").occurs_in("ab", 1)
    assert not Pattern(r"\bb").occurs_in("ab", 1)
    assert Pattern("^b", "m").occurs_in("\nb", 1)
    assert Pattern(r"^(b)\1", "m").backtrack("\nbb", 1, 1000)[0]
    assert not Pattern(r"^(b)\1").backtrack("abb", 1, 1000)[0]
    assert not Pattern(r"^a\b").occurs_in("a", 1)
