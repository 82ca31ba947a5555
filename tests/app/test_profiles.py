"""Profiles, and roles with character cards."""

from __future__ import annotations

import json
from pathlib import Path

from textual.pilot import Pilot
from textual.widgets import Input, TextArea

from tests.support.app import make_app, opened, until, workspace_of
from tests.support.list_dialogs import offered, on, words
from tests.support.screen import open_screen
from tests.support.server import Provider, chat_text
from tui_chat.models.role import Profile
from tui_chat.ui.app import TuiChat
from tui_chat.ui.chat.composer import Composer
from tui_chat.ui.dialogs.base import Confirm
from tui_chat.ui.dialogs.choices import ChoiceDialog
from tui_chat.ui.dialogs.forms import FieldsForm
from tui_chat.ui.widgets.form_fields import ChoiceSelect


async def profiles_of(pilot: Pilot[None], command: str = "/persona") -> TuiChat:
    app = await opened(pilot)
    app.query_one(Composer).focus()
    await pilot.press(*command, "enter")
    await on(pilot, ChoiceDialog)
    return app


async def test_a_profile_from_nothing_is_used_edited_and_deleted(tmp_path: Path) -> None:
    path = tmp_path / "profiles" / "Kim.json"
    async with make_app(tmp_path, model="echo").run_test(size=(80, 24)) as pilot:
        app = await profiles_of(pilot)
        workspace = workspace_of(app)
        assert offered(app)[0] == "No profile The model learns nothing about you"
        assert offered(app)[1].startswith("New profile… or put JSON files into")
        await pilot.press("down", "enter")
        form = await on(pilot, FieldsForm)
        await pilot.press("ctrl+s")
        await until(pilot, lambda: "needs a name" in words(app, "#fault"))
        await pilot.press(*"Kim", "tab", *"Sails.")
        await pilot.press("ctrl+s")
        await on(pilot, ChoiceDialog)
        assert json.loads(path.read_text()) == {"name": "Kim", "content": "Sails."}
        await until(pilot, lambda: workspace.state.profile == Profile("Kim", "Sails."))
        assert offered(app)[:2] == [
            "Kim Sails.",
            "No profile The model learns nothing about you",
        ]
        await pilot.press("ctrl+e")
        form = await on(pilot, FieldsForm)
        form.query_one("#placement", ChoiceSelect).focus()
        await pilot.press("enter", "down", "down", "down", "enter")
        assert form.query_one("#placement", ChoiceSelect).value == "depth"
        form.query_one("#depth", Input).value = "deep"
        await pilot.press("ctrl+s")
        await until(pilot, lambda: "Depth" in words(app, "#fault"))
        form.query_one("#depth", Input).value = "1"
        await pilot.press("ctrl+s")
        await on(pilot, ChoiceDialog)
        assert workspace.state.profile == Profile("Kim", "Sails.", "depth", 1)
        await workspace.presets.choose("character")
        turns = workspace.requests.compose("Hello").envelope.turns
        texts = [turn.text.plain for turn in turns]
        assert texts[texts.index("Hello") - 1] == "Sails."
        await pilot.press("delete")
        await on(pilot, Confirm)
        await pilot.press("y")
        await on(pilot, ChoiceDialog)
        await until(pilot, lambda: not path.exists())
        await until(pilot, lambda: offered(app)[0].startswith("No profile"))
        await pilot.press("escape")
        await until(pilot, lambda: len(app.screen_stack) == 1)
        assert workspace.state.profile_name == ""


async def test_a_profile_is_used_and_rows_say_what_is_wrong(tmp_path: Path) -> None:
    folder = tmp_path / "profiles"
    folder.mkdir()
    (folder / "a.json").write_text('{"name": "Ada", "content": "Counts."}')
    (folder / "broken.json").write_text("{")
    async with make_app(tmp_path, model="echo").run_test(size=(80, 24)) as pilot:
        app = await profiles_of(pilot, "/profile")
        workspace = workspace_of(app)
        assert offered(app)[0] == "a Ada: Counts."
        assert offered(app)[1].startswith("broken broken.json")
        await pilot.press("up", "up", "enter")  # from the one that is used: none
        await until(pilot, lambda: workspace.state.profile_name == "a")
        for key in ("ctrl+e", "enter"):
            await profiles_of(pilot, "/profile")
            await pilot.press(*"broken", key)
            await until(pilot, lambda: "broken.json" in app.notifications.shown[-1].message)
            await on(pilot, ChoiceDialog)
            assert workspace.state.profile_name == "a", "what cannot be read is not used"
            await pilot.press("escape")
        await profiles_of(pilot, "/profile")
        await pilot.press(*"no profile", "enter")
        await until(pilot, lambda: workspace.state.profile_name == "")
        await profiles_of(pilot, "/profile")
        await pilot.press(*"ada", "enter")
        await until(pilot, lambda: len(app.screen_stack) == 1)
        assert workspace.state.profile_name == "a"
        (folder / "a.json").unlink()
        await app.run_action("presets.choose_profile")
        await on(pilot, ChoiceDialog)
        assert any("There is no profile" in line for line in offered(app))


async def test_what_another_program_wrote_is_overwritten_only_if_asked(tmp_path: Path) -> None:
    folder = tmp_path / "profiles"
    folder.mkdir()
    path = folder / "me.json"
    path.write_text('{"name": "Ada", "content": "Counts.", "mood": "calm"}')
    async with make_app(tmp_path, model="echo").run_test(size=(120, 35)) as pilot:
        app = await profiles_of(pilot, "/profile")
        await pilot.press(*"ada", "ctrl+e")
        form = await on(pilot, FieldsForm)
        form.query_one("#content", TextArea).text = "Mine."
        path.write_text('{"name": "Ada L.", "content": "Theirs.", "mood": "calm"}')
        await pilot.press("ctrl+s")
        await until(pilot, lambda: "changed this profile" in words(app, "#fault"))
        assert json.loads(path.read_text())["content"] == "Theirs."
        await pilot.press("ctrl+s")
        await on(pilot, ChoiceDialog)
        assert json.loads(path.read_text()) == {
            "name": "Ada",
            "content": "Mine.",
            "mood": "calm",
        }
        assert app.workspace.state.profile is None, "editing a profile does not use it"


# --- A character card from its file to the request, on the screen -------------------------


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
