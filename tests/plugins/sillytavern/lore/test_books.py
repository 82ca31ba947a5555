"""Lorebooks as they are edited, and those of a session."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.lorebooks import with_content
from tests.support.workspace import answered, ids, last_failure, put, say, words
from tui_chat.errors import ChangedElsewhere, InputError
from tui_chat.models.lorebook import LorebookEntry
from tui_chat.models.text import Origin, OriginKind
from tui_chat.plugins.sillytavern.lore.books import Lorebooks
from tui_chat.plugins.sillytavern.lore.edits import (
    add_entry,
    remove_entry,
)
from tui_chat.workspace.workspace import Workspace

TOWN = "town"
FOX = {"id": "fox", "keys": ["fox"], "content": "Red.", "mood": "kept"}


def write(folder: Path, *entries: object) -> Path:
    path = folder / "lorebooks" / "town.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({"name": "The town", "entries": entries}))
    return path


def entries(path: Path) -> object:
    return json.loads(path.read_text())["entries"]


def used(workspace: Workspace) -> list[str]:
    return [each.content for book in workspace.state.lorebooks for each in book.entries]


async def test_a_lorebook_is_created_used_filled_and_emptied(make_workspace, tmp_path: Path):
    workspace, _ = await make_workspace()
    books = Lorebooks(workspace)
    place = await books.create("Team facts")
    assert workspace.state.lorebook_names == ("Team facts",)
    with pytest.raises(InputError, match="exists already"):
        await books.create("Team facts")
    books.edit(place, lambda file: add_entry(file, LorebookEntry("", "Wet.")))
    assert used(workspace) == ["Wet."]
    [pool] = books.read(place).book.entries
    books.edit(place, with_content(pool, "Wetter."))
    assert used(workspace) == ["Wetter."]
    books.edit(place, lambda file: remove_entry(file, file.book.entries[0]))
    assert used(workspace) == []
    path = tmp_path / "lorebooks" / "Team facts.json"
    assert json.loads(path.read_text())["entries"] == []


async def test_what_another_program_wrote_stays(make_workspace, tmp_path: Path):
    workspace, _ = await make_workspace()
    books, path = Lorebooks(workspace), write(tmp_path, FOX)
    fox = books.read(TOWN).book.entries[0]
    owl = {"id": "owl", "content": "Wise."}
    write(tmp_path, owl, FOX)
    books.edit(TOWN, with_content(fox, "Grey."))
    assert entries(path) == [owl, {**FOX, "content": "Grey."}]
    write(tmp_path, owl, {**FOX, "content": "Blue."})
    grey = replace(fox, content="Grey.")
    with pytest.raises(ChangedElsewhere):
        books.edit(TOWN, with_content(grey, "Red."))
    assert entries(path) == [owl, {**FOX, "content": "Blue."}]
    path.write_text("{broken")
    with pytest.raises(InputError, match=r"town\.json"):
        books.edit(TOWN, with_content(grey, "Red."))
    assert path.read_text() == "{broken"


async def test_a_deleted_lorebook_is_brought_back(make_workspace, tmp_path: Path):
    workspace, _ = await make_workspace()
    path = write(tmp_path, FOX)
    await Lorebooks(workspace).use("town", is_used=True)
    await Lorebooks(workspace).delete("town")
    assert not path.exists()
    assert workspace.state.lorebook_names == ()


async def test_an_entry_is_found_by_its_origin(make_workspace, tmp_path: Path):
    workspace, _ = await make_workspace()
    write(tmp_path, FOX)
    assert Lorebooks(workspace).find(Origin(OriginKind.LORE, "The town/fox")) is None, "not used"
    await Lorebooks(workspace).use("town", is_used=True)
    assert Lorebooks(workspace).find(Origin(OriginKind.LORE, "The town/fox")) == (TOWN, "fox")
    assert Lorebooks(workspace).find(Origin(OriginKind.LORE, "The town/gone")) is None


# --- Lorebooks of a session: which are searched, and what stays active --------------------


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
