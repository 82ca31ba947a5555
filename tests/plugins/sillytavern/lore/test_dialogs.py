"""Lorebooks in the app: made from nothing, seen to be active, edited from there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from textual.pilot import Pilot
from textual.widgets import Button, Checkbox, Input, TextArea

from tests.support.app import (
    idle,
    make_app,
    opened,
    press,
    rows_shown,
    say,
    settle,
    until,
    workspace_of,
)
from tests.support.list_dialogs import offered, on, words
from tests.support.pictures import WIDE
from tui_chat.models.endpoint import Protocol
from tui_chat.plugins.sillytavern.lore.view import LoreView
from tui_chat.ui.app import TuiChat
from tui_chat.ui.chat.composer import Composer
from tui_chat.ui.dialogs.base import Confirm, TextPrompt
from tui_chat.ui.dialogs.choices import ChoiceDialog
from tui_chat.ui.dialogs.forms import FieldsForm
from tui_chat.ui.inspector.pane import Inspector
from tui_chat.ui.widgets.form_fields import ChoiceSelect


def kept(path: Path) -> list[dict[str, Any]]:
    return json.loads(path.read_text())["entries"]


def town(folder: Path, *entries: dict[str, Any]) -> Path:
    path = folder / "lorebooks" / "town.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({"entries": entries}))
    return path


FOX = {"id": "fox", "keys": ["fox"], "content": "Red.", "mood": "kept"}
OWL = {"id": "owl", "keys": ["owl"], "content": "Wise."}


async def test_a_lorebook_from_nothing_fires_and_is_edited(tmp_path: Path) -> None:
    path = tmp_path / "lorebooks" / "Team.json"
    async with make_app(tmp_path, model="echo").run_test(size=(80, 24)) as pilot:
        app = await opened(pilot)
        inspector = app.query_one(Inspector)
        await app.run_action("plugins.lorebooks")
        await on(pilot, ChoiceDialog)
        assert offered(app)[0].startswith("New lorebook… or put JSON files into")
        await pilot.press("enter")
        await on(pilot, TextPrompt)
        await pilot.press(*"Team", "enter")
        await until(pilot, lambda: offered(app) == ["New entry"])
        await pilot.press("enter")
        form = await on(pilot, FieldsForm)
        await pilot.press(*"Pool", "tab", "tab", "tab", *"swim", "enter", *"dive")
        form.query_one("#content", TextArea).text = "The pool is closed."
        await pilot.press("ctrl+s")
        await on(pilot, ChoiceDialog)
        assert offered(app) == ["Pool swim, dive · before the history", "New entry"]
        assert kept(path) == [
            {
                "id": "entry-1",
                "content": "The pool is closed.",
                "keys": ["swim", "dive"],
                "name": "Pool",
            }
        ]
        await pilot.press("escape", "escape")
        await until(pilot, lambda: len(app.screen_stack) == 1)
        app.query_one(Composer).text = "Can we swim?"
        app.panes.show_area(app.inspector)
        inspector.view_shown = "lore"
        await until(pilot, lambda: "“swim” occurs in the draft" in shown(inspector))
        inspector.focus()
        await pilot.press("w")
        form = await on(pilot, FieldsForm)
        form.query_one("#content", TextArea).text = "It is open."
        await pilot.press("ctrl+s")
        await until(pilot, lambda: len(app.screen_stack) == 1)
        assert kept(path)[0]["content"] == "It is open."
        await until(pilot, lambda: b"It is open." in body(inspector))
        await app.run_action("plugins.lorebooks")
        await on(pilot, ChoiceDialog)
        assert offered(app)[0] == "☑ Team number 1 · 1 entry"


async def test_the_lore_view_leads_to_lorebooks_and_tries_what_is_typed(tmp_path: Path) -> None:
    town(tmp_path, FOX)
    async with make_app(tmp_path, model="echo").run_test(size=(80, 24)) as pilot:
        app = await opened(pilot)
        inspector = app.query_one(Inspector)
        app.panes.show_area(app.inspector)
        inspector.view_shown = "lore"
        await until(pilot, lambda: "No lorebook is searched for this request." in shown(inspector))
        inspector.focus()
        await pilot.press("enter")
        await on(pilot, ChoiceDialog)
        await pilot.press("enter")
        await until(pilot, lambda: offered(app)[0].startswith("☑ town"))
        await pilot.press("escape")
        await until(pilot, lambda: "No key found" in shown(inspector))
        app.query_one(Composer).text = "a fox"
        await until(pilot, lambda: "● fox" in shown(inspector))


def body(inspector: Inspector) -> bytes:
    return inspector.composed.payload.body if inspector.composed is not None else b""


def shown(inspector: Inspector) -> str:
    view = inspector.views.current
    return " ".join(" ".join(rows_shown(view)).split()) if isinstance(view, LoreView) else ""


async def entries_of_town(pilot: Pilot[None]) -> TuiChat:
    app = await opened(pilot)
    await app.run_action("plugins.lorebooks")
    await on(pilot, ChoiceDialog)
    await pilot.press("ctrl+e")
    await until(pilot, lambda: "New entry" in offered(app))
    return app


async def test_an_entry_is_found_and_deleted(tmp_path: Path) -> None:
    path = town(tmp_path, FOX, {**OWL, "enabled": False, "constant": True})
    async with make_app(tmp_path, model="echo").run_test(size=(120, 35)) as pilot:
        app = await entries_of_town(pilot)
        fox, owl = "fox fox · before the history", "owl off · always · before the history"
        assert offered(app) == [fox, owl, "New entry"]
        await pilot.press(*"alw", "enter")
        form = await on(pilot, FieldsForm)
        form.query_one("#delete", Button).press()
        await on(pilot, ChoiceDialog)
        assert offered(app) == [fox, "New entry"]
        assert kept(path) == [FOX]
        await pilot.press("enter")
        form = await on(pilot, FieldsForm)
        town(tmp_path, {**FOX, "content": "Grey."})  # by another program
        form.query_one("#delete", Button).press()
        await until(pilot, lambda: "Another program changed this entry" in words(app, "#fault"))


async def test_a_fault_is_at_its_field_and_nothing_is_lost(tmp_path: Path) -> None:
    path = town(tmp_path, FOX)
    before = path.read_text()
    async with make_app(tmp_path, model="echo").run_test(size=(120, 35)) as pilot:
        app = await entries_of_town(pilot)
        await pilot.press("enter")
        form = await on(pilot, FieldsForm)
        form.query_one("#probability", Input).value = "120"
        form.query_one("#constant", Checkbox).value = True
        await pilot.press("ctrl+s")
        await until(pilot, lambda: "from 0 to 100, not 120" in words(app, "#fault"))
        assert form.focused is form.query_one("#probability")
        assert path.read_text() == before
        form.query_one("#probability", Input).value = "50"
        form.query_one("#order", Input).value = "7"
        town(tmp_path, {**FOX, "content": "Grey.", "order": 5})  # by another program
        await pilot.press("ctrl+s")
        await until(pilot, lambda: "Another program changed this entry" in words(app, "#fault"))
        assert kept(path) == [{**FOX, "content": "Grey.", "order": 5}]
        await pilot.press("ctrl+s")
        await on(pilot, ChoiceDialog)
        assert kept(path) == [{**FOX, "order": 7, "probability": 50, "constant": True}]


async def test_places_are_chosen_by_keys(tmp_path: Path) -> None:
    path = town(tmp_path, FOX)
    async with make_app(tmp_path, model="echo").run_test(size=(120, 35)) as pilot:
        app = await entries_of_town(pilot)
        await pilot.press("enter")
        form = await on(pilot, FieldsForm)
        form.query_one("#place", ChoiceSelect).focus()
        await pilot.press("enter", "down", "down", "enter", "ctrl+s")
        await until(pilot, lambda: "needs a number" in words(app, "#fault"))
        form.query_one("#insertion_point", Input).value = "2"
        form.query_one("#save", Button).press()
        await on(pilot, ChoiceDialog)
        assert kept(path) == [{**FOX, "insertionPoint": -2}]


async def test_lorebooks_are_used_and_deleted_in_the_list(tmp_path: Path) -> None:
    path = town(tmp_path, FOX)
    (path.parent / "broken.json").write_text("{")
    async with make_app(tmp_path, model="echo").run_test(size=(80, 24)) as pilot:
        app = await opened(pilot)
        workspace = workspace_of(app)
        await app.run_action("plugins.lorebooks")
        await on(pilot, ChoiceDialog)
        assert "broken.json" in offered(app)[0]
        await pilot.press("down", "enter")
        await until(pilot, lambda: workspace.state.lorebook_names == ("town",))
        await until(pilot, lambda: offered(app)[1] == "☑ town number 1 · 1 entry")
        await pilot.press("enter")
        await until(pilot, lambda: workspace.state.lorebook_names == ())
        await until(pilot, lambda: offered(app)[1] == "☐ town 1 entry")
        await pilot.press("delete")
        await on(pilot, Confirm)
        await pilot.press("y")
        await until(pilot, lambda: not path.exists())
        await on(pilot, ChoiceDialog)
        await pilot.press("escape")
        await idle(pilot)


def messages(app: TuiChat) -> list[str]:
    return [note.message for note in app.notifications.shown]


async def test_a_lorebook_that_is_chosen_by_its_name_is_confirmed(tmp_path: Path) -> None:
    town(tmp_path, FOX)
    async with make_app(tmp_path, model="echo").run_test(size=(160, 45)) as pilot:
        app = await opened(pilot)
        for how in ("searched", "no longer searched"):
            sentence = f"The lorebook “town” is {how} in this session."
            await app.run_action("plugins.lorebooks('town')")
            await until(pilot, lambda told=sentence: told in messages(app))


# --- Lorebooks in the app: the Lore view, the way from the request to an entry ------------


def rows_of(inspector: Inspector) -> str:
    return "\n".join(rows_shown(inspector.views.current))


def flat(inspector: Inspector) -> str:
    return " ".join(rows_of(inspector).split())


async def test_the_lore_view_follows_the_request(tmp_path: Path) -> None:
    (tmp_path / "lorebooks").mkdir()
    entries = [
        {"name": "Fox", "keys": ["fox"], "content": "Foxes.", "scanDepth": 1, "sticky": 4},
        {"name": "Owl", "keys": ["owl"], "content": "Owls.", "scanDepth": 1},
    ]
    (tmp_path / "lorebooks" / "animals.json").write_text(json.dumps({"entries": entries}))
    async with make_app(tmp_path, model="lorem").run_test(size=WIDE) as pilot:
        app = await opened(pilot)
        inspector, workspace = app.query_one(Inspector), app.workspace
        await workspace.settings.set_lorebooks(("animals",))
        await say(pilot, "A fox!")
        app.panes.show_area(app.inspector)
        inspector.view_shown = "lore"
        await until(pilot, lambda: "● Fox stays active until" in flat(inspector))
        app.query_one(Composer).text = "An owl"
        await until(pilot, lambda: "● Owl “owl” occurs in the dra" in flat(inspector))
        app.inspector.action_show_in_protocol(Protocol.ANTHROPIC)
        await until(pilot, lambda: inspector.active is Protocol.ANTHROPIC)
        await settle(pilot)
        assert "Fox" in rows_of(inspector)
        await workspace.settings.set_lorebooks(())
        await until(pilot, lambda: "No lorebook is searched" in rows_of(inspector))


async def test_w_on_lore_goes_to_its_entry_and_keeps_the_books(tmp_path: Path) -> None:
    (tmp_path / "lorebooks").mkdir()
    file = tmp_path / "lorebooks" / "team.json"
    entries = [
        {"name": "Pool", "keys": ["swim"], "content": "The pool is deep."},
        {"name": "Rain", "constant": True, "content": "It rains."},
    ]
    file.write_text(json.dumps({"name": "Team facts", "entries": entries}))
    async with make_app(tmp_path).run_test(size=WIDE) as pilot:
        app = await opened(pilot)
        await app.workspace.settings.set_lorebooks(("team",))
        await settle(pilot)
        inspector = app.query_one(Inspector)
        lore = [t.origin for t in inspector.composed.envelope.turns if t.origin.lore_entry]
        inspector.views.current.focus()
        inspector.reveal(lore[0])
        await settle(pilot)
        await press(pilot, "w")
        await until(pilot, lambda: isinstance(inspector.views.current, LoreView))
        view = inspector.views.current
        assert isinstance(view, LoreView)
        await until(pilot, lambda: view.row_here is not None and "Rain" in view.row_here.text)
        assert app.workspace.state.lorebook_names == ("team",)
        (notice,) = app.notifications.shown
        assert notice.message == f"Lore entry “Rain” of the lorebook “Team facts”: {file}"
        assert app.screen_stack[-1] is app.screen_stack[0]
