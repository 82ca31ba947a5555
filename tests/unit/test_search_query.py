"""Parsing typed queries."""

from __future__ import annotations

import os
import time
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.tables import each_row
from tui_chat.models.search import Query
from tui_chat.ui.search.query_text import KnownNames, complete_filter, parse_query

NOON = 1_767_268_800.0
"""2026-01-01 12:00 UTC, a Thursday."""
KNOWN = KnownNames(
    role=("Editor", "Story writer"),
    model=("gpt-4o", "gpt-4o-mini", "claude-opus"),
    endpoint=("openai", "local"),
    tag=("work", "中文"),
)


@pytest.fixture(autouse=True)
def utc(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    os.environ.pop("TZ", None)
    time.tzset()


def day(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


@each_row(
    ("typed", "query"),
    [
        ("two  words", Query("two words")),
        ('"in order" x*', Query('"in order" x*')),
        ("a role:edi b", Query("a b", role_name="Editor")),
        ('role:"story w" a', Query("a", role_name="Story writer")),
        ("ROLE:EDITOR a", Query("a", role_name="Editor")),
        ("a model:gpt-4o", Query("a", model="gpt-4o")),
        ("model:claude endpoint:loc", Query("", model="claude-opus", endpoint="local")),
        ("tag:#中 a", Query("a", tag="中文")),
        ("from:user a", Query("a", message_role="user")),
        ("from:me a", Query("a", message_role="user")),
        ("from:ass a", Query("a", message_role="assistant")),
        ("after:2025-03-02 a", Query("a", since=day("2025-03-02"))),
        ("after:2025 before:2025-3", Query("", since=day("2025-01-01"), until=day("2025-03-01"))),
        ("after:today", Query("", since=day("2026-01-01"))),
        ("before:yesterday", Query("", until=day("2025-12-31"))),
        ("after:7d", Query("", since=day("2025-12-25"))),
        ("after:2w", Query("", since=day("2025-12-18"))),
        ("after: from: a", Query("a")),  # not typed to its end yet
        ("http://x.y 12:30 x:y", Query("http://x.y 12:30 x:y")),
        ("xrole:a", Query("xrole:a")),
    ],
)
def test_words_and_filters(typed: str, query: Query) -> None:
    found = parse_query(typed, KNOWN, NOON, "rank")
    assert (found.query, found.faults) == (query, ())


@each_row(
    ("typed", "fault"),
    [
        ("role:nobody", "No role is called “nobody”."),
        ("model:gpt", "model: gpt-4o, gpt-4o-mini?"),
        ("from:x", "from: is user, assistant, tool or system."),
        ("after:soon", "after: a day, such as 2026-01-31, today, 7d."),
        ("before:2026-02-30", "before: there is no such day, “2026-02-30”."),
        ("after:2026-13", "after: there is no such day, “2026-13”."),
    ],
)
def test_unknown_filters_are_reported_and_ignored(typed: str, fault: str) -> None:
    found = parse_query(f"a {typed}", KNOWN, NOON, "newest")
    assert (found.query, found.faults) == (Query("a", order="newest"), (fault,))


@each_row(
    ("typed", "whole"),
    [
        ("a ro", "a role:"),
        ("role:sto", 'role:"Story writer" '),
        ('x role:"story', 'x role:"Story writer" '),
        ("model:mini", "model:gpt-4o-mini "),
        ("from:a", "from:assistant "),
        ("tag:", "tag:work "),
        ("nothing", "nothing"),
        ("role:zzz", "role:zzz"),
        ("", ""),
    ],
)
def test_tab_completes(typed: str, whole: str) -> None:
    assert complete_filter(typed, KNOWN) == whole


@given(st.text(alphabet=st.sampled_from('abcdefortgmlu:"# 0123-中\\x00\ud800'), max_size=30))
def test_any_text_is_a_valid_query(typed: str) -> None:
    found = parse_query(typed, KNOWN, NOON, "rank")
    assert len(found.query.text) <= len(typed)
    complete_filter(typed, KNOWN)
