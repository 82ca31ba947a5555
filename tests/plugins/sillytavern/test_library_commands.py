"""Cards and their lorebooks in the commands about the library."""

from __future__ import annotations

import json
from pathlib import Path

from tests.plugins.sillytavern.test_character_cards import picture, text_chunk
from tests.support.command_line import Run
from tui_chat.paths import bundled
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


ENTRY_SHOWN = """\
   2  owl: fox  → depth 2, order 5, user
      · and none of “owl”, “elk”
      · probability 50 %
      · sticky 3 messages
      · cooldown 1 message
      · group “g” (weight 7)
      Red.
"""


def test_lorebooks_of_files_and_cards_are_listed_shown_and_exported(
    run: Run, tmp_path: Path
) -> None:
    folders = ("--data-dir", tmp_path / "data", "--config-dir", tmp_path / "config")
    (tmp_path / "config" / "lorebooks").mkdir(parents=True)
    fox = {"id": "fox", "keys": ["fox"], "content": "Red.", "insertionPoint": -2}
    conditions = {"secondaryKeys": ["owl", "elk"], "secondaryLogic": "not_any", "probability": 50}
    timers = {"sticky": 3, "cooldown": 1, "groups": ["g"], "groupWeight": 7, "order": 5}
    town = {"entries": [fox, {**fox, **conditions, **timers, "id": "owl", "role": "user"}]}
    (tmp_path / "config" / "lorebooks" / "town.json").write_text(json.dumps(town))
    card = bundled("sample_presets") / "cards" / "ines-varga.json"
    assert run(*folders, "import", card).code == 0
    listed = json.loads(run(*folders, "lorebooks", "list", "--json").out)
    assert listed[0]["name"] == "town"
    assert listed[1]["place"] == "card of Ines Varga"
    assert "fox  → depth 2" in run(*folders, "lorebooks", "show", "town").out
    assert run(*folders, "lorebooks", "show", "town").out.endswith(ENTRY_SHOWN)
    world = json.loads(run(*folders, "lorebooks", "export", "town").out)
    assert world["entries"]["0"]["depth"] == 2
    of_card = json.loads(run(*folders, "lorebooks", "export", listed[1]["name"]).out)
    assert len(of_card["entries"]) == listed[1]["entries"]


def test_a_role_of_a_card_is_shown_with_its_creators_notes(run: Run, tmp_path: Path) -> None:
    folders = ("--data-dir", tmp_path / "data", "--config-dir", tmp_path / "config")
    card = tmp_path / "ada.json"
    data = {"name": "Ada", "creator": "Kim", "creator_notes": "Be kind to her.", "extensions": {}}
    card.write_text(json.dumps({"spec": "chara_card_v2", "spec_version": "2.0", "data": data}))
    assert run(*folders, "import", card).code == 0
    out = run(*folders, "roles", "show", "Ada").out
    assert "creator = Kim" in out
    assert "Creator's notes\nBe kind to her." in out
