"""Pictures of the inspector: every view, and every banner."""

from __future__ import annotations

import json
from pathlib import Path

from textual.widgets import Checkbox, Input, TextArea

from tests.support.app import asked, opened, say, settle, until
from tests.support.pictures import Album
from tests.support.preset_app import app_with
from tui_chat.ui.areas.chat.composer import Composer
from tui_chat.ui.areas.inspector.inspector import Inspector
from tui_chat.ui.areas.inspector.views.lore import LoreView

CAPTURED = {
    "model": "claude-sonnet-5",
    "max_tokens": 64,
    "system": "You are a gardener.",
    "messages": [{"role": "user", "content": "What grows under pines?"}],
}


async def test_every_view(album: Album, tmp_path: Path) -> None:
    async with album.of(app_with(tmp_path, model="lorem:max:40")) as pilot:
        app = await opened(pilot)
        inspector, workspace = app.query_one(Inspector), app.workspace
        assert workspace is not None
        await workspace.presets.choose("mine")
        for words in ("What do you see?", "And the sea?"):
            await say(pilot, words)
        app.query_one(Composer).text = "木漏れ日 tells {{user}} more?"
        app.panes.show_area(app.inspector)
        inspector.focus()
        for view in inspector._view_tabs.views:
            inspector.view_shown = view
            if view == "request":  # the body is measured when typing pauses
                await until(pilot, lambda: inspector.views.current._body is not None)
            await settle(pilot)
            await album.take(pilot, view)
        inspector.view_shown = "payload"
        app.inspector.show_message_request(workspace.state.entries[1].message.id)
        await until(pilot, lambda: inspector.is_banner_up)
        await album.take_matrix(pilot, "sent request")
        app.inspector.action_what_if()
        await asked(pilot)
        app.screen.query_one("#messages", Input).value = "1"
        await pilot.press("ctrl+s")
        await until(pilot, lambda: len(app.screen_stack) == 1)
        await settle(pilot)
        await album.take(pilot, "what if")
        app.inspector.action_open_captured()
        await asked(pilot)
        app.screen.query_one(TextArea).text = json.dumps(CAPTURED)
        await pilot.press("ctrl+s")
        await until(pilot, lambda: len(app.screen_stack) == 1)
        await settle(pilot)
        await album.take(pilot, "captured request")


async def test_the_entries_of_lorebooks(album: Album, tmp_path: Path) -> None:
    (tmp_path / "lorebooks").mkdir()
    entries = [
        {"name": "Lighthouse", "keys": ["light"], "content": "It is old.", "scanDepth": 1},
        {"name": "Keeper", "keys": ["keeper"], "content": "Ada.", "scanDepth": 1, "sticky": 4},
        {"name": "Salt", "keys": ["salt"], "content": "White.", "scanDepth": 1, "cooldown": 3},
        {"name": "Storm", "keys": ["salt"], "content": "Loud.", "secondaryKeys": ["night"]},
        {"name": "Old map", "keys": ["map"], "content": "Torn.", "enabled": False},
        {"name": "Year", "content": "It is 1900.", "constant": True},
    ]
    (tmp_path / "lorebooks" / "coast.json").write_text(json.dumps({"entries": entries}))
    async with album.of(app_with(tmp_path, model="lorem:max:40")) as pilot:
        app = await opened(pilot)
        inspector, workspace = app.query_one(Inspector), app.workspace
        assert workspace is not None
        await workspace.settings.set_lorebooks(("coast",))
        for words in ("Tell of the light.", "Who is the keeper?", "Salt, please."):
            await say(pilot, words)
        app.query_one(Composer).text = "More salt!"
        app.panes.show_area(app.inspector)
        inspector.focus()
        inspector.view_shown = "lore"
        view = inspector.views.current
        assert isinstance(view, LoreView)
        await until(pilot, lambda: view.table is not None and not view.table.missing)
        await settle(pilot)
        view.set_cursor(5)
        await settle(pilot)
        await album.take(pilot, "request")
        await pilot.press("left", "left")
        await settle(pilot)
        await album.take(pilot, "turn")


async def test_edits_by_hand(album: Album, tmp_path: Path) -> None:
    async with album.of(app_with(tmp_path, model="lorem:max:40")) as pilot:
        app = await opened(pilot)
        inspector, workspace = app.query_one(Inspector), app.workspace
        assert workspace is not None
        await say(pilot, "What do you see?")
        app.query_one(Composer).text = "And the sea?"
        app.panes.show_area(app.inspector)
        await settle(pilot)
        inspector.view_shown = "payload"
        view = inspector.views.payload
        view.focus()
        await settle(pilot)
        for pointer in ("/messages/0/content", "/messages/1/content"):
            view.go_to(pointer)
            await settle(pilot)
            await pilot.press("E")
            await asked(pilot)
            form = app.screen
            if pointer.startswith("/messages/0"):
                await album.take(pilot, "a text")
            form.query_one(TextArea).text = "What do you hear?"
            form.query_one(Checkbox).value = pointer.startswith("/messages/1")
            await pilot.press("ctrl+s")
            await until(pilot, lambda: len(app.screen_stack) == 1)
            await settle(pilot)
        view.go_to("/messages/2")
        await pilot.press("delete")
        await settle(pilot)
        view.go_to("/model")
        await settle(pilot)
        await pilot.press("A")
        await asked(pilot)
        app.screen.query_one("#key", Input).value = "seed"
        app.screen.query_one(TextArea).text = "7,"
        await pilot.press("ctrl+s")
        await settle(pilot)
        await album.take(pilot, "a key")
        app.screen.query_one(TextArea).text = "7"
        await pilot.press("ctrl+s")
        await until(pilot, lambda: len(app.screen_stack) == 1)
        view.go_to("/messages/0/content")
        await pilot.press("o")
        view.focus()
        await settle(pilot)
        await album.take(pilot, "edited body")
        await app.run_action("request_edits.list")
        await asked(pilot)
        await pilot.press("down")
        await settle(pilot)
        await album.take(pilot, "list")
