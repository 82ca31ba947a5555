"""Strategies of patterns and texts that both `re` and JavaScript understand."""

from __future__ import annotations

from hypothesis import strategies as st

ATOMS = st.sampled_from(
    [
        *("a", "b", "_", ".", "[ab]", "[^a]", "[a-c1]", "[^]", r"[\w ]"),
        *(r"\w", r"\W", r"\d", r"\s", r"\b", r"\B", "^", "$"),
    ]
)
REPEATS = st.sampled_from(["*", "+", "?", "{2}", "{1,3}", "{0,2}", "{2,}", "*?"])
SOURCES = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map(lambda pair: f"({pair[0]}|{pair[1]})"),
        st.tuples(inner, REPEATS).map(lambda pair: f"(?:{pair[0]}){pair[1]}"),
    ),
    max_leaves=8,
)
TEXTS = st.text("abAB1_ \n", min_size=1, max_size=10)
