"""Character cards are imported as roles."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tests.plugins.sillytavern.test_character_cards import PIXEL, picture, text_chunk
from tests.plugins.sillytavern.test_characters import CARD
from tests.support.reading import import_into


def archive(path: Path, card: dict[str, Any] = CARD) -> None:
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("card.json", json.dumps(card))


def named(name: str) -> dict[str, Any]:
    return {**CARD, "data": {**CARD["data"], "name": name}}


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
        (report,) = await import_into(workspace, [path], dry_run=dry_run)
        assert (report.faults, [role.name for role in report.cards]) == ([], ["Ada"])
        names = [role.name for role in workspace.state.roles]
        assert names.count("Ada") == (0 if dry_run else 1)
    role = await workspace.store.roles.get(report.cards[0].role_id)
    assert role.character.greetings[1] == "Closed today."
    assert await workspace.store.roles.picture(role.role_id) == kept


async def test_a_damaged_card_is_a_fault(make_workspace, tmp_path):
    workspace, _ = await make_workspace()
    path = tmp_path / "ada.png"
    path.write_bytes(PIXEL)
    (report,) = await import_into(workspace, [path])
    assert "without a character card" in report.faults[0].sentence
    assert not report.cards


@pytest.mark.parametrize("is_archive", [False, True], ids=["folder", "archive"])
async def test_a_folder_has_cards_chats_and_other_pictures(make_workspace, tmp_path, is_archive):
    workspace, _ = await make_workspace()
    folder = tmp_path / "data"
    (folder / "characters").mkdir(parents=True)
    (folder / "a chat.jsonl").write_text(
        json.dumps({"user_name": "Kim", "character_name": "Ada", "create_date": "2025-1-1"})
        + "\n"
        + json.dumps({"name": "Ada", "is_user": False, "mes": "Closed.", "send_date": "2025-1-1"})
    )
    (folder / "characters" / "Ada.PNG").write_bytes(picture(text_chunk("chara", CARD)))
    archive(folder / "characters" / "bo.charx", named("Bo"))
    (folder / "characters" / "cy.json").write_text(json.dumps(named("Cy")))
    (folder / "characters" / "plain.png").write_bytes(PIXEL)
    (folder / "characters" / "no.png").write_bytes(b"GIF89a")
    (folder / "characters" / "no.charx").write_bytes(b"PK\x03\x04")
    broken = picture(text_chunk("chara", CARD)).replace(b"chara\0", b"chara\0-")
    (folder / "characters" / "broken.png").write_bytes(broken)
    (folder / "characters" / "photo.jpg").write_bytes(b"\xff\xd8\xff")
    path = folder
    if is_archive:
        path = tmp_path / "data.zip"
        with zipfile.ZipFile(path, "w") as file:
            for each in sorted(folder.rglob("*.*")):
                file.write(each, each.relative_to(folder))
    for dry_run in (True, False):
        [report] = await import_into(workspace, [path], dry_run=dry_run)
        assert [role.name for role in report.cards] == ["Ada", "Bo", "Cy"]
        assert sorted(report.skipped) == ["characters/no.png", "characters/plain.png"]
        assert [fault.place for fault in report.faults] == [
            "characters/broken.png",
            "characters/no.charx",
        ]
        assert report.read == report.size
        assert report.new == 1
    names = [role.name for role in workspace.state.roles]
    assert sorted(names) == ["Ada", "Assistant", "Bo", "Cy"]
    ada, bo = report.cards[:2]
    assert await workspace.store.roles.picture(ada.role_id) == PIXEL
    assert not await workspace.store.roles.picture(bo.role_id)
    session = await workspace.store.sessions.get(report.session_ids[0])
    assert session.role_id == ada.role_id, "cards are read before chats"
