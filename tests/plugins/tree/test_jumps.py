"""Going to any message of any tree, deleting any branch, and what is brought from one."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest

from tests.plugins.tree.trees import random_tree
from tests.support.messages import make_message
from tests.support.reading import import_into
from tests.support.tables import each_row
from tests.support.workspace import MakeWorkspace
from tui_chat.errors import InputError
from tui_chat.models.blocks import CallBlock, MediaBlock
from tui_chat.models.endpoint import Protocol
from tui_chat.models.message import About, Brought, Message, message_origin
from tui_chat.models.session import Entry, PlaceName, Session, SessionTranscript
from tui_chat.plugins.tree.actions import jump
from tui_chat.plugins.tree.copies import bring_reply
from tui_chat.plugins.tree.layout import Tree
from tui_chat.workspace.events import Failed
from tui_chat.workspace.workspace import Workspace

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
