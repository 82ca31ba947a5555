"""Cards and their lorebooks in the commands about the library."""

from __future__ import annotations

import json
from pathlib import Path

from tests.plugins.sillytavern.test_character_cards import picture, text_chunk
from tests.support.command_line import Run
from tui_chat.plugins.sillytavern.card_files import read_card


def test_a_role_is_exported_as_a_card(home: Run, tmp_path: Path):
    card = tmp_path / "ada.png"
    original = {"spec": "chara_card_v2", "data": {"name": "Ada", "first_mes": "Yes?", "own": [1]}}
    card.write_bytes(picture(text_chunk("chara", original)))
    home("import", card)
    assert json.loads(home("roles", "export", "Ada").out) == original
    written = tmp_path / "again.png"
    assert home("roles", "export", "Ada", "-o", written).code == 0
    assert read_card(written.read_bytes(), "again") == read_card(card.read_bytes(), "card")
    assert "exists already" in home("roles", "export", "Ada", "-o", written).err
    assert json.loads(home("roles", "export", "Poet").out)["data"]["system_prompt"] == "Rhyme."
    assert "has no picture" in home("roles", "export", "Poet", "-o", tmp_path / "poet.png").err


def test_lorebooks_are_listed_shown_and_exported(run: Run, tmp_path: Path) -> None:
    folders = ("--data-dir", tmp_path / "data", "--config-dir", tmp_path / "config")
    (tmp_path / "config" / "lorebooks").mkdir(parents=True)
    fox = {"id": "fox", "keys": ["fox"], "content": "Red.", "insertionPoint": -2}
    town = {"entries": [fox, {**fox, "id": "owl", "role": "user"}]}
    (tmp_path / "config" / "lorebooks" / "town.json").write_text(json.dumps(town))
    [listed] = json.loads(run(*folders, "lorebooks", "list", "--json").out)
    assert (listed["name"], listed["about"]) == ("town", "2 entries")
    assert json.loads(run(*folders, "lorebooks", "show", "town").out) == town
    world = json.loads(run(*folders, "lorebooks", "export", "town").out)
    assert world["entries"]["0"]["depth"] == 2
