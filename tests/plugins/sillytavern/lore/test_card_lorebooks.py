"""The lorebook in a card."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.plugins.sillytavern.test_characters import CARD, ada
from tests.support.lorebooks import with_content
from tui_chat.errors import FieldError
from tui_chat.models.text import Origin, OriginKind
from tui_chat.plugins.sillytavern.lore.books import Lorebooks
from tui_chat.plugins.sillytavern.lore.edits import (
    add_entry,
    change_entry,
)


async def test_the_lorebook_in_a_card_is_edited_in_the_card(make_workspace) -> None:
    workspace, _ = await make_workspace()
    books = Lorebooks(workspace)
    await workspace.store.roles.save(ada())
    await workspace.sessions.new("ada")
    [place] = books.places()
    lamp = (await books.read(place)).book.entries[0]
    assert books.find(Origin(OriginKind.LORE, "Ada's lorebook/0")) == (place, "0")
    await books.edit(place, with_content(lamp, "The lamp is red."))
    after = replace(lamp, content="More.", sticky=3, enabled=False, insertion_point=-2)
    after = replace(after, position="depth", secondary_keys=("oil",))
    await books.edit(place, lambda file: add_entry(file, after, 0))
    role = await workspace.store.roles.get("ada")
    assert role is not None
    assert role.character is not None
    data = role.character.card["data"]
    assert {**data, "character_book": 0} == {**CARD["data"], "character_book": 0}
    first, second = data["character_book"]["entries"]
    assert first == {"keys": ["lamp"], "content": "The lamp is red.", "extensions": {}}
    assert (second["enabled"], second["secondary_keys"]) == (False, ["oil"])
    assert second["extensions"] | {"sticky": 3, "depth": 2, "position": 4} == second["extensions"]
    assert role.character.book is not None
    assert role.character.book.entries[1] == replace(after, id="1", extras={})
    state = workspace.state
    assert state.searched_lorebooks[-1].entries[0].content == "The lamp is red."
    only = replace(lamp, content="The lamp is red.", characters=("Ada",))
    with pytest.raises(FieldError, match="cannot express the field “characters”"):
        await books.edit(place, lambda file: change_entry(file, 0, only))
    assert (await books.read(place)).book.entries[0].content == "The lamp is red."
