"""Which rows a tree has."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.plugins.tree.trees import nodes_of, random_tree
from tests.support.tables import each_row
from tui_chat.models.session import Node
from tui_chat.plugins.tree.layout import Rows, Tree

TREE = "a a>b b>c c>d b>x x>y x>z c>w r"


def tree_of(text: str, head: str | None) -> Tree:
    nodes: list[Node] = []
    for link in text.split():
        parent, _, id = link.rpartition(">")
        nodes.append(Node(id, parent or None, "user", "complete", 0.0, ""))
    return Tree(nodes, head)


def drawn(rows: Rows) -> str:
    """Return the rows as indented text: `+` opens a column, `..` is a folded run."""
    lines: list[str] = []
    for row in rows.rows:
        words = row.first
        if row.folded:
            words += f"..{row.last} {row.messages}"
        lines.append(f"{' ' * row.level}{'+' * row.opens}{words}")
    return "\n".join(lines)


def test_the_active_branch_is_the_first_column() -> None:
    assert drawn(Rows(tree_of(TREE, "d"), frozenset[str]())) == "\n".join(
        (" +r", "a..b 2", " +x", "  +y", " z", "c", " +w", "d")
    )
    assert drawn(Rows(tree_of(TREE, "y"), frozenset[str]())) == "\n".join(
        (" +r", "a..b 2", " +c", "  +d", " w", "x", " +z", "y")
    )


def test_without_a_head_the_newest_branch_is_first() -> None:
    tree = tree_of("a a>b a>c b>d", None)
    assert drawn(Rows(tree, frozenset[str]())) == "a\n +c\nb..d 2"
    assert (tree.newest["a"], tree.active, tree.branch_count) == ("d", frozenset(), 2)


def test_a_run_unfolds() -> None:
    rows = Rows(tree_of(TREE, "d"), {"a"})
    assert drawn(rows) == "\n".join((" +r", "a", "b", " +x", "  +y", " z", "c", " +w", "d"))


def test_a_named_message_is_a_row_of_its_own() -> None:
    tree = tree_of("a a>b b>c c>d d>e", "e")
    assert drawn(Rows(tree, frozenset[str]())) == "a..e 5"
    assert drawn(Rows(tree, frozenset[str](), named=["c"])) == "a..b 2\nc\nd..e 2"


def test_a_search_shows_results_and_what_leads_to_them() -> None:
    tree = tree_of(f"{TREE} y>p p>q", "d")
    rows = Rows(tree, frozenset(), results={"p"})
    assert drawn(rows) == "a..b 2\nx\ny\np"
    assert drawn(Rows(tree, frozenset(), results=frozenset())) == ""


def test_a_message_is_found_in_what_is_folded() -> None:
    rows = Rows(tree_of(TREE, "d"), frozenset())
    assert [rows.rows[rows.index_of(id)].first for id in "rabyd"] == ["r", "a", "a", "y", "d"]
    assert rows.index_of("nowhere") == 0


def test_what_is_damaged_is_left_out() -> None:
    tree = tree_of("a gone>b b>c a>d", "c")
    assert [*tree.nodes] == ["a", "d"]
    assert drawn(Rows(tree, frozenset[str]())) == "a..d 2"


@each_row("head", [None, 7, -1], ids=str)
@given(st.integers(1, 60), st.integers(1, 20), st.integers(0, 999))
def test_every_message_is_in_one_row(
    head: int | None, count: int, branches: int, seed: int
) -> None:
    nodes = nodes_of(random_tree(count, branches, seed))
    head_id = None if head is None else nodes[min(head, count - 1)].message_id
    tree = Tree(nodes, head_id)
    assert sum(row.messages for row in Rows(tree, frozenset()).rows) == count
    unfolded = {node.message_id for node in nodes}
    messages = [row.first for row in Rows(tree, unfolded).rows]
    assert sorted(messages) == [node.message_id for node in nodes]
    for message in messages:
        path = tree.path(message)
        assert [messages.index(id) for id in path] == sorted(messages.index(id) for id in path)
        assert tree.newest[message] == max(
            id for id in tree.nodes if id == message or message in tree.path(id)
        )
    column = [row.first for row in Rows(tree, unfolded).rows if row.level == 0]
    path = tree.path(head_id or nodes[-1].message_id)
    assert column[: len(path)] == path
