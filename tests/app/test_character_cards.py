"""A character card from its file to the request, on the screen."""

from __future__ import annotations

import json
from pathlib import Path

from tests.support.screen import open_screen
from tests.support.server import Provider, chat_text

CARD = {
    "spec": "chara_card_v3",
    "spec_version": "3.0",
    "data": {
        "name": "Mira",
        "description": "MARK-D keeps the light.",
        "personality": "MARK-P calm",
        "scenario": "MARK-S storm",
        "first_mes": "MARK-G ahoy",
        "mes_example": "<START>\n{{user}}: Hi\n{{char}}: MARK-E aye",
    },
}
MARKS = ("MARK-D", "MARK-P", "MARK-S", "MARK-E", "MARK-G")


async def test_a_card_is_imported_chosen_and_sent(tmp_path: Path):
    card = tmp_path / "mira.json"
    card.write_text(json.dumps(CARD), encoding="utf-8")
    with Provider(chat_text("Aye.")) as provider:
        async with open_screen(tmp_path / "home", config=provider.config()) as screen:
            await screen.type(f"/import {card}")
            await screen.press("enter")
            await screen.sees("“Mira” is now a role", "“character”")
            await screen.type("/role Mira")
            await screen.press("enter")
            await screen.sees("MARK-G ahoy")
            await screen.type("hello")
            await screen.press("enter")
            await screen.sees("Aye.")

            await screen.type("/preset plain")
            await screen.press("enter")
            await screen.click_on("Notes 1")
            await screen.sees("The description, personality, scenario and", "“plain”")
            await screen.sees("/preset character")
    sent = json.dumps(provider.bodies[0])
    assert not [mark for mark in MARKS if mark not in sent], sent


async def test_a_lorebook_of_a_card_is_sent_and_its_empty_places_are_no_notes(tmp_path: Path):
    entry = {"keys": ["lamp"], "content": "MARK-L whale oil", "position": "after_char"}
    book = {"name": "Lights", "entries": [entry | {"enabled": True, "insertion_order": 1}]}
    card = tmp_path / "mira.json"
    card.write_text(json.dumps(CARD | {"data": CARD["data"] | {"character_book": book}}))
    async with open_screen(tmp_path / "home", config='model = "mirror"\n') as screen:
        await screen.type(f"/import {card}")
        await screen.press("enter")
        await screen.sees("“Mira” is now a role", "“character”")
        await screen.type("/role Mira")
        await screen.press("enter")
        await screen.sees("MARK-G ahoy")
        await screen.press("f4")
        await screen.sees("✓ No notes")
        await screen.press("right")
        await screen.sees("“worldInfoBefore” has no value", "no profile")
        await screen.press("left", "escape", "escape")
        await screen.type("the lamp")
        await screen.sees("MARK-L whale oil", "✓ No notes")
