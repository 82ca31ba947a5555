"""The layout of a tree, and jumps in it."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.plugins.tree.trees import nodes_of, random_tree
from tests.support.messages import make_message
from tests.support.reading import import_into
from tests.support.tables import each_row
from tests.support.workspace import MakeWorkspace
from tui_chat.errors import InputError
from tui_chat.models.blocks import CallBlock, MediaBlock
from tui_chat.models.endpoint import Protocol
from tui_chat.models.message import About, Brought, Message, message_origin
from tui_chat.models.session import Entry, Node, PlaceName, Session, SessionTranscript
from tui_chat.plugins.tree.actions import jump
from tui_chat.plugins.tree.copies import bring_reply
from tui_chat.plugins.tree.layout import Rows, Tree
from tui_chat.workspace.events import Failed
from tui_chat.workspace.workspace import Workspace

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


# --- Going to any message of any tree, deleting any branch, and what is brought from one --


PICTURE = MediaBlock("image", mime="image/png", data="iVBORw0KGgo=")


async def opened(workspace: Workspace, transcript: SessionTranscript) -> None:
    await workspace.store.transcripts.add(transcript)
    await workspace.sessions.open(transcript.session.session_id)
    await workspace.sessions.branch_loaded()


def shown(workspace: Workspace) -> list[str]:
    return [entry.message.id for entry in workspace.state.entries]


@each_row("seed", range(12))
async def test_a_jump_leads_to_any_message_and_undo_restores_any_tree(
    make_workspace: MakeWorkspace, seed: int
) -> None:
    workspace, heard = await make_workspace()
    rng = random.Random(seed)
    await opened(workspace, random_tree(rng.randrange(1, 40), rng.randrange(1, 15), seed))
    for _ in range(8):
        nodes = await workspace.branches.tree()
        head = workspace.state.entries[-1].message.id
        tree = Tree(nodes, head)
        id = rng.choice(nodes).message_id
        await jump(workspace, id)
        branch = shown(workspace)
        assert branch[: len(tree.path(id))] == tree.path(id)
        assert branch == tree.path(head if id in tree.active else tree.newest[id])
        await workspace.branches.delete(id)
        below = {other for other in tree.nodes if id in tree.path(other)}
        rest = {node.message_id for node in await workspace.branches.tree()}
        assert rest == tree.nodes.keys() - below
        await workspace.undo()
        assert await workspace.branches.tree() == nodes
        assert shown(workspace) == branch
    other = next((id for id in tree.nodes if id not in shown(workspace)), None)
    if other is not None:  # a branch that is not shown can be deleted too
        branch = shown(workspace)
        await workspace.branches.delete(other)
        assert shown(workspace) == branch
        await workspace.undo()
        assert await workspace.branches.tree() == nodes
    assert not heard.of(Failed)


def talk(*links: str) -> SessionTranscript:
    """Return a session of messages `parent>id`: `u…` of the user, `r…` replies, `t…` tool calls."""
    entries: list[Entry] = []
    for number, link in enumerate(links):
        parent, _, id = link.rpartition(">")
        role = "user" if id.startswith("u") else "assistant"
        message = Message.of(role, f"words of {id}", id=id, timestamp=1_700_000_000.0 + number)
        if id.startswith("t"):
            message = replace(message, blocks=(CallBlock("c", "weather", "{}"),))
        entries.append(Entry(message, parent or None, model="m" if role == "assistant" else ""))
    return SessionTranscript(Session("s", "Talk", head_id=entries[-1].message.id), tuple(entries))


TALK = talk("u1", "u1>r1", "r1>u2", "u2>r2", "r2>u3", "u3>r3", "u2>r4", "u2>t5", "r1>u6", "u6>r6")
"""The active branch ends with r6; another one with r3."""


async def test_a_reply_is_brought_here_with_its_origin(
    make_workspace: MakeWorkspace, tmp_path: Path
) -> None:
    workspace, heard = await make_workspace()
    await opened(workspace, TALK)
    assert await bring_reply(workspace, "r3")
    assert shown(workspace)[:-1] == ["u1", "r1", "u6", "r6"]
    message = workspace.state.entries[-1].message
    assert (message.role, message.content) == ("assistant", "words of r3")
    assert message.about == About(brought=Brought("r3"))
    label = "message “words of r3”, from another branch of this conversation"
    assert message_origin(message).label == label
    assert workspace.state.entries[-1].model == "m"
    await workspace.branches.add_system_message("what follows")
    heard.changes.clear()
    await workspace.branches.delete(shown(workspace)[-1])
    message = workspace.state.entries[-1].message
    for id, error in (("u3", "not a reply"), ("t5", "no text"), ("gone", "deleted")):
        with pytest.raises(InputError, match=error):
            await bring_reply(workspace, id)
    assert await workspace.branches.edit(message.id, "shorter")
    assert workspace.state.entries[-1].message.about.brought == Brought("r3")
    await workspace.branches.name_place("r3", "the good one")
    # It survives a fork, and an export that is imported elsewhere.
    transcript = await workspace.store.transcripts.get("s")
    assert transcript is not None
    assert transcript.session.places == (PlaceName("r3", "the good one"),)
    file = tmp_path / "talk.json"
    assert await workspace.exports.export("s", "json", file)
    assert await workspace.branches.fork(shown(workspace)[-1])
    assert workspace.state.entries[-1].message.about.brought == Brought("r3")
    assert workspace.state.session is not None
    assert workspace.state.session.places == ()
    await workspace.sessions.delete("s")
    await workspace.store.sessions.remove("s")
    await import_into(workspace, [file])
    assert await workspace.store.transcripts.get("s") == transcript
    assert not heard.of(Failed)


@each_row("protocol", Protocol)
async def test_what_was_brought_is_sent_as_any_other_message(
    make_workspace: MakeWorkspace, protocol: Protocol
) -> None:
    workspace, _ = await make_workspace()
    parts = (PICTURE,)
    message = make_message("assistant", "words", id="x", parts=parts, timestamp=1_700_000_100.0)
    [head] = [entry for entry in TALK.entries if entry.message.id == "r6"]
    bodies: list[bytes] = []
    for number, brought in enumerate((None, Brought("r3"), Brought("r3", 4))):
        own = replace(message, about=About(brought=brought))
        ids = {entry.message.id: f"{entry.message.id}-{number}" for entry in TALK.entries}
        ids["x"] = f"x-{number}"
        entries = [
            replace(
                entry,
                message=replace(entry.message, id=ids[entry.message.id]),
                parent_id=ids.get(entry.parent_id or ""),
            )
            for entry in (*TALK.entries, Entry(own, head.message.id))
        ]
        session = Session(f"s{number}", "Talk", head_id=f"x-{number}")
        await opened(workspace, SessionTranscript(session, tuple(entries)))
        composed = workspace.requests.compose("And now?", protocol)
        bodies.append(composed.payload.body)
        assert b"words" in bodies[-1]
    assert len(set(bodies)) == 1
