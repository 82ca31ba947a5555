"""Calls of well-known tools: summaries and diffs."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.support.tables import each_row
from tui_chat.models.blocks import CallBlock
from tui_chat.models.tool import call_diff, call_summary
from tui_chat.ui.chat.rows import runs_of
from tui_chat.ui.chat.tool_calls import call_rows, searchable_text

PATCH = "*** Begin Patch\n*** Update File: wick.txt\n@@\n-dry\n+oiled\n*** End Patch"


def call(name: str, arguments: Any) -> CallBlock:
    return CallBlock("c", name, arguments if isinstance(arguments, str) else json.dumps(arguments))


EDIT = call("Edit", {"file_path": "a.txt", "old_string": "one\ntwo", "new_string": "one\n2"})


@each_row(("name", "arguments", "words"), [
    ("Bash", {"command": "ls  -l\nharbour", "description": "List"}, "ls -l harbour"),
    ("shell", {"command": ["bash", "-lc", "cat a"]}, "cat a"),
    ("Read", {"file_path": "a.txt", "limit": 5}, "a.txt"),
    ("Grep", {"pattern": "x+", "path": "src"}, "x+  in src"),
    ("Edit", json.loads(EDIT.arguments), "a.txt  +1 −1"),
    ("apply_patch", PATCH, "wick.txt  +1 −1"),
    ("Write", {"file_path": "n", "content": "a\nb"}, "n  +2 −0"),
    ("lookup", {"number": 5}, ""),
    ("broken", '{"command": "l', ""),
    ("list", "[1]", ""),
])  # fmt: skip
def test_summaries(name: str, arguments: Any, words: str):
    assert call_summary(call(name, arguments)) == words


@each_row(("name", "arguments", "patch"), [
    ("Edit", json.loads(EDIT.arguments), "--- a.txt\n+++ a.txt\n@@\n one\n-two\n+2"),
    ("edit", {"filePath": "a", "oldString": "", "newString": "x"}, "--- a\n+++ a\n+x"),
    ("MultiEdit", {"file_path": "a", "edits": [{"old_string": "x", "new_string": "y"}, 5,
                                               {"old_string": "p", "new_string": "q"}]},
     "--- a\n+++ a\n@@\n-x\n+y\n@@\n-p\n+q"),
    ("write_file", {"path": "a", "content": "x\ny"}, "--- a\n+++ a\n+x\n+y"),
    ("apply_patch", PATCH, PATCH),
    ("shell", {"command": ["apply_patch", PATCH]}, PATCH),
    ("exec_command", {"cmd": f"apply_patch <<'EOF'\n{PATCH}\nEOF"}, PATCH),
    ("Read", {"file_path": "a"}, ""),
    ("send", {"path": "a", "content": "not a file"}, ""),
])  # fmt: skip
def test_edits_are_diffs(name: str, arguments: Any, patch: str):
    assert call_diff(call(name, arguments)) == patch


def test_an_unfolded_edit_is_drawn_as_a_diff_and_found_there():
    lines = call_rows(EDIT, 40, key="k", is_open=True, state="answered")
    assert [line.text.rstrip() for line in lines] == [
        "▾ calls Edit  a.txt +1 −1     ✓ answered", " --- a.txt", " +++ a.txt", " @@", "  one",
        " -two", " +2",
    ]  # fmt: skip
    styles = {run.styles for line in lines for run in runs_of(line.content)}
    assert {("code-inserted",), ("code-deleted",)} <= styles
    assert "-two" in searchable_text(EDIT)


def test_large_pieces_are_not_compared_line_by_line():
    old, new = "\n".join(map(str, range(5000))), "\n".join(map(str, range(1, 5001)))
    found = call_diff(call("Edit", {"path": "a", "old_str": old, "new_str": new}))
    assert found.count("\n") == 10_001


@given(st.text(max_size=20), st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["command", "path", "edits", "old_string", "new_string", "content"]),
        inner, max_size=4),
    max_leaves=15,
))  # fmt: skip
def test_any_arguments_are_summarized(name: str, arguments: Any):
    made = call(name, json.dumps(arguments))
    assert isinstance(call_summary(made), str)
    assert isinstance(call_diff(made), str)
