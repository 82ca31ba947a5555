"""A disabled role: what saving and importing it says, and what choosing it says."""

from __future__ import annotations

import json
from pathlib import Path

from tests.support.screen import Screen, open_screen

CARD = {
    "spec": "chara_card_v2",
    "spec_version": "2.0",
    "data": {"name": "Mira", "description": "She keeps the light.", "first_mes": "Ahoy!"},
}


async def send(screen: Screen, words: str) -> None:
    await screen.type(words)
    await screen.press("enter")


async def test_saving_a_disabled_role_says_how_to_enable_it(tmp_path: Path):
    card = tmp_path / "mira.json"
    card.write_text(json.dumps(CARD), encoding="utf-8")
    async with open_screen(tmp_path) as screen:
        await send(screen, f"/import {card}")
        await screen.sees("“Mira” is now a role", "Start a session with it.")
        await send(screen, "/roles")
        await screen.sees("Write or edit a role")
        await screen.type("Mira")
        await screen.press("enter")
        await screen.sees("Role: Mira", "Available for new sessions")
        await screen.click_on("Available for new sessions")
        await screen.press("ctrl+s")
        await screen.sees("Role “Mira” saved. It is disabled: /roles enables it.")

        await send(screen, "/role Mira")
        await screen.sees("The role “Mira” is disabled.", "/roles")
        await screen.press("ctrl+u")
        card.write_text(json.dumps(CARD) + " ", encoding="utf-8")
        await send(screen, f"/import {card}")
        await screen.sees("“Mira” is now a role", "It is disabled: /roles enables it.")
