"""Lorebooks of a session: which are searched, and what stays active."""

from __future__ import annotations

from pathlib import Path

from tests.support.workspace import answered, ids, last_failure, put, say, words


async def test_lore_entries_are_sent_when_their_keywords_occur(make_workspace, tmp_path: Path):
    entry = {"keys": ["salt"], "content": "Salt comes from the marsh."}
    put(tmp_path / "lorebooks", "sea", {"name": "Sea", "entries": [entry]})
    workspace, heard = await make_workspace()
    await workspace.settings.set_lorebooks(("sea",))
    assert "Salt comes from the marsh." in words(workspace, "Where does salt come from?")
    assert "Salt comes from the marsh." not in words(workspace, "Hello")
    await workspace.settings.set_lorebooks(("sea", "nowhere"))
    assert "There is no lorebook “nowhere”" in last_failure(heard)
    assert workspace.state.lorebook_names == ("sea",)
    await say(workspace, heard, "Hello")
    await workspace.close()
    workspace, _ = await make_workspace()
    assert workspace.state.lorebook_names == ("sea",), "it stays with the session"
    assert [book.name for book in workspace.state.lorebooks] == ["Sea"]


async def test_sticky_entries_follow_the_active_branch(make_workspace, tmp_path: Path):
    entry = {"keys": ["salt"], "content": "From the marsh.", "scanDepth": 1, "sticky": 4}
    put(tmp_path / "lorebooks", "sea", {"name": "Sea", "entries": [entry]})
    workspace, heard = await make_workspace()
    await workspace.settings.set_lorebooks(("sea",))
    await say(workspace, heard, "Salt?")
    assert "From the marsh." in words(workspace, "Go on")
    first = ids(workspace)[0]
    await answered(workspace, heard, workspace.branches.edit(first, "Sugar?", send=True))
    assert "From the marsh." not in words(workspace, "Go on")
