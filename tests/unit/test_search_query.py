"""Parsing typed queries."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.support.tables import each_row
from tui_chat.models.search import Query
from tui_chat.ui.search.query_text import KnownNames, parse_query

KNOWN = KnownNames(
    role=("Editor", "Story writer"),
    model=("gpt-4o", "gpt-4o-mini", "claude-opus"),
    tag=("work", "中文"),
)


@each_row(
    ("typed", "query"),
    [
        ("two  words", Query("two words")),
        ('"in order" x*', Query('"in order" x*')),
        ("a role:edi b", Query("a b", role_name="Editor")),
        ('role:"story w" a', Query("a", role_name="Story writer")),
        ("ROLE:EDITOR a", Query("a", role_name="Editor")),
        ("a model:gpt-4o", Query("a", model="gpt-4o")),
        ("model:claude", Query("", model="claude-opus")),
        ("tag:#中 a", Query("a", tag="中文")),
        ("from:user a", Query("a", message_role="user")),
        ("from:ass a", Query("a", message_role="assistant")),
        ("http://x.y 12:30 x:y", Query("http://x.y 12:30 x:y")),
        ("xrole:a", Query("xrole:a")),
    ],
)
def test_words_and_filters(typed: str, query: Query) -> None:
    found = parse_query(typed, KNOWN, 50)
    assert (found.query, found.faults) == (query, ())


@each_row(
    ("typed", "fault"),
    [
        ("role:nobody", "No role is called “nobody”."),
        ("model:gpt", "model: gpt-4o, gpt-4o-mini?"),
        ("from:x", "from: is user, assistant, tool or system."),
    ],
)
def test_unknown_filters_are_reported_and_ignored(typed: str, fault: str) -> None:
    found = parse_query(f"a {typed}", KNOWN, 50)
    assert (found.query, found.faults) == (Query("a"), (fault,))


@given(st.text(alphabet=st.sampled_from('abcdefortgmlu:"# 0123-中\\x00\ud800'), max_size=30))
def test_any_text_is_a_valid_query(typed: str) -> None:
    found = parse_query(typed, KNOWN, 50)
    assert len(found.query.text) <= len(typed)
