"""Lorebooks in the app: the Lore view, the way from the request to an entry."""

from __future__ import annotations

import json
from pathlib import Path

from tests.support.app import (
    make_app,
    opened,
    press,
    rows_shown,
    say,
    settle,
    until,
)
from tests.support.pictures import WIDE
from tui_chat.models.endpoint import Protocol
from tui_chat.plugins.sillytavern.lore.view import LoreView
from tui_chat.ui.chat.composer import Composer
from tui_chat.ui.inspector.pane import Inspector


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
