"""What is typed to export, and the branches of a session as lines."""

from __future__ import annotations

from tests.support.tables import each_row
from tui_chat.models.session import Node
from tui_chat.ui.dialogs.export import format_and_path
from tui_chat.ui.dialogs.requests import branch_lines


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


def test_compared_branches_start_where_they_diverge():
    def at(name: str, parent: str | None) -> Node:
        return Node(name, parent, "user", "complete", 0.0, "")

    tree = [
        *(at("a", None), at("b", "a"), at("c", "b"), at("d", "c")),
        *(at("x", "b"), at("y", "x"), at("z", "x"), at("w", "c"), at("r", None)),
    ]
    found = [
        (each.first.message_id, each.leaf.message_id, each.level, each.number, each.count)
        for each in branch_lines(tree)
    ]
    assert found == [
        ("a", "d", 0, 1, 4),
        ("x", "y", 1, 3, 2),
        ("z", "z", 2, 4, 1),
        ("w", "w", 1, 4, 1),
        ("r", "r", 1, 1, 1),
    ]
