"""Character cards are imported as roles."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest

from tests.library.test_character_cards import PIXEL, picture, text_chunk
from tests.workspace.test_characters import CARD


def archive(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("card.json", json.dumps(CARD))


@pytest.mark.parametrize(
    ("name", "kept"),
    [("ada.png", PIXEL), ("ada.json", b""), ("ada.charx", b"")],
    ids=["png", "json", "charx"],
)
async def test_every_kind_of_card_becomes_a_role(make_workspace, tmp_path, name: str, kept: bytes):
    workspace, _ = await make_workspace()
    path = tmp_path / name
    match path.suffix:
        case ".png":
            path.write_bytes(picture(text_chunk("chara", CARD)))
        case ".json":
            path.write_text(json.dumps(CARD, indent=1))
        case _:
            archive(path)
    for dry_run in (True, False, False):  # a second import replaces the first
        (report,) = await workspace.import_export.import_files([path], dry_run=dry_run)
        assert (report.faults, report.card[0].name) == ([], "Ada")
        names = [role.name for role in workspace.state.roles]
        assert names.count("Ada") == (0 if dry_run else 1)
    role = await workspace.store.roles.get(report.card[0].role_id)
    assert role.character.greetings[1] == "Closed today."
    assert await workspace.store.roles.picture(role.role_id) == kept


async def test_a_damaged_card_is_a_fault(make_workspace, tmp_path):
    workspace, _ = await make_workspace()
    path = tmp_path / "ada.png"
    path.write_bytes(PIXEL)
    (report,) = await workspace.import_export.import_files([path])
    assert "without a character card" in report.faults[0].sentence
    assert report.card is None
