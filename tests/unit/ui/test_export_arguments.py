"""What is typed to export."""

from __future__ import annotations

from tests.support.tables import each_row
from tui_chat.ui.dialogs.export import format_and_path


@each_row(
    ("argument", "kind", "path"),
    [
        ("talk.md", "markdown", "talk.md"),
        ("markdown a b.txt", "markdown", "a b.txt"),
        ("talk", "json", "talk"),
        ("'my talk.jsonl'", "jsonl", "'my talk.jsonl'"),
        ("JSONL x", "jsonl", "x"),
        ("markdown", "markdown", ""),
    ],
)
def test_format_and_path(argument: str, kind: str, path: str):
    assert format_and_path(argument) == (kind, path)
