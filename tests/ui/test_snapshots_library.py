"""Pictures of the dialogs of lorebooks and profiles."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

from textual.pilot import Pilot

from tests.app.test_lorebooks import on
from tests.support.app import make_app, opened, settle, until
from tests.support.pictures import MEDIUM, Album
from tui_chat.ui.areas.chat.composer import Composer
from tui_chat.ui.dialogs.forms import FieldsForm
from tui_chat.ui.dialogs.library_lists import LorebooksDialog, ProfilesDialog
from tui_chat.ui.dialogs.lorebooks import EntriesDialog

ENTRIES = [
    {"name": "Lighthouse", "keys": ["light", "beam"], "content": "White, red at its top."},
    {"name": "Storm", "keys": ["light"], "content": "Loud.", "secondaryKeys": ["night"]},
    {"name": "Keeper", "keys": ["keeper"], "content": "Ada.", "insertionPoint": -2, "sticky": 4},
    {"name": "Old map", "keys": ["map"], "content": "Torn.", "enabled": False},
    {"name": "Year", "content": "It is 1900.", "constant": True},
]
PROFILES = {
    "ada": {"name": "Ada", "content": "Ada counts, and keeps the light of the island."},
    "kim": {"name": "Kim Lee", "content": "Kim sails.", "placement": "depth", "depth": 2},
}


def write(folder: Path, kind: str, name: str, value: object) -> None:
    (folder / kind).mkdir(exist_ok=True)
    (folder / kind / f"{name}.json").write_text(json.dumps(value))


async def leave(pilot: Pilot[None]) -> None:
    """Close the dialogs."""
    while len(pilot.app.screen_stack) > 1:
        await pilot.press("escape")
        await settle(pilot)


async def test_the_users_files(album: Album, tmp_path: Path):
    write(tmp_path, "lorebooks", "coast", {"entries": ENTRIES, "tokenBudget": 200})
    write(tmp_path, "lorebooks", "town", {"entries": ENTRIES[:1]})
    for name, profile in PROFILES.items():
        write(tmp_path, "profiles", name, profile)
    async with album.of(make_app(tmp_path, model="echo"), size=MEDIUM) as pilot:
        app = await opened(pilot)
        take = partial(album.take, pilot, sizes=(MEDIUM,), themes=("tui-chat-dark",))
        workspace = app.workspace
        assert workspace is not None
        await workspace.settings.set_lorebooks(("coast",))
        await workspace.settings.set_profile("ada")
        app.query_one(Composer).text = "Is there a light?"
        await until(pilot, lambda: workspace.state.request.draft == "Is there a light?")
        await settle(pilot)
        await app.run_action("presets.choose_lorebooks")
        await on(pilot, LorebooksDialog)
        await take("lorebooks")
        await pilot.press("enter")
        await on(pilot, EntriesDialog)
        await take("entries")
        await pilot.press("enter")
        await on(pilot, FieldsForm)
        await take("an entry")
        await leave(pilot)
        await app.run_action("presets.choose_profile")
        await on(pilot, ProfilesDialog)
        await take("profiles")
        await pilot.press("down", "e")
        await on(pilot, FieldsForm)
        await take("a profile")
