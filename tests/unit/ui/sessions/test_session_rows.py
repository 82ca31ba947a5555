"""Rows of the session list, and the filter's words."""

from __future__ import annotations

from tests.support.sidebar_app import NOW, summary
from tests.support.tables import each_row
from tui_chat.ui.ago import ago
from tui_chat.ui.sessions.rows import matches, session_rows, usual_facts


@each_row(
    ("words", "is_found"),
    [
        (["cat"], True),
        (["cat", "night"], True),
        (["cat", "day"], False),
        (["#work"], True),
        (["#rk"], False),
        (["rk"], True),
        (["model-x", "zoo", "sailor", "code"], True),
        ([], True),
    ],
)
def test_the_filter_looks_at_what_a_session_is_known_by(words: list[str], is_found: bool):
    session = summary(
        *(1, "Cats at Night"), role_name="Sailor", folder="Zoo", client="Code", tags=("Work", "b")
    )
    assert matches(session, words) is is_found


def test_side_conversations_in_a_circle_are_sessions_of_their_own():
    parents = ["s2", "s1", "", "s3", "s4"]
    sessions = [summary(n, parent_id=parent) for n, parent in enumerate(parents, 1)]
    rows = session_rows(sessions, NOW)
    levels = [(row.key, row.level) for row in rows[1:]]
    assert levels == [("s1", 1), ("s2", 1), ("s3", 1), ("s4", 2), ("s5", 3)]


def test_what_most_of_the_newest_sessions_have_is_usual():
    sessions = [summary(n, role_name="Assistant") for n in range(3)] + [summary(4, model="other")]
    assert usual_facts(sessions) == ("Assistant", "model-x")
    assert usual_facts([]) == ("", "")


@each_row(
    ("passed", "said"),
    [
        (-5, "now"),
        (59, "now"),
        (60, "1m"),
        (3599, "59m"),
        (7200, "2h"),
        (3 * 86_400, "Thu"),
        (30 * 86_400, "16 May"),
        (400 * 86_400, "May 2024"),
        (1e15, ""),
    ],
)
def test_ages_are_short(passed: float, said: str):
    assert ago(NOW - passed, NOW) == said
