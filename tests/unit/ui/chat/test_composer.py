"""What is typed: completion, history and editing."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.support.tables import each_row
from tui_chat.models.blocks import CallBlock
from tui_chat.models.message import Message
from tui_chat.models.session import Entry
from tui_chat.models.tool import call_diff, call_summary
from tui_chat.ui.chat.command_suggestions import rank_names
from tui_chat.ui.chat.completion import CompletionQuery, completion_query_at
from tui_chat.ui.chat.prompt_history import PromptHistory
from tui_chat.ui.chat.rows import runs_of
from tui_chat.ui.chat.tool_calls import call_rows, searchable_text


@each_row(
    ("before", "asked"),
    [
        ("/", CompletionQuery("command", "", 0)),
        ("/mo", CompletionQuery("command", "mo", 0)),
        ("/model ", CompletionQuery("argument", "", 7, "model")),
        ("/model gpt 5", CompletionQuery("argument", "gpt 5", 7, "model")),
        ("see @", CompletionQuery("path", "", 4)),
        ("@src/你", CompletionQuery("path", "src/你", 0)),
        ("//", None),
        ("/etc/hosts", None),
        ("me@example.org", None),
        ("@done already", None),
        ("", None),
    ],
)
def test_the_query_at_the_cursor(before: str, asked: CompletionQuery | None):
    assert completion_query_at(0, before) == asked


def test_commands_are_completed_in_the_first_line_only():
    assert completion_query_at(1, "/mo") is None
    assert completion_query_at(1, "@x") == CompletionQuery("path", "x", 0)


MODELS = [
    *("loopback/mirror", "loopback/echo", "there/loquat", "there/long", "far/gpt-local", "far/halo")
]


@each_row(
    ("typed", "listed"),
    [
        ("lo", ["there/loquat", "there/long", "loopback/mirror", "loopback/echo", *MODELS[4:]]),
        ("echo", ["loopback/echo"]),
        ("Lo GPT", ["far/gpt-local"]),
        ("", MODELS),
        ("none", []),
    ],
)
def test_a_model_whose_name_starts_with_the_text_is_listed_first(typed: str, listed: list[str]):
    assert [name for name, _ in rank_names([(name, "") for name in MODELS], typed)] == listed


def test_an_endpoint_that_is_named_exactly_is_listed_first():
    names = ["vllm-8001/qwen", "groq/vllm", "vllm-8001/vllm-tuned", "vllm/llama", "vllm/qwen"]
    given = [(name, "") for name in names]
    assert [name for name, _ in rank_names(given, "vllm")][:3] == [
        "vllm/llama",
        "vllm/qwen",
        "groq/vllm",
    ]
    assert [name for name, _ in rank_names(given, "VLLM qwen")] == ["vllm/qwen", "vllm-8001/qwen"]


# --- Earlier texts come back with the arrow keys, and what was being typed with them ------


def entries(*texts: str) -> tuple[Entry, ...]:
    """User and assistant in turn."""
    roles = ("user", "assistant")
    return tuple(Entry(Message.of(roles[at % 2], text)) for at, text in enumerate(texts))


def walked(past: PromptHistory, count: int) -> list[str | None]:
    """Go back so many steps, then to the draft again; return the texts on the way back."""
    texts = [past.step(-1, "draft") for _ in range(count)]
    while past.is_browsing:
        last = past.step(1, "")
    assert count == 0 or last == "draft"
    return texts


def test_what_else_was_sent_comes_after_the_branch():
    past = PromptHistory()
    past.recall(("theirs", "one"))
    past.show((), "there")
    past.remember("sent there")
    past.show(entries("one", "reply", "two"), "here")
    assert walked(past, 5) == ["two", "one", "sent there", "theirs", None]


def test_another_session_begins_from_its_draft():
    past = PromptHistory()
    past.show(entries("one"), "here")
    assert past.step(-1, "") == "one"
    past.show(entries("other"), "there")
    assert not past.is_browsing
    assert past.step(-1, "") == "other"


def test_a_branch_that_goes_on_leaves_the_shown_text_and_the_draft():
    past = PromptHistory()
    past.show(entries("one", "reply", "two"), "here")
    assert [past.step(-1, "draft"), past.step(-1, "")] == ["two", "one"]
    past.show(entries("one", "reply", "two", "reply"), "here")
    assert [past.step(1, ""), past.step(1, "")] == ["two", "draft"]


# --- Calls of well-known tools: summaries and diffs ---------------------------------------


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
